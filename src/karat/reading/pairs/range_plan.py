"""How a run in files is divided into ranges, which several processes can read at the same time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from karat.errors import KaratError
from karat.reading.bytes.arrow_file import ArrowFile
from karat.reading.bytes.file_ranges import FileRange, FileVersion, RangeBounds, text_ranges
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import IN_PROSE, Format, check_format
from karat.reading.bytes.part_files import files_of_path
from karat.reading.bytes.remote import local_path
from karat.reading.bytes.threads import in_threads
from karat.reading.contents.formats import detect
from karat.reading.pairs.files import Reading, open_file
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.places import Pair, PlacedPair
from karat.reading.pairs.tables import ByQuery, PairTable

BYTES = 32 << 20  # of text in a range
_ROWS = 1 << 19  # of a Parquet file in a range, unless a row group has more
_BEGINNING = 1 << 16  # bytes of text
_LEAST_BYTES, _LEAST_ROWS = 1 << 18, 1 << 13
"""of a range: more ranges of a small file would take longer, and a header is in the first one"""
_NOT_EMPTY = 512  # bytes that are not only white space, or the compressed form of no data


class RunRanges(NamedTuple):
    """A run in ranges, and what is known of it before they are read."""

    name: str
    ranges: Sequence[FileRange]
    has_lists: bool
    """whether a row has all documents of its query: no query is then in several ranges"""
    notes: tuple[Note, ...]
    empty_error: KaratError | None
    reading: Reading

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The places at which pairs of a query and a document are listed, for an error: files are read again."""
        for path in dict.fromkeys(each.path for each in self.ranges):
            content, _ = open_file(InputFile(path), self.reading)
            if not isinstance(content, ByQuery):
                yield from content.locate(pairs)


def plan_ranges(path: str, reading: Reading, ranges: int = 1) -> RunRanges:
    """Divide the run in a file, or in the files of a folder or of a pattern, into at least so many ranges, if possible.

    Only the beginning of each file, and what Parquet files say of themselves, is read.
    """
    files = filled_files(path)
    first = _BeginningOfFile.of(InputFile(next(iter(files))), reading)
    content, notes = open_file(first.part, reading)
    divided = _Division(first, content, reading, sum(version.size for version in files.values()), ranges)
    planned = in_threads(partial(divided.ranges_of, *each) for each in files.items())
    by_query = isinstance(content, ByQuery)
    empty = None if isinstance(content, ByQuery) else content.empty_error()
    name = InputFile(path).name
    return RunRanges(name, [*chain.from_iterable(planned)], by_query, (*notes, *content.notes), empty, reading)


def filled_files(path: str) -> dict[str, FileVersion]:
    """The files of a path that are not empty, with their versions; if all are empty, the first one."""
    paths = files_of_path(local_path(path)) or [path]
    versions = dict(zip(paths, in_threads(partial(FileVersion.of, each) for each in paths), strict=True))
    are_filled = in_threads(partial(_is_filled, *each) for each in versions.items())
    filled = {path: versions[path] for path, is_filled in zip(paths, are_filled, strict=True) if is_filled}
    return filled or {paths[0]: versions[paths[0]]}


def _is_filled(path: str, version: FileVersion) -> bool:
    """Whether a file has more than white space, which may be compressed."""
    return version.size > _NOT_EMPTY or bool(version.size and InputFile(path).first_byte())


def ranges_of_lines(files: Mapping[str, FileVersion], ranges: int) -> list[FileRange]:
    """Divide files in which every line is a record into at least so many ranges, if possible."""
    size = range_size(sum(version.size for version in files.values()), ranges)
    are_compressed = in_threads(InputFile(path).is_compressed for path in files)
    planned = (
        [FileRange(path, version)] if is_compressed else text_ranges(path, version, size)
        for (path, version), is_compressed in zip(files.items(), are_compressed, strict=True)
    )
    return [*chain.from_iterable(planned)]


