"""What a report is about: the scores of its systems, side by side, and their comparison if there is one.

Also numbers as a report embeds them: null for NaN, and texts for infinite ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from karat.comparison import Comparison, Method, compare_with
from karat.comparison.alignment import align_systems, check_finite
from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Message, Parameter, plural, require
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.measures import meanings
from karat.registry import Measure
from karat.scores import Scores
from karat.scores.columns import all_measures

# Values of each query. With more of them, only the first measures are compared: all of them would take minutes.
_MOST_VALUES = 1_000_000
_MOST_COLUMNS = 6  # measures
_DEFAULT_CUTOFF = 10
_UNNAMED = "The system"
LONG_NAME = 100
"""characters of a name; longer ones are shortened"""

Number = int | float | str | None


@dataclass(frozen=True, eq=False)
class ReportSubject:
    """The systems of a report, and their comparison; `obstacle` says why systems could not be compared."""

    systems: Mapping[str, Scores]
    comparison: Comparison | None = None
    obstacle: str = ""
    level: float = 0.95
    """the confidence level of the intervals; that of the comparison if there is one"""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.systems)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """The measures of any system, those that were compared first; the first one is the primary measure."""
        compared = () if self.comparison is None else self.comparison.measures
        return tuple(dict.fromkeys([*compared, *all_measures(self.systems)]))

    @cached_property
    def detailed(self) -> tuple[str, ...]:
        """The measures whose values of each query, intervals and bounds are shown: of many systems, the first ones."""
        return self.measures[: _most_measures(self.systems)]

    @property
    def is_by_measure(self) -> bool:
        """Whether tables have a row per measure: that of one system with many would be wide, and one row high."""
        return len(self.systems) == 1 and len(self.measures) > _MOST_COLUMNS

    @property
    def primary(self) -> str:
        return self.measures[0]

    @cached_property
    def primary_measure(self) -> Measure | None:
        """The primary measure, None if karat does not know it."""
        return next(iter(meanings(self.primary)), None)

    @property
    def cutoff(self) -> int:
        """The rank down to which unjudged documents are counted."""
        return (self.primary_measure.cutoff if self.primary_measure else None) or _DEFAULT_CUTOFF

    @cached_property
    def verdict_files(self) -> tuple[VerdictRecords, ...]:
        """The verdict files, as they were read: with labels of answers, and with grades of documents."""
        labels = [scores.verdicts.selected.as_read for scores in self.systems.values() if scores.verdicts is not None]
        grades = [scores.evidence.truth.labels for scores in self.systems.values() if scores.evidence is not None]
        read = [*labels, *(each.records for each in grades if each is not None and each.records is not None)]
        return tuple({id(each): each for each in read}.values())

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """The queries of any system."""
        return tuple(dict.fromkeys(query for scores in self.systems.values() for query in scores.queries))

    @cached_property
    def are_texts(self) -> bool:
        """Whether queries are named by their questions, as in a log without ids: most of their names are texts."""
        return 2 * sum(map(is_text, self.queries)) > len(self.queries)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each query."""
        return {query: place for place, query in enumerate(self.queries)}

    @cached_property
    def baseline(self) -> int | None:
        """The system that the others were compared with; None if all pairs were compared, or none."""
        name = None if self.comparison is None else self.comparison.baseline
        return None if name is None else self.names.index(name)

    @property
    def reference(self) -> int | None:
        """The system whose differences from the others the table shows: the baseline, or the first of two systems."""
        return 0 if self.baseline is None and len(self.systems) == 2 else self.baseline

    def higher_is_better(self, measure: str) -> bool:
        return all(each.higher_is_better(measure) for each in self.systems.values() if measure in each.values)

    def rows(self, scores: Scores) -> Ints:
        """The places of a system's queries."""
        return np.fromiter(map(self.places.__getitem__, scores.queries), np.int64, len(scores.queries))

    def column(self, name: str, measure: str) -> Floats:
        """The values of a system on a measure for all queries; NaN is null."""
        scores = self.systems[name]
        values = np.full(len(self.queries), np.nan)
        if measure in scores.values:
            values[self.rows(scores)] = scores.values[measure]
        return values

    @cached_property
    def by_change(self) -> Ints:
        """The places of the queries: the largest change of the primary measure first, or with one system the worst."""
        columns = np.array([self.column(name, self.primary) for name in self.names])
        if len(self.systems) == 1:
            worst = columns[0] if self.higher_is_better(self.primary) else -columns[0]
            return np.argsort(np.nan_to_num(worst, nan=np.inf), kind="stable")
        with np.errstate(invalid="ignore"):  # infinite values have no difference
            if self.baseline is None:
                changes = np.fmax.reduce(columns) - np.fmin.reduce(columns)
            else:
                changes = np.fmax.reduce(np.abs(columns - columns[self.baseline]))
        return np.argsort(-np.nan_to_num(changes, nan=0.0), kind="stable")


