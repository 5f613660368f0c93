"""check(..., claimed=...): scores that somebody claims, and the mistakes that give them."""

from __future__ import annotations

import io
import math
import random
import re
import statistics
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError, check
from karat.evaluation.check.mistakes import mistakes_of
from karat.measures import parse
from tests.reference import Query, reference

CONFORMANCE = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"

Rankings = Mapping[str, list[str]]
Row = tuple[str, str, float]


def _data() -> tuple[dict[str, dict[str, int]], list[Row]]:
    """Ground truth and a run that have everything which a mistake could change.

    Queries are missing, without truth and without relevant documents; documents are tied, nearly tied, listed twice,
    named like their query and unjudged; the rows of a query are not in the order of their scores.
    """
    chance = random.Random(20)
    names = [f"d{number:02}" for number in range(30)]
    truth, rows = {}, []
    for number in range(24):
        query = f"q{number}"
        docs = chance.sample(names, 15)
        truth[query] = {doc: chance.choice([0, 0, 0, 1, 1, 2, 3]) if number < 21 else 0 for doc in docs}
        if number % 6 == 5:
            continue  # missing from the run
        found = chance.sample(names, 8) + chance.sample(docs, 6)
        scored = {doc: round(truth[query].get(doc, 0) + chance.gauss(0, 1.5), 0) for doc in found}
        near = {doc: score + chance.choice([0, 0, 1e-12]) for doc, score in scored.items()}
        rows += [(query, query, 2.5), *((query, doc, score) for doc, score in near.items())]
        rows += [(query, doc, near[doc] - 0.5) for doc in chance.sample(found, 3)]
        truth[query][query] = int(number < 21)
    rows += [(query, "d00", 1.0) for query in ("unknown1", "unknown2", "unknown3")]
    return truth, rows


TRUTH, ROWS = _data()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "bm25.trec"
    path.write_text("".join(f"{query} Q0 {doc} 0 {score!r} tag\n" for query, doc, score in ROWS), "utf-8")
    return path


# The same run, ranked in plain Python.


def without_repeats(rows: list[Row]) -> list[Row]:
    best: dict[tuple[str, str], float] = {}
    for query, doc, score in rows:
        best[query, doc] = max(score, best.get((query, doc), -math.inf))
    seen: set[tuple[str, str]] = set()
    kept = []
    for query, doc, score in rows:
        if score == best[query, doc] and (query, doc) not in seen:
            seen.add((query, doc))
            kept.append((query, doc, score))
    return kept


def ranked(rows: list[Row], key: Callable[[Row], Any], *, reverse: bool = False) -> Rankings:
    rankings: dict[str, list[str]] = {}
    for query, doc, _ in sorted(rows, key=key, reverse=reverse):
        rankings.setdefault(query, []).append(doc)
    return rankings


def grade_of(row: Row) -> int:
    return TRUTH.get(row[0], {}).get(row[1], 0)


def single(score: float) -> float:
    return float(struct.unpack("f", struct.pack("f", score))[0])


KEPT = without_repeats(ROWS)
BY_SCORE = ranked(KEPT, lambda row: (row[2], row[1]), reverse=True)
REPEATED = ranked(ROWS, lambda row: (row[2], row[1]), reverse=True)
BEST = ranked(KEPT, lambda row: (-row[2], -grade_of(row)))
WORST = ranked(KEPT, lambda row: (-row[2], grade_of(row)))
BY_ID = ranked(KEPT, lambda row: (-row[2], row[1]))
TIED_AS_INPUT = ranked(KEPT, lambda row: -row[2])
AS_INPUT = ranked(KEPT, lambda _: 0)
IN_SINGLE = ranked(KEPT, lambda row: (single(row[2]), row[1]), reverse=True)
NEGATED = without_repeats([(query, doc, -score) for query, doc, score in ROWS])
LOWEST_FIRST = ranked(NEGATED, lambda row: (row[2], row[1]), reverse=True)
WITHOUT_IDENTICAL = {query: [doc for doc in docs if doc != query] for query, docs in BY_SCORE.items()}


