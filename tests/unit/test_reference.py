"""The reference implementation, checked by hand and against the output of trec_eval."""

import re
from math import log2
from pathlib import Path

import pytest

from tests.reference import MEASURES, Query, by_gold, by_rank, lround, reference

CONFORMANCE = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "trec_eval"

# Documents by id: rank 1 grade 2, rank 2 unjudged, rank 3 grade 0, rank 4 grade 1; a fourth judged document,
# of grade 1, is not retrieved. So R = 3, relevant at ranks 1 and 4, one judged non-relevant.
PLAIN = Query(ranks=[[0], [], [1], [2]], grades=[2, 0, 1, 1])

# Chunks: rank 1 contains golds 0 (grade 1) and 1 (grade 3), rank 2 repeats gold 1, rank 3 repeats gold 0,
# rank 4 contains none. Gold 2 is not retrieved.
#   by gold: rank 1 is credited with gold 1 (3), rank 2 with none, rank 3 with gold 0 (1) -> 3 - 1 -
#   by rank: the highest grade of each                                                    -> 3 3 1 -
CHUNKS = Query(ranks=[[0, 1], [1], [0], []], grades=[1, 3, 1])

# In the pool but not judged (grade -1) at rank 2, outside the pool at rank 3, then non-relevant, relevant.
POOL = Query(ranks=[[0], [1], [], [2], [3]], grades=[1, -1, 0, 1])

NOTHING = Query(ranks=[], grades=[])
NO_RELEVANT = Query(ranks=[[0], []], grades=[0])
NONE_FOUND = Query(ranks=[[], []], grades=[1, 2])
NONE_RETRIEVED = Query(ranks=[], grades=[1, 2])


def test_views() -> None:
    assert by_gold(PLAIN) == by_rank(PLAIN) == [2, None, 0, 1]
    assert by_gold(CHUNKS) == [3, None, 1, None]
    assert by_rank(CHUNKS) == [3, 3, 1, None]


def test_by_gold_credits_the_lower_index_of_equal_grades() -> None:
    # Rank 1 is credited with gold 0, so a repeat of gold 0 gets no credit, but a repeat of gold 1 does.
    assert by_gold(Query(ranks=[[1, 0], [0]], grades=[1, 1])) == [1, None]
    assert by_gold(Query(ranks=[[1, 0], [1]], grades=[1, 1])) == [1, 1]


def check(name: str, query: Query, expected: float, **parameters: object) -> None:
    assert reference(name, query, **parameters) == pytest.approx(expected, abs=1e-12)


def test_counts() -> None:
    check("NumQ", PLAIN, 1)
    check("NumRet", PLAIN, 4)
    check("NumRel", PLAIN, 3)
    check("NumRel", PLAIN, 1, rel=2)
    check("NumRelRet", PLAIN, 2)
    check("NumRelRet", PLAIN, 1, k=3)
    check("NumRelRet", CHUNKS, 2)  # golds 0 and 1, each once


def test_precision_and_recall() -> None:
    check("P", PLAIN, 1 / 3, k=3)
    check("P", PLAIN, 2 / 10, k=10)  # over k, also past the end of the list
    check("P", PLAIN, 1 / 4, k=4, rel=2)
    check("P", CHUNKS, 3 / 3, k=3)  # ranks 1, 2 and 3 have a relevant gold; the repeat counts
    check("R", PLAIN, 2 / 3)
    check("R", PLAIN, 1 / 3, k=3)
    check("R", CHUNKS, 2 / 3, k=1)  # rank 1 alone covers two of the three golds
    check("Success", PLAIN, 1, k=1)
    check("Success", PLAIN, 0, k=3, rel=3)
    check("RecallAll", PLAIN, 0)
    check("RecallAll", PLAIN, 1, rel=2)
    check("RecallAll", Query(ranks=[[0, 1]], grades=[1, 1]), 1, k=1)


def test_f() -> None:
    # P = 2/4, R = 2/3: F = 2 * 1/3 / (7/6) = 4/7; beta = 2: 5 * 1/3 / (4 * 1/2 + 2/3) = 5/8
    for name in ("F", "SetF"):
        check(name, PLAIN, 4 / 7)
        check(name, PLAIN, 5 / 8, beta=2)
    check("F", PLAIN, 2 * (2 / 10) * (2 / 3) / (2 / 10 + 2 / 3), k=10)
    check("F", CHUNKS, 2 * 1 * (2 / 3) / (1 + 2 / 3), k=2)  # both ranks relevant, two of three golds
    check("F", PLAIN, 2 * (1 / 4) * 1 / (1 / 4 + 1), rel=2)


