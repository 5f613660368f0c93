"""The records of a verdict file: their fields, and how items, and calls of language models, are read and written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from karat.data.verdicts import ItemSet
from karat.documents.ids import identifier, reject_lone_surrogates
from karat.errors import KaratError, Place, did_you_mean, shown
from karat.errors.arguments import as_count

VERSION = 1
"""the version of the file format"""
FILE_LINE = b'{"record":"file","version":1}\n'
"""the first line of a file"""

ItemType = Literal["claim", "sentence", "nugget", "passage", "answer", "document"]
RecordKind = Literal["file", "item", "verdict", "call", "task", "sample"]
CallState = Literal["done", "failed", "too_long", "reused"]
"""`too_long`: refused as too long, so that its parts were asked about; `reused`: the reply to an earlier call with the
same key, for labels about something else"""
ItemKey = tuple[str, str]
"""the query and the id of an item"""
SystemItemKey = tuple[str, str | None, str]
"""the query, the system and the id of an item"""
LARGEST = 10**9
"""the largest rank, and the largest number of a sample"""

IMPLIED = ("answer", "gold", "question", "context")
"""items that need no record"""

_KINDS: tuple[str, ...] = get_args(RecordKind)
_TYPES: tuple[str, ...] = get_args(ItemType)
_OF = ("answer", "gold")
_IMPORTANCE = ("vital", "okay")
_REPLY_START = 2_000  # characters


class Item(NamedTuple):
    """Something that can be judged."""

    query: str
    id: str
    type: ItemType
    system: str | None = None
    """None if it belongs to the question, whatever the system: a nugget, a claim of the gold answer, a document"""
    of: str | None = None
    text: str | None = None
    rank: int | None = None
    cites: tuple[str, ...] = ()
    importance: str | None = None
    digest: str | None = None
    place: Place | None = None
    removed: bool = False
    """whether the record says that there is no such item any more"""
    of_digest: str | None = None
    """of the answer, or the gold answer, that a claim or a nugget is from"""
    earlier_digest: str | None = None
    """of gold answers in the order of the results, as karat 0.1.0 wrote it"""

    @property
    def key(self) -> ItemKey:
        """By which the items of one system are told apart."""
        return self.query, self.id

    @property
    def system_key(self) -> SystemItemKey:
        """By which the items of all systems are told apart."""
        return self.query, self.system, self.id

    @property
    def set(self) -> ItemSet:
        """The set of items that it belongs to, for measures."""
        if self.type == "claim":
            return "gold_claims" if self.of == "gold" else "claims"
        if self.type == "answer":
            return "gold" if self.id == "gold" else "answer"
        return "sentences" if self.type == "sentence" else "nuggets" if self.type == "nugget" else "passages"

    @property
    def source(self) -> str:
        """What a claim or a nugget was extracted from: the answer, or the gold answer."""
        return "gold" if self.type == "nugget" or self.of == "gold" else "answer"

    def record(self) -> dict[str, Any]:
        """The item as a record, with the digest of its text."""
        fields = {
            "record": "item", "query": self.query, "system": self.system, "id": self.id, "type": self.type,
            "of": self.of, "text": self.text, "rank": self.rank, "cites": list(self.cites) or None,
            "importance": self.importance, "digest": self.current_digest, "of_digest": self.of_digest,
            "removed": self.removed or None,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value is not None}

    def removal(self) -> dict[str, Any]:
        """A record that removes the item, because what it is from has changed: it returns if that changes back."""
        gone = Item(self.query, self.id, self.type, self.system, self.of, rank=self.rank, removed=True)
        return {**gone.record(), "outdated": True}

    @property
    def current_digest(self) -> str | None:
        """The digest of its text; without a text, the one that is given."""
        return self.digest if self.text is None else text_digest(self.text)

    @property
    def digests(self) -> tuple[str, ...]:
        """The digests that a label of its current text may have: none if the text is not known."""
        return tuple(digest for digest in (self.current_digest, self.earlier_digest) if digest is not None)

    @property
    def labelled_digest(self) -> str | None:
        """The digest of the text that was labelled, as far as it is known: somebody may have changed the text since."""
        return self.digest or self.current_digest

    @property
    def is_corrected(self) -> bool:
        """Whether somebody has changed the text since it was labelled."""
        return None not in (self.digest, self.text) and self.digest != self.current_digest


def items_by_query(items: Iterable[Item]) -> dict[str, list[Item]]:
    """The items of each query, in order."""
    by_query: dict[str, list[Item]] = {}
    for item in items:
        by_query.setdefault(item.query, []).append(item)
    return by_query


def text_digest(text: str) -> str:
    """A digest of a text, by which a label notices that the text has changed since.

    >>> text_digest("Gold is soft.")
    '5fd496ce85ce7540'
    """
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def record_line(record: Mapping[str, Any]) -> bytes:
    """A record as a line of a verdict file."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only write as an escape
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def check_version(record: Mapping[str, Any], place: Place | str) -> None:
    """Raise an error if the record of a file names another version of the format."""
    if record.get("version") != VERSION or record["version"] is True:
        what = f"this is version {shown(record.get('version'))} of the verdict file"
        raise KaratError(what, place=place, hint=f"This version of karat reads version {VERSION}.")


