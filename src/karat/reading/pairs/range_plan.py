"""How a run in files is divided into ranges, which several processes can read at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from karat.errors import KaratError, Place
from karat.reading.bytes.arrow_file import ArrowFile
from karat.reading.bytes.file_ranges import FileRange, FileVersion, RangeBounds, text_ranges
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, check_format
from karat.reading.bytes.part_files import files_of_path
from karat.reading.bytes.remote import local_path
from karat.reading.bytes.threads import in_threads
from karat.reading.contents.formats import detect
from karat.reading.pairs.files import Reading, open_file
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.tables import ByQuery

_BYTES = 64 << 20  # of text in a range
_ROWS = 1 << 20  # of a Parquet file in a range, unless a row group has more
_BEGINNING = 1 << 16  # bytes of text


class RunRanges(NamedTuple):
    """A run in ranges, and what is known of it before they are read."""

    name: str
    ranges: Sequence[FileRange]
    has_lists: bool
    """whether a row has all documents of its query: no query is then in several ranges"""
    notes: tuple[Note, ...]
    empty_error: KaratError | None
    reading: Reading

    def locate(self, query: str, doc: str) -> Place:
        """The two places at which a document is listed for a query, for an error: files are read again."""
        for path in dict.fromkeys(each.path for each in self.ranges):
            content, _ = open_file(InputFile(path), self.reading)
            if not isinstance(content, ByQuery):
                place = content.locate(query, doc)
                if place != Place(content.name):
                    return place
        return Place(self.name, query=query)


def plan_ranges(path: str, reading: Reading, ranges: int = 1) -> RunRanges:
    """Divide the run in a file, or in the files of a folder or of a pattern, into at least so many ranges, if possible.

    Only the beginning of the first file, and what Parquet files say of themselves, is read.
    """
    paths = files_of_path(local_path(path)) or [path]
    versions = dict(zip(paths, in_threads(partial(FileVersion.of, each) for each in paths), strict=True))
    filled = [each for each in paths if versions[each].size] or paths[:1]
    first = InputFile(filled[0])
    form = detect(first, reading.number) if reading.format is None else check_format(reading.format)
    divided = _Division(form, sum(version.size for version in versions.values()), ranges)
    planned = in_threads(partial(divided.ranges_of, each, versions[each]) for each in filled)
    content, notes = open_file(_beginning(first, form), reading)
    by_query = isinstance(content, ByQuery)
    empty = None if isinstance(content, ByQuery) else content.empty_error()
    name = InputFile(path).name
    return RunRanges(name, [*chain.from_iterable(planned)], by_query, (*notes, *content.notes), empty, reading)


def _beginning(file: InputFile, form: Format) -> InputFile:
    """The first lines or the first row group of a file; the whole file if it cannot be divided."""
    return (
        InputFile(file.path, RangeBounds(0, 1 if form == "parquet" else _BEGINNING))
        if _is_divided(file, form)
        else file
    )


def _is_divided(file: InputFile, form: Format) -> bool:
    """Whether parts of a file can be read: whole lines that are not compressed, or row groups."""
    if form == "parquet":
        return bool(ArrowFile(file, form).rows_of_groups())
    return form not in ("json", "feather") and not file.is_compressed()


class _Division(NamedTuple):
    """How files of this format, with so many bytes in all, are divided into at least so many ranges."""

    form: Format
    size: int
    ranges: int

    def ranges_of(self, path: str, version: FileVersion) -> list[FileRange]:
        """The ranges of one file."""
        file = InputFile(path)
        if not _is_divided(file, self.form):
            return [FileRange(path, version)]
        if self.form != "parquet":
            return text_ranges(path, version, max(1, min(_BYTES, self.size // self.ranges)))
        return [FileRange(path, version, bounds) for bounds in self._row_groups(ArrowFile(file, "parquet"))]

    def _row_groups(self, file: ArrowFile) -> Iterator[RangeBounds]:
        """Row groups next to each other, with not too many rows in all."""
        sizes = file.rows_of_groups()
        most = min(_ROWS, sum(sizes) // self.ranges)
        start, rows = 0, 0
        for group, size in enumerate(sizes):
            if rows and rows + size > most:
                yield RangeBounds(start, group)
                start, rows = group, 0
            rows += size
        if start < len(sizes):
            yield RangeBounds(start, len(sizes))
