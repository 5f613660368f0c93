"""What moved between two systems: the queries in order, the words, and parts that add up to the difference."""

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
from karat.judged import Floats, Judged
from karat.measures import Measure, definitions

Strategy = st.SearchStrategy[dict[str, Any]]


def ways(name: str) -> list[Measure]:
    """A registered measure as it comes, and with each of its parameters turned where that goes."""
    definition = next(each for each in definitions() if each.name == name)
    turned: list[dict[str, object]] = [{}, {"rel": 2}, {"rel": 2, "k": 2}]
    turned += [{definition.at: at} for at in (1, 3, 0.5) if definition.at]
    for parameter in definition.parameters.values():
        turned += [{parameter.name: choice} for choice in parameter.choices]
    turned += [{"norm": "found", "credit": "rank"}, {"ideal": "retrieved", "credit": "rank", "discount": "jk"}]
    bare = Measure(name, definition=definition)
    found: dict[Measure, None] = {}
    for setting in turned:
        try:
            found[bare(**setting).check()] = None
        except KaratError:
            continue
    return list(found)


NAMES = [each.name for each in definitions() if each.takes == "judged"]
MEASURES = [measure for name in NAMES for measure in ways(name)]

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
    "lists that repeat": (graded, runs_of(FOUND), "id"),
    "chunks that hold several golds": (texts, runs_of(CHUNKS), "chunk"),
    "golds listed with scores": (by_query(golds_with_scores(3), golds_with_scores(0)), runs_of(FOUND), "id"),
}


def between(before: Scores, after: Scores, measure: str | Measure | None = None) -> Diff:
    return diff(before, after, str(measure or before.measures[0]), None)


def numbers(measure: str, *values: float) -> Scores:
    return Scores(tuple("abc"[: len(values)]), {measure: np.array(values)})


def moved(truth: Any, before: Any, after: Any, measure: str | Measure, **options: Any) -> Diff:
    """What changed from one run to another."""
    scores = evaluate_runs(truth, {"before": before, "after": after}, measure, **options)
    return between(scores["before"], scores["after"])


def total(change: QueryDiff) -> float:
    return math.fsum([*(move.part or 0 for move in change.moves), change.rest])


def told(change: QueryDiff) -> dict[str, tuple[int | None, int | None, str]]:
    return {move.gold: (move.before, move.after, move.how) for move in change.moves}


def part_of(change: QueryDiff) -> dict[str, float]:
    return {move.gold: move.part or 0 for move in change.moves}


def test_every_measure_of_judged_documents_is_put_to_the_test() -> None:
    assert {measure.name for measure in MEASURES} == set(NAMES)
    assert {"nDCG@3", "AP(norm=found, credit=rank)", "R(rel=2)@2", "Unjudged@1"} <= set(map(str, MEASURES))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(data=st.data())
def test_the_parts_and_the_rest_add_up_to_the_difference(kind: str, data: st.DataObject) -> None:
    truths, runs, match = KINDS[kind]
    some = MEASURES[data.draw(st.integers(0, 3)) :: 4]
    pair = {"before": data.draw(runs), "after": data.draw(runs)}
    scores = evaluate_runs(data.draw(truths), pair, some, match=match)
    for measure in some:
        found = between(scores["before"], scores["after"], measure)
        for query in scores["before"].queries:
            change = found[query]
            assert math.isclose(total(change), change.difference, abs_tol=1e-9), (str(measure), change)


@pytest.mark.parametrize(("measure", "worth"), [("nDCG@10", 0.2262944), ("AP", 0.25), ("P@1", 1), ("RBP(p=0.5)", 0.25)])
def test_two_documents_that_swap_ranks_have_opposite_parts_of_their_full_size(measure: str, worth: float) -> None:
    change = moved({"q": {"a": 1, "b": 1}}, {"q": ["a", "b"]}, {"q": ["b", "a"]}, measure)["q"]
    assert part_of(change) == pytest.approx({"a": -worth, "b": worth})
    assert (change.difference, change.rest) == (0, 0)


def test_a_document_is_worth_the_same_whoever_takes_its_old_rank() -> None:
    truth = {"q": {"a": 2, "b": 1, "c": 1}}
    pushed = moved(truth, {"q": ["a", "b", "c"]}, {"q": ["b", "c", "a"]}, "nDCG@10")["q"]
    lone = moved(truth, {"q": ["a", "b", "c"]}, {"q": ["x", "b", "a"]}, "nDCG@10")["q"]
    assert part_of(pushed)["a"] == pytest.approx(part_of(lone)["a"])
    assert part_of(pushed)["b"] > 0
    assert part_of(pushed)["c"] > 0


def test_the_parts_do_not_depend_on_how_many_steps_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = {"q": {f"d{at}": at % 4 for at in range(20)}}
    before, after = ({"q": [f"d{at * step % 20}" for at in range(15)]} for step in (1, 7))
    whole = moved(truth, before, after, "nDCG@10")["q"]
    monkeypatch.setattr(import_module("karat.analysis.diff.attribution"), "_AT_ONCE", 1)
    assert moved(truth, before, after, "nDCG@10")["q"] == whole
    assert len(whole.moves) > 5


