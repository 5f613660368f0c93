"""Tables of scores: a row per system, per measure or per query, with the best values marked and findings below."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from karat.errors import enumeration, percent, plural
from karat.options import level_text
from karat.output.printable import Printable
from karat.output.tables import BEST, DIGITS, Cell, Table, note_line
from karat.scores import Scores, SystemScores
from karat.scores.columns import all_measures, contents_of
from karat.scores.exports import mean_rows, query_rows
from karat.scores.finding import Finding, finding_about_queries, listed_files, numbered
from karat.scores.intervals import FEW_VALUES, CombinedValue
from karat.scores.value_texts import cell_text, interval_text

POSSIBLE = ("possible", "unknown")
"""columns of what a mean could be, and how many queries lack labels"""
_WITHIN = "within "
"""before a range that may be wider than what is possible"""


def summary(runs: Mapping[str, Scores], level: float | None = None, digits: int = DIGITS) -> Table:
    """For one system a row per measure; for several a row per system, with the best of each column marked.

    The narrower table has a row per measure and system. Both have the same cells: intervals take long to compute.
    """
    columns = _columns(runs, level, digits)
    if len(runs) == 1:
        table = _of_one_system(runs, columns, level, digits)
        return replace(table, narrower=table)
    footer = _footer(runs, level)
    by_system = tuple((Cell(system), *(column[system] for column in columns.values())) for system in runs)
    by_measure = tuple(
        (Cell(name if at == 0 else ""), Cell(system), column[system])
        for name, column in columns.items()
        for at, system in enumerate(runs)
    )
    narrower = Table(("measure", "run", "score"), by_measure, footer, labels=2)
    return Table(("run", *columns), by_system, footer, narrower=narrower)


def _of_one_system(
    runs: Mapping[str, Scores], columns: Mapping[str, Mapping[str, Cell]], level: float | None, digits: int
) -> Table:
    """A row per measure; with unknown labels, beside the mean what it could be, and how many queries lack labels."""
    ((system, scores),) = runs.items()
    possible = possible_means(scores, digits)
    header, rows = ("measure", system or "score"), [(Cell(name), column[system]) for name, column in columns.items()]
    if not possible:
        return Table(header, tuple(rows), _footer(runs, level))
    with_possible = tuple((*row, *map(Cell, possible.get(row[0].text, ("", "")))) for row in rows)
    queries, *others = _footer(runs, level, with_possible=False)
    footer = (*with_legend(queries, possible.values()), *others)
    return Table((*header, *POSSIBLE), with_possible, footer)


def with_legend(line: str, possible: Iterable[tuple[str, str]]) -> list[str]:
    """The first line below a table, with what the columns `possible` and `unknown` mean."""
    lines = [f"{line}; unknown: queries that lack labels, left out; possible: the mean with them, whatever the labels"]
    if any(text.startswith(_WITHIN) for text, _ in possible):
        lines.append(f"{_WITHIN.strip()}: the range may be narrower, but not wider")
    return lines


def by_query(runs: Mapping[str, Scores], level: float | None = None, digits: int = DIGITS) -> Table:
    """A row per query (and system, if there are several), the combined values last."""
    columns = _columns(runs, level, digits)
    named = len(runs) > 1
    rows = []
    for system, scores in runs.items():
        for at, (query, values) in enumerate(scores.per_query.items()):
            cells = (Cell(_value_or_range(scores, name, at, values.get(name), digits)) for name in columns)
            rows.append((*([Cell(system)] if named else []), Cell(query), *cells))
    for system in runs:
        combined = (column[system] for column in columns.values())
        rows.append((*([Cell(system)] if named else []), Cell("all"), *combined))
        if possible := possible_means(runs[system], digits):
            ranges = (Cell(possible.get(name, ("", ""))[0]) for name in columns)
            rows.append((*([Cell(system)] if named else []), Cell("possible"), *ranges))
    header = (*(["run"] if named else []), "query", *columns)
    return Table(header, tuple(rows), _footer(runs, level, with_possible=False), labels=2 if named else 1)


def possible_means(scores: Scores, digits: int = DIGITS) -> dict[str, tuple[str, str]]:
    """For each measure of which labels are unknown: what its mean could be, and how many queries lack labels."""
    means = {}
    for name, bounds in scores.label_bounds.items():
        if lacking := int(bounds.unknown.sum()):
            means[name] = (_range(*bounds.mean, bool(bounds.exact.all()), name, digits), f"{lacking:,}")
    return means


def _range(low: float | None, high: float | None, exact: bool, measure: str, digits: int) -> str:
    return f"{'' if exact else _WITHIN}{cell_text(low, measure, digits)} to {cell_text(high, measure, digits)}"


def _value_or_range(scores: Scores, measure: str, at: int, value: float | None, digits: int) -> str:
    """The value of a query; or what it could be, if labels are missing."""
    bounds = scores.label_bounds.get(measure)
    if value is not None or bounds is None or np.isnan(bounds.low[at]):
        return cell_text(value, measure, digits)
    return _range(float(bounds.low[at]), float(bounds.high[at]), bool(bounds.exact[at]), measure, digits)


def _columns(runs: Mapping[str, Scores], level: float | None, digits: int) -> dict[str, dict[str, Cell]]:
    """The cells of each measure, by system."""
    intervals = {system: {} if level is None else scores.intervals(level) for system, scores in runs.items()}
    columns = {}
    for name in all_measures(runs):
        values = {system: scores.combined(name) if name in scores.values else None for system, scores in runs.items()}
        best = best_value(values, name, runs)
        columns[name] = {
            system: Cell(
                interval_text(value, intervals[system].get(name), name, digits),
                BEST if best is not None and value == best else None,
            )
            for system, value in values.items()
        }
    return columns


def best_value(values: Mapping[str, float | None], name: str, runs: Mapping[str, Scores]) -> float | None:
    """The best of several values; None if all are the same, or if lower is better and a system lacks queries."""
    known = [value for value in values.values() if value is not None]
    if len(set(known)) < 2:
        return None
    if all(scores.higher_is_better(name) for scores in runs.values() if name in scores.values):
        return max(known)
    missing = any(finding.code == "missing-queries" for scores in runs.values() for finding in scores.findings)
    return None if missing else min(known)


def notes(runs: Mapping[str, Scores], *, with_possible: bool = True, with_intervals: bool = False) -> list[str]:
    """The findings and the nulls, a line for each kind, with the systems it concerns unless all do.

    If the numbers of systems differ, the line lists them: `unjudged documents in the top 10: bm25 32%, dense 41%.`
    A table that shows what means could be with unknown labels needs no notes on that. One that shows confidence
    intervals needs a note if they are too narrow.
    """
    by_topic: dict[str, dict[str, Finding]] = {}
    for system, scores in runs.items():
        unknown = unknown_labels(scores, one_line=len(runs) == 1) if with_possible else []
        narrow = narrow_intervals(scores) if with_intervals else []
        for finding in (*scores.findings, *unknown, *nulls(scores), *judge_shares(scores), *narrow):
            by_topic.setdefault(finding.topic or str(finding), {})[system] = finding
    return [note_line(_note(findings, len(runs))) for findings in by_topic.values()]


def _note(findings: Mapping[str, Finding], systems: int) -> str:
    """The findings of systems on one topic, in one line."""
    texts = {str(finding): finding.hint for finding in findings.values()}
    first = next(iter(findings.values()))
    names_file, topic = first.code == "reading", first.topic
    if len(texts) == 1:
        prefix = "" if len(findings) == systems or names_file else f"{', '.join(findings)}: "
        return numbered(prefix + next(iter(texts)), first.code)
    if names_file:
        return f"{listed_files([finding.amount for finding in findings.values()])}: {topic}."
    amounts = [f"{system} {finding.amount}" for system, finding in findings.items()]
    text = " ".join([f"{topic}: {', '.join(amounts)}.", *sorted({hint for hint in texts.values() if hint})])
    return numbered(text, first.code)


def _footer(runs: Mapping[str, Scores], level: float | None, *, with_possible: bool = True) -> tuple[str, ...]:
    """The number of queries, the confidence level, and the notes."""
    counts = [len(scores.queries) for scores in runs.values()]
    fewest, most = min(counts), max(counts)
    queries = plural(most, "query") if fewest == most else f"{fewest:,} to {plural(most, 'query')}"
    line = counts_line(queries, None if most == 1 else level)
    return (line, *notes(runs, with_possible=with_possible, with_intervals=level is not None))


def counts_line(queries: str, level: float | None) -> str:
    """The first line below a table: the number of queries, and the confidence level.

    >>> counts_line("7 queries", 0.95)
    '7 queries, with 95% confidence intervals'
    """
    return queries if level is None else f"{queries}, with {level_text(level)} confidence intervals"


def unknown_labels(scores: Scores, *, one_line: bool) -> list[Finding]:
    """Measures of which labels are missing, with what their means could be: a finding for each, or one for all."""
    possible = possible_means(scores)
    if one_line and possible:
        listed = ", ".join(f"{name} {mean} ({plural(int(n), 'query')})" for name, (mean, n) in possible.items())
        return [Finding("unknown", f"possible means, whatever the missing labels are: {listed}", len(possible))]
    return [
        Finding(
            "unknown",
            f"possible {name}, whatever the missing labels are: {mean} ({plural(int(count), 'query')})",
            int(count),
            topic=f"possible {name}, whatever the missing labels are",
            amount=f"{mean} ({plural(int(count), 'query')})",
        )
        for name, (mean, count) in possible.items()
    ]


def nulls(scores: Scores) -> list[Finding]:
    """A finding for each set of queries without a value, with the measures that have no value for exactly these.

    Queries with nothing to judge are one finding; those that lack labels are those of `unknown_labels`.
    """
    measures: dict[tuple[str, ...], list[str]] = {}
    nothing: dict[int, list[str]] = {}
    for name, column in scores.values.items():
        if name in scores.label_bounds:
            nothing.setdefault(int(np.isnan(scores.label_bounds[name].low).sum()), []).append(name)
            continue
        rows = np.flatnonzero(np.isnan(column)).tolist()
        measures.setdefault(tuple(scores.queries[row] for row in rows), []).append(name)
    findings = [
        finding_about_queries("nulls", queries, f"without a value for {enumeration(names, 'and')} (left out)")
        for queries, names in measures.items()
        if queries
    ]
    if counts := {count: names for count, names in nothing.items() if count}:
        topic = "queries with nothing to judge (left out)"
        amount = ", ".join(f"{count:,} for {enumeration(names, 'and')}" for count, names in counts.items())
        findings.append(
            Finding("nothing-to-judge", f"{topic}: {amount}", max(counts), topic=topic, amount=f"({amount})")
        )
    return findings


def narrow_intervals(*parts: Scores) -> list[Finding]:
    """A finding about the measures whose confidence intervals contain the true value less often than their level says.

    Those are the bootstrap intervals of few queries, in any of the parts.
    """
    few = [name for name in parts[0] if any(CombinedValue.of(name, part.values[name]).is_narrow for part in parts)]
    if not few:
        return []
    what = f"the confidence intervals of {enumeration(few, 'and')} are too narrow"
    return [Finding("narrow-intervals", f"with fewer than {FEW_VALUES} queries, {what}", len(few))]


def judge_shares(scores: Scores) -> list[Finding]:
    """Of measures whose labels are several samples of one judge: how much of the variance is the judge's own."""
    by_samples: dict[int, list[str]] = {}
    for name, variance in scores.sample_variances.items():
        if (share := variance.share(scores.values[name])) is not None:
            by_samples.setdefault(variance.samples, []).append(f"{name} {percent(share)}")
    findings = []
    for samples, shares in by_samples.items():
        topic = f"share of the variance that is the judge disagreeing with itself ({samples} samples)"
        amount = ", ".join(shares)
        findings.append(Finding("judge-variance", f"{topic}: {amount}", len(shares), topic=topic, amount=f"({amount})"))
    return findings


