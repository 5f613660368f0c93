"""Some lines of verdict files, which are a part of their records; and which files are large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from karat.documents.ids import identifier
from karat.errors import KaratError
from karat.grounding.verdict_file.records import kind_of
from karat.reading.bytes.file_ranges import FileRange, RangeBounds
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_lines
from karat.reading.records.records import objects_from_json_lines

LARGE = 32 << 20  # bytes of files that are divided
_LINES_AT_ONCE = 1_000
ABOUT_QUERIES = ("item", "verdict", "sample")
"""the kinds of records that have a query"""
HINT = 'Each line is one object: {"record": "verdict", "query": "...", "task": "support", "item": "...", ...}.'


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


class FileRecords(NamedTuple):
    """Some records of a file, with the numbers of their lines."""

    name: str
    numbers: list[int]
    rows: list[Mapping[str, Any]]

    def records(self) -> Iterator[tuple[Sequence[int], list[Mapping[str, Any]]]]:
        """The records, with the numbers of their lines."""
        for at in range(0, len(self.rows), _LINES_AT_ONCE):
            yield self.numbers[at : at + _LINES_AT_ONCE], self.rows[at : at + _LINES_AT_ONCE]


@dataclass(frozen=True)
class RangeRecords:
    """The records in a range of a file, of queries that have all their records there."""

    at: FileRange
    first_line: int
    """the number of the first line in the whole file"""
    apart: frozenset[str] = frozenset()
    """queries that have records elsewhere, too"""
    loose: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    """the records of these queries by line, as soon as the others are read"""

    @property
    def file(self) -> InputFile:
        """The range, as a file."""
        return InputFile(self.at.path, self.at.bounds)

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.file.name

    def records(self) -> Iterator[tuple[Sequence[int], list[Mapping[str, Any]]]]:
        """The records, with the numbers of their lines. What is wrong with a line is an error, whatever it is about."""
        for numbers, rows in objects_from_json_lines(self.file, HINT, first_line=self.first_line):
            queries = list(map(_known_query, rows))
            kept = [at for at, query in enumerate(queries) if query is not None and query not in self.apart]
            if len(kept) == len(rows):
                yield numbers, [*rows]
                continue
            self.loose.update((numbers[at], rows[at]) for at, query in enumerate(queries) if query in self.apart)
            yield [numbers[at] for at in kept], [rows[at] for at in kept]

    def lines_to_end(self) -> Iterator[tuple[int, bytes]]:
        """The lines of this range and all that follow in the file, with their numbers."""
        bounds = self.at.bounds and RangeBounds(self.at.bounds.start, self.at.version.size)
        for number, line in InputFile(self.at.path, bounds).lines():
            yield number + self.first_line - 1, line


class FilePart(NamedTuple):
    """The lines of some queries, in each file."""

    files: tuple[FileLines | FileRecords | RangeRecords, ...]


def query_of(record: Mapping[str, Any]) -> str | None:
    """The query of an item or a verdict; None for a record that is about no query."""
    if record.get("query") is None or kind_of(record, "") not in ABOUT_QUERIES:
        return None
    return identifier(record["query"], "")


def _known_query(record: Mapping[str, Any]) -> str | None:
    """The query of an item or a verdict, as fast as possible; empty if whoever reads the record finds an error."""
    query = record.get("query")
    if type(query) is str and record.get("record") in ABOUT_QUERIES:
        return query
    try:
        return query_of(record)
    except KaratError:
        return ""


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
