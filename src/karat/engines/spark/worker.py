"""The work on one bucket, in an executor. Its errors come back as data, so that Spark does not try it again."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats
from karat.engines.spark.line_records import RecordsInLines
from karat.engines.spark.places import id_text, name_queries
from karat.engines.spark.shipping import arrow_type, error_from, error_text
from karat.errors import KaratError

LARGE = 1_000_000
"""rows: about so many are in a bucket, and a query with more is named in a finding"""

BUCKET, FACTS, REPORT, ERROR, QUERIES = "__karat_bucket", "facts", "report", "error", "queries"
"""columns of what executors return: a row for each bucket with facts about it, or an error; and rows that have only an
Arrow stream, with the values and texts of many queries"""

QUERY = "query"
"""the column of these streams, and of files of scores, with the id"""

_RETURNED = {BUCKET: "int", FACTS: "binary", REPORT: "binary", ERROR: "string", QUERIES: "binary"}
_ARROW = {"int": pa.int32(), "string": pa.string(), "double": pa.float64(), "binary": pa.binary()}
_QUERIES_AT_ONCE = 1 << 14  # in a stream

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

    @property
    def query_columns(self) -> dict[str, str]:
        """The columns of a stream with queries, and their types in Spark.

        The names of measures may differ in case only, and Spark would take them for the same: columns are numbered.
        """
        values = {f"value{at}": "double" for at in range(len(self.values))}
        return {QUERY: "string", **values, **{f"text{at}": "string" for at in range(len(self.texts))}}

    @property
    def query_schema(self) -> pa.Schema:
        """The schema of these streams."""
        return pa.schema([(name, _ARROW[kind]) for name, kind in self.query_columns.items()])

    def run(self, number: int, *inputs: Any) -> pa.Table:
        """What an executor returns for one bucket (see `BUCKET`); a KaratError is a row.

        The inputs are Arrow tables whose rows are in any order, one for each of `sides`; or anything else that the work
        reads, which it gets as it is. Facts and errors are put in the order of the numbers.
        """
        try:
            result = self._result(inputs)
        except KaratError as error:
            return self._returned(number, {ERROR: [error_text(error)]})
        facts = pickle.dumps((result.facts, self._large_queries(inputs)))
        report = None if result.report is None else pickle.dumps(result.report)
        queries = self._queries(result)
        tables = (queries.slice(cut, _QUERIES_AT_ONCE) for cut in range(0, len(queries), _QUERIES_AT_ONCE))
        # One by one: an array of bytes ends at 2 GB.
        streams = [arrow_streams([table], pa.binary())[0].as_py() for table in tables]
        return self._returned(number, {FACTS: [facts], REPORT: [report], QUERIES: [None, *streams]})

    def _queries(self, result: BucketResult) -> pa.Table:
        """A row for each query; NaN becomes null."""
        columns: dict[str, Any] = {QUERY: result.queries}
        columns |= {f"value{at}": result.values[name] for at, name in enumerate(self.values)}
        columns |= {f"text{at}": result.texts[name] for at, name in enumerate(self.texts)}
        schema = self.query_schema
        return pa.table(
            [pa.array(columns[field.name], field.type, from_pandas=True) for field in schema], schema=schema
        )

    def _returned(self, number: int, columns: Mapping[str, list[Any]]) -> pa.Table:
        """Rows that an executor returns; columns that have no more values are filled with null."""
        n = max(map(len, columns.values()))
        filled = {name: [*columns.get(name, ()), *[None] * n][:n] for name in _RETURNED} | {BUCKET: [number] * n}
        return pa.table(filled, schema=returned_schema(self.large_types))

    def _result(self, inputs: Sequence[Any]) -> BucketResult:
        if not all(isinstance(each, pa.Table) for each in inputs):
            return self.work(*inputs)
        tables = [readable(table) for table in inputs]
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
                sizes, queries = lengths(table[side.documents]), table[side.query]
            elif len(table) > self.large and side.query in table.column_names:
                counts = pc.value_counts(table[side.query])
                sizes, queries = counts.field("counts"), counts.field("values")
            else:
                continue
            large += map(id_text, queries.filter(pc.greater(sizes, self.large)).to_pylist())
        return large


def returned_schema(large_types: bool = False) -> pa.Schema:
    """The columns of what executors return."""
    return pa.schema([(name, arrow_type(_ARROW[kind], large_types)) for name, kind in _RETURNED.items()])


def schema_text(columns: Mapping[str, str] = _RETURNED) -> str:
    """Columns, as Spark reads a schema; without an argument, those of what executors return."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def arrow_streams(tables: Iterable[pa.Table], kind: pa.DataType) -> pa.Array:
    """Tables as Arrow streams, in an array of bytes. They are not compressed: Spark compresses what it shuffles."""
    sink = pa.BufferOutputStream()
    ends = [0]
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        ends.append(sink.tell())
    offsets = np.array(ends, np.int64 if pa.types.is_large_binary(kind) else np.int32)
    return pa.Array.from_buffers(kind, len(ends) - 1, [None, pa.py_buffer(offsets), sink.getvalue()])


def lengths(lists: Any) -> Any:
    """The lengths of lists, or of maps, which Arrow has no function for."""
    if pa.types.is_map(lists.type):
        entry = pa.struct([lists.type.key_field, lists.type.item_field])
        lists = lists.cast(pa.list_(pa.field("entries", entry, nullable=False)))
    return pc.list_value_length(lists)


def readable(table: pa.Table) -> pa.Table:
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
