"""StoredScores: scores whose values per query are in a folder of Parquet files, not in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.errors import enumeration, plural, safe_line
from karat.errors.arguments import is_remote
from karat.errors.credentials import without_credentials
from karat.measures import Measure
from karat.options import check_level
from karat.output.printable import Printable, Tabular
from karat.output.tables import DIGITS, Cell, Table, note_line
from karat.registry.combining import after_mean, combined_value
from karat.registry.selection import measure_list
from karat.scores.columns import find_column
from karat.scores.combining import CombinedValues, Totals, combination, range_of_terms, without_interval
from karat.scores.exports import saved_about
from karat.scores.finding import Finding
from karat.scores.scores import Scores
from karat.stats import Moments

if TYPE_CHECKING:
    from karat.scores.fingerprint import Fingerprint

FORMAT = 1
"""the version of the format of a folder; a reader refuses a later one"""
_LEVEL = 0.95  # of the intervals in files


def digest_column(kind: str) -> str:
    """The column with the digests of one kind of ground truth. With its blanks, it is not the name of a measure."""
    return f"digest of {kind}"


@dataclass(frozen=True, eq=False)
class StoredScores(CombinedValues, Tabular):
    """The means and confidence intervals of scores whose values per query are in a folder.

    Means are the same as those of `load()`, to the last bit. So are the intervals, up to rounding, if the measure has a
    range. Those of other measures are mean ± t · standard error, because the bootstrap of `load()` needs the values.
    `about` are scores without a row: their name, findings, fingerprint and the names that were asked for are those of
    the stored scores.
    """

    path: str
    totals: Totals
    about: Scores

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.about.name

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is noteworthy about the data."""
        return self.about.findings

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The match and the options of the evaluation; the digests of the ground truth are in the folder."""
        return self.about.fingerprint

    @property
    def query_count(self) -> int:
        """The number of queries."""
        return self.totals.queries

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the columns, in the order given to the evaluation."""
        return self.about.measures

    def column_name(self, measure: str | Measure) -> str:
        """The name of a measure's column, from any name of the measure."""
        return find_column(measure, self.measures, self.about.asked)

    def combined(self, measure: str | Measure) -> float | None:
        """The value over all queries, as `scores[measure]`, but None if no query has a value."""
        name = self.column_name(measure)
        moments = self._moments(name)
        return combined_value(float(moments.total), combination(name), moments.count) if moments.count else None

    def nulls(self, measure: str | Measure) -> int:
        """The number of queries without a value."""
        return self.query_count - self._moments(self.column_name(measure)).count

    def interval(self, measure: str | Measure, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the value over all queries.

        That of a sum is the one of the mean, times the number of queries; that of a geometric mean is computed from the
        logarithms.
        """
        name = self.column_name(measure)
        interval = self.intervals(level, measures=[name])[name]
        if interval is None:
            raise without_interval(name, self.combined(name))
        return interval

    def intervals(
        self, level: float = 0.95, *, measures: Sequence[str | Measure] | None = None
    ) -> dict[str, tuple[float, float] | None]:
        """The confidence interval of each measure; None if there is none, as in `Scores.intervals`."""
        level = check_level(level)
        names = list(self.measures) if measures is None else list(map(self.column_name, measure_list(measures)))
        return {name: self._interval(name, level) for name in names}

    def _interval(self, name: str, level: float) -> tuple[float, float] | None:
        moments = self._moments(name)
        interval = moments.interval(level, range_of_terms(name))
        if interval is None:
            return None
        low, high = (after_mean(end, combination(name), moments.count) for end in interval)
        return low, high

    def _moments(self, name: str) -> Moments:
        return self.totals.moments.get(name, Moments())

    def load(self) -> Scores:
        """The scores with the values of every query, from the folder; the queries are in the order of their ids."""
        ends_open = is_remote(self.path) and not self.path.endswith("/")
        return Scores.load(f"{self.path}/" if ends_open else self.path)

    def table(self, level: float | None = None, digits: int = DIGITS) -> Table:
        """The values over all queries, with confidence intervals if their level is given, and the findings."""
        from karat.scores.summary import counts_line
        from karat.scores.value_texts import check_digits, interval_text

        level, digits = None if level is None else check_level(level), check_digits(digits)
        ends = {} if level is None else self.intervals(level)
        means = self.means.items()
        rows = [(Cell(name), Cell(interval_text(mean, ends.get(name), name, digits))) for name, mean in means]
        notes = (note_line(finding.note) for finding in (*self.findings, *self._null_findings()))
        counts = counts_line(plural(self.query_count, "query"), None if self.query_count == 1 else level)
        return Table(("measure", self.name or "score"), tuple(rows), (counts, *notes))

    def to_dict(self) -> dict[str, Any]:
        """All that is known without the values per query: what the JSON file in the folder contains."""
        about = saved_about(self.about)
        if self.fingerprint is not None:
            about["fingerprint"]["truths"] = {kind: digest_column(kind) for kind in self.fingerprint.truths}
        intervals = {name: None if ends is None else list(ends) for name, ends in self.intervals(_LEVEL).items()}
        return {
            "format": FORMAT,
            "name": self.name,
            "queries": self.query_count,
            "means": self.means,
            "intervals": {"level": _LEVEL, "measures": intervals},
            "moments": {name: _moments_document(self._moments(name)) for name in self.measures},
            **about,
        }

    def __repr__(self) -> str:
        count = plural(self.query_count, "query")
        return safe_line(f"<StoredScores of {count} in {without_credentials(self.path)}: {self._means_in_a_line()}>")

    def _null_findings(self) -> list[Finding]:
        """A finding about the queries without a value; which they are, only the folder says."""
        counts: dict[int, list[str]] = {}
        for name in self.measures:
            counts.setdefault(self.nulls(name), []).append(name)
        if not any(counts):
            return []
        amounts = [f"{count:,} for {enumeration(names, 'and')}" for count, names in counts.items() if count]
        return [Finding("nulls", f"queries without a value (left out): {', '.join(amounts)}", max(counts))]


@dataclass(frozen=True, eq=False)
class ShownStoredScores(Printable):
    """Stored scores as they are shown, with confidence intervals if their level is given."""

    stored: StoredScores
    level: float | None = None

    def tables(self, digits: int = DIGITS) -> list[Table]:
        return [self.stored.table(self.level, digits)]

    def to_dict(self) -> dict[str, Any]:
        return self.stored.to_dict()

    def records(self) -> list[dict[str, object]]:
        """One record: the means, and the ends of the intervals."""
        record: dict[str, object] = {"run": self.stored.name, **self.stored.means}
        if self.level is not None:
            for name, ends in self.stored.intervals(self.level).items():
                record[f"{name} low"], record[f"{name} high"] = ends or (None, None)
        return [record]


def _moments_document(moments: Moments) -> dict[str, Any]:
    """Sums are lists of floats, whose sum without rounding errors is exact."""
    return {
        "values": moments.count,
        "sum": list(moments.total.parts),
        "sum_of_squares": list(moments.squares.parts),
    }
