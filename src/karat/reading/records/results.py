"""Read the results of a RAG system: one record per query, with its ground truth, retrieved documents and answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Parameter, Place, plural, shown
from karat.errors.suggestions import SuggestedCall
from karat.options import Order, check_order
from karat.reading.columns.spellings import find_column, plain_name
from karat.reading.records.document_order import DocumentOrder
from karat.reading.records.field_readers import READERS, FieldReader
from karat.reading.records.joining import NOTHING_JOINED, JoinedSources, joined
from karat.reading.records.missing_fields import Lacking, hint_about_missing, wrong_names
from karat.reading.records.numbers import LogNumbers, read_numbers
from karat.reading.records.paths import Record, field_value
from karat.reading.records.records import rename_hint, without_collection
from karat.reading.records.result_fields import PARTS, ROLES, Part, ResultFields, fields_of_results
from karat.reading.records.sources import HINT, RecordSource, read_records

__all__ = ["Results", "read_results"]


HINT_ON_ANSWERS = 'Each line is one object: {"query": "...", "retrieved": [...], "answer": "..."}.'
"""for results whose answers or passages are labelled"""
_QUESTIONS = {plain_name(name) for name in ("question", "question_text", "query_text")}


@dataclass(frozen=True)
class WantedResults:
    """What is read from results. Without a part that is required, or any number, at least one part must be present."""

    required: Mapping[Part, Collection[str]] = field(default_factory=dict)
    """the parts that must be present, and the measures that need them: numbers of these names can stand in for them"""
    optional: Collection[Part] = tuple(PARTS)
    """the parts that are read if they are present"""
    numbers: Collection[str] | None = ()
    """the names of numbers; None for those that are likely to be scores"""
    order: Order | None = None
    """how documents are ordered; by default, as in their list"""
    joins: JoinedSources = NOTHING_JOINED
    """gold and answers that are in other sources"""

    @property
    def parts(self) -> set[Part]:
        """All parts that may be read."""
        return {*self.required, *self.optional}

    def joined(self, log: RecordSource, fields: Mapping[str, str] | None) -> RecordSource:
        """A log with what is in other sources. Lists of texts there are gold for the parts that may be read."""
        return joined(log, self.joins, fields, [PARTS[part][1] for part in self.parts or PARTS])

    def __post_init__(self) -> None:
        check_order(self.order)


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
    numbers: LogNumbers = field(default_factory=LogNumbers)
    """numbers that are in the records, one per query"""
    gold: str = ""
    """the name of the source of the ground truth, if it is another one"""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that can be evaluated: `documents`, `answers`, or both."""
        present = {"documents": bool(self.truth and self.run), "answers": bool(self.gold_answers and self.answers)}
        return tuple(part for part in PARTS if present[part])

    @property
    def longest_list(self) -> int:
        """The number of documents that the longest list has."""
        return max(map(len, self.run.values()), default=0)


def read_results(
    source: Any,
    fields: Mapping[str, str] | None = None,
    wanted: WantedResults = WantedResults(),
    format: str | None = None,  # noqa: A002
    records: str | None = None,
) -> Results:
    """Read results from a file, as a path or open, or from a list of records.

    `fields` maps karat's field names to yours: `{"retrieved": "response.source_nodes"}`; a dot reads a field of an
    inner object. A query without ground truth is only in the run, and a query without retrieved
    documents only in the ground truth. `format` is that of a file, if it is not to be detected, and `records` the path
    of the records inside an object.

    >>> results = read_results([{"query": "q1", "truth": ["a", "b"], "docs": ["b", "c"]}], {"retrieved": "docs"})
    >>> results.truth, results.run
    ({'q1': ['a', 'b']}, {'q1': ['b', 'c']})
    """

    def read(log: RecordSource) -> Results:
        return results_of(wanted.joined(log, fields), fields, wanted)

    return read_records(source, fields, format, read, path=records)


