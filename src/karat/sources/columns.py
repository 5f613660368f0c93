"""The names of columns and fields: the usual spellings of each, and which columns of a table to read.

This is the only place that knows how other tools name a query, a document, a grade, a score and a rank.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from karat.errors import KaratError, did_you_mean, enumeration, shown

Role = Literal["query", "doc", "grade", "score", "rank"]

# Ids come first: where a table has both `qid` and `query`, the latter is the text of the query.
_SPELLINGS: dict[Role, tuple[str, ...]] = {
    "query": ("qid", "query_id", "queryid", "q_id", "topic_id", "question_id", "query", "topic", "question", "_id"),
    "doc": (
        "docno", "doc_id", "docid", "document_id", "corpus_id", "pid", "passage_id", "did", "doc", "document",
        "passage", "_id", "id",
    ),
    "grade": ("grade", "relevance", "rel", "label", "rating", "judgment", "judgement", "score"),
    "score": ("score", "similarity", "sim", "_score"),
    "rank": ("rank", "position"),
}  # fmt: skip
_MAX_LISTED = 20  # names in a message


@dataclass(frozen=True)
class ReadColumns:
    """The columns to read, by name. With `by_rank`, `number` is a rank: the lowest comes first."""

    query: str
    doc: str
    number: str
    by_rank: bool = False
    guessed: tuple[tuple[Role, str], ...] = ()
    """the columns whose names are not karat's own, and were not given"""

    def note(self, where: str) -> tuple[str, ...]:
        """What was guessed about the columns, as a sentence; nothing if nothing was."""
        if not self.guessed:
            return ()
        (first, name), *others = self.guessed
        texts = [f"{first} is read from the column {shown(name)}", *(f"{role} from {shown(n)}" for role, n in others)]
        return (f"{where}: {enumeration(texts, 'and')}",)


def is_spelling(name: object, role: Role) -> bool:
    """Whether this is a usual name of a column with this content."""
    return isinstance(name, str) and _plain(name) in map(_plain, _SPELLINGS[role])


def find_column(names: Iterable[str], role: Role, used: Container[str | None] = ()) -> str | None:
    """The name of the column for a role, by its usual spellings; None if there is none. Skips columns in `used`."""
    free = {_plain(name): name for name in names if name not in used}
    return next((free[plain] for plain in map(_plain, _SPELLINGS[role]) if plain in free), None)


def columns_to_read(
    names: Sequence[str], number: Literal["grade", "score"], given: Mapping[str, str] | None, where: str
) -> ReadColumns:
    """The columns of a table that contain the query, the document and the number; `given` are names by role.

    A table of a run without scores may have ranks instead. All columns that are missing are named in one error.
    """
    chosen = _checked(given, number)
    found: dict[Role, str | None] = {}
    roles: tuple[Role, ...] = ("query", "doc", number)
    if number == "score" and "score" not in chosen and ("rank" in chosen or find_column(names, "score") is None):
        roles = ("query", "doc", "rank") if "rank" in chosen or find_column(names, "rank") else roles
    for role in roles:
        others = [
            *(chosen[other] for other in roles if other in chosen and other != role),
            *filter(None, found.values()),
        ]
        found[role] = chosen.get(role) if role in chosen else find_column(names, role, others)
    missing = [role for role in roles if found[role] is None or found[role] not in names]
    if missing:
        raise _missing_error(missing, names, chosen, where)
    guessed = tuple((role, name) for role, name in found.items() if name and role not in chosen and name != role)
    query, doc, of_number = (name or "" for name in found.values())
    return ReadColumns(query, doc, of_number, roles[-1] == "rank", guessed)


def _plain(name: str) -> str:
    """A name without differences that do not matter: `Query-ID` is `query_id`."""
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


def _checked(given: Mapping[str, str] | None, number: str) -> dict[Role, str]:
    roles = ("query", "doc", number, *(["rank"] if number == "score" else []))
    checked: dict[Role, str] = {}
    for role, name in (given or {}).items():
        if not isinstance(name, str):
            hint = f"Pass the name of the column for {role} as a string."
            raise KaratError(f"{shown(name)} is not the name of a column", hint=hint)
        if not isinstance(role, str) or role not in roles:
            what = f"{shown(role)} is not one of the columns {enumeration(roles, 'and')}"
            raise KaratError(what, hint="Map them to the names of your columns, for example {'doc': 'docno'}.")
        checked[role] = name  # type: ignore[index]  # it is one of the roles
    return checked


def _missing_error(missing: Sequence[Role], names: Sequence[str], given: Mapping[Role, str], where: str) -> KaratError:
    wanted = [given.get(role, role) for role in missing]
    listed = ", ".join(map(shown, names[:_MAX_LISTED])) or "none"
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    near = " ".join(filter(None, (did_you_mean(name, names) for name in wanted)))
    columns = "column" if len(wanted) == 1 else "columns"
    what = f"no {columns} {enumeration([shown(name) for name in wanted], 'and')}; the columns are {listed}{more}"
    hint = (
        f"{near} If yours have other names, use --column {missing[0]}=NAME (in Python truth_columns= or run_columns=)."
    )
    return KaratError(what, where=where, hint=hint.strip())
