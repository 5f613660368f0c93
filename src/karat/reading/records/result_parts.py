"""Results in parts of a log, which are read in several places; no engine is known here.

Which fields are read depends on all records, in steps: the names of the fields, what is in them, and whether all of it
can be read. A part decides each step by its own records, unless the decision for all is known, and goes on as far as it
can. Usually all parts decide alike, and each record is read once. Where a part has decided otherwise than all parts
together, it is read again with what is known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self

from karat.errors import KaratError, Place
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format
from karat.reading.bytes.opened_ranges import in_whole_file, opened_range, places_in_whole_file
from karat.reading.records.document_order import DocumentOrder
from karat.reading.records.field_readers import READERS, FieldReader
from karat.reading.records.numbers import Locate, LogNumbers, NumbersInRecords
from karat.reading.records.paths import Record
from karat.reading.records.query_fields import FieldsByQuery, PresentFields, fields_by_query
from karat.reading.records.record_files import records_reader
from karat.reading.records.records import without_collection
from karat.reading.records.result_fields import PARTS, MergeableContents, Part, ResultFields, choose_fields
from karat.reading.records.results import (
    FieldsToRead,
    Results,
    WantedResults,
    answers_not_scored,
    fields_to_read,
    incomplete_parts,
    notes_of_results,
    read_field,
    records_before_fault,
    scores_of_source,
)
from karat.reading.records.sources import HINT, RecordLayout, RecordSource


class LogInRanges(NamedTuple):
    """A log whose ranges are read in several places, and how: as its beginning shows."""

    name: str
    form: Format | None
    """of ranges with bounds, which do not show it themselves"""
    known_form: Format | None
    """the format that the caller gave"""
    layout: RecordLayout
    fields: Mapping[str, str] | None
    wanted: WantedResults


class KnownResults(NamedTuple):
    """What is decided for all parts."""

    fields: ResultFields | None = None
    chosen: FieldsToRead | None = None
    can_be_read: bool = False
    """whether all that is chosen can be read, in all parts together"""


class ResultFacts(NamedTuple):
    """What is known of results that were read, without the results themselves."""

    empty: tuple[str, ...]
    """queries whose record has no field of results"""
    filled: frozenset[str]
    """the fields that any query has"""
    longest_list: int

    @classmethod
    def of(cls, results: Results) -> Self:
        """What is known of these results."""
        values = (results.truth, results.run, results.gold_answers, results.answers)
        filled = frozenset(name for name, of_field in zip(READERS, values, strict=True) if of_field)
        return cls(results.empty, filled, results.longest_list)


@dataclass(frozen=True, eq=False)
class ResultsPart:
    """What is in a part of a log, as far as it could be decided how it is read."""

    contents: MergeableContents
    records: int
    is_faulty: bool = False
    """whether a record after these cannot be read"""
    fields: ResultFields | None = None
    present: PresentFields | None = None
    queries: tuple[str, ...] = ()
    numbers: NumbersInRecords | None = None
    chosen: FieldsToRead | None = None
    readers: Mapping[str, FieldReader] = field(default_factory=dict)
    order: DocumentOrder | None = None
    facts: ResultFacts | None = None
    """if the results were read"""

    def has_decided(self, known: KnownResults) -> bool:
        """Whether this part has made the decisions that are known, and has done what follows from them."""
        if known.fields is None:
            return True
        if self.fields is None or self.present is None or self.fields.names != known.fields.names:
            return False
        if known.chosen is not None and (
            self.chosen != known.chosen or not self.readers.keys() >= {*known.chosen.fields}
        ):
            return False
        return self.facts is not None or not known.can_be_read


@without_collection()
def read_part(log: LogInRanges, file: InputFile, known: KnownResults) -> tuple[ResultsPart, Results | None]:
    """What is in a range of a log, and its results if they could be read.

    An error that follows from a decision counts only if it was made for all parts.
    """
    records, fault = records_before_fault(_records_of(log, file))
    source = RecordSource(log.name, records, shape=log.layout.shape, layout=log.layout)
    part = ResultsPart(MergeableContents.of([record for _, record in records]), len(records), fault is not None)
    try:
        part = replace(part, fields=known.fields or _fields_of(log, part.contents))
        part, collected = _collected(part, log, source)
        if fault:
            raise _UndecidedError(part)
        part, documents = _with_readers(part, log, source, collected, known, partial(in_whole_file, file=file))
    except _UndecidedError as reached:
        return reached.part, None
    except KaratError:  # found again by `check_records`, for all parts together
        return part, None
    try:
        return _with_results(part, log, collected, documents)
    except KaratError:
        if known.can_be_read:
            raise
        return part, None


def _records_of(log: LogInRanges, file: InputFile) -> Iterator[tuple[Place, Record]]:
    reader = records_reader(file, log.known_form if file.bounds is None else log.form, HINT)
    return log.layout.read(reader())


class _UndecidedError(Exception):
    """A part cannot go on before it is known what all parts decide."""

    def __init__(self, part: ResultsPart) -> None:
        super().__init__()
        self.part = part


def _fields_of(log: LogInRanges, contents: MergeableContents) -> ResultFields:
    return choose_fields(contents, log.fields, log.wanted.parts, log.name)


def _collected(part: ResultsPart, log: LogInRanges, source: RecordSource) -> tuple[ResultsPart, FieldsByQuery]:
    """The values of all fields that may be read."""
    if part.fields is None:
        raise _UndecidedError(part)
    records = [*source.records]
    collected = FieldsByQuery.of(records, part.fields.names)
    of_tool, used = scores_of_source(source, part.fields)
    numbers = NumbersInRecords.of(records, of_tool, log.wanted.numbers, used)
    queries = tuple(collected.values["query"])
    return replace(part, present=collected.present, queries=queries, numbers=numbers), collected


Values = Mapping[str, Mapping[str, Any]]
"""the values of each field by query"""


def _with_readers(
    part: ResultsPart,
    log: LogInRanges,
    source: RecordSource,
    collected: FieldsByQuery,
    known: KnownResults,
    locate: Callable[[KaratError], KaratError],
) -> tuple[ResultsPart, Values]:
    """The fields that are chosen, which are read; and what is wrong with them."""
    fields, numbers = part.fields, part.numbers
    if fields is None or numbers is None or not (part.records or known.chosen):
        raise _UndecidedError(part)
    try:
        own_numbers = numbers.chosen(log.wanted.numbers, log.name)
        chosen = known.chosen or fields_to_read(source, fields, log.wanted, collected.present, own_numbers)
        read = {name: read_field(name, collected.values, fields) for name in chosen.fields}
        readers = {name: reader.located(locate) for name, (reader, _) in read.items()}
        part = replace(part, chosen=chosen, readers=readers)
        for reader in () if known.can_be_read else readers.values():
            reader.check()
    except KaratError:
        raise _UndecidedError(part) from None
    return part, {name: of_field for name, (_, of_field) in read.items()}


def _with_results(
    part: ResultsPart, log: LogInRanges, collected: FieldsByQuery, read: Values
) -> tuple[ResultsPart, Results]:
    """The results, whose documents are in order."""
    order, places = DocumentOrder(log.wanted.order), collected.values["query"]
    truth, run, golds, answers = (dict(read.get(name, {})) for name in READERS)
    run = {query: order.of(query, documents, places[query]) for query, documents in run.items()}
    results = Results(log.name, tuple(places), truth, run, golds, answers, empty=collected.empty)
    return replace(part, order=order, facts=ResultFacts.of(results)), results


# What all parts decide together


def merged_fields(parts: Sequence[ResultsPart], log: LogInRanges) -> ResultFields:
    """The names of the fields of all parts."""
    if not any(part.records or part.is_faulty for part in parts):
        raise KaratError("no results found", place=log.name, hint=HINT)
    return _fields_of(log, MergeableContents.merged([part.contents for part in parts]))


def merged_present(parts: Sequence[ResultsPart]) -> PresentFields:
    """The fields that the records of all parts have."""
    return PresentFields.merged([part.present for part in parts if part.present is not None])


def check_records(
    parts: Sequence[ResultsPart], ranges: Sequence[FileRange], log: LogInRanges, names: Mapping[str, str]
) -> None:
    """Raise the first error in the records of all parts: one cannot be read, has no query, or that of another one.

    `ranges` are those of the parts, and `names` those of fields. The records are read only if there is an error.
    """
    queries = [query for part in parts for query in part.queries]
    some_lack_a_query = queries and len(queries) < sum(part.records for part in parts)
    is_wrong = any(part.present is None or part.is_faulty for part in parts)
    if is_wrong or some_lack_a_query or len({*queries}) < len(queries):
        records = chain.from_iterable(_records_with_place(log, at) for at in ranges)
        places: dict[str, Place] = {}
        for _ in fields_by_query(records, names, places):
            pass


def _records_with_place(log: LogInRanges, at: FileRange) -> Iterator[tuple[Place, Record]]:
    """The records of a range with their places in the whole file."""
    with opened_range(at) as file:
        in_whole = places_in_whole_file(file)
        for place, record in _records_of(log, file):
            yield in_whole(place), record


def merged_numbers(parts: Sequence[ResultsPart], log: LogInRanges, locate: Sequence[Locate]) -> LogNumbers:
    """The numbers of all parts; `locate` says where places in the parts are in whole files."""
    numbers = [part.numbers for part in parts if part.numbers is not None]
    return NumbersInRecords.merged(numbers, locate).chosen(log.wanted.numbers, log.name)


def readable_fields(parts: Sequence[ResultsPart], chosen: FieldsToRead) -> tuple[FieldsToRead, KaratError | None]:
    """What can be read of what was chosen, and why answers cannot; an error if the rest cannot be read."""

    def check(part: Part) -> None:
        for name in chosen.of_part(part):
            FieldReader.merged([part.readers[name] for part in parts]).check()

    check("documents")
    try:
        check("answers")
    except KaratError as error:
        if not chosen.may_lack_answers:
            raise
        return chosen._replace(fields=tuple(chosen.of_part("documents"))), error
    return chosen, None


@dataclass(frozen=True, eq=False)
class MergedResults:
    """The results of all parts without their documents and answers: what is decided, counted and noted for all."""

    name: str
    numbers: LogNumbers
    notes: tuple[str, ...]
    unscored: tuple[tuple[str, int, str], ...]
    parts: tuple[Part, ...]
    longest_list: int
    queries: tuple[str, ...]
    empty: tuple[str, ...]
    questions: Mapping[str, str] = field(default_factory=dict)
    """none: their texts stay where they were read"""

    @classmethod
    def of(
        cls,
        parts: Sequence[ResultsPart],
        source: RecordSource,
        log: LogInRanges,
        fields: ResultFields,
        numbers: LogNumbers,
        fault_of_answers: KaratError | None,
    ) -> Self:
        """The results of these parts, all of which were read. `source` has the first records of all parts."""
        present, facts = merged_present(parts), [part.facts for part in parts if part.facts is not None]
        unscored = [*incomplete_parts(source, fields, present)]
        if fault_of_answers is not None:
            unscored.append(answers_not_scored(fault_of_answers, present.queries["answer"]))
        filled = frozenset().union(*(each.filled for each in facts))
        order = DocumentOrder.merged([part.order for part in parts if part.order is not None], log.wanted.order)
        return cls(
            log.name,
            numbers,
            notes_of_results(source, fields, numbers, order),
            tuple(unscored),
            tuple(part for part, of_part in PARTS.items() if filled.issuperset(of_part)),
            max((each.longest_list for each in facts), default=0),
            tuple(query for part in parts for query in part.queries),
            tuple(query for each in facts for query in each.empty),
        )
