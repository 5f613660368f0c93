"""Write results, which are records with any fields, to JSON, JSON lines, CSV, TSV, Parquet and Feather files.

Records are read once for what a format needs to know about all of them, and once to be written, so that memory stays
flat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO

from karat.errors import KaratError, shown
from karat.errors.arguments import list_hint
from karat.output.delimited import delimited
from karat.output.files import write_whole
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import Format, is_arrow
from karat.reading.conversion.targets import Target, write_to
from karat.reading.records.record_files import records_from_frame, records_of_file
from karat.reading.records.records import records_from_list

Record = Mapping[str, Any]
Records = Callable[[], Iterable[Record]]
"""records that can be read more than once"""

_AT_ONCE = 1 << 12  # records
_HINT = 'Each record is an object: {"query": "q1", "truth": [...], "retrieved": [...]}.'
_JSON_INSTEAD = "Write JSON lines instead."


def write_results(source: Any, form: Format | None, target: Target) -> int:
    """Write results; returns the number of records."""
    records = partial(_records, source, form)
    count = sum(1 for _ in records())
    if not count:
        raise KaratError("there is nothing to convert", place=source.name if isinstance(source, InputFile) else None)
    try:
        _write(records, target)
    except UnicodeEncodeError as error:
        what = f"a text contains the lone surrogate {error.object[error.start]!a}, which is not valid Unicode"
        raise KaratError(what, place=target.path, hint="Remove it from the text.") from None
    return count


def _records(source: Any, form: Format | None) -> Iterable[Record]:
    """The records of a file, a list or a data frame."""
    if isinstance(source, InputFile):
        return (record for _, record in records_of_file(source, form, _HINT))
    if hasattr(source, "__arrow_c_stream__"):
        return (record for _, record in records_from_frame(source, "the records"))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return (record for _, record in records_from_list(source, "the records"))
    raise KaratError(
        f"records cannot be read from {shown(source)}", hint=list_hint(source) or "Pass a list of dictionaries."
    )


def _write(records: Records, target: Target) -> None:
    if is_arrow(target.format):
        _write_tables(records, target)
    elif target.format == "jsonl":
        write_to(target, ("".join(f"{_json(each)}\n" for each in some).encode() for some in _batches(records())))
    elif target.format == "json":
        write_to(target, _json_list(records()))
    else:
        write_to(target, _delimited(records, "\t" if target.format == "tsv" else ","))


def _json_list(records: Iterable[Record]) -> Iterator[bytes]:
    before = "["
    for some in _batches(records):
        yield (before + ",\n".join(map(_json, some))).encode()
        before = ",\n"
    yield b"]\n"


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    iterator = iter(records)
    while some := list(islice(iterator, _AT_ONCE)):
        yield some


def _fields_of(records: Records) -> list[str]:
    """The fields that any record has, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(records())))


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise KaratError(f"{shown(value)} cannot be written as JSON") from None


def _delimited(records: Records, delimiter: str) -> Iterator[bytes]:
    names = _fields_of(records)
    yield delimited(names, [], delimiter).encode()
    for some in _batches(records()):
        rows = [[_cell(record.get(name), name) for name in names] for record in some]
        # The header was written already.
        yield delimited(names, rows, delimiter).partition("\n")[2].encode()


def _cell(value: object, name: str) -> object:
    if isinstance(value, Mapping | list | tuple):
        what = f"the field {shown(name)} contains {'an object' if isinstance(value, Mapping) else 'a list'}"
        raise KaratError(f"{what}, which a table of text cannot contain", hint=_JSON_INSTEAD)
    return value


def _write_tables(records: Records, target: Target) -> None:
    import pyarrow as pa

    names = _fields_of(records)

    def tables(schema: pa.Schema | None = None) -> Iterator[pa.Table]:
        for some in _batches(records()):
            columns = [[record.get(name) for record in some] for name in names]
            kinds = [None] * len(names) if schema is None else schema.types
            yield pa.Table.from_arrays([pa.array(*each) for each in zip(columns, kinds, strict=True)], names)

    def write(file: BinaryIO) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema) if target.format == "parquet" else pa.ipc.new_file(file, schema) as writer:
            for table in tables(schema):
                writer.write_table(table)

    try:
        schema = pa.unify_schemas([table.schema for table in tables()], promote_options="permissive")
        write_whole(target.path, write)
    except (pa.ArrowException, OverflowError) as error:
        what = f"{target.format} files have values of one type in each field: {error}"
        raise KaratError(what, place=target.path, hint=_JSON_INSTEAD) from None
