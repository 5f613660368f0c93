"""Files of queries and of documents, of every format, and data sets: their columns, and a value for each id."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from karat.documents.ids import identifier
from karat.errors import KaratError, Message, Parameter, Place, plural, shown
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_entries
from karat.reading.bytes.names import Format, check_format, is_arrow
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.columns import Choice, ColumnRole, choose, missing_columns
from karat.reading.columns.spellings import TextRole, find_column
from karat.reading.contents.formats import detect
from karat.reading.pairs.data_sets import named_data_set, texts_file, texts_of_data_set
from karat.reading.records.paths import Record, field_value
from karat.reading.records.record_files import delimiter_of, lines_of_table, records_of_file, rows_of_table
from karat.reading.records.records import records_from_list

HINT = "Texts and groups are read from CSV, TSV, JSON, JSON lines, Parquet or Feather, with a column of ids."
_FIRST = 100  # records whose fields decide what is read
_LONGEST_HEADER = 1 << 16  # characters

Content = Literal["queries", "corpus"]
# BEIR's names, and karat's, need no note. An id and its text may be the same.
_ROLES: dict[Content, tuple[ColumnRole, ...]] = {
    "queries": (
        ColumnRole("id", "query_id", ("_id", "query")), ColumnRole("text", "query_text", ("content",), shared=True),
    ),
    "corpus": (
        ColumnRole("id", "doc_id", ("_id", "query")), ColumnRole("text", "doc_text", ("content",), shared=True),
        ColumnRole("title", "title", ("doc_title", "document_title", "headline"), required=False, shared=True),
    ),
}  # fmt: skip
_ROLES_OF_VALUES = (ColumnRole("id", "id", ("_id", "query")), ColumnRole("value", "text"))


class TextColumns(NamedTuple):
    """The columns or fields of a table of queries or documents: the id, the text and, if there is one, the title."""

    id: str
    text: str
    title: str | None
    choice: Choice

    @property
    def names(self) -> list[str]:
        return [self.id, self.text, *([] if self.title is None else [self.title])]


def text_columns(
    names: Sequence[str], content: Content, known: Mapping[str, str] | None, place: Place | str, *, has_ids: bool = True
) -> TextColumns:
    """The columns of a table of queries, or of the documents of a corpus; `known` are names by role.

    >>> text_columns(["docno", "body"], "corpus", None, "corpus.csv").choice.note("corpus.csv")
    ("corpus.csv: id is read from the column 'docno' and text from 'body'",)
    """

    def hint(missing: Sequence[str]) -> Message:
        if known is None:  # as in Python, where names cannot be passed
            return "If yours have other names, rename them."
        columns = Parameter("columns", {f"{content}.{role}": "NAME" for role in missing})
        return ["If yours have other names, use ", columns, "."]

    roles = _ROLES[content][not has_ids :]
    choice = choose(names, roles, known, place, has=lambda name: name.partition(".")[0] in names, hint=hint)
    return TextColumns(choice.columns.get("id", ""), choice.columns["text"], choice.columns.get("title"), choice)


@dataclass(frozen=True)
class TextFile:
    """A file of queries or of documents with their texts. It can be read more than once, and is read in parts."""

    file: InputFile
    format: Format | None
    """None for a data set of ir_datasets"""
    has_header: bool = True
    """whether the first line of CSV or TSV names the columns; otherwise these are the id and the text"""
    content: Content = "queries"
    """what is read of a data set"""

    @classmethod
    def of(
        cls,
        source: str | InputFile,
        known_format: str | None = None,
        column: str | None = None,
        content: Content = "queries",
        rejected: RejectedRows | None = None,
    ) -> TextFile:
        """A file, the folder of a BEIR data set, or the name of a data set of ir_datasets.

        The format is detected unless it is known, and `column` is a column that is to be read. With `rejected`, lines
        that are wrong are left out, and it collects their errors.
        """
        file = InputFile.of(source)
        if named_data_set(file):
            return cls(file, None, content=content)
        if file.path and (in_folder := texts_file(file.path, content)):
            file = InputFile(in_folder)
        form = detect(file) if known_format is None else check_format(known_format)
        if not is_arrow(form) and not file.first_byte():
            raise KaratError("the file is empty", place=file.name, hint=HINT)
        if not is_arrow(form):
            file = file.rejecting_into(rejected)
        return cls(file, form, form not in ("csv", "tsv", "trec") or _has_header(file, column))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed about the file."""
        if self.has_header:
            return ()
        return (f"{self.file.name}: there is no header line; the columns are read as ids and texts",)

    def records(self, column: str = "text") -> Iterator[tuple[Place, Record]]:
        """Each query or document with its place. Values that have no name get that of `column`."""
        file = self.file
        if name := named_data_set(file):
            return ((Place(name), record) for record in texts_of_data_set(name, self.content))
        if not self.has_header:
            return _ids_and_texts(file)
        if self.format == "json":
            return _from_json(decode_entries(file, HINT, (list, dict)), column, file)
        return records_of_file(file, "csv" if self.format == "trec" else self.format, HINT)


