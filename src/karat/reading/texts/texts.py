"""The texts of queries and of documents that are known by id only, from any source.

Of a source with millions of texts, only those that are wanted are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from karat.documents.fields import document_field, is_document, is_missing
from karat.documents.ids import identifier
from karat.errors import KaratError, Place, enumeration, first_few, plural, shown
from karat.errors.arguments import list_hint
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.names import is_arrow
from karat.reading.bytes.part_files import files_of_table
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


@dataclass(frozen=True, eq=False)
class FoundTexts(Mapping[str, Text]):
    """Texts by id. `missing` are the wanted ids that have none; the notes say so, and what was guessed."""

    by_id: Mapping[str, Text]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def notes_on(self, shown: Collection[str]) -> tuple[str, ...]:
        """The notes, without that on missing texts unless one of these ids is missing."""
        is_about_them = not self.missing or any(each in self.missing for each in shown)
        return self.notes if is_about_them else self.notes[:-1]

    def __getitem__(self, wanted: str) -> Text:
        return self.by_id[wanted]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_id)

    def __len__(self) -> int:
        return len(self.by_id)


def read_texts(source: Any, wanted: Collection[str], content: Content = "corpus") -> FoundTexts:
    """The texts of the wanted ids: a mapping of ids to `Text`, with the ids that have no text, and notes.

    `source` is a file of any format (also compressed, remote or open), the folder of a BEIR data set, or
    `ir_datasets:NAME`; a mapping of ids to texts, records or documents; a data frame; a list or an iterator of records,
    documents or `(id, text)`; or a list of files. A `DescribedFile` is a file whose columns (`id`, `text`, `title`) or
    format are known. It is read once, in parts, and only the wanted texts are kept.

    An id with two different texts is an error, and so is a source that has none of the wanted ids, and one that is a
    run, ground truth or results.

    >>> texts = read_texts([{"_id": "d1", "title": "Gold", "text": "Gold is soft."}], ["d1", "d2"])
    >>> texts["d1"]
    Text(text='Gold is soft.', title='Gold')
    >>> texts.missing, texts.notes
    (('d2',), ('the corpus: no text for 1 of 2 documents (d2)',))
    """
    reader = _Reader(frozenset(wanted), content)
    for part in _parts(source):
        reader.read(part)
    return reader.result()


def _parts(source: Any) -> Sequence[Any]:
    """The sources in a list of files or of data frames; and any other source alone."""
    is_list = isinstance(source, list | tuple) and bool(source) and not hasattr(source, "_fields")
    return source if is_list and all(map(_is_whole_source, source)) else [source]


def _is_whole_source(value: Any) -> bool:
    return isinstance(value, DescribedFile) or is_file(value) or hasattr(value, "__arrow_c_stream__")


@dataclass
class _Reader:
    """Reads sources one after the other, and keeps the wanted texts with their places."""

    wanted: frozenset[str]
    content: Content
    texts: dict[str, Text] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    """the first ids of the sources, for errors"""
    empty: set[str] = field(default_factory=set)
    """wanted ids that the sources have without a text"""

    @property
    def name(self) -> str:
        """The sources together, in a note or an error."""
        return enumeration(list(self.names), "and") or f"the {self.content}"

    def result(self) -> FoundTexts:
        """What was found in all sources."""
        missing = tuple(sorted(self.wanted - self.texts.keys()))
        if missing and not self.texts and not self.empty:
            raise no_texts(self.name, self.content, missing, len(missing), self.examples)
        if missing:
            self.notes[missing_texts(self.name, self.content, missing, len(missing), len(self.wanted))] = None
        return FoundTexts(dict(sorted(self.texts.items())), missing, tuple(self.notes))

    def read(self, source: Any) -> None:
        """Read one source."""
        if isinstance(source, DescribedFile):
            self._read_file(source.file, plain_names(source.columns), source.format)
        elif is_hugging_face(source):
            self._read_table(hugging_face_table(source, self.name))
        elif isinstance(source, Mapping):
            self._read_mapping(source)
        elif is_file(source):
            self._read_file(InputFile.of(source), None, None)
        elif is_series(source):
            self._read_entries(source.items())
        elif hasattr(source, "__arrow_c_stream__"):
            self._read_table(source)
        elif isinstance(source, Sequence | Iterator) and not isinstance(source, str | bytes):
            self._read_entries(source)
        else:
            what = f"{shown(source)} is not a source of texts"
            raise KaratError(what, place=self.name, hint=f"{list_hint(source)} {_SOURCE_HINT}".strip())

    def _read_file(self, file: InputFile, columns: Mapping[str, str] | None, known_format: str | None) -> None:
        text_column = (columns or {}).get("text")
        texts = TextFile.of(file, known_format, text_column, self.content)
        check_text_file(texts, self.content, columns or {})
        name = texts.file.name
        self.names[name] = None
        self.notes.update(dict.fromkeys(texts.notes))
        if is_arrow(form := texts.format):
            from karat.reading.bytes.arrow_file import ArrowFile

            for part in files_of_table(texts.file):
                table = ArrowFile(part, form)
                read = text_columns(table.schema().names, self.content, columns, part.name)
                self._read_parts(table.tables(_BATCH_ROWS, read.names), read, part.name)
            return
        named_columns = columns if texts.has_header else None
        self._read_records(texts.records(text_column or "text"), named_columns, name, texts.has_header)

    def _read_table(self, source: Any) -> None:
        """A data frame, or a stream of Arrow's record batches."""
        import pyarrow as pa

        from karat.reading.pairs.frames import arrow_table

        if isinstance(source, Iterator) and not isinstance(source, pa.RecordBatchReader):
            self._read_entries(source)  # a streamed data set of Hugging Face
            return
        streamed = isinstance(source, pa.RecordBatchReader)
        table = source if streamed else arrow_table(source, self.name, _SOURCE_HINT)
        reject_pairs(table.schema.names, self.content, self.name)
        read = text_columns(table.schema.names, self.content, None, self.name)
        batches = source if streamed else table.select(read.names).to_batches(_BATCH_ROWS)
        self._read_parts((pa.Table.from_batches([batch]) for batch in batches), read, self.name)

    def _read_parts(self, parts: Iterable[pa.Table], read: TextColumns, name: str) -> None:
        """The rows of a table, of which only the wanted ones are converted to Python."""
        import pyarrow as pa

        from karat.reading.bytes.arrow_file import decoded
        from karat.reading.pairs.arrow_columns import text_ids

        self.notes.update(dict.fromkeys(read.choice.note(name)))
        first_row = 0
        for part in parts:
            column = decoded(part[read.id], Place(name, column=read.id))
            if column.null_count:
                at = first_row + column.is_null().index(True).as_py()
                raise without_id(read.id, Place(name, row=at))
            if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
                self.notes[numeric_ids(name)] = None
            ids = text_ids(column, Place(name, column=read.id), first_row).to_pylist()
            self._remember(ids[:_EXAMPLES])
            for row, id_ in enumerate(ids):
                if id_ in self.wanted:
                    record = {column: part[column][row].as_py() for column in read.names}
                    place = Place(name, row=first_row + row)
                    self._add(place, id_, field_value(record, read.text), _title(record, read))
            first_row += len(part)

    def _read_mapping(self, source: Mapping[Any, Any]) -> None:
        """Texts, records or documents by id: only the wanted ones are looked up."""
        name = self.name
        keys = list(islice(source, _EXAMPLES))
        self._remember([each if isinstance(each, str) else shown(each) for each in keys])
        reject_lists_and_numbers(map(source.get, keys), self.content, name)
        for id_ in sorted(self.wanted):
            key: Any = id_
            if key not in source and id_.isdecimal() and str(number := int(id_[:30])) == id_ and number in source:
                key = number
                self.notes[numeric_ids(name)] = None
            if key in source:
                self._add_value(Place(name, field=shown(id_)), id_, source[key])

    def _read_entries(self, source: Iterable[Any]) -> None:
        """A list or an iterator of records, documents or pairs."""
        name = self.name
        entries = iter(source)
        nothing = object()
        first = next(entries, nothing)
        if first is nothing:
            raise KaratError("there are no texts", place=name, hint=_SOURCE_HINT)
        entries = chain([first], entries)
        if isinstance(first, tuple) and not hasattr(first, "_fields"):
            for at, entry in enumerate(entries):
                if not isinstance(entry, tuple) or len(entry) != 2:
                    what = f"{shown(entry)} is not a pair of an id and a text"
                    raise KaratError(what, place=Place(name, field=f"[{at}]"), hint=_SOURCE_HINT)
                self._add_wanted(Place(name, field=f"[{at}]"), *entry)
        elif not isinstance(first, Mapping | tuple) and is_document(first):
            for at, entry in enumerate(entries):
                id_ = None if entry is None else document_field(entry, "id")
                self._add_wanted(Place(name, field=f"[{at}]"), id_, entry)
        else:
            self._read_records(records_from_list(entries, name), None, name)

    def _read_records(
        self,
        records: Iterator[tuple[Place, Record]],
        columns: Mapping[str, str] | None,
        name: str,
        has_header: bool = True,
    ) -> None:
        names, records = with_field_names(records, name)
        reject_pairs([] if columns else names, self.content, name)
        read = text_columns(names, self.content, columns, name)
        if has_header:
            self.notes.update(dict.fromkeys(read.choice.note(name)))
        for place, record in records:
            id_ = self._identifier(place, field_value(record, read.id), read.id)
            if id_ in self.wanted:
                self._add(place, id_, field_value(record, read.text), _title(record, read))

    def _add_wanted(self, place: Place, value: Any, entry: Any) -> None:
        if (id_ := self._identifier(place, value, "id")) in self.wanted:
            self._add_value(place, id_, entry)

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

    def _add_value(self, place: Place, id_: str, value: Any) -> None:
        """A text, a record or a document."""
        if isinstance(value, Text):
            self._add(place, id_, value.text, value.title)
        elif isinstance(value, Mapping):
            read = text_columns([*value], self.content, None, place, has_ids=False)
            self._add(place, id_, field_value(value, read.text), _title(value, read))
        elif value is None or isinstance(value, str | float) or not is_document(value):
            self._add(place, id_, value, None)
        else:
            meta = document_field(value, "meta")
            title = meta.get("title") if isinstance(meta, Mapping) else None
            self._add(place, id_, document_field(value, "content"), title)

    def _add(self, place: Place, id_: str, text: Any, title: Any) -> None:
        noun = NOUNS[self.content]
        if text is not None and not isinstance(text, str) and not is_missing(text):
            what = f"{shown(text)} is not the text of a {noun}"
            raise KaratError(what, place=place, hint="Pass texts as strings.")
        texts = [each for each in (text, title) if isinstance(each, str) and each.strip()]
        if not texts:
            self.empty.add(id_)
            return
        new = Text(texts[0], "".join(texts[1:]))
        if self.texts.setdefault(id_, new) != new:
            before, hint = self.places[id_], f"Give each {noun} one text."
            raise KaratError([f"{noun} {shown(id_)} has another text here than in ", before], place=place, hint=hint)
        self.places.setdefault(id_, place)

    def _remember(self, ids: Iterable[str]) -> None:
        self.examples += islice(ids, _EXAMPLES - len(self.examples))


