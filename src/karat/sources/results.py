"""Read the results of a RAG system: one record per query, with its ground truth, retrieved documents and answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeVar

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, plural, shown
from karat.files.input_file import InputFile, is_file
from karat.sources.objects import records_of
from karat.sources.record_files import records_of_file
from karat.sources.records import (
    Record,
    field_names,
    field_value,
    records_from_list,
    reject_lists_as_text,
    rename_hint,
)
from karat.sources.result_fields import PARTS, Part, ResultFields, fields_of_results, missing_fields_error
from karat.sources.spellings import ALIASES, find_column, plain_name

__all__ = ["Results", "read_results"]

Read = TypeVar("Read")

_HINT = 'Each line is one object: {"query": "...", "truth": [...], "retrieved": [...]}.'
HINT_ON_ANSWERS = 'Each line is one object: {"query": "...", "retrieved": [...], "answer": "..."}.'
"""for results whose answers or passages are labelled"""
_QUESTIONS = {plain_name(name) for name in ("question", "question_text", "query_text")}
_DOCUMENTS = "Use a list of texts, ids or documents, or {document: number}."


@dataclass(frozen=True, eq=False)
class Results:
    """The ground truth, run, gold answers and predicted answers of a results file, each by query.

    The documents of a query are a list of texts, ids and mappings, or `{document: number}`: the number is a grade in
    the ground truth and a score in the run. `queries` lists all queries in order; `name` is used in messages.
    """

    name: str
    queries: tuple[str, ...]
    truth: dict[str, Any]
    run: dict[str, Any]
    gold_answers: dict[str, tuple[str, ...]]
    answers: dict[str, str]
    unscored: tuple[tuple[str, int, str], ...] = ()
    """fields that are present but cannot be scored: a message, the number of queries that have them, and a hint"""
    empty: tuple[str, ...] = ()
    """queries whose record has no other field"""
    notes: tuple[str, ...] = ()
    """which fields were read from usual names that are not karat's"""
    questions: Mapping[str, str] = field(default_factory=dict)
    """the texts of questions, if they are in a field beside the query"""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that can be evaluated: `documents`, `answers`, or both."""
        present = {"documents": bool(self.truth and self.run), "answers": bool(self.gold_answers and self.answers)}
        return tuple(part for part in PARTS if present[part])


def read_results(
    source: Any,
    fields: Mapping[str, str] | None = None,
    required: Collection[Part] = (),
    optional: Collection[Part] = tuple(PARTS),
    format: str | None = None,  # noqa: A002
) -> Results:
    """Read results from a file, as a path or open, or from a list of records.

    `fields` maps karat's field names to yours: `{"retrieved": "response.source_nodes"}`; a dot reads a field of an
    inner object. A query without ground truth is only in the run, and a query without retrieved
    documents only in the ground truth. The parts in `required` must be present; those in `optional` are read if they
    are. At least one part must be present. `format` is that of a file, if it is not to be detected.

    >>> results = read_results([{"query": "q1", "truth": ["a", "b"], "docs": ["b", "c"]}], {"retrieved": "docs"})
    >>> results.truth, results.run
    ({'q1': ['a', 'b']}, {'q1': ['b', 'c']})
    """
    return read_records(
        source, fields, format, lambda name, records: results_of(name, records, fields, required, optional)
    )


def read_records(
    source: Any,
    fields: Mapping[str, str] | None,
    format: str | None,  # noqa: A002
    read: Callable[[str, Iterable[tuple[str, Record]]], Read],
    hint: str = _HINT,
) -> Read:
    """What a function reads from the name of a source and its records, each with its place.

    `hint` says what records look like, for errors.
    """
    field_names(fields)  # an invalid one is an error before anything is read
    if is_file(source):
        file = InputFile.of(source)
        try:
            return read(file.name, records_of_file(file, format, hint))
        except KaratError:
            file.check()
            raise
    listed = records_of(source, "the results")
    if listed is None:
        hint = "Pass a path, an open file, records in a list or from an iterator, or a data frame."
        raise KaratError(f"results cannot be read from {shown(source)}", hint=hint)
    return read("the results", records_from_list(listed, "the results", (fields or {}).values()))


def results_of(
    name: str,
    source: Iterable[tuple[str, Record]],
    given: Mapping[str, str] | None,
    required: Collection[Part],
    optional: Collection[Part],
    *,
    labelled: bool = False,
) -> Results:
    """The results in some records, each with its place.

    If the answers are `labelled`, no part must be present, and only ground truth is of no use without the rest.
    """
    hint = HINT_ON_ANSWERS if labelled else _HINT
    records, fields, found, without_query = found_fields(name, source, given, {*required, *optional}, hint=hint)
    names, places = fields.names, found["query"]
    there = {field for field in found if found[field]} | without_query
    used = _fields_to_read(there, required, optional, labelled)
    if missing := [field for field in ("query", *used) if field not in there]:
        raise missing_fields_error(missing, fields, records[0][1], name)
    read = {field: read_field(field, found, names) for field in used if field in PARTS["documents"]}
    unscored = list(_incomplete_parts(found, names, ("truth",) if labelled else tuple(_READERS)))
    try:
        read |= {field: read_field(field, found, names) for field in used if field in PARTS["answers"]}
    except KaratError as error:
        if "answers" in required or not read:
            raise
        unscored.append((f"answers not scored: {error.where}: {error.what}", len(found["answer"]), error.hint or ""))
    truth, run, golds, answers = (read.get(field, {}) for field in _READERS)
    empty = [query for query in places if not any(query in found[field] for field in _READERS)]
    questions = questions_of(records, fields, tuple(places))
    return Results(
        name, tuple(places), truth, run, golds, answers, tuple(unscored), tuple(empty), fields.notes, questions
    )


def found_fields(
    name: str,
    source: Iterable[tuple[str, Record]],
    given: Mapping[str, str] | None,
    parts: Collection[str],
    needed_by_part: Mapping[Any, tuple[str, ...]] = PARTS,
    *,
    hint: str,
) -> tuple[list[tuple[str, Record]], ResultFields, dict[str, dict[str, Any]], set[str]]:
    """All records, the names of their fields, and their values as `_collect_fields` returns them."""
    records: list[tuple[str, Record]] = []
    fault: KaratError | None = None
    try:
        records.extend(source)
    except KaratError as error:
        fault = error  # but an earlier record may be at fault too
    fields = fields_of_results([record for _, record in records], given, parts, name, needed_by_part)
    found, without_query = _collect_fields(records, fields.names)
    if fault:
        raise fault
    if not records:
        raise KaratError("no results found", where=name, hint=hint)
    return records, fields, found, without_query


def questions_of(records: Iterable[tuple[str, Record]], fields: ResultFields, queries: Sequence[str]) -> dict[str, str]:
    """The texts of questions. Where queries are questions themselves, only a field named as one has the texts."""
    name = find_column(fields.present, "query_text", {each.partition(".")[0] for each in fields.names.values()})
    are_questions = any(len(query.split()) > 1 for query in queries)
    if name is None or (are_questions and plain_name(name) not in _QUESTIONS):
        return {}
    texts = (record.get(name) for _, record in records)
    pairs = zip(queries, texts, strict=True)  # each record has a query, and no query has two
    return {query: text for query, text in pairs if isinstance(text, str) and text.strip()}


def _collect_fields(
    records: Iterable[tuple[str, Record]], names: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The values of each field by query (of `query`, its place), and the fields of records without a query.

    If all are without one, the query probably has another name, and these fields have not.
    """
    found: dict[str, dict[str, Any]] = {field: {} for field in ALIASES}
    places = found["query"]
    without_query, fields_without_query = None, set()
    for where, record in records:
        value = field_value(record, names["query"], where)
        if value is None:
            without_query = without_query or where
            fields_without_query |= {
                field for field in _READERS if field_value(record, names[field], where) is not None
            }
        # If no record has a query, the field probably has another name: that is a different error, raised later.
        if without_query and (places or value is not None):
            what = f"the field {shown(names['query'])} is missing"
            raise KaratError(what, where=without_query, hint="Every line needs a query.")
        if value is not None:
            query = _new_query(value, where, places)
            places[query] = where
            for field in _READERS:
                if (value := field_value(record, names[field], where)) is not None:
                    found[field][query] = value
    return found, fields_without_query


