"""Records whose order is not known: whether it matters which of them stands first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.errors import KaratError, shown
from karat.grounding.labels.counting import LabelKey, label_key, replaces
from karat.grounding.verdict_file.records import Item, kind_of, read_item

_HINT = "Name a column that gives the order: order=. Or keep one of them."


def check_order_does_not_matter(records: Iterable[Mapping[str, Any]], place: str) -> None:
    """Raise an error if a later record would replace an earlier one that says something else."""
    labels: dict[LabelKey, Mapping[str, Any]] = {}
    items: dict[tuple[object, ...], Item] = {}
    implied: dict[tuple[object, ...], Item] = {}
    for record in records:
        kind = kind_of(record, place)
        if kind == "item":
            item = read_item(record, place)._replace(place=None)
            if items.setdefault(_key(item), item) != item:
                raise _several(f"the item {shown(item.id)}", item.query, place)
        if kind == "verdict" and record.get("type") is not None:
            item = read_item(record, place, "item")._replace(place=None)
            if implied.setdefault(_key(item), item) != item:
                raise _several(f"the item {shown(item.id)}", item.query, place)
        if kind == "verdict":
            _add_label(labels, record, place)
    for key, item in implied.items():
        if key in items and item.labelled_digest not in (None, items[key].labelled_digest):
            raise _several(f"the item {shown(item.id)}", item.query, place)


def _key(item: Item) -> tuple[object, ...]:
    return item.query, item.system, item.id


def _add_label(labels: dict[LabelKey, Mapping[str, Any]], record: Mapping[str, Any], place: str) -> None:
    key = label_key(record)
    known = labels.setdefault(key, record)
    if not replaces(known, record):
        labels[key] = record
    elif replaces(record, known) and _says(record) != _says(known):
        raise _several(f"a label of the item {shown(record.get('item'))}", record.get("query"), place)


def _says(verdict: Mapping[str, Any]) -> tuple[object, ...]:
    texts = () if verdict.get("state") == "failed" else ("digest", "against_digest")
    return tuple(map(verdict.get, ("label", "state", *texts)))


def _several(what: str, query: object, place: str) -> KaratError:
    what = f"{what} of query {shown(query)} was given more than once, and the last one counts, but rows have no order"
    return KaratError(what, place=place, hint=_HINT)
