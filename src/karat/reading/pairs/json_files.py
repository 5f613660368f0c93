"""Ground truth and runs in JSON files and in JSON lines, whatever shape they have.

An object has one pair of query and document, or a list of the documents of a query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from karat.documents.fields import document_field
from karat.documents.ids import all_text, identifier
from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.columns import ReadColumns, columns_to_read, lists_to_read
from karat.reading.pairs.elasticsearch import reject_elasticsearch
from karat.reading.pairs.numeric_ids import IdKind, Note, numeric_ids_note
from karat.reading.pairs.objects import MOST_FIELDS
from karat.reading.pairs.pair_checks import PairColumns, PairRules, checked_pairs, id_text, valid_pairs
from karat.reading.pairs.tables import ByQuery, Columns, Number, PairTable, both, by_query, columns_of, is_small_file
from karat.reading.records.field_readers import documents_of_record
from karat.reading.records.json_frames import JsonFrame, frame_in_json
from karat.reading.records.records import objects_from_json_lines

_OBJECTS_AT_ONCE = 1 << 16
_FEW_OBJECTS = 5_000
_FROM_PANDAS = 'Rows need names: write objects, as pandas does with to_json(orient="records").'
Objects = Iterable[tuple[Sequence[int], Sequence[dict[str, Any]]]]
"""Objects in blocks, each with its number: that of its line, or its position in a list."""

HINT = {
    "grade": 'Ground truth in JSON is {query: {doc: grade}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "grade": 1} or {"query": "q1", "documents": ["d1", "d2"]}.',
    "score": 'A run in JSON is {query: {doc: score}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "score": 1.5} or {"query": "q1", "documents": ["d1", "d2"]}.',
}
_MOST_OF_A_QUERY = 1 << 24  # objects, which are in memory together


def read_json(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of a JSON file: a mapping by query, a list of objects, or a single object."""
    data = file.read_all()
    if not data.strip():
        raise empty_error(file.name, number)
    value = decode_json(data, file.name, HINT[number])
    if isinstance(value, dict):
        reject_elasticsearch(value, file.name)
        if frame := frame_in_json(value, file.name):
            return _objects(_listed(frame.records, file.name, number, frame), number, columns)
        if all(isinstance(each, dict | list) for each in value.values()):
            return _mapping(value, columns, file.name)
        if lists_to_read(value, number, columns) is None and find_column(list(value), "doc") is None:
            query = next(query for query, docs in value.items() if not isinstance(docs, dict | list))
            what = f"{shown(value[query])} is not a list or an object of documents"
            raise KaratError(what, place=Place(file.name, field=shown(query)), hint=HINT[number])
        value = [value]
    if not isinstance(value, list):
        raise KaratError(f"this file contains {shown(value)}", place=file.name, hint=HINT[number])
    return _objects(_listed(value, file.name, number), number, columns)


