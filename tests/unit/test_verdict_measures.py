"""All measures of verdicts, against plain definitions and against all values that missing labels allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.analysis.evidence import relevance_threshold
from karat.analysis.label_bounds import MOST_UNKNOWN
from karat.evaluation.results import evaluate_results
from karat.evaluation.verdicts import evaluate_verdicts
from karat.registry import definitions
from karat.scores.bounds import Bounds
from tests.random_verdicts import RUBRIC, SETS, Record, random_query, random_samples
from tests.slow_verdicts import MEASURES, SlowQuery, UnlistedItemsError, mean_of_samples, possible_values

SIZES = st.fixed_dictionaries({name: st.integers(0, 3 if name == "passages" else 2) for name in SETS})


def test_every_measure_of_verdicts_has_a_plain_definition() -> None:
    names = {definition.name for definition in definitions() if definition.takes == "verdicts"}
    assert {name.split("(")[0].split("@")[0] for name in MEASURES} == names


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.lists(SIZES, min_size=1, max_size=3), st.sampled_from([1.0, 0.9, 0.7]))
def test_measures_and_bounds_are_those_of_all_ways_to_fill_in_missing_labels(
    seed: int, sizes: list[dict[str, int]], known: float
) -> None:
    random = Random(seed)
    records, complete = random_query(random, "complete", dict.fromkeys(SETS, 2), known=1, left_out=0)
    records, queries = [RUBRIC, *records], {"complete": complete}
    for at, size in enumerate(sizes):
        more, queries[f"q{at}"] = random_query(random, f"q{at}", size, known)
        records += more
    scores = evaluate_verdicts(records, list(MEASURES))
    for measure, definition in MEASURES.items():
        bounds = scores.label_bounds.get(measure)
        possible = [_possible(definition, queries[name]) for name in scores.queries]
        for at, (name, values) in enumerate(zip(scores.queries, possible, strict=True)):
            value, place = scores.per_query[name][measure], f"{measure} of {name}: {values}"
            if values is None:
                assert value is None, place
                assert bounds is not None
                assert (bounds.low[at], bounds.high[at], bounds.nullable[at]) == (0, 1, False), place
                continue
            assert value == (pytest.approx(values[0], abs=1e-12) if len(values) == 1 else None), place
            if bounds is not None:
                assert bounds.exact[at], place
                assert bounds.nullable[at] == (None in values and len(values) > 1), place
                numbers = [each for each in values if each is not None] or [math.nan]
                expected = min(numbers), max(numbers)
                assert (bounds.low[at], bounds.high[at]) == pytest.approx(expected, abs=1e-12, nan_ok=True), place
        if bounds is not None and None not in possible:
            expected_mean = pytest.approx(_possible_means(possible), abs=1e-12, nan_ok=True)
            assert np.array(bounds.mean, float).tolist() == expected_mean, (measure, possible)
            assert scores.bounds(measure) is bounds


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.lists(SIZES, min_size=1, max_size=2),
    st.sampled_from([1.0, 0.97, 0.85]),
    st.sampled_from([0.0, 0.2, 0.5]),
    st.sampled_from([2, 3]),
)
def test_of_several_samples_the_mean_is_over_those_in_which_a_measure_is_defined(
    seed: int, sizes: list[dict[str, int]], known: float, left_out: float, samples: int
) -> None:
    random = Random(seed)
    # Every sample has labels of all kinds, so that every measure counts it.
    records, queries = random_samples(random, "complete", dict.fromkeys(SETS, 3), 1, 0, samples)
    records, by_query = [RUBRIC, *records], {"complete": queries}
    for at, size in enumerate(sizes):
        more, by_query[f"q{at}"] = random_samples(random, f"q{at}", size, known, left_out, samples)
        records += more
    scores = evaluate_verdicts(records, list(MEASURES))
    for measure, definition in MEASURES.items():
        bounds = scores.label_bounds.get(measure)
        for at, name in enumerate(scores.queries):
            possible = [_possible(definition, query) for query in by_query[name]]
            known_sets = [values for values in possible if values is not None]
            if len(known_sets) < samples:
                continue
            means = {mean_of_samples(values) for values in product(*known_sets)}
            values = {None if value is None else round(value, 12) for value in means}
            place = f"{measure} of {name}: {possible}"
            only = next(iter(values)) if len(values) == 1 else None
            assert scores.per_query[name][measure] == (None if only is None else pytest.approx(only, abs=1e-11)), place
            if bounds is not None:
                assert bounds.exact[at], place
                assert bounds.nullable[at] == (None in values and len(values) > 1), place
                numbers = _numbers(values) or [math.nan]
                expected = min(numbers), max(numbers)
                assert (bounds.low[at], bounds.high[at]) == pytest.approx(expected, abs=1e-11, nan_ok=True), place


def _possible(definition: Callable[[SlowQuery], float | None], query: SlowQuery) -> list[float | None] | None:
    try:
        return list({None if value is None else round(value, 13) for value in possible_values(definition, query)})
    except UnlistedItemsError:
        return None


def _possible_means(possible: list[Any]) -> list[float]:
    extremes = [
        {None if None in values else math.inf, *(each(_numbers(values)) for each in (min, max) if _numbers(values))}
        for values in possible
    ]
    means = [
        sum(numbers) / len(numbers)
        for filled in product(*(each - {math.inf} for each in extremes))
        if (numbers := _numbers(filled))
    ]
    return [min(means, default=math.nan), max(means, default=math.nan)]


def _numbers(values: Any) -> list[float]:
    return [value for value in values if value is not None]


def test_a_query_that_may_have_nothing_to_judge_may_be_left_out_of_the_mean() -> None:
    low, high = np.array([0.2, 0.4, 0.6, np.nan]), np.array([0.2, 0.8, 0.6, np.nan])
    nullable = np.array([False, True, True, False])
    bounds = Bounds.of_labels("Faithfulness", ("q", "r", "s", "t"), low, high, np.ones(4, bool), nullable)
    assert bounds.mean == pytest.approx((0.2, (0.2 + 0.8 + 0.6) / 3))
    np.testing.assert_array_equal(bounds.unknown, [0, 1, 1, 0])


def _passages(count: int) -> list[Record]:
    return [{"query": "q", "id": f"p{at}", "type": "passage", "rank": at + 1} for at in range(count)]


def _failed(task: str, item: str, against: Any, query: str = "q") -> Record:
    return {"query": query, "task": task, "item": item, "against": against, "label": None, "state": "failed"}


@pytest.mark.parametrize("unknown", [MOST_UNKNOWN - 4, MOST_UNKNOWN + 1])
def test_beyond_what_can_be_tried_the_bounds_are_those_of_the_measure(unknown: int) -> None:
    records = _passages(unknown + 1) + [_failed("relevance", f"p{at}", "question") for at in range(unknown)]
    records += [{"query": "q", "task": "relevance", "item": f"p{unknown}", "label": 2}]
    scores = evaluate_verdicts(records, "ContextPrecision")
    bounds = scores.label_bounds["ContextPrecision"]
    if unknown > MOST_UNKNOWN:
        assert (bounds.low[0], bounds.high[0], bounds.exact[0]) == (0, 1, False)
    else:
        assert bounds.exact[0]
        assert bounds.low[0] == pytest.approx(1 / (unknown + 1))
        assert bounds.high[0] == 1


def _label(task: str, item: str, label: str | int, against: Any = None) -> Record:
    return {"query": "q", "task": task, "item": item, "label": label, "against": against}


def _supports(item: str, **labels: str) -> list[Record]:
    """The labels of an item: p1 is the passage p1, p1_p2 are two passages together."""
    whole = {"gold", "answer", "context"}
    return [
        _label("support", item, label, against if against in whole else against.split("_"))
        for against, label in labels.items()
    ]


def _item(name: str, kind: str, **fields: Any) -> Record:
    return {"query": "q", "id": name, "type": kind, **fields}


WORKED = [
    RUBRIC,
    *({**passage, "rank": at} for at, passage in enumerate(_passages(4)) if at),
    *(_label("relevance", f"p{at}", grade) for at, grade in ((1, 3), (2, 1), (3, 2))),
    *(_item(f"c{at}", "claim", of="answer") for at in range(1, 6)),
    *_supports("c1", gold="full", p1="full", p2="none", p3="none"),
    *_supports("c2", gold="none", p1="full", p2="full", p3="none"),
    *_supports("c3", gold="partial", p1="none", p2="full", p3="none"),
    *_supports("c4", gold="full", p1="none", p2="contradicts", p3="none"),
    *_supports("c5", gold="contradicts", p1="contradicts", p2="none", p3="partial"),
    *(_item(f"g{at}", "claim", of="gold") for at in range(1, 4)),
    *_supports("g1", answer="full", p1="full", p2="none", p3="none"),
    *_supports("g2", answer="none", p1="none", p2="partial", p3="full"),
    *_supports("g3", answer="full", p1="none", p2="none", p3="none"),
    *(_item(name, "nugget", importance="vital") for name in ("n1", "n2")),
    *(_item(name, "nugget", importance="okay") for name in ("n3", "n4")),
    *_supports("n1", answer="full", p1="none", p2="full", p3="none"),
    *_supports("n2", answer="partial", p1="none", p2="none", p3="full"),
    *_supports("n3", answer="full", p1="none", p2="none", p3="partial"),
    *_supports("n4", answer="none", p1="none", p2="none", p3="none"),
    _item("s1", "sentence", cites=["p1", "p2"]),
    *_supports("s1", context="full", p1="full", p2="none", p1_p2="full"),
    _item("s2", "sentence", cites=["p1", "p2", "p3"]),
    *_supports("s2", context="full", p1="none", p2="partial", p3="none"),
    *_supports("s2", p1_p2_p3="full", p2_p3="none", p1_p3="full", p1_p2="none"),
    _item("s3", "sentence", cites=["p2", "[7]", "p2"]),
    *_supports("s3", context="none", p2="partial"),
    _item("s4", "sentence"),
    *_supports("s4", context="contradicts"),
    _label("correctness", "answer", "partial"),
    _label("tone", "answer", "neutral"),
    _label("answer_relevance", "answer", "partly"),
    _label("abstention", "answer", "answered"),
    _label("abstention", "gold", "answered"),
]  # fmt: skip
"""Passages p1 and p3 are relevant, also because they support g1 and g2. Of the claims, c1 is right and supported, c2 is
wrong and supported by a relevant passage, c3 wrong and supported by an irrelevant one, c4 right and c5 wrong without
support. p2 contradicts c4; p1 contradicts c5, but p3 supports it in part."""


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("Faithfulness", 3 / 5), ("Faithfulness(partial=0.5)", 3.5 / 5), ("Faithfulness(partial=1)", 4 / 5),
        ("Faithfulness(unit=sentences)", 2 / 4), ("ContextRelevance", 1), ("ContextRelevance(rel=3)", 1),
        ("ContextPrecision", (1 / 1 + 2 / 3) / 2), ("ContextPrecision(rel=3)", 1), ("ContextPrecision(rel=1)", 1),
        ("ContextRecall", 2 / 3),
        ("Contradiction", 1 / 5), ("Contradiction(unit=sentences)", 1 / 4),
        ("NuggetRecall", 2 / 4), ("NuggetRecall(partial=0.5)", 2.5 / 4), ("NuggetRecall(kind=vital)", 1 / 2),
        ("NuggetRecall(kind=vital, partial=0.5)", 1.5 / 2), ("NuggetRecall(kind=weighted)", (1 + 0.5) / 3),
        ("NuggetRecall(kind=weighted, partial=0.5)", (1 + 0.5 + 0.5) / 3),
        ("NuggetCoverage@1", 0), ("NuggetCoverage@2", 1 / 4), ("NuggetCoverage", 2 / 4),
        ("CitationRecall", 2 / 4), ("CitationPrecision", (1 + 2 + 0) / 7), ("CitationF1", 6 / 13),
        ("CitationValid", 6 / 7), ("SupportPrecision", (1 + 0.5 + 0.5) / 7), ("SupportRecall", (1 + 0.5 + 0.5) / 4),
        ("ClaimPrecision", 2 / 5), ("ClaimRecall", 2 / 3), ("ClaimF1", 1 / 2), ("ContextUtilization", 1 / 2),
        ("NoiseSensitivity", 1 / 5), ("NoiseSensitivity(passages=irrelevant)", 1 / 5),
        ("Hallucination", 1 / 5), ("SelfKnowledge", 1 / 5), ("Correctness", 0.5), ("Correctness(task=tone)", 0.25),
        ("AnswerRelevance", 0.5),
        ("Abstention", 1), ("Abstention(questions=answerable)", 1), ("Abstention(questions=unanswerable)", None),
    ],
)  # fmt: skip
def test_one_answer_worked_by_hand(measure: str, value: float | None) -> None:
    expected = None if value is None else pytest.approx(value)
    assert evaluate_verdicts(WORKED, measure).per_query["q"][measure] == expected


@pytest.mark.parametrize("measure", ["Faithfulness", "Faithfulness(partial=0.5)", "ContextRecall", "Hallucination"])
@pytest.mark.parametrize("unknown", ["failed", "tied"])
def test_single_passages_do_not_stand_in_for_a_context_whose_label_is_unknown(unknown: str, measure: str) -> None:
    of = "gold" if measure == "ContextRecall" else "answer"
    items = [*_passages(2), _item("c1", "claim", of=of), *_supports("c1", gold="none")]
    tied = [{**each, "by": f"human:{each['label']}"} for each in _supports("c1", context="full")]
    tied += [{**each, "by": f"human:{each['label']}"} for each in _supports("c1", context="none")]
    context = tied if unknown == "tied" else [_failed("support", "c1", "context")]

    def evaluated(**labels: str) -> tuple[float | None, list[float | None]]:
        scores = evaluate_verdicts([*items, *context, *_supports("c1", **labels)], measure)
        bounds = scores.label_bounds.get(measure)
        return scores.per_query["q"][measure], [] if bounds is None else list(bounds.mean)

    partial = 0.5 if "partial" in measure else 0.0
    assert evaluated(p0="partial", p1="none") == (None, [partial, 1.0])
    assert evaluated(p0="full", p1="none")[0] == float(measure != "Hallucination")


def _nothing(item: str) -> Record:
    return {"query": "q", "task": "support", "item": item, "label": None, "state": "nothing_to_judge"}


EMPTY_ANSWER = [_nothing("answer"), *_passages(1), _item("g1", "claim", of="gold"), *_supports("g1", answer="none")]
CITES = _item("s1", "sentence", cites=["p0"])


@pytest.mark.parametrize(
    ("records", "measure", "value"),
    [
        (EMPTY_ANSWER, "Faithfulness", None),
        (EMPTY_ANSWER, "Contradiction", None),
        (EMPTY_ANSWER, "ClaimPrecision", None),
        (EMPTY_ANSWER, "ClaimRecall", 0.0),
        (EMPTY_ANSWER, "ClaimF1", 0.0),
        (EMPTY_ANSWER, "CitationRecall", None),
        (EMPTY_ANSWER, "CitationPrecision", None),
        ([_nothing("gold"), _item("c1", "claim"), *_supports("c1", gold="none")], "ClaimF1", None),
        ([_nothing("context"), _item("c1", "claim")], "Faithfulness", 0.0),
        ([_nothing("context"), _item("c1", "claim")], "Contradiction", 0.0),
        ([_nothing("context"), _item("c1", "claim"), *_supports("c1", gold="none")], "Hallucination", 1.0),
        ([_nothing("context"), _item("n1", "nugget")], "NuggetCoverage", 0.0),
        ([_nothing("context")], "ContextRelevance", None),
        ([_nothing("context")], "ContextPrecision", None),
        ([_item("n1", "nugget"), *_supports("n1", answer="full")], "NuggetRecall(kind=vital)", None),
        ([*_passages(1), _item("s1", "sentence")], "CitationPrecision", 0.0),
        ([*_passages(1), _item("s1", "sentence")], "CitationRecall", 0.0),
        ([*_passages(1), _item("s1", "sentence")], "CitationValid", None),
        ([*_passages(1), CITES, *_supports("s1", p0="partial")], "CitationRecall", 0.0),
        ([*_passages(1), CITES, *_supports("s1", p0="partial")], "SupportPrecision", 0.5),
        ([*_passages(1), {**CITES, "cites": ["[7]"]}], "CitationPrecision", 0.0),
        ([*_passages(1), {**CITES, "cites": ["s1"]}], "CitationValid", 0.0),
        ([CITES], "CitationValid", None),
        ([*_passages(2), CITES, _nothing("p0")], "CitationValid", None),
        ([*_passages(1), CITES, *_supports("s1", p0="full")], "CitationRecall", 1.0),
        ([_nothing("s2"), _item("s2", "sentence"), *_passages(1), _item("s1", "sentence")], "SupportRecall", 0.0),
        ([*_passages(2), _nothing("p0"), _label("relevance", "p1", 2)], "ContextPrecision", 1.0),
        ([_item("g1", "claim", of="gold"), *_supports("g1", context="none")], "ContextUtilization", None),
    ],
)  # fmt: skip
def test_what_decides_the_last_decimals(records: list[Record], measure: str, value: float | None) -> None:
    complete = [{**record, "query": "complete"} if "query" in record else record for record in WORKED]
    assert evaluate_verdicts([*complete, *records], measure).per_query["q"][measure] == value


@pytest.mark.parametrize(("rel", "relevant"), [(None, {2, 3}), (1, {1, 2, 3}), (2, {2, 3}), (3, {3})])
def test_passages_count_from_the_grade_that_answers_something_and_rel_changes_that(
    rel: float | None, relevant: set[int]
) -> None:
    for grade in range(4):
        results = [{"query": "q", "retrieved": ["Gold is soft."], "answer": "Soft."}]
        labels = [{"query": "q", "item": "p1", "task": "relevance", "label": grade}]
        measures = ["ContextRelevance", "ContextPrecision"]
        scores = evaluate_results(results, measures, verdicts=labels, rel=rel)
        assert {*scores.per_query["q"].values()} == {float(grade in relevant)}, grade
        assert evaluate_results(results, "ContextRelevance(rel=3)", verdicts=labels, rel=rel).means == {
            "ContextRelevance(rel=3)": float(grade == 3)
        }


def test_the_grade_from_which_passages_count_says_nothing_about_documents() -> None:
    results = [{"query": "q", "truth": ["Gold is soft."], "retrieved": ["Gold is soft."], "answer": "Soft."}]
    labels = [{"query": "q", "item": "p1", "task": "relevance", "label": 3}]
    scores = evaluate_results(results, ["ContextPrecision(rel=3)", "P@1"], verdicts=labels, match="content")
    assert relevance_threshold(scores) == 1
