"""Comparison: the means of systems, their differences, and what the tests found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.comparison.alignment import check_same_truth, check_system
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.comparison.rows import ComparisonExports, ComparisonRow
from karat.data.caching import cached_property
from karat.errors import KaratError, Message, Parameter, plural, printable, require, safe_line, shown
from karat.output.files import write_text
from karat.output.tables import DIGITS, Table, note_text
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.columns import contents_of
from karat.scores.exports import Reportable
from karat.scores.value_texts import check_digits

if TYPE_CHECKING:
    import altair as alt

    from karat.analysis.diff import Diff
    from karat.comparison.corrected import CorrectedDifferences
    from karat.comparison.slices import ComparisonSlices


_SYSTEMS: Message = [Parameter("system"), " and ", Parameter("baseline")]
_OF_EQUIVALENCE = ("margin", "p_equivalent", "p_equivalent_corrected")
_CHOOSE: Message = ["Name them with ", *_SYSTEMS, "."]


@dataclass(frozen=True, eq=False)
class Comparison(ComparisonExports, Reportable):
    """The result of `compare`: print it, or read its rows. `systems` contains the scores of the compared queries.

    >>> from karat import compare, demo, evaluate
    >>> runs = demo.runs()
    >>> systems = {name: evaluate(demo.TRUTH, runs[name], "nDCG@10") for name in ("bm25", "bm25-rm3")}
    >>> comparison = compare(systems, baseline="bm25")
    >>> row = comparison.row("nDCG@10", "bm25-rm3")
    >>> round(row.difference, 4), round(row.p, 4), comparison.significant(row)
    (0.1201, 0.0083, True)
    """

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

    def corrected(self, width: float | None = None) -> CorrectedDifferences:
        """The differences by a model, corrected by people; `width` as in `Scores.corrected`."""
        from karat.comparison.corrected import corrected_differences

        return corrected_differences(self, width)

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
        findings = [*map(note_text, notes(self.systems, with_intervals=True))]
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

        return write_text(latex(self, check_digits(digits)), path)

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