def test_sets() -> None:
    check("SetP", PLAIN, 2 / 4)
    check("SetR", PLAIN, 2 / 3)
    check("SetAP", PLAIN, 2**2 / (4 * 3))
    check("SetP", CHUNKS, 3 / 4)
    check("SetAP", CHUNKS, 2**2 / (4 * 3))  # two golds are credited, not three ranks
    check("Rprec", PLAIN, 1 / 3)  # R = 3; one relevant in the top 3
    check("Rprec", Query(ranks=[[0]], grades=[1, 1]), 1 / 2)  # past the end of the list
    check("Rprec", CHUNKS, 3 / 3)
    check("relative_P", PLAIN, 1 / 2, k=2)
    check("relative_P", PLAIN, 2 / 3, k=10)  # min(k, R) = 3
    check("relative_P", CHUNKS, 1 / 2, k=2)


def test_judged() -> None:
    check("Judged", PLAIN, 1 / 2, k=2)
    check("Judged", PLAIN, 3 / 4, k=10)  # over min(k, retrieved)
    check("Unjudged", PLAIN, 1 / 2, k=2)
    check("Unjudged", PLAIN, 1 / 10, k=10)  # over k
    check("Judged", POOL, 3 / 5, k=5)  # grade -1 is not judged
    check("Unjudged", POOL, 2 / 5, k=5)
    check("Judged", Query(ranks=[[0, 1]], grades=[-1, 0]), 1, k=1)


def test_reciprocal_rank() -> None:
    check("RR", PLAIN, 1)
    late = Query(ranks=[[], [0], [1]], grades=[1, 2])
    check("RR", late, 1 / 2)
    check("RR", late, 1 / 3, rel=2)
    check("RR", late, 0, k=1)


def test_average_precision() -> None:
    both = 1 / 1 + 2 / 4  # precision at ranks 1 and 4
    check("AP", PLAIN, both / 3)
    check("GMAP", PLAIN, both / 3)
    check("AP", PLAIN, both / 2, norm="found")
    check("AP", PLAIN, 1 / 3, k=3)
    check("AP", PLAIN, 1 / 2, k=2, norm="min")  # min(R, k) = 2
    check("AP", PLAIN, both / 3, k=10, norm="min")
    check("AP", PLAIN, both / 3, norm="min")
    check("AP", PLAIN, 1, rel=2)
    check("AP", CHUNKS, (1 / 1 + 2 / 3) / 3)  # golds credited at ranks 1 and 3
    check("AP", CHUNKS, (1 / 1 + 2 / 2 + 3 / 3) / 3, norm="found", credit="rank")
    check("AP", CHUNKS, (1 / 1 + 2 / 2) / 2, k=2, norm="found", credit="rank")


def test_interpolated_precision() -> None:
    # R = 3; precision by rank: 1, 1/2, 1/3, 2/4. From rank 4 on, where the second is found: 1/2.
    check("IPrec", PLAIN, 1, recall=0)
    check("IPrec", PLAIN, 1, recall=0.1)  # lround(0.3) = 0
    check("IPrec", PLAIN, 1, recall=0.4)  # lround(1.2) = 1
    check("IPrec", PLAIN, 1 / 2, recall=0.5)  # lround(1.5) = 2
    check("IPrec", PLAIN, 0, recall=1)
    check("IPrec", CHUNKS, 2 / 3, recall=0.6)  # lround(1.8) = 2 golds, found by rank 3
    # The maximum may be at a lower rank: precision 0, 1/2, 2/3.
    check("IPrec", Query(ranks=[[], [0], [1]], grades=[1, 1]), 2 / 3, recall=0.5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, -1), (0.4, 0), (-2.5, -3), (0.49999999999999994, 0)],
)
def test_lround(value: float, expected: int) -> None:
    assert lround(value) == expected


def test_bpref() -> None:
    # R = 3, N = 1. Rank 1: none above, 1. Rank 4: one above, 1 - min(1, 3)/min(1, 3) = 0.
    check("Bpref", PLAIN, (1 + 0) / 3)
    # R = 2, N = 3: relevant below one non-relevant, then below two more: 1 - 1/2, then 1 - min(3, 2)/2.
    check("Bpref", Query(ranks=[[0], [1], [2], [3], [4]], grades=[0, 1, 0, 0, 1]), (1 / 2 + 0) / 2)
    check("Bpref", POOL, (1 + 0) / 2)  # the pooled document is not judged non-relevant
    check("Bpref", CHUNKS, (1 + 1) / 3)  # two golds credited, none non-relevant