def values(
    name: str, rankings: Rankings = BY_SCORE, grades: Callable[[int], float] = float, **parameters: Any
) -> dict[str, float]:
    """The value of each query, with the reference implementation of the measure."""
    result = {}
    for query, truth in TRUTH.items():
        docs = list(truth)
        ranks = [[docs.index(doc)] if doc in truth else [] for doc in rankings.get(query, [])]
        result[query] = reference(name, Query(ranks, [grades(grade) for grade in truth.values()]), **parameters)
    return result


def mean(by_query: Mapping[str, float], where: Callable[[str], bool] = lambda _: True) -> float:
    return statistics.fmean(value for query, value in by_query.items() if where(query))


def is_relevant(query: str) -> bool:
    return any(TRUTH[query].values())


def is_in_run(query: str) -> bool:
    return query in BY_SCORE


def top(k: int) -> Rankings:
    return {query: docs[:k] for query, docs in BY_SCORE.items()}


def binary(grade: int) -> float:
    return float(grade >= 1)


def pooled(name: str, weights: Mapping[str, float], **parameters: Any) -> float:
    by_query = values(name, **parameters)
    return sum(by_query[query] * weights[query] for query in TRUTH) / sum(weights.values())


NDCG = values("nDCG", k=10)
OF_RUN = len(BY_SCORE)

