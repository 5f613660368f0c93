"""How files of records are divided into ranges, which several processes can read at the same time.

JSON lines are divided into ranges of lines, and Parquet files into row groups. Any other file is one range: the rows of
CSV may have several lines, and a JSON document is decoded as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from karat.reading.bytes.file_ranges import FileRange, FileVersion, text_ranges
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, check_format
from karat.reading.bytes.threads import in_threads
from karat.reading.contents.formats import detect
from karat.reading.pairs.range_plan import BYTES, filled_files, range_size, ranges_of_row_groups, several_formats

_ALIKE: tuple[set[Format], ...] = ({"json", "jsonl"}, {"csv", "tsv", "trec"})
"""formats of files that may be in one folder: each file shows its own, and texts may look like TREC"""


class RecordRanges(NamedTuple):
    """Files of records in ranges."""

    name: str
    ranges: Sequence[FileRange]
    form: Format
    """of ranges with bounds, which do not show it themselves; any other range is a whole file, and does"""


class _RecordFile(NamedTuple):
    """A file, its format, and whether it can be divided."""

    file: InputFile
    version: FileVersion
    form: Format
    is_divided: bool

    @classmethod
    def of(cls, known: Format | None, path: str, version: FileVersion) -> _RecordFile:
        file = InputFile(path)
        form = known or detect(file)
        can_be_divided = form == "parquet" or (form == "jsonl" and (known is not None or _has_lines(file)))
        return cls(file, version, form, can_be_divided and not file.is_compressed())

    def ranges(self, size: int, ranges: int) -> list[FileRange]:
        """The ranges of this file, if all files have so many bytes, and are to have at least so many ranges."""
        path = self.file.path
        found = []
        if self.is_divided and self.form == "parquet":
            found = ranges_of_row_groups(path, self.version, size, max(ranges, size // BYTES))
        elif self.is_divided:
            found = text_ranges(path, self.version, range_size(size, ranges))
        return found if len(found) > 1 else [FileRange(path, self.version)]


def plan_records(path: str, ranges: int, form: str | None = None) -> RecordRanges:
    """Divide the records in a file, or in the files of a folder or of a pattern, into at least so many ranges.

    They are fewer if the files are small or cannot be divided. Empty files are left out. The format is detected unless
    it is known.
    """
    known = None if form is None else check_format(form)
    files = [*in_threads(partial(_RecordFile.of, known, *each) for each in filled_files(path).items())]
    first = files[0]
    for other in files:
        if other.form != first.form and not any({first.form, other.form} <= alike for alike in _ALIKE):
            raise several_formats(first.file, first.form, other.file, other.form)
    size = sum(each.version.size for each in files)
    planned = in_threads(partial(each.ranges, size, ranges) for each in files)
    of_parts = next((each.form for each in files if each.is_divided), first.form)
    return RecordRanges(InputFile(path).name, [*chain.from_iterable(planned)], of_parts)


def _has_lines(file: InputFile) -> bool:
    """Whether each line is an object, to go by the first one. A file with one line may be one JSON value."""
    filled = [line for _, line in islice((each for each in file.lines() if each[1].strip()), 2)]
    if len(filled) < 2:
        return False
    try:
        return isinstance(json.loads(filled[0]), dict)
    except (ValueError, RecursionError):
        return False
