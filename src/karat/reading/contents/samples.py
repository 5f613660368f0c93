"""How a file begins: its format, and the records or columns in its first bytes, to tell what it contains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from karat.reading.bytes.delimited_text import first_rows
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, check_format, is_arrow
from karat.reading.bytes.part_files import files_of_table
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.contents.formats import detect
from karat.reading.pairs.delimited_layout import separator_of
from karat.reading.pairs.objects import records_of
from karat.reading.records.json_frames import frame_in_json
from karat.reading.records.records import records_from_list

_START = 1 << 16  # bytes
_LONGEST_START = 1 << 24  # bytes, if the first record is long
_ROWS = 20  # or lines of JSON
# A text, the beginning of one that does not end, a mark, or a number or word.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|".*\Z|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}


@dataclass(frozen=True)
class Sample:
    """How a file begins. `value` is the JSON value, or its beginning; `records` are the first rows or objects."""

    format: Format
    names: tuple[str, ...] = ()
    """of columns or fields"""
    records: tuple[Mapping[str, Any], ...] = ()
    value: Any = None
    metadata: tuple[bytes, ...] = ()
    """the keys of the metadata of a Parquet or Feather file"""
    is_cut: bool = False
    """whether the last record or value of JSON may be cut off"""


def sample(file: InputFile, form: str | None = None) -> Sample:
    """How a file begins; `form` is its format, if it is not to be detected."""
    form = detect(file) if form is None else check_format(form)
    if is_arrow(form):
        return _of_arrow(file, form)
    if form == "trec":
        return Sample("trec")
    size = _START
    start = file.start(size)
    while len(start) == size and size < _LONGEST_START and not _has_record(start, form):
        size *= 4
        start = file.start(size)
    is_cut = len(start) == size
    text = start.decode(errors="replace")
    if form in ("csv", "tsv"):
        return _of_table(text, form, not is_cut)
    if form == "jsonl":
        lines = [line for line in text.splitlines() if line.strip()]
        values = [beginning_of_json(line) for line in lines[:_ROWS]]
        records = tuple(value for value in values if isinstance(value, dict))
        return Sample("jsonl", _names(records), records, is_cut=is_cut)
    value = beginning_of_json(text)
    if frame := frame_in_json(value):
        value = frame.records
    records = tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()
    return Sample("json", _names(records), records, value, is_cut=is_cut)


def sample_in_memory(source: Any) -> Sample:
    """How a list of records or a data frame begins; without names if it is neither, or can be read only once."""
    first = source.head(_ROWS) if hasattr(source, "head") else source
    listed = None if isinstance(source, Iterator) else records_of(first, "the records")
    found = records_from_list(islice(listed or (), _ROWS), "the records", rejected=RejectedRows())
    records = tuple(record for _, record in found)
    return Sample("jsonl", _names(records), records)


def _has_record(start: bytes, form: Format) -> bool:
    """Whether the first record of JSON, or the first value of an object, is whole."""
    if form == "jsonl":
        return b"\n" in start.lstrip()
    if form != "json":
        return True
    value = beginning_of_json(start.decode(errors="replace"))
    return not isinstance(value, list | dict) or len(value) > 1


def beginning_of_json(text: str) -> Any:
    """The value of a JSON text; if the text is cut off, what of the value is there. None if it is not JSON.

    >>> beginning_of_json('{"q1": {"d1": 0.5, "d2": 0.2'), beginning_of_json('[{"query": "q1", "doc": "d')
    ({'q1': {'d1': 0.5}}, [{'query': 'q1'}])
    """
    closing: list[str] = []
    cut = 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in ("{", "["):
            closing.append(_CLOSING[mark])
        elif mark in ("}", "]") and closing:
            closing.pop()
        elif mark != ",":
            continue
        # Here the text can be cut, before a comma or after a bracket.
        cut = token.start() if mark == "," else token.end()
        if not closing:
            break
    try:
        return json.loads(text[:cut] + "".join(reversed(closing)))
    except (ValueError, RecursionError):
        return None


def _names(records: tuple[Mapping[str, Any], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for record in records for name in record))


def _of_table(text: str, form: Format, is_whole: bool) -> Sample:
    separator = "\t" if form == "tsv" else separator_of(text)
    rows = [[cell.strip() for cell in row] for row in first_rows(text, separator, whole=is_whole)[:_ROWS]]
    names = tuple(rows[0]) if rows else ()
    return Sample(form, names, tuple(dict(zip(names, row, strict=False)) for row in rows[1:]))


def _of_arrow(file: InputFile, form: Format) -> Sample:
    from karat.reading.bytes.arrow_file import ArrowFile

    schema = ArrowFile.of(files_of_table(file)[0]).schema()
    record = {field.name: _example(field.type) for field in schema}
    return Sample(form, tuple(schema.names), (record,), metadata=tuple(schema.metadata or ()))


def _example(kind: Any) -> Any:
    """A value of a type."""
    import pyarrow as pa

    if pa.types.is_nested(kind):
        return []
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return 0 if is_number or pa.types.is_boolean(kind) else ""
