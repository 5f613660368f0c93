"""Several samples of one model: samples that see nothing to judge, and those in which a measure is undefined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karat import Scores, evaluate_verdicts
from tests.random_verdicts import Record


def _label(
    sample: int, item: str, label: str | None, against: Any = "context", query: str = "q", **more: Any
) -> Record:
    """A label of support in a sample; None says that there is nothing to judge."""
    state = {"state": "nothing_to_judge"} if label is None else {}
    row = {"query": query, "task": "support", "item": item, "against": against, "label": label}
    return {**row, "by": "judge", "sample": sample, **state, **more}


def _claims(query: str, *samples: str) -> list[Record]:
    """Labels of claims, a text per sample: f is full, n is none, - is nothing to judge, and ? is missing."""
    names = {"f": "full", "n": "none", "-": None}
    return [
        _label(sample, f"c{at}", names[letter], query=query, type="claim")
        for sample, letters in enumerate(samples)
        for at, letter in enumerate(letters)
        if letter != "?"
    ]


def _value(records: list[Record], measure: str = "Faithfulness", query: str = "q") -> float | None:
    return evaluate_verdicts(records, measure).per_query[query][measure]


@pytest.mark.parametrize(
    ("samples", "value"),
    [
        (["fn", "fn", "f-"], (1 / 2 + 1 / 2 + 1) / 3),
        (["fn", "f-", "f-"], 1.0),
        (["fn", "f-"], (1 / 2 + 1) / 2),
        (["fn", "f-", "f?"], None),
        (["f", "f", "-"], 1.0),
    ],
    ids=str,
)
def test_a_sample_leaves_an_item_out_on_its_own_and_most_samples_for_all(samples: list[str], value: float) -> None:
    others = _claims("r", *["nn"] * len(samples))
    assert _value([*_claims("q", *samples), *others]) == (None if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("implied", "item", "against", "measure"),
    [
        ("answer", {"id": "c1", "type": "claim"}, "context", "Faithfulness"),
        ("answer", {"id": "c1", "type": "claim"}, "gold", "ClaimPrecision"),
        ("gold", {"id": "g1", "type": "claim", "of": "gold"}, "answer", "ClaimRecall"),
        ("question", {"id": "n1", "type": "nugget"}, "answer", "NuggetRecall"),
    ],
)
@pytest.mark.parametrize(("empty", "value"), [([2], 0.5), ([1, 2], None)], ids=["one of three", "two of three"])
def test_a_sample_that_finds_nothing_to_judge_has_none_of_the_items_that_others_labelled(
    implied: str, item: Record, against: str, measure: str, empty: list[int], value: float | None
) -> None:
    items = [{"query": query, **item} for query in ("q", "r")]
    labels = [_label(sample, implied, None, None) for sample in empty]
    full_or_none = {0: "full", 1: "none"}
    labels += [_label(at, item["id"], full_or_none[at], against) for at in range(3) if at not in empty]
    labels += [_label(at, item["id"], "full", against, "r") for at in range(3)]
    scores = evaluate_verdicts([*items, *labels], measure)
    assert scores.per_query["q"][measure] == value
    bounds = scores.label_bounds[measure]
    assert not bounds.unknown.any()


def _passages(count: int) -> list[Record]:
    return [
        {"query": query, "id": f"p{at}", "type": "passage", "rank": at} for query in "qr" for at in range(1, count + 1)
    ]


def test_a_passage_that_one_sample_leaves_out_is_neither_ranked_nor_cited_in_it() -> None:
    sentences = [{"query": query, "id": "s1", "type": "sentence", "cites": ["p1", "p2", "p3"]} for query in "qr"]
    grade = {"task": "relevance", "by": "judge", "against": "question"}
    labels = [_label(1, "p1", None, None)]
    labels += [
        {**grade, "query": query, "item": f"p{at}", "label": label, "sample": sample}
        for query, sample in (("q", 0), ("q", 1), ("r", 0), ("r", 1))
        for at, label in ((1, 0), (2, 2), (3, 1))
        if (query, sample, at) != ("q", 1, 1)
    ]
    sets = {
        "p1 p2 p3": "none",
        "p2 p3": "full",
        "p1 p3": "none",
        "p1 p2": "none",
        "p1": "none",
        "p2": "full",
        "p3": "none",
    }
    labels += [
        _label(sample, "s1", label, passages.split(), query)
        for query in "qr"
        for sample in (0, 1)
        for passages, label in sets.items()
    ]
    records = [*_passages(3), *sentences, *labels]
    # The sample 0 has p2 at rank 2, and the sample 1 at rank 1.
    assert _value(records, "ContextPrecision") == (1 / 2 + 1) / 2
    # What the sentence cites is p1, p2 and p3 in the sample 0, and p2 and p3 in the sample 1.
    assert _value(records, "CitationRecall") == (0 + 1) / 2
    assert _value(records, "CitationPrecision") == (0 + 1 / 2) / 2
    assert _value(records, "SupportPrecision") == (1 / 3 + 1 / 2) / 2


def _utilization(query: str, *samples: tuple[str, str]) -> list[Record]:
    """Labels of a gold claim against the context and the answer, a pair per sample."""
    row: dict[str, Any] = {"type": "claim", "of": "gold", "query": query}
    return [
        _label(sample, "g1", label, against, **row)
        for sample, labels in enumerate(samples)
        for against, label in zip(("context", "answer"), labels, strict=True)
        if label != "?"
    ]


USED, UNUSED, UNDEFINED = ("full", "full"), ("full", "none"), ("none", "full")


@pytest.mark.parametrize(
    ("samples", "value", "bounds"),
    [
        ([USED, UNDEFINED], 1.0, None),
        ([USED, UNUSED, UNDEFINED], 0.5, None),
        ([USED, UNDEFINED, UNDEFINED], None, None),
        ([USED, ("full", "?")], None, (0.5, 1.0)),
        ([USED, UNDEFINED, ("full", "?")], None, (0.5, 1.0)),
        ([USED, UNDEFINED, ("?", "full")], None, (1.0, 1.0)),  # or nothing to judge
        ([USED, ("?", "full")], 1.0, None),  # whatever the label is
        ([UNDEFINED, UNDEFINED, ("?", "?")], None, None),
    ],
    ids=str,
)
def test_the_mean_is_over_the_samples_in_which_a_measure_is_defined(
    samples: list[tuple[str, str]], value: float | None, bounds: tuple[float, float] | None
) -> None:
    records = [*_utilization("q", *samples), *_utilization("r", *[USED] * len(samples))]
    scores = evaluate_verdicts(records, "ContextUtilization")
    assert scores.per_query["q"] == {"ContextUtilization": value}
    found = scores.label_bounds["ContextUtilization"]
    row = scores.queries.index("q")
    assert bool(found.unknown[row]) == (bounds is not None)
    if bounds is not None:
        assert (found.low[row], found.high[row]) == bounds
    left_out = "queries with nothing to judge (left out): 1 for ContextUtilization"
    assert (left_out in str(scores)) == (value is None and bounds is None)


def test_the_variance_is_that_of_the_samples_in_which_a_measure_is_defined(tmp_path: Path) -> None:
    records = _utilization("q", USED, UNUSED, UNDEFINED) + _utilization("r", USED, UNUSED, USED)
    records += _utilization("s", USED, UNDEFINED, UNDEFINED) + _utilization("t", USED, USED, USED)
    scores = evaluate_verdicts(records, "ContextUtilization")
    variance = scores.sample_variances["ContextUtilization"]
    expected = {"q": (0.5, 2), "r": (1 / 3, 3), "t": (0, 3)}
    for query, within in expected.items():
        row = scores.queries.index(query)
        assert (variance.within[row], variance.counts[row]) == pytest.approx(within)
    # The values are 1/2, 2/3 and 1, and their variances 1/4, 1/9 and 0.
    between = 0.0648148148148148 - (1 / 4 + 1 / 9) / 3
    own = (1 / 2 + 1 / 3) / 3
    assert variance.share(scores.values["ContextUtilization"]) == pytest.approx(own / (own + max(0, between)))
    scores.save(tmp_path / "scores.json")
    assert str(Scores.load(tmp_path / "scores.json")) == str(scores)
    again = Scores.load(tmp_path / "scores.json").sample_variances["ContextUtilization"]
    assert again.counts.tolist()[:2] == [2, 3]
