"""Read the results of a RAG system: one record per query, with its ground truth, retrieved documents and answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from karat.errors import KaratError, MessagePart, Parameter, Place, plural
from karat.errors.suggestions import SuggestedCall
from karat.options import Order, check_order
from karat.reading.columns.spellings import find_column, plain_name
from karat.reading.records.document_order import DocumentOrder
from karat.reading.records.field_readers import READERS, FieldReader
from karat.reading.records.joining import NOTHING_JOINED, JoinedSources, joined
from karat.reading.records.missing_fields import EXAMPLES, Lacking, hint_about_missing, wrong_names
from karat.reading.records.numbers import LogNumbers, read_numbers
from karat.reading.records.paths import Record
from karat.reading.records.query_fields import FieldsByQuery, PresentFields
from karat.reading.records.records import rename_options, without_collection
from karat.reading.records.result_fields import PARTS, ROLES, Part, ResultFields, fields_of_results
from karat.reading.records.sources import HINT, RecordSource, read_records
from karat.reading.shapes.scores import ScorePlaces

__all__ = ["Results", "read_results"]


HINT_ON_ANSWERS = 'Each line is one object: {"query": "...", "retrieved": [...], "answer": "..."}.'
"""for results whose answers or passages are labelled"""
_QUESTIONS = {plain_name(name) for name in ("question", "question_text", "query_text")}


@dataclass(frozen=True)
class WantedResults:
    """What is read from results. Without a part that is required, or any number, at least one part must be present."""

    required: Mapping[Part, Collection[str]] = dataclasses.field(default_factory=dict)
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
    questions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """the texts of questions, if they are in a field beside the query"""
    numbers: LogNumbers = dataclasses.field(default_factory=LogNumbers)
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
    records, fault = records_before_fault(source.records)
    records += source.unanswered
    read_fields = fields_of_results([record for _, record in records], fields, wanted.parts, name)
    collected = FieldsByQuery.of(records, read_fields.names)
    if fault:
        raise fault
    if not records:
        raise KaratError("no results found", place=name, hint=HINT_ON_ANSWERS if labelled else HINT)
    values, places, present = collected.values, collected.values["query"], collected.present
    of_tool, used_names = scores_of_source(source, read_fields)
    numbers = read_numbers(records, of_tool, wanted.numbers, used_names) if places else LogNumbers()
    source = replace(source, records=records)
    chosen = fields_to_read(source, read_fields, wanted, present, numbers, labelled=labelled)
    order = DocumentOrder(wanted.order)
    read: dict[str, dict[str, Any]] = {}
    for field in chosen.of_part("documents"):
        reader, read[field] = read_field(field, values, read_fields)
        reader.check()
        if field == "retrieved":
            read[field] = {query: order.of(query, docs, places[query]) for query, docs in read[field].items()}
    unscored = [*incomplete_parts(source, read_fields, present, ("truth",) if labelled else tuple(READERS))]
    try:
        for field in chosen.of_part("answers"):
            reader, of_field = read_field(field, values, read_fields)
            reader.check()
            read[field] = of_field
    except KaratError as error:
        if not chosen.may_lack_answers:
            raise
        read = {field: of_field for field, of_field in read.items() if field in PARTS["documents"]}
        unscored.append(answers_not_scored(error, len(values["answer"])))
    truth, run, golds, answers = (read.get(field, {}) for field in READERS)
    return Results(
        name,
        tuple(places),
        truth,
        run,
        golds,
        answers,
        unscored=tuple(unscored),
        empty=collected.empty,
        notes=notes_of_results(source, read_fields, numbers, order),
        numbers=numbers,
        gold=source.gold,
        questions=_questions(records, read_fields, tuple(places)),
    )


def records_before_fault(
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


class FieldsToRead(NamedTuple):
    """The fields that are read, and whether the others are evaluated if the answers cannot be read."""

    fields: tuple[str, ...]
    may_lack_answers: bool

    def of_part(self, part: Part) -> list[str]:
        """The fields of one part."""
        return [field for field in self.fields if field in PARTS[part]]


def fields_to_read(
    source: RecordSource,
    fields: ResultFields,
    wanted: WantedResults,
    present: PresentFields,
    numbers: LogNumbers,
    *,
    labelled: bool = False,
) -> FieldsToRead:
    """Which fields are read, of those that the records have; an error if one is missing that is needed."""
    there = present.names
    required = [part for part in wanted.required if not _stands_in(numbers, part, wanted, there)]
    is_enough = labelled or bool(numbers.columns) or not wanted.parts
    used = _fields_to_read(there, required, wanted.optional, is_enough)
    is_choice = not (is_enough or required or there.issuperset(used))  # either part would do
    needed = [("query", *of_part) for of_part in (PARTS.values() if is_choice else [used])]
    if lacking := Lacking(needed, there, wrong_names(fields, ROLES, there)):
        raise lacking.error(fields, source, numbers.notes)
    has_documents = any(field in PARTS["documents"] for field in used)
    return FieldsToRead(tuple(used), "answers" not in required and has_documents)


def scores_of_source(source: RecordSource, fields: ResultFields) -> tuple[ScorePlaces | None, list[str]]:
    """Where a tool has scores, and the fields that are read as something else than numbers."""
    return source.shape.scores if source.shape else None, [*fields.names.values(), *source.used]


def notes_of_results(
    source: RecordSource, fields: ResultFields, numbers: LogNumbers, order: DocumentOrder
) -> tuple[str, ...]:
    """What is to be said about how results were read."""
    unused = source.unused_notes(fields, (record for _, record in source.records))
    return (*source.notes, *fields.notes, *unused, *numbers.notes, *order.notes(source.name))


def answers_not_scored(error: KaratError, queries: int) -> tuple[str, int, str]:
    """The finding that the answers of so many queries cannot be read. It is shown in Python and on the command line."""
    return f"answers not scored: {error.place}: {error.what}", queries, _hint_on_options(error)


def _hint_on_options(error: KaratError) -> str:
    """The hint of an error, in which the names of fields are given for Python and for the command line."""
    parts = SuggestedCall.without_look(error).hint_parts
    named = [part if (fields := _fields_in(part)) is None else rename_options(fields) for part in parts]
    return error.but(hint=named).hint or ""


def _fields_in(part: MessagePart) -> Mapping[str, str] | None:
    """The names of fields that a part of a hint gives, if it does."""
    if isinstance(part, SuggestedCall):
        return part.parameters.get("fields")
    if isinstance(part, Parameter) and part.name == "fields" and isinstance(part.value, Mapping):
        return part.value
    return None


def read_field(
    field: str, values: Mapping[str, Mapping[str, Any]], fields: ResultFields
) -> tuple[FieldReader, dict[str, Any]]:
    """A field of each query. Fields that are not evaluated are not read, so they cannot be wrong."""
    reader, places = FieldReader(field, fields.names[field], fields.given), values["query"]
    return reader, {query: reader.read(value, places[query]) for query, value in values[field].items()}


def _stands_in(numbers: LogNumbers, part: Part, wanted: WantedResults, present: Collection[str]) -> bool:
    """Whether numbers stand in for a part that is missing: all measures that need it have the name of a number."""
    is_complete = all(field in present for field in PARTS[part])
    return not is_complete and all(name in numbers.columns or name in numbers.faults for name in wanted.required[part])


def incomplete_parts(
    source: RecordSource, fields: ResultFields, present: PresentFields, scored: Collection[str] = tuple(READERS)
) -> Iterator[tuple[str, int, str]]:
    """Fields that are to be scored, but cannot be because the other field of their part is missing."""
    names, queries = fields.names, present.queries
    for one, other in PARTS.values():
        for field, missing in ((one, other), (other, one)):
            if field in scored and queries[field] and not queries[missing]:
                number = plural(queries[field], "query")
                message = f"{names[field]} of {number} not scored: no line has a field {names[missing]}"
                records = [record for _, record in islice(source.records, EXAMPLES)]
                yield message, queries[field], hint_about_missing(source, records, fields, present.names, missing)


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
