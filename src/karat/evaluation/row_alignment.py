"""Which row of one run is which row of another: by what their inputs hold, in whatever order they stand."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

from karat.documents.document import Document
from karat.errors import KaratError, did_you_mean, shown

if TYPE_CHECKING:
    from karat.evaluation.eval_run_result import EvaluationRunResult

_NAN = ("NaN",)
_SHOWN = 3

# A column of one run and the same column of another, each value as a number that equal values share.
_Codes = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Alignment:
    """For each row of one run its row in the other, and the shared columns that are then the same in both."""

    rows: list[int]
    same: frozenset[str]


def align_rows(
    one: EvaluationRunResult, other: EvaluationRunResult, kept: Sequence[str], on: Sequence[str] | None
) -> Alignment:
    """Pair the rows of two runs that are alike in the columns `on`, equal ones in order of occurrence.

    Without `on`, these are the shared columns that hold the same values in both runs: those not `kept` apart, if any.
    """
    shared = [name for name in one.inputs if name in other.inputs]
    codes = {name: _codes(one.inputs[name], other.inputs[name]) for name in shared}
    if on is not None and shared:
        key = list(check_columns(on, shared, "on"))
    else:
        alike = [name for name in shared if _same_values(*codes[name])]
        # Where all that is alike is to be shown of each run, it still tells which row is which.
        key = [name for name in alike if name not in kept] or alike
    if not key:
        raise _no_key(one, other, shared, on)
    mine, theirs = (list(zip(*(codes[name][run] for name in key), strict=True)) for run in (0, 1))
    rows = _paired(mine, theirs, key, one, other)
    differing = [name for name in shared if name not in kept and name not in key]
    if on is None and differing and len(set(mine)) < len(mine):
        raise _ambiguous(mine, key, differing, one)
    same = (name for name in shared if name not in kept and codes[name][0] == [codes[name][1][row] for row in rows])
    return Alignment(rows, frozenset(same))


def check_columns(asked: Iterable[str], known: Collection[str], option: str) -> tuple[str, ...]:
    """The names that an option gives, if each is a column."""
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise KaratError(f"{option}={shown(asked)} is no list of columns", hint=f"Write {option}=[...].")
    names = tuple(asked)
    for name in names:
        if not isinstance(name, str) or name not in known:
            hint = f"{did_you_mean(str(name), known)} Choose from {', '.join(known)}.".strip()
            raise KaratError(f"{option} names {shown(name)}, which is no such input column", hint=hint)
    return names


def frozen(value: object) -> Hashable:
    """What a value is compared by, whatever it is made of: equal contents, equal keys; NaN equals NaN.

    >>> frozen([{"a": float("nan"), "b": [1]}]) == frozen(({"b": (1.0,), "a": float("nan")},))
    True
    """
    try:
        return _frozen(value)
    except RecursionError:  # it holds itself
        return ("itself", id(value))


def _frozen(value: Any) -> Hashable:
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, Number):
        return _NAN if value != value else value
    if isinstance(value, Document):
        return ("document", _id(value), value.content, _frozen(value.meta), _frozen(value.score))
    if isinstance(value, list | tuple):
        return ("list", *map(_frozen, value))
    if isinstance(value, Mapping):
        return ("mapping", frozenset((_frozen(name), _frozen(each)) for name, each in value.items()))
    if isinstance(value, Set):
        return ("set", frozenset(map(_frozen, value)))
    return _frozen_object(value)


def _frozen_object(value: Any) -> Hashable:
    if isinstance(value, type):
        return value
    if callable(tolist := getattr(value, "tolist", None)):  # an array: the repr of a long one is not all of it
        return _frozen(tolist())
    if is_dataclass(value):
        return (type(value), *(_frozen(getattr(value, field.name)) for field in fields(value) if field.compare))
    try:
        hash(value)
    except Exception:  # a hash may do anything
        contents = getattr(value, "__dict__", None)
        return (type(value), _frozen(contents) if contents else _repr(value))
    return value  # type: ignore[no-any-return]  # it has a hash, and so an equality of its own


def _id(document: Document) -> str | None:
    try:
        return document.id
    except KaratError:  # none can be derived from its metadata, which is compared as well
        return None


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # a repr may do anything
        return object.__repr__(value)


def _codes(mine: Sequence[object], theirs: Sequence[object]) -> _Codes:
    known: dict[Hashable, int] = {}
    one, other = ([known.setdefault(frozen(value), len(known)) for value in column] for column in (mine, theirs))
    return one, other


def _same_values(mine: list[int], theirs: list[int]) -> bool:
    """As often in both; of a run that has fewer rows, all in the other, so that the missing row can be named."""
    fewer, more = sorted((mine, theirs), key=len)
    return Counter(fewer) <= Counter(more)


def _paired(
    mine: Sequence[Hashable],
    theirs: Sequence[Hashable],
    key: Sequence[str],
    one: EvaluationRunResult,
    other: EvaluationRunResult,
) -> list[int]:
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for row, each in enumerate(theirs):
        places[each].append(row)
    rows = []
    for row, each in enumerate(mine):
        if not places[each]:
            raise _alone(one, other, key, row)
        rows.append(places[each].popleft())
    left = min((row for unpaired in places.values() for row in unpaired), default=None)
    if left is not None:
        raise _alone(other, one, key, left)
    return rows


def _alone(run: EvaluationRunResult, lacking: EvaluationRunResult, key: Sequence[str], row: int) -> KaratError:
    values = ", ".join(f"{name}={shown(run.inputs[name][row], 40)}" for name in key[:_SHOWN])
    more = ", …" if len(key) > _SHOWN else ""
    return KaratError(
        f"row {row} (counted from 0) has no counterpart in run {shown(lacking.run_name)}: {values}{more}",
        where=f"run {shown(run.run_name)}",
        hint="Compare runs of the same rows, or name the columns that identify a row with on=[...].",
    )


def _ambiguous(
    rows: Sequence[Hashable], key: Sequence[str], differing: Sequence[str], run: EvaluationRunResult
) -> KaratError:
    first: dict[Hashable, int] = {}
    twice = next(row for row, each in enumerate(rows) if first.setdefault(each, row) != row)
    return KaratError(
        f"rows {first[rows[twice]]} and {twice} (counted from 0) cannot be told apart by {', '.join(key)},"
        f" and the runs differ in {', '.join(differing)}",
        where=f"run {shown(run.run_name)}",
        hint="Name the columns that identify a row with on=[...]; equal rows are then paired in order of occurrence.",
    )


def _no_key(
    one: EvaluationRunResult, other: EvaluationRunResult, shared: Sequence[str], on: Sequence[str] | None
) -> KaratError:
    runs = f"runs {shown(one.run_name)} and {shown(other.run_name)}"
    if not shared:
        return KaratError(
            "they have no input column in common to align_rows their rows by",
            where=runs,
            hint="Give both runs a column that identifies a row.",
        )
    if on is not None:
        return KaratError("on names no column", where=runs, hint="Name those that identify a row, or leave on out.")
    return KaratError(
        f"their rows cannot be aligned: of the input columns {', '.join(shared)}, none holds the same values in both",
        where=runs,
        hint="Name the columns that identify a row with on=[...], and only what may differ in keep_columns=[...].",
    )