Reported = Scores | Mapping[str, Scores] | Comparison | ReportSubject
"""What a report can be written of."""


def subject_of(reported: Reported, level: float | None = None) -> ReportSubject:
    """What a report of scores, of several systems or of a comparison is about; several systems are compared first.

    `level` is the confidence level of the intervals of scores; a comparison has its own.
    """
    hint: Message = ["Pass ", Parameter("level"), " to compare()."]
    require(level is None or not isinstance(reported, Comparison), "a comparison has a level already", hint)
    if isinstance(reported, ReportSubject):
        return reported
    if isinstance(reported, Comparison):
        return ReportSubject(reported.systems, reported, level=reported.method.level)
    if isinstance(reported, Scores):
        reported = {reported.name: reported}
    return subject_of_systems(reported, method=Method() if level is None else Method(level=level))


def subject_of_systems(
    systems: Mapping[str, Scores],
    baseline: str | None = None,
    method: Method = Method(),  # noqa: B008  # frozen
) -> ReportSubject:
    """Several systems with their comparison, or with the reason why they cannot be compared."""
    for name, scores in systems.items():
        check_finite(name or _UNNAMED, scores)
    if len(systems) < 2:
        return ReportSubject({name or _UNNAMED: scores for name, scores in systems.items()}, level=method.level)
    try:
        return replace(subject_with_comparison(systems, baseline, method), systems=dict(systems))
    except KaratError as error:
        return ReportSubject(dict(systems), obstacle=str(error), level=method.level)


def subject_with_comparison(
    systems: Mapping[str, Scores], baseline: str | None, method: Method, sort: str | None = None
) -> ReportSubject:
    """Several systems with their comparison, as `compare` makes it: all pairs, or each system with a baseline.

    If they have very many values, only the first measures are compared.
    """
    aligned, notes = align_systems(systems, None, method.common_queries, method.force)
    measures = next(iter(aligned.values())).measures[: _most_measures(aligned)]
    comparison = compare_with(method, aligned, baseline, measures, sort=sort)
    comparison = replace(comparison, notes=tuple(dict.fromkeys([*notes, *comparison.notes])))
    return ReportSubject({name: aligned[name] for name in comparison.systems}, comparison, level=method.level)


def _most_measures(systems: Mapping[str, Scores]) -> int:
    """The number of measures whose values are not too many."""
    queries = max(len(scores.queries) for scores in systems.values())
    return max(1, _MOST_VALUES // max(1, len(systems) * queries))


def with_short_names(subject: ReportSubject) -> tuple[ReportSubject, list[str]]:
    """The subject with shortened names of systems, numbered to tell them apart; and a sentence that says so."""
    long = {name: f"{shortened_name(name)} ({at})" for at, name in enumerate(subject.names, 1) if len(name) > LONG_NAME}
    if not long:
        return subject, []
    comparison = subject.comparison
    if comparison is not None:
        comparison = replace(
            comparison,
            rows=tuple(
                replace(
                    row, system=long.get(row.system, row.system), baseline=long.get(row.baseline or "", row.baseline)
                )
                for row in comparison.rows
            ),
            systems=_renamed(comparison.systems, long),
            baseline=long.get(comparison.baseline or "", comparison.baseline),
            powers={
                (measure, long.get(system, system), long.get(baseline, baseline)): power
                for (measure, system, baseline), power in comparison.powers.items()
            },
            notes=tuple(_with_names(note, long) for note in comparison.notes),
        )
    obstacle = _with_names(subject.obstacle, long)
    renamed = replace(subject, systems=_renamed(subject.systems, long), comparison=comparison, obstacle=obstacle)
    return renamed, [f"The names of {plural(len(long), 'system')} are shortened, and numbered to tell them apart."]


def is_text(name: str) -> bool:
    """Whether a name is a text, and not an id: it has white space, or letters beyond ASCII.

    >>> is_text("q17"), is_text("Who was Midas?"), is_text("黄金的熔点是多少")
    (False, True, True)
    """
    return not name.isascii() or len(name.split()) > 1


def shortened_name(name: str) -> str:
    """The beginning and the end of a long name."""
    return f"{name[: LONG_NAME // 2]}…{name[-LONG_NAME // 4 :]}"


def _renamed(systems: Mapping[str, Scores], names: Mapping[str, str]) -> dict[str, Scores]:
    return {names.get(name, name): scores for name, scores in systems.items()}


def _with_names(text: str, names: Mapping[str, str]) -> str:
    for name, shown in names.items():
        text = text.replace(name, shown)
    return text


def number(value: float | None) -> Number:
    """A number to its last digit, so that the page rounds it as tables do; None for NaN.

    >>> number(0.1), number(2.0), number(float("nan")), number(float("-inf"))
    (0.1, 2, None, '-inf')
    """
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)


def numbers(values: Floats | Iterable[float | None]) -> list[Number]:
    """Numbers, each as `number` has it."""
    return [number(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]
