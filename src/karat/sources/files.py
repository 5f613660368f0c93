"""Open a file of ground truth or a run: its format decides which reader is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from karat.errors import KaratError
from karat.files.input_file import InputFile
from karat.files.names import ArrowFormat, Format, check_format, is_arrow
from karat.files.part_files import files_of_table
from karat.sources.columns import IfPresent
from karat.sources.delimited import Delimited
from karat.sources.formats import check_content, contradiction, detect
from karat.sources.guessed_formats import FormatGuess, GuessedTable
from karat.sources.tables import ByQuery, Number, PairTable


@dataclass(frozen=True)
class Reading:
    """How a source is to be read: what its numbers are, and what the caller says about it."""

    number: Number
    columns: Mapping[str, str] | None = None
    """the names of columns, by role: `{"doc": "docno"}`"""
    format: str | None = None
    """the format, if it is not to be detected"""


@dataclass(frozen=True)
class DescribedFile:
    """A file, with its format and the names of its columns where they are known."""

    file: InputFile
    columns: Mapping[str, str] | None = None
    format: str | None = None


Reader = Callable[[InputFile, Reading], PairTable | ByQuery]


def open_file(file: InputFile, reading: Reading) -> tuple[PairTable | ByQuery, tuple[str, ...]]:
    """The content of a file, a table or a mapping of queries to their documents; and what its name got wrong."""
    if reading.format is not None:
        given = check_format(reading.format)
        check_content(file, given, reading.number)
        return _READERS[given](file, reading), ()
    found = detect(file, reading.number)
    guess = FormatGuess(file, found, reading.number)
    with guess.explained():
        content = _READERS[found](file, reading)
    if not (is_arrow(found) or isinstance(content, ByQuery)):
        content = GuessedTable(content, guess)
    return content, contradiction(file, found)


def _trec(file: InputFile, reading: Reading) -> PairTable:
    from karat.sources.trec import TrecTable

    if any(not isinstance(name, IfPresent) for name in (reading.columns or {}).values()):
        raise KaratError("a TREC file has no names of columns", place=file.name, hint="Leave them out.")
    return TrecTable(file, reading.number)


def _delimited(file: InputFile, of_file: Delimited, reading: Reading) -> PairTable:
    from karat.sources.delimited_table import DelimitedTable

    return DelimitedTable.of(file, of_file, reading.number, reading.columns)


def _arrow(file: InputFile, of_file: ArrowFormat, reading: Reading) -> PairTable | ByQuery:
    from karat.sources.arrow_files import open_arrow

    return open_arrow(file.name, files_of_table(file), of_file, reading.number, reading.columns)


def _json(file: InputFile, reading: Reading) -> PairTable | ByQuery:
    from karat.sources.json_files import read_json

    return read_json(file, reading.number, reading.columns)


def _json_lines(file: InputFile, reading: Reading) -> PairTable | ByQuery:
    from karat.sources.json_files import read_json_lines

    return read_json_lines(file, reading.number, reading.columns)


_READERS: dict[Format, Reader] = {
    "trec": _trec,
    "csv": lambda file, reading: _delimited(file, "csv", reading),
    "tsv": lambda file, reading: _delimited(file, "tsv", reading),
    "json": _json,
    "jsonl": _json_lines,
    "parquet": lambda file, reading: _arrow(file, "parquet", reading),
    "feather": lambda file, reading: _arrow(file, "feather", reading),
}
