"""Write records with any fields, such as results and texts, to JSON, JSON lines, CSV, TSV, Parquet and Feather files.

Records are read once for what a format needs to know about all of them, and once to be written, so that memory stays
flat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO, TypeVar

from karat.conversion.targets import Target, write_to
from karat.errors import KaratError, shown
from karat.files.names import is_arrow
from karat.output.delimited import delimited
from karat.output.files import write_whole

Item = TypeVar("Item")
Record = Mapping[str, Any]
Records = Callable[[], Iterable[Record]]
"""records that can be read more than once"""

_AT_ONCE = 1 << 12  # records
_JSON_INSTEAD = "Write JSON lines instead."


def write_records(records: Records, target: Target) -> None:
    """Write records."""
    if is_arrow(target.format):
        _write_tables(records, target)
    elif target.format == "jsonl":
        write_to(target, ("".join(f"{_json(each)}\n" for each in some).encode() for some in _batches(records())))
    elif target.format == "json":
        write_to(target, _enclosed("[", map(_json, records()), "]\n"))
    elif target.format in ("csv", "tsv"):
        write_to(target, _delimited(records, "\t" if target.format == "tsv" else ","))
    else:
        raise KaratError("only runs and ground truth can be written as TREC files", place=target.path)


def write_object(members: Iterable[tuple[str, object]], target: Target) -> None:
    """Write a JSON object, member by member."""
    write_to(target, _enclosed("{", (f"{_json(name)}: {_json(value)}" for name, value in members), "}\n"))


def write_without_header(rows: Iterable[Sequence[object]], target: Target) -> None:
    """Write a TSV file without a header and without quotation marks, as in MS MARCO."""
    write_to(target, ("".join(map(_plain_line, some)).encode() for some in _batches(rows)))


def fields_of(records: Records) -> list[str]:
    """The fields that any record has, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(records())))


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while some := list(islice(iterator, _AT_ONCE)):
        yield some


def _enclosed(start: str, texts: Iterable[str], end: str) -> Iterator[bytes]:
    """Texts with commas between them, one per line, within brackets."""
    before, iterator = start, iter(texts)
    while some := list(islice(iterator, _AT_ONCE)):
        yield (before + ",\n".join(some)).encode()
        before = ",\n"
    yield f"{start if before == start else ''}{end}".encode()


def _json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise KaratError(f"{shown(value)} cannot be written as JSON") from None


def _delimited(records: Records, delimiter: str) -> Iterator[bytes]:
    names = fields_of(records)
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


def _plain_line(row: Sequence[object]) -> str:
    cells = [str(value) for value in row]
    if any(mark in cell for cell in cells for mark in "\t\n\r"):
        what = f"the text of {shown(cells[0])} contains a tab or a line end, which TSV without quotes cannot contain"
        raise KaratError(what, hint="Write CSV or JSON lines instead.")
    return "\t".join(cells) + "\n"


def _write_tables(records: Records, target: Target) -> None:
    import pyarrow as pa

    names = fields_of(records)

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
