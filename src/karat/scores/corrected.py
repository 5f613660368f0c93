"""CorrectedScores: the means of a model's values corrected by people, beside those of both alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.data.caching import cached_property
from karat.errors import KaratError, Parameter, enumeration, plural
from karat.errors.arguments import as_number
from karat.options import check_level, level_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Cell, Mark, Table, note_text
from karat.scores.corrections import ENOUGH, CorrectedValue
from karat.scores.summary import notes
from karat.scores.value_texts import check_digits, interval_text

if TYPE_CHECKING:
    from karat.scores.scores import Scores

WIDTH = 0.1
"""the width of an interval that is aimed at, if none is given"""
_VERY_FEW = 20
"""with fewer labelled queries, it is said how many are needed"""
FEW = Mark("°", f"fewer than {ENOUGH} queries labelled by people: the interval is that of their labels alone", "dim")


@dataclass(frozen=True, eq=False)
class CorrectedScores(Tabular):
    """The corrected means of systems, with what they are made from; print it, or read `to_dict()`."""

    systems: Mapping[str, Scores]
    level: float
    width: float | None = None
    """the width of an interval for which the needed number of labelled queries is shown"""

    @cached_property
    def values(self) -> dict[str, dict[str, CorrectedValue]]:
        """The corrected value of each measure that has one, by system."""
        return {
            name: {
                measure: CorrectedValue.of(measure, scores.values[measure], correction)
                for measure, correction in scores.corrections.items()
            }
            for name, scores in self.systems.items()
        }

    @property
    def contents(self) -> str:
        """How many values there are."""
        return plural(sum(map(len, self.values.values())), "corrected mean")

    def table(self, *, digits: int = DIGITS, with_notes: bool = True) -> Table:
        """A row per system and measure: corrected, by the model alone, by people alone, and how many queries.

        The notes are the findings of the systems.
        """
        digits, named = check_digits(digits), len(self.systems) > 1
        rows = []
        for name, of_system in self.values.items():
            for measure, value in of_system.items():
                corrected = interval_text(value.mean, value.interval(self.level), measure, digits)
                people = interval_text(value.by_people, value.interval_by_people(self.level), measure, digits)
                cells = [
                    Cell(measure),
                    Cell(corrected, FEW if value.is_marked else None),
                    Cell(interval_text(value.by_model, None, measure, digits)),
                    Cell(people),
                    Cell(f"{value.labelled:,} of {value.total:,}"),
                ]
                rows.append(tuple([Cell(name), *cells] if named else cells))
        header = ("measure", "corrected", "by the model", "by people", "queries labelled by people")
        values = [
            (f"{measure} of {name}" if named else measure, value)
            for name, of_system in self.values.items()
            for measure, value in of_system.items()
        ]
        found = notes(self.systems) if with_notes else []
        lines = (first_line(self.systems, self.level), *width_lines(values, self.width, self.level), *found)
        return Table(("run", *header) if named else header, tuple(rows), lines, labels=2 if named else 1)

    def records(self) -> list[dict[str, Any]]:
        """A record per system and measure."""
        named = len(self.systems) > 1
        return [
            {**({"run": name} if named else {}), "measure": measure, **self._record(value)}
            for name, of_system in self.values.items()
            for measure, value in of_system.items()
        ]

    def _record(self, value: CorrectedValue) -> dict[str, Any]:
        low, high = value.interval(self.level) or (None, None)
        people_low, people_high = value.interval_by_people(self.level) or (None, None)
        return {
            "corrected": value.mean, "low": low, "high": high, "model": value.by_model, "people": value.by_people,
            "people_low": people_low, "people_high": people_high, "labelled": value.labelled, "queries": value.total,
            "weight": value.estimate.weight if value.labelled > 1 else None, "few": value.is_marked,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """`{"level", "people", "model", "corrected": [...], "notes": [...]}`."""
        people, model = judges_of(self.systems)
        found = [*map(note_text, notes(self.systems))]
        return {"level": self.level, "people": people, "model": model, "corrected": self.records(), "notes": found}


def corrected(systems: Mapping[str, Scores], level: float, width: float | None = None) -> CorrectedScores:
    """The corrected means of systems; an error if there are none."""
    with_values = {name: scores for name, scores in systems.items() if scores.corrections}
    if not with_values:
        raise no_corrections("these scores have no values of people that could correct them")
    return CorrectedScores(with_values, check_level(level), None if width is None else check_width(width))


def no_corrections(what: str) -> KaratError:
    """The error if there is nothing to correct with."""
    return KaratError(
        what, hint=["Evaluate with ", Parameter("correct", True), " and labels of people and of a model."]
    )


def check_width(width: object) -> float:
    """A width that an interval can have."""
    number = as_number(width)
    if number is None or not 0 < number < math.inf:
        raise KaratError([Parameter("width", width), " is not the width of an interval"], hint="For example 0.05.")
    return number


def judges_of(systems: Mapping[str, Scores]) -> tuple[str, str]:
    """Who the people and the models are."""
    values = [each for scores in systems.values() for each in scores.corrections.values()]
    people = dict.fromkeys(name for each in values for name in each.by.split(", "))
    models = dict.fromkeys(each.model for each in values)
    return enumeration([*people], "and"), enumeration([*models], "and")


def first_line(systems: Mapping[str, Scores], level: float) -> str:
    """Whose values are corrected by whose, below a table."""
    people, model = judges_of(systems)
    what = f"values by {model}, corrected by {people} for a random sample of the queries"
    return f"{what}; {level_text(level)} confidence intervals"


def width_lines(values: Sequence[tuple[str, CorrectedValue]], width: float | None, level: float) -> list[str]:
    """How many labelled queries an interval of this width needs; said if people labelled few, or if it was asked.

    Each value has a name.
    """
    lines = []
    for name, value in values:
        if width is None and value.labelled >= _VERY_FEW:
            continue
        wanted = WIDTH if width is None else width
        needed = value.queries_needed(wanted, level)
        known = f"note: {name}: people labelled {plural(value.labelled, 'query')}."
        if needed is not None:
            enough = f"about {needed:,} are needed"
        else:
            enough = f"all {value.total:,} would not be enough" if value.labelled > 2 else "more are needed to tell"
        lines.append(f"{known} For an interval of width {wanted:g}, {enough}.")
    return lines
