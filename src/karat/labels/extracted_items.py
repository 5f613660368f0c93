"""Claims and nuggets, which were extracted from an answer: whether it is the one that is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karat.labels.items import answer_of, gold_of
from karat.labels.label_columns import ItemKey
from karat.labels.records import Item
from karat.labels.responses import Response

EXTRACTED = ("claim", "nugget")
"""the items that are not in results, but were extracted from them"""


def of_other_answers(items: Iterable[Item], response: Response) -> list[Item]:
    """The claims and nuggets among the items of verdict files that are from other answers than those of a response."""
    labelled = {(item.query, item.id): item for item in items if item.system in (None, response.system)}
    current = {(item.query, item.id): item for item in (*answer_of(response), *gold_of(response))}
    gone = keys_of_other_answers(labelled, current)
    return [item for key, item in labelled.items() if key in gone]


def keys_of_other_answers(labelled: Mapping[ItemKey, Item], items: Mapping[ItemKey, Item]) -> frozenset[ItemKey]:
    """The claims and nuggets that are from another answer, or another gold answer, than the one among the items."""
    found = []
    for key, item in labelled.items():
        if item.type in EXTRACTED and (answer := items.get((item.query, item.source))) is not None:
            digests = digest_of_answer(item, labelled), answer.current_digest
            if None not in digests and digests[0] != digests[1]:
                found.append(key)
    return frozenset(found)


def digest_of_answer(item: Item, labelled: Mapping[ItemKey, Item]) -> str | None:
    """The digest of the answer that a claim or a nugget is from, as far as it is known."""
    if item.of_digest is not None or item.type == "nugget":
        return item.of_digest
    answer = labelled.get((item.query, item.source))
    return None if answer is None else answer.labelled_digest