def read_json_lines(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of JSON lines: one object per query, or one per pair of query and document."""
    return _objects(json_lines(file, number), number, columns, json_lines(file.whole, number))


def json_lines(file: InputFile, number: Number) -> ObjectSource:
    """The objects of JSON lines."""

    def read(progress: Progress | None) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
        return objects_from_json_lines(file, HINT[number], progress)

    return ObjectSource(file.name, read, lambda at: Place(file.name, line=at), is_small=lambda: is_small_file(file))


def _listed(values: Sequence[Any], name: str, number: Number, frame: JsonFrame | None = None) -> ObjectSource:
    """The objects in a list, or the rows of a data frame."""
    for at, value in enumerate(values, 1):
        if not isinstance(value, dict):
            hint = _FROM_PANDAS if isinstance(value, list) else HINT[number]
            raise KaratError(f"{shown(value)} is not an object", place=Place(name, field=f"object {at}"), hint=hint)

    def read(progress: Progress | None) -> Iterator[tuple[range, Sequence[dict[str, Any]]]]:
        for start in range(0, len(values), _OBJECTS_AT_ONCE):
            objects = values[start : start + _OBJECTS_AT_ONCE]
            yield range(start + 1, start + 1 + len(objects)), objects
            if progress:
                progress(start + len(objects), len(values))

    def place(at: int) -> Place:
        return Place(name, row=at - 1) if frame else Place(name, field=f"object {at}")

    notes = (frame.note(name),) if frame else ()
    return ObjectSource(name, read, place, notes, lambda: len(values) <= _FEW_OBJECTS)


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
    """The fields to read, and whether an object has all documents of a query: the first object decides."""
    numbers, objects = next(iter(source.read(None)), ((), ()))
    if not objects:
        raise empty_error(source.name, number)
    if lists := lists_to_read(objects[0], number, columns):
        return lists, True
    return columns_to_read(list(objects[0]), number, columns, source.place(numbers[0]), "field"), False


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
        blocks = list(self.source.read(progress)) or [([], [])]
        return by_query(self._pairs(*([*chain.from_iterable(parts)] for parts in zip(*blocks, strict=True))))

    def locate(self, query: str, doc: str) -> Place:
        """The places of the first two objects with this query and document."""
        places = (
            self._place(number)
            for numbers, objects in self.source.read(None)
            for number, record in zip(numbers, objects, strict=True)
            if (id_text(record[self.columns.query]), id_text(record[self.columns.doc])) == (query, doc)
        )
        first, second = next(places, None), next(places, None)
        return both(first, second) if first and second else Place(self.source.name)

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
        names = self.columns.names
        columns = [[record.get(name) for record in objects] for name in names]
        rules = PairRules("rank" if self.columns.by_rank else self.number, HINT[self.number], finite=True)
        pairs = valid_pairs(columns, rules)
        if pairs is None:
            rows = self._rows(numbers, objects)
            pairs = checked_pairs(rows, rules, lambda row, at: self._place(numbers[row]).inside(names[at]))
        self._numeric.update(pairs.numeric)
        return pairs

    def _rows(self, numbers: Sequence[int], objects: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, Any, Any]]:
        query, doc, number = self.columns.names
        for at, record in zip(numbers, objects, strict=True):
            if record.get(doc) is None and lists_to_read(record, self.number, None):
                what = "this object has the documents of a query, but the first object has a single document"
                raise KaratError(what, place=self._place(at), hint="All objects of a file need the same fields.")
            yield record.get(query), record.get(doc), record.get(number)


def empty_error(name: str, number: Number) -> KaratError:
    """The error for a source without any document."""
    kind = "ground truth" if number == "grade" else "run"
    return KaratError(f"the {kind} is empty", place=name, hint=HINT[number])


def documents_by_query(source: ObjectSource, number: Number, fields: ReadColumns) -> ByQuery:
    """The documents of each query. A query that appears twice is an error."""
    by_query: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    notes = (*source.notes, *fields.note(source.name))
    for block, objects in source.read(None):
        for at, record in zip(block, objects, strict=True):
            query = _query(record, fields, source, at)
            documents = _documents(record, fields, number, source, at)
            if query in by_query:
                first = source.place(numbers[query])
                what = [f"query {shown(query)} was already in ", first]
                raise KaratError(what, place=source.place(at), hint="List all documents of a query together.")
            numbers[query] = at
            by_query[query] = documents
        if not all_text(each[fields.query] for each in objects):
            notes = tuple(dict.fromkeys((*notes, *numeric_ids_note(source.name, "query"))))
    return ByQuery(by_query, notes)


def records_by_query(source: Any, number: Number, by_role: Mapping[str, str] | None, name: str) -> ByQuery | None:
    """The documents of each query in a list of dictionaries; None if this is something else."""
    first = source[0] if isinstance(source, list) and source else None
    # A mapping with more keys, or with other ones, maps documents to numbers.
    if not isinstance(first, dict) or len(first) > MOST_FIELDS or not all_text(first):
        return None
    fields = lists_to_read(first, number, by_role)
    if fields is None:
        return None
    for at, record in enumerate(source):
        if not isinstance(record, dict):
            hint = "All records are dictionaries with the same fields."
            raise KaratError(f"{shown(record)} is not a record", place=Place(name, row=at), hint=hint)
    rows = ObjectSource(name, lambda _: [(range(len(source)), source)], lambda at: Place(name, row=at))
    return documents_by_query(rows, number, fields)


def _query(record: dict[str, Any], fields: ReadColumns, source: ObjectSource, at: int) -> str:
    value = record.get(fields.query)
    if type(value) is str:
        return value
    place = source.place(at)
    if value is None:
        raise KaratError(
            f"the field {shown(fields.query)} is missing", place=place, hint="Every object and every row needs a query."
        )
    return identifier(value, place)


def _documents(record: dict[str, Any], fields: ReadColumns, number: Number, source: ObjectSource, at: int) -> Any:
    value = record.get(fields.doc)
    if isinstance(value, dict) and isinstance(hits := value.get("hits"), list):
        value = hits  # the response of Elasticsearch to a search
    place = source.place(at)
    if not isinstance(value, list | dict):
        single = find_column(list(record), "doc") if value is None else None
        what = (
            "this object has a single document, but the first object has the documents of a query"
            if single
            else f"{shown(fields.doc)} is {shown(value)}, not a list of documents"
        )
        raise KaratError(what, place=place, hint="All objects of a file need the same fields; [] if there are none.")
    documents = documents_of_record(value, place)
    if isinstance(documents, list) and any(type(document) is dict for document in documents):
        documents = [_with_id(document, place) if type(document) is dict else document for document in documents]
        if number == "grade":
            return _graded(documents, place)
    return documents


def _with_id(document: dict[str, Any], place: Place | str) -> dict[str, Any]:
    """A document whose id has a usual name; a hit of Elasticsearch with the fields of its source."""
    if isinstance(source := document.get("_source"), dict) and "_id" in document:
        return {**source, "id": document["_id"], "score": document.get("_score")}
    if document_field(document, "id") is None and document_field(document, "content") is None:
        name = find_column(list(document), "doc")
        if name is None:
            listed = ", ".join(map(shown, list(document)[:20])) or "none"
            what = f"a document has neither an id nor a content; its fields are {listed}"
            raise KaratError(what, place=place, hint=HINT["score"])
        return {**document, "id": document[name]}
    return document


def _graded(documents: Sequence[Any], place: Place | str) -> Any:
    """Gold documents with a grade as `{id: grade}`; others as they are, with their scores."""
    names = [find_column(list(each), "grade") if type(each) is dict else None for each in documents]
    graded = [name is not None and name != "score" for name in names]
    if not any(graded):
        return documents
    if not all(graded):
        what = f"{graded.count(False)} of {len(graded)} gold documents have no grade"
        raise KaratError(what, place=place, hint="Give a grade to all gold documents of a query, or to none.")
    grades: dict[str, Any] = {}
    for document, name in zip(documents, names, strict=True):
        doc = identifier(document_field(document, "id"), place)
        if doc in grades:
            raise KaratError(f"document {doc} is judged twice", place=place, hint="Keep one judgment per document.")
        grades[doc] = document[name]
    return grades
