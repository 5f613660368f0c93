"""Where a system is weak: its scores by group of queries, such as their length or a column of the user's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.documents.ids import all_text
from karat.documents.words import separate_cjk_characters
from karat.errors import KaratError, did_you_mean, list_hint, shown
from karat.judged import Floats, Ints
from karat.output.tables import Cell, Mark, Table, Tabular
from karat.registry.names import format_value
from karat.scores.combining import after_mean, before_mean, combination, higher_is_better
from karat.scores.summary import cell_text, notes
from karat.stats import weak_group

if TYPE_CHECKING:
    from karat.scores import Scores

Value = str | bool | float | None

_NONE, _EMPTY = "(none)", "(empty)"
_BINS = 4
_SINGLE = 6  # up to so many different numbers are a group each
_MOST = 50
_LEAST = 5  # of fewer queries a group is not called weak
_HINT = (
    'Give "length", "relevant", {query: value}, a function of the query, or a list or Series of one value per query.'
)


_WEAKEST = Mark("*", "the weakest of its column", "bold red")


@dataclass(frozen=True, eq=False)
class Slices(Tabular):
    """Scores by group, and of all queries, of which `valueless` have no value and are in the group "(none)"."""

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

    def table(self) -> Table:
        """A row per group, the weakest of each column marked, and all queries last."""
        weakest = {name: self._weakest(name) for name in self.whole}
        rows = []
        for label, scores, ends in self._rows:
            cells = [Cell(label), Cell(f"{len(scores.queries):,}")]
            for name, value in scores.means.items():
                low, high = (cell_text(end, name) for end in ends[name])
                text = cell_text(value, name) + (f" [{low}, {high}]" if ends[name][0] is not None else "")
                is_weakest = scores is not self.whole and value is not None and value == weakest[name]
                cells.append(Cell(text, _WEAKEST if is_weakest else None))
            rows.append(tuple(cells))
        return Table((self.by, "queries", *self.whole), tuple(rows), self._notes)

    @cached_property
    def _rows(self) -> list[tuple[str, Scores, dict[str, tuple[float, float] | tuple[None, None]]]]:
        """Each group and all queries, with their intervals; of one value there is none."""
        rows = []
        for label, scores in (*self.groups.items(), ("all", self.whole)):
            several = [name for name in scores if len(scores.queries) - scores.nulls(name) > 1]
            known = {} if self.level is None else scores.intervals(self.level, measures=several)
            rows.append((label, scores, {name: known.get(name) or (None, None) for name in scores}))
        return rows

    def _weakest(self, name: str) -> float | None:
        """The weakest value of a column; none where all are the same, and of sums, which grow with their group."""
        known = {value for scores in self.groups.values() if (value := scores.combined(name)) is not None}
        if len(known) < 2 or combination(name) == "sum":
            return None
        return min(known) if higher_is_better(name) else max(known)

    @cached_property
    def _notes(self) -> tuple[str, ...]:
        n, several = len(self.whole.queries), len(self.groups) != 1
        said = [f"{n:,} quer{'y' if n == 1 else 'ies'} in {len(self.groups)} group{'s' if several else ''}"]
        if self.level is not None:
            said = [f"{said[0]}, with {100 * self.level:g}% confidence intervals", *self._weakness(1 - self.level)]
        if self.valueless:
            said.append(f"note: {self.valueless:,} without a value to group by, in {_NONE}.")
        return (*said, *notes({"": self.whole}))

    def _weakness(self, alpha: float) -> list[str]:
        """What can be said of the first measure that is no sum: which group is weak, if that is more than chance."""
        name = next((name for name in self.whole if combination(name) != "sum"), "")
        columns = [scores.column(name) for scores in self.groups.values()] if name else []
        columns = [before_mean(column[~np.isnan(column)], combination(name)) for column in columns]
        found = weak_group([column if higher_is_better(name) else -column for column in columns], _LEAST)
        if found is None:
            return []
        at, p = found
        if p > alpha:
            return [f"{name}: no group of {_LEAST} queries or more is weaker than chance may make one (p = {p:.2g})"]
        others = np.concatenate(columns[:at] + columns[at + 1 :])
        value, against = (
            after_mean(math.fsum(of) / len(of), combination(name), len(of)) for of in (columns[at], others)
        )
        return [
            f"weak on {name}: {self.by} {list(self.groups)[at]} with {cell_text(value, name)}"
            f" ({len(columns[at]):,} queries), against {cell_text(against, name)} of the others"
            f" (p = {p:.2g} that chance makes any group as weak)"
        ]


def slices(
    scores: Scores, by: Any, bins: int | Sequence[float] | None = None, texts: Any = None, level: float | None = 0.95
) -> Slices:
    """Scores by group of queries.

    - `by`: "length" (words of the query), "relevant" (documents of grade 1 or more), a mapping or a function of query
      to value, or one value per query: a list, an array, a Series. A pandas Series goes by its index if that holds the
      ids of all queries, otherwise by position. Values are texts, numbers, true or false, or None.
    - `bins`: how many ranges numbers are put in, of about as many queries each; or the edges of the ranges, as
      `[5, 10]`. Without it up to 6 different numbers are a group each, and more become 4 ranges.
    - `texts`: the texts of the queries for "length", in the same forms, if their ids are not the texts.
    - `level`: of the confidence intervals; None leaves them out, which is quick for very many queries.

    Numbers ascend, texts come in the order they first appear in, "(none)" is last; "(empty)" is the text "".

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"a": 0, "b": 1}}, {"q": ["a"], "r": ["a", "b"]}, "RR")
    >>> print(slices(scores, {"q": "news", "r": "law"}, level=None))
    group   queries       RR
    ─────────────────────────
    news          1   1.0000
    law           1   0.5000*
    all           2   0.7500
    * the weakest of its column
    2 queries in 2 groups
    """
    edges = _read_bins(bins)
    if level is not None:
        scores.intervals(level, measures=())  # refuses a wrong level before anything is grouped
    if texts is not None and not (isinstance(by, str) and by == "length"):
        raise KaratError("texts are for groups by length", hint='Write by="length", or leave texts out.')
    values = _values(scores, by, texts)
    labels, of_query = _grouped(values, edges)
    groups = {}
    ends = np.cumsum(np.bincount(of_query, minlength=len(labels)))
    for label, rows in zip(labels, np.split(np.argsort(of_query, kind="stable"), ends)[:-1], strict=True):
        # What was noticed is of all queries, and shown under the table.
        groups[label] = replace(scores.take(rows), findings=())
    name = by if isinstance(by, str) else getattr(by, "name", None)
    return Slices(name if isinstance(name, str) and name else "group", groups, scores, level, values.count(None))


def _values(scores: Scores, by: Any, texts: Any) -> list[Value]:
    if not isinstance(by, str):
        return _one_each(scores.queries, by, "by")
    if by == "length":
        return _lengths(scores.queries, texts)
    if by == "relevant":
        return _relevant(scores)
    near = did_you_mean(by, ("length", "relevant"))
    raise KaratError(f"by={shown(by)} is nothing to group by", hint=f"{near} {_HINT}".strip())


def _lengths(queries: Sequence[str], texts: Any) -> list[Value]:
    """How many words each query has: what stands between blanks; of Chinese and Japanese, each character."""
    if texts is None and not any(len(query.split()) > 1 for query in queries):
        hint = 'Give texts={"q1": "how soft is gold"}.'
        raise KaratError("the queries are known by their ids alone, and have no length", hint=hint)
    lengths: list[Value] = []
    for query, text in zip(queries, queries if texts is None else _one_each(queries, texts, "texts"), strict=True):
        if not isinstance(text, str | None):
            raise KaratError(f"{shown(text)} is not the text of a query", where=f"query {query}")
        words = separate_cjk_characters(text or "").split()
        lengths.append(None if text is None else float(sum(any(map(str.isalnum, word)) for word in words)))
    return lengths


def _relevant(scores: Scores) -> list[Value]:
    if scores.evidence is None:
        hint = "Evaluate documents again: scores that were saved are numbers alone. Or give by={query: number}."
        raise KaratError("these scores do not hold the judged documents", hint=hint)
    truth = scores.evidence.truth
    up_to = np.append(0.0, np.cumsum(truth.grades >= 1))
    counts = np.diff(up_to[truth.offsets]).tolist()
    # Queries that have answers only are not in the truth.
    return [counts[truth.positions[query]] if query in truth.positions else None for query in scores.queries]


def _one_each(queries: Sequence[str], given: Any, option: str) -> list[Value]:
    """One value per query, from whatever holds them."""
    # The index of a pandas Series may merely count rows, which looks like the ids of a truth of lists.
    if hasattr(given, "iloc") and type(given.index).__name__ != "RangeIndex":
        given = given.to_dict() if set(queries) <= set(map(str, given.index)) else given
    values = next((getattr(given, to)() for to in ("to_pylist", "to_list", "tolist") if hasattr(given, to)), given)
    if isinstance(given, Mapping):
        known = given if all_text(given) else {str(query): value for query, value in given.items()}
        if not any(query in known for query in queries):
            raise KaratError(f"{option} knows none of the queries", hint=f"They are called {', '.join(queries[:3])}, …")
        values = [known.get(query) for query in queries]
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        if len(values) != len(queries):
            hint = "Give one value per query, in the order of scores.queries, or {query: value}."
            raise KaratError(f"{option} has {len(values):,} values for {len(queries):,} queries", hint=hint)
    elif callable(given):
        values = [given(query) for query in queries]
    else:
        raise KaratError(f"{option}={shown(given)} is no value per query", hint=f"{list_hint(given)} {_HINT}".strip())
    return [_plain(value, query) for query, value in zip(queries, values, strict=True)]


def _plain(value: Any, query: str) -> Value:
    """A value as text, truth or number; NaN and pandas' own nulls are None."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str | bool):
        return value
    if type(value).__name__ in ("NoneType", "NAType", "NaTType"):
        return None
    if isinstance(value, Real | Decimal):
        with suppress(OverflowError, ValueError):
            return None if math.isnan(float(value)) else float(value)
    hint = "A value is a text, a number, true or false, or None; write str(...) around others."
    raise KaratError(f"{shown(value)} is nothing to group by", where=f"query {query}", hint=hint)


