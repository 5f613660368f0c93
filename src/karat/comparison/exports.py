"""Comparisons as data frames: the same for all queries as for groups of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from karat.output.printable import Tabular
from karat.scores.exports import arrow_table, to_pandas, to_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_TEXTS = ("group", "measure", "system", "baseline", "difference_interval")
_COUNTS = ("queries", "wins", "ties", "losses")
_FLAGS = ("higher_is_better",)


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
