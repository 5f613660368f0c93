"""Group the rows of a run by query through a temporary file, if they are too many for the memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from karat.errors import KaratError
from karat.reading.bytes.temporary_parts import TemporaryParts
from karat.reading.pairs.arrays import concatenate, row_indices, to_numpy
from karat.reading.pairs.containers import ScoredRows
from karat.reading.pairs.grouping import NumberedRows, as_batches
from karat.reading.pairs.places import Locate

ROWS_AT_ONCE = 1 << 20
_PARTITIONS = 64  # each is in memory as a whole: a million rows of a run of 64 million
_SCHEMA = pa.schema([("query", pa.int32()), ("doc", pa.large_string()), ("score", pa.float64())])


class TemporaryRows(AbstractContextManager["TemporaryRows"]):
    """Rows of numbered queries in a temporary file; the partition of a query follows from its number."""

    _parts: TemporaryParts

    def __init__(self, run: str) -> None:
        self.count = 0
        self._run = run
        with self._errors():
            self._parts = TemporaryParts(_PARTITIONS)

    def __exit__(self, *error: object) -> None:
        self._parts.__exit__(*error)

    def append(self, rows: NumberedRows) -> None:
        """Append rows to their partitions. Within a partition, they keep their order."""
        for start in range(0, len(rows.scores), ROWS_AT_ONCE):
            stop = start + ROWS_AT_ONCE
            numbers = rows.query_number[start:stop]
            order = np.argsort((numbers % _PARTITIONS).astype(np.uint8), kind="stable")
            docs = rows.docs.slice(start, ROWS_AT_ONCE).cast(pa.large_string()).take(row_indices(order))
            columns = [
                _array(pa.int32(), numbers[order]), docs, _array(pa.float64(), rows.scores[start:stop][order])
            ]  # fmt: skip
            batch = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
            ends = np.cumsum(np.bincount(numbers % _PARTITIONS, minlength=_PARTITIONS)).tolist()
            spans = enumerate(zip([0, *ends], ends, strict=False))
            pieces = [(at, batch.slice(first, end - first).serialize()) for at, (first, end) in spans if end > first]
            with self._errors():
                self._parts.append([(partition, memoryview(piece)) for partition, piece in pieces])
            self.count += len(numbers)

    def batches(self, queries: list[str], locate: Locate) -> Iterator[Callable[[], ScoredRows]]:
        """Tables with one segment per query; `queries` are the names of the queries, by their numbers."""
        for partition in range(_PARTITIONS):
            with self._errors():
                pieces = map(pa.py_buffer, self._parts.pieces(partition))
                parts = [ipc.read_record_batch(piece, _SCHEMA) for piece in pieces]
            if parts:
                numbers, scores = (
                    np.concatenate([to_numpy(part[column], kind) for part in parts])
                    for column, kind in (("query", np.int32), ("score", np.float64))
                )
                docs = concatenate(part["doc"] for part in parts)
                rows = NumberedRows(queries[partition::_PARTITIONS], numbers // _PARTITIONS, docs, scores)
                yield from as_batches(rows, locate)

    def note(self) -> str:
        """What was done, as a sentence without a full stop."""
        through = f"{self.count:,} rows were sorted through a temporary file of {_size(self._parts.size)}"
        return f"{self._run}: the run is not grouped by query; {through}"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            size = self._parts.size if hasattr(self, "_parts") else 0
            what = (
                "the run is not grouped by query, and too large to be sorted in memory; the temporary file for it"
                f" cannot be used after {_size(size)}: {error.strerror or error}"
            )
            folder = tempfile.gettempdir() if tempfile.tempdir else "the temporary folder"
            hint = f"Sort the run by query, or make space in {folder}, or set TMPDIR to another folder."
            raise KaratError(what, place=self._run, hint=hint) from None


def _array(kind: pa.DataType, values: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
