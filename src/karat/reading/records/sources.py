"""The records of a source: a file of any format, a list, a data frame; with karat's names where a tool wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from karat.errors import KaratError, Message, Place, enumeration, require, shown
from karat.errors.arguments import check_text
from karat.errors.suggestions import SuggestedCall
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.names import FORMATS
from karat.reading.bytes.part_files import check_files
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.objects import records_of
from karat.reading.records.document_parts import wrong_part_error
from karat.reading.records.likely_fields import paths_of_records, unused_fields
from karat.reading.records.list_texts import list_fields, lists_note, mixed_notes, with_lists
from karat.reading.records.paths import Record, field_value
from karat.reading.records.record_files import records_reader
from karat.reading.records.records import INNER_FIELDS, Rereadable, field_names, records_from_list
from karat.reading.records.result_fields import ResultFields, list_names, names_by_field
from karat.reading.shapes import Shape, check_tool_or_format, inner_records, recognize, with_parts

Read = TypeVar("Read")

_FIRST = 100  # records
HINT = 'Each line is one object: {"query": "...", "truth": [...], "retrieved": [...]}.'
"""what results look like, for errors"""


class SeveralListsError(KaratError):
    """An object has several lists of records."""


class RecordLayout(NamedTuple):
    """How records are read, as the first of them show."""

    path: str | None = None
    """where they are inside an object"""
    lists: tuple[str, ...] = ()
    """the fields whose texts are lists"""
    shape: Shape | None = None
    """what the tool writes that wrote them, without the fields that are read from elsewhere"""
    parts: Mapping[str, Mapping[str, str]] | None = None
    """the names of parts of documents, by the field of the documents"""
    rejected: RejectedRows | None = None
    """collects the errors of entries that are not records, and are left out; None if the first of them is an error"""

    @property
    def is_per_record(self) -> bool:
        """Whether each object is read by itself: the spans of a trace may be anywhere in a file."""
        return self.shape is None or self.shape.spans is None

    def read(self, records: Iterable[tuple[Place, Record]]) -> Iterator[tuple[Place, Record]]:
        """The records of a source, or of a part of it, with karat's names."""
        named, shape, parts = self.unnamed(records), self.shape, self.parts
        if shape is not None:
            named = ((place, shape.read(record, place)) for place, record in named)
        return _renamed(named, parts) if parts else named

    def unnamed(self, records: Iterable[tuple[Place, Record]]) -> Iterator[tuple[Place, Record]]:
        """The records with the names that they have in the source."""
        inner = self.records(records)
        with_own_lists = with_lists(inner, self.lists) if self.lists else inner
        return with_own_lists if self.shape is None else self.shape.records_of(with_own_lists, self.rejected)

    def records(self, records: Iterable[tuple[Place, Record]]) -> Iterator[tuple[Place, Record]]:
        """The records as they are in the source."""
        return iter(records) if self.path is None else inner_records(records, self.path, self.rejected)


_AS_THEY_ARE = RecordLayout()


def _renamed(
    records: Iterable[tuple[Place, Record]], parts: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[Place, Record]]:
    """Records whose documents have karat's names."""
    for place, record in records:
        values = {name: field_value(record, name, place) for name in parts}
        lists = {name: with_parts(value, parts[name], place) for name, value in values.items() if value is not None}
        yield place, {**record, **lists}


