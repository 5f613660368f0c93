"""Each id of a source of texts with its text and its place, one after the other: files, mappings, lists and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.documents.fields import document_field, is_document, is_missing
from karat.documents.ids import identifier
from karat.errors import KaratError, Place, enumeration, shown
from karat.errors.arguments import list_hint
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.names import is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.columns import plain_names
from karat.reading.contents.contents import check_text_file, reject_lists_and_numbers, reject_pairs
from karat.reading.pairs.files import DescribedFile
from karat.reading.pairs.objects import hugging_face_table, is_hugging_face, is_series
from karat.reading.records.paths import Record, field_value
from karat.reading.records.records import records_from_list
from karat.reading.texts.text_files import Content, TextColumns, TextFile, text_columns, with_field_names, without_id

if TYPE_CHECKING:
    import pyarrow as pa

NOUNS: Mapping[Content, str] = {"queries": "query", "corpus": "document"}

_BATCH_ROWS = 10_000
_EXAMPLES = 3  # ids of a source in an error
_SOURCE_HINT = (
    "Texts are read from files (also of BEIR and ir_datasets), {id: text}, {id: {'title': ..., 'text': ...}}, lists of"
    " records or documents, and data frames."
)


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a query or of a document, which is never empty; and the title of a document, if it has both."""

    text: str
    title: str = ""


class Entry(NamedTuple):
    """An id in a source of texts, its text, if it has one, and where it is."""

    id: str
    text: Text | None
    place: Place


