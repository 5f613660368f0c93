"""Read generated answers from results: each answer, with what was retrieved for it and the gold answers, if any."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from karat.errors import KaratError, Place
from karat.options import Order
from karat.reading.records.document_order import DocumentOrder
from karat.reading.records.field_readers import FieldReader, documents_of_record
from karat.reading.records.missing_fields import Lacking, wrong_names
from karat.reading.records.paths import Record, field_value
from karat.reading.records.query_fields import fields_by_query
from karat.reading.records.records import Rereadable
from karat.reading.records.result_fields import fields_of_results
from karat.reading.records.results import HINT_ON_ANSWERS, question_name, question_text
from karat.reading.records.sources import RecordSource

_READ = ("retrieved", "gold_answers", "answer")
# Unlike in an evaluation, each of these fields is of use without the others.
_NEEDED = {field: (field,) for field in ("truth", *_READ)}


class GeneratedAnswer(NamedTuple):
    """What a record says about an answer; None for a field that it does not have."""

    query: str
    question: str | None
    retrieved: Any
    gold_answers: tuple[str, ...] | None
    answer: str | None


class GeneratedResults:
    """Results as far as they are about answers, without ground truth. The records are read anew each time, not kept.

    `fields` maps karat's field names to those of the records; `needed` are the fields that must be present, and `order`
    is that of documents.
    """

    def __init__(
        self,
        source: RecordSource,
        fields: Mapping[str, str] | None,
        needed: Collection[str],
        order: Order | None = None,
    ) -> None:
        self._source, self._name, self._records, self._needed = source, source.name, source.records, needed
        self._fields = fields_of_results(Rereadable(self._valid), fields, _READ, self._name, _NEEDED)
        self._notes = (*self._fields.notes, *source.unused_notes(self._fields, self._valid()))
        self._order = DocumentOrder(order)
        self.has_answers = next(self._values("answer"), None) is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the names of fields and, once all answers are read, on the order of documents."""
        return (*self._notes, *self._order.notes(self._name))

    def documents(self) -> Iterator[Any]:
        """What was retrieved for each query, as far as it is valid."""
        with suppress(KaratError):
            for place, value in self._values("retrieved"):
                yield documents_of_record(value, place)

    def __iter__(self) -> Iterator[GeneratedAnswer]:
        """Each answer. What is wrong with a field is an error after the last one."""
        names = self._fields.names
        name_of_question = question_name(self._fields, (str(value) for _, value in self._values("query")))
        readers = {field: FieldReader(field, names[field], self._fields.given) for field in _READ}
        present: set[str] = set()
        for place, record, query, values in fields_by_query(self._records, names, {}):
            present |= values.keys() if query is None else {"query", *values}
            if query is not None:
                read = {field: readers[field].read(values[field], place) for field in values if field in _READ}
                if "retrieved" in read:
                    read["retrieved"] = self._order.of(query, read["retrieved"], place)
                yield GeneratedAnswer(query, question_text(record, name_of_question), *map(read.get, _READ))
        wrong = wrong_names(self._fields, ("query", *_READ), present)
        if lacking := Lacking([("query", *self._needed)], present, wrong, labelled=True):
            raise self._error(lacking)
        for reader in readers.values():
            reader.check()

    def missing(self, field: str) -> KaratError:
        """The error for whoever needs a field that no record has."""
        present = [name for name in ("query", *_READ) if next(self._values(name), None) is not None]
        return self._error(Lacking([(field,)], present))

    def _error(self, lacking: Lacking) -> KaratError:
        if next(self._valid(), None) is None:
            return KaratError("no results found", place=self._name, hint=HINT_ON_ANSWERS)
        return lacking.error(self._fields, self._source)

    def _values(self, field: str) -> Iterator[tuple[Place, Any]]:
        """The values of a field, with the place of each, before the first fault of the source."""
        with suppress(KaratError):
            for place, record in self._records:
                if (value := field_value(record, self._fields.names[field], place)) is not None:
                    yield place, value

    def _valid(self) -> Iterator[Record]:
        """The records before the first fault of the source."""
        with suppress(KaratError):
            for _, record in self._records:
                yield record
