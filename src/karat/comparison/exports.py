"""The formats that comparisons are converted to and saved in: the same for all queries as for groups of them."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from karat.arguments import check_switch
from karat.errors import require, shown
from karat.output.delimited import delimited
from karat.output.files import json_text, write_text
from karat.output.tables import Table, Tabular
from karat.scores.exports import arrow_table, to_pandas, to_polars
from karat.scores.summary import DIGITS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_TEXTS = ("group", "measure", "system", "baseline", "difference_interval")
_COUNTS = ("queries", "wins", "ties", "losses")
_FLAGS = ("higher_is_better",)


class ComparisonExports(Tabular):
    """A comparison as a table, and in files."""

    @abstractmethod
    def table(self, digits: int = DIGITS) -> Table:
        """The table that is printed."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers and sentences, as data."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """A record per row, with the same keys in each."""

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`to_dict()` as JSON; also written to `path` if given."""
        return write_text(json_text(self.to_dict()), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None, delimiter: str = ",", *, safe: bool = False) -> str:
        """The rows as CSV, with all digits; also written to `path` if given.

        With `safe=True`, an apostrophe stands before texts that a spreadsheet would run as a formula, such as `=1+1`.
        """
        valid = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '\r\n"'
        require(valid, f"delimiter={shown(delimiter)} cannot separate columns", 'Use "," or "\\t".')
        check_switch("safe", safe)
        records = self.records()
        rows = [list(record.values()) for record in records]
        return write_text(delimited(list(records[0]), rows, delimiter, safe=safe), path)

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

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:
        """The table in Markdown, followed by the sentences; also written to `path` if given."""
        return write_text(self.table(digits).markdown(), path)

    def to_latex(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:
        """The table as a booktabs tabular; also written to `path` if given."""
        return write_text(self.table(digits).latex(), path)
