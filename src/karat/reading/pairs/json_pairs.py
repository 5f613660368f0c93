"""Ground truth and runs as JSON objects with one object per pair of query and document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import Progress
from karat.reading.pairs.columns import ReadColumns, lists_to_read
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, id_text, valid_pairs
from karat.reading.pairs.tables import Columns, Number, both, by_query, columns_of

Objects = Iterable[tuple[Sequence[int], Sequence[dict[str, Any]]]]
"""Objects in blocks, each with its number: that of its line, or its position in a list."""

HINT = {
    "grade": 'Ground truth in JSON is {query: {doc: grade}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "grade": 1} or {"query": "q1", "documents": ["d1", "d2"]}.',
    "score": 'A run in JSON is {query: {doc: score}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "score": 1.5} or {"query": "q1", "documents": ["d1", "d2"]}.',
}
_MOST_OF_A_QUERY = 1 << 24  # objects, which are in memory together


@dataclass(frozen=True)
class ObjectSource:
    """JSON objects that can be read more than once; `place` names an object by its number."""

    name: str
    read: Callable[[Progress | None], Objects]
    place: Callable[[int], Place | str]
    notes: tuple[Note, ...] = ()
    is_small: Callable[[], bool] = lambda: False
    """whether Python reads the objects in less time than it takes to load Arrow"""


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
    def notes(self) -> tuple[Note, ...]:
        return (*self.source.notes, *self.columns.note(self.name), *numeric_ids_note(self.name, *self._numeric))

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of objects."""
        blocks = self.source.read(progress)
        for numbers, objects in self._whole_queries(blocks) if whole_queries else blocks:
            yield partial(self._columns, numbers, objects)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query, if there are few objects."""
        if not self.source.is_small():
            return None
        blocks = list(self.source.read(progress))
        return by_query(self._pairs(*([*chain.from_iterable(parts)] for parts in zip(*blocks, strict=True))))

    def locate(self, query: str, doc: str) -> Place:
        """The places of the first two objects with this query and document."""
        found = (
            number
            for numbers, objects in self.source.read(None)
            for number, each in zip(numbers, objects, strict=True)
            if (id_text(each[self.columns.query]), id_text(each[self.columns.doc])) == (query, doc)
        )
        return both(*map(self._place, islice(found, 2)))

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
                raise KaratError(what, place=self._place(kept_numbers[0]), hint=f"Is {shown(name)} the query?")
        if kept:
            yield kept_numbers, kept

    def _place(self, at: int) -> Place:
        place = self.source.place(at)
        return Place(place) if isinstance(place, str) else place

    def _columns(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> Columns:
        return columns_of(self._pairs(numbers, objects))

    def _pairs(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> PairColumns:
        """The pairs of some objects. The first object that is wrong is an error."""
        names = self.columns
        columns = [[each.get(name) for each in objects] for name in (names.query, names.doc, names.number)]
        rules = PairRules("rank" if names.by_rank else self.number, HINT[self.number], finite=True)
        pairs = valid_pairs(columns, rules)
        if pairs is None:
            rows = self._rows(numbers, objects)
            pairs = checked_pairs(rows, rules, lambda row: self._place(numbers[row]))
        self._numeric.update(pairs.numeric)
        return pairs

    def _rows(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, Any, Any]]:
        names = self.columns
        for at, each in zip(numbers, objects, strict=True):
            if each.get(names.doc) is None and lists_to_read(each, self.number, None):
                what = "this object has the documents of a query, but the first object has a single document"
                raise KaratError(what, place=self._place(at), hint="All objects of a file need the same fields.")
            yield each.get(names.query), each.get(names.doc), each.get(names.number)


def empty_error(name: str, number: Number) -> KaratError:
    """The error for a source without any document."""
    kind = "ground truth" if number == "grade" else "run"
    return KaratError(f"the {kind} is empty", place=name, hint=HINT[number])
