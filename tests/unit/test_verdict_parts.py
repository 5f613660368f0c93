"""Verdicts that are evaluated in parts, as on several machines: the scores are those of all records together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.analysis import label_bounds
from karat.evaluation.verdict_parts import SharedRecords, evaluate_parts
from karat.scores.sample_variance import SampleVariance
from tests.random_verdicts import RUBRIC, Record, labelled_by_several, random_query

ALL_MEASURES = [
    "Faithfulness", "Faithfulness(unit=sentences)", "Contradiction", "ContextRelevance",
    "ContextPrecision", "ContextRecall",
    "NuggetRecall(kind=vital)", "NuggetRecall", "CitationRecall", "CitationPrecision", "SupportPrecision",
    "SupportRecall", "ClaimPrecision", "ClaimRecall", "Hallucination", "Correctness", "AnswerRelevance", "Abstention",
    "CitationValid", "NuggetCoverage", "Correctness(task=tone)",
]  # fmt: skip


def run_each(parts: Sequence[Any], work: Any, wanted: Sequence[int] | None = None) -> Iterator[Any]:
    """The results of parts that are evaluated one by one."""
    return (work(parts[at]) for at in (range(len(parts)) if wanted is None else wanted))


def evaluated_in_parts(records: list[Record], parts: int, measures: Any = None, **options: Any) -> Scores:
    """The scores of records that are evaluated in several parts, of which some may be empty."""
    divided: list[list[Record]] = [[] for _ in range(parts)]
    for each in records:
        if "query" in each:
            divided[sum(map(ord, each["query"])) % parts].append(each)
    shared = SharedRecords("the verdicts", has_order=True).reading([each for each in records if "query" not in each])
    chosen = {"system": None, "author": None, "unknown": "bounds", "name": "", **options}
    scores, _ = evaluate_parts(
        partial(run_each, divided), shared, measures, portable=lambda each: lambda: each, **chosen
    )
    return scores


def outcome(compute: Any) -> Any:
    """What an evaluation returns, in the order of ids, or its error, without the number of a row."""
    try:
        scores: Scores = compute()
    except KaratError as error:
        place = "" if str(error.place) is None else str(error.place).partition(", row ")[0]
        return error.what, place, error.hint
    rows = scores.by_id
    bounds = {
        name: [getattr(each, side)[rows].tobytes() for side in ("low", "high", "exact", "nullable")]
        for name, each in scores.label_bounds.items()
    }
    assert scores.fingerprint is not None
    return (
        [scores.queries[row] for row in rows],
        {name: column[rows].tobytes() for name, column in scores.values.items()},
        bounds,
        {name: (each.samples, each.take(rows).within.tobytes()) for name, each in scores.sample_variances.items()},
        scores.findings,
        scores.fingerprint.options,
        dict(scores.fingerprint.truths["verdicts"]),
        scores.asked,
    )


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    parts=st.sampled_from([1, 2, 7]),
    measures=st.none() | st.lists(st.sampled_from(ALL_MEASURES), min_size=1, max_size=4, unique=True),
    author=st.sampled_from([None, "human", "model"]),
    unknown=st.sampled_from(["bounds", "skip", "error"]),
)
def test_scores_of_parts_are_those_of_all_records(
    seed: int, parts: int, measures: list[str] | None, author: str | None, unknown: str
) -> None:
    random = Random(seed)
    records = labelled_by_several(random)
    whole = outcome(lambda: karat.evaluate_verdicts(records, measures, author=author, unknown=unknown))  # type: ignore[arg-type]
    assert outcome(lambda: evaluated_in_parts(records, parts, measures, author=author, unknown=unknown)) == whole


def test_combinations_are_tried_for_the_same_queries_in_parts_and_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(3)
    sizes = {"claims": 0, "gold_claims": 0, "sentences": 2, "nuggets": 0, "passages": 3}
    records = [each for q in range(6) for each in random_query(random, f"q{q}", sizes, 0.4, 0)[0]] + [RUBRIC]
    by_query: dict[str, list[Record]] = {}
    for each in records:
        by_query.setdefault(each.get("query", ""), []).append(each)
    backwards = [each for query in reversed(by_query) for each in by_query[query]]
    measures, estimated = ["CitationPrecision", "CitationRecall"], set()
    for most in (0, 300, 1 << 24):
        monkeypatch.setattr(label_bounds, "_MOST_ROWS", most)
        whole = outcome(lambda: karat.evaluate_verdicts(records, measures))
        assert outcome(lambda: karat.evaluate_verdicts(backwards, measures)) == whole
        for parts in (1, 2, 7):
            assert outcome(partial(evaluated_in_parts, records, parts, measures)) == whole
        estimated.add(whole[2]["CitationPrecision"][2])
    assert len(estimated) > 2  # the limit makes a difference


def test_the_value_of_a_query_of_many_samples_does_not_depend_on_other_queries() -> None:
    values = [np.array(row) for row in np.random.default_rng(7).random((40, 5))]
    together = SampleVariance.of(values).within
    assert [SampleVariance.of([row[[at]] for row in values]).within[0] for at in range(5)] == together.tolist()
    row = {"task": "tone", "item": "answer", "by": "model"}
    labels = [
        {
            **row,
            "query": query,
            "sample": sample,
            "label": Random(sample * 7 + at).choice(["rude", "neutral", "polite"]),
        }
        for at, query in enumerate("abcde")
        for sample in range(40)
    ]
    whole = karat.evaluate_verdicts([RUBRIC, *labels], "Correctness(task=tone)").per_query
    for query in "abcde":
        alone = [label for label in labels if label["query"] == query]
        assert karat.evaluate_verdicts([RUBRIC, *alone], "Correctness(task=tone)").per_query == {query: whole[query]}


def test_authors_and_systems_are_listed_by_name_whatever_the_order_of_rows() -> None:
    row = {"query": "q", "task": "correctness", "item": "answer", "label": "correct"}
    people = [{**row, "by": f"human:{name}"} for name in "ba"]
    for labels in (people, people[::-1]):
        fingerprint = karat.evaluate_verdicts(labels).fingerprint
        assert fingerprint is not None
        assert fingerprint.options == {"author": "human:a, human:b"}
    with pytest.raises(KaratError, match=r"Systems: a, b\."):
        karat.evaluate_verdicts([{**row, "system": "b"}, {**row, "system": "a"}])


def test_failed_labels_of_a_system_without_items_are_named() -> None:
    failed = {"query": "q", "system": "s", "task": "correctness", "item": "answer", "state": "failed", "by": "model"}
    with pytest.raises(KaratError, match="2 labels failed") as error:
        karat.evaluate_verdicts([failed, {**failed, "query": "r"}], "Faithfulness")
    assert outcome(lambda: evaluated_in_parts([failed, {**failed, "query": "r"}], 2, "Faithfulness")) == (
        error.value.what,
        "the verdicts",
        error.value.hint,
    )