def read_field(field: str, found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, Any]:
    """A field of each query. Fields that are not evaluated are not read, so they cannot be wrong."""
    name = names[field]
    if field != "answer":
        reject_lists_as_text(
            field, ((f"{found['query'][query]}, {name}", each) for query, each in found[field].items())
        )
    try:
        return {
            query: _READERS[field](value, f"{found['query'][query]}, {name}") for query, value in found[field].items()
        }
    except KaratError as error:
        example = next((value for value in found[field].values() if isinstance(value, Mapping)), {})
        inner = next((key for key, value in example.items() if isinstance(value, str)), None)
        if field in PARTS["documents"] or inner is None:
            raise
        # In many logs the answer is an object.
        hint = f"Use the text in it: {rename_hint({field: f'{name}.{inner}'})}"
        raise KaratError(error.what, where=error.where, hint=hint) from None


def _incomplete_parts(
    found: Mapping[str, Mapping[str, Any]], names: Mapping[str, str], scored: Collection[str]
) -> Iterator[tuple[str, int, str]]:
    """Fields that are to be scored, but cannot be because the other field of their part is missing."""
    for one, other in PARTS.values():
        for present, missing in ((one, other), (other, one)):
            if present in scored and found[present] and not found[missing]:
                queries = plural(len(found[present]), "query")
                message = f"{names[present]} of {queries} not scored: no line has a field {names[missing]}"
                hint = f"If the field has another name, use {rename_hint({missing: '...'})}"
                yield message, len(found[present]), hint


