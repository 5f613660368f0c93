"""The labels that scores of verdicts were computed from, and those of a query, to show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from karat.data.caching import cached_property
from karat.data.verdicts import Relation
from karat.grounding.labels.selection import SelectedLabels
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.measures import meanings
from karat.measures.labels import relations_of

_BY_PASSAGES = ("context", "passage", "cited", "others")


@dataclass(frozen=True)
class LabelRow:
    """A label of an item: what the item was compared with, by whom it was labelled, and why; or an unlabelled item.

    `against` is empty for the answer as a whole. `label` is None if it is unknown: `state` is then `failed`, `stale` if
    a text has changed since it was labelled, or `unlabelled` if nobody gave a label.
    """

    item: str
    type: str
    text: str | None
    task: str = ""
    against: str = ""
    label: str | None = None
    state: str = "unlabelled"
    by: str = ""
    why: str | None = None
    sample: int = 0

    @property
    def author_text(self) -> str:
        """The author, and which of several samples of a model it is."""
        return f"{self.by}, sample {self.sample}" if self.sample else self.by

    @property
    def label_text(self) -> str:
        """The label, or why there is none."""
        return self.state if self.label is None else self.label

    @property
    def item_text(self) -> str:
        """The id and the text of the item, as far as they are known."""
        return self.item if not self.text else f"{self.item}: {self.text}"


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The labels of one system, and what they say about a query."""

    queries: tuple[str, ...]
    read: Callable[[], SelectedLabels]
    """returns all labels"""
    read_query: Callable[[str], SelectedLabels] | None = None
    """returns those of a query, if not all of them are in memory"""

    @classmethod
    def of(cls, selected: SelectedLabels) -> Self:
        """Labels that are in memory."""
        return cls(selected.samples[0].queries, lambda: selected)

    @cached_property
    def selected(self) -> SelectedLabels:
        """All labels."""
        return self.read()

    def rows(self, query: str, measures: Iterable[str]) -> list[LabelRow]:
        """The labels of a query that these measures read, and what is unlabelled, in the order of the items."""
        if self.read_query is not None:
            return LabelEvidence.of(self.read_query(query)).rows(query, measures)
        relations = _relations(measures)
        items = self._items.get(query, {})
        labels = self.selected.records.labels
        labelled: dict[str, list[LabelRow]] = {name: [] for name in ("answer", "gold", *items)}
        for at in self._rows_of_query.get(query, ()):
            name, task, label, against = labels.item[at], labels.task[at], labels.label[at], labels.against[at]
            label, state = (None, "stale") if at in self._stale else (label, labels.state[at])
            item = items.get(name)
            if not any(_is_read(relation, task, name if item is None else item.set, against) for relation in relations):
                continue
            text = ", ".join(against) if isinstance(against, tuple) else against or ""
            row = LabelRow(
                name, "answer" if item is None else item.type, None if item is None else item.text, task, text, label,
                state, labels.by[at], labels.why[at], labels.sample[at],
            )  # fmt: skip
            labelled[name].append(row)
        passages = [name for name, item in items.items() if item.type == "passage"]
        unlabelled = {
            name: list(_unlabelled(item, labelled[name], relations, passages))
            for name, item in items.items()
            if item.type != "answer"
        }
        rows = [row for name in labelled for row in (*labelled[name], *unlabelled.get(name, ()))]
        return rows if relations else [_cited(item) for item in items.values() if item.type == "sentence"]

    @cached_property
    def _stale(self) -> set[int]:
        return {*self.selected.stale.tolist()}

    @cached_property
    def _items(self) -> Mapping[str, Mapping[str, Item]]:
        items: dict[str, dict[str, Item]] = {}
        for item in self.selected.items:
            if item is not None:
                items.setdefault(item.query, {})[item.id] = item
        return items

    @cached_property
    def _rows_of_query(self) -> Mapping[str, list[int]]:
        rows_of_query: dict[str, list[int]] = {}
        rows = self.selected.unreplaced
        for row, query in zip(rows.tolist(), self.selected.records.labels.query.take(rows), strict=True):
            rows_of_query.setdefault(query, []).append(row)
        return rows_of_query


def _cited(item: Item) -> LabelRow:
    """A sentence and what it cites, which is all that measures without labels read."""
    return LabelRow(item.id, item.type, item.text, against=", ".join(item.cites), state="")


def _relations(measures: Iterable[str]) -> set[Relation]:
    """What measures of verdicts read."""
    known = [measure for name in measures for measure in meanings(name)[:1]]
    of_verdicts = (measure for measure in known if measure.definition.takes == "verdicts")
    return {relation for measure in of_verdicts for relation in relations_of(measure)}


def _is_read(relation: Relation, task: str, items: str, against: Against) -> bool:
    """Whether a label is one of a relation; labels against passages also say what the context supports."""
    if (relation.task, relation.items) != (task, items):
        return False
    if task != "support":
        return True
    return relation.against in _BY_PASSAGES if isinstance(against, tuple) else relation.against == against


def _unlabelled(
    item: Item, rows: Sequence[LabelRow], relations: Iterable[Relation], passages: Sequence[str]
) -> Iterator[LabelRow]:
    """What lacks a label: the item as a whole, or the passages that it was not compared with."""
    own = [relation for relation in relations if relation.items == item.set]
    against = {row.against for row in rows}
    if own and not rows:
        yield LabelRow(item.id, item.type, item.text)
    elif any(relation.against == "passage" and relation.items != "sentences" for relation in own) or (
        any(relation.against == "context" for relation in own)
        and "context" not in against
        and not any(row.label == "full" for row in rows)
    ):
        missing = ", ".join(name for name in passages if name not in against)
        if missing:
            yield LabelRow(item.id, item.type, item.text, "support", missing)
