"""Several samples of one judge: how much of the variance of a measure is the judge disagreeing with itself."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from statistics import mean, variance
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import KaratError, Scores, SystemScores, evaluate_results, evaluate_verdicts
from karat.scores.sample_variance import SampleVariance

Record = dict[str, Any]
COLUMN = "Faithfulness"


def _labels(query: str, *samples: str) -> list[Record]:
    """Labels of claims, a text per sample: f is full, n is none, and ? failed."""
    row = {"query": query, "type": "claim", "task": "support", "against": "context", "by": "judge"}
    names = {"f": "full", "n": "none", "?": None}
    return [
        {**row, "item": f"c{at}", "sample": sample, "label": names[letter]}
        | ({"state": "failed"} if letter == "?" else {})
        for sample, letters in enumerate(samples)
        for at, letter in enumerate(letters)
    ]


# Values 1, 1 and 0, 0.5: the means are 1 and 0.25, and the variances within the queries are 0 and 0.125.
WORKED = [*_labels("q1", "ff", "ff"), *_labels("q2", "nn", "nf")]
SCORES = evaluate_verdicts(WORKED, name="rag")
NOTE = "share of the variance that is the judge disagreeing with itself (2 samples)"


def _share(values: list[list[float]]) -> float | None:
    """The share by its definition, from the values of each query: pairs of samples, and pairs of queries.

    The expected square of the difference of two samples of one query is twice the variance within queries; that of two
    samples of different queries is twice the whole variance.
    """
    if len(values) < 2:
        return None
    within = mean((a - b) ** 2 / 2 for query in values for a, b in combinations(query, 2))
    across = mean((a - b) ** 2 / 2 for one, other in combinations(values, 2) for a in one for b in other)
    return within / max(within, across) if within else 0.0


def _by_analysis_of_variance(values: list[list[float]]) -> float:
    within = mean(variance(query) for query in values)
    between = (len(values[0]) * variance([mean(query) for query in values]) - within) / len(values[0])
    return within / (within + max(0.0, between)) if within else 0.0


@given(
    st.integers(2, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 1.0]), min_size=n, max_size=n), min_size=1
        )
    )
)
def test_the_share_is_that_of_its_definition(values: list[list[float]]) -> None:
    samples = [np.array(sample) for sample in zip(*values, strict=True)]
    share = SampleVariance.of(samples).share(np.mean(samples, axis=0))
    if len(values) < 2:
        assert share is None
    else:
        assert share == pytest.approx(_share(values), abs=1e-9)
        assert share == pytest.approx(_by_analysis_of_variance(values), abs=1e-9)


@given(
    st.integers(2, 3).flatmap(
        lambda n: st.lists(st.lists(st.text("03?", min_size=2, max_size=2), min_size=n, max_size=n), min_size=1)
    )
)
def test_queries_without_a_value_are_left_out_and_a_value_that_missing_labels_cannot_change_counts(
    queries: list[list[str]],
) -> None:
    records = [
        {"query": f"q{at}", "item": f"p{place}", "type": "passage", "rank": place + 1, "task": "relevance"}
        | {"by": "judge", "sample": sample, "label": None if letter == "?" else letter}
        | ({"state": "failed"} if letter == "?" else {})
        for at, samples in enumerate(queries)
        for sample, letters in enumerate(samples)
        for place, letter in enumerate(letters)
    ]
    # One relevant passage is enough, whatever the others are.
    values = [[1.0 if "3" in each else None if "?" in each else 0.0 for each in samples] for samples in queries]
    known = [[value for value in each if value is not None] for each in values if None not in each]
    scores = evaluate_verdicts(records, "ContextRelevance")
    variance = scores.sample_variances["ContextRelevance"]
    assert variance.share(scores.column("ContextRelevance")) == pytest.approx(_share(known))


def test_a_worked_example() -> None:
    assert SCORES.per_query == {"q1": {COLUMN: 1.0}, "q2": {COLUMN: 0.25}}
    assert SCORES.to_dict()["judge"] == {COLUMN: {"samples": 2, "share": 0.2, "queries": {"q2": 0.125}}}
    assert str(SCORES).splitlines()[-1] == f"note: {NOTE}: Faithfulness 20%."


@pytest.mark.parametrize(
    ("labels", "share"),
    [
        (["ff", "ff"], "0%"),
        (["ff", "fn"], "100%"),
        (["fffffffffn", "fffffffffn", "fffffffffn"], "0%"),
    ],
    ids=["all values are equal", "all queries are equal", "values that are not exact"],
)
def test_at_the_edges_the_share_is_0_or_1(labels: list[str], share: str) -> None:
    scores = evaluate_verdicts([*_labels("q1", *labels), *_labels("q2", *labels)])
    assert str(scores).splitlines()[-1].endswith(f"Faithfulness {share}.")


def test_one_sample_or_one_query_has_no_share() -> None:
    assert "note" not in str(evaluate_verdicts([*_labels("q1", "ff"), *_labels("q2", "nf")]))
    assert "note" not in str(evaluate_verdicts(_labels("q2", "nn", "nf")))
    assert not evaluate_verdicts(_labels("q1", "f")).sample_variances


def test_labels_that_were_asked_for_once_are_not_missing_in_the_other_samples() -> None:
    correct = [{"query": query, "item": "answer", "task": "correctness", "by": "judge"} for query in ("q1", "q2")]
    records = [*WORKED, *({**each, "label": "correct", "sample": 1} for each in correct)]
    scores = evaluate_verdicts(records)
    assert scores.means == {COLUMN: 0.625, "Correctness": 1.0}
    assert str(scores).splitlines()[-1] == f"note: {NOTE}: Faithfulness 20%."


def test_some_queries_and_some_measures_have_shares_of_their_own() -> None:
    more = evaluate_verdicts([*WORKED, *_labels("q3", "nnf", "nnf")], [COLUMN, "Faithfulness(partial=1)"])
    assert str(more.take([0, 1]).only(COLUMN)).splitlines()[-1] == f"note: {NOTE}: Faithfulness 20%."
    assert more.only(COLUMN).to_dict()["judge"].keys() == {COLUMN}


def test_systems_with_other_shares_are_listed_in_one_line() -> None:
    other = evaluate_verdicts([*_labels("q1", "ff", "ff"), *_labels("q2", "nf", "nf")])
    lines = str(SystemScores({"a": SCORES, "b": other})).splitlines()
    assert lines[-1] == f"note: {NOTE}: a (Faithfulness 20%), b (Faithfulness 0%)."


def test_scores_of_results_keep_the_share() -> None:
    results = [{"query": each, "question": "?", "answer": "yes", "gold_answers": ["yes"]} for each in ("q2", "q1")]
    scores = evaluate_results(results, ["EM", COLUMN], verdicts=WORKED)
    assert str(scores).splitlines()[-1] == f"note: {NOTE}: Faithfulness 20%."


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("names", ["canonical", "asked"])
def test_saved_scores_keep_the_share(tmp_path: Path, suffix: str, names: Any) -> None:
    path = tmp_path / f"scores{suffix}"
    evaluate_verdicts(WORKED, "faithfulness", name="rag").save(path, names=names)
    assert str(Scores.load(path)) == str(SCORES)


@pytest.mark.parametrize(
    "damage",
    [
        [],
        {COLUMN: {"samples": 1, "queries": {}}},
        {COLUMN: {"samples": 2, "queries": []}},
        {COLUMN: {"samples": 2, "queries": {"q2": -1}}},
        {COLUMN: {"samples": 2, "queries": {"q2": "many"}}},
        {COLUMN: {"samples": 2, "queries": {"q2": 1e999}}},
        {COLUMN: 0.125},
    ],
)
def test_damaged_variances_are_an_error(tmp_path: Path, damage: Any) -> None:
    (tmp_path / "scores.json").write_text(json.dumps({**SCORES.to_dict(), "judge": damage}))
    with pytest.raises(KaratError, match="the variances of its samples are damaged"):
        Scores.load(tmp_path / "scores.json")