@without_collection()
def results_of(
    source: RecordSource,
    fields: Mapping[str, str] | None,
    wanted: WantedResults,
    *,
    labelled: bool = False,
) -> Results:
    """The results in some records, each with its place.

    If the answers are `labelled`, no part must be present, and only ground truth is of no use without the rest.
    """
    name = source.name
    records, fault = _records_before_fault(source.records)
    records += source.unanswered
    read_fields = fields_of_results([record for _, record in records], fields, wanted.parts, name)
    names = read_fields.names
    values, without_query = _collect_fields(records, names)
    if fault:
        raise fault
    if not records:
        raise KaratError("no results found", place=name, hint=HINT_ON_ANSWERS if labelled else HINT)
    places = values["query"]
    present = {field for field in values if values[field]} | without_query
    of_tool, used_names = source.shape.scores if source.shape else None, [*names.values(), *source.used]
    numbers = read_numbers(records, of_tool, wanted.numbers, used_names) if places else LogNumbers()
    required = [part for part in wanted.required if not _stands_in(numbers, part, wanted, present)]
    is_enough = labelled or bool(numbers.columns) or not wanted.parts
    used = _fields_to_read(present, required, wanted.optional, is_enough)
    is_choice = not (is_enough or required or present.issuperset(used))  # either part would do
    needed = [("query", *of_part) for of_part in (PARTS.values() if is_choice else [used])]
    if lacking := Lacking(needed, present, wrong_names(read_fields, ROLES, present)):
        raise lacking.error(read_fields, replace(source, records=records), numbers.notes)
    order = DocumentOrder(wanted.order)
    read = {field: _read_field(field, values, read_fields, order) for field in used if field in PARTS["documents"]}
    hint_about = partial(hint_about_missing, source, [record for _, record in records], read_fields, present)
    unscored = list(_incomplete_parts(values, names, ("truth",) if labelled else tuple(READERS), hint_about))
    try:
        read |= {field: _read_field(field, values, read_fields) for field in used if field in PARTS["answers"]}
    except KaratError as error:
        if "answers" in required or not read:
            raise
        message = f"answers not scored: {error.place}: {error.what}"
        unscored.append((message, len(values["answer"]), _hint_of_finding(error)))
    truth, run, golds, answers = (read.get(field, {}) for field in READERS)
    unused = source.unused_notes(read_fields, (record for _, record in records))
    return Results(
        name,
        tuple(places),
        truth,
        run,
        golds,
        answers,
        unscored=tuple(unscored),
        empty=tuple(query for query in places if not any(query in values[field] for field in READERS)),
        notes=(*source.notes, *read_fields.notes, *unused, *numbers.notes, *order.notes(name)),
        numbers=numbers,
        gold=source.gold,
        questions=_questions(records, read_fields, tuple(places)),
    )


def _records_before_fault(
    source: Iterable[tuple[Place, Record]],
) -> tuple[list[tuple[Place, Record]], KaratError | None]:
    """The records of a source, and what is wrong with the next one, if anything: an earlier one may be wrong too."""
    records: list[tuple[Place, Record]] = []
    try:
        records.extend(source)
    except KaratError as error:
        return records, error
    return records, None


def question_name(fields: ResultFields, queries: Iterable[str]) -> str | None:
    """The field with the texts of questions. Where queries are questions themselves, only a field named as one."""
    name = find_column(fields.present, "query_text", {each.partition(".")[0] for each in fields.names.values()})
    if name is None or plain_name(name) in _QUESTIONS:
        return name
    return None if any(len(query.split()) > 1 for query in queries) else name


def question_text(record: Record, name: str | None) -> str | None:
    """The text of a question, if a record has one."""
    text = None if name is None else record.get(name)
    return text if isinstance(text, str) and text.strip() else None


def _questions(records: Iterable[tuple[Place, Record]], fields: ResultFields, queries: Sequence[str]) -> dict[str, str]:
    """The texts of questions."""
    name = question_name(fields, queries)
    if name is None:
        return {}
    pairs = zip(queries, records, strict=True)  # each record has a query, and no query has two
    return {query: text for query, (_, record) in pairs if (text := question_text(record, name)) is not None}


