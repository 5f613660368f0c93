"""diff(): the order of the queries, how documents moved, and contributions that add up to the difference."""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import Document, KaratError, Scores, compare, evaluate, evaluate_answers, evaluate_results, evaluate_runs
from karat.analysis.diff import Diff, QueryDiff, diff
from karat.data.judged import Floats, Judged
from karat.measures import Measure, definitions

Strategy = st.SearchStrategy[dict[str, Any]]


def variants_of(name: str) -> list[Measure]:
    """A registered measure with its defaults, and with other values of its parameters."""
    definition = next(each for each in definitions() if each.name == name)
    variants: list[dict[str, object]] = [{}, {"rel": 2}, {"rel": 2, "k": 2}]
    variants += [{definition.at: at} for at in (1, 3, 0.5) if definition.at]
    for parameter in definition.parameters.values():
        variants += [{parameter.name: choice} for choice in parameter.choices]
    variants += [{"norm": "found", "credit": "rank"}, {"ideal": "retrieved", "credit": "rank", "discount": "jk"}]
    bare = Measure(name, definition=definition)
    measures: dict[Measure, None] = {}
    for setting in variants:
        try:
            measures[bare(**setting).check()] = None
        except KaratError:
            continue
    return list(measures)


NAMES = [each.name for each in definitions() if each.takes == "judged"]
MEASURES = [measure for name in NAMES for measure in variants_of(name)]

DOCS = list("abcdefg")
FOUND = st.lists(st.sampled_from([*DOCS, "x", "y"]), max_size=9)
GRADES = st.sampled_from([-1, 0, 0.5, 1, 2, 4])
GOLDS = ["alpha beta gamma", "beta gamma delta", "gamma delta", "epsilon alpha"]
CHUNKS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "beta gamma", "gamma delta", "nothing"]), max_size=7)


def by_query(full: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> Strategy:
    return st.fixed_dictionaries({"q": full, "r": other})


def runs_of(documents: st.SearchStrategy[Any]) -> Strategy:
    """A run may lack a query."""
    return st.fixed_dictionaries({"q": documents}, optional={"r": documents})


@st.composite
def golds_with_scores(draw: st.DrawFn, least: int) -> list[Document]:
    ids = draw(st.lists(st.sampled_from(DOCS), min_size=least, max_size=6, unique=True))
    scored = draw(st.booleans())
    scores = [draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) if scored else None for _ in ids]
    return [Document(id=name, content=name * 2, score=score) for name, score in zip(ids, scores, strict=True)]


graded = by_query(*(st.dictionaries(st.sampled_from(DOCS), GRADES, min_size=least, max_size=6) for least in (3, 0)))
texts = by_query(*(st.lists(st.sampled_from(GOLDS), min_size=least, unique=True) for least in (2, 0)))
scored = st.dictionaries(st.sampled_from([*DOCS, "x", "y"]), st.integers(0, 4), max_size=9)
KINDS: dict[str, tuple[Strategy, Strategy, str]] = {
    "ids by score": (graded, runs_of(scored), "id"),
    "lists with repeats": (graded, runs_of(FOUND), "id"),
    "chunks that match several golds": (texts, runs_of(CHUNKS), "chunk"),
    "golds listed with scores": (by_query(golds_with_scores(3), golds_with_scores(0)), runs_of(FOUND), "id"),
}


def between(before: Scores, after: Scores, measure: str | Measure | None = None) -> Diff:
    return diff(before, after, str(measure or before.measures[0]), None)


def numbers(measure: str, *values: float) -> Scores:
    return Scores(tuple("abc"[: len(values)]), {measure: np.array(values)})


def diff_of(truth: Any, before: Any, after: Any, measure: str | Measure, **options: Any) -> Diff:
    """The diff between two runs."""
    scores = evaluate_runs(truth, {"before": before, "after": after}, measure, **options)
    return between(scores["before"], scores["after"])


def total(query_diff: QueryDiff) -> float:
    return math.fsum([*(move.contribution or 0 for move in query_diff.moves), query_diff.unattributed])