MISTAKES: list[tuple[str, float, str]] = [
    ("nDCG@10", mean(NDCG, is_in_run), "queries missing from the run are left out (missing=skip)"),
    ("nDCG@10", mean(NDCG, is_relevant), "queries without relevant documents are left out"),
    (
        "nDCG@10",
        mean(NDCG, lambda query: is_in_run(query) and is_relevant(query)),
        "queries that are missing from the run or have no relevant documents are left out",
    ),
    (
        "nDCG@10",
        mean({query: value if is_relevant(query) else 1.0 for query, value in NDCG.items()}),
        "queries without relevant documents count as 1",
    ),
    ("nDCG@10", sum(NDCG.values()) / (len(TRUTH) + 3), "queries of the run without ground truth count as 0"),
    (
        "nDCG@10",
        sum(NDCG.values()) / OF_RUN,
        "all queries of the run are averaged, those without ground truth as 0, and no others",
    ),
    (
        "nDCG@1",
        mean(values("nDCG", k=1), lambda query: values("R", k=1)[query] > 0),
        "queries for which nothing relevant was retrieved are left out",
    ),
    ("nDCG@10", statistics.median(NDCG.values()), "the median of the queries is taken, not the mean"),
    ("R@5", pooled("R", values("NumRel"), k=5), "(micro-average)"),
    ("SetP", pooled("SetP", values("NumRet")), "(micro-average)"),
    ("Rprec", pooled("Rprec", values("NumRel")), "(micro-average)"),
    (
        "nDCG@10",
        mean(values("nDCG", k=10, ideal="retrieved")),
        "the ideal ranking has only retrieved documents (nDCG(ideal=retrieved)@10)",
    ),
    (
        "nDCG@5",
        mean(values("nDCG", top(5), ideal="retrieved")),
        "the ideal ranking has only the documents that are above the cut-off",
    ),
    ("nDCG@5", mean(values("nDCG", top(5))), "the ideal ranking is not cut off"),
    ("nDCG@10", mean(values("nDCG", k=10, gain="exp")), "the gain is 2^g − 1 (nDCG(gain=exp)@10)"),
    ("nDCG(gain=exp)@10", mean(NDCG), "the gain is the grade (nDCG@10)"),
    ("nDCG@10", mean(values("nDCG", grades=binary, k=10)), "every relevant document has the same gain"),
    ("nDCG@10", mean(values("nDCG", k=10, discount="jk")), "the discount is max(1, log2(i)) (nDCG(discount=jk)@10)"),
    ("nDCG(discount=jk)@10", mean(NDCG), "the discount is log2(i + 1) (nDCG@10)"),
    (
        "AP",
        mean(values("AP", norm="found")),
        "AP is divided by the number of relevant documents found (AP(norm=found))",
    ),
    ("AP@5", mean(values("AP", k=5, norm="min")), "AP is divided by min(R, k) (AP(norm=min)@5)"),
    ("AP(norm=found)", mean(values("AP")), "AP is divided by the number of relevant documents (AP)"),
    ("R@3", mean(values("Success", k=3)), "recall is a hit rate, 1 for any relevant document found (Success@3)"),
    ("R@3", mean(values("relative_P", k=3)), "recall is divided by min(R, k) (relative_P@3)"),
    (
        "R@10",
        mean(values("RecallAll", k=10)),
        "recall is 1 where all relevant documents are found, and else 0 (RecallAll@10)",
    ),
    ("Success@3", mean(values("R", k=3)), "the hit rate is a recall (R@3)"),
    ("P@20", mean(values("SetP", k=20)), "precision is divided by the number of retrieved documents (SetP@20)"),
    ("P@10", mean(values("relative_P", k=10)), "precision is divided by min(R, k) (relative_P@10)"),
    ("SetP@20", mean(values("P", k=20)), "precision is divided by k (P@20)"),
    (
        "AP",
        math.exp(mean({query: math.log(max(value, 0.00001)) for query, value in values("AP").items()})),
        "the mean is geometric (GMAP)",
    ),
    ("GMAP", mean(values("AP")), "the mean is arithmetic (AP)"),
    ("AP", mean(values("AP", rel=2)), "grade 2 is the lowest relevant one (AP(rel=2))"),
    ("AP(rel=2)", mean(values("AP")), "grade 1 is the lowest relevant one (AP)"),
    ("P@10", mean(values("P", k=10, rel=0)), "every judged document is relevant (P(rel=0)@10)"),
    ("nDCG@10", mean(values("nDCG", k=10, rel=2)), "grade 2 is the lowest relevant one (nDCG(rel=2)@10)"),
    (
        "nDCG@10",
        mean(values("nDCG", k=10, judged_only=True)),
        "documents without judgments are removed (nDCG(judged_only=true)@10)",
    ),
    ("nDCG@5", mean(values("nDCG", BEST, k=5)), "equal scores are ordered with relevant documents first (ties=best)"),
    ("nDCG@5", mean(values("nDCG", WORST, k=5)), "equal scores are ordered with relevant documents last (ties=worst)"),
    ("nDCG@5", mean(values("nDCG", TIED_AS_INPUT, k=5)), "equal scores are ordered as in the input (ties=input)"),
    ("nDCG@5", mean(values("nDCG", BY_ID, k=5)), "documents with equal scores are ordered by id, ascending"),
    ("nDCG@5", mean(values("nDCG", IN_SINGLE, k=5)), "scores are compared in single precision, as in trec_eval 9"),
    ("nDCG@10", mean(values("nDCG", WITHOUT_IDENTICAL, k=10)), "documents whose id is that of the query are ignored"),
    ("P@10", mean(values("P", REPEATED, k=10)), "documents that are listed twice keep both ranks"),
    (
        "nDCG@10",
        mean(values("nDCG", AS_INPUT, k=10)),
        "documents are ranked as in the input, whatever their scores are",
    ),
    ("nDCG@10", mean(values("nDCG", LOWEST_FIRST, k=10)), "the lowest score is ranked first"),
    ("nDCG@5", mean(values("nDCG")), "the cut-off is ignored (nDCG)"),
    ("AP", mean(values("AP", k=3)), "there is a cut-off (AP@3)"),
    ("nDCG@10", mean(values("nDCG", k=9)), "the cut-off is another one (nDCG@9)"),
    ("R@5", mean(values("R", k=3)), "the cut-off is another one (R@3)"),
    ("nDCG@10", mean(values("P", k=10)), "it is the score of another measure (P@10)"),
    ("RR", mean(values("AP")), "it is the score of another measure (AP)"),
    ("AP@10", mean(values("Bpref")), "it is the score of another measure (Bpref)"),
]


def messages(run: Any, claimed: Any, **options: Any) -> list[str]:
    """What is found out about claims; all findings about them have the same kind and severity."""
    found = check(TRUTH, run, claimed=claimed, select=["K060"], **options)
    assert {finding.code for finding in found} <= {"other-score"}
    assert len(found.errors) == len(found)
    return [finding.message for finding in found]


