"""A question that a language model is asked about, and what is written about it to a verdict file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from karat.grounding.judges.requests import Record
from karat.grounding.verdict_file.records import Item, ItemType, joint_digest

_AGAINST = {"support": "context", "relevance": "question"}


class Question(NamedTuple):
    """The inputs of a question, its id and system in the verdict file, and the items that the file has about it."""

    query: str
    system: str | None
    inputs: Mapping[str, Any]
    known: Sequence[Item] = ()

    def item(self, name: str, kind: ItemType, text: str, **fields: Any) -> Item:
        """Something of this question that can be judged."""
        return Item(self.query, name, kind, self.system, text=text, **fields)

    @property
    def passages(self) -> list[Item]:
        """The contexts, as passages `p1`, `p2`, and so on."""
        return [self.item(f"p{at}", "passage", text, rank=at) for at, text in enumerate(self.inputs["contexts"], 1)]

    @property
    def context(self) -> Item:
        """All contexts together."""
        digest = joint_digest(each.current_digest for each in self.passages)
        return Item(self.query, "context", "answer", self.system, digest=digest)

    def verdict(self, task: str, item: Item, **fields: Any) -> Record:
        """A label of an item, or a state."""
        against = self.context.digest if item.type == "claim" else None
        record = {
            "record": "verdict", "query": self.query, "system": self.system, "task": task, "item": item.id,
            "against": _AGAINST[task], **fields, "digest": item.current_digest, "against_digest": against,
        }  # fmt: skip
        return {name: value for name, value in record.items() if value is not None}

    def removals(self, items: Iterable[Item], *kinds: ItemType) -> Iterator[Record]:
        """Records that remove what the file has of these kinds beside the items: it is from an earlier answer."""
        names = {each.id for each in items}
        return (
            each.removal() for each in self.known if each.type in kinds and each.of != "gold" and each.id not in names
        )

    def are_known(self, items: Iterable[Item]) -> bool:
        """Whether the file has these items with the same texts, and no others of their kinds."""
        texts = {each.id: each.current_digest for each in items}
        kinds = {each.type for each in items}
        known = {each.id: each.current_digest for each in self.known if each.type in kinds and each.of != "gold"}
        return texts == known