@dataclass
class EntryReader:
    """Reads sources one after the other, in parts.

    If ids are `wanted`, the texts of others are not converted. With `rejected`, rows that are wrong are left out, and
    it collects their errors.
    """

    content: Content
    wanted: Collection[str] | None = None
    rejected: RejectedRows | None = None
    notes: dict[str, None] = field(default_factory=dict)
    """what was guessed"""
    names: dict[str, None] = field(default_factory=dict)
    """of the files that were read"""
    examples: list[str] = field(default_factory=list)
    """the first ids of the sources, for errors"""

    @property
    def name(self) -> str:
        """The sources together, in a note or an error."""
        return enumeration(list(self.names), "and") or f"the {self.content}"

    def entries(self, source: Any) -> Iterator[Entry]:
        """The entries of a source, or of the sources in a list of files or of data frames."""
        is_list = isinstance(source, list | tuple) and bool(source) and not hasattr(source, "_fields")
        for part in source if is_list and all(map(_is_whole_source, source)) else [source]:
            yield from self._entries(part)

    def _entries(self, source: Any) -> Iterator[Entry]:
        if isinstance(source, DescribedFile):
            return self._of_file(source.file, plain_names(source.columns), source.format)
        if is_hugging_face(source):
            return self._of_table(hugging_face_table(source, self.name))
        if isinstance(source, Mapping):
            return self._of_mapping(source)
        if is_file(source):
            return self._of_file(InputFile.of(source), None, None)
        if is_series(source):
            return self._of_list(source.items())
        if hasattr(source, "__arrow_c_stream__"):
            return self._of_table(source)
        if isinstance(source, Sequence | Iterator) and not isinstance(source, str | bytes):
            return self._of_list(source)
        what = f"{shown(source)} is not a source of texts"
        raise KaratError(what, place=self.name, hint=f"{list_hint(source)} {_SOURCE_HINT}".strip())

    def _of_file(self, file: InputFile, columns: Mapping[str, str] | None, known_format: str | None) -> Iterator[Entry]:
        text_column = (columns or {}).get("text")
        texts = TextFile.of(file, known_format, text_column, self.content, self.rejected)
        check_text_file(texts, self.content, columns or {})
        name = texts.file.name
        self.names[name] = None
        self.notes.update(dict.fromkeys(texts.notes))
        if is_arrow(form := texts.format):
            from karat.reading.bytes.arrow_file import ArrowFile

            for part in files_of_table(texts.file):
                table = ArrowFile(part, form)
                read = text_columns(table.schema().names, self.content, columns, part.name)
                yield from self._of_parts(table.tables(_BATCH_ROWS, read.names), read, part.name)
            return
        named_columns = columns if texts.has_header else None
        yield from self._of_records(texts.records(text_column or "text"), named_columns, name, texts.has_header)

    def _of_table(self, source: Any) -> Iterator[Entry]:
        """A data frame, or a stream of Arrow's record batches."""
        import pyarrow as pa

        from karat.reading.pairs.frames import arrow_table

        if isinstance(source, Iterator) and not isinstance(source, pa.RecordBatchReader):
            return self._of_list(source)  # a streamed data set of Hugging Face
        streamed = isinstance(source, pa.RecordBatchReader)
        table = source if streamed else arrow_table(source, self.name, _SOURCE_HINT)
        reject_pairs(table.schema.names, self.content, self.name)
        read = text_columns(table.schema.names, self.content, None, self.name)
        batches = source if streamed else table.select(read.names).to_batches(_BATCH_ROWS)
        return self._of_parts((pa.Table.from_batches([batch]) for batch in batches), read, self.name)

    def _of_parts(self, parts: Iterable[pa.Table], read: TextColumns, name: str) -> Iterator[Entry]:
        """The rows of a table, of which only the wanted ones are converted to Python."""
        import pyarrow as pa

        from karat.reading.bytes.arrow_file import decoded
        from karat.reading.pairs.arrow_columns import text_ids

        self.notes.update(dict.fromkeys(read.choice.note(name)))
        first_row = 0
        for part in parts:
            column = decoded(part[read.id], Place(name, column=read.id))
            rows: Sequence[int] = range(len(part))
            if column.null_count:
                is_null = column.is_null().to_pylist()
                for row in (row for row in rows if is_null[row]):
                    reject(without_id(read.id, Place(name, row=first_row + row)), self.rejected)
                rows = [row for row in rows if not is_null[row]]
                column = column.drop_null()
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                self.notes[numeric_ids(name)] = None
            ids = text_ids(column, Place(name, column=read.id), first_row).to_pylist()
            self.examples += islice(ids, _EXAMPLES - len(self.examples))
            chosen = [pair for pair in zip(rows, ids, strict=True) if self.wanted is None or pair[1] in self.wanted]
            records = _records_of(part.select(read.names), [row for row, _ in chosen])
            places = (Place(name, row=first_row + row) for row, _ in chosen)
            texts = zip(places, (id_ for _, id_ in chosen), records, strict=True)
            yield from self._kept(lambda place, id_, record: self._of_record(place, id_, record, read), texts)
            first_row += len(part)

    def _of_mapping(self, source: Mapping[Any, Any]) -> Iterator[Entry]:
        """Texts, records or documents by id: if some are wanted, only these are looked up."""
        name = self.name
        keys = list(islice(source, _EXAMPLES))
        self.examples += [each if isinstance(each, str) else shown(each) for each in keys][len(self.examples) :]
        reject_lists_and_numbers(map(source.get, keys), self.content, name)
        keys_to_read = source if self.wanted is None else _keys_of(sorted(self.wanted), source)
        rows = ((Place(name, field=shown(str(key))), key, source[key]) for key in keys_to_read)
        return self._kept(self._of_value, rows)

    def _of_list(self, source: Iterable[Any]) -> Iterator[Entry]:
        """A list or an iterator of records, documents or pairs."""
        name = self.name
        entries = iter(source)
        nothing = object()
        first = next(entries, nothing)
        if first is nothing:
            raise KaratError("there are no texts", place=name, hint=_SOURCE_HINT)
        entries = chain([first], entries)
        if isinstance(first, tuple) and not hasattr(first, "_fields"):
            return self._kept(self._of_pair, ((Place(name, field=f"[{at}]"), pair) for at, pair in enumerate(entries)))
        if not isinstance(first, Mapping | tuple) and is_document(first):
            documents = ((None if each is None else document_field(each, "id"), each) for each in entries)
            rows = ((Place(name, field=f"[{at}]"), *pair) for at, pair in enumerate(documents))
            return self._kept(self._of_value, rows)
        return self._of_records(records_from_list(entries, name, rejected=self.rejected), None, name)

    def _of_records(
        self,
        records: Iterator[tuple[Place, Record]],
        columns: Mapping[str, str] | None,
        name: str,
        has_header: bool = True,
    ) -> Iterator[Entry]:
        names, records = with_field_names(records, name)
        reject_pairs([] if columns else names, self.content, name)
        read = text_columns(names, self.content, columns, name)
        if has_header:
            self.notes.update(dict.fromkeys(read.choice.note(name)))
        rows = ((place, field_value(record, read.id), record, read) for place, record in records)
        yield from self._kept(self._of_record, rows)

    def _kept(self, read: Callable[..., Entry | None], rows: Iterable[tuple[Any, ...]]) -> Iterator[Entry]:
        """The entries that are read from rows, without those that are not wanted."""
        for row in rows:
            try:
                entry = read(*row)
            except KaratError as error:
                reject(error, self.rejected)
                continue
            if entry is not None:
                yield entry

    def _of_record(self, place: Place, value: Any, record: Record, read: TextColumns) -> Entry | None:
        id_ = self._identifier(place, value, read.id)
        if self.wanted is not None and id_ not in self.wanted:
            return None
        return Entry(id_, self._text(place, field_value(record, read.text), _title(record, read)), place)

    def _of_pair(self, place: Place, pair: Any) -> Entry | None:
        if not isinstance(pair, tuple) or len(pair) != 2:
            what = f"{shown(pair)} is not a pair of an id and a text"
            raise KaratError(what, place=place, hint=_SOURCE_HINT)
        return self._of_value(place, *pair)

    def _of_value(self, place: Place, key: Any, value: Any) -> Entry | None:
        """The entry of a text, a record or a document."""
        id_ = self._identifier(place, key, "id")
        if self.wanted is not None and id_ not in self.wanted:
            return None
        return Entry(id_, self._text_of_value(place, value), place)

    def _identifier(self, place: Place, value: Any, column: str) -> str:
        if isinstance(value, str):
            id_ = value
        elif value is None or is_missing(value):
            raise without_id(column, place)
        else:
            id_ = identifier(int(value) if isinstance(value, float) and value.is_integer() else value, place)
            self.notes[numeric_ids(self.name)] = None
        if len(self.examples) < _EXAMPLES:
            self.examples.append(id_)
        return id_

    def _text_of_value(self, place: Place, value: Any) -> Text | None:
        """What a text, a record or a document says."""
        if isinstance(value, Text):
            return self._text(place, value.text, value.title)
        if isinstance(value, Mapping):
            read = text_columns([*value], self.content, None, place, has_ids=False)
            return self._text(place, field_value(value, read.text), _title(value, read))
        if value is None or isinstance(value, str | float) or not is_document(value):
            return self._text(place, value, None)
        meta = document_field(value, "meta")
        title = meta.get("title") if isinstance(meta, Mapping) else None
        return self._text(place, document_field(value, "content"), title)

    def _text(self, place: Place, text: Any, title: Any) -> Text | None:
        if text is not None and not isinstance(text, str) and not is_missing(text):
            what = f"{shown(text)} is not the text of a {NOUNS[self.content]}"
            raise KaratError(what, place=place, hint="Pass texts as strings.")
        if title is None and isinstance(text, str) and text.strip():
            return Text(text)
        texts = [each for each in (text, title) if isinstance(each, str) and each.strip()]
        return Text(texts[0], "".join(texts[1:])) if texts else None


def numeric_ids(name: str) -> str:
    """The note on ids that are numbers."""
    return f"{name}: ids are numbers, read as texts"


def _is_whole_source(value: Any) -> bool:
    return isinstance(value, DescribedFile) or is_file(value) or hasattr(value, "__arrow_c_stream__")


def _keys_of(wanted: Iterable[str], source: Mapping[Any, Any]) -> Iterator[Any]:
    """The keys of a mapping for some ids: texts, or numbers."""
    for id_ in wanted:
        if id_ in source:
            yield id_
        elif id_.isdecimal() and str(number := int(id_[:30])) == id_ and number in source:
            yield number


def _records_of(part: pa.Table, rows: Sequence[int]) -> Iterable[Record]:
    """Some rows of a table. Most often it is none of them, or all."""
    if len(rows) == len(part):
        return part.to_pylist()  # type: ignore[no-any-return]  # PyArrow has no type hints
    return ({column: part[column][row].as_py() for column in part.column_names} for row in rows)


def _title(record: Record, read: TextColumns) -> Any:
    """The title of a document, which may be in its metadata."""
    if read.title is not None:
        return field_value(record, read.title)
    meta = record.get("meta", record.get("metadata"))
    return meta.get("title") if isinstance(meta, Mapping) else None
