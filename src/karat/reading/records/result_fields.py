"""The fields of results: how they are named in records, by their usual names and by what they contain."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol, Self

from karat.documents.answer import as_gold_answers
from karat.documents.ids import all_text
from karat.errors import KaratError, Place
from karat.reading.columns import ColumnRole, choose
from karat.reading.columns.spellings import SPELLINGS, FieldRole, fitting_columns, is_spelling
from karat.reading.records.first_values import FirstValues
from karat.reading.records.paths import Record
from karat.reading.records.records import field_names

Part = Literal["documents", "answers"]
PARTS: dict[Part, tuple[str, str]] = {"documents": ("truth", "retrieved"), "answers": ("gold_answers", "answer")}
"""The parts of results that can be evaluated, and the two fields that each needs."""
JOINED_FIELDS = {field: (field,) for fields in PARTS.values() for field in fields}
"""The parts if gold and outputs come from different sources: each field is a part of its own."""

ROLES: dict[str, FieldRole] = {
    "query": "record_query", "truth": "truth", "retrieved": "retrieved", "gold_answers": "gold_answers",
    "answer": "answer",
}  # fmt: skip
"""The fields of results, and how they are usually named."""

_ROLES = [ColumnRole(field, spelling, required=False) for field, spelling in ROLES.items()]
AMBIGUOUS = {*SPELLINGS["truth"][0]} & {*SPELLINGS["gold_answers"][0]}
"""names of gold documents, and of gold answers"""


@dataclass(frozen=True)
class ResultFields:
    """The name of each field in the records, the names of all their fields, and notes on names that were guessed."""

    names: dict[str, str]
    present: list[str]
    notes: tuple[str, ...] = ()
    known: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """the names of fields that are in the records or were given, also of those that are not to be read"""
    given: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """the names that the caller gave, by field"""
    others: tuple[str, ...] = ()
    """names that would fit as well as those that were guessed"""


def names_by_field(names: Collection[str], fields: Mapping[str, str] | None = None) -> dict[str, set[str]]:
    """The names that each field of results may have here: that in `fields` if it is there, otherwise the usual ones.

    >>> names_by_field(["qid", "Ground-Truth", "score"])["truth"]
    {'Ground-Truth'}
    """
    fields = fields or {}
    present = {*names, *(name for name in fields.values() if name.partition(".")[0] in names)}
    usual = {field: {name for name in present if is_spelling(name, role)} for field, role in ROLES.items()}
    return usual | {field: {fields[field]} for field in ROLES if fields.get(field) in present}


def list_names(names: Iterable[Any], fields: Mapping[str, str | Sequence[str]]) -> dict[str, set[str]]:
    """The names that the fields with lists may have here: those in `fields`, and the usual ones."""
    lists = {
        field: {name for name in names if is_spelling(name, ROLES[field])}
        for field in ("truth", "retrieved", "gold_answers")
    }
    for field, of_field in fields.items():
        if field in lists:
            lists[field] |= {of_field} if isinstance(of_field, str) else {*of_field}
    return lists  # where a name is usual for both, the last one counts: only texts in quotation marks are lists


def are_results(by_field: Mapping[str, set[str]]) -> bool:
    """Whether records have both fields of a part: gold and retrieved documents, or gold answers and an answer."""
    return any(by_field[gold] and by_field[output] - by_field[gold] for gold, output in PARTS.values())


class Contents(Protocol):
    """The names of the fields of records, and what those with usual names contain."""

    @property
    def names(self) -> Sequence[Any]: ...

    def fits(self, field: str, name: str) -> bool:
        """Whether the values with a usual name of a field are what it should contain."""


class ContentsOfRecords:
    """What records contain, which are iterated over again for each question."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = records
        self.names = _names_in(records)

    def fits(self, field: str, name: str) -> bool:
        """Whether the values with a usual name of a field are what it should contain."""
        return _first_values(field, name, self._records).are_expected


class ContentsOfMost(ContentsOfRecords):
    """What most records contain: a few values of another kind are mistakes, if no name has a field in all records."""

    def fits(self, field: str, name: str) -> bool:
        """Whether the values with a usual name of a field, or most of them, are what it should contain."""
        usual = [(each, other) for each, role in ROLES.items() for other in self.names if is_spelling(other, role)]
        if super().fits(field, name):
            return True
        if any(super(ContentsOfMost, self).fits(*each) for each in usual if each[0] == field or each[1] == name):
            return False
        values = [value for record in self._records if (value := record.get(name)) is not None]
        return 2 * sum(is_expected(field, name, value) for value in values) > len(values)