def _title(record: Record, read: TextColumns) -> Any:
    """The title of a document, which may be in its metadata."""
    if read.title is not None:
        return field_value(record, read.title)
    meta = record.get("meta", record.get("metadata"))
    return meta.get("title") if isinstance(meta, Mapping) else None


def no_texts(name: str, content: Content, missing: Sequence[str], count: int, examples: Sequence[str]) -> KaratError:
    """The error if a source has none of the wanted ids; `missing` are at least some of them, `examples` of its own."""
    which, hint = f"{NOUNS[content]} {shown(missing[0])}", ""
    if count > 1:
        which, hint = f"any of the {plural(count, NOUNS[content])}", f"Their ids are {first_few(missing)}"
    if examples:
        hint = f"{hint}; the" if hint else "The"
        hint = f"{hint} texts have the ids {first_few(examples)}."
    return KaratError(f"no text found for {which}", place=name, hint=hint or None)


def missing_texts(name: str, content: Content, missing: Sequence[str], count: int, wanted: int) -> str:
    """The note on ids without a text; `missing` are at least some of them."""
    return f"{name}: no text for {count:,} of {plural(wanted, NOUNS[content])} ({first_few(missing)})"


def numeric_ids(name: str) -> str:
    """The note on ids that are numbers."""
    return f"{name}: ids are numbers, read as texts"
