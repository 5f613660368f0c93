"""How queries are grouped: by their length, by how many documents are relevant, or by any value; numbers by ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.data.judged import Floats, Ints
from karat.documents.ids import all_text, identifier
from karat.documents.words import separate_cjk_characters
from karat.errors import (
    KaratError,
    Message,
    Parameter,
    Place,
    did_you_mean,
    first_few,
    plural,
    require,
    shown,
)
from karat.errors.arguments import as_count, list_hint
from karat.reading.texts.texts import FoundTexts, read_texts
from karat.registry.names import format_value

if TYPE_CHECKING:
    from karat.scores import Scores

Value = str | bool | float | None

NONE = "(none)"
"""the group of queries without a value"""
_EMPTY = "(empty)"
_BINS = 4
_MAX_DISTINCT = 6  # up to this many different numbers are a group each
_MAX_GROUPS = 50
_HINT = 'Use "length", "relevant", {query: value}, a function of the query, or a list or Series of one value per query.'


@dataclass(frozen=True)
class QueryColumn:
    """A column of a file, by which queries are grouped: its name, a value per query, and notes on what was read."""

    name: str
    values: Mapping[str, Value]
    notes: tuple[str, ...] = ()


def name_of_groups(by: Any) -> str:
    """The name of the property that queries are grouped by, as far as it is known."""
    name = by if isinstance(by, str) else getattr(by, "name", None)
    return name if isinstance(name, str) and name else "group"


def named_groups(by: Any) -> dict[str, Any]:
    """A property that queries are grouped by, by its name; nothing without one."""
    return {} if by is None else {name_of_groups(by): by}


def query_values(scores: Scores, by: Any, texts: Any = None) -> tuple[list[Value], tuple[str, ...]]:
    """The value that each query is grouped by, and notes on what was read for that.

    `by` and `texts` are the arguments `by` and `queries` of `slices`.
    """
    if isinstance(by, QueryColumn):
        return _one_value_each(scores.queries, by.values), by.notes
    if not isinstance(by, str):
        return _one_value_each(scores.queries, by), ()
    if by == "length":
        return _lengths(scores, texts)
    if by == "relevant":
        return _relevant(scores), ()
    near = did_you_mean(by, ("length", "relevant"))
    raise KaratError(f"queries cannot be grouped by {shown(by)}", hint=f"{near} {_HINT}".strip())


def _lengths(scores: Scores, texts: Any) -> tuple[list[Value], tuple[str, ...]]:
    """The number of words of each query, separated by blanks; each Chinese or Japanese character is a word."""
    notes: tuple[str, ...] = ()
    if texts is not None:
        read = texts if isinstance(texts, FoundTexts) else read_texts(texts, scores.queries, "queries")
        known, notes = {query: entry.text for query, entry in read.items()}, read.notes
    else:
        known = {**scores.questions} or {query: query for query in scores.queries}
        what = "grouping by length needs the texts of the queries, but only their ids are known"
        is_known = scores.questions or any(len(query.split()) > 1 for query in known)
        require(is_known, what, ["Add their texts, such as ", Parameter("queries", "queries.jsonl"), "."])
    return [_length(known[query]) if query in known else None for query in scores.queries], notes


def _length(text: str) -> float:
    words = separate_cjk_characters(text).split()
    return float(sum(any(map(str.isalnum, word)) for word in words))


def _relevant(scores: Scores) -> list[Value]:
    if scores.evidence is None:
        hint = "Evaluate the runs again: saved scores contain no run data. Or give each query a value with "
        raise KaratError("these scores contain no judged documents", hint=[hint, Parameter("by"), "."])
    truth = scores.evidence.truth
    relevant_before = np.append(0.0, np.cumsum(truth.grades >= 1))
    counts = np.diff(relevant_before[truth.offsets]).tolist()
    # Queries that have only answers are not in the ground truth.
    return [counts[truth.positions[query]] if query in truth.positions else None for query in scores.queries]


def _one_value_each(queries: Sequence[str], by: Any) -> list[Value]:
    """One value per query, from a mapping, a function, or anything like a list."""
    # A pandas Series has an index; the default one, from 0, only numbers the rows.
    index = by.index if hasattr(by, "iloc") and hasattr(by, "to_list") else None
    if index is not None and not (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            what: Message = ["the index of ", Parameter("by"), f" contains {shown(twice)} twice"]
            raise KaratError(what, hint="Give each query one value.")
        by = by.to_dict()
    values = next((getattr(by, to)() for to in ("to_pylist", "to_list", "tolist") if hasattr(by, to)), by)
    if isinstance(by, Mapping):
        known = by if all_text(by) else {_id(query): value for query, value in by.items()}
        if not any(query in known for query in queries):
            hint = f"The query ids are {first_few(queries)}."
            raise KaratError([Parameter("by"), " has no value for any of the queries"], hint=hint)
        values = [known.get(query) for query in queries]
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        if len(values) != len(queries):
            hint = "Pass one value per query, in the order of scores.queries, or {query: value}."
            counts = f" has {plural(len(values), 'value')} for {plural(len(queries), 'query')}"
            raise KaratError([Parameter("by"), counts], hint=hint)
    elif callable(by):
        values = [by(query) for query in queries]
    else:
        hint = f"{list_hint(by)} {_HINT}".strip()
        raise KaratError([Parameter("by", by), " does not have one value per query"], hint=hint)
    return [_plain(value, query) for query, value in zip(queries, values, strict=True)]


def _id(query: object) -> str:
    return identifier(query, "by") if isinstance(query, Rational) else str(query)


def _plain(value: Any, query: str) -> Value:
    """A value as text, boolean or float; NaN and the nulls of pandas are None."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bool):
        return value
    if type(value).__name__ in ("NoneType", "NAType", "NaTType"):
        return None
    if isinstance(value, Real | Decimal):
        with suppress(OverflowError, ValueError):
            return None if math.isnan(float(value)) else float(value)
    hint = "Values are strings, numbers, booleans or None. Convert other values with str(...)."
    raise KaratError(f"queries cannot be grouped by {shown(value)}", place=Place("the groups", query=query), hint=hint)


