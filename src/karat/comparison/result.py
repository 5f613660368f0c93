"""Comparison: every system's mean, its difference to others, how sure both are, and what can be said."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from karat.comparison.alignment import known_system
from karat.comparison.method import Method
from karat.comparison.power import Power
from karat.errors import KaratError
from karat.output.files import written
from karat.output.tables import Table, Tabular, delimited
from karat.registry import Measure
from karat.scores import Scores

if TYPE_CHECKING:
    from karat.analysis.diff import Diff


@dataclass(frozen=True)
class ComparisonRow:
    """A system on a measure, and against a baseline; without one the differences are None.

    p is None where the test cannot say anything, an interval where there is one query alone.
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
    p: float | None = None
    p_corrected: float | None = None
    effect: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """What `compare` found; print it, or read its rows. `systems` are the scores of the queries that were compared."""

    rows: tuple[ComparisonRow, ...]
    systems: Mapping[str, Scores]
    baseline: str | None
    method: Method
    powers: Mapping[tuple[str, str, str], Power]
    notes: tuple[str, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that all systems were compared on."""
        return next(iter(self.systems.values())).queries

    @property
    def measures(self) -> tuple[str, ...]:
        return next(iter(self.systems.values())).measures

    def row(self, measure: str | Measure, system: str | None = None, baseline: str | None = None) -> ComparisonRow:
        """The comparison of a system with a baseline; they need no names where there is one comparison alone."""
        name = self._measure(measure)
        pair = self._pair(system, baseline)
        return next(row for row in self.rows if (row.measure, row.system, row.baseline) == (name, *pair))

    def significant(self, row: ComparisonRow) -> bool:
        """Whether a difference is hardly by chance; not so where ranks, which were tested, and means disagree."""
        if row.baseline is None or row.p_corrected is None:
            return False
        contrary = self.powers[row.measure, row.system, row.baseline].contrary
        return row.p_corrected < self.method.alpha and not contrary

    def power(self, measure: str | Measure, system: str | None = None, baseline: str | None = None) -> Power:
        """What so many queries could show."""
        return self.powers[(self._measure(measure), *self._pair(system, baseline))]

    def queries_needed(
        self, measure: str | Measure, difference: float, system: str | None = None, baseline: str | None = None
    ) -> int | None:
        """How many queries would show a difference, with a power of 0.8; None where nothing tells how they spread."""
        return self.power(measure, system, baseline).needed(difference)

    def diff(
        self,
        measure: str | Measure,
        n: int | None = 10,
        system: str | None = None,
        baseline: str | None = None,
        *,
        losses: bool = False,
    ) -> Diff:
        """The queries that changed most from the baseline to the system, worst losses first, and what moved in them.

        `losses` leaves out what became better.
        """
        from karat.analysis.diff import diff

        name = self._measure(measure)
        mine, theirs = self._pair(system, baseline)
        return diff(self.systems[theirs], self.systems[mine], name, n, (theirs, mine), losses)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What can be said of each comparison, in words."""
        from karat.comparison.sentences import said

        return tuple(said(self, row) for row in self.rows if row.baseline is not None)

    def table(self) -> Table:
        """A row per system, or per pair of systems, for each measure."""
        from karat.comparison.tables import table

        return table(self)

    def to_dict(self) -> dict[str, Any]:
        """`{"rows": [{"measure", "system", "baseline", "mean", "difference", "p", ...}], "power": [...], ...}`."""
        from karat.scores.summary import notes

        detect = self.method.detect
        noticed = [note.removeprefix("note: ") for note in notes(self.systems)]
        return {
            "systems": list(self.systems),
            "baseline": self.baseline,
            "queries": len(self.queries),
            "test": self.method.test,
            "correction": "none" if self.method.test == "tukey" else self.method.correction,
            "family": self.method.family,
            "level": self.method.level,
            "rows": [asdict(row) for row in self.rows],
            "power": [
                dict(zip(("measure", "system", "baseline"), names, strict=True))
                | {"queries": power.queries, "smallest_difference": power.smallest, "contrary": power.contrary}
                | ({} if detect is None else {"difference": detect, "needed": power.needed(detect)})
                for names, power in self.powers.items()
            ],
            "sentences": list(self.sentences),
            "notes": [*self.notes, *noticed],
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The same as JSON, also written to a file if one is named."""
        return written(json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n", path)

    def to_csv(self, path: str | os.PathLike[str] | None = None, delimiter: str = ",") -> str:
        """The rows as CSV, numbers to the last digit."""
        rows = [asdict(row) for row in self.rows]
        return written(delimited(list(rows[0]), [list(row.values()) for row in rows], delimiter), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table in Markdown, and under it what can be said."""
        return written(self.table().markdown(), path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """A booktabs table, a row per system: letters name the systems that it is significantly better than."""
        from karat.comparison.tables import latex

        return written(latex(self), path)

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.systems)} on {', '.join(self.measures)}, {len(self.queries):,} queries>"

    def _measure(self, measure: str | Measure) -> str:
        return next(iter(next(iter(self.systems.values())).only([measure])))

    def _pair(self, system: str | None, baseline: str | None) -> tuple[str, str]:
        """Who is meant to be compared with whom."""
        for name, what in ((system, "system"), (baseline, "baseline")):
            if name is not None:
                known_system(self.systems, name, what)
        there = dict.fromkeys((row.system, row.baseline) for row in self.rows if row.baseline is not None)
        meant = [
            (one, other) for one, other in there
            if (system is None or system == one) and (baseline is None or baseline == other) and other is not None
        ]  # fmt: skip
        if len(meant) == 1:
            return meant[0]
        pairs = ", ".join(f"{one} with {other}" for one, other in there)
        asked = f"{system or 'a system'} with {baseline or 'another'}"
        problem = (
            f"{asked} was not compared" if not meant else f"there are {len(meant)} comparisons, and one is asked for"
        )
        raise KaratError(problem, hint=f'Name them, as system="...", baseline="...": there is {pairs}.')
