"""Ground truth and runs in JSON files and in JSON lines, whatever shape they have.

An object has one pair of query and document, or a list of the documents of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import JsonFault, ToleratesFault, decode_json, decode_with_faults
from karat.reading.bytes.rejected_rows import reject, reject_all
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.columns import ReadColumns, columns_to_read, lists_to_read
from karat.reading.pairs.elasticsearch import reject_elasticsearch
from karat.reading.pairs.json_faults import in_number_of, reject_in_mapping, tolerates_all
from karat.reading.pairs.json_objects import HINT, Objects, ObjectSource, documents_by_query, empty_error
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, id_text, valid_pairs
from karat.reading.pairs.places import Pair, PlacedPair
from karat.reading.pairs.tables import ByQuery, Columns, Number, PairTable, by_query, columns_of, is_small_file
from karat.reading.records.json_frames import JsonFrame, frame_in_json
from karat.reading.records.records import objects_from_json_lines

_OBJECTS_AT_ONCE = 1 << 16
_FEW_OBJECTS = 5_000
_FROM_PANDAS = 'Rows need names: write objects, as pandas does with to_json(orient="records").'
_FIRST_OBJECTS = 100
_MOST_OF_A_QUERY = 1 << 24  # objects, which are in memory together


def read_json(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of a JSON file: a mapping by query, a list of objects, or a single object."""
    data = file.read_all()
    if not data.strip():
        raise empty_error(file.name, number)
    value, faults = _decoded(data, file, HINT[number])
    if isinstance(value, dict):
        reject_elasticsearch(value, file.name)
        if frame := frame_in_json(value, file.name):
            if faults:
                raise faults[0].error
            return _objects(_listed(frame.records, file, number, frame), number, columns)
        if _is_mapping(value, number, columns):
            if file.rejected is not None:
                reject_in_mapping(value, faults, number, file.name, file.rejected)
            return _mapping(_without_wrong_queries(value, file, number), columns, file.name)
        value, faults = [value], [fault._replace(path=(0, *fault.path)) for fault in faults]
    if not isinstance(value, list):
        raise KaratError(f"this file contains {shown(value)}", place=file.name, hint=HINT[number])
    return _objects(_without_faults(_listed(value, file, number), faults), number, columns)


def _decoded(data: bytes, file: InputFile, hint: str) -> tuple[Any, list[JsonFault]]:
    """The value in a JSON file, and what is wrong in it, which is an error unless wrong rows are left out."""
    if file.rejected is None:
        return decode_json(data, file.name, hint), []
    return decode_with_faults(data, file.name, hint)


def _is_mapping(value: Mapping[str, Any], number: Number, columns: Mapping[str, str] | None) -> bool:
    """Whether an object maps queries to their documents; otherwise it has fields."""
    if all(isinstance(each, dict | list) for each in value.values()):
        return True
    return lists_to_read(value, number, columns) is None and find_column(list(value), "doc") is None


def _without_wrong_queries(value: Mapping[str, Any], file: InputFile, number: Number) -> dict[str, Any]:
    """A mapping of queries to their documents, some of which are neither a list nor an object: an error each."""
    errors = (
        KaratError(
            f"{shown(docs)} is not a list or an object of documents",
            place=Place(file.name, field=shown(query)),
            hint=HINT[number],
        )
        for query, docs in value.items()
        if not isinstance(docs, dict | list)
    )
    reject_all(errors, len(value), file.rejected)
    return {query: docs for query, docs in value.items() if isinstance(docs, dict | list)}


