"""Read ground truth and runs from JSON files and from JSON lines, whatever shape they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.columns.spellings import find_column
from karat.reading.pairs.columns import ReadColumns, columns_to_read, lists_to_read
from karat.reading.pairs.elasticsearch import reject_elasticsearch
from karat.reading.pairs.json_lists import documents_by_query
from karat.reading.pairs.json_pairs import HINT, ObjectSource, ObjectTable, empty_error
from karat.reading.pairs.tables import ByQuery, Number, PairTable, is_small_file
from karat.reading.records.json_frames import JsonFrame, frame_in_json
from karat.reading.records.records import objects_from_json_lines

_OBJECTS_AT_ONCE = 1 << 16
_FEW_OBJECTS = 5_000
_FROM_PANDAS = 'Rows need names: write objects, as pandas does with to_json(orient="records").'


def read_json(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of a JSON file: a mapping by query, a list of objects, or a single object."""
    data = file.read_all()
    if not data.strip():
        raise empty_error(file.name, number)
    value = decode_json(data, file.name, HINT[number])
    if isinstance(value, dict):
        reject_elasticsearch(value, file.name)
        if frame := frame_in_json(value, file.name):
            return _objects(_listed(frame.records, file.name, number, frame), number, columns)
        if all(isinstance(each, dict | list) for each in value.values()):
            return _mapping(value, columns, file.name)
        if lists_to_read(value, number, columns) is None and find_column(list(value), "doc") is None:
            query, each = next((query, each) for query, each in value.items() if not isinstance(each, dict | list))
            what = f"{shown(each)} is not a list or an object of documents"
            raise KaratError(what, place=Place(file.name, field=shown(query)), hint=HINT[number])
        value = [value]
    if not isinstance(value, list):
        raise KaratError(f"this file contains {shown(value)}", place=file.name, hint=HINT[number])
    return _objects(_listed(value, file.name, number), number, columns)


def read_json_lines(file: InputFile, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The content of JSON lines: one object per query, or one per pair of query and document."""
    return _objects(json_lines(file, number), number, columns)


def json_lines(file: InputFile, number: Number) -> ObjectSource:
    """The objects of JSON lines."""

    def read(progress: Progress | None) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
        return objects_from_json_lines(file, HINT[number], progress)

    return ObjectSource(file.name, read, lambda at: Place(file.name, line=at), is_small=lambda: is_small_file(file))


def _listed(values: Sequence[Any], name: str, number: Number, frame: JsonFrame | None = None) -> ObjectSource:
    """The objects in a list, or the rows of a data frame."""
    for at, each in enumerate(values, 1):
        if not isinstance(each, dict):
            hint = _FROM_PANDAS if isinstance(each, list) else HINT[number]
            raise KaratError(f"{shown(each)} is not an object", place=Place(name, field=f"object {at}"), hint=hint)

    def read(progress: Progress | None) -> Iterator[tuple[range, Sequence[dict[str, Any]]]]:
        for start in range(0, len(values), _OBJECTS_AT_ONCE):
            objects = values[start : start + _OBJECTS_AT_ONCE]
            yield range(start + 1, start + 1 + len(objects)), objects
            if progress:
                progress(start + len(objects), len(values))

    def place(at: int) -> Place:
        return Place(name, row=at - 1) if frame else Place(name, field=f"object {at}")

    notes = (frame.note(name),) if frame else ()
    return ObjectSource(name, read, place, notes, lambda: len(values) <= _FEW_OBJECTS)


def _mapping(value: Mapping[str, Any], columns: Mapping[str, str] | None, name: str) -> ByQuery:
    if columns:
        what = "a mapping of queries to documents has no names of columns"
        raise KaratError(what, place=name, hint="Leave them out.")
    return ByQuery(value, finite=True)


def _objects(source: ObjectSource, number: Number, columns: Mapping[str, str] | None) -> PairTable | ByQuery:
    """The documents in objects."""
    fields, by_query = fields_of_objects(source, number, columns)
    if by_query:
        return replace(documents_by_query(source, number, fields), finite=True)
    return ObjectTable(source, number, fields)


def fields_of_objects(
    source: ObjectSource, number: Number, columns: Mapping[str, str] | None
) -> tuple[ReadColumns, bool]:
    """The fields to read, and whether an object has all documents of a query: the first object decides."""
    numbers, objects = next(iter(source.read(None)), ((), ()))
    if not objects:
        raise empty_error(source.name, number)
    if lists := lists_to_read(objects[0], number, columns):
        return lists, True
    return columns_to_read(list(objects[0]), number, columns, source.place(numbers[0]), "field"), False
