"""Which columns of a table, or fields of records, contain the query, the document and the number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from karat.errors import KaratError, Place, did_you_mean, enumeration, shown
from karat.sources.spellings import (
    ALIASES,
    SPELLINGS,
    Role,
    find_column,
    fitting_columns,
    is_spelling,
    plain_fields,
    plain_name,
)

Noun = Literal["column", "field"]
"""what a table has, and what a record has"""

# In a record per query, `id` is the id of the query.
_QUERY_OF_RECORD = (*SPELLINGS["query"][0], "query", "id", "_id", *SPELLINGS["query"][1], *ALIASES["query"])
_DOCUMENTS_OF_RECORD = {
    "grade": ("truth", *ALIASES["truth"], "documents", "docs", "passages"),
    "score": ("retrieved", *ALIASES["retrieved"]),
}
MAX_LISTED = 20  # names in a message
_WRONG_ORDER = "are ground truth and run in the wrong order?"
LARGEST_WHOLE = 1 << 53  # beyond, not every whole number is a double


class IfPresent(str):
    """The name of a column, for files that have such a column. Others are read by the usual names; a note says so."""

    __slots__ = ()


class Guess(NamedTuple):
    """A column or field whose name is not karat's own, and was not given; and those that would fit as well."""

    role: str
    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class ReadColumns:
    """The columns or fields to read, by name. With `by_rank`, `number` is a rank: the lowest comes first."""

    query: str
    doc: str
    number: str
    by_rank: bool = False
    guessed: tuple[Guess, ...] = ()
    absent: tuple[str, ...] = ()
    """names that were given for files that have such a column"""
    noun: Noun = "column"

    def note(self, place: Place | str) -> tuple[str, ...]:
        """What was guessed about the columns: one sentence, or none."""
        notes = [absence_note(name, self.noun) for name in self.absent]
        if self.guessed:
            notes.append(guesses_note(self.guessed, self.noun))
        if self.by_rank:
            notes.append(f"documents are ordered by the {self.noun} {shown(self.number)}")
        return (f"{place}: {'; '.join(notes)}",) if notes else ()


def absence_note(name: str, noun: Noun) -> str:
    """What is read if a column or field is not in a file, although other files have it."""
    return f"the {noun} {shown(name)} was not found, so the usual names of {noun}s are used"


def guesses_note(guesses: Sequence[Guess], noun: Noun) -> str:
    """Which columns or fields were guessed, as a sentence.

    >>> guesses_note([Guess("query", "qid", ()), Guess("doc", "docno", ("pid",))], "column")
    "query is read from the column 'qid' and doc from 'docno' rather than 'pid'"
    """
    (first, name, others), *more = guesses
    texts = [f"{first} is read from the {noun} {_instead(name, others)}"]
    return enumeration([*texts, *(f"{role} from {_instead(name, others)}" for role, name, others in more)], "and")


def columns_to_read(
    names: Sequence[str],
    number: Literal["grade", "score"],
    given: Mapping[str, str] | None,
    place: Place | str,
    noun: Noun = "column",
) -> ReadColumns:
    """The columns of a table that contain the query, the document and the number; `given` are names by role.

    A table of a run without scores may have ranks instead. All columns that are missing are named in one error.
    """
    wanted = checked_columns(given, number)
    absent = {role: name for role, name in wanted.items() if isinstance(name, IfPresent) and name not in names}
    chosen = {role: name for role, name in wanted.items() if role not in absent}
    found: dict[Role, str] = {}
    guessed: list[Guess] = []
    roles: tuple[Role, ...] = ("query", "doc", number)
    if number == "score" and "score" not in chosen and ("rank" in chosen or find_column(names, "score") is None):
        roles = ("query", "doc", "rank") if "rank" in chosen or find_column(names, "rank") else roles
    for role in roles:
        used = [*(chosen[other] for other in roles if other in chosen and other != role), *found.values()]
        fitting = [chosen[role]] if role in chosen else fitting_columns(names, role, used)
        if fitting and fitting[0] in names:
            found[role] = fitting[0]
            if role not in chosen and fitting[0] != role:
                guessed.append(Guess(role, fitting[0], tuple(fitting[1:])))
    if missing := [role for role in roles if role not in found]:
        raise _missing_error(missing, names, wanted, place, noun)
    if number == "grade" and "grade" not in chosen and _is_run(names, found["grade"]):
        what = f"the ground truth has ranks and scores, but no {noun} of grades"
        hint = f"This looks like a run: {_WRONG_ORDER} If these scores are grades, use --column truth.grade="
        raise KaratError(what, place=place, hint=f"{hint}{found['grade']} (in Python truth_columns=).")
    query, doc, of_number = (found[role] for role in roles)
    check_unique(found.values(), names, place)
    return ReadColumns(query, doc, of_number, roles[-1] == "rank", tuple(guessed), tuple(absent.values()), noun)


