"""The records of a log of a RAG system, as they are checked: one after the other, without those that cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from karat.errors import KaratError, Place, require, shown
from karat.evaluation.check.plan import LogPlan
from karat.grounding.responses.results import ids_and_texts, strings_are_ids
from karat.grounding.responses.trec_rag import is_trec_rag, read_trec_rag
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.columns.spellings import find_column
from karat.reading.records.field_readers import READERS, FieldReader
from karat.reading.records.missing_fields import Lacking, wrong_names
from karat.reading.records.paths import Record, field_value
from karat.reading.records.query_fields import missing_query_error, query_of, values_of
from karat.reading.records.records import without_collection
from karat.reading.records.result_fields import (
    PARTS,
    ROLES,
    ContentsOfMost,
    ContentsOfRecords,
    ResultFields,
    choose_fields,
    is_expected,
)
from karat.reading.records.results import WantedResults, question_name, question_text, results_of
from karat.reading.records.sources import RecordSource, read_records
from karat.scores.finding import Finding

Passage = tuple[str | None, str | None]
"""the id and the text of a retrieved document, as far as they are known"""
_Placed = Sequence[tuple[Place, Record]]


@dataclass(frozen=True, eq=False)
class LogRecord:
    """What one record of a log says."""

    place: Place
    query: str
    question: str
    """its text, or the query, if it has none"""
    system: str | None = None
    """the system that wrote it, if the records say so"""
    present: frozenset[str] = frozenset()
    """the fields that have a value, also one that cannot be read"""
    values: Mapping[str, Any] = field(default_factory=dict)
    """the values of the fields that can be read"""
    passages: tuple[Passage, ...] = ()

    def lacks(self, name: str) -> bool:
        """Whether a field has no value."""
        return name not in self.present

    def finding(self, code: str, message: str, hint: str = "") -> Finding:
        """A finding about this record."""
        return Finding(code, message, 1, hint, (self.query,), place=self.place)

    @property
    def texts(self) -> list[str] | None:
        """The texts of all passages; None if there are none, or if any is empty or known by its id only."""
        texts = [text for _, text in self.passages if text is not None and text.strip()]
        return texts if texts and len(texts) == len(self.passages) else None


@dataclass(frozen=True, eq=False)
class ReadLog:
    """The records of a log that can be read."""

    name: str
    records: Sequence[LogRecord]
    faults: tuple[KaratError, ...] = ()
    """what is wrong with all values of a field"""

    def has(self, name: str) -> bool:
        """Whether any record has this field."""
        return any(name in record.values for record in self.records)


def read_log(plan: LogPlan, rejected: RejectedRows) -> ReadLog:
    """Read a log. `rejected` collects the errors of records and values that cannot be read, and are left out."""

    @without_collection()
    def read(source: RecordSource) -> ReadLog:
        return _read(source, plan.fields, rejected)

    form = plan.input_format
    return read_records(plan.log, plan.fields, form, read, path=plan.records, name=plan.name, rejected=rejected)


def _read(source: RecordSource, given: Mapping[str, str] | None, rejected: RejectedRows) -> ReadLog:
    records = list(source.records)
    source = replace(source, records=records)
    if not any(record for _, record in records):
        results_of(source, given, WantedResults())  # which is the error of every command
    if is_trec_rag(records[0][1]):
        return ReadLog(source.name, _of_submission(records, rejected))
    plain = [record for _, record in records]
    fields = choose_fields(ContentsOfMost(plain), given, PARTS, source.name)
    _require_fields(source, fields)
    found = _values_of_records(records, fields, rejected)
    values, faults = _read_values(found, fields, _mixed_fields(fields, plain), rejected)
    name = question_name(fields, (query for _, _, query, _ in found))
    system = find_column(fields.present, "system", {*fields.names.values()})
    are_ids = strings_are_ids(each["retrieved"] for each in values if "retrieved" in each)
    read = [
        LogRecord(
            place,
            query,
            question_text(record, name) or query,
            None if system is None else _name_of_system(record.get(system)),
            frozenset(raw),
            of_record,
            _passages(of_record.get("retrieved"), place, are_ids, rejected),
        )
        for (place, record, query, raw), of_record in zip(found, values, strict=True)
    ]
    return ReadLog(source.name, read, faults)


def _of_submission(records: _Placed, rejected: RejectedRows) -> list[LogRecord]:
    """The records of a submission to TREC RAG, whose passages are known by their ids."""
    read = []
    for placed in records:
        try:
            [response] = read_trec_rag([placed]).responses
        except KaratError as error:
            rejected.add(error)
            continue
        ids = [passage.id for passage in response.passages]
        values: dict[str, Any] = {"retrieved": ids, "answer": response.answer}
        values |= {} if response.gold_answers is None else {"gold_answers": response.gold_answers}
        about = placed[0], response.query, response.question, response.system
        read.append(LogRecord(*about, frozenset(values), values, tuple((id_, None) for id_ in ids)))
    return read


def _require_fields(source: RecordSource, fields: ResultFields) -> None:
    """Raise the error of an evaluation if no record has a query, or if none has anything else."""
    present = {
        name
        for name, path in fields.names.items()
        if name in ROLES and any(field_value(record, path, place) is not None for place, record in source.records)
    }
    lacking = Lacking([("query",)], present, wrong_names(fields, ROLES, present), labelled=True)
    if lacking:
        raise lacking.error(fields, source)
    if present == {"query"}:
        results_of(source, fields.given, WantedResults())


def _values_of_records(
    records: _Placed, fields: ResultFields, rejected: RejectedRows
) -> list[tuple[Place, Record, str, dict[str, Any]]]:
    """The place of each record, the record, its query, and the values of its other fields, which are not read yet."""
    found = []
    for place, record in records:
        try:
            query = query_of(record, fields.names["query"], place)
            if query is None:
                raise missing_query_error(fields.names["query"], place)
            require(query.strip(), "the query is an empty text", "Every line needs a query.", place=place)
            found.append((place, record, query, values_of(record, fields.names, place)))
        except KaratError as error:
            rejected.add(error)
    return found


def _read_values(
    found: Iterable[tuple[Place, Record, str, Mapping[str, Any]]],
    fields: ResultFields,
    mixed: Collection[str],
    rejected: RejectedRows,
) -> tuple[list[dict[str, Any]], tuple[KaratError, ...]]:
    """The values of the fields of each record, as they are read, and what is wrong with all values of a field."""
    found = list(found)
    values: list[dict[str, Any]] = [{} for _ in found]
    faults: list[KaratError] = []
    for name in READERS:
        wrong = RejectedRows()
        reader = FieldReader(name, fields.names[name], fields.given, wrong)
        read = {at: reader.read(raw[name], place) for at, (place, _, _, raw) in enumerate(found) if name in raw}
        read = {at: value for at, value in read.items() if value is not None}
        for at in [*read] if name in mixed else ():
            if not is_expected(name, fields.names[name], value := found[at][3][name]):
                wrong.add(_unlike_others(value, fields.names[name], found[at][0]))
                del read[at]
        try:
            if wrong.count and not read:
                raise wrong.errors[0]
            reader.check()
        except KaratError as error:
            faults.append(error)
            continue
        rejected.add_values(wrong)
        for at, value in read.items():
            values[at][name] = value
    return values, tuple(faults)


def _mixed_fields(fields: ResultFields, records: Sequence[Record]) -> set[str]:
    """The fields that an evaluation does not read, because their names are guessed, and not all values are expected."""
    guessed = [field for field in READERS if field not in fields.given and fields.names[field] != field]
    contents = ContentsOfRecords(records)
    return {field for field in guessed if not contents.fits(field, fields.names[field])}


def _unlike_others(value: Any, name: str, place: Place) -> KaratError:
    what = f"{shown(name)} is {shown(value)}, unlike in most records, so that an evaluation does not read this field"
    return KaratError(what, place=place.inside(name), hint="Write it as in the other records.")


def _name_of_system(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) else None


def _passages(retrieved: Any, place: Place, are_ids: bool, rejected: RejectedRows) -> tuple[Passage, ...]:
    """The ids and texts of retrieved documents by rank. Spans of documents have neither."""
    if retrieved is None:
        return ()
    documents = retrieved if isinstance(retrieved, Mapping) else [each for each in retrieved if not _is_span(each)]
    try:
        return tuple(ids_and_texts(documents, place, are_ids))
    except KaratError as error:
        rejected.add(error)
        return ()


def _is_span(document: Any) -> bool:
    return isinstance(document, list | tuple)
