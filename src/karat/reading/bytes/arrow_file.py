"""Parquet and Arrow files: plain files and remote ones are read in parts, all others from memory.

Columns may be encoded: with a dictionary, or by the lengths of runs of equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import FileIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc

from karat.errors import KaratError, Place
from karat.errors.arguments import is_remote
from karat.reading.bytes.compression import GB, MB, check_expansion
from karat.reading.bytes.input_file import LARGEST_DOCUMENT, InputFile, too_large
from karat.reading.bytes.kinds import arrow_format
from karat.reading.bytes.names import ArrowFormat
from karat.reading.bytes.remote import RemotePath, is_failure

_BYTES_AT_ONCE = 64 * MB
_SMALL_REMOTE = MB
"""a larger remote file is not read as a whole"""
_READ = 256 << 10  # bytes, which fit into the processor's cache
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
_ARROW_FILE = b"ARROW1"
# How zstd data begins: with a frame, or with a frame without data, of which there are 16 kinds.
_ZSTD, _WITHOUT_DATA = 0xFD2FB528, 0x184D2A50
_LARGEST_ADDRESS = 1 << 47
# A text that is stored once can stand for any number of values. Ids are short, however many there are.
LARGEST_COLUMN = GB
_LONG_ON_AVERAGE = 1 << 10


@dataclass(frozen=True)
class ArrowFile:
    """A file with a table, Parquet or Arrow."""

    file: InputFile
    format: ArrowFormat

    @classmethod
    def of(cls, file: InputFile) -> ArrowFile:
        """A file whose first bytes say which of the two it is."""
        return cls(file, arrow_format(file.start()) or "feather")

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def is_remote(self) -> bool:
        """Whether reading many small parts of the file takes long."""
        return is_remote(self.file.path)

    @contextmanager
    def opened(self) -> Iterator[Callable[[], pa.NativeFile]]:
        """A function that opens the file, for use by one thread.

        Of plain files and remote ones, only what is needed is read; any other data is read as a whole, once.
        """
        with self.file.whole.seekable() as stream, errors_of(self):
            raw = getattr(stream, "raw", None)
            if isinstance(raw, FileIO) and isinstance(raw.name, str):
                # Not mapped into memory: if another program cut the file short, this process would be killed.
                yield partial(pa.OSFile, raw.name)
            elif isinstance(raw, pa.NativeFile):
                yield RemotePath.of(self.file.path).opener()
            else:
                content = pa.py_buffer(stream.read())
                yield partial(pa.BufferReader, content)

    def schema(self) -> pa.Schema:
        """The schema of the table."""
        with self.opened() as opened, opened() as native:
            if self.format == "feather":
                schema = _reader(native).schema
            else:
                from pyarrow.parquet import ParquetFile

                schema = ParquetFile(native).schema_arrow
            _ = schema.names  # an error if one is not UTF-8
            return schema

    def table(self) -> pa.Table:
        """The whole table, which is in memory."""
        with self.opened() as opened, opened() as native:
            if self.format == "feather":
                self._check_size(native.size())
                table = pa.Table.from_batches([batch for _, batch in self.batches(native)], _reader(native).schema)
            else:
                from pyarrow.parquet import ParquetFile

                parquet = ParquetFile(native)
                sizes = self.expanded_sizes(native, parquet.metadata)
                self._check_size(sum(sizes[group] for group in self.row_groups(parquet.metadata)))
                table = parquet.read_row_groups([*self.row_groups(parquet.metadata)])
            table.validate(full=True)
            _ = table.column_names  # an error if one is not UTF-8
            return table

    def tables(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The table, or some columns, in parts of at most so many rows, or as the file itself is divided."""
        with self.opened() as opened, opened() as native:
            if self.format == "feather":
                batches: Iterator[pa.RecordBatch] = (batch for _, batch in self.batches(native, columns))
            else:
                batches = self._parquet_batches(native, rows, columns)
            for batch in batches:
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                _ = table.column_names  # an error if one is not UTF-8
                yield table

    def batches(
        self, native: pa.NativeFile, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[float, pa.RecordBatch]]:
        """The batches of an Arrow file or stream, with these columns or all, and the share of it that was read."""
        size = native.size()
        if not self.is_remote or size <= _SMALL_REMOTE:
            check_expansion(_expanded_size(native), size, "Arrow", self.name, "If it is neither, write it as Parquet.")
        reader = _reader(native)
        if columns is not None:
            names = reader.schema.names
            fields = [names.index(name) for name in columns]
            reader = _reader(native, ipc.IpcReadOptions(included_fields=fields))
        if isinstance(reader, ipc.RecordBatchFileReader):
            for at in range(reader.num_record_batches):
                yield (at + 1) / reader.num_record_batches, reader.get_batch(at)
        else:
            for batch in reader:
                yield native.tell() / size, batch
            # Arrow reads a stream that is cut between two batches as a shorter one.
            native.seek(native.tell() - len(_END_OF_STREAM))
            if native.read(len(_END_OF_STREAM)) != _END_OF_STREAM:
                raise pa.ArrowInvalid("the mark at its end is missing")

    def row_groups(self, metadata: Any) -> range:
        """The numbers of the row groups of a Parquet file that are read."""
        bounds = self.file.bounds
        return range(metadata.num_row_groups) if bounds is None else range(bounds.start, bounds.stop)

    def rows_of_groups(self) -> list[int]:
        """The number of rows of each row group of a Parquet file."""
        from pyarrow.parquet import ParquetFile

        with self.opened() as opened, opened() as native:
            metadata = ParquetFile(native).metadata
            return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def first_row(self) -> int:
        """The number of the first row that is read, from 0."""
        bounds = self.file.bounds
        return 0 if bounds is None or not bounds.start else sum(self.rows_of_groups()[: bounds.start])

    def expanded_sizes(self, native: pa.NativeFile, metadata: Any) -> list[int]:
        """The size of each row group of a Parquet file, with all columns and decompressed, in bytes."""
        # Not column by column: `row_group.column` ends the process if the statistics of a column are damaged.
        sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
        check_expansion(sum(sizes), native.size(), "Parquet", self.name, "If it is neither, write it uncompressed.")
        return sizes

    def _parquet_batches(
        self, native: pa.NativeFile, rows: int, columns: Sequence[str] | None
    ) -> Iterator[pa.RecordBatch]:
        from pyarrow.parquet import ParquetFile

        parquet = ParquetFile(native)
        sizes = self.expanded_sizes(native, parquet.metadata)
        for group in self.row_groups(parquet.metadata):
            at_once = rows_at_once(parquet.metadata.row_group(group).num_rows, sizes[group], rows)
            yield from parquet.iter_batches(at_once, row_groups=[group], columns=columns)

    def _check_size(self, size: int) -> None:
        if size > LARGEST_DOCUMENT:
            raise too_large(self.name)


