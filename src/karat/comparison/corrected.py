"""CorrectedDifferences: differences of systems by a model's values, corrected by people for a sample of the queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from karat.comparison.sentences import CORRECTED, p_text
from karat.data.caching import cached_property
from karat.errors import KaratError, enumeration, plural
from karat.options import Correction, alpha_text, level_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Cell, Mark, Table, note_line, note_text
from karat.scores import Scores
from karat.scores.combining import combination, range_of_terms
from karat.scores.corrected import FEW, check_width, first_line, no_corrections, width_lines
from karat.scores.corrections import CorrectedValue
from karat.scores.summary import notes
from karat.scores.value_texts import check_digits, nonzero_text
from karat.stats import corrected as corrected_for_several

if TYPE_CHECKING:
    from karat.comparison.result import Comparison

_NOT_OF_GEOMETRIC = "differences of geometric means are not corrected"


class CorrectedDifference(NamedTuple):
    """The difference of a system from a baseline on a measure, and its p, alone and corrected for several."""

    measure: str
    system: str
    baseline: str
    value: CorrectedValue
    p: float | None = None
    p_corrected: float | None = None
    level: float = 0.95
    """of the interval: that of the comparison, or the one that Bonferroni's correction gives"""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the difference; that of people alone if they labelled few queries."""
        return self.value.interval(self.level)


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
        families: dict[str, list[int]] = {}
        for at, row in enumerate(found):
            families.setdefault(method.family_of(row.measure), []).append(at)
        for family in families.values():
            ps = [found[at].value.p() for at in family]
            level = method.criterion(max(1, sum(p is not None for p in ps))).level
            for at, p, p_corrected in zip(family, ps, corrected_for_several(ps, self._correction), strict=True):
                found[at] = found[at]._replace(p=p, p_corrected=p_corrected, level=level)
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
        name = f"p {CORRECTED[self._correction]}{' per measure' if len(counts) > 1 else ''}"
        levels = sorted({row.level for row in self.rows})
        shown = " to ".join(dict.fromkeys(level_text(level, 4) for level in (levels[0], levels[-1])))
        alpha = alpha_text(self.comparison.method.alpha)
        if self._correction == "bonferroni":
            return [f"{name}; intervals are at {shown}: they exclude 0 exactly if it is below {alpha}"]
        return [f"{name}; intervals are not: they exclude 0 exactly if p before the correction is below {alpha}"]

    def table(self, *, digits: int = DIGITS, with_notes: bool = True) -> Table:
        """A row per measure and pair of systems. The notes are those of the comparison and findings of its systems."""
        digits, alpha = check_digits(digits), self.comparison.method.alpha
        meaning = f"significantly different by the corrected values, p below {alpha_text(alpha)}"
        significant = Mark("*", meaning, "bold green")
        two_ps = any(row.p_corrected != row.p for row in self.rows)
        rows = []
        for row in self.rows:
            value, measure = row.value, row.measure
            difference = "–" if value.mean is None else nonzero_text(value.mean, measure, "+", digits)
            if row.interval is not None:
                low, high = (nonzero_text(end, measure, "", digits) for end in row.interval)
                difference += f" [{low}, {high}]"
            is_significant = row.p_corrected is not None and row.p_corrected < alpha
            ps = ["–" if p is None else p_text(p, alpha) for p in (row.p, row.p_corrected)]
            cells = [
                Cell(measure),
                Cell(row.system),
                Cell(row.baseline),
                Cell(difference, FEW if value.is_marked else None),
                *([Cell(ps[0])] if two_ps else []),
                Cell(ps[1], significant if is_significant else None),
                *(
                    Cell("–" if each is None else nonzero_text(each, measure, "+", digits))
                    for each in (value.by_model, value.by_people)
                ),
                Cell(f"{value.labelled:,} of {value.total:,}"),
            ]
            rows.append(tuple(cells))
        p_names = ["p", f"p ({CORRECTED[self._correction].removesuffix('-corrected')})"] if two_ps else ["p"]
        alone = ("by the model", "by people", "labelled")
        header = ("measure", "run", "baseline", "corrected difference", *p_names, *alone)
        values = [(f"{row.measure}, {row.system} − {row.baseline}", row.value) for row in self.rows]
        level = self.comparison.method.level
        needed = width_lines(values, self.width, level)
        lines = (first_line(self.comparison.systems, level), *self._correction_note(), *needed)
        if with_notes:
            lines += tuple(map(note_line, self._notes()))
        return Table(header, tuple(rows), lines, labels=3)

    def records(self) -> list[dict[str, Any]]:
        """A record per row."""
        records = []
        for row in self.rows:
            value = row.value
            low, high = row.interval or (None, None)
            records.append(
                {
                    "measure": row.measure, "system": row.system, "baseline": row.baseline, "difference": value.mean,
                    "low": low, "high": high, "p": row.p, "p_corrected": row.p_corrected, "model": value.by_model,
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
        systems = self.comparison.systems
        without = [name for name, scores in systems.items() if not scores.corrections]
        left_out = [f"{enumeration(without, 'and')} left out: no values of people."] if without else []
        if geometric := _geometric(systems):
            left_out.append(f"{enumeration(geometric, 'and')} left out: {_NOT_OF_GEOMETRIC}.")
        return [*left_out, *self.comparison.notes, *map(note_text, notes(self.comparison.systems))]

    @property
    def contents(self) -> str:
        """How many differences there are."""
        return plural(len(self.rows), "corrected difference")


def corrected_differences(comparison: Comparison, width: float | None = None) -> CorrectedDifferences:
    """The corrected differences of a comparison; an error if people labelled no measure of two systems."""
    result = CorrectedDifferences(comparison, None if width is None else check_width(width))
    if not result.rows and (geometric := _geometric(comparison.systems)):
        raise KaratError(f"{enumeration(geometric, 'and')}: {_NOT_OF_GEOMETRIC}", hint="Use a mean, such as AP.")
    if not result.rows:
        raise no_corrections("no two systems have values of people, for the same queries, that could correct them")
    return result


def _geometric(systems: Mapping[str, Scores]) -> list[str]:
    """The geometric means among the measures that people labelled."""
    measures = dict.fromkeys(measure for scores in systems.values() for measure in scores.corrections)
    return [measure for measure in measures if combination(measure) == "geometric"]


def corrected_difference(
    systems: Mapping[str, Scores], measure: str, system: str, baseline: str
) -> CorrectedValue | None:
    """The difference on a measure; None if people did not label it for both systems, and for geometric means."""
    pair, combine = (systems[system], systems[baseline]), combination(measure)
    if combine == "geometric" or not all(measure in scores.corrections for scores in pair):
        return None
    mine, theirs = pair
    model = mine.values[measure] - theirs.values[measure]
    people = mine.corrections[measure].people - theirs.corrections[measure].people
    known = ~np.isnan(model)
    low, high = range_of_terms(measure)
    value = CorrectedValue(measure, model[known], people[known], (low - high, high - low), combine)
    return value if value.labelled else None