def joint_digest(digests: Iterable[str | None]) -> str | None:
    """The digest of several texts together, in any order, from their digests; that of one text is its own.

    That of no texts is the digest of an empty one. None if one of them is not known.
    """
    distinct = {*digests}
    known = sorted(each for each in distinct if each is not None)
    if len(known) < len(distinct):
        return None
    return known[0] if len(known) == 1 else text_digest("\n".join(known))


def joint_digests(digests: Iterable[str | None]) -> tuple[str, ...]:
    """The digests that a label against several texts may have, from the digests of these, by their ranks.

    karat 0.1.0 wrote that of all digests by rank. There is none if one of the texts is not known.
    """
    by_rank = [*digests]
    known, joint = [digest for digest in by_rank if digest is not None], joint_digest(by_rank)
    return () if joint is None else (joint,) if len(known) < 2 else (joint, text_digest("\n".join(known)))


def kind_of(record: Mapping[str, Any], place: Place | str) -> str:
    """The kind of a record; without the field `record`, it follows from the other fields."""
    kind = record.get("record")
    if kind is None:
        kind = "verdict" if "label" in record or "state" in record else "task" if "scale" in record else "item"
        if kind == "item" and "type" not in record:
            hint = "An item has a type, and a verdict has a label. Fields of results are not read here."
            raise KaratError("this is not a record of a verdict file", place=place, hint=hint)
    if not isinstance(kind, str) or kind not in _KINDS:
        hint = f"{did_you_mean(kind, _KINDS)} The kinds are {', '.join(_KINDS)}.".strip()
        raise KaratError(f"{shown(kind)} is not a kind of record", place=place, hint=hint)
    return kind


def read_item(record: Mapping[str, Any], place: Place | str, id_field: str = "id") -> Item:
    """The item of a record; a wrong field is an error that names it. An empty place is none."""
    place = Place(place) if isinstance(place, str) else place
    query, name = read_id(record, "query", place), read_id(record, id_field, place)
    kind = read_choice(record, "type", _TYPES, place)
    if kind is None:
        hint = f"The types are {', '.join(_TYPES)}."
        raise KaratError("the item has no type", place=place, hint=hint)
    of, importance = read_choice(record, "of", _OF, place), read_choice(record, "importance", _IMPORTANCE, place)
    if name in IMPLIED and kind not in ("answer", "document"):
        hint = f"These ids have a meaning of their own: {', '.join(IMPLIED)}."
        raise KaratError(f"the id of a {kind} is {shown(name)}", place=place, hint=hint)
    if kind == "answer" and (name not in _OF or of not in (None, name)):
        what = f"an item of the type answer has the id {shown(name)}" + (f", but is of {of}" if name in _OF else "")
        raise KaratError(what, place=place, hint="The answer has the id answer, and the gold answer has the id gold.")
    system = None if record.get("system") is None else read_id(record, "system", place)
    if kind == "document" and system is not None:
        hint = "A document belongs to the collection, whatever the system: leave the system out. A passage has one."
        raise KaratError(f"the document {shown(name)} has the system {shown(system)}", place=place, hint=hint)
    rank = as_count(record.get("rank"), 1, LARGEST)
    if rank is None and record.get("rank") is not None:
        what = f"the rank {shown(record['rank'])} is not a whole number from 1 to {LARGEST:,}"
        raise KaratError(what, place=place)
    if kind == "passage" and rank is None:
        raise KaratError(f"the passage {shown(name)} has no rank", place=place, hint="The first passage has rank 1.")
    text, digest = read_text(record, "text", place), read_text(record, "digest", place)
    of_digest = read_text(record, "of_digest", place)
    cites, removed = _ids(record.get("cites"), "cites", "passages", '["p1", "p3"]', place), record.get("removed")
    if removed is not None and not isinstance(removed, bool):
        raise KaratError(f"the field removed is {shown(removed)}, neither true nor false", place=place)
    if removed and kind == "document":
        raise KaratError("a document cannot be removed", place=place, hint="It belongs to the collection.")
    known = place if place.source else None
    return Item(query, name, kind, system, of, text, rank, cites, importance, digest, known, bool(removed), of_digest)  # type: ignore[arg-type]  # just checked


