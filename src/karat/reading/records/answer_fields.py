"""The fields of answers: which of their usual names are read. All records decide, which may be read in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import chain
from typing import NamedTuple, Self

from karat.errors import KaratError, Message, Parameter, Place
from karat.reading.columns import Choice, ColumnRole, Noun, choose
from karat.reading.columns.spellings import find_column
from karat.reading.records.list_texts import ListsAsText
from karat.reading.records.paths import Record, field_value

# In a file of gold answers, their field may also be named answer.
_ROLES = {
    "gold_answers": (ColumnRole("query", "record_query"), ColumnRole("gold_answers", "only_gold_answers", ("answer",))),
    "answer": (ColumnRole("query", "record_query"), ColumnRole("answer", "answer")),
}


class SeenFields(NamedTuple):
    """What has to be known of records to choose the fields that are read."""

    place: Place | str
    """that of the first record"""
    noun: Noun
    first: tuple[str, ...]
    """the names of fields in the first record"""
    usual: tuple[str, ...]
    """the names in any record that are usual ones, in the order in which they appear"""
    filled: frozenset[str]
    """those of them that have a value in any record, and those of the names that the caller gave"""

    @classmethod
    def of(cls, records: Sequence[Record], fields: AnswerFields, place: Place | str, noun: Noun) -> Self:
        """What is known of some records, of which there is at least one."""
        names = [name for name in dict.fromkeys(chain.from_iterable(records)) if isinstance(name, str)]
        usual = [name for name in names if any(find_column([name], role.spelling) for role in fields.roles)]
        given = [(fields.names or {}).get(role.name) for role in fields.roles]
        filled = {
            name
            for name in dict.fromkeys([*usual, *given])
            if name is not None and any(field_value(record, name) is not None for record in records)
        }
        first = tuple(name for name in records[0] if isinstance(name, str))
        return cls(place, noun, first, tuple(usual), frozenset(filled))

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """What is known of the records of all parts, in their order; there is at least one."""
        all_parts = list(parts)
        usual = dict.fromkeys(chain.from_iterable(part.usual for part in all_parts))
        filled = frozenset[str]().union(*(part.filled for part in all_parts))
        return all_parts[0]._replace(usual=tuple(usual), filled=filled)


@dataclass
class AnswerFields:
    """The possible names of the question and of its answer in a source, and what was found out when it was read.

    `field` is `gold_answers` or `answer`. The notes are about names that were guessed.
    """

    field: str
    names: Mapping[str, str] | None
    """the names that the caller gave, by field"""
    source: str
    notes: list[str] = dataclass_field(default_factory=list)
    parses_lists: bool = False
    """whether lists that were written as text are read as lists, if all values in records are such"""
    lists_as_text: ListsAsText = dataclass_field(default_factory=ListsAsText)
    choice: Choice | None = None
    """the names that are read: given if the source is a part of the records, and otherwise chosen when it is read"""
    seen: SeenFields | None = None
    """of the records, once they were read"""

    @property
    def roles(self) -> tuple[ColumnRole, ...]:
        """The question and the answer."""
        return _ROLES[self.field]

    def choose(self, seen: SeenFields) -> Choice:
        """The names of the question and of the answer: those that have a value in any record, or else in the first."""
        place, noun, first, filled = seen.place, seen.noun, seen.first, seen.filled
        with suppress(KaratError):
            return choose(
                seen.usual, self.roles, self.names, place, noun,
                fits=lambda _, name: name in filled, has=filled.__contains__,
            )  # fmt: skip
        return choose(
            first,
            self.roles,
            self.names,
            place,
            noun,
            has=lambda name: name in first or name in filled,
            hint=_rename,
        )

    def use(self, choice: Choice | None, seen: SeenFields) -> Choice:
        """Read these names in all records, of which `seen` is known; chosen here if they are not known yet."""
        self.seen = seen
        self.choice = self.choose(seen) if choice is None else choice
        # Names that are not karat's own, and were not given.
        self.notes[:] = dict.fromkeys([*self.notes, *self.choice.note(self.source)])
        return self.choice


def _rename(missing: Sequence[str]) -> Message:
    other = "it has another name" if len(missing) == 1 else "they have other names"
    return [f"If {other}, use ", Parameter("fields", dict.fromkeys(missing, "...")), "."]