@pytest.mark.parametrize(("measure", "wrong", "words"), MISTAKES, ids=[f"{m}: {words}" for m, _, words in MISTAKES])
def test_a_known_mistake_that_gives_the_claimed_score_is_named(
    run: Path, measure: str, wrong: float, words: str
) -> None:
    [message] = messages(run, {measure: f"{wrong:.4f}"})
    before, _, ways = message.partition(f"; {wrong:.4f} comes out if ")
    right = karat.evaluate(TRUTH, run, [measure], duplicates="first")[measure]
    assert before == f"{measure} is claimed to be {wrong:.4f}, but is {right:.4f}"
    assert words in ways


def test_unnormalized_gain_is_named(run: Path) -> None:
    # Only where it happens to be in the range of nDCG: a score above 1 cannot be claimed for it.
    wrong = statistics.fmean(values("DCG", grades=lambda grade: grade / 9, k=3).values())
    truth = {query: {doc: grade / 9 for doc, grade in docs.items()} for query, docs in TRUTH.items()}
    [found] = check(truth, run, claimed={"nDCG@3": f"{wrong:.5f}"}, select=["K060"])
    assert "DCG is not divided by the ideal DCG (DCG@3)" in found.message


def test_options_of_the_check_are_those_of_the_right_score(run: Path) -> None:
    left_out = mean(NDCG, is_in_run)
    assert not messages(run, {"nDCG@10": f"{left_out:.4f}"}, missing="skip")
    [message] = messages(run, {"nDCG@10": f"{mean(NDCG):.4f}"}, missing="skip")
    assert "comes out if queries missing from the run count as 0 (missing=zero)" in message
    assert not messages(run, {"nDCG@5": f"{mean(values('nDCG', BEST, k=5)):.4f}"}, ties="best")
    assert not messages(run, {"nDCG@5": f"{mean(values('nDCG', TIED_AS_INPUT, k=5)):.4f}"}, ties="input")
    [message] = messages(run, {"nDCG@5": f"{mean(values('nDCG', k=5)):.4f}"}, ties="input")
    assert "ordered by id, descending, as in trec_eval (ties=trec)" in message
    assert not messages(run, {"AP": f"{mean(values('AP', rel=2)):.4f}"}, rel=2)
    ignored = mean(values("nDCG", WITHOUT_IDENTICAL, k=10))
    assert not messages(run, {"nDCG@10": f"{ignored:.4f}"}, ignore_identical_ids=True)
    [message] = messages(run, {"nDCG@10": f"{mean(NDCG):.4f}"}, ignore_identical_ids=True)
    assert "documents whose id is that of the query are kept" in message


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            mean(NDCG, lambda query: is_in_run(query) and is_relevant(query)),
            "queries without relevant documents are left out",
        ),
        (
            mean({query: value if is_relevant(query) else 1.0 for query, value in NDCG.items()}, is_in_run),
            "queries without relevant documents count as 1",
        ),
        (sum(NDCG.values()) / OF_RUN, "queries of the run without ground truth count as 0"),
        (
            statistics.median(value for query, value in NDCG.items() if is_in_run(query)),
            "the median of the queries is taken, not the mean",
        ),
    ],
)
def test_queries_that_an_evaluation_leaves_out_are_left_out_in_mistakes(run: Path, wrong: float, words: str) -> None:
    [message] = messages(run, {"nDCG@10": f"{wrong:.4f}"}, missing="skip")
    assert f"comes out if {words}" in message


def test_haystack_s_average_precision_of_repeated_documents_is_named() -> None:
    truth = {"q": {"a": 1, "b": 1, "c": 1}}
    [found] = check(truth, {"q": ["a", "a", "x", "b"]}, claimed={"AP": "0.9167"}, select=["K060"])
    assert "a repeated document counts each time (AP(norm=found, credit=rank))" in found.message
    rows = [("q", doc, score) for doc, score in (("a", 9), ("a", 8), ("x", 7), ("b", 6))]
    [found] = check(truth, pd.DataFrame(rows, columns=["query", "doc", "score"]), claimed="AP=0.9167", select=["K060"])
    assert "a repeated document counts each time (AP(norm=found, credit=rank))" in found.message
    [found] = check(truth, {"q": {"a": 9, "x": 7, "b": 6}}, claimed="AP=0.8333", select=["K060"])
    assert found.message.endswith("AP is divided by the number of relevant documents found (AP(norm=found))")


