"""Comparison: the means of systems, their differences, and what the tests found."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.comparison.alignment import check_same_truth, check_system
from karat.comparison.method import IntervalMethod, Method
from karat.comparison.power import Power
from karat.data.caching import cached_property
from karat.errors import KaratError, Message, Parameter, plural, printable, require, safe_line, shown
from karat.output.files import write_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Table
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.columns import contents_of
from karat.scores.exports import Reportable, arrow_table, to_pandas, to_polars
from karat.scores.value_texts import check_digits

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from karat.analysis.diff import Diff
    from karat.comparison.slices import ComparisonSlices


_SYSTEMS: Message = [Parameter("system"), " and ", Parameter("baseline")]
_CHOOSE: Message = ["Name them with ", *_SYSTEMS, "."]
_OF_EQUIVALENCE = ("margin", "p_equivalent", "p_equivalent_corrected")
_TEXTS = ("group", "measure", "system", "baseline", "difference_interval")
_COUNTS = ("queries", "wins", "ties", "losses")
_FLAGS = ("higher_is_better",)


@dataclass(frozen=True)
class ComparisonRow:
    """The mean of a system on a measure, and its difference from a baseline.

    `low` and `high` are the confidence interval of the mean, None if fewer than two queries have a value. Without a
    baseline, all fields of the difference are None. `p` is None if the test is undefined, for example because all
    differences are equal. `effect` is the mean of the differences divided by their standard deviation.
    `higher_is_better` is the direction of the measure.

    `difference_low` and `difference_high` are the confidence interval of the difference, None if all differences are
    equal or there are too few queries. `difference_interval` says how it was computed: by inverting the test
    (`randomization`, `t` or `tukey`), so that it excludes 0 exactly if p is below 1 − `difference_level`, or by the BCa
    bootstrap (`bca`). `p_equivalent` is the p-value of equivalence: of the claim that the difference is within
    ±`margin`. It is None if there is no margin, or if the test is undefined.
    """

    measure: str
    system: str
    baseline: str | None
    mean: float | None
    low: float | None
    high: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    difference_level: float | None = None
    difference_interval: IntervalMethod | None = None
    p: float | None = None
    p_corrected: float | None = None
    effect: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    higher_is_better: bool = True
    margin: float | None = None
    p_equivalent: float | None = None
    p_equivalent_corrected: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The measure, the system and the baseline: what the power of a comparison is found by."""
        return self.measure, self.system, self.baseline or ""

    @property
    def is_improvement(self) -> bool:
        """Whether the system is better than the baseline, in the direction of the measure."""
        difference = self.difference or 0.0
        return difference > 0 if self.higher_is_better else difference < 0


class ComparisonExports(Tabular):
    """A comparison as a table, in files and as a data frame."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """A record per row, with the same keys in each."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa

        records = self.records()
        kinds = {
            **dict.fromkeys(records[0], pa.float64()),
            **dict.fromkeys(_TEXTS, pa.string()),
            **dict.fromkeys(_COUNTS, pa.int64()),
            **dict.fromkeys(_FLAGS, pa.bool_()),
        }
        return arrow_table({name: [record[name] for record in records] for name in records[0]}, kinds)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame; what a row does not have, such as the p of a baseline, is NaN.

        Counts of queries are integers, and NA in the row of a baseline.
        """
        frame = to_pandas(self.to_arrow())
        return frame.astype({name: "Int64" for name in _COUNTS if name in frame})

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame."""
        return to_polars(self.to_arrow())


