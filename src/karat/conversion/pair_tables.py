"""Rows of a run or of ground truth as Arrow tables, written to Parquet and Feather files in row groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from karat.conversion.pair_texts import ranks
from karat.sources.arrays import text_column
from karat.sources.containers import ScoredRows

# Threads read row groups in parallel; reading many small ones takes longer.
_ROWS_PER_GROUP = 1 << 17
_MOST_ROWS_PER_GROUP = 1 << 20


def arrow_table(rows: ScoredRows, number: str, *, by_rank: bool) -> pa.Table:
    """Rows with the columns query, doc, and score, grade or rank."""
    numbers = np.repeat(np.arange(len(rows.queries), dtype=np.int32), np.diff(rows.offsets))
    indices = pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(numbers)])
    query = pa.DictionaryArray.from_arrays(indices, text_column(rows.queries).cast(pa.string()))
    values = ranks(rows) if by_rank else np.ascontiguousarray(rows.scores, np.float64)
    column = pa.Array.from_buffers(_kind(by_rank), len(values), [None, pa.py_buffer(values)])
    return pa.Table.from_arrays([query, rows.docs.cast(pa.large_string()), column], schema=_schema(number, by_rank))


def write_parquet(file: BinaryIO, tables: Iterator[pa.Table], number: str, *, by_rank: bool) -> None:
    """Write a Parquet file whose row groups end where tables end, so that they contain whole queries."""
    import pyarrow.parquet as pq

    schema = _schema(number, by_rank)
    # Compressing scores makes them hardly smaller, and slower to read. Without Arrow's schema, queries are plain texts.
    compression = dict.fromkeys(("query", "doc"), "zstd") | {schema.names[2]: "none"}
    with pq.ParquetWriter(
        file, schema, use_dictionary=["query"], compression=compression, store_schema=False
    ) as writer:
        for table in _groups(tables):
            writer.write_table(table, _MOST_ROWS_PER_GROUP)


def write_feather(file: BinaryIO, tables: Iterator[pa.Table], number: str, *, by_rank: bool) -> None:
    """Write a Feather file, which is Arrow's own format."""
    names = _schema(number, by_rank).names
    schema = pa.schema(zip(names, (pa.string(), pa.large_string(), _kind(by_rank)), strict=True))
    with pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        for table in _groups(tables):
            writer.write_table(table.cast(schema), _MOST_ROWS_PER_GROUP)


def _groups(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables of enough rows, each made of one or several tables."""
    collected: list[pa.Table] = []
    for table in tables:
        collected.append(table)
        if sum(map(len, collected)) >= _ROWS_PER_GROUP:
            yield _one(collected)
            collected = []
    if collected:
        yield _one(collected)


def _one(tables: list[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _schema(number: str, by_rank: bool) -> pa.Schema:
    kinds = (pa.dictionary(pa.int32(), pa.string()), pa.large_string(), _kind(by_rank))
    return pa.schema(zip(("query", "doc", "rank" if by_rank else number), kinds, strict=True))


def _kind(by_rank: bool) -> pa.DataType:
    return pa.int64() if by_rank else pa.float64()