def read_id(record: Mapping[str, Any], field: str, place: Place) -> str:
    """A field that must be an id: a text that is not empty, or a number."""
    value = record.get(field)
    if type(value) is str and value:
        if not value.isascii():
            reject_lone_surrogates([value], place)
        return value
    if value is None or (isinstance(value, str) and not value):
        raise KaratError(f"the field {field} is {'missing' if value is None else 'empty'}", place=place)
    return identifier(value, place.inside(field))


def read_text(record: Mapping[str, Any], field: str, place: Place) -> str | None:
    """A field that must be a text, if there is one."""
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise KaratError(f"the field {field} is {shown(value)}, not a text", place=place)
    return value


def read_choice(record: Mapping[str, Any], field: str, choices: tuple[str, ...], place: Place) -> str | None:
    """A field that must be one of a few words, if there is one."""
    value = record.get(field)
    if value is None or (type(value) is str and value in choices):
        return value
    hint = f"{did_you_mean(value, choices)} It is one of {', '.join(choices)}.".strip()
    raise KaratError(f"the field {field} is {shown(value)}", place=place, hint=hint)


def _ids(value: object, field: str, nouns: str, example: str, place: Place) -> tuple[str, ...]:
    """A field that must be a list of ids, if there is one; one that is there twice counts once."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        what = f"the field {field} is {shown(value)}, not a list of {nouns}"
        raise KaratError(what, place=place, hint=f"For example {example}.")
    ids = tuple(dict.fromkeys(identifier(each, place.inside(field)) for each in value))
    reject_lone_surrogates(ids, place)
    return ids


class Call(NamedTuple):
    """What measures, summaries and reports need to know about a call; replies stay in the file: they may be long."""

    key: str
    model: str | None
    prompt: str | None
    """its name and version, such as support/1"""
    state: str
    tokens_in: int | None
    tokens_out: int | None
    error: str | None = None
    reply_start: str | None = None
    """the first 2,000 characters, if the call failed"""
    reply_length: int = 0
    examples: tuple[str, ...] = ()
    """the queries that examples in the prompt were chosen from"""


def read_call(record: Mapping[str, Any], place: Place) -> Call:
    """The call of a record; a wrong field is an error that names it. Only the key is required."""
    settings = record.get("settings")
    if settings is not None and not isinstance(settings, Mapping):
        hint = 'For example {"temperature": 0}.'
        raise KaratError(f"the field settings is {shown(settings)}, not an object", place=place, hint=hint)
    model, prompt, reply, error = (read_text(record, name, place) for name in ("model", "prompt", "reply", "error"))
    tokens_in, tokens_out, _ = (read_count(record, name, place) for name in ("tokens_in", "tokens_out", "verdicts"))
    state = read_choice(record, "state", get_args(CallState), place) or "done"
    examples = _shared(_ids(record.get("examples"), "examples", "queries", '["q1", "q3"]', place))
    call = Call(read_id(record, "key", place), model, prompt, state, tokens_in, tokens_out, error, examples=examples)
    if state == "failed" and reply is not None:
        return call._replace(reply_start=reply[:_REPLY_START], reply_length=len(reply))
    return call


@lru_cache(maxsize=256)
def _shared(ids: tuple[str, ...]) -> tuple[str, ...]:
    """The same ids: those of many calls are equal, and take memory once."""
    return ids


def read_count(record: Mapping[str, Any], field: str, place: Place) -> int | None:
    """A field that must be a whole number from 0, if there is one."""
    value = record.get(field)
    number = as_count(value, 0)
    if number is None and value is not None:
        raise KaratError(f"the field {field} is {shown(value)}, not a whole number from 0", place=place)
    return number


def answered_calls(calls: Iterable[Call]) -> frozenset[str]:
    """The keys of the calls that have a usable reply, some of them in a later try, or whose parts were asked about."""
    return frozenset(call.key for call in calls if call.state in ("done", "too_long"))


def example_queries(calls: Iterable[Call], model: str) -> frozenset[str]:
    """The queries from which examples for a model were chosen: it was shown labels by people, and is not compared."""
    return frozenset(query for call in calls if call.model == model for query in call.examples)