@dataclass(frozen=True)
class RecordSource:
    """The records of a source, each with its place, its name for messages, and notes on how they are read."""

    name: str
    records: Iterable[tuple[Place, Record]]
    notes: tuple[str, ...] = ()
    shape: Shape | None = None
    """what the tool writes that wrote them, if it is known: their fields have karat's names beside its own"""
    paths: Mapping[str, str] = field(default_factory=dict)
    """where fields are read from, if a tool wrote them"""
    replaced: tuple[str, ...] = ()
    """the fields that are not read, because what they contain is joined from another source"""
    unanswered: tuple[tuple[Place, Record], ...] = ()
    """records of queries that are in joined gold only: the system that wrote the others has no output for them"""
    gold: str = ""
    """the name of the source of the gold, if it is joined"""
    given_path: str | None = None
    """where the records are inside an object, if the caller said it"""
    unnamed: Iterable[tuple[Place, Record]] | None = None
    """the records without karat's names, if a tool wrote them"""
    layout: RecordLayout = _AS_THEY_ARE
    """how the records are read"""

    @property
    def plain(self) -> Iterator[tuple[Place, Record]]:
        """The records as they are in the source, before the first fault."""
        with suppress(KaratError):
            yield from self.records if self.unnamed is None else self.unnamed

    @property
    def used(self) -> tuple[str, ...]:
        """The fields that the fields with karat's names are read from."""
        return (*self.replaced, *(() if self.shape is None else self.shape.used))

    def unused_notes(self, fields: ResultFields, records: Iterable[Record]) -> tuple[str, ...]:
        """What looks like a field of results in the first of these records, and is not used."""
        unused = unused_fields(records, fields.known, [*self.used, *fields.others])
        return tuple(each.note(self.name) for each in unused)


def read_records(
    source: Any,
    fields: Mapping[str, str] | None,
    format: str | None,  # noqa: A002
    read: Callable[[RecordSource], Read],
    hint: str = HINT,
    path: str | None = None,
    name: str = "the results",
    rejected: RejectedRows | None = None,
) -> Read:
    """What a function reads from the records of a source.

    The function may iterate over the records several times: they are then read anew. `hint` says what records look
    like, and `name` what a source is called that is not a file, for errors. `path` is where the records are inside an
    object, if it is not to be found out. With `rejected`, lines, rows and entries that are not records are left out,
    and it collects their errors.
    """
    if path is not None:
        require(check_text("records", path), "the path of the records is empty", "Write it as run.items.")
    field_names(fields)  # an invalid one is an error before anything is read
    tool, form = (None, format) if format is None or format in FORMATS else (check_tool_or_format(format), None)
    if is_file(source):
        file = InputFile.of(source).rejecting_into(rejected)
        try:
            from_file = Rereadable(records_reader(file, form, hint))
            return read(_record_source(file.name, from_file, fields, tool, path, rejected))
        except KaratError:
            check_files(file)
            raise
    listed = records_of(source, name)
    if listed is None:
        hint = "Pass a path, an open file, records in a list or from an iterator, or a data frame."
        raise KaratError(f"results cannot be read from {shown(source)}", hint=hint)
    kept = listed if isinstance(listed, Sequence) else list(listed)
    paths = [*(fields or {}).values(), *([] if path is None else [path])]
    records = Rereadable(lambda: records_from_list(kept, name, paths, rejected))
    return read(_record_source(name, records, fields, tool, path, rejected))


def _record_source(
    name: str,
    records: Rereadable[tuple[Place, Record]],
    fields: Mapping[str, str] | None,
    tool: str | None,
    given_path: str | None,
    rejected: RejectedRows | None,
) -> RecordSource:
    """Records with karat's names, if a tool wrote them whose names are known, and with lists, if they are texts.

    If `tool` is given, it is an error if it did not write them. `given_path` is where they are inside an object.
    """
    fields = fields or {}
    layout = RecordLayout(rejected=rejected)
    source = RecordSource(name, records, given_path=given_path, layout=layout)
    try:
        shape = None if given_path else recognize(records, tool)
        path = given_path or (None if shape else _path_of_records(records, name))
        if path:
            layout = layout._replace(path=path)
            inner = Rereadable(lambda: layout.records(records))
            require(next(iter(inner), None), f"there are no records in {path}", place=name)
            note = () if given_path else (f"{name}: the records are in {path}",)
            source, shape = replace(source, records=inner, notes=note, layout=layout), recognize(inner, tool)
        if tool is not None and shape is None:
            hint = f"Logs of {tool} have other fields; without a format, the tool is recognized by them."
            raise KaratError(f"this is not a log of {tool}", place=name, hint=hint)
        present = {name for _, record in islice(source.records, 1) for name in record}
        may_be_lists = list_names(present, {**(shape.fields if shape else {}), **fields})
        names = list_fields(source.records, may_be_lists)
        source = replace(source, notes=(*source.notes, *mixed_notes(source.records, may_be_lists, name)))
    except KaratError as error:  # whoever reads them finds it again, and what is wrong before it
        if given_path or tool is not None or isinstance(error, SeveralListsError):
            raise
        return source
    if names:
        layout = source.layout._replace(lists=tuple(names))
        source = _laid_out(source, records, layout, lists_note(names, name))
    if shape is not None:
        source = _shaped(source, records, shape.without(fields))
    inner_fields = {field: name for field, name in fields.items() if field in INNER_FIELDS}
    return _with_documents(source, records, fields, inner_fields) if inner_fields else source


