"""The overview of a report: which system is best and how certain that is, in sentences and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from karat.comparison import Comparison, ComparisonRow
from karat.comparison.power import POWER, Power
from karat.comparison.sentences import (
    correction_text,
    difference_text,
    p_text,
    queries_needed_text,
    result_text,
    without_rounding,
)
from karat.comparison.tables import beaten_systems, intervals_text, method_text
from karat.errors import enumeration, plural, printable
from karat.report.people import corrected_result, result_by_model, values_by_model
from karat.report.subject import Number, ReportSubject, number, numbers
from karat.scores import Scores
from karat.scores.combining import combination, known_range
from karat.scores.summary import best_value
from karat.scores.value_texts import cell_text, interval_text

_DIGITS = 3
_MOST_NAMED = 5
_MISSING = ("missing-queries", "missing-answers")
"""the codes of findings about queries without results"""


def answer(subject: ReportSubject, unjudged: Sequence[float | None] | None) -> list[str]:
    """Two texts: which system is best on the primary measure, and what limits the certainty of that."""
    best = _best(subject)
    by_values = _result(subject, best)
    corrected = corrected_result(subject)
    limits = [
        result_by_model(subject, by_values if corrected else None),
        *_equivalence(subject),
        # How many queries a corrected result needs is said below its table.
        "" if corrected else _number_of_queries(subject, best),
        _unjudged(subject, unjudged),
        _lacking(subject),
    ]
    return [printable(corrected or by_values), printable(" ".join(filter(None, limits)))]


def _best(subject: ReportSubject) -> list[str]:
    """The systems with the best mean of the primary measure; several if they have the same, none without a value."""
    measure = subject.primary
    values = {name: value for name, value in _combined(subject, measure).items() if value is not None}
    if not values:
        return []
    best = max(values.values()) if subject.higher_is_better(measure) else min(values.values())
    return [name for name, value in values.items() if value == best]


def _result(subject: ReportSubject, best: Sequence[str]) -> str:
    measure = subject.primary
    if not best:
        return f"No query has a value for {measure}."
    if len(subject.systems) == 1:
        number = int(np.count_nonzero(~np.isnan(subject.systems[best[0]].values[measure])))
        of = "" if number == len(subject.queries) else f"{number:,} of "  # those without a value are not in the mean
        over = f"{of}{_queries(subject)}"
        return f"{best[0]} has a {_mean(subject)} {measure} of {_value(subject, best[0])}, over {over}."
    if len(best) == len(subject.systems):
        value = cell_text(subject.systems[best[0]].combined(measure), measure, _DIGITS)
        all_systems = "Both systems" if len(best) == 2 else f"All {len(best)} systems"
        return f"{all_systems} have the same {_mean(subject)} {measure}, {value}, over {_queries(subject)}."
    if len(best) > 1:
        return f"{_listed(best)} have the same and best {_mean(subject)} {measure}, {_value(subject, best[0])}."
    if subject.comparison is None:
        why = f" The systems were not compared: {subject.obstacle}" if subject.obstacle else ""
        return f"{best[0]} has the best {_mean(subject)} {measure}, {_value(subject, best[0])}.{why}"
    return _compared(subject, subject.comparison, best[0])


def _compared(subject: ReportSubject, comparison: Comparison, best: str) -> str:
    """Which system is best, and than which systems it is significantly better."""
    measure = subject.primary
    rows = [row for row in comparison.rows if row.measure == measure and best in (row.system, row.baseline)]
    rows = [row for row in rows if row.baseline is not None]
    if len(subject.systems) == 2 and rows and comparison.significant(rows[0]):
        return f"{result_text(comparison, rows[0])}."
    lead = f"{best} has the best {_mean(subject)} {measure}, {_value(subject, best)}"
    if not rows:
        return f"{lead}."
    certain = [_other(row, best) for row in rows if comparison.significant(row)]
    uncertain = [row for row in rows if not comparison.significant(row)]
    others = len(subject.systems) - 1
    if not uncertain and len(certain) == others:
        than = "every other system" if others > _MOST_NAMED else _listed(certain)
        largest = max(row.p_corrected or 0.0 for row in rows)
        p = p_text(largest, comparison.method.alpha, named=True).replace("p = ", "p ≤ ")
        return f"{lead}, and is significantly better than {than} ({p})."
    parts = []
    if certain:
        parts.append(f"It is significantly better than {_listed(certain)}.")
    if len(uncertain) == 1:
        parts.append(_uncertain(comparison, uncertain[0], best))
    elif uncertain:
        names = _listed([_other(row, best) for row in uncertain])
        parts.append(f"Its advantage over {names} may be due to chance.")
    if len(rows) < others:
        parts.append("Other differences were not tested.")
    return f"{lead}. {' '.join(parts)}"


def _uncertain(comparison: Comparison, row: ComparisonRow, best: str) -> str:
    """That a difference is not significant, and its size."""
    other = _other(row, best)
    power = comparison.powers[row.key]
    if row.p_corrected is None or power.queries < 2:
        return f"Whether its advantage over {other} is due to chance cannot be tested."
    size = difference_text(abs(row.difference or 0.0))
    p = p_text(row.p_corrected, comparison.method.alpha, named=True)
    return f"Its advantage over {other}, {size}, may be due to chance ({p})."


def _equivalence(subject: ReportSubject) -> list[str]:
    """Which systems are equivalent: on the primary measure, or on each that has a margin of its own."""
    comparison = subject.comparison
    if comparison is None or comparison.method.equivalence is None:
        return []
    margins = {row.measure: row.margin for row in comparison.rows if row.margin is not None}
    if isinstance(comparison.method.equivalence, float):
        margins = {measure: margin for measure, margin in margins.items() if measure == subject.primary}
    sentences = []
    for measure, margin in margins.items():
        rows = [row for row in comparison.rows if row.measure == measure and row.baseline is not None]
        pairs = [f"{row.system} and {row.baseline}" for row in rows if comparison.equivalent(row)]
        named = f": {'; '.join(pairs)}" if 0 < len(pairs) <= _MOST_NAMED else ""
        of_pairs = f"{len(pairs)} of {plural(len(rows), 'pair')} of systems"
        sentences.append(f"Shown to be equivalent on {measure}, within ±{margin:g}: {of_pairs}{named}.")
    return sentences


def _number_of_queries(subject: ReportSubject, best: Sequence[str]) -> str:
    """What the number of queries allows to find."""
    queries = len(subject.queries)
    if queries == 1:
        return "One query says nothing about others."
    if subject.comparison is None or not best:
        return "" if len(subject.systems) == 1 else f"There are {_queries(subject)}."
    powers = [
        power for (measure, *pair), power in subject.comparison.powers.items()
        if measure == subject.primary and best[0] in pair
    ]  # fmt: skip
    least = max(powers, key=lambda power: power.minimum_detectable_difference or 0.0, default=None)
    text = _detectable(subject, least) if least is not None and least.nonzero else f"There are {_queries(subject)}."
    detect = subject.comparison.method.detect
    if detect is None or least is None:
        return text
    return f"{text} {queries_needed_text(detect, subject.primary, least)}."


def _detectable(subject: ReportSubject, power: Power) -> str:
    queries = plural(power.queries, "query")
    smallest = power.minimum_detectable_difference
    known = known_range(subject.primary)
    if smallest is None or (known is not None and smallest > known[1] - known[0]):
        return f"{queries} are too few to tell such systems apart."
    return (
        f"With {queries}, differences of {difference_text(smallest)} or more are found reliably"
        f" (statistical power {POWER}); smaller ones can be missed."
    )


def _unjudged(subject: ReportSubject, shares: Sequence[float | None] | None) -> str:
    """How many of the first documents nobody judged, if the primary measure is about documents."""
    if subject.primary_measure is None or subject.primary_measure.definition.takes != "judged":
        return ""
    known = [share for share in shares or () if share is not None]
    largest = max(known, default=0.0)
    if not largest:
        return ""
    text = " to ".join(dict.fromkeys(map(_percent, (min(known), largest))))
    return f"{text} of the documents in the top {subject.cutoff} are unjudged and count as not relevant."


def _lacking(subject: ReportSubject) -> str:
    """That none of this can be looked into, if all scores were saved, or are numbers that a log has."""
    systems = subject.systems.values()
    if any(each is not None for scores in systems for each in (scores.evidence, scores.answers, scores.verdicts)):
        return ""
    return "These scores come without the documents and answers that they are about, so the report shows neither."


def _percent(share: float) -> str:
    percent = 100 * share
    return "Less than 1%" if 0 < percent < 1 else f"{percent:.0f}%"


def _value(subject: ReportSubject, name: str) -> str:
    """The mean of the primary measure with its interval."""
    measure = subject.primary
    scores = subject.systems[name]
    interval = None
    if len(scores.queries) - scores.nulls(measure) > 1:
        if subject.comparison is not None:
            row = next(row for row in subject.comparison.rows if (row.measure, row.system) == (measure, name))
            interval = (row.low, row.high)
        else:
            interval = scores.intervals(subject.level, measures=[measure])[measure]
    return interval_text(scores.combined(measure), interval, measure, _DIGITS)


def _mean(subject: ReportSubject) -> str:
    return {"mean": "mean", "sum": "total", "geometric": "geometric mean"}[combination(subject.primary)]


def _queries(subject: ReportSubject) -> str:
    return plural(len(subject.queries), "query")


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} others"
    return enumeration(names, "and")


def _other(row: ComparisonRow, name: str) -> str:
    return row.baseline or "" if row.system == name else row.system


def table(subject: ReportSubject, unjudged: list[float | None] | None) -> dict[str, Any]:
    """The means with their intervals, which of them are best, and what the comparison found.

    That is the difference of each system from the baseline, or from the first of two systems. If all pairs of more
    systems were compared, it is the systems that each of them is significantly better than.
    """
    comparison = subject.comparison
    method = None if comparison is None else comparison.method
    beaten = None if comparison is None or subject.reference is not None else beaten_systems(comparison)
    best = {measure: best_value(_combined(subject, measure), measure, subject.systems) for measure in subject.measures}
    cells = [_cells(subject, name, beaten, best) for name in subject.names]
    powers = [] if comparison is None else list(comparison.powers.values())
    test = correction = None
    if method is not None:
        test = method_text(method, powers, len(subject.measures))
        correction = correction_text(method, max(power.comparisons for power in powers)) or None
    return {
        "rows": cells,
        "by_model": values_by_model(subject),
        "by_measure": subject.is_by_measure,
        "level": subject.level,
        "alpha": None if method is None else method.alpha,
        "test": test,
        "intervals": None if comparison is None else "; ".join(intervals_text([comparison])) or None,
        "correction": correction,
        "unjudged": None if unjudged is None else [number(share) for share in unjudged],
        "unjudged_at": subject.cutoff,
        "missing": [len(missing_queries(subject, name)) for name in subject.names],
    }


def missing_queries(subject: ReportSubject, name: str) -> set[str]:
    """The queries that a system has no results for: neither documents nor an answer, as far as each is evaluated."""
    lacking = set(subject.queries).difference(subject.systems[name].queries)
    for finding in subject.systems[name].findings:
        if finding.code in _MISSING:
            lacking |= {query for query in finding.queries if query in subject.places}
    return lacking


def _combined(subject: ReportSubject, measure: str) -> dict[str, float | None]:
    """The value of each system on a measure; None if it has none."""
    systems = subject.systems.items()
    return {name: scores.combined(measure) if measure in scores.values else None for name, scores in systems}


def _cells(
    subject: ReportSubject,
    name: str,
    beaten: Mapping[tuple[str, str], Sequence[str]] | None,
    best: Mapping[str, float | None],
) -> list[dict[str, Any]]:
    """The cells of a system: `beaten` are the systems that each is better than, and `best` the best values."""
    scores = subject.systems[name]
    comparison = subject.comparison
    cells: list[dict[str, Any]] = []
    # A comparison has intervals already, which take long to compute.
    alone = {} if comparison is not None else scores.intervals(subject.level)
    for measure in subject.measures:
        row = _row(subject, measure, name)
        if row is not None:
            low, high = row.low, row.high
        else:
            has_interval = measure in scores.values and len(scores.queries) - scores.nulls(measure) > 1
            low, high = (alone.get(measure) if has_interval else None) or (None, None)
        mean = scores.combined(measure) if measure in scores.values else None
        against = row if row is not None and row.baseline is not None and beaten is None else None
        cells.append(
            {
                "mean": number(mean),
                "low": number(low),
                "high": number(high),
                "bounds": _label_bounds(scores, measure),
                "best": best[measure] is not None and mean == best[measure],
                "difference": _difference(against),
                "p": None if against is None else number(against.p_corrected),
                "significant": None if against is None or comparison is None else comparison.significant(against),
                "against": None if against is None else subject.reference,
                "better_than": None
                if beaten is None
                else [subject.names.index(other) for other in beaten.get((measure, name), ())],
            }
        )
    return cells


def _label_bounds(scores: Scores, measure: str) -> list[Number] | None:
    """The lowest and the highest mean that unknown labels allow; None if all labels are known."""
    bounds = scores.label_bounds.get(measure)
    return None if bounds is None or not bounds.unknown.any() else numbers(bounds.mean)


def _difference(row: ComparisonRow | None) -> Number:
    """A difference, as in the table of a comparison: 0 if it is not 0 by rounding alone."""
    if row is None or row.difference is None:
        return None
    ends = [end for end in (row.difference_low, row.difference_high) if end is not None]
    return number(without_rounding([row.difference, *ends])[0])


def _row(subject: ReportSubject, measure: str, name: str) -> ComparisonRow | None:
    """The row of a comparison with the difference of a system from another; the baseline has no difference."""
    if subject.comparison is None:
        return None
    rows = subject.comparison.rows_by_names
    earlier = takewhile(lambda other: other != name, subject.names)
    others = [subject.comparison.baseline] if subject.comparison.baseline is not None else earlier
    return next((rows[key] for other in (*others, None) if (key := (measure, name, other)) in rows), None)
