"""The formats that scores are converted to and saved in: the same for one system as for several."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from karat.data.judged import Floats
from karat.errors import KaratError, require, shown
from karat.errors.arguments import check_path, check_switch
from karat.measures import Measure
from karat.options import Names, check_level
from karat.output.delimited import delimited
from karat.output.files import json_text, write_text, write_whole
from karat.output.printable import Tabular, check_delimiter
from karat.output.tables import DIGITS, Table
from karat.reading.bytes.part_files import METADATA
from karat.scores.columns import all_measures, with_names

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from karat.report.subject import Reported
    from karat.scores.scores import Scores


@dataclass(frozen=True)
class Rows:
    """Scores as a table for programs: columns of labels, and a column of numbers per measure, where NaN is null."""

    labels: Mapping[str, Sequence[str]]
    measures: Mapping[str, Floats]

    def records(self) -> list[dict[str, object]]:
        """A record per row; null is None."""
        header = self._header
        return [dict(zip(header, row, strict=True)) for row in self._rows()]

    def csv(self, delimiter: str = ",", *, safe: bool = False) -> str:
        """A line per row, with all digits."""
        return delimited(self._header, self._rows(), check_delimiter(delimiter), safe=check_switch("safe", safe))

    def arrow(self, about: object = None) -> pa.Table:
        """An Arrow table, with more about the scores in its metadata."""
        import pyarrow as pa

        kinds = dict.fromkeys(self._header, pa.float64()) | dict.fromkeys(self.labels, pa.string())
        table = arrow_table({**self.labels, **self.measures}, kinds)
        return table if about is None else table.replace_schema_metadata({METADATA: json.dumps(about)})

    @property
    def _header(self) -> list[str]:
        """The names of all columns."""
        for name in self.labels.keys() & self.measures.keys():
            what = f"a measure is called {name}, which is the name of another column"
            raise KaratError(what, hint="Rename the measure.")
        return [*self.labels, *self.measures]

    def _rows(self) -> Iterable[tuple[object, ...]]:
        return zip(*self.labels.values(), *map(nullable, self.measures.values()), strict=True)


def arrow_table(columns: Mapping[str, Sequence[object] | Floats], kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """An Arrow table with columns of these types; None and NaN are null."""
    import pyarrow as pa

    try:
        arrays = [pa.array(values, kinds[name], from_pandas=True) for name, values in columns.items()]
        return pa.table(arrays, names=list(columns))
    except UnicodeEncodeError as error:
        what = f"{shown(error.object)} is not valid Unicode, so Arrow and Parquet cannot contain it"
        raise KaratError(what, hint="Use to_json, or a .json file.") from None


def mean_rows(systems: Mapping[str, Scores]) -> Rows:
    """A row per system: its values over all queries, and what those of measures with unknown labels could be."""
    means = [scores.means for scores in systems.values()]
    columns = {name: np.array([each.get(name) for each in means], np.float64) for name in all_measures(systems)}
    bounds = {name: [_mean_bounds(scores, name) for scores in systems.values()] for name in columns}
    for name, of_systems in bounds.items():
        if any(low != high for low, high in of_systems):
            ends = np.array(of_systems, np.float64).T
            columns |= {f"{name} lowest": ends[0], f"{name} highest": ends[1]}
    return Rows({"run": list(systems)}, columns)


def _mean_bounds(scores: Scores, measure: str) -> tuple[float | None, float | None]:
    if measure in scores.label_bounds:
        return scores.label_bounds[measure].mean
    mean = scores.combined(measure) if measure in scores.values else None
    return mean, mean


def query_rows(systems: Mapping[str, Scores], *, named: bool) -> Rows:
    """A row per query, with the name of its system if there may be several."""
    runs = [name for name, scores in systems.items() for _ in scores.queries]
    queries = [query for scores in systems.values() for query in scores.queries]
    columns = {
        name: np.concatenate(
            [scores.values.get(name, np.full(len(scores.queries), np.nan)) for scores in systems.values()]
        )
        for name in all_measures(systems)
    }
    return Rows({**({"run": runs} if named else {}), "query": queries}, columns)


class Reportable:
    """The scores of one system or of several, or a comparison."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        queries: Any = None,
        corpus: Any = None,
        by: Any = None,
        title: str = "",
        level: float | None = None,
    ) -> Path:
        """Write a report: one HTML page with the table, charts, and every query (extra `karat-eval[report]`).

        `queries` and `corpus` are the texts of queries and documents that are known by id: a file, a mapping, or a data
        frame. `by` groups the queries, as in `Scores.slices`. `level` is the confidence level of the intervals, 0.95 by
        default; that of a comparison is chosen when systems are compared. The scores of several systems are compared
        with each other, or with those of the first one if there are more than ten; to choose, write the report of a
        comparison.
        """
        from karat.analysis.query_groups import named_groups
        from karat.report import check_report, write_report
        from karat.report.subject import subject_of

        check_report(path)
        reported = subject_of(cast("Reported", self), level)
        return write_report(reported, path, queries=queries, corpus=corpus, by=named_groups(by), title=title)


