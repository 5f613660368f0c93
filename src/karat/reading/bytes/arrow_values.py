"""The values of Arrow columns that are encoded: with a dictionary, or by the lengths of runs of equal values."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from karat.errors import KaratError, Place
from karat.reading.bytes.compression import GB, MB

# A text that is stored once can stand for any number of values. Ids are short, however many there are.
LARGEST_COLUMN = GB
_LONG_ON_AVERAGE = 1 << 10


def decoded(column: pa.ChunkedArray, place: Place | str) -> pa.ChunkedArray:
    """A column with a value in each row; an error if that would fill the memory."""
    while is_encoded(column.type):
        kind = column.type.value_type
        kind = pa.large_string() if pa.types.is_string_view(kind) else kind
        size = sum(_size(chunk) for chunk in column.chunks)
        if size > LARGEST_COLUMN and size > _LONG_ON_AVERAGE * len(column):
            limit = f"{LARGEST_COLUMN // GB} GB" if LARGEST_COLUMN >= GB else f"{LARGEST_COLUMN // MB} MB"
            what = f"{len(column):,} values take more than {limit} of memory, because long texts are repeated"
            raise KaratError(what, place=place, hint="Is this the column of the ids? Otherwise, the file is damaged.")
        column = pa.chunked_array([_with_values(chunk, _values(chunk, kind)) for chunk in column.chunks], kind)
    return column


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column."""
    while is_encoded(kind):
        kind = kind.value_type
    return kind


def is_encoded(kind: pa.DataType) -> bool:
    """Whether the values of a column are encoded."""
    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))


def _values(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    """The distinct values, as this type: Arrow cannot select from views of texts."""
    values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk.values
    return values if values.type == kind else values.cast(kind)


def _with_values(chunk: pa.Array, values: pa.Array) -> pa.Array:
    """A value for each row, from these in the place of the distinct ones."""
    if pa.types.is_dictionary(chunk.type):
        return values.take(chunk.indices)
    runs = pa.RunEndEncodedArray.from_arrays(chunk.run_ends, values)
    return pc.run_end_decode(runs.slice(chunk.offset, len(chunk)))


def _size(chunk: pa.Array) -> int:
    """The size of the texts of all rows, in bytes; 0 if they are not texts."""
    kind = chunk.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        return 0
    sizes = pc.binary_length(_values(chunk, pa.large_string()))
    return pc.sum(_with_values(chunk, sizes)).as_py() or 0
