"""Columns of ids and numbers, brought into order: one table, the rows of each query together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.judged import Floats
from karat.sources.forms import Column, Table


def in_groups(query: Column, doc: Column, number: Floats, place: Callable[[str, str], str]) -> Table:
    """A table with one stretch of rows per run of equal queries; a query may have several stretches."""
    runs = pc.run_end_encode(query)
    offsets = np.concatenate(([0], runs.run_ends.to_numpy())).astype(np.int64)
    return Table(runs.values.to_pylist(), offsets, doc, number, place)


def grouped(query: Column, doc: Column, number: Floats, place: Callable[[str, str], str]) -> Table:
    """A table with one stretch of rows per query, queries and rows in the order of their appearance."""
    table = in_groups(query, doc, number, place)
    if len(set(table.queries)) == len(table.queries):
        return table
    codes = pc.dictionary_encode(query).indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    rows = pa.array(order)
    return in_groups(query.take(rows), doc.take(rows), number[order], place)


def one_array(column: pa.ChunkedArray) -> Column:
    """A string column in one piece; a large one where 32-bit offsets would not reach."""
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if len(chunks) == 1:
        return chunks[0]
    if sum(chunk.nbytes for chunk in chunks) > 2**31 - 2**20:
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    empty = pa.array([], column.type)
    return pa.concat_arrays(chunks) if chunks else empty
