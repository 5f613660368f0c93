"""The measures of the library ir_measures are taken as they are, by their names, wherever a measure is."""

from __future__ import annotations

from typing import Any

import pytest

from karat import KaratError, Scores, compare, evaluate, evaluate_runs, parse
from karat.components.evaluators import DocumentMeasureEvaluator
from karat.registry.selection import select_measures
from karat.testing import assert_scores

ir_measures = pytest.importorskip("ir_measures")

TRUTH = {"1": {"a": 2, "b": 1, "x": 0}, "2": {"c": 1}}  # perl, which ir_measures calls, wants numbers
RUN = {"1": {"a": 3.0, "x": 2.0, "b": 1.0, "y": 0.5}, "2": {"y": 2.0, "c": 1.0}}
NAMES = """
    nDCG@10 nDCG(dcg='exp-log2')@10 nDCG(gains={2:5})@3 AP AP(rel=2)@100 RR RR(rel=2)@2 P(rel=2,judged_only=True)@2
    R@2 Rprec Bpref infAP IPrec@1.0 Success@1 NumRet NumRet(rel=1) NumRel NumQ SetP SetP(relative=True) SetR SetAP
    SetF SetF(beta=2.0) Judged@2 RBP(p=0.5,rel=1)
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_a_measure_of_ir_measures_has_the_value_that_it_has_there(name: str) -> None:
    measure = ir_measures.parse_measure(name)
    for given in (measure, [measure], (measure,), {measure}, iter([measure])):
        scores = evaluate(TRUTH, RUN, given)
        assert scores[measure] == pytest.approx(ir_measures.calc_aggregate([measure], TRUTH, RUN)[measure], abs=1e-5)


def test_a_score_is_found_by_the_measure_of_ir_measures_that_was_asked_for() -> None:
    measure, other = ir_measures.nDCG @ 10, ir_measures.AP
    systems = evaluate_runs(TRUTH, {"one": RUN, "two": {"1": ["a"]}}, [measure, "RR"])
    scores: Scores = systems["one"]
    assert scores.measures == ("nDCG@10", "RR")
    assert scores.only([measure]).measures == ("nDCG@10",)
    assert scores.value_of("1", measure) == scores.per_query["1"]["nDCG@10"]
    assert measure in scores
    assert other not in scores
    assert compare(systems, measures=[measure]).row(measure).measure == "nDCG@10"
    assert scores.bounds(measure).measure == parse(measure).name + "@10"
    assert assert_scores(scores, min={measure: 0.1}).passed
    assert DocumentMeasureEvaluator(measure)


def test_several_cutoffs_of_a_measure_of_ir_measures_are_several_measures() -> None:
    assert list(map(str, select_measures(ir_measures.P @ (5, 10)))) == ["P@5", "P@10"]
    assert list(map(str, select_measures([ir_measures.P(rel=2) @ [5, 10]]))) == ["P(rel=2)@5", "P(rel=2)@10"]
    with pytest.raises(KaratError, match="stands for 2 measures, but one is needed"):
        parse(ir_measures.P @ (5, 10))


def test_a_measure_that_karat_lacks_is_refused_by_its_name() -> None:
    with pytest.raises(KaratError, match="karat does not have the measure Compat of ir_measures"):
        evaluate(TRUTH, RUN, [ir_measures.Compat(p=0.9)])


class SaysAP:
    def __str__(self) -> str:
        return "AP"


@pytest.mark.parametrize(
    "other", [SaysAP(), ir_measures.define_byquery(lambda *_: 1.0, name="AP"), ir_measures.SumAgg(), b"AP"]
)
def test_no_other_object_is_a_measure_because_of_its_text(other: Any) -> None:
    """What a user defines with ir_measures may have the name of a measure, but computes something else."""
    with pytest.raises(KaratError, match="is not a"):
        evaluate(TRUTH, RUN, [other])
    with pytest.raises(KaratError, match="is not"):
        parse(other)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("name", ["SetP", "SetP(relative=True)", "SetR", "SetP(rel=2)"])
def test_a_set_measure_with_a_cutoff_is_that_of_ir_measures_for_the_top_k(name: str, k: int) -> None:
    """ir_measures makes SetP@k, but does not compute it: it is what trec_eval computes with -M k."""
    measure = ir_measures.parse_measure(name)
    top = {query: dict(list(docs.items())[:k]) for query, docs in RUN.items()}
    expected = ir_measures.calc_aggregate([measure], TRUTH, top)[measure]
    assert evaluate(TRUTH, RUN, [measure @ k])[measure @ k] == pytest.approx(expected)
    with pytest.raises(AssertionError, match="cutoff"):
        ir_measures.calc_aggregate([measure @ k], TRUTH, RUN)


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("name", ["RR@5", "Judged@1", "RBP(rel=1)", "RR", "AP", "nDCG@5", "P@1", "Bpref", "infAP"])
def test_equal_scores_are_ordered_as_the_documentation_says(name: str, order: str) -> None:
    """docs/migrating.md: ids ascending in RR@k and Judged, the order of the input in RBP, otherwise as in trec_eval."""
    measure = ir_measures.parse_measure(name)
    theirs = ir_measures.calc_aggregate([measure], {"1": {"b": 1}}, {"1": dict.fromkeys(order, 1.0)})[measure]
    ranking = {"RR@5": "ab", "Judged@1": "ab", "RBP(rel=1)": order}.get(name, "ba")
    assert evaluate({"1": {"b": 1}}, {"1": list(ranking)}, [measure])[measure] == pytest.approx(theirs)


def test_negative_grades_are_judged_in_ir_measures_and_iprec_is_that_of_trec_eval_9() -> None:
    """Where karat differs, as docs/measures.md says."""
    truth, run = {"1": {"a": -1, "b": 1}}, {"1": {"a": 2.0, "b": 1.0}}
    judged = ir_measures.Judged @ 2
    assert (ir_measures.calc_aggregate([judged], truth, run)[judged], evaluate(truth, run, judged)[judged]) == (1, 0.5)
    truth, run = {"1": dict.fromkeys("abcd", 1)}, {"1": {"a": 4.0, "x": 3.0, "b": 2.0}}
    precision = ir_measures.IPrec @ 0.3
    theirs = ir_measures.calc_aggregate([precision], truth, run)[precision]
    assert (theirs, evaluate(truth, run, precision)[precision]) == (pytest.approx(2 / 3), 1)
