"""Join gold, or predicted answers, from other sources to the records of a log, whatever tool wrote it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from karat.errors import KaratError, Place, enumeration, plural, shown
from karat.reading.columns import GivenNames
from karat.reading.records.gold import OtherSource
from karat.reading.records.keyed import Keys, Matched, as_key, key_columns, match_entries, other_questions
from karat.reading.records.paths import Record, field_value
from karat.reading.records.records import Rereadable
from karat.reading.records.result_fields import AMBIGUOUS, JOINED_FIELDS, fields_of_results
from karat.reading.records.sources import RecordSource

_CHECKED = 1000  # records of a log that show which fields it has


class JoinedSources(NamedTuple):
    """What is joined to a log: gold documents or gold answers, and predicted answers."""

    truth: OtherSource | None = None
    answers: OtherSource | None = None

    @classmethod
    def of(
        cls,
        truth: Any,
        answers: Any,
        fields: Mapping[str, str] | None,
        columns: GivenNames | None = None,
        format: str | None = None,  # noqa: A002
        split: str | None = None,
    ) -> JoinedSources:
        """Sources as a caller names them, None if there are none; what is known about the ground truth follows."""
        return cls(
            None if truth is None else OtherSource.of(truth, "truth", fields, columns, format, split),
            None if answers is None else OtherSource.of(answers, "answers", fields),
        )


NOTHING_JOINED = JoinedSources()


def joined(
    log: RecordSource, sources: JoinedSources, fields: Mapping[str, str] | None, outputs: Collection[str]
) -> RecordSource:
    """A log whose records have what other sources say about their queries, instead of what they say themselves.

    A record is found by its query or, if none of these is in the other source, by another field with the id or the text
    of the question. `fields` are the names of fields that the caller gives, of the log or of the other sources. If the
    log has only one of the `outputs` that are to be evaluated, lists of texts are gold for that one.
    """
    joins = [source for source in sources if source is not None]
    first = [*islice(_valid(log.records), _CHECKED)] if joins else []
    if not first:
        return log
    about = _Log.of(log, first, fields or {}, joins)
    if not any(key is not None for row in about.keys for key in row):
        return log  # reading it is an error: no record has a query
    values: list[dict[str, Any]] = [{} for _ in about.keys]
    unanswered: list[tuple[Place, str | None, dict[str, Any]]] = []
    replaced: set[str] = set()
    notes: list[str] = []
    gold = ""
    for source in joins:
        entries = source.read(about.outputs & {*outputs}, about.names, about.queries)
        keys = [*about.keys, *((query, *(None,) * (len(about.columns) - 1)) for _, query, _ in unanswered)]
        matched = match_entries(log.name, about.columns, keys, entries)
        of_queries = (*values, *(of_entry for _, _, of_entry in unanswered))
        for of_query, entry in zip(of_queries, matched.entries, strict=True):
            of_query.update({} if entry is None else entry.values)
        if source.content == "truth":
            gold = source.name
            unanswered = [(each.place, matched.query(each), dict(each.values)) for each in matched.others]
        provided = {field for entry in entries.entries for field in entry.values}
        replaced |= provided
        notes += [*matched.source.notes, *_notes(log.name, about, matched, provided)]
    rename = {field: about.fields.get(field, field) for field in JOINED_FIELDS}
    query = about.fields.get("query", about.columns[0])
    # What is not used as gold documents is not gold answers either, whatever its name may mean.
    dropped = {name for field, name in about.own.items() if field in replaced and name in AMBIGUOUS}
    nothing = dict.fromkeys(rename[field] for field in replaced)

    def records() -> Iterator[tuple[Place, Record]]:
        for at, (place, record) in enumerate(log.records):
            kept = {name: value for name, value in record.items() if name not in dropped}
            own = {} if query in record else {query: field_value(record, about.columns[0], place)}
            yield place, {**kept, **own, **nothing, **_renamed(values[at], rename)}

    return replace(
        log,
        records=Rereadable(records),
        notes=(*log.notes, *notes),
        replaced=tuple(name for field, name in about.own.items() if field in replaced),
        unanswered=tuple((place, {query: key, **_renamed(gold, rename)}) for place, key, gold in unanswered),
        gold=gold,
    )


@dataclass(frozen=True, eq=False)
class _Log:
    """What is known about a log before it is joined."""

    fields: Mapping[str, str]
    """the names that were given, of the log or of other sources"""
    names: Sequence[str]
    outputs: frozenset[str]
    own: Mapping[str, str]
    """the names of its own gold and answers"""
    paths: Mapping[str, str]
    """where a tool has what was given karat's names"""
    columns: tuple[str, ...]
    keys: Sequence[Keys]

    @classmethod
    def of(
        cls, log: RecordSource, first: Sequence[Record], fields: Mapping[str, str], joins: Iterable[OtherSource]
    ) -> _Log:
        names = [*dict.fromkeys(name for record in first for name in record if isinstance(name, str))]
        elsewhere = {name for source in joins for name in source.names}
        of_log = {
            role: name
            for role, name in fields.items()
            if (top := name.partition(".")[0]) in names or top not in elsewhere
        }
        read = fields_of_results(first, of_log, JOINED_FIELDS, log.name, JOINED_FIELDS).names
        has = {field for field in JOINED_FIELDS if any(field_value(each, read[field]) is not None for each in first)}
        columns = key_columns(first, read["query"], {read[field] for field in has})
        keys = [tuple(as_key(field_value(record, column)) for column in columns) for record in _valid(log.records)]
        own = {field: read[field] for field in has - {"retrieved"}}
        return cls(fields, names, frozenset(has & {"retrieved", "answer"}), own, log.paths, columns, keys)

    @property
    def queries(self) -> list[str]:
        """The query of each record, for lists, which are in the same order."""
        return [row[0] or "" for row in self.keys]