def read_bins(bins: Any) -> int | Floats | None:
    ranges = as_count(bins, 2, _MAX_GROUPS)
    if bins is None or ranges is not None:
        return ranges
    with suppress(TypeError, ValueError, OverflowError):
        edges = np.asarray(bins, np.float64)
        countable = edges.ndim == 1 and 1 <= len(edges) < _MAX_GROUPS
        if countable and np.isfinite(edges).all() and (np.diff(edges) > 0).all():
            return edges
    hint = f"Pass a number of ranges from 2 to {_MAX_GROUPS}, or increasing edges, for example bins=[5, 10, 20]."
    raise KaratError([Parameter("bins", bins), " is neither a number of ranges nor a list of edges"], hint=hint)


def grouped(values: Sequence[Value], bins: int | Floats | None) -> tuple[list[str], Ints]:
    """The labels of the groups, in order, and the index of the group of each query."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if isinstance(value, float)]
    if known and len(numbers) == len(known):
        labels, group_of_known = _ranges(np.array(numbers), bins)
    elif known and bins is not None:
        raise KaratError("bins need numbers, but some values are not numbers", hint="Leave bins out, or use numbers.")
    else:
        texts = [(value or _EMPTY) if isinstance(value, str) else format_value(value) for value in known]
        labels = [label for label in dict.fromkeys(texts) if label != NONE]
        # Booleans are ordered: false, true.
        labels = sorted(labels) if all(isinstance(value, bool) for value in known) else labels
        place = {label: at for at, label in enumerate(labels)}
        group_of_known = np.array([place.get(text, len(labels)) for text in texts], np.int64)
    if len(labels) > _MAX_GROUPS:
        what = f"{len(labels):,} groups are too many: the maximum is {_MAX_GROUPS}"
        raise KaratError(what, hint="Group by something coarser, or by numbers with bins.")
    group_of_query = np.full(len(values), len(labels))
    group_of_query[[value is not None for value in values]] = group_of_known
    without_value = bool((group_of_query == len(labels)).any())
    return [*labels, *([NONE] if without_value else [])], group_of_query


def _ranges(numbers: Floats, bins: int | Floats | None) -> tuple[list[str], Ints]:
    """Groups of numbers: between edges, or of about equal size; equal numbers are in one group."""
    distinct, of_number, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if isinstance(bins, np.ndarray):
        range_of_distinct = np.searchsorted(bins, distinct, side="right")
    elif len(distinct) <= (bins or _MAX_DISTINCT):
        range_of_distinct = np.arange(len(distinct))
    else:
        # Equal numbers go to the range that the middle one of them belongs to.
        range_of_distinct = (2 * np.cumsum(counts) - counts) * (bins or _BINS) // (2 * len(numbers))
    ranges, first, of_distinct = np.unique(range_of_distinct, return_index=True, return_inverse=True)
    if isinstance(bins, np.ndarray):
        integers = bool((np.floor(numbers) == numbers).all() and (np.floor(bins) == bins).all())
        every = _edge_labels(bins, integers)
        labels = [every[at] for at in ranges.tolist()]
    else:
        lows, highs = distinct[first].tolist(), distinct[np.append(first[1:], len(distinct)) - 1].tolist()
        text = _number_texts(lows + highs)
        labels = [_span(text[low], text[high]) for low, high in zip(lows, highs, strict=True)]
    return labels, of_distinct[of_number]


def _edge_labels(edges: Floats, integers: bool) -> list[str]:
    text = _number_texts([*edges.tolist(), *(edges - 1).tolist()])
    pairs = pairwise(edges.tolist())
    inner = [_span(text[low], text[up - 1]) if integers else f"{text[low]} to < {text[up]}" for low, up in pairs]
    return [f"< {text[edges[0]]}", *inner, f">= {text[edges[-1]]}"]


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}" if low.startswith("-") else f"{low}–{high}"


def _number_texts(numbers: Sequence[float]) -> dict[float, str]:
    """Numbers with few digits, but enough to distinguish them."""
    for digits in (4, 6, 9):
        texts = {number: format_value(number) if number.is_integer() else f"{number:.{digits}g}" for number in numbers}
        if max(map(abs, numbers)) < 10**digits and len(set(texts.values())) == len(texts):
            return texts
    return {number: format_value(number) for number in numbers}
