"""Entries with keys: what one source says about queries that another source knows by their ids or by their texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from karat.data.caching import cached_property
from karat.documents.ids import all_text, identifier, reject_lone_surrogates
from karat.documents.normalization import normalizer
from karat.errors import KaratError, Message, Parameter, Place, shown
from karat.reading.columns.spellings import AnyRole, is_spelling
from karat.reading.records.field_readers import FieldReader
from karat.reading.records.paths import Record, field_value

Keys = tuple[str | None, ...]
"""the values of a record or an entry in the columns of keys, the first of which is that of the query"""

_ROLES: tuple[AnyRole, ...] = ("record_query", "query", "query_text")
_OF_TREC_RAG = ("narrative_id", "request_id", "narrative")
_folded = normalizer(("unicode", "case", "space"))


class KeyedEntry(NamedTuple):
    """What a source says about a query: gold documents, gold answers or a predicted answer."""

    place: Place
    keys: Keys
    values: dict[str, Any]


@dataclass(frozen=True, eq=False)
class KeyedEntries:
    """The entries of a source, no two of which have the same query; and the columns of its keys."""

    name: str
    columns: tuple[str, ...]
    entries: Sequence[KeyedEntry]
    notes: tuple[str, ...] = ()
    by_position: bool = False
    """whether the source has no keys: its entries are in the order of the queries of the log"""
    with_texts: Callable[[], KeyedEntries] | None = None
    """the same entries with the texts of their questions, which are in another file"""


class Matched(NamedTuple):
    """The entry of each record of a log, and the entries that no record has."""

    source: KeyedEntries
    entries: list[KeyedEntry | None]
    others: list[KeyedEntry]
    log_column: int
    column: int
    """the columns that they were found by, by their positions"""
    normalized: int
    """records whose key is the same as that of the entry only if white space, case and Unicode form do not matter"""

    def query(self, entry: KeyedEntry) -> str | None:
        """What the log would call the query of an entry that it does not have."""
        keys = (entry.keys[self.column], *entry.keys) if self.log_column == 0 else entry.keys
        return next((key for key in keys if key is not None), None)


def key_columns(records: Iterable[Record], query: str, used: Collection[str]) -> tuple[str, ...]:
    """The columns that may contain the id or the text of a query, after the one of the query; not those in `used`.

    >>> key_columns([{"id": 7, "question": "How soft?", "answer": "Soft"}], "id", ["answer"])
    ('id', 'question')
    """
    names: dict[str, None] = {}
    for record in records:
        names |= dict.fromkeys(name for name in record if isinstance(name, str))
        if isinstance(inner := record.get("metadata"), Mapping):
            names |= {f"metadata.{name}": None for name in inner if isinstance(name, str)}
    others = [name for name in names if name != query and name not in used]
    return (query, *(name for role in _ROLES for name in others if _is_key(name, role))) if others else (query,)


def _is_key(name: str, role: AnyRole) -> bool:
    # Each name is listed once, for the first role that it is usual for.
    last = name.rpartition(".")[2]
    fitting = next((each for each in _ROLES if is_spelling(last, each)), _ROLES[-1] if last in _OF_TREC_RAG else None)
    return fitting == role


def as_key(value: object) -> str | None:
    """A value as a key; None if it is neither a text nor a whole number."""
    if isinstance(value, str):
        return value if value.strip() else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def entries_of_records(
    records: Iterable[tuple[Place, Record]], columns: Sequence[str], names: Mapping[str, str]
) -> list[KeyedEntry]:
    """The entries of records, one per query: gold that is one text in each of several records is a list.

    Records that say different things about a query otherwise are an error.
    """
    readers = {field: FieldReader(field, name) for field, name in names.items()}
    entries: dict[str, KeyedEntry] = {}
    lists: dict[str, list[str]] = {}
    for place, record in records:
        first, *others = (field_value(record, column, place) for column in columns)
        keys = (None if first is None else identifier(first, place), *map(as_key, others))
        query = next((key for key in keys if key is not None), None)
        if query is None:
            raise KaratError(
                f"the field {shown(columns[0])} is missing", place=place, hint="Every record needs a query."
            )
        given = {
            field: value for field, name in names.items() if (value := field_value(record, name, place)) is not None
        }
        values = {field: readers[field].read(value, place) for field, value in given.items()}
        earlier = entries.setdefault(query, entry := KeyedEntry(place, keys, values))
        is_one = [*given] in (["truth"], ["gold_answers"]) and all_text(given.values())
        if is_one and (earlier is entry or (query in lists and given.keys() == earlier.values.keys())):
            lists.setdefault(query, []).extend(given.values())
        elif earlier is not entry and values != earlier.values:
            hint = "Keep one record per query."
            what = "answer" if "answer" in names else "gold"
            raise KaratError([f"query {shown(query)} has another {what} in ", earlier.place], place=place, hint=hint)
    for reader in readers.values():
        reader.check()
    reject_lone_surrogates(entries, "")
    for query, texts in lists.items():
        [(field, value)] = entries[query].values.items()
        entries[query] = entries[query]._replace(values={field: type(value)(dict.fromkeys(texts))})
    return [*entries.values()]


def match_entries(name: str, columns: Sequence[str], keys: Sequence[Keys], source: KeyedEntries) -> Matched:
    """Find the entry of each record of the log `name`, whose keys are in these columns.

    Ids count if any of them is in both, unless all of these have other questions beside them; otherwise texts: exactly,
    and if they are in none of the columns, without regard to white space, case and Unicode form. Records that have no
    such entry have None.
    """
    by_id: Matched | None = None
    pairs = sorted(product(range(len(columns)), range(len(source.columns))), key=lambda pair: (sum(pair), pair))
    indexes = [_Index(source, column) for column in range(len(source.columns))]
    for fold in (False, True):
        for of_log, of_entry in pairs:
            index = indexes[of_entry]
            if fold or any(row[of_log] in index.exact for row in keys):
                found = [index.find(row[of_log]) for row in keys]
                if any(found):
                    matched = _matched(found, source, keys, of_log, of_entry)
                    if len(other_questions(matched, keys)) < sum(entry is not None for entry in found):
                        return matched
                    by_id = by_id or matched
    if by_id is not None:
        return by_id
    if source.with_texts is not None:
        return match_entries(name, columns, keys, source.with_texts())
    raise _nothing_in_common(name, columns, keys, source)


def _matched(
    found: Sequence[KeyedEntry | None], source: KeyedEntries, keys: Sequence[Keys], of_log: int, of_entry: int
) -> Matched:
    hit = {entry.keys[of_entry] for entry in found if entry is not None}
    others = [entry for entry in source.entries if entry.keys[of_entry] is None or entry.keys[of_entry] not in hit]
    normalized = sum(
        entry is not None and entry.keys[of_entry] != row[of_log] for row, entry in zip(keys, found, strict=True)
    )
    return Matched(source, [*found], others, of_log, of_entry, normalized)


def other_questions(matched: Matched, keys: Sequence[Keys]) -> list[str]:
    """The queries that have the same id in both sources, but another question beside it."""
    if matched.log_column or matched.column:
        return []
    rows = zip(keys, matched.entries, strict=False)
    texts = ((row[0], _questions(row[1:]), _questions(entry.keys[1:])) for row, entry in rows if entry is not None)
    return [query for query, ours, theirs in texts if query is not None and ours and theirs and not ours & theirs]


def _questions(keys: Iterable[str | None]) -> set[str]:
    return {_folded(key) for key in keys if key is not None and _is_question(key)}


@dataclass(frozen=True, eq=False)
class _Index:
    """The entries of a source by their keys in one column."""

    source: KeyedEntries
    column: int

    @cached_property
    def exact(self) -> dict[str, list[KeyedEntry]]:
        """The entries by their keys as they are."""
        exact: dict[str, list[KeyedEntry]] = {}
        for entry in self.source.entries:
            if (key := entry.keys[self.column]) is not None:
                exact.setdefault(key, []).append(entry)
        return exact

    @cached_property
    def folded(self) -> dict[str, list[KeyedEntry]]:
        """The entries by their questions without regard to white space, case and Unicode form."""
        folded: dict[str, list[KeyedEntry]] = {}
        for key, entries in self.exact.items():
            if _is_question(key):
                folded.setdefault(_folded(key), []).extend(entries)
        return folded

    def find(self, key: str | None) -> KeyedEntry | None:
        """The entry with a key, if there is one; it is an error if several say different things."""
        if key is None:
            return None
        entries = self.exact.get(key) or (self.folded.get(_folded(key)) if _is_question(key) else None)
        if not entries:
            return None
        first, *others = entries
        for other in others:
            if other.values != first.values:
                what: Message = [f"the question {shown(key)} has another gold here than in ", first.place]
                raise KaratError(what, place=other.place, hint="Keep one of them, or join by ids: name their fields.")
        return first


def _is_question(key: str) -> bool:
    """Whether a key is a text rather than an id, in which case and white space matter."""
    return not key.isascii() or len(key.split()) > 1


def _nothing_in_common(name: str, columns: Sequence[str], keys: Sequence[Keys], source: KeyedEntries) -> KaratError:
    ours = _example(columns, keys)
    theirs = _example(source.columns, [entry.keys for entry in source.entries])
    what = f"no query is in both {name} ({ours}) and {source.name} ({theirs})"
    hint = ["The id of a query, or the text of its question, must be in both. If it is in another field, use "]
    return KaratError(what, hint=[*hint, Parameter("fields", {"query": "..."}), "."])


def _example(columns: Sequence[str], keys: Iterable[Keys]) -> str:
    row = next(iter(keys), ())
    texts = [f"{column} {shown(key)}" for column, key in zip(columns, row, strict=False) if key is not None]
    return " and ".join(texts) or "none"
