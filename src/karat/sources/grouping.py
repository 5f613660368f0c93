"""Columns of ids and numbers, brought into order: one table, the rows of each query together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from karat.judged import Floats
from karat.sources.arrays import Column, row_indices, to_numpy
from karat.sources.containers import ScoredRows


def group_consecutive(query: Column, doc: Column, number: Floats, place: Callable[[str, str], str]) -> ScoredRows:
    """A table with one stretch of rows per run of equal queries; a query may have several stretches."""
    runs = pc.run_end_encode(query)
    offsets = np.concatenate(([0], to_numpy(runs.run_ends, np.int32))).astype(np.int64)
    return ScoredRows(runs.values.to_pylist(), offsets, doc, number, place)


def group_by_query(query: Column, doc: Column, number: Floats, place: Callable[[str, str], str]) -> ScoredRows:
    """A table with one stretch of rows per query, queries and rows in the order of their appearance."""
    table = group_consecutive(query, doc, number, place)
    if len(set(table.queries)) == len(table.queries):
        return table
    codes = to_numpy(pc.dictionary_encode(query).indices, np.int32)
    order = np.argsort(codes, kind="stable")
    taken = row_indices(order)
    return group_consecutive(query.take(taken), doc.take(taken), number[order], place)