def test_inferred_ap() -> None:
    # R = 2. Position 0: 1. Position 4: above it 1 relevant, 1 non-relevant, 1 pooled, 1 outside the pool.
    chance = (1 + 0.00001) / (2 + 0.00002)
    check("infAP", POOL, (1 + 1 / 5 + 4 / 5 * 3 / 4 * chance) / 2)
    # Only relevant documents: 1 and 1/2 + 1/2 * 1 * (1 + e)/(1 + 2e).
    check(
        "infAP",
        Query(ranks=[[0], [1]], grades=[1, 1]),
        (1 + 1 / 2 + 1 / 2 * (1 + 0.00001) / (1 + 0.00002)) / 2,
    )
    # Rank 2 repeats a gold, which counts once: at position 2, one of the two above is in the pool.
    check("infAP", CHUNKS, (1 + 1 / 3 + 2 / 3 * 1 / 2 * (1 + 0.00001) / (1 + 0.00002)) / 3)


def test_dcg() -> None:
    check("DCG", PLAIN, 2 / log2(2) + 1 / log2(5))
    check("DCG", PLAIN, 2, k=3)
    check("DCG", PLAIN, 3 / log2(2) + 1 / log2(5), gain="exp")  # 2^2 - 1 and 2^1 - 1
    check("DCG", CHUNKS, 7 + 1 / log2(4), gain="exp")  # 2^3 - 1 and 2^1 - 1
    check("DCG", PLAIN, 2 + 1 / log2(4), discount="jk")
    check("DCG", Query(ranks=[[0], [1]], grades=[1, 3]), 1 + 3 / log2(2), discount="jk")
    check("DCG", PLAIN, 2, rel=2)
    check("DCG", POOL, 1 + 1 / log2(6))  # grade -1 has no gain
    check("DCG", CHUNKS, 3 + 1 / log2(4))
    check("DCG", CHUNKS, 3 + 3 / log2(3) + 1 / log2(4), credit="rank")


def test_ndcg() -> None:
    gained = 2 + 1 / log2(5)
    check("nDCG", PLAIN, gained / (2 + 1 / log2(3) + 1 / log2(4)))  # ideal 2 1 1
    check("nDCG", PLAIN, 2 / (2 + 1 / log2(3)), k=2)
    check("nDCG", PLAIN, gained / (2 + 1 / log2(3)), ideal="retrieved")  # ideal 2 1
    check("nDCG", PLAIN, 2 / (2 + 1 / log2(3)), k=2, ideal="retrieved")  # the 1 at rank 4 is in the ideal
    check("nDCG", PLAIN, 1, rel=2)
    check("nDCG", CHUNKS, (3 + 1 / log2(4)) / (3 + 1 / log2(3) + 1 / log2(4)))
    # RetrievalNDCGAny: ranks 3 3 1 are already in the best order; 1 3 would not be.
    check("nDCG", CHUNKS, 1, discount="jk", ideal="retrieved", credit="rank")
    swapped = Query(ranks=[[], [0], [1], [1]], grades=[1, 3])
    check(
        "nDCG",
        swapped,
        (1 / log2(2) + 3 / log2(3)) / (3 + 3 / log2(2) + 1 / log2(3)),
        k=3,
        discount="jk",
        ideal="retrieved",
        credit="rank",
    )


def test_rank_biased_precision() -> None:
    check("RBP", PLAIN, 0.2 * (2 / 2 + 1 / 2 * 0.8**3))  # grades divided by the highest, 2
    check("RBP", PLAIN, 0.5 * (1 + 0.5**3), p=0.5, rel=1)
    check("RBP", PLAIN, 0.2 * 1, rel=2)
    check("RBP", Query(ranks=[[0]], grades=[0.5]), 0.2 * 0.5)  # the highest grade does not exceed 1
    check("RBP", Query(ranks=[[0]], grades=[1, 4]), 0.2 * 1 / 4)  # the highest grade of the truth, retrieved or not
    check("RBP", CHUNKS, 0.2 * (3 / 3 + 1 / 3 * 0.8**2))


def test_rank_biased_residual() -> None:
    check("RBPResidual", PLAIN, 0.8**4 + 0.2 * 0.8)  # rank 2 is unjudged
    check("RBPResidual", POOL, 0.5**5 + 0.5 * (0.5 + 0.5**2), p=0.5)  # ranks 2 (grade -1) and 3
    check("RBPResidual", Query(ranks=[[0]], grades=[1]), 0)  # every rank judged


def test_expected_reciprocal_rank() -> None:
    first, second = 3 / 16, 1 / 16  # (2^2 - 1)/2^4 and (2^1 - 1)/2^4
    check("ERR", PLAIN, first + (1 - first) * second / 4)
    check("ERR", PLAIN, first, k=3)
    check("ERR", CHUNKS, 7 / 16 + (1 - 7 / 16) * second / 3)  # rank 2 repeats a gold, so no reader stops there
    check("ERR", PLAIN, 3 / 4 + (1 / 4) * (1 / 4) / 4, max_grade=2)
    with pytest.raises(ValueError, match="max_grade"):
        reference("ERR", PLAIN, max_grade=1)


