"""Finding measures by name: karat's, those of other libraries, and the user's own."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import karat
from karat import KaratError, evaluate, register
from karat.data.judged import Judged
from karat.measures import P, definitions, parse
from karat.registry import definitions_of
from karat.registry.names import split_names

PEERS = {
    # trec_eval
    "map": "AP", "map_cut_10": "AP@10", "map_cut.10": "AP@10", "ndcg": "nDCG", "ndcg_cut_10": "nDCG@10",
    "ndcg_cut.10": "nDCG@10", "recip_rank": "RR", "P_5": "P@5", "P.5": "P@5", "recall_100": "R@100",
    "success_5": "Success@5", "relative_P_10": "relative_P@10", "Rprec": "Rprec", "bpref": "Bpref", "infAP": "infAP",
    "iprec_at_recall_0.10": "IPrec@0.1", "iprec_at_recall..10": "IPrec@0.1", "gm_map": "GMAP", "set_P": "SetP",
    "set_recall": "SetR", "set_map": "SetAP", "set_F": "SetF", "num_ret": "NumRet", "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet", "num_q": "NumQ", "rbp": "RBP(p=0.9)", "rbp_resid": "RBPResidual(p=0.9)",
    "unj_10": "Unjudged@10", "rbp.p=0.5": "RBP(p=0.5)", "rbp_p=0.5": "RBP(p=0.5)",
    "rbp_resid.p=0.5": "RBPResidual(p=0.5)", "iprec_at_recall.1": "IPrec@1", "iprec_at_recall.0": "IPrec@0",
    # ir_measures
    "nDCG@10": "nDCG@10", "NDCG@10": "nDCG@10", "AP(rel=2)@100": "AP(rel=2)@100", "MAP": "AP", "MRR@10": "RR@10",
    "RPrec": "Rprec", "BPref": "Bpref", "Precision@5": "P@5", "Recall@5": "R@5", "RBP": "RBP", "ERR@20": "ERR@20",
    "nDCG(dcg='exp-log2')@10": "nDCG(gain=exp)@10", "nDCG(dcg='log2', cutoff=10)": "nDCG@10",
    "IPrec@0.2": "IPrec@0.2", "P(cutoff=5, rel=2)": "P(rel=2)@5", "Judged@10": "Judged@10",
    "NumRet(rel=1)": "NumRet(rel=1)", "SetAP(rel=2)": "SetAP(rel=2)", "SetP(relative=true)": "SetP(relative=true)",
    "SetP@5": "SetP@5", "SetR@5": "SetR@5",
    "SetRelP": "SetP(relative=true)", "P(rel=2,judged_only=True)@5": "P(rel=2, judged_only=true)@5",
    "nDCG(gains={0:0,1:1,2:3})@10": "nDCG(gains={2:3})@10", "P(cutoff=5)@10": "P@10",
    "nDCG(dcg='exp-log2',judged_only=True)@10": "nDCG(gain=exp, judged_only=true)@10",
    # ranx
    "ndcg@10": "nDCG@10", "ndcg_burges@10": "nDCG(gain=exp)@10", "dcg_burges": "DCG(gain=exp)", "mrr": "RR",
    "mrr@10": "RR@10", "map@100": "AP@100", "hit_rate@5": "Success@5", "hits@5": "Hits@5", "precision@5": "P@5",
    "recall@5": "R@5", "f1@5": "F@5", "r-precision": "Rprec", "map@100-l2": "AP(rel=2)@100", "rbp.95": "RBP(p=0.95)",
    "rbp@95": "RBP(p=0.95)", "rbp@5": "RBP(p=0.5)", "rbp.8-l2": "RBP(rel=2)", "rbp(p=0.7)@10": "RBP(p=0.7)@10",
    "precision": "SetP", "precision-l2": "SetP(rel=2)", "recall": "R", "hit_rate": "Success", "f1": "F", "hits": "Hits",
    "ndcg-l2": "nDCG(rel=2)",
    # BEIR
    "R_cap@10": "relative_P@10", "hole@10": "Hole@10", "top_k_accuracy@10": "Success@10",
    "accuracy@10": "Success@10",
    # MTEB, sentence-transformers, LlamaIndex, Haystack
    "ndcg_at_10": "nDCG@10", "map_at_100": "AP@100", "mrr_at_10": "RR@10", "recall_at_10": "R@10",
    "precision_at_5": "P@5", "hit_rate_at_5": "Success@5", "accuracy_at_1": "Success@1", "accuracy@1": "Success@1",
    "R_cap_at_10": "relative_P@10", "Hole_at_10": "Hole@10", "cv_recall_at_1": "Success@1",
    "HitRate@10": "Success@10", "hit_rate_5": "Success@5", "hit_ratio@5": "Success@5", "nDCG_at_3": "nDCG@3",
    "recall_single_hit": "Success", "recall_multi_hit": "R", "exact_match": "EM",
}  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), PEERS.items())
def test_the_measure_names_of_other_libraries_are_accepted(theirs: str, ours: str) -> None:
    assert str(parse(theirs)) == ours


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ndgc@10", "nDCG"),
        ("AvgPrec", "measures` lists"),
        ("α-nDCG@10", "of ir_measures"),
        ("alpha_nDCG@20", "of ir_measures"),
        ("Compat", "of ir_measures"),
        ("map_avgjg", "of trec_eval"),
        ("utility.1,-1", "utility has 4 parameters. Write utility.1,-1,0,0"),
        ("set_F.1,2", "set_F has 1 parameter. Write set_F.0.5"),
        ("IPrecAvg(points={})", "a list such as {0.2,0.5}, of numbers between 0 and 1"),
        ("11pt_avg.0.5,2", "a list such as {0.2,0.5}, of numbers between 0 and 1"),
        ("Rprec_mult.-1", "unknown measure"),
        ("P", "P needs a cut-off. Write P@10"),
        ("IPrec", "Write IPrec@0.1"),
        ("Rprec@10", "takes no cut-off"),
        ("P@0", "between 1 and 2147483647"),
        ("P@-1", "between 1 and"),
        ("P@99999999999999999999", "between 1 and"),
        ("P@2.5", "a whole number"),
        ("P@1_0", "a whole number"),
        ("P@ten", "a whole number"),
        ("P@nan", "a whole number"),
        ("P@1e999", "a whole number"),
        ("P(k=5, k=6)", "twice"),
        ("unj", "'unj' stands for 3 measures"),
        ("10", "10 is a number, not a measure. Cut-offs are listed after a measure: nDCG@5,10"),
        ("P(rel=1)_5", "is not a valid measure name"),
        ("prefs", "trec_eval's set prefs has measures of preferences"),
        ("nauc_ndcg_at_10_max", "of MTEB"),
        ("LLMContextPrecisionWithReference", "AP(norm=found, credit=rank)"),
        ("contextual_recall@5", "RecallAll"),
        ("answer_relevancy", "AnswerRelevance is computed from labels"),
        ("answer_correctness", "TokenF1"),
        ("BLEU", "RougeL"),
        ("IPrec@1.5", "between 0 and 1"),
        ("RBP(p=1)", "strictly between 0 and 1"),
        ("F(beta=-1)@5", "of at least 0"),
        ("AP(norm=most)", "one of relevant, found, min"),
        ("AP(re=2)", "Did you mean rel"),
        ("nDCG(dcg=exp)@10", "one of log2, exp-log2"),
        ("AP(credit=rank)", "needs norm=found"),
        ("nDCG(credit=rank)@10", "needs ideal=retrieved"),
        ("AP(rel=inf)", "a number"),
    ],
)
def test_a_wrong_name_is_an_error_with_a_hint(name: str, answer: str) -> None:
    with pytest.raises(KaratError) as caught:
        parse(name)
    assert answer in str(caught.value)


def test_a_users_measure_is_found_by_its_name_with_its_parameters() -> None:
    @register
    def FirstIsGood(judged: Judged, *, rel: float = 1) -> Any:
        """1 if the first document is relevant, else 0."""
        return judged.found(1, rel) > 0

    scores = evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, ["FirstIsGood", "FirstIsGood(rel=2)"])
    assert scores.means == {"FirstIsGood": 1.0, "FirstIsGood(rel=2)": 0.0}
    assert FirstIsGood(rel=2) == parse("FirstIsGood(rel=2)")


def test_a_users_measure_can_be_redefined_but_cannot_take_the_name_of_another_measure() -> None:
    def declare(value: float) -> None:
        @register
        def Again(judged: Judged) -> Any:
            return np.full(len(judged.queries), value)

    for value in (0.25, 0.75):
        declare(value)
        assert evaluate({"q": {"a": 1}}, {}, ["Again"])["Again"] == value
    for taken in ("nDCG", "map"):
        with pytest.raises(KaratError, match=taken):
            register(name=taken)(lambda judged: np.zeros(len(judged.queries)))
    with pytest.raises(KaratError, match="the alias map belongs to AP"):
        register(name="Mine", aliases=("map",))(lambda judged: np.zeros(len(judged.queries)))


@pytest.mark.parametrize("name", ["query", "a b", "a@b", "a(b)", "<lambda>", ""])
def test_a_name_that_does_not_fit_the_grammar_is_rejected(name: str) -> None:
    with pytest.raises(KaratError):
        register(name=name or " ")(lambda judged: np.zeros(len(judged.queries)))


def test_a_measure_must_return_one_value_per_query() -> None:
    @register
    def TooFew(judged: Judged) -> Any:
        return np.zeros(1)

    with pytest.raises(KaratError, match="one value per query"):
        evaluate({"q": {"a": 1}, "r": {"a": 1}}, {}, ["TooFew"])


def test_the_parameters_of_a_measure_must_be_keyword_only() -> None:
    with pytest.raises(KaratError, match=r"Put a \*"):

        @register
        def Positional(judged: Judged, rel: float = 1) -> Any:
            return np.zeros(1)


def test_a_users_measure_may_return_null_for_a_query() -> None:
    @register
    def Unknown(judged: Judged) -> Any:
        return np.array([1.0, np.nan])

    scores = evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": ["a"]}, ["Unknown"])
    assert scores["Unknown"] == 1.0
    assert scores.per_query["r"] == {"Unknown": None}
    assert "1 query without a value for Unknown" in str(scores)


def test_a_grade_above_the_scale_of_err_is_an_error_that_names_the_query() -> None:
    with pytest.raises(KaratError, match=r"query r: .*grade 5 is above max_grade=4.*ERR\(max_grade=5\)"):
        evaluate({"q": {"a": 1}, "r": {"a": 5}}, {"q": ["a"]}, ["ERR"])


def test_a_users_text_parameter_can_be_written_in_a_name_or_is_rejected() -> None:
    @register
    def Tagged(judged: Judged, *, tag: str = "x", k: int | None = 10, on: bool = False) -> Any:
        return np.full(len(judged.queries), -1 if k is None else k)

    for text in ("a/b-c", "a,b", "a b", "(", 'say "a"', "it's", "a=b@c"):
        assert parse(str(Tagged(tag=text))) == Tagged(tag=text)
        assert split_names(f"RR {Tagged(tag=text)}, AP") == ["RR", str(Tagged(tag=text)), "AP"]
    for wrong in (" a", "a\n", "none", "", "\"'"):
        with pytest.raises(KaratError, match="a non-empty text"):
            Tagged(tag=wrong)
    with pytest.raises(KaratError, match="true or false"):
        parse("Tagged(on=maybe)")
    assert str(Tagged(k=None)) == "Tagged(k=none)"
    assert parse("Tagged(k=none)") == Tagged(k=None)
    assert evaluate({"q": {"a": 1}}, {}, [Tagged(k=None)])["Tagged(k=none)"] == -1
    with pytest.raises(KaratError, match="already"):
        register(Tagged)  # type: ignore[arg-type]  # the type error is what is tested


def test_rel_applies_to_all_measures_except_those_that_set_their_own() -> None:
    names = ["AP(rel=1)", "AP", "nDCG@10", "map-l3"]
    assert evaluate({"q": {"a": 1}}, {"q": ["a"]}, names, rel=2).measures == ("AP", "AP(rel=2)", "nDCG@10", "AP(rel=3)")
    both = karat.evaluate_runs({"q": {"a": 1}}, {"one": {"q": ["a"]}}, names, rel=2)
    assert both["one"].measures == ("AP", "AP(rel=2)", "nDCG@10", "AP(rel=3)")


def test_grades_too_large_to_be_summed_are_an_error_and_large_ones_are_not() -> None:
    with pytest.raises(KaratError, match="too large for gain=exp"):
        evaluate({"q": {"a": 2000}}, {"q": ["a"]}, ["nDCG(gain=exp)"])
    assert evaluate({"q": {"a": 2000}}, {"q": ["a"]}, ["ERR(max_grade=2000)"])["ERR(max_grade=2000)"] == 1.0


NEWLY_IMPORTED = """
import sys
for first in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "karat"]:
        del sys.modules[name]
    import karat
    getattr(karat, first)
    import karat.evaluation
    print(first, callable(karat.evaluate), karat.measures.__name__)
