"""Group the rows of a table by query."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from karat.judged import Floats
from karat.sources.arrays import Column, row_indices, to_numpy
from karat.sources.containers import ScoredRows


def group_consecutive(query: Column, doc: Column, number: Floats, locate: Callable[[str, str], str]) -> ScoredRows:
    """A table with one segment per stretch of consecutive rows with the same query; a query may have several."""
    stretches = pc.run_end_encode(query)
    offsets = np.concatenate(([0], to_numpy(stretches.run_ends, np.int32))).astype(np.int64)
    return ScoredRows(stretches.values.to_pylist(), offsets, doc, number, locate)


def group_by_query(query: Column, doc: Column, number: Floats, locate: Callable[[str, str], str]) -> ScoredRows:
    """A table with one segment per query; queries and rows are in order of first appearance."""
    table = group_consecutive(query, doc, number, locate)
    if len(set(table.queries)) == len(table.queries):
        return table
    codes = to_numpy(pc.dictionary_encode(query).indices, np.int32)
    order = np.argsort(codes, kind="stable")
    indices = row_indices(order)
    return group_consecutive(query.take(indices), doc.take(indices), number[order], locate)
