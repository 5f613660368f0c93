"""Which column of a table, or field of records, has which role: one chooser for everything that is read.

A reader says which roles it looks for. A column has a role if the caller gives its name, or if it has one of the usual
names (`spellings`). What was guessed is told in a note, and whatever is missing, ambiguous or given twice is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

from karat.errors import KaratError, Message, Place, did_you_mean, enumeration, shown
from karat.reading.columns.spellings import SPELLINGS, AnyRole, fitting_columns

Noun = Literal["column", "field"]
"""what a table has, and what a record has"""

_MAX_LISTED = 20  # names in a message


@dataclass(frozen=True)
class IfPresent:
    """The name of a column, for files that have such a column. Others are read by the usual names; a note says so."""

    name: str


GivenNames = Mapping[str, str | IfPresent]
"""the names of columns or fields that a caller gives, by role"""


@dataclass(frozen=True)
class ColumnRole:
    """What a reader looks for: the name of the role for callers and messages, and the usual names of such columns."""

    name: str
    spelling: AnyRole
    own: tuple[str, ...] = ()
    """names that need no note, besides that of the role"""
    required: bool = True
    shared: bool = False
    """whether a column that is given for another role may have this one, too"""


class Guess(NamedTuple):
    """A column or field whose name is not karat's own, and was not given; and those that would fit as well."""

    role: str
    name: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """The columns that are read, by role, and which of them were guessed."""

    columns: Mapping[str, str]
    guesses: tuple[Guess, ...] = ()
    noun: Noun = "column"

    def without(self, roles: Iterable[str]) -> Self:
        """The same choice, without what was guessed for these roles."""
        dropped = {guess.role for guess in self.guesses} & {*roles}
        columns = {role: name for role, name in self.columns.items() if role not in dropped}
        return replace(self, columns=columns, guesses=tuple(each for each in self.guesses if each.role not in dropped))

    def note(self, place: Place | str) -> tuple[str, ...]:
        """What was guessed: one sentence, or none.

        >>> Choice({}, (Guess("query", "qid"), Guess("doc", "docno", ("pid",)))).note("run.csv")
        ("run.csv: query is read from the column 'qid' and doc from 'docno' rather than 'pid'",)
        """
        if not self.guesses:
            return ()
        (first, name, others), *more = self.guesses
        texts = [f"{first} is read from the {self.noun} {_instead(name, others)}"]
        texts += (f"{role} from {_instead(name, others)}" for role, name, others in more)
        return (f"{place}: {enumeration(texts, 'and')}",)


def choose(
    names: Sequence[str],
    roles: Sequence[ColumnRole],
    by_role: Mapping[str, str] | None,
    place: Place | str,
    noun: Noun = "column",
    *,
    fits: Callable[[ColumnRole, str], bool] = lambda _role, _name: True,
    has: Callable[[str], bool] | None = None,
    hint: Callable[[Sequence[str]], Message] = lambda _missing: "",
) -> Choice:
    """The columns with these roles, of a table or records with these names; `by_role` are names that the caller gives.

    `fits` says whether the content of a column with a usual name fits, and `has` whether there is a column with a given
    name, if that is not one of the names. All columns that are missing are named in one error; `hint` says what to do
    about these roles.

    >>> roles = [ColumnRole("query", "query"), ColumnRole("doc", "doc"), ColumnRole("title", "title", required=False)]
    >>> choose(["qid", "url", "docno"], roles, {"doc": "url"}, "run.csv").columns
    {'query': 'qid', 'doc': 'url'}
    """
    wanted = {role.name: (by_role or {})[role.name] for role in roles if role.name in (by_role or {})}
    _check_distinct(wanted, {role.name for role in roles if role.shared}, place, noun)
    columns: dict[str, str] = {}
    guesses = []
    for role in roles:
        if role.name in wanted:
            name = wanted[role.name]
            if name in names if has is None else has(name):
                columns[role.name] = name
            continue
        used = {*wanted.values(), *columns.values()}
        fitting = fitting_columns(names, role.spelling, used, lambda name, role=role: fits(role, name))  # type: ignore[misc]  # mypy cannot infer a default
        if fitting:
            columns[role.name] = fitting[0]
            if fitting[0] not in (role.name, *role.own):
                guesses.append(Guess(role.name, fitting[0], tuple(fitting[1:])))
    missing = [role.name for role in roles if role.name not in columns and (role.required or role.name in wanted)]
    if missing:
        lacking = [wanted.get(role, role) for role in missing]
        raise missing_columns(lacking, names, place, noun, hint(missing), columns.values())
    check_unique(columns.values(), names, place, noun)
    return Choice(columns, tuple(guesses), noun)