def test_the_length_of_the_lists_is_the_rest() -> None:
    longer = moved({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a", "x", "y"]}, "NumRet")["q"]
    assert (longer.moves, longer.rest, longer.difference) == ((), 2.0, 2.0)
    shorter = moved({"q": {"a": 1}}, {"q": ["a", "x"]}, {"q": ["a"]}, "SetP")["q"]
    assert (shorter.moves, shorter.rest) == ((), 0.5)


def test_what_happened_to_a_document_is_said_in_words() -> None:
    truth = {"q": dict.fromkeys(["up", "down", "in", "out", "new", "lost", "deep", "same"], 1)}
    before = ["down", "up", "same", "out", "lost", "in", "x1", "deep"]
    after = ["up", "down", "same", "in", "new", "x1", "out", "x2", "deep"]
    change = moved(truth, {"q": before}, {"q": after}, "nDCG@5")["q"]
    assert told(change) == {
        "down": (1, 2, "fell"),
        "up": (2, 1, "rose"),
        "out": (4, 7, "fell out of the top 5"),
        "in": (6, 4, "entered the top 5"),
        "lost": (5, None, "fell out of the top 5"),
        "new": (None, 5, "entered the top 5"),
        "deep": (8, 9, "fell"),
    }
    assert part_of(change)["deep"] == 0


def test_without_a_cut_off_documents_enter_and_fall_out() -> None:
    change = moved({"q": {"a": 1, "b": 1}}, {"q": ["x", "a"]}, {"q": ["b"]}, "AP")["q"]
    assert told(change) == {"b": (None, 1, "entered"), "a": (2, None, "fell out")}


def test_a_document_that_is_not_relevant_is_told_of_only_where_it_accounts_for_something() -> None:
    truth, before, after = {"q": {"a": 1, "no": 0, "bad": -1}}, {"q": ["no", "bad", "a"]}, {"q": ["a", "bad", "x"]}
    assert list(told(moved(truth, before, after, "nDCG@10")["q"])) == ["a"]
    assert part_of(moved(truth, before, after, "Judged@3")["q"]) == pytest.approx({"no": -1 / 3, "a": 0})
    graded_two = moved({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, {"q": ["b", "a"]}, "RR(rel=2)")["q"]
    assert list(told(graded_two)) == ["b"]


def test_a_grade_is_shown_unless_it_is_one() -> None:
    found = moved({"q": {"a": 1, "b": 2.5}}, {"q": ["a", "b"]}, {"q": ["b", "x"]}, "nDCG@10")
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
def test_the_queries_that_changed_most_come_worst_loss_first(n: int | None, expected: list[str]) -> None:
    truth, before, after = losses_and_gains()
    found = compare(evaluate_runs(truth, {"old": before, "new": after}, "RR"), permutations=9, resamples=9)
    movers = found.diff("RR", n=n)
    assert [change.query for change in movers.queries] == expected
    assert movers.counts == (1, 1, 3)
    assert movers.names == ("old", "new")
    assert ("that changed most" in str(movers)) == (len(expected) < 4)


def test_more_of_what_is_bad_is_a_loss() -> None:
    truth = {"more": {"a": 1, "b": 0}, "less": {"a": 1}, "most": {"a": 1, "b": 0}}
    before = {"more": ["a", "b"], "less": ["x", "y"], "most": ["a", "b"]}
    after = {"more": ["a", "x"], "less": ["a", "y"], "most": ["x", "y"]}
    found = moved(truth, before, after, "Unjudged@10")
    differences = {change.query: change.difference for change in found.queries}
    assert list(differences) == ["most", "more", "less"]
    assert differences == pytest.approx({"most": 0.2, "more": 0.1, "less": -0.1})
    assert found.counts == (1, 0, 2)


@pytest.mark.parametrize("n", [0, -1, True, "3", 2.0])
def test_a_wrong_number_of_queries_is_refused(n: Any) -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR")
    with pytest.raises(KaratError, match="is no number of queries") as caught:
        compare({"one": scores, "two": scores}, permutations=9, resamples=9).diff("RR", n=n)
    assert "None for all" in str(caught.value)


def test_movers_go_from_the_baseline_to_the_system_and_take_any_spelling() -> None:
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


def test_queries_in_another_order_and_not_in_both_are_brought_together() -> None:
    truth, before, after = losses_and_gains()
    back = dict(reversed(truth.items()))
    del back["half"]
    systems = {"one": evaluate(truth, before, "RR"), "two": evaluate(back, after, "RR")}
    found = compare(systems, queries="common", permutations=9, resamples=9).diff("RR")
    assert [change.query for change in found.queries] == ["worst", "again", "up"]
    assert part_of(found["worst"]) == pytest.approx({"a": -2 / 3})


def test_an_unknown_query_names_the_nearest() -> None:
    truth, before, after = losses_and_gains()
    with pytest.raises(KaratError, match=r"no query 'wurst' in both systems\. Did you mean worst"):
        moved(truth, before, after, "RR")["wurst"]


def test_a_query_without_a_value_is_not_listed_and_not_shown() -> None:
    found = between(numbers("RR", 1.0, np.nan, 0.5), numbers("RR", 0.5, 1.0, np.nan))
    assert [change.query for change in found.queries] == ["a"]
    assert found.counts == (0, 0, 1)
    with pytest.raises(KaratError, match="RR has no value for query 'b' in both systems"):
        found["b"]


def test_scores_that_are_numbers_alone_show_differences_and_a_note() -> None:
    truth, before, after = losses_and_gains()
    with_run, other = evaluate(truth, before, "RR"), evaluate(truth, after, "RR")
    for found in (
        between(with_run.without_evidence(), other.without_evidence()),
        between(with_run, other.without_evidence()),
    ):
        assert (found.queries[0].query, found.queries[0].moves) == ("worst", ())
        assert "note: these scores are numbers alone: evaluate again to see what moved." in str(found)
        assert "-0.6667" in str(found)
        (only,) = found.tables_of("worst")
        assert only.rows == ()
        assert "numbers alone" in only.text()


def test_truths_that_differ_are_refused_and_another_order_is_not() -> None:
    before = evaluate_results([{"query": "q", "truth": ["a", "b"], "retrieved": ["a", "x", "b"]}], "RR")
    same = evaluate_results([{"query": "q", "truth": ["b", "a"], "retrieved": ["x", "b"]}], "RR")
    change = between(before, same)["q"]
    assert told(change) == {"a": (1, None, "fell out"), "b": (3, 2, "rose")}
    assert total(change) == pytest.approx(change.difference)
    other = evaluate_results([{"query": "q", "truth": ["a"], "retrieved": ["x", "a"]}], "RR")
    with pytest.raises(KaratError, match="query q: the two systems were judged by different truths"):
        str(between(before, other))


def test_measures_of_spans_say_that_no_document_accounts_for_them() -> None:
    found = moved({"q": [("d", 0, 10)]}, {"q": [("d", 0, 5)]}, {"q": [("e", 0, 3), ("d", 2, 10)]}, "SpanRecall")
    assert found.queries == (QueryDiff("q", 0.5, 0.8, 0.8 - 0.5),)
    assert "note: SpanRecall is of spans" in str(found)
    assert "[1] d" in found.tables_of("q")[1].text()


def test_of_answers_both_predicted_ones_are_shown() -> None:
    gold = {"q": ["the tower", "a tower"], "none": "x"}
    before = evaluate_answers(gold, {"q": "tower", "none": "x"}, "TokenF1")
    after = evaluate_answers(gold, {"q": "bridge"}, "TokenF1")
    found = between(before, after)
    assert [change.answers for change in found.queries] == [("tower", "bridge"), ("x", None)]
    assert found.cannot is None
    (full,) = found.tables_of("q")
    assert [tuple(cell.text for cell in row) for row in full.rows] == [
        ("before", "tower", "1.0000"), ("after", "bridge", "0.0000"), ("gold", "the tower", ""), ("gold", "a tower", "")
    ]  # fmt: skip
    assert found["none"].to_dict()["answers"] == ["x", None]


def test_the_parts_of_a_measure_of_ones_own_add_up_too() -> None:
    @karat.register
    def Squared(judged: Judged, *, k: int = 5) -> Floats:
        """The square of how many relevant documents the top k hold."""
        return judged.found(k, 1).astype(float) ** 2

    change = moved({"q": {"a": 1, "b": 1, "c": 1}}, {"q": ["a"]}, {"q": ["x", "b", "a", "c"]}, "Squared@3")["q"]
    assert (change.difference, total(change)) == (3.0, 3.0)
    assert told(change)["c"] == (None, 4, "")


def test_a_column_whose_measure_is_not_known_here_is_told_of_as_numbers() -> None:
    found = between(numbers("Mine", 1.0), numbers("Mine", 0.25))
    assert "note: Mine is not a measure of karat" in str(found)
    assert [change.difference for change in found.queries] == [-0.75]


def test_everything_is_there_as_json_and_a_page_is_escaped() -> None:
    hostile = "<b>\x1b[2J|"
    found = moved({hostile: {hostile: 1}}, {hostile: [hostile]}, {hostile: ["x", hostile]}, "RR")
    whole = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    ranks = {"before": 1, "after": 2, "how": "fell", "part": -0.5}
    move = {"gold": hostile, "label": hostile, "grade": 1.0, **ranks}
    change = {"query": hostile, "before": 1.0, "after": 0.5, "difference": -0.5, "moves": [move], "rest": 0.0}
    assert whole == {
        "measure": "RR", "systems": ["before", "after"], "better": 0, "same": 0, "worse": 1, "queries": [change],
    }  # fmt: skip
    assert "<b>" not in found._repr_html_()
    assert "\x1b" not in found._repr_html_() + str(found)
    assert repr(found) == "<Diff on RR from before to after: 1 queries>"
