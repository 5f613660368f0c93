"""Slices: scores by group of queries, such as their length or any property, to see where a system is weak."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.arguments import as_count
from karat.documents.ids import all_text, identifier
from karat.documents.words import separate_cjk_characters
from karat.errors import KaratError, did_you_mean, first_few, list_hint, plural, require, shown
from karat.judged import Floats, Ints
from karat.options import check_level
from karat.output.tables import Cell, Mark, Table, Tabular
from karat.registry.names import format_value
from karat.scores.combining import after_mean, before_mean, combination
from karat.scores.summary import DIGITS, cell_text, check_digits, interval_text, notes
from karat.sources.texts import read_texts
from karat.stats import weak_group

if TYPE_CHECKING:
    from karat.scores import Scores

Value = str | bool | float | None

_NONE, _EMPTY = "(none)", "(empty)"
_BINS = 4
_MAX_DISTINCT = 6  # up to this many different numbers are a group each
_MAX_GROUPS = 50
_MIN_QUERIES = 5  # a group of fewer queries is not tested for weakness
_HINT = 'Use "length", "relevant", {query: value}, a function of the query, or a list or Series of one value per query.'


_WEAKEST = Mark("*", "weakest in its column", "bold red")


@dataclass(frozen=True, eq=False)
class Slices(Tabular):
    """Scores by group, and of all queries; `valueless` queries have no value to group by and are in "(none)"."""

    by: str
    groups: Mapping[str, Scores]
    whole: Scores
    level: float | None = 0.95
    valueless: int = 0

    def to_dict(self) -> dict[str, Any]:
        """`{"by", "level", "groups": [{"group", "queries", "scores": {measure: {"mean", "low", "high"}}}], "all"}`."""
        rows = []
        for label, scores, ends in self._rows:
            values = {name: {"mean": scores.combined(name), "low": e[0], "high": e[1]} for name, e in ends.items()}
            rows.append({"group": label, "queries": len(scores.queries), "scores": values})
        return {"by": self.by, "level": self.level, "groups": rows[:-1], "all": rows[-1]}

    def table(self, digits: int = DIGITS) -> Table:
        """A row per group, with the weakest of each column marked, and a last row for all queries."""
        digits = check_digits(digits)
        weakest = {name: self._weakest(name) for name in self.whole}
        rows = []
        for label, scores, ends in self._rows:
            cells = [Cell(label), Cell(f"{len(scores.queries):,}")]
            for name, value in scores.means.items():
                text = interval_text(value, ends[name], name, digits)
                is_weakest = scores is not self.whole and value is not None and value == weakest[name]
                cells.append(Cell(text, _WEAKEST if is_weakest else None))
            rows.append(tuple(cells))
        return Table((self.by, "queries", *self.whole), tuple(rows), self._notes)

    @cached_property
    def _rows(self) -> list[tuple[str, Scores, dict[str, tuple[float, float] | tuple[None, None]]]]:
        """Each group and all queries, with their intervals; a single value has no interval."""
        rows = []
        for label, scores in (*self.groups.items(), ("all", self.whole)):
            several = [name for name in scores if len(scores.queries) - scores.nulls(name) > 1]
            known = {} if self.level is None else scores.intervals(self.level, measures=several)
            rows.append((label, scores, {name: known.get(name) or (None, None) for name in scores}))
        return rows

    def _weakest(self, name: str) -> float | None:
        """The weakest value of a column; None if all are the same, and for sums, which grow with the group."""
        known = {value for scores in self.groups.values() if (value := scores.combined(name)) is not None}
        if len(known) < 2 or combination(name) == "sum":
            return None
        return min(known) if self.whole.higher_is_better(name) else max(known)

    @cached_property
    def _notes(self) -> tuple[str, ...]:
        lines = [f"{plural(len(self.whole.queries), 'query')} in {plural(len(self.groups), 'group')}"]
        if self.level is not None:
            lines = [f"{lines[0]}, with {100 * self.level:g}% confidence intervals", *self._weakness(1 - self.level)]
        if self.valueless:
            lines.append(f"note: {plural(self.valueless, 'query')} without a value to group by, in {_NONE}.")
        return (*lines, *notes({"": self.whole}))

    def _weakness(self, alpha: float) -> list[str]:
        """Whether a group is significantly weak, by the first measure that is not a sum."""
        name = next((name for name in self.whole if combination(name) != "sum"), "")
        # Sorted, so that the permutations do not depend on the order of the input.
        labels = sorted(self.groups)
        columns = [self.groups[label].column(name)[self.groups[label].by_id] for label in labels] if name else []
        columns = [before_mean(column[~np.isnan(column)], combination(name)) for column in columns]
        sign = 1 if not name or self.whole.higher_is_better(name) else -1
        found = weak_group([sign * column for column in columns], _MIN_QUERIES)
        if found is None:
            return []
        at, p = found
        if p > alpha:
            return [
                f"{name}: no group of {_MIN_QUERIES} or more queries is significantly weaker than the others"
                f" (p = {p:.2g})"
            ]
        others = np.concatenate(columns[:at] + columns[at + 1 :])
        value, against = (
            after_mean(math.fsum(of) / len(of), combination(name), len(of)) for of in (columns[at], others)
        )
        return [
            f"{name} is significantly weaker for {self.by}={labels[at]}: {cell_text(value, name)}"
            f" ({len(columns[at]):,} queries), others {cell_text(against, name)}"
            f" (p = {p:.2g}, corrected for the number of groups)"
        ]


def slices(
    scores: Scores, by: Any, bins: int | Sequence[float] | None = None, queries: Any = None, level: float | None = 0.95
) -> Slices:
    """Scores by group of queries.

    - `by`: "length" (number of words of the query), "relevant" (number of documents of grade 1 or more), a mapping or
      a function from query id to value, or one value per query: a list, an array, a Series. A pandas Series is aligned
      by its index, unless that is the default one, from 0. Values are texts, numbers, booleans or None.
    - `bins`: the number of ranges that numbers are grouped into, with about as many queries each; or the edges of the
      ranges, for example `[5, 10]`. By default up to 6 different numbers are a group each, and more are grouped into 4
      ranges.
    - `queries`: for "length", the texts of the queries: `{id: text}`, a file or a data frame. Ids that are texts, and
      results with questions, do not need them.
    - `level`: the confidence level of the intervals; None leaves them out, which is faster for very many queries.

    Groups of numbers are in ascending order, groups of texts in order of appearance, "(none)" is last. "(empty)" is
    the group of the empty text.

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"a": 0, "b": 1}}, {"q": ["a"], "r": ["a", "b"]}, "RR")
    >>> print(slices(scores, {"q": "news", "r": "law"}, level=None))
    group   queries       RR
    ─────────────────────────
    news          1   1.0000
    law           1   0.5000*
    all           2   0.7500
    * weakest in its column
    2 queries in 2 groups
    """
    edges = _read_bins(bins)
    level = None if level is None else check_level(level)
    by_length = isinstance(by, str) and by == "length"
    hint = 'Use by="length", or leave queries out.'
    require(queries is None or by_length, "queries is only used to group by length", hint)
    values = query_values(scores, by, queries)
    labels, group_of_query = _grouped(values, edges)
    groups = {}
    ends = np.cumsum(np.bincount(group_of_query, minlength=len(labels)))
    for label, rows in zip(labels, np.split(np.argsort(group_of_query, kind="stable"), ends)[:-1], strict=True):
        # Findings concern all queries and are shown under the table.
        groups[label] = replace(scores.take(rows), findings=())
    return Slices(name_of_groups(by), groups, scores, level, values.count(None))


def name_of_groups(by: Any) -> str:
    """The name of the property that queries are grouped by, as far as it is known."""
    name = by if isinstance(by, str) else getattr(by, "name", None)
    return name if isinstance(name, str) and name else "group"


def named_groups(by: Any) -> dict[str, Any]:
    """A property that queries are grouped by, by its name; nothing without one."""
    return {} if by is None else {name_of_groups(by): by}


def query_values(scores: Scores, by: Any, texts: Any = None) -> list[Value]:
    """The value that each query is grouped by; `by` and `texts` are the arguments `by` and `queries` of `slices`."""
    if not isinstance(by, str):
        return _one_value_each(scores.queries, by)
    if by == "length":
        return _lengths(scores, texts)
    if by == "relevant":
        return _relevant(scores)
    near = did_you_mean(by, ("length", "relevant"))
    raise KaratError(f"queries cannot be grouped by {shown(by)}", hint=f"{near} {_HINT}".strip())


def _lengths(scores: Scores, texts: Any) -> list[Value]:
    """The number of words of each query, separated by blanks; each Chinese or Japanese character is a word."""
    if texts is not None:
        known = {query: found.text for query, found in read_texts(texts, scores.queries, "queries").items()}
    else:
        known = {**scores.questions} or {query: query for query in scores.queries}
        what = "grouping by length needs the texts of the queries, but only their ids are known"
        is_known = scores.questions or any(len(query.split()) > 1 for query in known)
        require(is_known, what, 'Pass queries={"q1": "how soft is gold"}.')
    return [_length(known[query]) if query in known else None for query in scores.queries]


def _length(text: str) -> float:
    words = separate_cjk_characters(text).split()
    return float(sum(any(map(str.isalnum, word)) for word in words))


def _relevant(scores: Scores) -> list[Value]:
    if scores.evidence is None:
        hint = "Evaluate the documents again: saved scores contain no run data. Or pass by={query: number}."
        raise KaratError("these scores contain no judged documents", hint=hint)
    truth = scores.evidence.truth
    relevant_before = np.append(0.0, np.cumsum(truth.grades >= 1))
    counts = np.diff(relevant_before[truth.offsets]).tolist()
    # Queries that have only answers are not in the ground truth.
    return [counts[truth.positions[query]] if query in truth.positions else None for query in scores.queries]


def _one_value_each(queries: Sequence[str], given: Any) -> list[Value]:
    """One value per query, from a mapping, a function, or anything like a list."""
    # A pandas Series has an index; the default one, from 0, only numbers the rows.
    index = given.index if hasattr(given, "iloc") and hasattr(given, "to_list") else None
    if index is not None and not (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)):
        if not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise KaratError(f"the index of by contains {shown(twice)} twice", hint="Give each query one value.")
        given = given.to_dict()
    values = next((getattr(given, to)() for to in ("to_pylist", "to_list", "tolist") if hasattr(given, to)), given)
    if isinstance(given, Mapping):
        known = given if all_text(given) else {_id(query): value for query, value in given.items()}
        if not any(query in known for query in queries):
            hint = f"The query ids are {first_few(queries)}."
            raise KaratError("by has no value for any of the queries", hint=hint)
        values = [known.get(query) for query in queries]
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        if len(values) != len(queries):
            hint = "Pass one value per query, in the order of scores.queries, or {query: value}."
            what = f"by has {plural(len(values), 'value')} for {plural(len(queries), 'query')}"
            raise KaratError(what, hint=hint)
    elif callable(given):
        values = [given(query) for query in queries]
    else:
        hint = f"{list_hint(given)} {_HINT}".strip()
        raise KaratError(f"by={shown(given)} does not have one value per query", hint=hint)
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
    raise KaratError(f"queries cannot be grouped by {shown(value)}", where=f"query {query}", hint=hint)


def _read_bins(bins: Any) -> int | Floats | None:
    ranges = as_count(bins, 2, _MAX_GROUPS)
    if bins is None or ranges is not None:
        return ranges
    with suppress(TypeError, ValueError, OverflowError):
        edges = np.asarray(bins, np.float64)
        countable = edges.ndim == 1 and 1 <= len(edges) < _MAX_GROUPS
        if countable and np.isfinite(edges).all() and (np.diff(edges) > 0).all():
            return edges
    hint = f"Pass a number of ranges from 2 to {_MAX_GROUPS}, or increasing edges, for example bins=[5, 10, 20]."
    raise KaratError(f"bins={shown(bins)} is neither a number of ranges nor a list of edges", hint=hint)


def _grouped(values: Sequence[Value], bins: int | Floats | None) -> tuple[list[str], Ints]:
    """The labels of the groups, in order, and the index of the group of each query."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if isinstance(value, float)]
    if known and len(numbers) == len(known):
        labels, group_of_known = _ranges(np.array(numbers), bins)
    elif known and bins is not None:
        raise KaratError("bins need numbers, but some values are not numbers", hint="Leave bins out, or use numbers.")
    else:
        texts = [(value or _EMPTY) if isinstance(value, str) else format_value(value) for value in known]
        labels = [label for label in dict.fromkeys(texts) if label != _NONE]
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
    return [*labels, *([_NONE] if without_value else [])], group_of_query


def _ranges(numbers: Floats, bins: int | Floats | None) -> tuple[list[str], Ints]:
    """Groups of numbers: between edges, or of about equal size; equal numbers are in one group."""
    distinct, of_number, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if isinstance(bins, np.ndarray):
        found = np.searchsorted(bins, distinct, side="right")
    elif len(distinct) <= (bins or _MAX_DISTINCT):
        found = np.arange(len(distinct))
    else:
        # Equal numbers go to the range that the middle one of them belongs to.
        found = (2 * np.cumsum(counts) - counts) * (bins or _BINS) // (2 * len(numbers))
    ranges, first, of_distinct = np.unique(found, return_index=True, return_inverse=True)
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
