"""Open a file of ground truth or a run: its format decides which reader is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from karat.errors import KaratError
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import ArrowFormat, Format, check_format, is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.columns import GivenNames, IfPresent, Noun, names_present, plain_names
from karat.reading.contents.formats import FormatGuess, GuessedTable, check_content, contradiction, detect
from karat.reading.pairs.delimited_layout import Delimited
from karat.reading.pairs.tables import ByQuery, Number, PairTable


@dataclass(frozen=True)
class Reading:
    """How a source is to be read: what its numbers are, and what the caller says about it."""

    number: Number
    columns: GivenNames | None = None
    """the names of columns, by role: `{"doc": "docno"}`"""
    format: str | None = None
    """the format, if it is not to be detected"""


@dataclass(frozen=True)
class DescribedFile:
    """A file, with its format and the names of its columns where they are known."""

    file: InputFile
    columns: GivenNames | None = None
    format: str | None = None


Names = Mapping[str, str] | None
Reader = Callable[[InputFile, Number, Names], PairTable | ByQuery]


def open_file(file: InputFile, reading: Reading) -> tuple[PairTable | ByQuery, tuple[str, ...]]:
    """The content of a file, a table or a mapping of queries to their documents; and what its name got wrong."""
    number = reading.number
    if reading.format is not None:
        given = check_format(reading.format)
        check_content(file, given, number)
        columns, notes = names_for_file(file, given, reading.columns)
        return _READERS[given](file, number, columns), notes
    found = detect(file, number)
    guess = FormatGuess(file, found, number)
    with guess.explained():
        columns, notes = names_for_file(file, found, reading.columns)
        content = _READERS[found](file, number, columns)
    if not (is_arrow(found) or isinstance(content, ByQuery)):
        content = GuessedTable(content, guess)
    return content, (*contradiction(file, found), *notes)


def names_for_file(file: InputFile, form: Format, given: GivenNames | None) -> tuple[Names, tuple[str, ...]]:
    """The given names of columns that apply to a file, and notes on those that it does not have, and need not have."""
    if not any(isinstance(name, IfPresent) for name in (given or {}).values()):
        return plain_names(given), ()
    from karat.reading.contents.samples import sample

    names = sample(file, form).names
    if form in ("csv", "tsv"):  # columns may also be given by their numbers
        names += tuple(str(at) for at in range(1, len(names) + 1))
    noun: Noun = "field" if form in ("json", "jsonl") else "column"
    columns, notes = names_present(given, names.__contains__, file.name, noun)
    return columns, notes if names else ()  # a file without names needs no note


def _trec(file: InputFile, number: Number, columns: Names) -> PairTable:
    from karat.reading.pairs.trec import TrecTable

    if columns:
        raise KaratError("a TREC file has no names of columns", place=file.name, hint="Leave them out.")
    return TrecTable(file, number)


def _delimited(form: Delimited, file: InputFile, number: Number, columns: Names) -> PairTable:
    from karat.reading.pairs.delimited import DelimitedTable

    return DelimitedTable.of(file, form, number, columns)


def _arrow(form: ArrowFormat, file: InputFile, number: Number, columns: Names) -> PairTable | ByQuery:
    from karat.reading.pairs.arrow_files import open_arrow

    return open_arrow(file.name, files_of_table(file), form, number, columns)


def _json(file: InputFile, number: Number, columns: Names) -> PairTable | ByQuery:
    from karat.reading.pairs.json_files import read_json

    return read_json(file, number, columns)


def _json_lines(file: InputFile, number: Number, columns: Names) -> PairTable | ByQuery:
    from karat.reading.pairs.json_files import read_json_lines

    return read_json_lines(file, number, columns)


_READERS: dict[Format, Reader] = {
    "trec": _trec,
    "csv": partial(_delimited, "csv"),
    "tsv": partial(_delimited, "tsv"),
    "json": _json,
    "jsonl": _json_lines,
    "parquet": partial(_arrow, "parquet"),
    "feather": partial(_arrow, "feather"),
}