def test_two_mistakes_that_together_give_the_claimed_score_are_both_named(run: Path) -> None:
    wrong = mean(values("nDCG", k=10, gain="exp", discount="jk"))
    [message] = messages(run, {"nDCG@10": f"{wrong:.4f}"})
    both = "the gain is 2^g − 1 and, at the same time, the discount is max(1, log2(i)) (nDCG(gain=exp, discount=jk)@10)"
    assert both in message
    wrong = mean(values("nDCG", BEST, k=5, ideal="retrieved"))
    [message] = messages(run, {"nDCG@5": f"{wrong:.4f}"})
    assert "the ideal ranking has only retrieved documents" in message
    assert "and, at the same time, documents with equal scores are ordered with relevant documents first" in message


def test_two_mistakes_are_not_blamed_for_a_number_of_few_digits(run: Path) -> None:
    wrong = mean(values("nDCG", k=10, gain="exp", discount="jk"))
    assert "at the same time" not in messages(run, {"nDCG@10": f"{wrong:.3f}"})[0]


def test_a_score_that_no_known_mistake_gives_is_said_to_be_unknown(run: Path) -> None:
    [found] = check(TRUTH, run, claimed={"nDCG@10": "0.98765"}, select=["K060"])
    assert re.fullmatch(
        r"nDCG@10 is claimed to be 0\.98765, but is 0\.\d{5}; none of the \d\d usual mistakes and conventions that were"
        r" tried gives 0\.98765",
        found.message,
    )
    assert found.hint == "Is it the score of this run, with this ground truth?"
    assert found.place == karat.errors.Place(str(run))