def changes_of(query_diff: QueryDiff) -> dict[str, tuple[int | None, int | None, str]]:
    return {move.gold: (move.before, move.after, move.change) for move in query_diff.moves}


def contributions_of(query_diff: QueryDiff) -> dict[str, float]:
    return {move.gold: move.contribution or 0 for move in query_diff.moves}


def test_every_measure_of_judged_documents_is_tested() -> None:
    assert {measure.name for measure in MEASURES} == set(NAMES)
    assert {"nDCG@3", "AP(norm=found, credit=rank)", "R(rel=2)@2", "Unjudged@1"} <= set(map(str, MEASURES))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(data=st.data())
def test_contributions_and_unattributed_add_up_to_the_difference(kind: str, data: st.DataObject) -> None:
    truths, runs, match = KINDS[kind]
    some = MEASURES[data.draw(st.integers(0, 3)) :: 4]
    pair = {"before": data.draw(runs), "after": data.draw(runs)}
    scores = evaluate_runs(data.draw(truths), pair, some, match=match)
    for measure in some:
        found = between(scores["before"], scores["after"], measure)
        for query in scores["before"].queries:
            query_diff = found[query]
            assert math.isclose(total(query_diff), query_diff.difference, abs_tol=1e-9), (str(measure), query_diff)
        # The queries are computed together, but do not depend on each other.
        alone = [found[query] for query in scores["before"].queries]
        assert found.query_diffs(range(len(alone))) == alone


@pytest.mark.parametrize(("measure", "size"), [("nDCG@10", 0.2262944), ("AP", 0.25), ("P@1", 1), ("RBP(p=0.5)", 0.25)])
def test_two_documents_that_swap_ranks_have_opposite_contributions(measure: str, size: float) -> None:
    query_diff = diff_of({"q": {"a": 1, "b": 1}}, {"q": ["a", "b"]}, {"q": ["b", "a"]}, measure)["q"]
    assert contributions_of(query_diff) == pytest.approx({"a": -size, "b": size})
    assert (query_diff.difference, query_diff.unattributed) == (0, 0)


def test_a_contribution_does_not_depend_on_the_document_that_takes_the_old_rank() -> None:
    truth = {"q": {"a": 2, "b": 1, "c": 1}}
    pushed = diff_of(truth, {"q": ["a", "b", "c"]}, {"q": ["b", "c", "a"]}, "nDCG@10")["q"]
    lone = diff_of(truth, {"q": ["a", "b", "c"]}, {"q": ["x", "b", "a"]}, "nDCG@10")["q"]
    assert contributions_of(pushed)["a"] == pytest.approx(contributions_of(lone)["a"])
    assert contributions_of(pushed)["b"] > 0
    assert contributions_of(pushed)["c"] > 0


def test_contributions_do_not_depend_on_how_many_steps_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = {"q": {f"d{at}": at % 4 for at in range(20)}}
    before, after = ({"q": [f"d{at * step % 20}" for at in range(15)]} for step in (1, 7))
    whole = diff_of(truth, before, after, "nDCG@10")["q"]
    monkeypatch.setattr(import_module("karat.analysis.diff.attribution"), "_AT_ONCE", 1)
    assert diff_of(truth, before, after, "nDCG@10")["q"] == whole
    assert len(whole.moves) > 5


