"""Some lines of verdict files, which are a part of their records; and which files are large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from karat.errors import KaratError
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_lines

LARGE = 32 << 20  # bytes of files that are divided
_LINES_AT_ONCE = 1_000


def are_large(files: Sequence[InputFile]) -> bool:
    """Whether files are so large that they are better divided."""
    size = 0
    for file in files:
        for _, lines in file.lines_in_blocks():
            size += sum(map(len, lines))
            if size > LARGE:
                return True
    return False


class FileLines(NamedTuple):
    """Some lines of a file, with their numbers."""

    name: str
    numbers: Sequence[int]
    lines: Sequence[bytes]

    def records(self) -> Iterator[tuple[Sequence[int], list[Mapping[str, Any]]]]:
        """The objects on the lines, with the numbers of these."""
        for at in range(0, len(self.lines), _LINES_AT_ONCE):
            objects = decode_lines(self.lines[at : at + _LINES_AT_ONCE])
            if objects is None or not set(map(type, objects)) <= {dict}:
                raise KaratError("a line is not a JSON object", place=self.name)
            yield self.numbers[at : at + _LINES_AT_ONCE], objects


class FilePart(NamedTuple):
    """The lines of some queries, in each file."""

    files: tuple[FileLines, ...]


def lines_of_query(file: InputFile, query: str) -> FileLines:
    """The lines of a file that are about a query."""
    name, numbers, found = query.encode(errors="surrogatepass"), list[int](), list[bytes]()
    for first, lines in file.lines_in_blocks():
        for number, line in enumerate(lines, first):
            if name in line or b"\\" in line:  # the name may be written with escapes
                (record,) = decode_lines([line]) or [None]
                if isinstance(record, dict) and str(record.get("query")) == query:
                    numbers.append(number)
                    found.append(line)
    return FileLines(file.name, numbers, found)