def test_several_mistakes_that_give_the_same_number_are_joined_by_or() -> None:
    truth = {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    [found] = check(truth, {"q": {"a": 1, "x": 1}}, claimed={"R@1": "0.2500"}, select=["K060"])
    assert found.message == (
        "R@1 is claimed to be 0.2500, but is 0.0000; 0.2500 comes out if documents without judgments are removed"
        " (R(judged_only=true)@1), or if documents with equal scores are ordered as in the input (ties=input), or if"
        " documents with equal scores are ordered by id, ascending, and in 4 other ways"
    )
    [found] = check(truth, {"q": {"a": 1, "x": 0}}, claimed={"R@1": "0.5000"}, select=["K060"])
    assert found.message.endswith(
        "; 0.5000 comes out if queries missing from the run are left out (missing=skip), or if recall is a hit rate, 1"
        " for any relevant document found (Success@1), or if recall is divided by min(R, k) (relative_P@1), and in 1"
        " other way"
    )


def test_a_number_without_its_further_digits_is_named() -> None:
    truth, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a", "b"]}
    [found] = check(truth, run, claimed={"R": "0.6666"}, select=["K060"])
    assert found.message == (
        "R is claimed to be 0.6666, but is 0.6667; 0.6666 comes out if the further digits are cut off, not rounded"
    )
    assert not check(truth, run, claimed={"R": "0.6667"}, select=["K060"])


@pytest.mark.parametrize("claimed", ["0.9", "0.99", "0.9999"])
def test_a_number_just_below_a_value_that_has_no_further_digits_is_not_cut_off(claimed: str) -> None:
    [found] = check({"q": {"a": 1}}, {"q": ["a"]}, claimed={"RR": claimed}, select=["K060"])
    assert "cut off" not in found.message


def test_scores_in_percent_are_read_as_such(run: Path) -> None:
    right, left_out = 100 * mean(NDCG), 100 * mean(NDCG, is_in_run)
    assert not messages(run, {"nDCG@10": f"{right:.2f}"})
    assert not messages(run, {"nDCG@10": f"{right:.1f} %"})
    [message] = messages(run, {"nDCG@10": round(left_out, 2)})
    shown = f"nDCG@10 is claimed to be {round(left_out, 2)}%, but is {right:.2f}%; {round(left_out, 2)}% comes out if"
    assert message.startswith(shown)


def test_counts_are_claimed_as_counts(run: Path) -> None:
    right = karat.evaluate(TRUTH, run, ["NumRel"], duplicates="first")["NumRel"]
    assert not messages(run, {"NumRel": int(right)})
    [message] = messages(run, {"num_rel": int(right) + 1000})
    assert message.startswith(f"num_rel is claimed to be {int(right) + 1000}, but is {int(right)}; none of the")


def test_a_measure_that_cannot_be_computed_is_a_finding() -> None:
    [found] = check({"q": {"a": 9}}, {"q": ["a"]}, claimed={"ERR": 0.5}, select=["K060"])
    assert found.message.startswith("ERR is claimed to be 0.5, but cannot be computed: ERR: grade 9 is above")
    assert "max_grade=9" in found.hint


MEASURES = ("nDCG@10", "AP", "RR", "P@5", "R@10", "Success@3", "Rprec", "GMAP", "DCG@5", "NumRelRet")


@given(st.sampled_from(MEASURES), st.integers(2, 17), st.booleans(), st.randoms(use_true_random=False))
def test_a_right_claim_of_any_number_of_digits_is_never_a_finding(
    measure: str, digits: int, in_percent: bool, chance: random.Random
) -> None:
    docs = [f"d{number}" for number in range(9)]
    truth = {
        f"q{number}": {doc: chance.choice([0, 1, 2]) for doc in docs[::2]} for number in range(chance.randint(1, 9))
    }
    run = {query: {doc: chance.choice([1, 2, 3, 4]) for doc in chance.sample(docs, 6)} for query in truth}
    right = karat.evaluate(truth, run, [measure])[measure]
    is_share = parse(measure).definition.bounds == (0, 1)
    text = f"{100 * right:.{digits}f}%" if in_percent and is_share else f"{right:.{digits}f}"
    assert not check(truth, run, claimed={measure: text}, select=["K060"])
    assert not check(truth, run, claimed={measure: right}, select=["K060"])
    assert not check(truth, run, claimed={measure: single(right)}, select=["K060"])


@given(st.floats(0, 1), st.integers(2, 6))
def test_a_claim_that_differs_in_its_last_digit_is_always_a_finding(value: float, digits: int) -> None:
    unit = 10.0**-digits
    right = 0.5
    wrong = round(value, digits)
    found = check({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, claimed={"R": f"{wrong:.{digits}f}"}, select=["K060"])
    assert len(found) == (abs(wrong - right) > unit / 2)


def test_right_claims_need_no_other_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("karat.evaluation.check.recomputing.rank_judged", fail)
    truth, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0, "x": 0.5}}
    assert not check(truth, run, claimed={"R@10": 0.5, "P@1": 1, "nDCG@10": 0.6131}, select=["K060"])


@pytest.mark.parametrize(
    ("printed", "run"),
    [("out.test", "results.test"), ("out.test.a", "results.test"), ("out.test.aqc", "results.trunc")],
)
def test_what_trec_eval_prints_for_its_test_data_is_right(printed: str, run: str) -> None:
    if not CONFORMANCE.is_dir():
        pytest.skip("trec_eval's test data is not next to the repository (../shared/conformance/trec_eval)")
    truth = CONFORMANCE / "qrels.test"
    assert not check(truth, CONFORMANCE / run, claimed=CONFORMANCE / printed, select=["K060"])
    with_other = check(truth, CONFORMANCE / run, claimed=["map=0.5", CONFORMANCE / printed], select=["K060"])
    assert [finding.message.partition(",")[0] for finding in with_other] == ["map is claimed to be 0.5"]


def test_no_mistake_has_the_words_of_another() -> None:
    for measure in map(parse, ("nDCG@10", "AP@10", "R@5", "P@5", "SetP@5")):
        named = [mistake.words for mistake in mistakes_of(measure, [0, 1, 2], None) if mistake.topic not in _LISTED]
        assert len(named) == len(set(named))


_LISTED = ("cut-off", "measure")


# How claims are written.


