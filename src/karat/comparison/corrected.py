"""CorrectedDifferences: differences of systems by a model's values, corrected by people for a sample of the queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from karat.comparison.sentences import CORRECTED
from karat.data.caching import cached_property
from karat.errors import enumeration, plural
from karat.options import Correction
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Cell, Mark, Table, note_line, note_text
from karat.registry.combining import before_mean
from karat.scores import Scores
from karat.scores.combining import combination, range_of_terms
from karat.scores.corrected import FEW, check_width, first_line, no_corrections, width_lines
from karat.scores.corrections import CorrectedValue
from karat.scores.summary import notes
from karat.scores.value_texts import check_digits, nonzero_text
from karat.stats import corrected as corrected_for_several

if TYPE_CHECKING:
    from karat.comparison.result import Comparison

_SIGNIFICANT = Mark("*", "significantly different by the corrected values, p below {alpha}", "bold green")


class CorrectedDifference(NamedTuple):
    """The difference of a system from a baseline on a measure, and its p, alone and corrected for several."""

    measure: str
    system: str
    baseline: str
    value: CorrectedValue
    p: float | None = None
    p_corrected: float | None = None


@dataclass(frozen=True, eq=False)
class CorrectedDifferences(Tabular):
    """The corrected differences of a comparison; print it, or read `rows`."""

    comparison: Comparison
    width: float | None = None

    @cached_property
    def rows(self) -> tuple[CorrectedDifference, ...]:
        """A row per measure that people labelled for both systems, and pair of systems."""
        systems, method = self.comparison.systems, self.comparison.method
        found = [
            CorrectedDifference(row.measure, row.system, row.baseline or "", value)
            for row in self.comparison.differences
            if (value := corrected_difference(systems, row.measure, row.system, row.baseline or "")) is not None
        ]
        # With few labels, the interval is that of people alone, and so is p.
        families: dict[str, list[int]] = {}
        for at, row in enumerate(found):
            families.setdefault(method.family_of(row.measure), []).append(at)
        for family in families.values():
            ps = [found[at].value.p() for at in family]
            for at, p, p_corrected in zip(family, ps, corrected_for_several(ps, self._correction), strict=True):
                found[at] = found[at]._replace(p=p, p_corrected=p_corrected)
        return tuple(found)

    @property
    def _correction(self) -> Correction:
        """The correction for several comparisons: Tukey's test has none of its own, and is not that of these values."""
        method = self.comparison.method
        return "holm" if method.correction == "none" and method.test == "tukey" else method.correction

    def _correction_note(self) -> list[str]:
        """How p is corrected, if it is."""
        counts = Counter(self.comparison.method.family_of(row.measure) for row in self.rows)
        if self._correction == "none" or max(counts.values(), default=0) < 2:
            return []
        return [f"p {CORRECTED[self._correction]}{' per measure' if len(counts) > 1 else ''}"]

    def table(self, *, digits: int = DIGITS, with_notes: bool = True) -> Table:
        """A row per measure and pair of systems. The notes are those of the comparison and findings of its systems."""
        digits, level, alpha = check_digits(digits), self.comparison.method.level, self.comparison.method.alpha
        significant = Mark(_SIGNIFICANT.symbol, _SIGNIFICANT.meaning.format(alpha=f"{alpha:g}"), _SIGNIFICANT.style)
        rows = []
        for measure, system, baseline, value, _, p in self.rows:
            ends = value.interval(level)
            difference = "–" if value.mean is None else nonzero_text(value.mean, measure, "+", digits)
            if ends is not None:
                difference += (
                    f" [{nonzero_text(ends[0], measure, '', digits)}, {nonzero_text(ends[1], measure, '', digits)}]"
                )
            alone = [value.by_model, value.by_people]
            cells = [
                Cell(measure),
                Cell(system),
                Cell(baseline),
                Cell(difference, FEW if value.is_marked else None),
                Cell("–" if p is None else f"{p:.4f}", significant if p is not None and p < alpha else None),
                *(Cell("–" if each is None else nonzero_text(each, measure, "+", digits)) for each in alone),
                Cell(f"{value.labelled:,} of {value.total:,}"),
            ]
            rows.append(tuple(cells))
        header = ("measure", "run", "baseline", "corrected difference", "p", "by the model", "by people", "labelled")
        values = [(f"{row.measure}, {row.system} − {row.baseline}", row.value) for row in self.rows]
        needed = width_lines(values, self.width, level)
        lines = (first_line(self.comparison.systems, level), *self._correction_note(), *needed)
        if with_notes:
            lines += tuple(map(note_line, self._notes()))
        return Table(header, tuple(rows), lines, labels=3)

    def records(self) -> list[dict[str, Any]]:
        """A record per row."""
        level = self.comparison.method.level
        records = []
        for measure, system, baseline, value, p, p_corrected in self.rows:
            low, high = value.interval(level) or (None, None)
            records.append(
                {
                    "measure": measure, "system": system, "baseline": baseline, "difference": value.mean,
                    "low": low, "high": high, "p": p, "p_corrected": p_corrected, "model": value.by_model,
                    "people": value.by_people, "labelled": value.labelled, "queries": value.total,
                    "few": value.is_marked,
                }
            )  # fmt: skip
        return records

    def to_dict(self) -> dict[str, Any]:
        """`{"level", "rows": [...], "notes": [...]}`."""
        return {"level": self.comparison.method.level, "rows": self.records(), "notes": self._notes()}

    def _notes(self) -> list[str]:
        """What was left out, and the findings of the systems."""
        without = [name for name, scores in self.comparison.systems.items() if not scores.corrections]
        left_out = [f"{enumeration(without, 'and')} left out: no values of people."] if without else []
        return [*left_out, *self.comparison.notes, *map(note_text, notes(self.comparison.systems))]

    @property
    def contents(self) -> str:
        """How many differences there are."""
        return plural(len(self.rows), "corrected difference")


def corrected_differences(comparison: Comparison, width: float | None = None) -> CorrectedDifferences:
    """The corrected differences of a comparison; an error if people labelled no measure of two systems."""
    result = CorrectedDifferences(comparison, None if width is None else check_width(width))
    if not result.rows:
        raise no_corrections("no two systems have values of people, for the same queries, that could correct them")
    return result


def corrected_difference(
    systems: Mapping[str, Scores], measure: str, system: str, baseline: str
) -> CorrectedValue | None:
    """The difference on a measure; None if people did not label it for both systems."""
    pair = systems[system], systems[baseline]
    if not all(measure in scores.corrections for scores in pair):
        return None
    combine = combination(measure)
    model, people = (
        mine - theirs
        for mine, theirs in (
            [before_mean(scores.values[measure], combine) for scores in pair],
            [before_mean(scores.corrections[measure].people, combine) for scores in pair],
        )
    )
    known = ~np.isnan(model)
    low, high = range_of_terms(measure)
    value = CorrectedValue(measure, model[known], people[known], (low - high, high - low), combine)
    return value if value.labelled else None