class MergeableContents(NamedTuple):
    """What records contain, with an answer to every question, so that the records need not be kept."""

    names: tuple[Any, ...]
    values: Mapping[tuple[str, str], FirstValues]
    """by field and name"""

    @classmethod
    def of(cls, records: Iterable[Record]) -> Self:
        """What the records of one part contain."""
        names = _names_in(records)
        usual = [(field, name) for name in names for field, role in ROLES.items() if is_spelling(name, role)]
        return cls(tuple(names), {each: _first_values(*each, records) for each in usual})

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """What the records of all parts contain, in their order."""
        usual = dict.fromkeys(each for part in parts for each in part.values)
        values = {
            each: FirstValues.merged(part.values[each] for part in parts if each in part.values) for each in usual
        }
        return cls(tuple(dict.fromkeys(name for part in parts for name in part.names)), values)

    def fits(self, field: str, name: str) -> bool:
        """Whether the values with a usual name of a field are what it should contain."""
        return self.values[field, name].are_expected


def _first_values(field: str, name: str, records: Iterable[Record]) -> FirstValues:
    """Whether the values with a usual name of a field are what it should contain."""
    values = (value for record in records if (value := record.get(name)) is not None)
    return FirstValues.of(values, partial(is_expected, field, name))


def _names_in(records: Iterable[Record]) -> list[Any]:
    return list(dict.fromkeys(chain.from_iterable(dict.fromkeys(map(tuple, records)))))


def fields_of_results(
    records: Iterable[Record],
    fields: Mapping[str, str] | None,
    parts: Collection[str],
    place: Place | str,
    needed_by_part: Mapping[Any, tuple[str, ...]] = PARTS,
    outputs: Collection[str] = (),
) -> ResultFields:
    """The names to read in these records, which are iterated over several times; see `choose_fields`."""
    return choose_fields(ContentsOfRecords(records), fields, parts, place, needed_by_part, outputs)


def choose_fields(
    contents: Contents,
    fields: Mapping[str, str] | None,
    parts: Collection[str],
    place: Place | str,
    needed_by_part: Mapping[Any, tuple[str, ...]] = PARTS,
    outputs: Collection[str] = (),
) -> ResultFields:
    """The names to read: those in `fields`, karat's own, and for what has neither, usual names if a part has them all.

    Which records have a field does not matter, as some may lack it. `outputs` are what another source has for these
    queries: `retrieved`, `answer`.
    """
    names = field_names(fields)
    fields = fields or {}
    texts = [name for name in contents.names if isinstance(name, str)]
    known = {field: field for field in ROLES if field in texts and field not in fields.values()}
    known |= {field: name for field, name in fields.items() if field in ROLES}
    fitting = {
        field: fitting_columns(texts, role, {*known.values()}, partial(contents.fits, field))
        for field, role in ROLES.items()
        if field not in known
    }
    _assign_ambiguous_names(fitting, {*known, *outputs})
    choice = choose(
        texts, _ROLES, known, place, "field", fits=lambda role, name: name in fitting[role.name], has=lambda _: True
    )
    all_names, others = choice.columns, [name for guess in choice.guesses for name in guess.others]
    noted = choice
    for part, of_part in needed_by_part.items():
        choice = choice if part in parts else choice.without(of_part)
        is_read = part in parts and all(field in choice.columns for field in of_part)
        noted = noted if is_read else noted.without(of_part)
    return ResultFields({**names, **choice.columns}, texts, noted.note(place), all_names, fields, tuple(others))


def is_expected(field: str, name: str, value: Any) -> bool:
    """Whether a value with a usual name of a field is what it should contain."""
    if field == "query":
        return isinstance(value, str | int) and not isinstance(value, bool)
    if field == "answer":
        return isinstance(value, str)
    if field == "gold_answers":
        return _is_answer_text(value) if name in AMBIGUOUS else _is_gold_answer(value)
    return _is_documents(value)


def _is_documents(value: Any) -> bool:
    """Whether this is a list of documents, or maps documents to numbers."""
    if isinstance(value, Mapping):
        return all(isinstance(number, Real) for number in value.values())
    return isinstance(value, list | tuple)


def _is_answer_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all_text(value))


def _is_gold_answer(value: Any) -> bool:
    try:
        as_gold_answers(value, "")
    except KaratError:
        return False
    return True


def _assign_ambiguous_names(fitting: dict[str, list[str]], known: Collection[str]) -> None:
    """Decide whether names such as `ground_truth`, of lists of texts, are gold documents or gold answers.

    They are the one that has no other name; otherwise, the one whose other field is there. If this does not decide,
    they are neither.
    """
    either = {*fitting.get("truth", ())} & {*fitting.get("gold_answers", ())}
    if not either:
        return
    only = {field: [name for name in fitting[field] if name not in either] for field in ("truth", "gold_answers")}
    if any(only.values()):
        wanted = {field for field in only if not only[field]}
    else:
        beside = {"truth": "retrieved", "gold_answers": "answer"}
        wanted = {field for field, other in beside.items() if other in known or fitting.get(other)}
    fitting |= {field: fitting[field] if wanted == {field} else only[field] for field in only}
