"""ComparisonSlices: systems compared within each group of queries, to see where one is better or worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.comparison.compute import FEW_DIFFERING, compare_groups_of_queries
from karat.comparison.result import Comparison
from karat.comparison.rows import ComparisonExports, ComparisonRow
from karat.comparison.sentences import sentence_for
from karat.comparison.tables import (
    COLUMNS,
    difference_cells,
    difference_header,
    equivalence_note,
    first_sentences,
    intervals_text,
    method_text,
)
from karat.data.caching import cached_property
from karat.errors import enumeration, plural, printable, require, safe_line
from karat.options import level_text
from karat.output.tables import DIGITS, Cell, Table, note_line, note_text
from karat.registry import Measure
from karat.scores.summary import notes
from karat.scores.value_texts import cell_text, check_digits, nonzero_text

if TYPE_CHECKING:
    import altair as alt

_MIN_QUERIES = 5
"""the queries that a difference is tested with; with fewer, it can never be significant at 0.05"""
_MAX_LISTED = 8


@dataclass(frozen=True, eq=False)
class ComparisonSlices(ComparisonExports):
    """A comparison within each group of queries, and of all queries.

    The p-values of the groups are corrected over all of them. Differences on fewer than 5 queries are not tested:
    their p and their interval are None.

    >>> import karat
    >>> truth = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> old = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"]}
    >>> new = {"q1": ["a"], "q2": ["b"], "q3": ["x", "c"]}
    >>> comparison = karat.evaluate_runs(truth, {"old": old, "new": new}, ["RR"]).compare("old")
    >>> slices = comparison.slices({"q1": "easy", "q2": "easy", "q3": "hard"})
    >>> {group: part.row("RR").difference for group, part in slices.groups.items()}
    {'easy': 0.25, 'hard': -0.5}
    """

    by: str
    groups: Mapping[str, Comparison]
    whole: Comparison
    valueless: int = 0
    """how many queries have no value to group by; they are the group (none)"""
    reading: tuple[str, ...] = ()
    """notes on the groups, and on the texts of queries, that were read"""

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The result of each comparison in words: on all queries, where it is significant, and where it is worse."""
        return tuple(printable(sentence) for sentences in self._by_measure.values() for sentence in sentences)

    @cached_property
    def _by_measure(self) -> dict[str, list[str]]:
        sentences: dict[str, list[str]] = {}
        for sentence, row in zip(self.whole.sentences, self.whole.differences, strict=True):
            sentences.setdefault(row.measure, []).extend([sentence, *self._in_groups(row)])
        return sentences

    def table(self, digits: int = DIGITS) -> Table:
        """A row for each measure, pair of systems and group, and one for all queries."""
        digits = check_digits(digits)
        all_pairs = len({row.baseline for row in self.whole.differences}) > 1
        two_ps = any(row.p != row.p_corrected for _, comparison in self.with_all() for row in comparison.rows)
        columns = ("measure", "run", *(["baseline"] if all_pairs else []), self.by, "queries", "mean", "baseline mean")
        header = (*columns, *difference_header(self.whole, two_ps))
        rows: list[tuple[Cell, ...]] = []
        previous = ["", "", ""]
        for pair in self.whole.differences:
            labels = [pair.measure, pair.system, pair.baseline or ""]
            shown = ["" if labels[: at + 1] == previous[: at + 1] else label for at, label in enumerate(labels)]
            for label, comparison in self.with_all():
                row = comparison.rows_by_names[pair.key]
                baseline = comparison.systems[row.baseline or ""].combined(row.measure)
                texts = [
                    *(shown if all_pairs else shown[:2]), label, f"{comparison.powers[row.key].queries:,}",
                    *(cell_text(mean, row.measure, digits) for mean in (row.mean, baseline)),
                ]  # fmt: skip
                rows.append((*map(Cell, texts), *difference_cells(comparison, row, two_ps, digits)))
                shown = ["", "", ""]
            previous = labels
        first = self.whole.measures[0]
        sentences = first_sentences(self.sentences, first, len(self._by_measure[first]))
        return Table(header, tuple(rows), self._notes, 4 if all_pairs else 3, sentences)

    def plot(
        self,
        kind: str = "differences",
        measure: str | Measure | None = None,
        *,
        system: str | None = None,
        baseline: str | None = None,
    ) -> alt.LayerChart | alt.ConcatChart:
        """An altair chart that fits a column of a paper (extra `karat-eval[report]`).

        `differences` shows the difference in each group, for each system that was compared with a baseline, or those
        that `system` and `baseline` name. `slices` shows the mean of each system in each group. `measure` is the first
        one by default.
        """
        from karat.report.plots.altair_charts import paper_chart
        from karat.report.plots.kinds import draw_groups

        return paper_chart(draw_groups(kind, self, measure, system, baseline))

    def to_dict(self) -> dict[str, Any]:
        """`{"by", "groups": [{"group", "queries", "rows", "power"}], "all": {...}, "sentences", "notes"}`."""
        groups = []
        for label, comparison in self.groups.items():
            document = comparison.to_dict()
            groups.append({"group": label, **{name: document[name] for name in ("queries", "rows", "power")}})
        return {
            "by": self.by,
            "groups": groups,
            "all": self.whole.to_dict(),
            "sentences": list(self.sentences),
            "notes": [*map(note_text, self._notes)],
        }

    def records(self) -> list[dict[str, Any]]:
        """The fields of each row, with its group and the number of queries in it; the last group is all queries."""
        return [
            {"group": label, "queries": len(comparison.queries), **record}
            for label, comparison in self.with_all()
            for record in comparison.records()
        ]

    def __repr__(self) -> str:
        groups = plural(len(self.groups), "group")
        return safe_line(f"<ComparisonSlices of {', '.join(self.whole.systems)} by {self.by}: {groups}>")

    def with_all(self) -> Iterator[tuple[str, Comparison]]:
        """The name and the comparison of each group, and of all queries."""
        yield from self.groups.items()
        yield "all", self.whole

    def _in_groups(self, pair: ComparisonRow) -> list[str]:
        """A sentence per group with a significant difference, and one on the others, which says where it is worse."""
        if not self.whole.powers[pair.key].nonzero:
            return []
        sentences, same, others, worse = [], [], [], []
        for label, comparison in self.groups.items():
            row = comparison.rows_by_names[pair.key]
            if comparison.significant(row):
                sentences.append(sentence_for(comparison, row, f" for {self.by}={label}"))
            elif row.p is not None and not comparison.powers[row.key].nonzero:
                same.append(label)
            elif row.p is not None:
                others.append(label)
                if row.difference and not row.is_improvement:
                    worse.append(f"{label} ({nonzero_text(row.difference, row.measure, '+')})")
        systems = f"{pair.system} and {pair.baseline}"
        if others:
            between = f"{systems} on {pair.measure} for {self.by}={_listed(others)}"
            where_worse = f"; {pair.system} has the worse mean for {_listed(worse)}" if worse else ""
            sentences.append(f"no significant difference between {between}{where_worse}")
        if same:
            sentences.append(f"{systems} have the same {pair.measure} on all queries for {self.by}={_listed(same)}")
        return sentences

    @cached_property
    def _notes(self) -> tuple[str, ...]:
        compared = [*self.groups.values(), self.whole]
        method, measures = self.whole.method, len(self.whole.measures)
        powers = [power for comparison in self.groups.values() for power in comparison.powers.values()]
        queries = f"{plural(len(self.whole.queries), 'query')} in {plural(len(self.groups), 'group')}"
        corrected = max(power.comparisons for power in powers) > 1
        lines = [
            f"{queries}, with {level_text(method.level)} confidence intervals;"
            f" p by {method_text(method, powers, measures)}",
            *intervals_text(compared),
            *(["p of all queries is not corrected over the groups"] if corrected else []),
            COLUMNS,
            *equivalence_note(compared),
        ]
        sizes = {label: len(comparison.queries) for label, comparison in self.groups.items()}
        untested = [f"{label} ({plural(n, 'query')})" for label, n in sizes.items() if n < _MIN_QUERIES]
        hopeless = [label for label, n in sizes.items() if n >= _MIN_QUERIES and _is_hopeless(self.groups[label])]
        if untested:
            lines.append(f"note: not tested, with fewer than {_MIN_QUERIES} queries: {self.by}={_listed(untested)}.")
        if hopeless:
            lines.append(f"note: too few queries differ for any significant result: {self.by}={_listed(hopeless)}.")
        few = [label for label in sizes if label not in hopeless and _has_few(self.groups[label])]
        if few:
            what = f"fewer than {FEW_DIFFERING} queries differ, so intervals may be too narrow"
            lines.append(f"note: {what}: {self.by}={_listed(few)}.")
        if self.valueless:
            lines.append(f"note: {plural(self.valueless, 'query')} without a value to group by, in (none).")
        reading = (note_line(f"{note}.") for note in self.reading)
        return (*lines, *map(note_line, self.whole.notes), *notes(self.whole.systems), *reading)


