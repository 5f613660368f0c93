"""Aligning the rows of two runs by the values of their inputs; the rows can be in any order."""

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

# The same column of both runs, with each value as a number; equal values have the same number.
_Codes = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Alignment:
    """The row of the other run for each row of one run, and the columns that are then the same in both."""

    rows: list[int]
    same: frozenset[str]


def align_rows(
    one: EvaluationRunResult, other: EvaluationRunResult, kept: Sequence[str], on: Sequence[str] | None
) -> Alignment:
    """Pair the rows of two runs that have the same values in the columns `on`; equal rows are paired in order.

    Without `on`, the shared columns with the same values in both runs are used, if possible without those in `kept`.
    """
    shared = [name for name in one.inputs if name in other.inputs]
    codes = {name: _codes(one.inputs[name], other.inputs[name]) for name in shared}
    if on is not None and shared:
        key = list(check_columns(on, shared, "on"))
    else:
        same_values = [name for name in shared if _same_values(*codes[name])]
        # If all of these columns are to be shown for each run, they still identify the rows.
        key = [name for name in same_values if name not in kept] or same_values
    if not key:
        raise _no_key(one, other, shared, on)
    mine, theirs = (list(zip(*(codes[name][run] for name in key), strict=True)) for run in (0, 1))
    rows = _pair_rows(mine, theirs, key, one, other)
    differing = [name for name in shared if name not in kept and name not in key]
    if on is None and differing and len(set(mine)) < len(mine):
        raise _ambiguous_rows(mine, key, differing, one)
    same = (name for name in shared if name not in kept and codes[name][0] == [codes[name][1][row] for row in rows])
    return Alignment(rows, frozenset(same))


def check_columns(columns: Iterable[str], known: Collection[str], option: str) -> tuple[str, ...]:
    """The columns of an option, or an error if one of them is unknown."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise KaratError(f"{option}={shown(columns)} is not a list of columns", hint=f"Write {option}=[...].")
    names = tuple(columns)
    for name in names:
        if not isinstance(name, str) or name not in known:
            near = did_you_mean(name, known)
            hint = f"{near} Choose from {', '.join(known)}.".strip()
            raise KaratError(f"{option}: unknown input column {shown(name)}", hint=hint)
    return names


def hashable(value: object) -> Hashable:
    """A hashable key of any value: values with equal contents have equal keys, and NaN equals NaN.

    >>> hashable([{"a": float("nan"), "b": [1]}]) == hashable(({"b": (1.0,), "a": float("nan")},))
    True
    """
    try:
        return _hashable(value)
    except RecursionError:  # the value contains itself
        return ("itself", id(value))


def _hashable(value: Any) -> Hashable:
    if value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, Number):
        return _NAN if value != value else value
    if isinstance(value, Document):
        return ("document", _id(value), value.content, _hashable(value.meta), _hashable(value.score))
    if isinstance(value, list | tuple):
        return ("list", *map(_hashable, value))
    if isinstance(value, Mapping):
        return ("mapping", frozenset((_hashable(name), _hashable(each)) for name, each in value.items()))
    if isinstance(value, Set):
        return ("set", frozenset(map(_hashable, value)))
    return _hashable_object(value)


def _hashable_object(value: Any) -> Hashable:
    if isinstance(value, type):
        return value
    if callable(tolist := getattr(value, "tolist", None)):  # an array, whose repr may be abbreviated
        return _hashable(tolist())
    if is_dataclass(value):
        return (type(value), *(_hashable(getattr(value, field.name)) for field in fields(value) if field.compare))
    try:
        hash(value)
    except Exception:  # a hash may do anything
        contents = getattr(value, "__dict__", None)
        return (type(value), _hashable(contents) if contents else _repr(value))
    return value  # type: ignore[no-any-return]  # it has a hash, and therefore its own equality


def _id(document: Document) -> str | None:
    try:
        return document.id
    except KaratError:  # no id can be derived from its metadata, which is compared anyway
        return None


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # a repr may do anything
        return object.__repr__(value)


def _codes(mine: Sequence[object], theirs: Sequence[object]) -> _Codes:
    known: dict[Hashable, int] = {}
    one, other = ([known.setdefault(hashable(value), len(known)) for value in column] for column in (mine, theirs))
    return one, other


def _same_values(mine: list[int], theirs: list[int]) -> bool:
    """Whether the other run has all values of the run with fewer rows: an error can then name the missing row."""
    fewer, more = sorted((mine, theirs), key=len)
    return Counter(fewer) <= Counter(more)


def _pair_rows(
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
            raise _unpaired(one, other, key, row)
        rows.append(places[each].popleft())
    left = min((row for unpaired in places.values() for row in unpaired), default=None)
    if left is not None:
        raise _unpaired(other, one, key, left)
    return rows


def _unpaired(run: EvaluationRunResult, lacking: EvaluationRunResult, key: Sequence[str], row: int) -> KaratError:
    values = ", ".join(f"{name}={shown(run.inputs[name][row], 40)}" for name in key[:_SHOWN])
    more = ", …" if len(key) > _SHOWN else ""
    return KaratError(
        f"row {row} (counted from 0) has no counterpart in run {shown(lacking.run_name)}: {values}{more}",
        place=f"run {shown(run.run_name)}",
        hint="Compare runs of the same rows, or name the columns that identify a row with on=[...].",
    )


def _ambiguous_rows(
    rows: Sequence[Hashable], key: Sequence[str], differing: Sequence[str], run: EvaluationRunResult
) -> KaratError:
    first: dict[Hashable, int] = {}
    second = next(row for row, each in enumerate(rows) if first.setdefault(each, row) != row)
    return KaratError(
        f"rows {first[rows[second]]} and {second} (counted from 0) are equal in {', '.join(key)},"
        f" and the runs differ in {', '.join(differing)}",
        place=f"run {shown(run.run_name)}",
        hint="Name the columns that identify a row with on=[...]; equal rows are then paired in order.",
    )


def _no_key(
    one: EvaluationRunResult, other: EvaluationRunResult, shared: Sequence[str], on: Sequence[str] | None
) -> KaratError:
    runs = f"runs {shown(one.run_name)} and {shown(other.run_name)}"
    if not shared:
        return KaratError(
            "they have no input column in common, so their rows cannot be aligned",
            place=runs,
            hint="Give both runs a column that identifies a row.",
        )
    if on is not None:
        return KaratError("on=[] is empty", place=runs, hint="Name the columns that identify a row, or omit on.")
    return KaratError(
        f"their rows cannot be aligned: none of the input columns {', '.join(shared)} has the same values in both",
        place=runs,
        hint="Name the columns that identify a row with on=[...].",
    )
