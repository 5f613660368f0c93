"""The labels that scores of verdicts were computed from: those of a query, and how they differ between systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from karat.analysis.label_rows import LabelChange, LabelRow
from karat.data.verdicts import Relation
from karat.grounding.labels.selection import Selected
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item
from karat.measures import meanings
from karat.measures.labels import relations_of

_BY_PASSAGES = ("context", "passage", "cited", "others")


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """The labels of one system, and what they say about a query."""

    selected: Selected

    @property
    def queries(self) -> tuple[str, ...]:
        return self.selected.samples[0].queries

    def rows(self, query: str, measures: Iterable[str]) -> list[LabelRow]:
        """The labels of a query that these measures read, and what is unlabelled, in the order of the items."""
        relations = _relations(measures)
        items = self._items.get(query, {})
        labels = self.selected.records.labels
        found: dict[str, list[LabelRow]] = {name: [] for name in ("answer", "gold", *items)}
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
            found[name].append(row)
        passages = [name for name, item in items.items() if item.type == "passage"]
        unlabelled = {
            name: list(_unlabelled(item, found[name], relations, passages))
            for name, item in items.items()
            if item.type != "answer"
        }
        rows = [row for name in found for row in (*found[name], *unlabelled.get(name, ()))]
        return rows if relations else [_cited(item) for item in items.values() if item.type == "sentence"]

    @cached_property
    def _stale(self) -> set[int]:
        return {*self.selected.stale.tolist()}

    @cached_property
    def _items(self) -> Mapping[str, Mapping[str, Item]]:
        found: dict[str, dict[str, Item]] = {}
        for item in self.selected.items:
            if item is not None:
                found.setdefault(item.query, {})[item.id] = item
        return found

    @cached_property
    def _rows_of_query(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        rows = self.selected.unreplaced
        for row, query in zip(rows.tolist(), self.selected.records.labels.query.take(rows), strict=True):
            found.setdefault(query, []).append(row)
        return found


def _cited(item: Item) -> LabelRow:
    """A sentence and what it cites, which is all that measures without labels read."""
    return LabelRow(item.id, item.type, item.text, against=", ".join(item.cites), state="")


def _relations(measures: Iterable[str]) -> set[Relation]:
    """What measures of verdicts read."""
    known = [measure for name in measures for measure in meanings(name)[:1]]
    return {relation for each in known if each.definition.takes == "verdicts" for relation in relations_of(each)}


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


def label_changes(before: LabelEvidence, after: LabelEvidence, query: str, measure: str) -> list[LabelChange]:
    """The labels of a query that differ, those of items with other texts included."""
    sides: list[dict[tuple[str, ...], list[LabelRow]]] = []
    for each in (before, after):
        by_subject: dict[tuple[str, ...], list[LabelRow]] = {}
        for row in each.rows(query, [measure]):
            by_subject.setdefault((row.item, row.type, row.text or "", row.task, row.against), []).append(row)
        sides.append(by_subject)
    found = []
    for subject in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (", ".join(dict.fromkeys(row.label_text for row in side.get(subject, ()))) or None for side in sides)
        if old != new:
            item, kind, text, task, against = subject
            found.append(LabelChange(item, kind, text or None, task, against, old, new))
    return found
