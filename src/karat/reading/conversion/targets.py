"""The file that a conversion writes: its format and compression, judging by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from karat.errors import KaratError, Message, Parameter, enumeration, require
from karat.output.files import write_chunks
from karat.reading.bytes.names import COMPRESSIONS, FORMATS, Format, check_format, format_of_name, is_arrow, suffix_of
from karat.reading.bytes.threads import in_threads


@dataclass(frozen=True)
class Target:
    """Where a conversion is written: a file, or standard output, which `emit` writes to."""

    path: str
    format: Format
    compression: str = ""
    """the suffix of a compressed file, such as `.gz`"""
    emit: Callable[[Iterator[bytes]], None] | None = None
    is_format_given: bool = False
    """whether the format was chosen, whatever the name of the file is"""

    @property
    def suffix(self) -> str:
        """The suffix of the file, without that of its compression."""
        return suffix_of(self.path)


def write_to(target: Target, chunks: Iterator[bytes]) -> None:
    """Write text to a target, chunk by chunk."""
    if target.emit is not None:
        target.emit(chunks)
        return
    if target.compression:
        chunks = in_threads(partial(_compressed, target.compression.lower(), chunk) for chunk in chunks)
    write_chunks(target.path, chunks)


def target_of(path: str, output_format: str | None, emit: Callable[[Iterator[bytes]], None] | None = None) -> Target:
    """The target with this path; `output_format` overrides what its name says about the format."""
    chosen = None if output_format is None else check_format(output_format, "output_format")
    if emit is not None:
        require(
            chosen, "the format of standard output is not known", ["Choose one with ", Parameter("output_format"), "."]
        )
        if is_arrow(chosen):
            raise KaratError(f"{chosen} cannot be written to standard output", hint="Name a file.")
        return Target(path, chosen or "csv", emit=emit, is_format_given=True)
    compression = next((path[-len(suffix) :] for suffix in COMPRESSIONS if path.lower().endswith(suffix)), "")
    suffix = suffix_of(path)
    form = chosen or format_of_name(path) or ("trec" if suffix == ".txt" else None)
    if form is None:
        what = f"the format of {suffix} files is not known" if suffix else "the format of the output is not known"
        hint: Message = ["Choose one with ", Parameter("output_format"), f": {enumeration(FORMATS, 'or')}."]
        raise KaratError(what, place=path, hint=hint)
    if compression and is_arrow(form):
        raise KaratError(f"{form} files are compressed already", place=path, hint=f"Leave out {compression}.")
    return Target(path, form, compression, is_format_given=chosen is not None)


def _compressed(suffix: str, data: bytes) -> bytes:
    """A chunk compressed on its own, so that threads can share the work: files in these formats may have many parts."""
    if suffix == ".gz":
        import gzip

        return gzip.compress(data, 6, mtime=0)  # the same data gives the same file
    if suffix in (".bz2", ".xz"):
        compressed: bytes = import_module({".bz2": "bz2", ".xz": "lzma"}[suffix]).compress(data)
        return compressed
    import pyarrow as pa

    return bytes(pa.compress(data, {".zst": "zstd", ".lz4": "lz4"}[suffix]))