def test_the_effect_of_the_length_of_the_lists_is_unattributed() -> None:
    longer = diff_of({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a", "x", "y"]}, "NumRet")["q"]
    assert (longer.moves, longer.unattributed, longer.difference) == ((), 2.0, 2.0)
    shorter = diff_of({"q": {"a": 1}}, {"q": ["a", "x"]}, {"q": ["a"]}, "SetP")["q"]
    assert (shorter.moves, shorter.unattributed) == ((), 0.5)


def test_the_change_of_a_document_is_described() -> None:
    truth = {"q": dict.fromkeys(["up", "down", "in", "out", "new", "lost", "deep", "same"], 1)}
    before = ["down", "up", "same", "out", "lost", "in", "x1", "deep"]
    after = ["up", "down", "same", "in", "new", "x1", "out", "x2", "deep"]
    query_diff = diff_of(truth, {"q": before}, {"q": after}, "nDCG@5")["q"]
    assert changes_of(query_diff) == {
        "down": (1, 2, "fell"),
        "up": (2, 1, "rose"),
        "out": (4, 7, "fell out of the top 5"),
        "in": (6, 4, "entered the top 5"),
        "lost": (5, None, "fell out of the top 5"),
        "new": (None, 5, "entered the top 5"),
        "deep": (8, 9, "fell"),
    }
    assert contributions_of(query_diff)["deep"] == 0


def test_without_a_cutoff_documents_enter_and_fall_out() -> None:
    query_diff = diff_of({"q": {"a": 1, "b": 1}}, {"q": ["x", "a"]}, {"q": ["b"]}, "AP")["q"]
    assert changes_of(query_diff) == {"b": (None, 1, "entered"), "a": (2, None, "fell out")}


def test_a_document_that_is_not_relevant_is_listed_only_if_it_has_a_contribution() -> None:
    truth, before, after = {"q": {"a": 1, "no": 0, "bad": -1}}, {"q": ["no", "bad", "a"]}, {"q": ["a", "bad", "x"]}
    assert list(changes_of(diff_of(truth, before, after, "nDCG@10")["q"])) == ["a"]
    assert contributions_of(diff_of(truth, before, after, "Judged@3")["q"]) == pytest.approx({"no": -1 / 3, "a": 0})
    graded_two = diff_of({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, {"q": ["b", "a"]}, "RR(rel=2)")["q"]
    assert list(changes_of(graded_two)) == ["b"]


def test_a_grade_is_shown_unless_it_is_1() -> None:
    found = diff_of({"q": {"a": 1, "b": 2.5}}, {"q": ["a", "b"]}, {"q": ["b", "x"]}, "nDCG@10")
    lines = str(found).splitlines()
    assert lines[2].split()[:5] == ["q", "a", "1", "→", "–"]
    assert "b (grade 2.5)   2 → 1   rose" in lines[3]
    assert "grade 1" not in str(found)


def losses_and_gains() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Five queries: RR falls by 1/2, rises by 1/2, falls by 2/3, stays, and falls by 1/2."""
    truth = {name: {"a": 1} for name in ("half", "up", "worst", "same", "again")}
    first, second, third = ["a"], ["x", "a"], ["x", "y", "a"]
    before = {"half": first, "up": second, "worst": first, "same": first, "again": first}
    return truth, before, {"half": second, "up": first, "worst": third, "same": first, "again": second}


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, ["worst"]), (2, ["worst", "half"]), (3, ["worst", "half", "up"]),
        (4, ["worst", "half", "again", "up"]), (10, ["worst", "half", "again", "up"]),
        (None, ["worst", "half", "again", "up"]),
    ],
)  # fmt: skip
def test_the_queries_that_changed_most_are_listed_largest_loss_first(n: int | None, expected: list[str]) -> None:
    truth, before, after = losses_and_gains()
    found = compare(evaluate_runs(truth, {"old": before, "new": after}, "RR"), permutations=9, resamples=9)
    result = found.diff("RR", n=n)
    assert [query_diff.query for query_diff in result.queries] == expected
    assert result.counts == (1, 1, 3)
    assert result.names == ("old", "new")
    assert ("that changed most" in str(result)) == (len(expected) < 4)


def test_an_increase_is_a_loss_if_lower_is_better() -> None:
    truth = {"more": {"a": 1, "b": 0}, "less": {"a": 1}, "most": {"a": 1, "b": 0}}
    before = {"more": ["a", "b"], "less": ["x", "y"], "most": ["a", "b"]}
    after = {"more": ["a", "x"], "less": ["a", "y"], "most": ["x", "y"]}
    found = diff_of(truth, before, after, "Unjudged@10")
    differences = {query_diff.query: query_diff.difference for query_diff in found.queries}
    assert list(differences) == ["most", "more", "less"]
    assert differences == pytest.approx({"most": 0.2, "more": 0.1, "less": -0.1})
    assert found.counts == (1, 0, 2)


@pytest.mark.parametrize("n", [0, -1, True, "3", 2.0])
def test_an_invalid_number_of_queries_is_an_error(n: Any) -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR")
    with pytest.raises(KaratError, match="is not a number of queries") as caught:
        compare({"one": scores, "two": scores}, permutations=9, resamples=9).diff("RR", n=n)
    assert "None for all" in str(caught.value)


def test_comparison_diff_goes_from_the_baseline_to_the_system_and_accepts_any_spelling() -> None:
    truth, before, after = losses_and_gains()
    scores = evaluate_runs(truth, {"a": before, "b": after, "c": before}, "nDCG@10")
    found = compare(scores, permutations=9, resamples=9)
    assert found.diff("ndcg_cut_10", system="b", baseline="a").queries[0].query == "worst"
    assert found.diff("nDCG@10", system="c", baseline="b").queries[0].query == "up"
    assert found.diff("nDCG@10", system="c", baseline="a").queries == ()
    with pytest.raises(KaratError, match="ambiguous: 3 comparisons match"):
        found.diff("nDCG@10")
    with pytest.raises(KaratError, match="Did you mean nDCG@10"):
        found.diff("nDCG@1", system="b", baseline="a")


def test_queries_in_another_order_are_aligned_and_queries_of_one_system_left_out() -> None:
    truth, before, after = losses_and_gains()
    back = dict(reversed(truth.items()))
    del back["half"]
    systems = {"one": evaluate(truth, before, "RR"), "two": evaluate(back, after, "RR")}
    found = compare(systems, common_queries=True, permutations=9, resamples=9).diff("RR")
    assert [query_diff.query for query_diff in found.queries] == ["worst", "again", "up"]
    assert contributions_of(found["worst"]) == pytest.approx({"a": -2 / 3})


def test_an_unknown_query_is_an_error_that_suggests_the_nearest() -> None:
    truth, before, after = losses_and_gains()
    with pytest.raises(KaratError, match=r"query 'wurst' is not in both systems\. Did you mean worst"):
        diff_of(truth, before, after, "RR")["wurst"]


def test_a_query_without_a_value_is_not_listed_and_asking_for_it_is_an_error() -> None:
    found = between(numbers("RR", 1.0, np.nan, 0.5), numbers("RR", 0.5, 1.0, np.nan))
    assert [query_diff.query for query_diff in found.queries] == ["a"]
    assert found.counts == (0, 0, 1)
    with pytest.raises(KaratError, match="RR of query 'b' is null in one of the systems"):
        found["b"]


def test_scores_without_evidence_show_differences_and_a_note() -> None:
    truth, before, after = losses_and_gains()
    with_run, other = evaluate(truth, before, "RR"), evaluate(truth, after, "RR")
    for saved, found in (
        ("before and after", between(with_run.without_evidence(), other.without_evidence())),
        ("after", between(with_run, other.without_evidence())),
    ):
        assert (found.queries[0].query, found.queries[0].moves) == ("worst", ())
        note = f"the scores of {saved} contain no run data: evaluate the runs again to see the documents that moved."
        assert f"note: {note}" in str(found)
        assert found.to_dict()["notes"] == [note]
        assert "-0.6667" in str(found)
        (only,) = found.in_full("worst").tables()
        assert [cell.text for cell in only.rows[0]] == ["worst", "1.0000", "0.3333", "-0.6667"]
        assert "no run data" in only.text()


def test_a_small_difference_is_not_shown_as_0() -> None:
    before = Scores(("q", "r"), {"AP": np.array([0.5, 0.5])})
    after = Scores(("q", "r"), {"AP": np.array([0.5, 0.50001])})
    assert [query.query for query in between(before, after).queries] == ["r"]
    assert "+1e-05" in str(between(before, after))


def test_different_truths_are_an_error_and_another_order_is_not() -> None:
    before = evaluate_results([{"query": "q", "truth": ["a", "b"], "retrieved": ["a", "x", "b"]}], "RR")
    same = evaluate_results([{"query": "q", "truth": ["b", "a"], "retrieved": ["x", "b"]}], "RR")
    query_diff = between(before, same)["q"]
    assert changes_of(query_diff) == {"a": (1, None, "fell out"), "b": (3, 2, "rose")}
    assert total(query_diff) == pytest.approx(query_diff.difference)
    other = evaluate_results([{"query": "q", "truth": ["a"], "retrieved": ["x", "a"]}], "RR")
    with pytest.raises(KaratError, match="evaluated against different ground truth for 1 of 1 query"):
        compare({"before": before, "other": other})
    forced = compare({"before": before, "other": other}, force=True).diff("RR")
    assert (forced["q"].difference, forced["q"].moves) == (-0.5, ())
    assert "note: before and other were evaluated against different ground truth for 1 of 1 query (q)" in str(forced)


def test_measures_of_spans_have_a_note_instead_of_contributions() -> None:
    found = diff_of({"q": [("d", 0, 10)]}, {"q": [("d", 0, 5)]}, {"q": [("e", 0, 3), ("d", 2, 10)]}, "SpanRecall")
    assert found.queries == (QueryDiff("q", 0.5, 0.8, 0.8 - 0.5),)
    assert "note: SpanRecall measures spans" in str(found)
    assert "[1] d" in found.in_full("q").tables()[1].text()


def test_both_predicted_answers_are_shown() -> None:
    gold = {"q": ["the tower", "a tower"], "none": "x"}
    before = evaluate_answers(gold, {"q": "tower", "none": "x"}, "TokenF1")
    after = evaluate_answers(gold, {"q": "bridge"}, "TokenF1")
    found = between(before, after)
    assert [query_diff.answers for query_diff in found.queries] == [("tower", "bridge"), ("x", None)]
    assert found.limitation is None
    (full,) = found.in_full("q").tables()
    assert [tuple(cell.text for cell in row) for row in full.rows] == [
        ("before", "tower", "1.0000"), ("after", "bridge", "0.0000"), ("gold", "the tower", ""), ("gold", "a tower", "")
    ]  # fmt: skip
    assert found["none"].to_dict()["answers"] == ["x", None]


def test_the_contributions_of_a_registered_measure_add_up() -> None:
    @karat.register
    def Squared(judged: Judged, *, k: int = 5) -> Floats:
        """The square of the number of relevant documents in the top k."""
        return judged.found(k, 1).astype(float) ** 2

    query_diff = diff_of({"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a"]}, {"q": ["x", "b", "a", "c"]}, "Squared@3")["q"]
    assert (query_diff.difference, total(query_diff)) == (3.0, 3.0)
    assert changes_of(query_diff)["c"] == (None, 4, "")


def test_a_measure_that_is_not_registered_has_a_note_instead_of_documents() -> None:
    found = between(numbers("Mine", 1.0), numbers("Mine", 0.25))
    assert "note: Mine is not a registered measure" in str(found)
    assert [query_diff.difference for query_diff in found.queries] == [-0.75]


def test_json_is_complete_and_html_is_escaped() -> None:
    hostile = "<b>\x1b[2J|"
    found = diff_of({hostile: {hostile: 1}}, {hostile: [hostile]}, {hostile: ["x", hostile]}, "RR")
    whole = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    ranks = {"before": 1, "after": 2, "change": "fell", "contribution": -0.5}
    move = {"gold": hostile, "label": hostile, "grade": 1.0, **ranks, "text": None}
    query_diff = {
        "query": hostile,
        "before": 1.0,
        "after": 0.5,
        "difference": -0.5,
        "moves": [move],
        "unattributed": 0.0,
    }
    assert whole == {
        "measure": "RR", "systems": ["before", "after"], "better": 0, "same": 0, "worse": 1, "queries": [query_diff],
        "notes": [],
    }  # fmt: skip
    assert "<b>" not in found._repr_html_()
    assert "\x1b" not in found._repr_html_() + str(found)
    assert repr(found) == "<Diff of RR from before to after: 1 query>"
