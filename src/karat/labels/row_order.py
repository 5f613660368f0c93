"""Records whose order is not known: whether it matters which of them stands first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.errors import KaratError, Place, shown
from karat.labels.records import Item, kind_of, read_item

_HINT = "Name a column that gives the order: order=. Or keep one of them."
_ABOUT = ("query", "system", "task", "item", "by", "sample")
_SAYS = ("label", "state", "digest", "against_digest")


def check_order_does_not_matter(records: Iterable[Mapping[str, Any]], place: Place | str) -> None:
    """Raise an error if a later record would replace an earlier one that says something else.

    A label that failed replaces nothing, and is replaced by any other.
    """
    labels: dict[tuple[object, ...], tuple[object, ...]] = {}
    items: dict[tuple[object, ...], Item] = {}
    implied: dict[tuple[object, ...], Item] = {}
    for record in records:
        kind = kind_of(record, place)
        if kind == "item":
            item = read_item(record, place)._replace(place="")
            if items.setdefault(_key(item), item) != item:
                raise _several(f"the item {shown(item.id)}", item.query, place)
        if kind == "verdict" and record.get("type") is not None:
            item = read_item(record, place, "item")._replace(place="")
            if implied.setdefault(_key(item), item) != item:
                raise _several(f"the item {shown(item.id)}", item.query, place)
        if kind == "verdict" and record.get("state") != "failed":
            about = tuple(str(record.get(name)) for name in _ABOUT), _against(record.get("against"))
            says = tuple(record.get(name) for name in _SAYS)
            if labels.setdefault(about, says) != says:
                raise _several(f"a label of the item {shown(record.get('item'))}", record.get("query"), place)
    for key, item in implied.items():
        if key in items and item.labelled_digest not in (None, items[key].labelled_digest):
            raise _several(f"the item {shown(item.id)}", item.query, place)


def _key(item: Item) -> tuple[object, ...]:
    return item.query, item.system, item.id


def _against(given: object) -> object:
    """What a label is against: the order of passages does not matter."""
    return frozenset(map(str, given)) if isinstance(given, list | tuple) else given


def _several(what: str, query: object, place: Place | str) -> KaratError:
    what = f"{what} of query {shown(query)} was given more than once, and the last one counts, but rows have no order"
    return KaratError(what, place=place, hint=_HINT)