def test_claims_are_texts_mappings_and_files(tmp_path: Path) -> None:
    truth, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}
    karat.evaluate(truth, run, ["R@2", "AP"]).save(tmp_path / "saved.json")
    files = {
        "flat.json": '{"R@2": 0.5, "AP": 0.5}',
        "by_run.json": '{"bm25": {"R@2": 0.5, "AP": 0.5}}',
        "table.csv": "R@2,AP\n0.50,0.50\n",
        "with_run.tsv": "run\tR@2\tAP\nbm25\t0.50\t0.50\n",
        "trec_eval.txt": "runid                 \tall\tmy run\nnum_q                 \tall\t1\n"
        "map                   \tq\t0.9000\nmap                   \tall\t0.5000\nrecall_5              \tall\t0.5000\n",
        "blanks.txt": "map all 0.5000\nrecall_5   all 0.5\nnDCG@2 0.6131\nAP(rel=1, norm=relevant) 0.5",
        "lines.txt": "\ufeffR@2=0.5\n\nAP: 0.5\n",
        "commas.csv": "R@2,0.5\nAP,0.5\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    for name in [*files, "saved.json"]:
        assert not check(truth, run, claimed=tmp_path / name, select=["K060"]), name
        assert not check(truth, run, claimed=[str(tmp_path / name), "P@1=1.0"], select=["K060"]), name
    for name in files:
        text = files[name].replace("0.5", "0.7")
        (tmp_path / name).write_text(text, "utf-8")
        claims = [finding.message for finding in check(truth, run, claimed=str(tmp_path / name), select=["K060"])]
        assert len(claims) >= 2, name
        assert all("is claimed to be 0.7" in claim for claim in claims), name


def test_claims_may_be_in_an_open_file_and_in_several_places() -> None:
    truth, run = {"q": {"a": 1, "b": 1}}, {"q": ["a", "x"]}
    claimed = ["R@2=0.5", io.BytesIO(b'{"P@2": 0.7}'), "R@2=0.6"]
    assert [text.partition(",")[0] for text in messages_of(truth, run, claimed)] == [
        "P@2 is claimed to be 0.7",
        "R@2 is claimed to be 0.6",
    ]
    assert not messages_of(truth, run, io.BytesIO(b"R@2 0.5"))


def messages_of(truth: Any, run: Any, claimed: Any) -> list[str]:
    return [finding.message for finding in check(truth, run, claimed=claimed, select=["K060"])]


def test_claims_about_several_runs_are_named_by_run(tmp_path: Path) -> None:
    truth = {"q": {"a": 1, "b": 1}}
    paths = [tmp_path / "bm25.trec", tmp_path / "dense.trec"]
    paths[0].write_text("q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n", "utf-8")
    paths[1].write_text("q Q0 x 1 2.0 t\nq Q0 b 2 1.0 t\n", "utf-8")
    both = {"bm25": {"R": 1.0}, "dense": {"R": 0.9}, "splade": {"R": 0.3}}
    [found] = check(truth, *paths, claimed=both, select=["K060"])
    assert found.place == karat.errors.Place(str(paths[1]))
    assert found.message.startswith("R is claimed to be 0.9, but is 0.5000")
    [found] = check(truth, paths[1], claimed=both, select=["K060"])
    with_paths = {str(paths[0]): {"R": 1.0}, str(paths[1]): {"R": 0.5}}
    assert not check(truth, *paths, claimed=with_paths, select=["K060"])
    with pytest.raises(KaratError, match=r"no scores are claimed for dense\. Did you mean denes"):
        check(truth, *paths, claimed={"bm25": {"R": 1.0}, "denes": {"R": 1.0}})
    with pytest.raises(KaratError, match="claimed without a run, and several runs are checked"):
        check(truth, *paths, claimed={"R": 1.0})


@pytest.mark.parametrize(
    ("claimed", "message"),
    [
        ({"nDGC@10": 0.4}, "unknown measure 'nDGC'. Did you mean nDCG"),
        ({"nDCG@10": float("nan")}, "nan, which is claimed for 'nDCG@10', is not a number"),
        ({"nDCG@10": "high"}, "'high', which is claimed for 'nDCG@10', is not a number"),
        ({"nDCG@10": True}, "True, which is claimed"),
        ({"nDCG@10": [0.4]}, "is not a number"),
        ({"nDCG@10": -0.1}, "-0.1, which is claimed for nDCG@10, is out of range. nDCG@10 is between 0 and 1"),
        ({"nDCG@10": 412.3}, "out of range"),
        ({"nDCG@10": "101%"}, "out of range"),
        ({"DCG@10": "1e999999999999"}, "is not a number"),
        ({"DCG@10": "9" * 5000}, "is not a number"),
        ({"DCG@10": 10**5000}, "a number with thousands of digits, which is claimed for 'DCG@10', is not a number"),
        ({"nDCG@1,5": 0.4}, "'nDCG@1,5' are several measures"),
        ({"Hole@10": 0.4}, "claims of Hole@10 are not checked"),
        ({"TokenF1": 0.4}, "TokenF1 measures answers, not documents"),
        ({"P": 0.4}, "P needs a cut-off"),
        ({3: 0.4}, "3 is not the name of a measure or a run"),
        ({"bm25": {3: 0.4}}, "3 is not the name of a measure"),
        ({}, "no scores are claimed"),
        ([], "no scores are claimed"),
        (7, "claimed=7 are not claimed scores"),
        ("nDCG@10", "'nDCG@10' has no number. Write a claim as nDCG@10=0.4123"),
        ("nDCG@10=", "is not of the form MEASURE=NUMBER"),
        ("no-such-file.json", "no such file"),
    ],
)
def test_a_wrong_claim_is_an_error_that_says_what_is_wrong(claimed: Any, message: str) -> None:
    with pytest.raises(KaratError, match=re.escape(message)):
        check({"q": {"a": 1}}, {"q": ["a"]}, claimed=claimed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("{}", "the file claims no scores"),
        ('{"nDCG@10": 0.4, "nDCG@10": 0.5}', "appears twice"),
        ('{"nDCG@10": NaN}', "NaN is not a JSON number"),
        ('{"nDCG@10": {"AP": {}}}', "is not a number"),
        ("nDCG@10\n", "claims.txt:1: 'nDCG@10' is not a measure and a number"),
        ("nDCG@10 0.5\nAP\n", "claims.txt:2: 'AP' is not a measure and a number"),
        ("nDCG@10 0.5\nPA 0.4\n", "claims.txt:2: unknown measure 'PA'"),
        ("q1 Q0 d1 1 0.5 tag\n", "claims.txt:1: 'tag', which is claimed for 'q1 Q0 d1 1 0.5', is not a number"),
        ("run,nDCG@10\nbm25,0.5\nbm25,0.4\n", "claims.txt:3: run bm25 appears twice"),
        ("run,nDCG@10\nbm25,0.5,0.4\n", "claims.txt:2: this line has 3 columns, but the header has 2"),
        ("run,nDCG@10\n", "the file claims no scores"),
        ("nDCG@10,AP,nDCG@10\n0.5,0.4,0.6\n", "claims.txt:1: more than one column 'nDCG@10'"),
        ("nDCG@10,AP\n0.5,0.4\n0.5,0.4\n", "the table has several rows, and no column run"),
        ('run,nDCG@10\n"bm25,0.5\n', "a quotation mark is not closed"),
        (" " * 200_000 + "=" * 200_000, "claims.txt:1: a value is longer than 131,072 characters"),
    ],
)
def test_a_damaged_file_of_claims_is_an_error_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "claims.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(KaratError) as error:
        check({"q": {"a": 1}}, {"q": ["a"]}, claimed=path)
    assert message in str(error.value)
    assert error.value.place is not None
    path.write_bytes(b"nDCG@10 0.5\xff\n")
    with pytest.raises(KaratError, match="not UTF-8"):
        check({"q": {"a": 1}}, {"q": ["a"]}, claimed=path)


def test_claims_need_a_run_and_are_not_about_logs(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="claimed scores are those of a run, and there is none"):
        check({"q": {"a": 1}}, claimed={"AP": 0.5})
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "q", "gold": ["a"], "retrieved": ["a"], "answer": "yes"}\n', "utf-8")
    with pytest.raises(KaratError, match="claimed scores belong to ground truth and runs"):
        check(log, claimed={})
