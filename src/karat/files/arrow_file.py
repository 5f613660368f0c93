"""Read Parquet and Arrow files: plain files and remote ones in parts, all others from memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import FileIO
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from karat.arguments import is_remote
from karat.errors import KaratError
from karat.files.input_file import InputFile
from karat.files.kinds import arrow_format
from karat.files.names import ArrowFormat
from karat.files.remote import RemotePath, is_failure

_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


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
        with self.file.seekable() as stream, errors_of(self):
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
        """The whole table."""
        with self.opened() as opened, opened() as native:
            if self.format == "feather":
                table = pa.Table.from_batches([batch for _, batch in batches_of(native)], _reader(native).schema)
            else:
                from pyarrow.parquet import ParquetFile

                table = ParquetFile(native).read()
            table.validate(full=True)
            _ = table.column_names  # an error if one is not UTF-8
            return table

    def tables(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The table, or some columns, in parts of at most so many rows, or as the file itself is divided."""
        with self.opened() as opened, opened() as native:
            if self.format == "feather":
                batches = (batch for _, batch in batches_of(native))
            else:
                from pyarrow.parquet import ParquetFile

                batches = ParquetFile(native).iter_batches(rows, columns=columns)
            for batch in batches:
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                _ = table.column_names  # an error if one is not UTF-8
                yield table


def batches_of(native: pa.NativeFile, columns: Sequence[str] | None = None) -> Iterator[tuple[float, pa.RecordBatch]]:
    """The batches of an Arrow file or stream, with these columns or all, and the share of it that was read."""
    reader, size = _reader(native), native.size()
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


def _reader(native: pa.NativeFile, options: ipc.IpcReadOptions | None = None) -> Any:
    native.seek(0)
    is_file = native.read(6) == b"ARROW1"
    native.seek(0)
    return (ipc.open_file if is_file else ipc.open_stream)(native, options=options)


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with a value in each row, and not with dictionaries or with lengths of repeated values."""
    import pyarrow.compute as pc

    while True:
        if pa.types.is_dictionary(column.type):
            values = column.type.value_type
            chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        elif pa.types.is_run_end_encoded(column.type):
            values = column.type.value_type
            chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        else:
            return column
        column = pa.chunked_array(chunks, values)


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
            raise KaratError(what, where=file.name, hint="Decrypt it first, for example with PyArrow.") from None
        if isinstance(error, pa.ArrowNotImplementedError):
            raise KaratError(f"the {kind} file cannot be read: {_first_line(error)}", where=file.name) from None
        raise _damaged(file, kind, error) from None


def _damaged(file: ArrowFile, kind: str, error: BaseException) -> KaratError:
    what = f"the {kind} data is damaged or cut short ({_first_line(error)})"
    return KaratError(what, where=file.name, hint="Write or download the file again.")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
