"""Ground truth and runs as JSON objects with one object per pair of query and document."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.errors import KaratError, Place, enumeration, shown
from karat.files.input_file import Progress
from karat.judged import Floats
from karat.sources.columns import ReadColumns, is_rank, lists_to_read, rank_error
from karat.sources.numeric_ids import IdKind, numeric_ids_note
from karat.sources.tables import Columns, Number, by_query, is_arrow_loaded

Objects = Iterable[tuple[Sequence[int], Sequence[dict[str, Any]]]]
"""Objects in blocks, each with its number: that of its line, or its position in a list."""

HINT = {
    "grade": 'Ground truth in JSON is {query: {doc: grade}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "grade": 1} or {"query": "q1", "documents": ["d1", "d2"]}.',
    "score": 'A run in JSON is {query: {doc: score}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "score": 1.5} or {"query": "q1", "documents": ["d1", "d2"]}.',
}
_SMALL = 5_000  # objects, which Python reads in less time than it takes to load Arrow
_MOST_OF_A_QUERY = 1 << 24  # objects, which are in memory together
_MAX_LISTED = 20  # names in a message


@dataclass(frozen=True)
class ObjectSource:
    """JSON objects that can be read more than once; `place` names an object by its number."""

    name: str
    read: Callable[[Progress | None], Objects]
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ObjectTable:
    """A table with an object per row."""

    source: ObjectSource
    number: Number
    columns: ReadColumns
    _numeric: set[IdKind] = field(default_factory=set, repr=False, compare=False)
    """the ids that are numbers, as far as the objects were read"""

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def by_rank(self) -> bool:
        return self.columns.by_rank

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.source.notes, *self.columns.note(self.name), *numeric_ids_note(self.name, *self._numeric))

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of objects."""
        blocks = self.source.read(progress)
        for numbers, objects in self._whole_queries(blocks) if whole_queries else blocks:
            yield partial(self._columns, numbers, objects)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query, if there are few objects and Arrow is not loaded."""
        rows: list[tuple[str, str, float]] = []
        for numbers, objects in () if is_arrow_loaded() else self.source.read(progress):
            if len(rows) + len(objects) > _SMALL:
                return None
            queries, docs, values = self._values(numbers, objects)
            rows += zip(queries, docs, values.tolist(), strict=True)
        return by_query(rows) or None

    def locate(self, query: str, doc: str) -> str:
        """The places of the first two objects with this query and document."""
        found = (
            number
            for numbers, objects in self.source.read(None)
            for number, each in zip(numbers, objects, strict=True)
            if str(each.get(self.columns.query)) == query and str(each.get(self.columns.doc)) == doc
        )
        return " and ".join(map(self.source.place, islice(found, 2))) or self.name

    def empty_error(self) -> KaratError:
        """The error for a source without objects."""
        return empty_error(self.name, self.number)

    def _whole_queries(self, blocks: Objects) -> Objects:
        """The same objects in blocks that end where the query changes."""
        kept_numbers: list[int] = []
        kept: list[dict[str, Any]] = []
        name = self.columns.query
        for numbers, objects in blocks:
            last = objects[-1].get(name)
            start = len(objects)
            while start and objects[start - 1].get(name) == last:
                start -= 1
            if kept and (start or kept[-1].get(name) != last):
                yield [*kept_numbers, *numbers[:start]], [*kept, *objects[:start]]
                kept_numbers, kept = [], []
            elif start:
                yield numbers[:start], objects[:start]
            kept_numbers += numbers[start:]
            kept += objects[start:]
            if len(kept) > _MOST_OF_A_QUERY:
                what = f"a query has more than {_MOST_OF_A_QUERY:,} objects, which are read into memory together"
                raise KaratError(what, place=self.source.place(kept_numbers[0]), hint=f"Is {shown(name)} the query?")
        if kept:
            yield kept_numbers, kept

    def _columns(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> Columns:
        from karat.sources.arrays import text_column

        queries, docs, values = self._values(numbers, objects)
        return Columns(text_column(queries), text_column(docs), values)

    def _values(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> tuple[list[str], list[str], Floats]:
        """The queries, documents and numbers of some objects. An object that is invalid is an error."""
        names = self.columns
        columns: list[list[Any]] = [
            [each.get(name) for each in objects] for name in (names.query, names.doc, names.number)
        ]
        values = columns[2]
        queries, docs = map(_as_texts, columns[:2])
        if queries is None or docs is None or not set(map(type, values)) <= {int, float}:
            rows = [self._row(each, self.source.place(at)) for at, each in zip(numbers, objects, strict=True)]
            queries, docs, values = map(list, zip(*rows, strict=True))
        if queries is not columns[0] and queries != columns[0]:
            self._numeric.add("query")
        if docs is not columns[1] and docs != columns[1]:
            self._numeric.add("document")
        try:
            found = np.array(values, np.float64)
        except OverflowError:
            found = np.array([_as_float(value) for value in values])
        bad = ~np.isfinite(found)  # in JSON, an infinite number is one that is beyond doubles
        if bad.any():
            at = int(np.argmax(bad))
            raise self._not_a_number(values[at], self.source.place(numbers[at]))
        for ids in (queries, docs):
            if "" in ids:
                raise KaratError("an id is empty", place=self.source.place(numbers[ids.index("")]))
            reject_lone_surrogates(ids, self.name)
        if names.by_rank and not all(map(is_rank, values)):
            at = [is_rank(value) for value in values].index(False)
            raise rank_error(shown(values[at]), self.source.place(numbers[at]))
        return queries, docs, -found if names.by_rank else found

    def _row(self, each: dict[str, Any], place: Place | str) -> tuple[str, str, float]:
        """The query, document and number of an object that may be invalid."""
        names = self.columns
        if missing := [name for name in (names.query, names.doc, names.number) if each.get(name) is None]:
            if lists_to_read(each, self.number, None):
                what = "this object has the documents of a query, but the first object has a single document"
            elif missing[0] in each:
                what = f"{shown(missing[0])} is null"
            else:
                listed = ", ".join(map(shown, list(each)[:_MAX_LISTED])) or "none"
                what = f"no {enumeration([*map(shown, missing)], 'and')}; the fields are {listed}"
            raise KaratError(what, place=place, hint="All objects of a file need the same fields, with values.")
        value = each[names.number]
        try:
            number = _as_float(value) if type(value) in (int, float, str) else math.nan
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise self._not_a_number(value, place)
        return identifier(each[names.query], place), identifier(each[names.doc], place), number

    def _not_a_number(self, value: object, place: Place | str) -> KaratError:
        noun = "rank" if self.columns.by_rank else self.number
        is_infinite = isinstance(value, float) and math.isinf(value)
        what = f"{noun} {shown(value)} is not a {'finite ' if is_infinite else ''}number"
        return KaratError(what, place=place, hint=HINT[self.number])


def empty_error(name: str, number: Number) -> KaratError:
    """The error for a source without any document."""
    kind = "ground truth" if number == "grade" else "run"
    return KaratError(f"the {kind} is empty", place=name, hint=HINT[number])


def _as_texts(ids: list[Any]) -> list[str] | None:
    """Ids as texts; None if any is neither text nor a whole number."""
    if all_text(ids):
        return ids
    return list(map(str, ids)) if set(map(type, ids)) <= {str, int} else None


def _as_float(value: float | str) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
