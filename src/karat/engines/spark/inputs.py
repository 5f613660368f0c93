"""Inputs of an evaluation on Spark: DataFrames, and files that Spark reads, with the columns that are read locally.

The rows themselves are read in executors, by the local readers.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from karat.engines.spark.columns import NUMBERS, Role, TableColumns, columns_of, numbered
from karat.engines.spark.files import not_read, spark_files
from karat.engines.spark.session import quiet
from karat.engines.spark.tables import SparkTable, check_case
from karat.engines.spark.text_files import table_of_text
from karat.errors import KaratError, Parameter, require, shown
from karat.reading.bytes.names import IN_PROSE
from karat.reading.columns import GivenNames
from karat.reading.pairs.data_sets import is_data_set, qrels_of_split

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_NAMES: dict[Role, str] = {
    "truth": "the ground truth", "run": "the run", "gold_answers": "the ground truth", "answer": "the predictions",
    "verdicts": "the verdicts",
}  # fmt: skip
_HINT = "On Spark, data is a DataFrame, or a path that Spark reads."


@quiet()
def spark_table(
    source: DataFrame | str | os.PathLike[str],
    role: Role,
    columns: GivenNames | None = None,
    format: str | None = None,  # noqa: A002
    name: str = "",
    session: SparkSession | None = None,
    order: str | None = None,
) -> SparkTable:
    """The table in a DataFrame, or in the files of a path, which a `session` reads.

    `columns` are the names of columns by role (of answers, by field); `format` is that of files if it is not to be
    detected; `name` is used in messages about a DataFrame; `order` is the column that gives the order of the rows.
    """
    if not isinstance(source, str | os.PathLike):
        name = name or _NAMES[role]
        return _table_of_frame(checked_frame(source, name), role, columns, name, order)
    path = os.fsdecode(source)
    require(session, "a path is read by a Spark session", ["Pass ", Parameter("session"), "."], place=path)
    return _table_of_path(path, role, columns, format, session, order)


def _table_of_path(
    path: str,
    role: Role,
    columns: GivenNames | None,
    format: str | None,  # noqa: A002
    session: SparkSession,
    order: str | None,
) -> SparkTable:
    if role == "truth" and is_data_set(path):
        path = qrels_of_split(path, None)
    files = spark_files(path, session)
    form = files.format(format, NUMBERS.get(role))
    if form.format == "parquet":
        table = _table_of_frame(session.read.parquet(files.path), role, columns, files.name, order)
        empty = KaratError("the table has no rows", place=files.name)
        return replace(table, notes=(*form.notes, *table.notes), empty_error=empty)
    if form.format == "feather" or (form.format == "json" and role != "verdicts"):
        raise not_read(files.name, form.format)
    what = f"the order of rows is not read from {IN_PROSE[form.format]} on Spark"
    require(order is None, what, "Write the table as Parquet, or pass a DataFrame.", place=files.name)
    return table_of_text(files, form, role, columns, session)


def _table_of_frame(
    frame: DataFrame, role: Role, columns: GivenNames | None, name: str, order: str | None
) -> SparkTable:
    from pyspark.sql import functions

    read = columns_of(frame, role, columns, name, order)
    selected = _selected(frame, read, name)
    key = as_text(selected, read.query)
    size = functions.size(functions.col(_quoted(read.documents))) if read.documents else None
    return SparkTable(
        name, selected, read.query, key, size, order, None, read.notes, read.by_role, read.documents is not None
    )


def _selected(frame: DataFrame, read: TableColumns, name: str) -> DataFrame:
    """The columns that are read, and no others. Spark finds columns whatever their case is."""
    check_case(read.names, name, "Rename one of the columns.")
    from pyspark.sql import functions

    places = {each: frame.columns.index(each) for each in read.names}
    return numbered(frame).select(*(functions.col(f"c{at}").alias(each) for each, at in places.items()))


def as_text(frame: DataFrame, query: str) -> Column:
    """The ids of queries as the local readers spell them; what they refuse may have any spelling."""
    from pyspark.sql import functions
    from pyspark.sql.types import FractionalType

    column, kind = _at_path(frame, query)
    if isinstance(kind, FractionalType):
        whole = column.try_cast("long").cast("string")
        return functions.coalesce(whole, column.cast("string"))
    return column.cast("string")


def _at_path(frame: DataFrame, path: str) -> tuple[Column, DataType]:
    """The column of a name, or of a path such as `meta.id` through structures and lists; and its type."""
    from pyspark.sql import functions
    from pyspark.sql.types import ArrayType, StructType

    outer, inner = (path, "") if path in frame.columns else path.partition(".")[::2]
    column, kind = functions.col(_quoted(outer)), frame.schema[outer].dataType
    while inner:
        if isinstance(kind, StructType) and inner in kind.names:
            outer, inner = inner, ""
        else:
            outer, _, inner = inner.partition(".")
        if isinstance(kind, StructType):
            column, kind = column.getField(outer), kind[outer].dataType
        elif isinstance(kind, ArrayType):
            column, kind = functions.get(column, int(outer)), kind.elementType
    return column, kind


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def checked_frame(source: Any, name: str) -> DataFrame:
    """A DataFrame of Spark; an error that says what to do with anything else."""
    from pyspark.sql import DataFrame

    if isinstance(source, DataFrame):
        what = "this is a stream, which has no end"
        require(not source.isStreaming, what, "Write it to a table, and pass that.", place=name)
        return source
    hint = f"{_HINT} Use karat.evaluate for local data."
    if hasattr(source, "to_spark"):
        hint = "Pass frame.to_spark()."
    elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "iloc"):
        hint = "Pass spark.createDataFrame(frame), or use karat.evaluate, which reads it without Spark."
    raise KaratError(f"{shown(source)} is not a DataFrame of Spark", place=name, hint=hint)
