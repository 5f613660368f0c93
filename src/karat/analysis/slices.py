"""Slices: scores by group of queries, such as their length or any property, to see where a system is weak."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.analysis.query_groups import NONE, grouped, name_of_groups, query_values, read_bins
from karat.data.caching import cached_property
from karat.errors import Message, Parameter, plural, require
from karat.options import check_level, level_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Cell, Mark, Table, note_line
from karat.registry.combining import after_mean, before_mean
from karat.scores.combining import combination
from karat.scores.summary import POSSIBLE, narrow_intervals, notes, possible_means, with_legend
from karat.scores.value_texts import cell_text, check_digits, interval_text
from karat.stats import weak_group

if TYPE_CHECKING:
    from karat.scores import Scores

_MIN_QUERIES = 5  # a group of fewer queries is not tested for weakness
_WEAKEST = Mark("*", "weakest in its column", "bold red", weak=True)


@dataclass(frozen=True, eq=False)
class Slices(Tabular):
    """Scores by group, and of all queries; `valueless` queries have no value to group by and are in "(none)".

    >>> import karat
    >>> scores = karat.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": ["x", "b"]}, ["RR"])
    >>> slices = scores.slices({"q1": "easy", "q2": "hard"})
    >>> slices.groups["hard"]["RR"], slices.whole["RR"]
    (0.5, 0.75)
    """

    by: str
    groups: Mapping[str, Scores]
    whole: Scores
    level: float | None = 0.95
    valueless: int = 0
    reading: tuple[str, ...] = ()
    """notes on the groups, and on the texts of queries, that were read"""

    def to_dict(self) -> dict[str, Any]:
        """`{"by", "level", "groups": [{"group", "queries", "scores": {measure: {"mean", "low", "high"}}}], "all"}`.

        Measures that lack labels also have `lowest`, `highest` (what the mean could be) and `unknown` (queries).
        """
        rows = []
        for label, scores, ends in self._rows:
            values = {
                name: {"mean": scores.combined(name), "low": e[0], "high": e[1], **self._possible(scores, name)}
                for name, e in ends.items()
            }
            rows.append({"group": label, "queries": len(scores.queries), "scores": values})
        return {"by": self.by, "level": self.level, "groups": rows[:-1], "all": rows[-1]}

    def records(self) -> list[dict[str, object]]:
        """A record per group and measure."""
        return [
            {"group": group["group"], "queries": group["queries"], "measure": measure, **values}
            for group in self.to_dict()["groups"]
            for measure, values in group["scores"].items()
        ]

    def table(self, digits: int = DIGITS) -> Table:
        """A row per group, with the weakest of each column marked, and a last row for all queries."""
        digits = check_digits(digits)
        weakest = {name: self._weakest(name) for name in self.whole}
        lacking = possible_means(self.whole)
        rows = []
        for label, scores, ends in self._rows:
            cells = [Cell(label), Cell(f"{len(scores.queries):,}")]
            possible = possible_means(scores, digits)
            for name, value in scores.means.items():
                text = interval_text(value, ends[name], name, digits)
                is_weakest = scores is not self.whole and value is not None and value == weakest[name]
                cells.append(Cell(text, _WEAKEST if is_weakest else None))
                cells += map(Cell, possible.get(name, ("", "")) if name in lacking else ())
            rows.append(tuple(cells))
        columns = [column for name in self.whole for column in (name, *(POSSIBLE if name in lacking else ()))]
        return Table((self.by, "queries", *columns), tuple(rows), self._notes)

    def _possible(self, scores: Scores, measure: str) -> dict[str, float | None]:
        """What the mean of a measure that lacks labels could be, and how many queries lack them."""
        bounds = scores.label_bounds.get(measure)
        if bounds is None or measure not in possible_means(self.whole):
            return {}
        low, high = bounds.mean
        return {"lowest": low, "highest": high, "unknown": int(bounds.unknown.sum())}

    @cached_property
    def _rows(self) -> list[tuple[str, Scores, dict[str, tuple[float, float] | tuple[None, None]]]]:
        """Each group and all queries, with their intervals."""
        rows = []
        for label, scores in (*self.groups.items(), ("all", self.whole)):
            known = {} if self.level is None else scores.intervals(self.level)
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
            lines = [f"{lines[0]}, with {level_text(self.level)} confidence intervals"]
        if possible := possible_means(self.whole):
            lines = with_legend(lines[0], possible.values())
        if self.level is not None:
            lines += self._weakness(1 - self.level)
            lines += [note_line(finding.note) for finding in narrow_intervals(self.whole, *self.groups.values())]
        if self.valueless:
            lines.append(f"note: {plural(self.valueless, 'query')} without a value to group by, in {NONE}.")
        reading = (note_line(f"{note}.") for note in self.reading)
        return (*lines, *notes({"": self.whole}, with_possible=False), *reading)

    def _weakness(self, alpha: float) -> list[str]:
        """Whether a group is significantly weak, by the first measure that is not a sum."""
        name = next((name for name in self.whole if combination(name) != "sum"), "")
        # Sorted, so that the permutations do not depend on the order of the input.
        labels = sorted(self.groups)
        columns = [self.groups[label].column(name)[self.groups[label].by_id] for label in labels] if name else []
        columns = [before_mean(column[~np.isnan(column)], combination(name)) for column in columns]
        sign = 1 if not name or self.whole.higher_is_better(name) else -1
        weakest = weak_group([sign * column for column in columns], _MIN_QUERIES)
        if weakest is None:
            return []
        at, p = weakest
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
    edges = read_bins(bins)
    level = None if level is None else check_level(level)
    by_length = isinstance(by, str) and by == "length"
    hint: Message = ["Use ", Parameter("by", "length"), ", or leave ", Parameter("queries"), " out."]
    require(queries is None or by_length, [Parameter("queries"), " is only used to group by length"], hint)
    values, reading = query_values(scores, by, queries)
    labels, group_of_query = grouped(values, edges)
    groups = {}
    ends = np.cumsum(np.bincount(group_of_query, minlength=len(labels)))
    for label, rows in zip(labels, np.split(np.argsort(group_of_query, kind="stable"), ends)[:-1], strict=True):
        # Findings concern all queries and are shown under the table.
        groups[label] = replace(scores.take(rows), findings=())
    return Slices(name_of_groups(by), groups, scores, level, values.count(None), reading)
