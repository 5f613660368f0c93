"""The columns of scores: one float per query and measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Parameter, plural, shown


def checked_columns(queries: Any, values: Any) -> dict[str, Floats]:
    """The columns as arrays of one float per query, which cannot be changed."""
    hint = "Pass the ids of the queries, and {measure: one number per query}."
    is_list = isinstance(queries, Sequence) and not isinstance(queries, str)
    if not is_list or not all(issubclass(kind, str) for kind in {*map(type, queries)}):
        raise KaratError([Parameter("queries", queries), " is not a list of ids"], hint=hint)
    if not isinstance(values, Mapping):
        raise KaratError([Parameter("values", values), " is not a mapping of measures to columns"], hint=hint)
    columns = {}
    for name, column in values.items():
        if not isinstance(name, str):
            raise KaratError(f"{shown(name)} is not the name of a measure", hint=hint)
        try:
            numbers = np.asarray(column, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise KaratError(f"the values of {name} are not numbers: {shown(column)}", hint=hint) from None
        if numbers.shape != (len(queries),):
            what = f"{name} has values of shape {numbers.shape} for {plural(len(queries), 'query')}"
            raise KaratError(what, hint=hint)
        numbers.setflags(write=False)
        columns[name] = numbers
    return columns


def checked_rows(rows: Any, count: int) -> Ints:
    """Positions of queries as an array; negative ones count from the end."""
    try:
        given = np.asarray(rows)
        valid = given.ndim == 1 and (given.dtype.kind in "iu" or not len(given))
        places = given.astype(np.int64) if valid else None
    except (TypeError, ValueError, OverflowError):
        places = None
    if places is None or ((places < -count) | (places >= count)).any():
        hint = f"Pass whole numbers from 0 to {count - 1}."
        raise KaratError([Parameter("rows", rows), f" are not positions of the {plural(count, 'query')}"], hint=hint)
    return np.where(places < 0, places + count, places)