"""


def test_karat_evaluate_is_the_function_whatever_was_imported_before() -> None:
    names = ["evaluate_runs", "Scores", "parse", "measures", "KaratError"]
    command = [sys.executable, "-c", NEWLY_IMPORTED, *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "".join(f"{name} True karat.measures\n" for name in names)


def test_the_public_names_are_those_listed() -> None:
    assert set(karat.__all__) <= set(dir(karat))
    for name in karat.__all__:
        assert getattr(karat, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = karat.nonsense


def test_karat_measures_exports_every_built_in_measure_under_the_name_of_its_function() -> None:
    functions = {each.name: each.function for each in definitions() if each.function.__module__.startswith("karat.")}
    names = {name: function.__name__ for name, function in functions.items()}
    assert set(karat.measures.__all__) == {*names.values(), "Measure", "definitions", "meanings", "parse", "register"}
    # The name Judged is taken by the class that document measures read.
    renamed = {name: python for name, python in names.items() if name != python}
    assert renamed == {"Judged": "JudgedShare", "Unjudged": "UnjudgedShare"}


def test_a_name_of_several_measures_is_explained_by_their_definitions() -> None:
    assert [each.name for each in definitions_of("ndcg_cut")] == ["nDCG"]
    assert [each.name for each in definitions_of("P_5,10 rbp@95 AP")] == ["P", "RBP", "AP"]
    assert [each.name for each in definitions_of("F1")] == ["F", "TokenF1"]
    with pytest.raises(KaratError, match="not a valid measure name"):
        definitions_of("")


def test_a_measure_is_copied_and_pickled_by_its_name() -> None:
    measure = parse("nDCG(gain=exp)@10")
    assert copy.deepcopy(P) == P
    assert copy.deepcopy(measure) == pickle.loads(pickle.dumps(measure)) == measure


def test_a_pickled_measure_is_found_in_a_new_process() -> None:
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()))"
    pickled = pickle.dumps(parse("AP(rel=2)@5"))
    done = subprocess.run([sys.executable, "-c", code], input=pickled, check=True, capture_output=True)
    assert done.stdout.decode().strip() == "AP(rel=2)@5"
