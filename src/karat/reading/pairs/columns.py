"""Which columns of ground truth and runs are read: the query, the document and the number, or a list of documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from karat.errors import KaratError, Message, Parameter, Place, enumeration, shown
from karat.reading.columns import Choice, ColumnRole, Guess, Noun, choose
from karat.reading.columns.spellings import Role, find_column, is_spelling

_WRONG_ORDER = "are ground truth and run in the wrong order?"
LARGEST_WHOLE = 1 << 53  # beyond, not every whole number is a double


@dataclass(frozen=True)
class ReadColumns:
    """The columns or fields to read, by name. With `by_rank`, `number` is a rank: the lowest comes first.

    If the documents of a query are a list, `number` is empty, or a list as well.
    """

    query: str
    doc: str
    number: str
    by_rank: bool = False
    guessed: tuple[Guess, ...] = ()
    noun: Noun = "column"

    @property
    def names(self) -> list[str]:
        """The names of the query, the document and the number."""
        return [self.query, self.doc, self.number]

    def note(self, place: Place | str) -> tuple[str, ...]:
        """What was guessed about the columns: one sentence, or none."""
        notes = Choice({}, self.guessed, self.noun).note(place)
        if not self.by_rank:
            return notes
        order = f"documents are ordered by the {self.noun} {shown(self.number)}"
        return (f"{notes[0]}; {order}" if notes else f"{place}: {order}",)


def columns_to_read(
    names: Sequence[str],
    number: Literal["grade", "score", "rank"],
    by_role: Mapping[str, str] | None,
    place: Place | str,
    noun: Noun = "column",
) -> ReadColumns:
    """The columns of a table that contain the query, the document and the number.

    `by_role` are names that the caller gives. A table of a run without scores may have ranks instead.
    """
    wanted = _checked(by_role, number)
    of_number: Role = number
    has_scores = "score" in wanted or ("rank" not in wanted and find_column(names, "score"))
    if number == "score" and not has_scores and ("rank" in wanted or find_column(names, "rank")):
        of_number = "rank"
    roles = [ColumnRole("query", "query"), ColumnRole("doc", "doc"), ColumnRole(of_number, of_number)]
    choice = choose(names, roles, wanted, place, noun, hint=partial(_hint, names, number))
    columns = choice.columns
    if number == "grade" and "grade" not in wanted and _is_run(names, columns["grade"]):
        what = f"the ground truth has ranks and scores, but no {noun} of grades"
        hint = f"This looks like a run: {_WRONG_ORDER} If these scores are grades, use "
        raise KaratError(what, place=place, hint=[hint, Parameter("truth_columns", {"grade": columns["grade"]}), "."])
    query, doc, value = (columns[role.name] for role in roles)
    return ReadColumns(query, doc, value, of_number == "rank", choice.guesses, noun)


def lists_to_read(
    record: Mapping[str, object], number: Literal["grade", "score", "rank"], by_role: Mapping[str, str] | None
) -> ReadColumns | None:
    """The fields of the query and of a list of its documents; None if a record has no such list.

    A field that is called as that of one document, beside its grade or score, contains no list unless it is given.
    """
    lists = [
        name
        for name, value in record.items()
        if isinstance(value, list | Mapping) and (name == (by_role or {}).get("doc") or not is_spelling(name, "doc"))
    ]
    return columns_with_lists([*record], lists, number, by_role, "field") if lists else None


def columns_with_lists(
    names: Sequence[str],
    lists: Collection[str],
    number: Literal["grade", "score", "rank"],
    by_role: Mapping[str, str] | None,
    noun: Noun,
) -> ReadColumns | None:
    """The columns or fields of the query and of a list of its documents; None if no such list is among the `lists`.

    The list of documents can be given as `doc`.
    """
    wanted = _checked(by_role, number)
    own = "truth" if number == "grade" else "retrieved"
    roles = (
        ColumnRole("doc", "truth_list" if number == "grade" else "run_list", (own, "documents"), required=False),
        ColumnRole("query", "list_query", required=False),
    )
    choice = choose(
        names,
        roles,
        {role: name for role, name in wanted.items() if role in ("query", "doc") and name in names},
        "",
        noun,
        fits=lambda role, name: (name in lists) == (role.name == "doc"),
    )
    columns = choice.columns
    is_listed = columns.keys() == {"query", "doc"} and columns["doc"] in lists and columns["query"] not in lists
    if not is_listed or any(wanted.get(role, columns[role]) != columns[role] for role in columns):
        return None
    return ReadColumns(columns["query"], columns["doc"], "", guessed=tuple(reversed(choice.guesses)), noun=noun)


def _checked(by_role: Mapping[str, str] | None, number: str) -> dict[str, str]:
    """The names of columns that are given, by role; an error if one is not a text, or has another role."""
    roles = ("query", "doc", *(["grade"] if number == "grade" else ["score", "rank"]))
    for role, name in (by_role or {}).items():
        if not isinstance(name, str):
            hint = f"Pass the name of the column for {shown(role)} as a string."
            raise KaratError(f"{shown(name)} is not the name of a column", hint=hint)
        if not isinstance(role, str) or role not in roles:
            what = f"{shown(role)} is not one of the columns {enumeration(roles, 'and')}"
            raise KaratError(what, hint="Map them to the names of your columns, for example {'doc': 'docno'}.")
    return dict(by_role or {})


def _hint(names: Sequence[str], number: Literal["grade", "score", "rank"], missing: Sequence[str]) -> Message:
    """What to do if columns are missing."""
    other = "it has another name" if len(missing) == 1 else "they have other names"
    columns = Parameter("truth_columns" if number == "grade" else "run_columns", dict.fromkeys(missing, "NAME"))
    hint = (f"If {other}, use ", columns, ".")
    if missing[-1] == "score" and _looks_like_truth(names):
        return [f"This looks like ground truth: {_WRONG_ORDER} ", *hint]
    if missing[-1] == "grade" and _looks_like_run(names):
        return [f"This looks like a run: {_WRONG_ORDER} ", *hint]
    return hint


def _is_run(names: Iterable[str], grade: str) -> bool:
    """Whether a table has scores, which could be grades, and also ranks."""
    return is_spelling(grade, "score") and find_column(names, "rank") is not None


def _looks_like_truth(names: Iterable[str]) -> bool:
    """Whether names include that of grades, or of a list of relevant documents."""
    return any(
        (is_spelling(name, "grade") and not is_spelling(name, "score")) or is_spelling(name, "truth") for name in names
    )


def _looks_like_run(names: Iterable[str]) -> bool:
    """Whether names include that of ranks, or of a list of retrieved documents, but none of grades."""
    is_run = any(is_spelling(name, "rank") or is_spelling(name, "retrieved") for name in names)
    return is_run and not _looks_like_truth(names)