@dataclass(frozen=True)
class Values:
    """A value for each id, with the place of each for errors, read one by one; and what was assumed."""

    rows: Iterator[tuple[Place, str, Any]]
    notes: tuple[str, ...]


def read_values(source: str | InputFile, column: str) -> Values:
    """Read a column of a file of queries, by id."""
    file = TextFile.of(source, column=column)
    names, records = with_field_names(file.records(column), file.file.name)
    choice = choose(
        names,
        _ROLES_OF_VALUES,
        {"value": column},
        file.file.name,
        has=lambda _: True,  # later records may have it
        hint=lambda _: "Ids are in a column such as query, qid or _id.",
    )
    notes = choice.note(file.file.name) if file.has_header else ()
    return Values(_values(records, choice.columns["id"], column, names), (*file.notes, *notes))


def with_field_names(
    records: Iterator[tuple[Place, Record]], name: str
) -> tuple[list[str], Iterator[tuple[Place, Record]]]:
    """The names of the fields of the first records, which decide what is read; and all records."""
    first = list(islice(records, _FIRST))
    names = list(dict.fromkeys(chain.from_iterable(record for _, record in first)))
    if not names:
        raise KaratError("the file contains no records", place=name, hint=HINT)
    return names, chain(first, records)


def without_id(column: str, place: Place | str) -> KaratError:
    """The error for a row without an id."""
    return KaratError(f"the id is missing: there is no {shown(column)}", place=place, hint="Each row needs it.")


def _values(
    records: Iterator[tuple[Place, Record]], id_name: str, value_name: str, names: list[str]
) -> Iterator[tuple[Place, str, Any]]:
    """The id and the value of each record. A value may be missing, but not in all records."""
    has_values, first = False, Place("")
    for place, record in records:
        value = field_value(record, value_name)
        has_values = has_values or value is not None or value_name in record
        first = first if first.source else place
        id_ = record.get(id_name)
        if id_ is None:
            raise without_id(id_name, place)
        yield place, identifier(id_, place), value
    if not has_values:
        raise missing_columns([value_name], names, first)


def _from_json(value: Any, column: str, file: InputFile) -> Iterator[tuple[Place, Record]]:
    """An array of records or of values, which are numbered from 0; or an object: a record, or a value for each id."""
    name = file.name
    if isinstance(value, list):
        if any(isinstance(each, Mapping) for each in value):
            return records_from_list(value, name, rejected=file.rejected)
        return ((Place(name, field=f"[{at}]"), {"_id": str(at), column: each}) for at, each in enumerate(value))
    if not isinstance(value, Mapping):
        raise KaratError(f"{shown(value)} is not a mapping of ids", place=name, hint=HINT)
    if column in value and find_column([field for field in value if field != column], "id"):
        return iter([(Place(name), value)])
    return (
        (Place(name, field=shown(id_)), {"_id": id_, **(entry if isinstance(entry, Mapping) else {column: entry})})
        for id_, entry in value.items()
    )


def _has_header(file: InputFile, column: str | None) -> bool:
    """Whether a table begins with the names of its columns; a table of two columns may do without."""
    first = next((line for line in lines_of_table(file) if line.strip()), "").rstrip("\r\n")
    delimiter = delimiter_of(file)
    # A text may be longer than the csv module allows; the names of columns are not.
    is_long = len(first) > _LONGEST_HEADER
    cells = first.split(delimiter) if is_long else next(csv.reader([first], delimiter=delimiter), [])
    names = [name.strip() for name in cells]
    others = [name for name in names if name != column]
    ids: tuple[TextRole, ...] = ("id", "query_id", "doc_id")
    texts: tuple[TextRole, ...] = ("text", "query_text", "doc_text")
    has_names = any(find_column(others, role) for role in ids) or any(find_column(names, role) for role in texts)
    has_names = has_names or column in names
    return has_names or len(names) != 2 or column not in (None, "text")


def _ids_and_texts(file: InputFile) -> Iterator[tuple[Place, Record]]:
    """The lines of a table without a header. Quotation marks have no meaning in TSV, as in MS MARCO."""
    delimiter = delimiter_of(file)
    if delimiter == "\t":
        lines = enumerate(lines_of_table(file), 1)
        rows: Iterator[tuple[int, list[str]]] = ((at, line.rstrip("\r\n").split("\t")) for at, line in lines)
    else:
        rows = rows_of_table(file, delimiter)
    for number, row in rows:
        if not any(row):
            continue
        if len(row) != 2:
            what = f"the line has {plural(len(row), 'column')} instead of 2: the id and the text"
            hint = "Add a header line that names the columns, such as _id and text, if there are more."
            reject(KaratError(what, place=Place(file.name, number), hint=hint), file.rejected)
            continue
        yield Place(file.name, number), {"_id": row[0], "text": row[1]}