def read_json_lines(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of JSON lines: one object per query, or one per pair of query and document."""
    return _objects(json_lines(file, number), number, columns, json_lines(file.whole, number))


def json_lines(file: InputFile, number: Number) -> ObjectSource:
    """The objects of JSON lines."""

    def read(progress: Progress | None, tolerates: ToleratesFault) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
        return objects_from_json_lines(file, HINT[number], progress, tolerates=tolerates)

    def place(at: int) -> Place:
        return Place(file.name, line=at)

    return ObjectSource(file.name, read, place, is_small=lambda: is_small_file(file), rejected=file.rejected)


def _listed(values: Sequence[Any], file: InputFile, number: Number, frame: JsonFrame | None = None) -> ObjectSource:
    """The objects in a list, or the rows of a data frame."""
    errors = (
        KaratError(
            f"{shown(value)} is not an object",
            place=Place(file.name, field=f"object {at}"),
            hint=_FROM_PANDAS if isinstance(value, list) else HINT[number],
        )
        for at, value in enumerate(values, 1)
        if not isinstance(value, dict)
    )
    reject_all(errors, len(values), file.rejected)
    numbers: Sequence[int] = range(1, len(values) + 1)
    if file.rejected is not None:
        numbers = [at for at, value in enumerate(values, 1) if isinstance(value, dict)]
        values = [values[at - 1] for at in numbers]

    def read(progress: Progress | None, _: ToleratesFault) -> Iterator[tuple[Sequence[int], Sequence[dict[str, Any]]]]:
        for start in range(0, len(values), _OBJECTS_AT_ONCE):
            stop = min(start + _OBJECTS_AT_ONCE, len(values))
            yield numbers[start:stop], values[start:stop]
            if progress:
                progress(stop, len(values))

    def place(at: int) -> Place:
        return Place(file.name, row=at - 1) if frame else Place(file.name, field=f"object {at}")

    notes = (frame.note(file.name),) if frame else ()
    return ObjectSource(file.name, read, place, notes, lambda: len(values) <= _FEW_OBJECTS, file.rejected)


def _without_faults(source: ObjectSource, faults: Sequence[JsonFault]) -> ObjectSource:
    """The objects of a list without those that have faults, unless these are tolerated."""
    if not faults:
        return source
    wrong: dict[int, list[JsonFault]] = {}
    for fault in faults:
        at, *path = fault.path
        wrong.setdefault(int(at) + 1, []).append(fault._replace(path=tuple(path)))

    def is_readable(at: int, tolerates: ToleratesFault) -> bool:
        refused = next((fault for fault in wrong.get(at, ()) if not tolerates(fault)), None)
        if refused is not None:
            reject(refused.error.but(place=source.place(at)), source.rejected)
        return refused is None

    def read(progress: Progress | None, tolerates: ToleratesFault) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
        for numbers, objects in source.read(progress, tolerates):
            pairs = zip(numbers, objects, strict=True)
            kept = [(at, record) for at, record in pairs if is_readable(at, tolerates)]
            if kept:
                yield [at for at, _ in kept], [record for _, record in kept]

    return replace(source, read=read)


def _mapping(value: Mapping[str, Any], columns: Mapping[str, str] | None, name: str) -> ByQuery:
    if columns:
        what = "a mapping of queries to documents has no names of columns"
        raise KaratError(what, place=name, hint="Leave them out.")
    return ByQuery(value, finite=True)


def _objects(
    source: ObjectSource, number: Number, columns: Mapping[str, str] | None, whole: ObjectSource | None = None
) -> PairTable | ByQuery:
    """The documents in objects; their fields are those of the `whole` source, if this is a part of it."""
    fields, has_lists = fields_of_objects(whole or source, number, columns)
    if has_lists:
        return replace(documents_by_query(source, number, fields), finite=True)
    return ObjectTable(source, number, fields)


def fields_of_objects(
    source: ObjectSource, number: Number, columns: Mapping[str, str] | None
) -> tuple[ReadColumns, bool]:
    """The fields to read, and whether an object has all documents of a query: the first object decides.

    If objects that are wrong are left out, it is the first one that has these fields.
    """
    first_error: KaratError | None = None
    pairs = (
        pair for numbers, objects in source.read(None, tolerates_all) for pair in zip(numbers, objects, strict=True)
    )
    for at, record in islice(pairs, _FIRST_OBJECTS):
        try:
            if lists := lists_to_read(record, number, columns):
                return lists, True
            return columns_to_read(list(record), number, columns, source.place(at), "field"), False
        except KaratError as error:
            first_error = first_error or error
            if source.rejected is None:
                break
    raise first_error or empty_error(source.name, number)


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
        blocks = self._read(progress)
        for numbers, objects in self._whole_queries(blocks) if whole_queries else blocks:
            yield partial(self._columns, numbers, objects)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query, if there are few objects."""
        if not self.source.is_small():
            return None
        blocks = list(self._read(progress)) or [([], [])]
        return by_query(self._pairs(*([*chain.from_iterable(parts)] for parts in zip(*blocks, strict=True))))

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places of the objects with these queries and documents."""
        for numbers, objects in self._read(None):
            for number, record in zip(numbers, objects, strict=True):
                if self._is_rejected(number):
                    continue
                pair = id_text(record[self.columns.query]), id_text(record[self.columns.doc])
                if pair in pairs:
                    yield pair, self._place(number)

    def empty_error(self) -> KaratError:
        """The error for a source without objects."""
        return empty_error(self.name, self.number)

    def _read(self, progress: Progress | None) -> Objects:
        return self.source.read(progress, in_number_of(self.columns))

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

    def _is_rejected(self, at: int) -> bool:
        rejected, place = self.source.rejected, self._place(at)
        return rejected is not None and any(
            part in rejected for part in (place, *map(place.inside, self.columns.names))
        )

    def _columns(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> Columns:
        return columns_of(self._pairs(numbers, objects))

    def _pairs(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> PairColumns:
        """The pairs of some objects. The first object that is wrong is an error, unless such objects are collected."""
        names = self.columns.names
        columns = [[record.get(name) for record in objects] for name in names]
        rules = PairRules("rank" if self.columns.by_rank else self.number, HINT[self.number], finite=True)
        pairs = valid_pairs(columns, rules)
        if pairs is None:
            read: list[int] = []
            rows = self._rows(numbers, objects, read)
            pairs = checked_pairs(
                rows, rules, lambda row, at: self._place(read[row]).inside(names[at]), self.source.rejected
            )
        self._numeric.update(pairs.numeric)
        return pairs

    def _rows(
        self, numbers: Sequence[int], objects: Sequence[dict[str, Any]], read: list[int]
    ) -> Iterator[tuple[Any, Any, Any]]:
        """The values of each object, whose number is added to those that were `read`."""
        query, doc, number = self.columns.names
        for at, record in zip(numbers, objects, strict=True):
            if record.get(doc) is None and lists_to_read(record, self.number, None):
                what = "this object has the documents of a query, but the first object has a single document"
                hint = "All objects of a file need the same fields."
                reject(KaratError(what, place=self._place(at), hint=hint), self.source.rejected)
                continue
            read.append(at)
            yield record.get(query), record.get(doc), record.get(number)
