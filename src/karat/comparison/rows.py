"""The rows of a comparison, and how they are exported."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.comparison.method import IntervalMethod
from karat.output.printable import Tabular
from karat.scores.exports import arrow_table, to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_TEXTS = ("group", "measure", "system", "baseline", "difference_interval")
_COUNTS = ("queries", "wins", "ties", "losses")
_FLAGS = ("higher_is_better",)


@dataclass(frozen=True)
class ComparisonRow:
    """The mean of a system on a measure, and its difference from a baseline.

    `low` and `high` are the confidence interval of the mean, None if fewer than two queries have a value. Without a
    baseline, all fields of the difference are None. `p` is None if the test is undefined, for example because all
    differences are equal. `effect` is the mean of the differences divided by their standard deviation.
    `higher_is_better` is the direction of the measure.

    `difference_low` and `difference_high` are the confidence interval of the difference, None if all differences are
    equal or there are too few queries. `difference_interval` says how it was computed: by inverting the test
    (`randomization`, `t` or `tukey`), so that it excludes 0 exactly if p is below 1 − `difference_level`, or by the BCa
    bootstrap (`bca`). `p_equivalent` is the p-value of the test of equivalence, which shows that the difference is
    within ±`margin`. It is None without a margin, and if the test cannot be computed.

    >>> import karat
    >>> truth = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    >>> old = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"]}
    >>> new = {"q1": ["a"], "q2": ["b"], "q3": ["x", "c"]}
    >>> comparison = karat.evaluate_runs(truth, {"old": old, "new": new}, ["RR"]).compare("old")
    >>> row = comparison.row("RR", "new")
    >>> row.difference, row.wins, row.ties, row.losses, row.p
    (0.0, 1, 1, 1, 1.0)
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
    difference_level: float | None = None
    difference_interval: IntervalMethod | None = None
    p: float | None = None
    p_corrected: float | None = None
    effect: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    higher_is_better: bool = True
    margin: float | None = None
    p_equivalent: float | None = None
    p_equivalent_corrected: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The measure, the system and the baseline: what the power of a comparison is found by."""
        return self.measure, self.system, self.baseline or ""

    @property
    def is_improvement(self) -> bool:
        """Whether the system is better than the baseline, in the direction of the measure."""
        difference = self.difference or 0.0
        return difference > 0 if self.higher_is_better else difference < 0


class ComparisonExports(Tabular):
    """A comparison as a table, in files and as a data frame."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """A record per row, with the same keys in each."""

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa

        records = self.records()
        kinds = {
            **dict.fromkeys(records[0], pa.float64()),
            **dict.fromkeys(_TEXTS, pa.string()),
            **dict.fromkeys(_COUNTS, pa.int64()),
            **dict.fromkeys(_FLAGS, pa.bool_()),
        }
        return arrow_table({name: [record[name] for record in records] for name in records[0]}, kinds)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame; what a row does not have, such as the p of a baseline, is NaN.

        Counts of queries are integers, and NA in the row of a baseline.
        """
        frame = to_pandas(self.to_arrow())
        return frame.astype({name: "Int64" for name in _COUNTS if name in frame})

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame."""
        return to_polars(self.to_arrow())