def _collect_fields(
    records: Iterable[tuple[Place, Record]], names: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The values of each field by query (of `query`, its place), and the fields of records without a query.

    If all are without one, the query probably has another name, and these fields have not.
    """
    collected: dict[str, dict[str, Any]] = {field: {} for field in ROLES}
    without_query: set[str] = set()
    for _, _, query, values in fields_by_query(records, names, collected["query"]):
        if query is None:
            without_query |= values.keys()
        else:
            for field, value in values.items():
                collected[field][query] = value
    return collected, without_query


def fields_by_query(
    records: Iterable[tuple[Place, Record]], names: Mapping[str, str], places: dict[str, Place]
) -> Iterator[tuple[Place, Record, str | None, dict[str, Any]]]:
    """The place of each record, the record, its query and the values of its fields; all have a query, or none has one.

    `places` receives those of the queries. If no record has a query, the field probably has another name: that is a
    different error, for whoever reads all of them.
    """
    without_query: Place | None = None
    for place, record in records:
        value = field_value(record, names["query"], place)
        if value is None:
            without_query = without_query or place
        if without_query and (places or value is not None):
            what = f"the field {shown(names['query'])} is missing"
            raise KaratError(what, place=without_query, hint="Every line needs a query.")
        query = None if value is None else _add_query(value, place, places)
        yield place, record, query, _values(record, names, place)


def _values(record: Record, names: Mapping[str, str], place: Place) -> dict[str, Any]:
    values = {field: field_value(record, names[field], place) for field in READERS}
    return {field: value for field, value in values.items() if value is not None}


def _hint_of_finding(error: KaratError) -> str:
    """The hint of an error in a finding, which is a text that is read in Python and on the command line."""
    calls = [part.parameters for part in error.hint_parts if isinstance(part, SuggestedCall)]
    return f"Use the text in it: {rename_hint(calls[0]['fields'])}" if calls else error.hint or ""


def _read_field(
    field: str, values: Mapping[str, Mapping[str, Any]], fields: ResultFields, order: DocumentOrder | None = None
) -> dict[str, Any]:
    """A field of each query. Fields that are not evaluated are not read, so they cannot be wrong."""
    reader, places = FieldReader(field, fields.names[field], fields.given), values["query"]
    read = {query: reader.read(value, places[query]) for query, value in values[field].items()}
    reader.check()
    if order is None or field != "retrieved":
        return read
    return {query: order.of(query, documents, places[query]) for query, documents in read.items()}


def _stands_in(numbers: LogNumbers, part: Part, wanted: WantedResults, present: Collection[str]) -> bool:
    """Whether numbers stand in for a part that is missing: all measures that need it have the name of a number."""
    is_complete = all(field in present for field in PARTS[part])
    return not is_complete and all(name in numbers.columns or name in numbers.faults for name in wanted.required[part])


def _incomplete_parts(
    values: Mapping[str, Mapping[str, Any]],
    names: Mapping[str, str],
    scored: Collection[str],
    hint_about: Callable[[str], str],
) -> Iterator[tuple[str, int, str]]:
    """Fields that are to be scored, but cannot be because the other field of their part is missing."""
    for one, other in PARTS.values():
        for present, missing in ((one, other), (other, one)):
            if present in scored and values[present] and not values[missing]:
                queries = plural(len(values[present]), "query")
                message = f"{names[present]} of {queries} not scored: no line has a field {names[missing]}"
                yield message, len(values[present]), hint_about(missing)


def _fields_to_read(
    present: Collection[str], required: Collection[Part], optional: Collection[Part], is_enough: bool
) -> list[str]:
    """The fields to read: those of required parts and of complete optional ones; if none, of the most complete part.

    `present` are the fields that any record has. If the rest `is_enough`, no part must be read.
    """
    complete = [part for part in optional if all(field in present for field in PARTS[part])]
    most_complete = max(PARTS, key=lambda part: sum(field in present for field in PARTS[part]))
    parts = {*required, *complete} or (set() if is_enough else {most_complete})
    return [field for part in PARTS if part in parts for field in PARTS[part]]


def _add_query(value: object, place: Place, places: dict[str, Place]) -> str:
    query = identifier(value, place)
    reject_lone_surrogates([query], place)
    if query in places:
        raise KaratError(
            [f"query {shown(query)} was already in ", places[query]],
            place=place,
            hint=[
                "Keep one line per query, or use another field for the query: ",
                Parameter("fields", {"query": "NAME"}),
                ".",
            ],
        )
    places[query] = place
    return query
