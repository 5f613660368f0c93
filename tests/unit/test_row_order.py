"""Records without an order: they are refused if it matters which of them stands last."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import karat
from karat import KaratError
from karat.grounding.labels.counting import check_order_does_not_matter
from tests.random_verdicts import labelled_by_several

LABEL = {"query": "q", "item": "c1", "type": "claim", "task": "support", "against": "context", "label": "full"}
ITEM = {"record": "item", "query": "q", "id": "c1", "type": "claim", "text": "Gold is soft."}


@pytest.mark.parametrize(
    "other",
    [
        {**LABEL, "label": "none"},
        {**LABEL, "label": None, "state": "nothing_to_judge"},
        {**LABEL, "of": "gold"},
        {**LABEL, "text": "Iron rusts.", "by": "a-model"},
        {**LABEL, "digest": "0123456789abcdef"},
    ],
)
def test_a_record_that_replaces_another_one_needs_an_order(other: dict[str, Any]) -> None:
    for records in ([LABEL, other], [other, LABEL]):
        with pytest.raises(KaratError, match="more than once, and the last one counts, but rows have no order"):
            check_order_does_not_matter(records, "the verdicts")


@pytest.mark.parametrize("other", [{**ITEM, "text": "Iron rusts."}, {**ITEM, "removed": True}, {**LABEL, "text": "x"}])
def test_an_item_that_changes_needs_an_order(other: dict[str, Any]) -> None:
    for records in ([ITEM, other], [other, ITEM]):
        with pytest.raises(KaratError, match=r"the item 'c1' of query 'q' was given more than once"):
            check_order_does_not_matter(records, "the verdicts")


def test_records_that_say_the_same_or_are_by_others_have_any_order() -> None:
    others: list[dict[str, Any]] = [
        {**LABEL, "by": "a-model", "label": "none"},
        {**LABEL, "label": None, "state": "failed"},
    ]
    check_order_does_not_matter([LABEL, ITEM, LABEL, ITEM, *others], "the verdicts")


def test_records_that_are_accepted_have_the_same_scores_in_any_order() -> None:
    accepted = 0
    for seed in range(40):
        random = Random(seed)
        about = ("record", "query", "system", "id", "task", "item", "against", "by", "sample", "key", "name")
        records = {str([each.get(name) for name in about]): each for each in labelled_by_several(random)}
        listed = [each for each in records.values() if not each.get("removed")]
        try:
            check_order_does_not_matter(listed, "the verdicts")
            scores = karat.evaluate_verdicts(listed)
        except KaratError:
            continue
        random.shuffle(listed)
        shuffled = karat.evaluate_verdicts(listed)
        assert (shuffled.means, shuffled.findings) == (scores.means, scores.findings)
        assert {query: dict(each) for query, each in shuffled.per_query.items()} == scores.per_query
        accepted += len(scores.queries) > 1
    assert accepted > 5