def compare_groups(
    whole: Comparison, by: Any, bins: int | Sequence[float] | None = None, queries: Any = None
) -> ComparisonSlices:
    """Compare systems within groups of queries, which `by`, `bins` and `queries` define as in `Scores.slices`."""
    from karat.analysis.slices import slices
    from karat.analysis.texts import questions_of

    hint = "Use another test."
    require(whole.method.test != "tukey", "Tukey's test does not correct over groups of queries", hint)
    first = replace(next(iter(whole.systems.values())), questions=questions_of(whole.systems.values()))
    grouped = slices(first, by, bins, queries, None)
    at = {query: row for row, query in enumerate(whole.queries)}
    systems = []
    for of_group in grouped.groups.values():
        rows = [at[query] for query in of_group.queries]
        # Findings concern all queries and are shown under the table.
        systems.append({name: replace(scores.take(rows), findings=()) for name, scores in whole.systems.items()})
    compared = compare_groups_of_queries(whole.method, systems, whole.baseline, _MIN_QUERIES)
    groups = dict(zip(grouped.groups, compared, strict=True))
    return ComparisonSlices(grouped.by, groups, whole, grouped.valueless, grouped.reading)


def _is_hopeless(comparison: Comparison) -> bool:
    """Whether systems differ, but on so few queries that no difference could be significant."""
    differing = [power for power in comparison.powers.values() if power.nonzero]
    return bool(differing) and all(power.minimum_p >= power.p_threshold for power in differing)


def _has_few(comparison: Comparison) -> bool:
    """Whether a difference has an interval although few queries differ."""
    rows = [row for row in comparison.differences if row.difference_interval is not None]
    return any(comparison.powers[row.key].nonzero < FEW_DIFFERING for row in rows)


def _listed(texts: Sequence[str]) -> str:
    if len(texts) > _MAX_LISTED:
        return enumeration([*texts[:_MAX_LISTED], f"{len(texts) - _MAX_LISTED} more"], "and")
    return enumeration(texts, "and")
