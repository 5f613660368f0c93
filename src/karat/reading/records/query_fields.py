"""The fields of the records of results by query, before it is decided which of them are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Parameter, Place, shown
from karat.reading.records.field_readers import READERS
from karat.reading.records.paths import Record, field_value
from karat.reading.records.result_fields import ROLES


class PresentFields(NamedTuple):
    """How many queries have each field, in some records; and the fields of records without a query.

    If all are without one, the query probably has another name, and these fields have not.
    """

    queries: Mapping[str, int]
    without_query: frozenset[str] = frozenset()

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """The fields of the records of all parts."""
        queries = {field: sum(part.queries[field] for part in parts) for field in ROLES}
        return cls(queries, frozenset().union(*(part.without_query for part in parts)))

    @property
    def names(self) -> set[str]:
        """The fields that any record has."""
        return {field for field, number in self.queries.items() if number} | self.without_query


class FieldsByQuery(NamedTuple):
    """The values of each field by query (of `query`, its place), and the fields of records without a query."""

    values: dict[str, dict[str, Any]]
    without_query: frozenset[str]

    @classmethod
    def of(cls, records: Iterable[tuple[Place, Record]], names: Mapping[str, str]) -> Self:
        """The fields with these names."""
        collected: dict[str, dict[str, Any]] = {field: {} for field in ROLES}
        without_query: set[str] = set()
        for _, _, query, values in fields_by_query(records, names, collected["query"]):
            if query is None:
                without_query |= values.keys()
            else:
                for field, value in values.items():
                    collected[field][query] = value
        return cls(collected, frozenset(without_query))

    @property
    def present(self) -> PresentFields:
        """Which fields the records have."""
        return PresentFields({field: len(of_field) for field, of_field in self.values.items()}, self.without_query)

    @property
    def empty(self) -> tuple[str, ...]:
        """The queries whose record has no other field."""
        return tuple(query for query in self.values["query"] if not any(query in self.values[each] for each in READERS))


def fields_by_query(
    records: Iterable[tuple[Place, Record]],
    names: Mapping[str, str],
    places: dict[str, Place],
) -> Iterator[tuple[Place, Record, str | None, dict[str, Any]]]:
    """The place of each record, the record, its query and the values of its fields; all have a query, or none has one.

    `places` receives those of the queries. If no record has a query, the field probably has another name: that is a
    different error, for whoever reads all of them.
    """
    without_query: Place | None = None
    for place, record in records:
        query = query_of(record, names["query"], place)
        if query is None:
            without_query = without_query or place
        if without_query and (places or query is not None):
            raise missing_query_error(names["query"], without_query)
        if query is not None:
            _add_query(query, place, places)
        yield place, record, query, values_of(record, names, place)


def query_of(record: Record, name: str, place: Place) -> str | None:
    """The query of a record, or None if it has none."""
    value = field_value(record, name, place)
    if value is None:
        return None
    query = identifier(value, place)
    reject_lone_surrogates([query], place)
    return query


def missing_query_error(name: str, place: Place) -> KaratError:
    """The error for a record without a query, where others have one."""
    return KaratError(f"the field {shown(name)} is missing", place=place, hint="Every line needs a query.")


def values_of(record: Record, names: Mapping[str, str], place: Place) -> dict[str, Any]:
    """The values of the other fields that a record has."""
    values = {field: field_value(record, names[field], place) for field in READERS}
    return {field: value for field, value in values.items() if value is not None}


def _add_query(query: str, place: Place, places: dict[str, Place]) -> None:
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
