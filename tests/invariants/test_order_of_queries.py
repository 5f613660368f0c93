"""Shuffling queries, or the rows of a table, changes no digit of any result: everything is resampled by query id."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from karat import Scores, compare, evaluate
from karat.comparison import Comparison

MEASURES = ["nDCG@10", "AP", "GMAP", "NumRelRet", "Judged@5"]
QUERIES = 45  # more than the exact randomization test allows

_chance = random.Random(14)
TRUTH = {
    f"q{at}": {f"d{doc}": _chance.choice([0, 1, 1, 2]) for doc in _chance.sample(range(12), 5)} for at in range(QUERIES)
}
RUNS = {
    name: {query: {f"d{doc}": _chance.random() for doc in _chance.sample(range(12), 8)} for query in list(TRUTH)[skip:]}
    for name, skip in (("a", 0), ("b", 2), ("c", 1))
}
TOPICS = {query: _chance.choice(["law", "news", "sport"]) for query in TRUTH}


def shuffled(by_query: Mapping[str, Any], chance: random.Random) -> dict[str, Any]:
    return dict(chance.sample(sorted(by_query.items()), len(by_query)))


def numbers_of(scores: Scores) -> dict[str, Any]:
    """Every number of an evaluation, by name where order has a meaning of its own."""
    groups = scores.slices(TOPICS)
    return {
        "means": scores.means,
        "queries": dict(sorted(scores.per_query.items())),
        "intervals": scores.intervals(resamples=200),
        "bounds": [scores.bounds(name).mean for name in ("nDCG@10", "AP")],
        "groups": sorted(groups.to_dict()["groups"], key=lambda group: group["group"]),
        "weakest": [line for line in str(groups).splitlines() if "significantly" in line],
    }


def numbers_of_comparison(found: Comparison) -> tuple[Any, ...]:
    return found.rows, found.sentences


@given(st.randoms(use_true_random=False))
@settings(max_examples=5, deadline=None)
def test_shuffled_mappings_give_the_same_scores_intervals_bounds_and_slices(chance: random.Random) -> None:
    expected = numbers_of(evaluate(TRUTH, RUNS["b"], MEASURES))
    assert numbers_of(evaluate(shuffled(TRUTH, chance), shuffled(RUNS["b"], chance), MEASURES)) == expected


@given(st.randoms(use_true_random=False))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shuffled_rows_of_files_and_frames_give_the_same_scores_and_intervals(
    tmp_path: Path, chance: random.Random
) -> None:
    expected = numbers_of(evaluate(TRUTH, RUNS["b"], MEASURES))
    truth = [(query, doc, grade) for query, docs in TRUTH.items() for doc, grade in docs.items()]
    run = [(query, doc, score) for query, docs in RUNS["b"].items() for doc, score in docs.items()]
    chance.shuffle(truth)
    chance.shuffle(run)
    frames = (pl.DataFrame(truth, ["query", "doc", "grade"], orient="row"),
              pl.DataFrame(run, ["query", "doc", "score"], orient="row"))  # fmt: skip
    assert numbers_of(evaluate(*frames, MEASURES)) == expected
    qrels, trec = tmp_path / "truth.qrels", tmp_path / "run.trec"
    qrels.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in truth))
    trec.write_text("".join(f"{query} Q0 {doc} 1 {score!r} b\n" for query, doc, score in run))
    assert numbers_of(evaluate(qrels, trec, MEASURES)) == expected


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "bootstrap", "tukey"])
@given(chance=st.randoms(use_true_random=False))
@settings(max_examples=3, deadline=None)
def test_a_comparison_of_shuffled_systems_is_the_same_to_the_last_digit(test: Any, chance: random.Random) -> None:
    given_order = {name: evaluate(TRUTH, run, MEASURES) for name, run in RUNS.items()}
    other_orders = {
        name: evaluate(shuffled(TRUTH, chance), shuffled(run, chance), MEASURES) for name, run in RUNS.items()
    }
    options: dict[str, Any] = {"permutations": 500} if test in ("randomization", "tukey") else {}
    first, second = (
        compare(systems, test=test, resamples=200, detect=0.1, **options) for systems in (given_order, other_orders)
    )
    assert numbers_of_comparison(first) == numbers_of_comparison(second)


def test_tables_keep_the_order_of_the_ground_truth() -> None:
    truth = {query: TRUTH[query] for query in reversed(TRUTH)}
    assert evaluate(truth, RUNS["a"], "AP").queries == tuple(truth)