@dataclass(frozen=True, eq=False)
class Comparison(ComparisonExports, Reportable):
    """The result of `compare`: print it, or read its rows. `systems` contains the scores of the compared queries."""

    rows: tuple[ComparisonRow, ...]
    systems: Mapping[str, Scores]
    baseline: str | None
    method: Method
    powers: Mapping[tuple[str, str, str], Power]
    notes: tuple[str, ...]

    @property
    def contents(self) -> str:
        """How many systems, queries and measures are compared."""
        return contents_of(self.systems)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that the systems were compared on."""
        return next(iter(self.systems.values())).queries

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the compared measures."""
        return next(iter(self.systems.values())).measures

    def row(self, measure: str | Measure, system: str | None = None, baseline: str | None = None) -> ComparisonRow:
        """The row of a system and a baseline; both may be left out if there is only one comparison."""
        return self.rows_by_names[(self._measure(measure), *self._pair(system, baseline))]

    @cached_property
    def rows_by_names(self) -> dict[tuple[str, str, str | None], ComparisonRow]:
        """The rows by their measure, system and baseline."""
        return {(row.measure, row.system, row.baseline): row for row in self.rows}

    @property
    def differences(self) -> list[ComparisonRow]:
        """The rows of systems that were compared with a baseline."""
        return [row for row in self.rows if row.baseline is not None]

    def significant(self, row: ComparisonRow) -> bool:
        """Whether a difference is significant.

        It is not significant if Wilcoxon's test, which compares ranks, favours a system that the mean does not favour.
        """
        require(isinstance(row, ComparisonRow), f"{shown(row)} is not a row of a comparison", "Pass one of its rows.")
        if row.baseline is None or row.p_corrected is None:
            return False
        return row.p_corrected < self.method.alpha and not self.powers[row.key].ranks_disagree

    def equivalent(self, row: ComparisonRow) -> bool:
        """Whether a system is shown to be equivalent to its baseline, within the margin of the measure."""
        require(isinstance(row, ComparisonRow), f"{shown(row)} is not a row of a comparison", "Pass one of its rows.")
        return row.p_equivalent_corrected is not None and row.p_equivalent_corrected < self.method.alpha

    def power(self, measure: str | Measure, system: str | None = None, baseline: str | None = None) -> Power:
        """The statistical power of a comparison, for example its minimum detectable difference."""
        return self.powers[(self._measure(measure), *self._pair(system, baseline))]

    def queries_needed(
        self, measure: str | Measure, difference: float, system: str | None = None, baseline: str | None = None
    ) -> int | None:
        """How many queries are needed to detect a difference with power 0.8; None if that cannot be estimated."""
        return self.power(measure, system, baseline).queries_needed(difference)

    def pairs(self, system: str | None = None, baseline: str | None = None) -> list[tuple[str, str]]:
        """The systems that were compared, each after its baseline; only those of these names, if they are given."""
        for name, role in ((system, "system"), (baseline, "baseline")):
            if name is not None:
                check_system(self.systems, name, role)
        pairs = {(row.baseline, row.system): None for row in self.rows if row.baseline is not None}
        matching = [(one, other) for one, other in pairs if system in (None, other) and baseline in (None, one)]
        known = ", ".join(f"{other} with {one}" for one, other in pairs)
        problem = f"{system or 'a system'} was not compared with {baseline or 'another'}"
        require(matching, problem, [*_CHOOSE, f" The comparisons are {known}."])
        return matching

    def diff(
        self,
        measure: str | Measure,
        n: int | None = 10,
        system: str | None = None,
        baseline: str | None = None,
        *,
        losses: bool = False,
        queries: Any = None,
        corpus: Any = None,
    ) -> Diff:
        """The queries that changed most from the baseline to the system, largest losses first, with their documents.

        With `losses=True`, only queries that got worse. `queries` and `corpus` are texts to show, as in
        `Scores.explain`: `{id: text}`, files, records or data frames; results contain theirs.
        """
        from karat.analysis.diff import diff

        name = self._measure(measure)
        mine, theirs = self._pair(system, baseline)
        compared = {system: self.systems[system].only([name]) for system in (theirs, mine)}
        notes = check_same_truth(compared, force=True)  # what differs was accepted when the systems were compared
        before, after = self.systems[theirs], self.systems[mine]
        return diff(before, after, name, n, (theirs, mine), losses, tuple(notes), queries=queries, corpus=corpus)

    def slices(self, by: Any, bins: int | Sequence[float] | None = None, *, queries: Any = None) -> ComparisonSlices:
        """The same comparison within each group of queries, to see where a system is better or worse.

        `by`, `bins` and `queries` define the groups as in `Scores.slices`. The p-values are corrected over all groups.

        >>> from karat import compare, evaluate_runs
        >>> runs = {"one": {f"q{i}": ["x", "a"] for i in range(9)}, "two": {f"q{i}": ["a", "x"] for i in range(9)}}
        >>> comparison = compare(evaluate_runs({f"q{i}": {"a": 1} for i in range(9)}, runs, "RR"))
        >>> slices = comparison.slices({"q0": "news", **{f"q{i}": "law" for i in range(1, 9)}})
        >>> slices.groups["law"].row("RR").p
        0.0078125
        """
        from karat.comparison.slices import compare_groups

        return compare_groups(self, by, bins, queries)

    def plot(
        self,
        kind: str = "differences",
        measure: str | Measure | None = None,
        *,
        system: str | None = None,
        baseline: str | None = None,
        by: Any = None,
        bins: int | Sequence[float] | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> alt.LayerChart | alt.ConcatChart:
        """An altair chart that fits a column of a paper (extra `karat-eval[report]`).

        The kinds are those of `Scores.plot`. `differences` and `scatter` show each system that was compared with a
        baseline, or those that `system` and `baseline` name.
        """
        from karat.report.plots.altair_charts import paper_chart
        from karat.report.plots.kinds import Subject, draw

        pairs = self.pairs(system, baseline)
        grouping = {"by": by, "bins": bins, "queries": queries}
        return paper_chart(draw(kind, Subject(self.systems, measure, pairs, self, grouping, self.method.level)))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The result of each comparison in words."""
        from karat.comparison.sentences import sentence_for

        return tuple(printable(sentence_for(self, row)) for row in self.differences)

    def table(self, digits: int = DIGITS) -> Table:
        """A table with a row for each measure and system, or for each measure and pair of systems."""
        from karat.comparison.tables import table

        digits = check_digits(digits)
        return table(self, digits)

    def to_dict(self) -> dict[str, Any]:
        """`{"rows": [{"measure", "system", "baseline", "mean", "difference", "p", ...}], "power": [...], ...}`."""
        from karat.scores.summary import notes

        detect = self.method.detect
        findings = [note.removeprefix("note: ") for note in notes(self.systems, with_intervals=True)]
        return {
            "systems": list(self.systems),
            "baseline": self.baseline,
            "queries": len(self.queries),
            "test": self.method.test,
            "correction": self.method.correction,
            "family": self.method.family,
            "level": self.method.level,
            "rows": self.records(),
            "power": [
                dict(zip(("measure", "system", "baseline"), names, strict=True))
                | {
                    "queries": power.queries,
                    "comparisons": power.comparisons,
                    "minimum_detectable_difference": power.minimum_detectable_difference,
                    "ranks_disagree": power.ranks_disagree,
                }
                | ({} if detect is None else {"difference": detect, "queries_needed": power.queries_needed(detect)})
                for names, power in self.powers.items()
            ],
            "sentences": list(self.sentences),
            "notes": [*self.notes, *findings],
        }

    def records(self) -> list[dict[str, Any]]:
        """The fields of each row, by name; those of equivalence only if the method has a margin."""
        left_out = () if self.method.equivalence is not None else _OF_EQUIVALENCE
        return [{name: value for name, value in vars(row).items() if name not in left_out} for row in self.rows]

    def to_latex(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:
        """A booktabs table with a row per system; letters mark the systems that it is significantly better than."""
        from karat.comparison.tables import latex

        digits = check_digits(digits)
        return write_text(latex(self, digits), path)

    def _repr_html_(self) -> str:
        """For a notebook: the table, and the differences of the first measure if the extra is installed."""
        from karat.report.plots.pictures import differences_image

        return self.table().html() + differences_image(self)

    def __repr__(self) -> str:
        queries = plural(len(self.queries), "query")
        return safe_line(f"<Comparison of {', '.join(self.systems)} on {', '.join(self.measures)}, {queries}>")

    def _measure(self, measure: str | Measure) -> str:
        return next(iter(self.systems.values())).column_name(measure)

    def _pair(self, system: str | None, baseline: str | None) -> tuple[str, str]:
        """The one comparison of this system with this baseline; None matches any name."""
        pairs = self.pairs(system, baseline)
        if len(pairs) > 1:
            known = ", ".join(f"{other} with {one}" for one, other in self.pairs())
            what = [*_SYSTEMS, f" are ambiguous: {len(pairs)} comparisons match"]
            raise KaratError(what, hint=[*_CHOOSE, f" The comparisons are {known}."])
        ((one, other),) = pairs
        return other, one