def lists_to_read(
    record: Mapping[str, object], number: Literal["grade", "score"], given: Mapping[str, str] | None
) -> ReadColumns | None:
    """The fields that contain the query and a list of its documents; None if a record has no such list.

    The field of the documents can be given as `doc`.
    """
    chosen = checked_columns(given, number)
    documents = _DOCUMENTS_OF_RECORD[number]
    query = _field(record, chosen.get("query"), _QUERY_OF_RECORD, is_list=False)
    doc = _field(record, chosen.get("doc"), documents, is_list=True)
    if query is None or doc is None:
        return None
    guessed = [Guess("query", query, ())] if query not in ("query", chosen.get("query")) else []
    guessed += [Guess("doc", doc, ())] if doc not in ("documents", documents[0], chosen.get("doc")) else []
    return ReadColumns(query, doc, "", guessed=tuple(guessed), noun="field")


def check_unique(read: Iterable[str], names: Iterable[str], place: Place | str) -> None:
    """Reject a table in which a column that is read has the name of another column."""
    times = Counter(names)
    for name in read:
        if times[name] > 1:
            raise KaratError(f"more than one column {shown(name)}", place=place, hint="Keep one of them.")


def _field(record: Mapping[str, object], given: str | None, usual: Sequence[str], *, is_list: bool) -> str | None:
    """The given field of a record, or the first with a usual name, whose value is a list, or is not."""
    by_plain = {plain_name(name): name for name in reversed([*record])}
    is_given = given is not None and (given in record or not isinstance(given, IfPresent))
    names = [given or ""] if is_given else [by_plain.get(plain_name(name), "") for name in usual]
    return next((name for name in names if name in record and _is_list(record[name]) == is_list), None)


def _is_list(value: object) -> bool:
    return isinstance(value, list | Mapping)


def _instead(name: str, others: Sequence[str]) -> str:
    """A name, and those that were not chosen."""
    return shown(name) + (f" rather than {enumeration([*map(shown, others)], 'or')}" if others else "")


def checked_columns(given: Mapping[str, str] | None, number: str) -> dict[Role, str]:
    """The names of columns that are given, by role; an error if one is not a text, or has another role."""
    roles = ("query", "doc", number, *(["rank"] if number == "score" else []))
    checked: dict[Role, str] = {}
    for role, name in (given or {}).items():
        if not isinstance(name, str):
            hint = f"Pass the name of the column for {shown(role)} as a string."
            raise KaratError(f"{shown(name)} is not the name of a column", hint=hint)
        if not isinstance(role, str) or role not in roles:
            if isinstance(name, IfPresent) and role in get_args(Role):
                continue
            what = f"{shown(role)} is not one of the columns {enumeration(roles, 'and')}"
            raise KaratError(what, hint="Map them to the names of your columns, for example {'doc': 'docno'}.")
        checked[role] = name  # type: ignore[index]  # it is one of the roles
    return checked


def _missing_error(
    missing: Sequence[Role], names: Sequence[str], given: Mapping[Role, str], place: Place | str, noun: Noun
) -> KaratError:
    wanted = [given.get(role, role) for role in missing]
    listed = ", ".join(map(shown, names[:MAX_LISTED])) or "none"
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    near = " ".join(filter(None, (did_you_mean(name, names) for name in wanted)))
    nouns = noun if len(wanted) == 1 else f"{noun}s"
    what = f"no {nouns} {enumeration([shown(name) for name in wanted], 'and')}; the {noun}s are {listed}{more}"
    options = " ".join(f"--column {role}=NAME" for role in missing)
    other = "it has another name" if len(wanted) == 1 else "they have other names"
    hint = f"If {other}, use {options} (in Python truth_columns= or run_columns=)."
    swapped = ""
    if missing[-1] == "score" and _looks_like_truth(names):
        swapped = f"This looks like ground truth: {_WRONG_ORDER}"
    elif missing[-1] == "grade" and _looks_like_run(names):
        swapped = f"This looks like a run: {_WRONG_ORDER}"
    return KaratError(what, place=place, hint=" ".join(filter(None, (near, swapped, hint))))


def _is_run(names: Iterable[str], grade: str) -> bool:
    """Whether a table has scores, which could be grades, and also ranks."""
    return is_spelling(grade, "score") and find_column(names, "rank") is not None


def _looks_like_truth(names: Iterable[str]) -> bool:
    """Whether names include that of grades, or of a list of relevant documents."""
    return any(
        (is_spelling(name, "grade") and not is_spelling(name, "score")) or plain_name(name) in plain_fields("truth")
        for name in names
    )


def _looks_like_run(names: Iterable[str]) -> bool:
    """Whether names include that of ranks, or of a list of retrieved documents, but none of grades."""
    is_run = any(is_spelling(name, "rank") or plain_name(name) in plain_fields("retrieved") for name in names)
    return is_run and not _looks_like_truth(names)