def _valid(records: Iterable[tuple[Place, Record]]) -> Iterator[Record]:
    """The records before the first fault of the source, which whoever reads them finds again."""
    with suppress(KaratError):
        for _, record in records:
            yield record


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[field]: value for field, value in values.items()}


def _notes(log: str, about: _Log, matched: Matched, provided: set[str]) -> list[str]:
    """What the sources were joined by, how many queries of each are not in the other one, and what is not used."""
    source = matched.source
    columns = dict.fromkeys((about.columns[matched.log_column], source.columns[matched.column]))
    by = "position" if source.by_position else " = ".join(map(shown, columns))
    if matched.normalized:
        by += f" ({plural(matched.normalized, 'query')} without regard to case, white space and Unicode form)"
    without = [row for row, entry in zip(about.keys, matched.entries, strict=False) if entry is None]
    counts = [
        _count(len(without), len(about.keys), log, source.name, *(row[matched.log_column] for row in without[:1])),
        _count(len(matched.others), len(source.entries), source.name, log, *map(matched.query, matched.others[:1])),
    ]
    both = "all queries are in both" if not any(counts) else "; ".join(filter(None, counts))
    notes = [f"{log} and {source.name} are joined by {by}: {both}"]
    if others := other_questions(matched, about.keys):
        questions = f"the questions of {plural(len(others), 'query')} differ, such as {shown(others[0])}"
        notes.append(f"{log} and {source.name}: {questions}: are their ids the same?")
    unused = [shown(about.paths.get(field, name)) for field, name in about.own.items() if field in provided]
    if unused:
        fields = f"field {unused[0]} is" if len(unused) == 1 else f"fields {enumeration(unused, 'and')} are"
        notes.append(f"{log}: the {fields} not used: what is in {source.name} counts")
    return notes


def _count(number: int, total: int, one: str, other: str, example: str | None = None) -> str:
    such = "" if example is None else f", such as {shown(example)}"
    are = "is" if number == 1 else "are"
    return f"{number:,} of {plural(total, 'query')} of {one} {are} not in {other}{such}" if number else ""