def _read_bins(bins: Any) -> int | Floats | None:
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool) and 2 <= bins <= _MOST):
        return bins
    with suppress(TypeError, ValueError):
        edges = np.asarray(bins, np.float64)
        if edges.ndim == 1 and 1 <= len(edges) < _MOST and np.isfinite(edges).all() and (np.diff(edges) > 0).all():
            return edges
    hint = f"Give how many, from 2 to {_MOST}, or increasing edges, as bins=[5, 10, 20]."
    raise KaratError(f"bins={shown(bins)} makes no ranges", hint=hint)


def _grouped(values: Sequence[Value], bins: int | Floats | None) -> tuple[list[str], Ints]:
    """The labels of the groups, in order, and which of them each query is in."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if isinstance(value, float)]
    if known and len(numbers) == len(known):
        labels, of_known = _ranges(np.array(numbers), bins)
    elif known and bins is not None:
        raise KaratError("bins are for numbers, and here are others", hint="Leave bins out, or give numbers.")
    else:
        texts = [(value or _EMPTY) if isinstance(value, str) else format_value(value) for value in known]
        labels = [label for label in dict.fromkeys(texts) if label != _NONE]
        # True and false have an order of their own.
        labels = sorted(labels) if all(isinstance(value, bool) for value in known) else labels
        place = {label: at for at, label in enumerate(labels)}
        of_known = np.array([place.get(text, len(labels)) for text in texts], np.int64)
    if len(labels) > _MOST:
        raise KaratError(f"{len(labels):,} groups are too many", hint="Give a coarser column, or numbers and bins.")
    of_query = np.full(len(values), len(labels))
    of_query[[value is not None for value in values]] = of_known
    return [*labels, *[_NONE] * bool((of_query == len(labels)).any())], of_query


def _ranges(numbers: Floats, bins: int | Floats | None) -> tuple[list[str], Ints]:
    """The same of numbers: between edges, or about as many in each range; equal numbers stay together."""
    distinct, of_number, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if isinstance(bins, np.ndarray):
        found = np.searchsorted(bins, distinct, side="right")
    elif len(distinct) <= (bins or _SINGLE):
        found = np.arange(len(distinct))
    else:
        # Those that are equal go where the middle one of them belongs.
        found = (2 * np.cumsum(counts) - counts) * (bins or _BINS) // (2 * len(numbers))
    ranges, first, of_distinct = np.unique(found, return_index=True, return_inverse=True)
    if isinstance(bins, np.ndarray):
        every = _between(bins, whole=bool((np.floor(numbers) == numbers).all() and (np.floor(bins) == bins).all()))
        labels = [every[at] for at in ranges.tolist()]
    else:
        lows, highs = distinct[first].tolist(), distinct[np.append(first[1:], len(distinct)) - 1].tolist()
        text = _written(lows + highs)
        labels = [_span(text[low], text[high]) for low, high in zip(lows, highs, strict=True)]
    return labels, of_distinct[of_number]


def _between(edges: Floats, whole: bool) -> list[str]:
    text = _written([*edges.tolist(), *(edges - 1).tolist()])
    pairs = pairwise(edges.tolist())
    inner = [_span(text[low], text[up - 1]) if whole else f"{text[low]} to < {text[up]}" for low, up in pairs]
    return [f"< {text[edges[0]]}", *inner, f">= {text[edges[-1]]}"]


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}" if low.startswith("-") else f"{low}–{high}"


def _written(numbers: Sequence[float]) -> dict[float, str]:
    """Numbers in few digits, but in so many that different ones look different."""
    for digits in (4, 6, 9):
        texts = {number: format_value(number) if number.is_integer() else f"{number:.{digits}g}" for number in numbers}
        if max(map(abs, numbers)) < 10**digits and len(set(texts.values())) == len(texts):
            return texts
    return {number: format_value(number) for number in numbers}