def _laid_out(
    source: RecordSource, records: Iterable[tuple[Place, Record]], layout: RecordLayout, *notes: str
) -> RecordSource:
    """A source whose records are read in another way."""
    read = Rereadable(lambda: layout.read(records))
    return replace(source, records=read, layout=layout, notes=(*source.notes, *notes))


def _path_of_records(records: Iterable[tuple[Place, Record]], name: str) -> str | None:
    """Where the only object of a source has its records; it is an error if it has several lists of them."""
    first = [record for _, record in islice(records, 2)]
    paths = paths_of_records(first[0]) if len(first) == 1 else []
    if len(paths) > 1:
        hint: Message = ["Name one of them: ", SuggestedCall.again(records=paths[0]), ".", *SuggestedCall.look(name)]
        raise SeveralListsError(f"there are records in {enumeration(paths, 'and')}", place=name, hint=hint)
    return next(iter(paths), None)


def _with_documents(
    source: RecordSource,
    records: Iterable[tuple[Place, Record]],
    fields: Mapping[str, str],
    inner: Mapping[str, str],
) -> RecordSource:
    """Records whose documents have karat's names; `inner` has those that they have in the records."""
    present = {name for _, record in islice(source.records, 1) for name in record}
    parts: dict[str, dict[str, str]] = {}
    for name, path in inner.items():
        field, _, part = name.partition(".")
        usual = [field, *sorted(names_by_field(present)[field])]
        listed = fields.get(field) or next((name for name in usual if name in present), field)
        parts.setdefault(listed, {})[part] = path
    _check_parts(source, parts, fields)
    return _laid_out(source, records, source.layout._replace(parts=parts))


def _check_parts(source: RecordSource, parts: Mapping[str, Mapping[str, str]], fields: Mapping[str, str]) -> None:
    """Reject the name of a part that no document of the first records has."""
    examples: list[Record] = []
    with suppress(KaratError):  # whoever reads them finds it again
        examples.extend(record for _, record in islice(source.records, _FIRST))
    for name, paths in parts.items():
        lists = [value for record in examples if isinstance(value := field_value(record, name), list)]
        documents = [entry for entries in lists for entry in entries if isinstance(entry, Mapping)]
        wrong = {
            field: path
            for field, path in fields.items()
            if paths.get(field.rpartition(".")[2]) == path
            and documents
            and all(field_value(document, path) is None for document in documents)
        }
        if wrong:
            raise wrong_part_error(wrong, documents, fields, source.name)


def _shaped(source: RecordSource, records: Iterable[tuple[Place, Record]], shape: Shape) -> RecordSource:
    """Records with karat's names beside those of the tool that wrote them."""
    rejected = source.layout.rejected
    paths, notes = shape.paths_read(source.records, rejected), shape.text_notes(source.records, source.name, rejected)
    notes = (shape.note(paths, source.name), *notes, *source.notes)
    layout = source.layout._replace(shape=shape)
    shaped = _laid_out(source, records, layout)
    return replace(shaped, notes=notes, shape=shape, paths=paths, unnamed=Rereadable(lambda: layout.unnamed(records)))
