"""Objects of JSON, and rows of tables that are like them, that have a list of the documents of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karat.documents.fields import document_field
from karat.documents.ids import all_text, identifier
from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import Progress
from karat.reading.bytes.json_decoding import ToleratesFault
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.columns import ReadColumns, lists_to_read
from karat.reading.pairs.json_faults import in_documents_of
from karat.reading.pairs.numeric_ids import Note, numeric_ids_note
from karat.reading.pairs.objects import MOST_FIELDS
from karat.reading.pairs.pair_checks import NoPairsError, judged_twice_error
from karat.reading.pairs.tables import ByQuery, Number
from karat.reading.records.field_readers import documents_of_record

Objects = Iterable[tuple[Sequence[int], Sequence[dict[str, Any]]]]
"""Objects in blocks, each with its number: that of its line, or its position in a list."""

HINT = {
    "grade": 'Ground truth in JSON is {query: {doc: grade}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "grade": 1} or {"query": "q1", "documents": ["d1", "d2"]}.',
    "score": 'A run in JSON is {query: {doc: score}}, {query: [doc, ...]}, or objects such as {"query": "q1",'
    ' "doc": "d1", "score": 1.5} or {"query": "q1", "documents": ["d1", "d2"]}.',
}
HINT["rank"] = HINT["score"]


@dataclass(frozen=True)
class ObjectSource:
    """JSON objects that can be read more than once; `place` names an object by its number.

    `read` leaves out objects with faults, unless these are tolerated.
    """

    name: str
    read: Callable[[Progress | None, ToleratesFault], Objects]
    place: Callable[[int], Place | str]
    notes: tuple[Note, ...] = ()
    is_small: Callable[[], bool] = lambda: False
    """whether Python reads the objects in less time than it takes to load Arrow"""
    rejected: RejectedRows | None = None
    """collects the errors of objects that are wrong, and are left out; None if the first of them is an error"""


def empty_error(name: str, number: Number) -> KaratError:
    """The error for a source without any document."""
    kind = "ground truth" if number == "grade" else "run"
    return NoPairsError(f"the {kind} is empty", place=name, hint=HINT[number])


def documents_by_query(source: ObjectSource, number: Number, fields: ReadColumns) -> ByQuery:
    """The documents of each query. An object that is wrong, such as one whose query was in another, is an error."""
    by_query: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    notes = (*source.notes, *fields.note(source.name))
    for block, objects in source.read(None, in_documents_of(fields)):
        for at, record in zip(block, objects, strict=True):
            try:
                query = _query(record, fields, source, at)
                documents = _documents(record, fields, number, source, at)
                if query in by_query:
                    first = source.place(numbers[query])
                    what = [f"query {shown(query)} was already in ", first]
                    raise KaratError(what, place=source.place(at), hint="List all documents of a query together.")
            except KaratError as error:
                reject(error, source.rejected)
                continue
            numbers[query] = at
            by_query[query] = documents
        if not all_text(value for each in objects if (value := each.get(fields.query)) is not None):
            notes = tuple(dict.fromkeys((*notes, *numeric_ids_note(source.name, "query"))))
    return ByQuery(by_query, notes)


def records_by_query(
    source: Any, number: Number, by_role: Mapping[str, str] | None, name: str, rejected: RejectedRows | None
) -> ByQuery | None:
    """The documents of each query in a list of dictionaries; None if this is something else."""
    first = source[0] if isinstance(source, list) and source else None
    # A mapping with more keys, or with other ones, maps documents to numbers.
    if not isinstance(first, dict) or len(first) > MOST_FIELDS or not all_text(first):
        return None
    fields = lists_to_read(first, number, by_role)
    if fields is None:
        return None
    numbers, records = [], []
    for at, record in enumerate(source):
        if isinstance(record, dict):
            numbers.append(at)
            records.append(record)
        else:
            hint = "All records are dictionaries with the same fields."
            reject(KaratError(f"{shown(record)} is not a record", place=Place(name, row=at), hint=hint), rejected)
    rows = ObjectSource(name, lambda *_: [(numbers, records)], lambda at: Place(name, row=at), rejected=rejected)
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
            raise judged_twice_error(doc, (grades[doc], document[name]), place)
        grades[doc] = document[name]
    return grades