def first_value(holders: Iterable[object], role: AnyRole) -> object:
    """What the first of some records or objects has under a usual name of a role; None if nothing is there."""
    names = SPELLINGS[role][0]
    for holder in holders:
        of = holder.get if isinstance(holder, Mapping) else None
        for name in names:
            value = getattr(holder, name, None) if of is None else of(name)
            if value is not None:
                return value
    return None


def names_present(
    by_role: GivenNames | None, has: Callable[[str], bool], place: Place | str, noun: Noun = "column"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The given names that apply to a file, and notes on those that it does not have, if it need not have them."""
    present: dict[str, str] = {}
    notes = []
    for role, name in (by_role or {}).items():
        if not isinstance(name, IfPresent):
            present[role] = name
        elif has(name.name):
            present[role] = name.name
        else:
            notes.append(f"{place}: {absence(name.name, noun)}")
    return present, tuple(notes)


def plain_names(by_role: GivenNames | None) -> dict[str, str]:
    """The given names for a source that needs to have them all."""
    return {role: name.name if isinstance(name, IfPresent) else name for role, name in (by_role or {}).items()}


def absence(name: str, noun: Noun) -> str:
    """What is read if a column or field is not in a file, although other files have it."""
    return f"the {noun} {shown(name)} was not found, so the usual names of {noun}s are used"


def check_unique(read: Iterable[str], names: Iterable[str], place: Place | str, noun: Noun = "column") -> None:
    """Reject a table in which a column that is read has the name of another column."""
    times = Counter(names)
    for name in read:
        if times[name] > 1:
            raise KaratError(f"more than one {noun} {shown(name)}", place=place, hint="Keep one of them.")


def missing_columns(
    wanted: Sequence[str],
    names: Sequence[str],
    place: Place | str,
    noun: Noun = "column",
    hint: Message = "",
    used: Collection[str] = (),
) -> KaratError:
    """The error for columns or fields that are not there: it lists those that are, and suggests similar ones.

    Those that are `used` for something else are not suggested.
    """
    nouns = noun if len(wanted) == 1 else f"{noun}s"
    what = f"no {nouns} {enumeration([*map(shown, wanted)], 'and')}; the {noun}s are {listed(names)}"
    near = " ".join(filter(None, (did_you_mean(name, [each for each in names if each not in used]) for name in wanted)))
    return KaratError(what, place=place, hint=[f"{near} ", *([hint] if isinstance(hint, str) else hint)])


def listed(names: Sequence[str], most: int = _MAX_LISTED) -> str:
    """Names of columns in a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(map(shown, names[:most])) or "none") + more


def _check_distinct(by_role: Mapping[str, str], shared: set[str], place: Place | str, noun: Noun) -> None:
    roles: dict[str, str] = {}
    for role, name in by_role.items():
        if role not in shared and (other := roles.setdefault(name, role)) != role:
            what = f"the {noun} {shown(name)} is given for both {other} and {role}"
            raise KaratError(what, place=place, hint=f"Each has a {noun} of its own.")


def _instead(name: str, others: Sequence[str]) -> str:
    """A name, and those that were not chosen."""
    return shown(name) + (f" rather than {enumeration([*map(shown, others)], 'or')}" if others else "")
