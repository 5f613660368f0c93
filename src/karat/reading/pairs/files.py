"""Open a file of ground truth or a run: its format decides which reader is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from karat.errors import require
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, check_format, is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.columns import GivenNames, IfPresent, Noun, names_present, plain_names
from karat.reading.contents.formats import FormatGuess, GuessedTable, check_content, contradiction, detect
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


def open_file(file: InputFile, reading: Reading) -> tuple[PairTable | ByQuery, tuple[str, ...]]:
    """The content of a file, a table or a mapping of queries to their documents; and what its name got wrong.

    Of a part of a file, the format and the columns are those of the whole file.
    """
    number, whole = reading.number, file.whole
    if reading.format is not None:
        form = check_format(reading.format)
        check_content(whole, form, number)
        columns, notes = names_for_file(whole, form, reading.columns)
        return _read(file, form, number, columns), notes
    form = detect(whole, number)
    guess = FormatGuess(whole, form, number)
    with guess.explained():
        columns, notes = names_for_file(whole, form, reading.columns)
        content = _read(file, form, number, columns)
    if not (is_arrow(form) or isinstance(content, ByQuery)):
        content = GuessedTable(content, guess)
    return content, (*contradiction(whole, form), *notes)


def names_for_file(file: InputFile, form: Format, columns: GivenNames | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """The given names of columns that apply to a file, and notes on those that it does not have, and need not have."""
    if not any(isinstance(name, IfPresent) for name in (columns or {}).values()):
        return plain_names(columns), ()
    from karat.reading.contents.samples import sample

    names = sample(file, form).names
    if form in ("csv", "tsv"):  # columns may also be given by their numbers
        names += tuple(str(at) for at in range(1, len(names) + 1))
    noun: Noun = "field" if form in ("json", "jsonl") else "column"
    present, notes = names_present(columns, names.__contains__, file.name, noun)
    return present, notes if names else ()  # a file without names needs no note


def _read(file: InputFile, form: Format, number: Number, columns: Mapping[str, str]) -> PairTable | ByQuery:
    """The content of a file of this format. The reader of each format is loaded when it is needed."""
    if form == "trec":
        from karat.reading.pairs.trec import TrecTable

        require(not columns, "a TREC file has no names of columns", "Leave them out.", place=file.name)
        return TrecTable(file, number)
    if form == "csv" or form == "tsv":
        from karat.reading.pairs.delimited import DelimitedTable
        from karat.reading.pairs.delimited_layout import layout_of

        return DelimitedTable(file, number, layout_of(file.whole, form, number, columns))
    if is_arrow(form):
        from karat.reading.pairs.arrow_files import open_arrow

        return open_arrow(file.name, files_of_table(file), form, number, columns)
    from karat.reading.pairs.json_files import read_json, read_json_lines

    return (read_json if form == "json" else read_json_lines)(file, number, columns)