def _fields_to_read(
    there: Collection[str], required: Collection[Part], optional: Collection[Part], labelled: bool
) -> list[str]:
    """The fields to read: those of required parts and of complete optional ones; if none, of the most complete part.

    `there` are the fields that any record has. If the answers are labelled, no part must be read.
    """
    complete = [part for part in optional if all(field in there for field in PARTS[part])]
    most_complete = max(PARTS, key=lambda part: sum(field in there for field in PARTS[part]))
    parts = {*required, *complete} or (set() if labelled else {most_complete})
    return [field for part in PARTS if part in parts for field in PARTS[part]]


def _new_query(value: object, where: str, places: Mapping[str, str]) -> str:
    query = identifier(value, where)
    reject_lone_surrogates([query], where)
    if query in places:
        raise KaratError(
            f"query {shown(query)} was already in {places[query]}",
            where=where,
            hint="Keep one line per query, or use another field for the query: " + rename_hint({"query": "..."}),
        )
    return query


def documents_of_record(value: object, where: str) -> Any:
    """The documents of a query: a list, or a mapping of documents to numbers as it is."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        kinds = set(map(type, value.values()))
        if not all(issubclass(kind, Real) for kind in kinds):
            return [_unwrapped(value)]
        if bool in kinds:
            doc = next(doc for doc, number in value.items() if isinstance(number, bool))
            hint = "Grades and scores are numbers: write 1 and 0."
            raise KaratError(f"the grade or score of document {shown(doc)} is {value[doc]}", where=where, hint=hint)
        return value
    if isinstance(value, list | tuple):
        return [item if type(item) is str else _document(item, where, at) for at, item in enumerate(value)]
    raise KaratError(f"{shown(value)} is not a list of documents", where=where, hint=_DOCUMENTS)


def _document(item: object, where: str, at: int) -> object:
    if type(item) is dict or isinstance(item, Mapping):  # nearly all are dicts, and isinstance with Mapping is slow
        return _unwrapped(item)
    if isinstance(item, list | tuple) and len(item) == 3 and isinstance(item[0], str) and item[0]:
        return item  # most likely a span: (document, start, end)
    number = isinstance(item, Real) and (isinstance(item, bool) or not isinstance(item, Integral))
    if item is None or number or isinstance(item, bytes | list | tuple | set | frozenset):
        hint = 'A document is a text, an id, or an object such as {"id": "...", "content": "..."}.'
        raise KaratError(f"{shown(item)} is not a document", where=f"{where}[{at}]", hint=hint)
    return item


def _unwrapped(item: Record) -> Record:
    """The document inside LlamaIndex's pair of node and score, or inside LangChain's serialized object."""
    if "node" in item and isinstance(node := item["node"], Mapping):
        return {**node, "score": item["score"]} if "score" in item else node
    if "lc" in item and isinstance(document := item.get("kwargs"), Mapping):
        return document
    return item


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "truth": documents_of_record, "retrieved": documents_of_record, "gold_answers": as_gold_answers,
    "answer": as_predicted_answer,
}  # fmt: skip
