"""The work on one bucket, in an executor. Its errors come back as data, so that Spark does not try it again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.engines.spark.line_records import RecordsInLines
from karat.engines.spark.places import id_text, name_queries
from karat.engines.spark.shipping import arrow_type, error_from, error_text
from karat.errors import KaratError

LARGE = 1_000_000
"""rows: about so many are in a bucket, and a query with more is named in a finding"""

BUCKET, QUERY, FACTS, REPORT, ERROR = "__karat_bucket", "query", "facts", "report", "error"
"""columns of what executors return, besides values and texts"""

_ARROW = {"int": pa.int32(), "string": pa.string(), "double": pa.float64(), "binary": pa.binary()}

ROW_ERROR = "__karat_error"
"""the column of a table, if it has one, with the error of a row that could not be read (see `error_text`), or null"""


@dataclass(frozen=True)
class BucketResult:
    """What the work on a bucket returns: values and texts have one row per query, in the order of `queries`."""

    queries: Sequence[str]
    values: Mapping[str, Floats]
    """the measures; NaN stands for null"""
    texts: Mapping[str, Sequence[str | None]]
    """such as the digests of the ground truth"""
    facts: Any
    """about the bucket as a whole; they are pickled"""
    report: Any = None
    """what the driver has to know before it puts buckets together; it is pickled"""


Work = Callable[..., BucketResult]
"""called with the Arrow tables (of lines of text, the files) of a bucket: one, or two of which one may be empty"""


@dataclass(frozen=True)
class BucketSide:
    """What an executor has to know about a table: its name in messages, and the names of columns."""

    name: str
    query: str
    order: str | None = None
    """gives the order of the rows"""
    documents: str | None = None
    """the lists of documents, if a row has all documents of a query"""
    records: RecordsInLines | None = None
    """for lines of text: the work gets a file instead of the table"""


@dataclass(frozen=True)
class BucketWork:
    """The work on a bucket, as executors get it."""

    work: Work
    sides: tuple[BucketSide, ...]
    values: tuple[str, ...]
    texts: tuple[str, ...]
    large: int = LARGE
    large_types: bool = False
    """whether Spark wants texts whose bytes are counted in 64 bits"""

    def columns(self) -> dict[str, str]:
        """What an executor returns: a row per query, and a row with the facts about the bucket, or with an error.

        The names of measures may differ in case only, and Spark would take them for the same: columns are numbered.
        """
        values = {f"value{at}": "double" for at in range(len(self.values))}
        texts = {f"text{at}": "string" for at in range(len(self.texts))}
        return {BUCKET: "int", QUERY: "string", **values, **texts, FACTS: "binary", REPORT: "binary", ERROR: "string"}

    def schema(self) -> str:
        """The columns and their types, as Spark reads a schema."""
        return ", ".join(f"{name} {kind}" for name, kind in self.columns().items())

    def run(self, number: int, *inputs: Any) -> pa.Table:
        """The result of the work on one bucket, in rows that have `columns`; a KaratError is one of them.

        The inputs are Arrow tables whose rows are in any order, one for each of `sides`; or anything else that the work
        reads, which it gets as it is. Facts and errors are put in the order of the numbers.
        """
        try:
            result = self._result(inputs)
        except KaratError as error:
            return self._rows(1, {BUCKET: [number], ERROR: [error_text(error)]})
        n = len(result.queries)
        columns: dict[str, Any] = {BUCKET: [number] * n, QUERY: result.queries}
        columns |= {f"value{at}": result.values[name] for at, name in enumerate(self.values)}
        columns |= {f"text{at}": result.texts[name] for at, name in enumerate(self.texts)}
        facts = pickle.dumps((result.facts, self._large_queries(inputs)))
        report = None if result.report is None else pickle.dumps(result.report)
        about = {BUCKET: [number], FACTS: [facts], REPORT: [report]}
        return pa.concat_tables([self._rows(n, columns), self._rows(1, about)])

    def _result(self, inputs: Sequence[Any]) -> BucketResult:
        if not all(isinstance(each, pa.Table) for each in inputs):
            return self.work(*inputs)
        tables = [_readable(table) for table in inputs]
        orders = [side.order for side in self.sides]
        in_order = [_sorted(table, order) if order else table for table, order in zip(tables, orders, strict=True)]
        try:
            return self._work_on(in_order)
        except KaratError:
            # Spark gives the rows in any order. Which of several errors is raised must not depend on it.
            return self._work_on_sorted(list(map(_sorted, tables, orders)))

    def _work_on_sorted(self, tables: Sequence[pa.Table]) -> BucketResult:
        try:
            return self._work_on(tables)
        except KaratError as error:
            names, queries = [side.name for side in self.sides], [side.query for side in self.sides]
            placed = name_queries(error, names, tables, queries)
            for side, table in zip(self.sides, tables, strict=True):
                if side.records:
                    placed = side.records.show_lines(placed, table)
            raise placed from None

    def _work_on(self, tables: Sequence[pa.Table]) -> BucketResult:
        sides = zip(self.sides, tables, strict=True)
        return self.work(*(side.records.source(table) if side.records else table for side, table in sides))

    def _large_queries(self, inputs: Sequence[Any]) -> list[str]:
        """The queries that have more documents than a bucket should have."""
        large: list[str] = []
        for table, side in zip(inputs, self.sides, strict=False):  # inputs that are no tables have no sides
            if side.documents:
                sizes, queries = _lengths(table[side.documents]), table[side.query]
            elif len(table) > self.large and side.query in table.column_names:
                counts = pc.value_counts(table[side.query])
                sizes, queries = counts.field("counts"), counts.field("values")
            else:
                continue
            large += map(id_text, queries.filter(pc.greater(sizes, self.large)).to_pylist())
        return large

    def _rows(self, n: int, columns: Mapping[str, Any]) -> pa.Table:
        arrays = {
            name: pa.array(
                columns.get(name, [None] * n), arrow_type(_ARROW[kind], self.large_types), from_pandas=True
            )  # NaN becomes null
            for name, kind in self.columns().items()
        }
        return pa.table(arrays)


def _lengths(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """The lengths of lists, or of maps, which Arrow has no function for."""
    if pa.types.is_map(lists.type):
        entry = pa.struct([lists.type.key_field, lists.type.item_field])
        lists = lists.cast(pa.list_(pa.field("entries", entry, nullable=False)))
    return pc.list_value_length(lists)


def _readable(table: pa.Table) -> pa.Table:
    """The table without its column of errors; the error of a row that could not be read."""
    if ROW_ERROR not in table.column_names:
        return table
    if texts := pc.unique(table[ROW_ERROR].drop_null()).to_pylist():
        raise error_from(min(texts))
    return table.drop_columns([ROW_ERROR])


def _sorted(table: pa.Table, first: str | None) -> pa.Table:
    """The rows in an order that depends on nothing but their values; by one column first, if it is given."""
    sortable = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    names = sorted(sortable, key=lambda name: (name != first, name))
    return table.sort_by([(name, "ascending") for name in names]) if names else table