class Exports(Tabular, Reportable):
    """The scores of one system, or of several: as a table, and in files."""

    @abstractmethod
    def to_dict(self, *, names: Names = "canonical") -> dict[str, Any]:
        """All that is saved, as data."""

    @abstractmethod
    def _by_system(self) -> Mapping[str, Scores]:
        """The scores of each system, by its name."""

    @abstractmethod
    def _rows(self, names: Names = "canonical") -> Rows:
        """A row per query."""

    def records(self) -> list[dict[str, object]]:
        """A record per query."""
        return self._rows().records()

    def table(self, level: float | None = None, digits: int = DIGITS, *, names: Names = "canonical") -> Table:
        """The values over all queries, with confidence intervals if their level is given, and the findings."""
        from karat.scores.summary import summary
        from karat.scores.value_texts import check_digits

        level = None if level is None else check_level(level)
        return summary(self._named(names), level, check_digits(digits))

    def to_json(self, path: str | os.PathLike[str] | None = None, *, names: Names = "canonical") -> str:
        """`to_dict()` as JSON, also written to a file if a path is given."""
        return write_text(json_text(self.to_dict(names=names)), path)

    def to_parquet(self, path: str | os.PathLike[str], *, names: Names = "canonical") -> None:
        """Write the values of all queries to a Parquet file."""
        table = self._arrow(names)
        write_whole(path, lambda file: _write_parquet(table, file))

    def to_markdown(
        self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS, names: Names = "canonical"
    ) -> str:
        """The table that is printed, in Markdown; also written to a file if a path is given."""
        return write_text(self.table(digits=digits, names=names).markdown(), path)

    def to_latex(
        self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS, names: Names = "canonical"
    ) -> str:
        """The table that is printed, as a booktabs tabular; also written to a file if a path is given."""
        return write_text(self.table(digits=digits, names=names).latex(), path)

    def save(self, path: str | os.PathLike[str], *, names: Names = "canonical") -> None:
        """Write all values to a .json, .csv or .parquet file, which `load` reads; a CSV file has only values."""
        writers: dict[str, Callable[[], object]] = {
            ".json": lambda: self.to_json(path, names=names),
            ".csv": lambda: write_text(self._rows(names).csv(), path),
            ".parquet": lambda: self.to_parquet(path, names=names),
        }
        suffix = Path(check_path(path)).suffix.lower()
        hint = "For a table in a document, use to_markdown or to_latex."
        require(suffix in writers, "scores are saved as .json, .csv or .parquet", hint, place=os.fspath(path))
        writers[suffix]()

    def plot(
        self,
        kind: str = "intervals",
        measure: str | Measure | None = None,
        *,
        system: str | None = None,
        baseline: str | None = None,
        by: Any = None,
        bins: int | Sequence[float] | None = None,
        queries: Mapping[str, str] | None = None,
        level: float = 0.95,
        names: Names = "canonical",
    ) -> alt.LayerChart | alt.ConcatChart:
        """An altair chart that fits a column of a paper (extra `karat-eval[report]`).

        `kind` is `intervals`, `differences`, `scatter`, `cutoffs`, `precision-recall`, `first`, `bounds` or `slices`.
        `measure` is the first one by default; `intervals` shows all. `differences` and `scatter` compare each system,
        or `system`, with `baseline`, which is the first one by default. `slices` takes `by`, `bins` and `queries` as
        `Scores.slices` does. Measures have the names that they were asked for by if `names` is `asked`.
        """
        from karat.report.plots.altair_charts import paper_chart
        from karat.report.plots.kinds import Subject, draw, pairs_of

        systems = self._by_system()
        grouping = {"by": by, "bins": bins, "queries": queries}
        pairs = pairs_of(systems, system, baseline)
        subject = Subject(systems, measure, pairs, grouping=grouping, level=level, names=names)
        return paper_chart(draw(kind, subject))

    def _arrow(self, names: Names = "canonical") -> pa.Table:
        """An Arrow table with a row per query, and with all else that is saved in its metadata."""
        systems = self._named(names).items()
        about = {name: {"measures": list(scores.measures), **saved_about(scores)} for name, scores in systems}
        return self._rows(names).arrow({"runs": about})

    def _named(self, names: Names) -> dict[str, Scores]:
        """The scores of each system, with the names of measures to export."""
        return {name: with_names(scores, names) for name, scores in self._by_system().items()}