@dataclass(frozen=True)
class ShownScores(Printable):
    """The scores of one or several systems, with confidence intervals if their level is given."""

    systems: Mapping[str, Scores]
    level: float | None = None
    per_query: bool = False

    def tables(self, digits: int = DIGITS) -> list[Table]:
        return [(by_query if self.per_query else summary)(self.systems, self.level, digits)]

    def to_dict(self) -> dict[str, Any]:
        """The document of `Scores`, or that of `SystemScores` if there are several, with the intervals."""
        documents = {name: scores.to_dict() for name, scores in self.systems.items()}
        if self.level is not None:
            for name, scores in self.systems.items():
                intervals = scores.intervals(self.level).items()
                documents[name]["intervals"] = {measure: list(ends) if ends else None for measure, ends in intervals}
        return {"runs": documents} if len(documents) > 1 else next(iter(documents.values()))

    @property
    def contents(self) -> str:
        """How many systems, queries and measures there are."""
        return contents_of(self.systems)

    def records(self) -> list[dict[str, object]]:
        """A record per system or per query; a record per query names its system if there are several."""
        if self.per_query:
            return query_rows(self.systems, named=len(self.systems) > 1).records()
        records = mean_rows(self.systems).records()
        if self.level is not None:
            for scores, record in zip(self.systems.values(), records, strict=True):
                for measure, ends in scores.intervals(self.level).items():
                    record[f"{measure} low"], record[f"{measure} high"] = ends or (None, None)
        return records

    def remarks(self) -> list[str]:
        """The findings: what else stands below the table is known from the data."""
        return notes(self.systems, with_intervals=self.level is not None)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the values of all queries to a Parquet file."""
        is_single = len(self.systems) == 1
        (next(iter(self.systems.values())) if is_single else SystemScores(self.systems)).to_parquet(path)