def rows_at_once(rows: int, size: int, most: int) -> int:
    """How many rows of a row group of so many rows and bytes are read at once: few if they are large."""
    return max(1, min(most, rows * _BYTES_AT_ONCE // max(size, 1)))


def _reader(native: pa.NativeFile, options: ipc.IpcReadOptions | None = None) -> Any:
    return (ipc.open_file if _is_file(native) else ipc.open_stream)(native, options=options)


def _is_file(native: pa.NativeFile) -> bool:
    """Whether this is an Arrow file, and not a stream. The position is then at its start."""
    native.seek(0)
    is_file: bool = native.read(len(_ARROW_FILE)) == _ARROW_FILE
    native.seek(0)
    return is_file


def _expanded_size(native: pa.NativeFile) -> int:
    """The size in bytes of everything that is compressed with zstd, when decompressed. lz4 cannot expand as much.

    Arrow reads the size of a buffer from the eight bytes before its compressed data, and allocates as much. It reads
    buffers only at multiples of eight bytes: in a file, and in the body of each message of a stream.
    """
    if _is_file(native):
        return _size_of_buffers(native)
    bodies = (message.body for message in ipc.MessageReader.open_stream(native))
    return sum(_size_of_buffers(pa.BufferReader(body)) for body in bodies if body is not None)


def _size_of_buffers(native: pa.NativeFile) -> int:
    size = 0
    for at in range(0, native.size(), _READ):
        data = native.read_at(_READ + 8, at)
        words = np.frombuffer(data, "<u8", len(data) // 8)
        starts = words[1:].astype(np.uint32)  # the lower half of each
        sizes = words[:-1][(starts == _ZSTD) | (starts & 0xFFFFFFF0 == _WITHOUT_DATA)]
        # Other data may contain the same four bytes, but hardly after eight that can be a size.
        size += sum(sizes[sizes < _LARGEST_ADDRESS].tolist())
    return size


@contextmanager
def errors_of(file: ArrowFile) -> Iterator[None]:
    """Report Arrow's errors as errors of a file."""
    kind = "Parquet" if file.format == "parquet" else "Arrow"
    try:
        yield
    except KaratError:
        raise
    except MemoryError as error:  # one that Arrow raises if a damaged file announces a huge column
        raise _damaged(file, kind, error) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        if isinstance(error, OSError) and (error.errno is not None or is_failure(error)):
            raise
        if "encrypt" in str(error).lower():
            what = f"the {kind} file is encrypted"
            raise KaratError(what, place=file.name, hint="Decrypt it first, for example with PyArrow.") from None
        if isinstance(error, pa.ArrowNotImplementedError):
            raise KaratError(f"the {kind} file cannot be read: {_first_line(error)}", place=file.name) from None
        raise _damaged(file, kind, error) from None


def _damaged(file: ArrowFile, kind: str, error: BaseException) -> KaratError:
    if not file.file.whole.start(1):
        return KaratError("the file is empty", place=file.name, hint="Write or download it again.")
    what = f"the {kind} data is damaged or cut short ({_first_line(error)})"
    return KaratError(what, place=file.name, hint="Write or download the file again.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


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