def ranges_of_row_groups(path: str, version: FileVersion, size: int, ranges: int) -> list[FileRange]:
    """Divide a Parquet file into ranges of row groups that are next to each other.

    All files have `size` bytes, and are to be divided into at least so many ranges, if possible.
    """
    rows = ArrowFile(InputFile(path), "parquet").rows_of_groups()
    rows_of_all_files = sum(rows) * size // max(version.size, 1)
    most = max(_LEAST_ROWS, min(_ROWS, rows_of_all_files // ranges))
    return [FileRange(path, version, bounds) for bounds in _row_groups(rows, most)]


def _row_groups(sizes: Sequence[int], most: int) -> Iterator[RangeBounds]:
    """Row groups next to each other, with at most so many rows in all, or one; `sizes` are the rows of each group."""
    start, rows = 0, 0
    for group, size in enumerate(sizes):
        if rows and rows + size > most:
            yield RangeBounds(start, group)
            start, rows = group, 0
        rows += size
    if start < len(sizes):
        yield RangeBounds(start, len(sizes))


def several_formats(first: InputFile, form: Format, other: InputFile, other_form: Format) -> KaratError:
    """The error for files of a path that are not of one format."""
    what = f"this is {IN_PROSE[other_form]}, and {first.name} is {IN_PROSE[form]}"
    return KaratError(what, place=other.name, hint="Name the files of one format.")


def range_size(size: int, ranges: int) -> int:
    """How many bytes of text are in a range."""
    return max(_LEAST_BYTES, min(BYTES, size // ranges))


class _BeginningOfFile(NamedTuple):
    """How a file begins: its format, and its first lines or row group; the whole file if it cannot be divided."""

    file: InputFile
    form: Format
    part: InputFile

    @classmethod
    def of(cls, file: InputFile, reading: Reading) -> _BeginningOfFile:
        """The beginning of a file, which is not read yet."""
        form = detect(file, reading.number) if reading.format is None else check_format(reading.format)
        if form == "parquet":
            return cls(
                file, form, InputFile(file.path, RangeBounds(0, 1)) if ArrowFile(file, form).rows_of_groups() else file
            )
        is_divided = form not in ("json", "feather") and not file.is_compressed()
        return cls(file, form, InputFile(file.path, RangeBounds(0, _BEGINNING)) if is_divided else file)

    @property
    def is_divided(self) -> bool:
        """Whether parts of the file can be read: whole lines that are not compressed, or row groups."""
        return self.part.bounds is not None


def _is_by_rank(content: PairTable | ByQuery) -> bool | None:
    """Whether documents have ranks instead of scores; None if they are lists."""
    return None if isinstance(content, ByQuery) else content.by_rank


class _Division(NamedTuple):
    """How the files of a run, with so many bytes in all, are divided into at least so many ranges."""

    first: _BeginningOfFile
    content: PairTable | ByQuery
    """of the beginning of the first file"""
    reading: Reading
    size: int
    ranges: int

    def ranges_of(self, path: str, version: FileVersion) -> list[FileRange]:
        """The ranges of one file."""
        begins = _BeginningOfFile.of(InputFile(path), self.reading)
        if path != self.first.file.path:
            self._check_like_first(begins)
        if not begins.is_divided:
            return [FileRange(path, version)]
        if begins.form != "parquet":
            found = text_ranges(path, version, range_size(self.size, self.ranges))
        else:
            found = ranges_of_row_groups(path, version, self.size, self.ranges)
        return found if len(found) > 1 else [FileRange(path, version)]

    def _check_like_first(self, other: _BeginningOfFile) -> None:
        """An error if another file cannot be of the same run, because it has another format or other columns."""
        first = self.first
        if other.form != first.form:
            raise several_formats(first.file, first.form, other.file, other.form)
        if not other.is_divided and other.form in ("json", "jsonl", "feather"):
            return  # it might have to be read as a whole
        content, _ = open_file(other.part, self.reading)
        if _is_by_rank(content) != _is_by_rank(self.content):
            what = f"the columns differ from those of {first.file.name}"
            raise KaratError(what, place=other.file.name, hint="The files of one table have the same columns.")