NOT_ZERO = {"Judged", "Unjudged", "NumQ", "NumRet", "NumRel", "NumNonrelRet", "RBPResidual", "Utility", "YAAP"}
"""measures of something else than relevant documents that were found, or whose lowest value is another one"""


@pytest.mark.parametrize("query", [NOTHING, NO_RELEVANT, NONE_FOUND, NONE_RETRIEVED])
@pytest.mark.parametrize("name", sorted(MEASURES.keys() - NOT_ZERO))
def test_nothing_found_scores_zero(name: str, query: Query) -> None:
    needed: dict[str, dict[str, object]] = {"P": {"k": 5}, "relative_P": {"k": 5}, "IPrec": {"recall": 0.5}}
    assert reference(name, query, **needed.get(name, {})) == 0


def test_conflicting_parameters_are_an_error() -> None:
    for parameters in ({"credit": "rank"}, {"norm": "x"}, {"credit": "x"}):
        with pytest.raises(ValueError, match=r"credit|norm"):
            reference("AP", PLAIN, **parameters)
    for parameters in ({"credit": "rank"}, {"gain": "x"}, {"discount": "x"}, {"ideal": "x"}):
        with pytest.raises(ValueError, match=r"credit|gain|discount|ideal"):
            reference("nDCG", PLAIN, **parameters)
    with pytest.raises(TypeError):
        reference("P", PLAIN, k=1, beta=1)


# trec_eval's printed output. A case is its output, its two inputs, -l and -M. Its rbp reads uninitialised
# variables, but all values printed here are correct, so rbp is compared too.

CASES = {
    "out.test.aq": ("qrels.test", "results.test", 1, None),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None),
}

PLAINLY_NAMED = {
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "ndcg": "nDCG",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "rbp": "RBP",
    "rbp_resid": "RBPResidual",
}
CUT = {
    "P": "P",
    "recall": "R",
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "relative_P": "relative_P",
    "success": "Success",
    "unj": "Unjudged",
}
TAKES_NO_LEVEL = {"NumRet", "nDCG", "RBP", "RBPResidual", "Unjudged"}
OTHERS = re.compile(
    r"relstring|Rprec_mult|utility|11pt_avg|binG|G$|ndcg_rel|Rndcg|ndcg_1=|set_relative_P|num_nonrel_judged_ret"
)


def ours(name: str) -> tuple[str, dict[str, object]] | None:
    """The measure for a name that trec_eval prints, or None if karat does not have it."""
    if name in PLAINLY_NAMED:
        probability: dict[str, object] = {"p": 0.9} if name.startswith("rbp") else {}
        return PLAINLY_NAMED[name], probability
    if name.startswith("iprec_at_recall_"):
        return "IPrec", {"recall": float(name.removeprefix("iprec_at_recall_"))}
    stem, _, cut = name.rpartition("_")
    if stem in CUT:
        return CUT[stem], {"k": int(cut)}
    assert OTHERS.match(name), f"trec_eval prints {name}: add it here, or to those that we lack"
    return None


def read_queries(truth: str, run: str, at_most: int | None) -> dict[str, Query]:
    grades: dict[str, dict[str, float]] = {}
    for line in (CONFORMANCE / truth).read_text().splitlines():
        query, _, doc, grade = line.split()
        grades.setdefault(query, {})[doc] = float(grade)
    scored: dict[str, list[tuple[float, str]]] = {}
    for line in (CONFORMANCE / run).read_text().splitlines():
        query, _, doc, _, score, *_ = line.split()  # results.trunc has words after the sixth column
        scored.setdefault(query, []).append((float(score), doc))
    queries = {}
    for query, of_docs in grades.items():
        index = {doc: i for i, doc in enumerate(of_docs)}
        # Both descending: of equal scores, the larger id is first.
        ranked = sorted(scored.get(query, []), reverse=True)[:at_most]
        ranks = [[index[doc]] if doc in index else [] for _, doc in ranked]
        queries[query] = Query(ranks, list(of_docs.values()))
    return queries


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason=f"trec_eval's test data is not at {CONFORMANCE}")
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_trec_eval(case: str) -> None:
    truth, run, level, at_most = CASES[case]
    queries = read_queries(truth, run, at_most)
    wrong = []
    compared = set()
    for line in (CONFORMANCE / case).read_text().splitlines():
        name, query, printed = line.split()
        measure = None if query == "all" else ours(name)
        if measure is None:
            continue
        ours_name, parameters = measure
        if ours_name not in TAKES_NO_LEVEL:
            parameters["rel"] = level
        value = reference(ours_name, queries[query], **parameters)
        compared.add(ours_name)
        if abs(value - float(printed)) > 0.00005 + 1e-9:
            wrong.append(f"{name} of {query}: {value:.6f}, trec_eval printed {printed}")
    assert not wrong, "\n".join(wrong)
    assert len(compared) >= 5
