"""diff() for unusual data: repeats, different truths, nulls, texts with the same beginning."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import karat
from karat import KaratError, compare, evaluate_answers, evaluate_results, evaluate_runs
from karat.analysis.diff import Diff, QueryDiff, diff
from karat.data.judged import Floats, Judged


def diff_of(truth: Any, before: Any, after: Any, measure: str, **options: Any) -> Diff:
    scores = evaluate_runs(truth, {"before": before, "after": after}, measure, **options)
    return diff(scores["before"], scores["after"], scores["before"].measures[0], None)


def total(query_diff: QueryDiff) -> float:
    return sum(move.contribution or 0 for move in query_diff.moves) + query_diff.unattributed


def test_golds_with_different_scores_are_different_truths() -> None:
    def results(scores: dict[str, float], *retrieved: str) -> karat.Scores:
        truth = [{"id": name, "content": name * 2, "score": score} for name, score in scores.items()]
        return evaluate_results([{"query": "q", "truth": truth, "retrieved": list(retrieved)}], "nDCG@10")

    systems = {"a": results({"x": 2, "y": 1}, "x", "y"), "b": results({"x": 1, "y": 2}, "x", "z")}
    with pytest.raises(KaratError, match="different ground truth for 1 of 1 query"):
        karat.compare(systems)
    assert karat.compare(systems, force=True).diff("nDCG@10")["q"].moves == ()


@pytest.mark.parametrize(
    ("truth", "before", "after", "match"),
    [
        (["a", "b"], ["a", "b", "a"], ["b", "a", "a"], "id"),
        (["Gold is soft.", "Iron rusts."], ["is soft", "Iron", "soft"], ["Iron", "is soft", "rusts"], "chunk"),
    ],
)
def test_documents_that_swap_ranks_have_opposite_contributions_if_one_is_repeated(
    truth: list[str], before: list[str], after: list[str], match: Any
) -> None:
    query_diff = diff_of({"q": truth}, {"q": before}, {"q": after}, "nDCG@10", match=match)["q"]
    assert [move.contribution for move in query_diff.moves] == pytest.approx([-0.2262944, 0.2262944])


def test_a_difference_due_to_rounding_is_not_a_change() -> None:
    truth = {"q": {"d0": 1, "d1": 0, "d2": 1, "d3": 0, "d4": 2, "d5": 1, "d6": 0, "d7": 1}}
    before = {"q": ["d6", "d4", "d5", "d3", "d0", "d7", "d1", "d2"]}
    after = {"q": ["d2", "d5", "d1", "d6", "d3", "d4", "d0", "d7"]}
    found = compare(evaluate_runs(truth, {"a": before, "b": after}, "Bpref"), permutations=9, resamples=9)
    row = found.row("Bpref", system="b")
    assert found.diff("Bpref").counts == (row.wins, row.ties, row.losses) == (0, 1, 0)
    assert found.diff("Bpref").queries == ()


def test_the_contributions_of_a_measure_that_reads_whether_a_query_was_answered_add_up() -> None:
    @karat.register
    def Answered(judged: Judged) -> Floats:
        """1 if the run has the query."""
        return judged.in_run.astype(float)

    query_diff = diff_of({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"]}, {"q": ["a"], "r": ["a"]}, "Answered")["r"]
    assert total(query_diff) == query_diff.difference == 1


def test_contributions_are_none_if_the_measure_is_null_in_between() -> None:
    @karat.register
    def FirstRank(judged: Judged) -> Floats:
        """The rank of the first relevant document, null if there is none."""
        first = np.full(len(judged.queries), np.nan)
        view = judged.by_gold.graded(1)
        first[view.query[::-1]] = view.rank[::-1]
        return first

    found = diff_of({"q": {"a": 1, "b": 1}}, {"q": ["a"]}, {"q": ["x", "b"]}, "FirstRank")
    assert "nan" not in str(found)
    assert "(all documents together)" in str(found)
    assert [move.contribution for move in found["q"].moves] == [None, None]
    assert total(found["q"]) == found["q"].difference == 1
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_scores_of_answers_without_evidence_have_a_note() -> None:
    before, after = (evaluate_answers({"q": "x"}, {"q": predicted}, "EM").without_evidence() for predicted in "xy")
    found = diff(before, after, "EM")
    assert "these scores contain no answers" in str(found)
    assert "these scores contain no answers" in found.in_full("q").tables()[0].text()


def test_long_golds_with_the_same_beginning_are_distinguished() -> None:
    long = "word " * 60
    query_diff = diff_of({"q": [long + "one", long + "two"]}, {"q": [long + "one"]}, {"q": [long + "two"]}, "RR")["q"]
    assert len({move.gold for move in query_diff.moves}) == 2


def test_the_gold_of_a_move_is_the_unchanged_id() -> None:
    assert diff_of({"q": {"a  b": 1}}, {"q": ["a  b"]}, {"q": ["x", "a  b"]}, "RR")["q"].moves[0].gold == "a  b"


def test_different_gold_answers_are_different_truths() -> None:
    before, after = (evaluate_answers({"q": gold}, {"q": "x"}, "EM") for gold in ("x", "y"))
    with pytest.raises(KaratError, match="different gold answers for 1 of 1 question"):
        karat.compare({"before": before, "after": after})
    forced = karat.compare({"before": before, "after": after}, force=True)
    assert forced.diff("EM")["q"].answers == ("x", "x")


def test_a_measure_that_was_not_evaluated_is_an_error() -> None:
    scores = evaluate_runs({"q": ["a"]}, {"a": {"q": ["a"]}, "b": {"q": ["x"]}}, "RR")
    with pytest.raises(KaratError, match="these scores have no 'nDCG@9'"):
        diff(scores["a"], scores["b"], "nDCG@9")


def test_the_tables_of_one_query_have_the_full_texts() -> None:
    text = "Gold is soft. " * 20
    found = diff_of({"q": [{"id": "g", "content": text}]}, {"q": ["g"]}, {"q": ["x", "g"]}, "RR")
    assert " ".join(f"g: {text}".split()) in found.in_full("q").tables()[0].notes
    assert text.strip() not in str(found)


def test_queries_without_a_value_are_counted_in_a_note() -> None:
    before, after = (karat.Scores(("a", "b"), {"AP": np.array(column)}) for column in ([0.1, np.nan], [0.2, 0.5]))
    assert "note: 1 query left out (no value in before or after)." in str(diff(before, after, "AP"))
