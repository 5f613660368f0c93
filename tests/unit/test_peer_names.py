"""Every name of a measure in other libraries is known, or refused with an error that says what karat has instead."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError
from karat.registry.peers import NAMES_OF_SEVERAL
from karat.registry.registry import parse
from karat.registry.selection import select_measures

KNOWN = {
    "pytrec_eval": (
        "Rprec bpref gm_map infAP iprec_at_recall map map_cut ndcg ndcg_cut num_q num_rel num_rel_ret num_ret recall"
        " recip_rank set_F set_P set_map set_recall set_relative_P success official P_5 relative_P_10 11pt_avg G Rndcg"
        " Rprec_mult Rprec_mult_0.20 Rprec_mult.5.0,0.2 binG gm_bpref ndcg_rel num_nonrel_judged_ret utility yaap"
        " ndcg_p all_trec set unj_5 utility.2,-1,0,0 utility_2,-1,0,0 11pt_avg..25,.5 set_F.0.5"
        " iprec_at_recall..10,.20 ndcg.1=3,2=9 ndcg_1=3,2=9 G.1=3 ndcg_rel.1=3 Rndcg.1=3,2=-1 ndcg_p.1=3 rbp.p=0.5"
    ),
    "ir_measures": (
        "AP AP@10 MAP BPref Bpref ERR@20 IPrec@0.1 Judged@10 MRR MRR@10 NDCG NDCG@10 nDCG NumQ NumRel NumRelRet NumRet"
        " P@5 Precision@5 R@5 Recall@5 RBP RBP(rel=1) RPrec Rprec RR SetAP SetF SetP SetR SetRelP Success@5 infAP"
    ),
    "ranx": (
        "hits hits@5 hit_rate hit_rate@5 precision precision@5 recall recall@5 f1 f1@5 r-precision bpref rbp.95 rbp@95"
        " mrr mrr@5 map map@5 dcg dcg@5 dcg_burges dcg_burges@5 ndcg ndcg@5 ndcg_burges ndcg_burges@5 map-l2"
    ),
    "BEIR": "NDCG@10 MAP@10 Recall@10 P@10 mrr@10 R_cap@10 hole@10 top_k_accuracy@10 acc@10 recall_cap@10",
    "MTEB": (
        "ndcg_at_10 map_at_10 recall_at_10 precision_at_10 mrr_at_10 hit_rate_at_10 cv_recall_at_10 accuracy R_cap_at_5"
        " Hole_at_5"
    ),
    "sentence-transformers": "accuracy@1 precision@3 recall@5 ndcg@10 mrr@10 map@100",
    "LlamaIndex": "hit_rate mrr precision recall ap ndcg",
    "Haystack": "map mrr ndcg recall_single_hit recall_multi_hit",
}
REFUSED = {
    "ir_measures": (
        "AP_IA Accuracy@5 BPM Compat ERR_IA@10 INSQ INST MAP_IA NERR8@10 NERR9@10 NERR10 NERR11 NRBP P_IA@5 SDCG@10"
        " StRecall@10 alpha_DCG@10 alpha_nDCG@10 nERR_IA@10 nNRBP α_DCG@10 α_nDCG@10"
    ),
    "MTEB": "nauc_ndcg_at_10_max nauc_mrr_at_1_diff1 main_score p-MRR robustness_at_10 paired_accuracy",
}
INSTEAD = {
    "contextual_precision LLMContextPrecisionWithReference": "SetP",
    "contextual_recall NonLLMContextRecall": "RecallAll",
    "context_relevancy ContextualRelevancy": "P@k",
    "answer_correctness answer_similarity SemanticSimilarity bertscore FactualCorrectness": "SAS",
    "bleu BleuScore rouge1 chrf meteor": "RougeL",
    "answer_relevancy ResponseRelevancy": "AnswerRelevance",
    "GEval": "compare, diff and gate",
}


@pytest.mark.parametrize(("library", "name"), [(peer, name) for peer, names in KNOWN.items() for name in names.split()])
def test_a_measure_that_both_have_is_known_by_the_name_it_has_there(library: str, name: str) -> None:
    assert select_measures(name), library


@pytest.mark.parametrize("name", ["P", "relative_P", "Precision", "IPrec", "Unjudged"])
def test_a_name_that_lacks_its_cutoff_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(KaratError, match=r"needs a cut-off\. Write \S+@[\d.]+\.$"):
        select_measures(name)


@pytest.mark.parametrize(
    ("library", "name"), [(peer, name) for peer, names in REFUSED.items() for name in names.split()]
)
def test_a_measure_that_karat_lacks_is_refused_with_the_name_of_the_library(library: str, name: str) -> None:
    with pytest.raises(KaratError, match=rf"karat does not have .*{library}"):
        select_measures(name)


@pytest.mark.parametrize(("name", "hint"), [(name, hint) for names, hint in INSTEAD.items() for name in names.split()])
def test_a_metric_of_a_rag_framework_is_refused_with_what_to_use_instead(name: str, hint: str) -> None:
    with pytest.raises(KaratError, match=f"karat does not have the measure {name}") as caught:
        select_measures(name)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "name",
    "context_precision context_recall context_relevance faithfulness groundedness NoiseSensitivity ClaimF1".split(),
)
def test_a_metric_of_a_rag_framework_that_is_computed_from_labels_is_known_and_needs_them(name: str) -> None:
    assert select_measures(name, subjects=("verdicts",))
    with pytest.raises(KaratError, match="--verdicts FILE"):
        select_measures(name)


@pytest.mark.parametrize("name", ["rbp.0.5", "rbp_0.5", "rbp@0.5", "rbp_5", "rbp.0.5,0.8", "rbp-l2 rbp.0.5"])
def test_a_persistence_that_neither_trec_eval_nor_ranx_would_read_is_refused_with_the_form_of_trec_eval(
    name: str,
) -> None:
    with pytest.raises(KaratError, match=r"is not a name of trec_eval or ranx\. Write rbp\.p=0\.5, as in trec_eval"):
        select_measures(name)
    with pytest.raises(KaratError, match=r"Write rbp_resid\.p=0\.5, as in trec_eval"):
        parse("rbp_resid.0.5")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prefs", "trec_eval's set prefs has measures of preferences. Use `karat trec -R prefs -m prefs`."),
        ("all_prefs", "Use `karat trec -R prefs -m all_prefs`."),
        ("qrels_jg", "Use `karat trec -R qrels_jg -m qrels_jg`."),
        (
            "P_avgjg.5",
            "P_avgjg.5 of trec_eval is averaged over judgment groups. Use `karat trec -R qrels_jg -m P_avgjg.5",
        ),
        ("map_avgjg", "Use `karat trec -R qrels_jg -m map_avgjg`."),
        ("Rprec_mult_avgjg_0.20", "Use `karat trec -R qrels_jg -m Rprec_mult_avgjg.0.20`."),
        ("relstring_20", "relstring_20 of trec_eval is a text, not a measure. Use `karat trec -q -m relstring.20`."),
        ("runid", "runid of trec_eval is a text, not a measure. Use `karat trec -q -m runid`."),
        ("prefs_simp", "PrefSimple measures preferences, not documents. Use `karat trec -R prefs`"),
        ("prefs_avgjg_Rnonrel_ret", "PrefBalanced(compared=both) measures preferences, not documents"),
    ],
)
def test_what_only_karat_trec_computes_is_refused_with_the_command_that_does(name: str, message: str) -> None:
    with pytest.raises(KaratError) as caught:
        select_measures(name)
    assert message in str(caught.value)


NAMES = [name for names in KNOWN.values() for name in names.split()]
LETTERS = "abcdegmnprtuPRDCG_@.,15"


@given(st.sampled_from(NAMES), st.integers(0, 12), st.sampled_from([*LETTERS, ""]), st.booleans())
def test_a_hint_proposes_names_that_are_known_and_never_the_refused_one(
    name: str, place: int, letter: str, replaced: bool
) -> None:
    written = name[:place] + letter + name[place + replaced :]
    refused: KaratError | None = None
    try:
        select_measures(written)
    except KaratError as error:
        refused = error
    if refused and refused.what.startswith("unknown measure"):
        proposed = re.search(r"Did you mean (.*)\?", refused.hint or "")
        for each in re.split(", | or ", proposed[1]) if proposed else []:
            assert repr(each) not in refused.what
            assert each in NAMES_OF_SEVERAL or parse(each)


def test_the_measures_of_the_installed_ir_measures_are_those_of_this_file() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    ours = {re.split(r"[@(]", name)[0] for name in f"{KNOWN['ir_measures']} {REFUSED['ir_measures']}".split()}
    assert set(ir_measures.measures.registry) <= ours