def document(scores: Scores) -> dict[str, Any]:
    """The scores of a system, as they are saved as JSON."""
    return {
        "name": scores.name,
        "means": scores.means,
        "queries": query_rows({scores.name: scores}, named=False).records(),
        **saved_about(scores),
    }


def saved_about(scores: Scores) -> dict[str, Any]:
    """What is saved besides names and values."""
    about: dict[str, Any] = {"findings": [finding.to_dict() for finding in scores.findings]}
    if any(asked != column for asked, column in scores.asked.items()):
        about["asked"] = dict(scores.asked)
    if lower := sorted(scores.lower_is_better.intersection(scores.measures)):
        about["lower_is_better"] = lower
    if scores.label_bounds:
        about["bounds"] = {name: bounds.to_saved() for name, bounds in scores.label_bounds.items()}
    if variances := scores.sample_variances:
        queries, values = scores.queries, scores.values
        about["judge"] = {name: variance.to_dict(queries, values[name]) for name, variance in variances.items()}
    if scores.corrections:
        about["people"] = {name: each.to_dict(scores.queries) for name, each in scores.corrections.items()}
    fingerprint = scores.fingerprint
    return about if fingerprint is None else {**about, "fingerprint": fingerprint.to_dict(scores.queries)}


def _write_parquet(table: pa.Table, file: IO[bytes]) -> None:
    """Write an Arrow table with its metadata once: Arrow's schema, which would repeat it, is not needed to read it."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata)


def nullable(column: Floats) -> list[float | None]:
    """The values of a column, with None for null."""
    values: list[float | None] = column.tolist()
    return [None if value != value else value for value in values] if np.isnan(column).any() else values


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as a pandas data frame."""
    try:
        frame: pd.DataFrame = table.to_pandas()
    except ImportError:
        raise KaratError("pandas is not installed", hint="pip install pandas") from None
    return frame


def to_polars(table: pa.Table) -> pl.DataFrame:
    """An Arrow table as a polars data frame."""
    try:
        import polars as pl
    except ImportError:
        raise KaratError("polars is not installed", hint="pip install polars") from None
    return pl.DataFrame(table)
