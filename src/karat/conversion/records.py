"""Answers, results and texts (queries, a corpus) from any source, and how each is written in each format."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from itertools import islice
from typing import Any

from karat.conversion.kinds import TEXT_NAMES, arrow_files, names_in, other_fields
from karat.conversion.record_files import Record, Records, write_object, write_records, write_without_header
from karat.conversion.targets import BINARY, Target
from karat.errors import KaratError, first_few, list_hint, plural, shown
from karat.json_decoding import decode_json
from karat.sources.answers import GoldAnswers, read_gold_answers
from karat.sources.formats import Format
from karat.sources.input_file import InputFile
from karat.sources.record_files import records_from_frame
from karat.sources.records import records_from_json_lines, records_from_list

_AT_ONCE = 1 << 12  # rows
_HINT = 'Each record is an object: {"_id": "q1", "text": "..."}.'


def write_answers(
    source: Any, form: Format | None, target: Target, fields: Mapping[str, str] | None
) -> tuple[int, tuple[str, ...]]:
    """Write answers, of which a question may have several; returns the number of questions, and notes."""
    notes: tuple[str, ...] = ()
    if isinstance(source, InputFile) and form is not None:
        golds = read_gold_answers(_frame(source, form) or source, fields)
        others = [name for name in other_fields(names_in(source, form)) if name not in (fields or {}).values()]
        if others and not golds.keys() & set(others):
            notes = (f"only answers are written, not the other fields of {source.name}: {first_few(others, 10)}",)
    else:
        golds = read_gold_answers(source, fields, name="the answers")
    if target.format == "json":
        write_object(((query, _value(texts)) for query, texts in golds.items()), target)
    elif target.format in ("csv", "tsv"):
        write_records(lambda: _rows(golds), target)
    else:
        write_records(lambda: _objects(golds), target)
    return len(golds), notes


def write_record_file(source: Any, form: Format | None, target: Target, *, as_texts: bool) -> int:
    """Write results or texts; returns the number of records."""
    records = partial(_records, source, form)
    count = sum(1 for _ in records())
    if not count:
        raise KaratError("there is nothing to convert", where=source.name if isinstance(source, InputFile) else None)
    names = _id_and_text(records) if as_texts and target.format == "tsv" else None
    if names:
        write_without_header(([record.get(name) or "" for name in names] for record in records()), target)
    else:
        write_records(records, target)
    return count


def _frame(file: InputFile, form: Format) -> Any:
    """The table in Parquet or Feather files; None for other formats."""
    if form not in BINARY:
        return None
    import pyarrow as pa

    return pa.concat_tables([each.table() for each in arrow_files(file, form)])


def _value(texts: tuple[str, ...] | None) -> str | list[str] | None:
    return None if texts is None else texts[0] if len(texts) == 1 else list(texts)


def _rows(golds: GoldAnswers) -> Iterator[Record]:
    """A row per answer."""
    for query, texts in golds.items():
        for text in (None,) if texts is None else texts:
            if text == "":
                what = f"the answer to question {shown(query)} is empty, which CSV and TSV cannot tell from no answer"
                raise KaratError(what, hint="Write JSON or Parquet instead.")
            yield {"query": query, "answer": text}


def _objects(golds: GoldAnswers) -> Iterator[Record]:
    """A record per question; the answers are lists if any question has several."""
    if all(texts is None or len(texts) == 1 for texts in golds.values()):
        return ({"query": query, "answer": _value(texts)} for query, texts in golds.items())
    return ({"query": query, "gold_answers": None if texts is None else list(texts)} for query, texts in golds.items())


def _records(source: Any, form: Format | None) -> Iterable[Record]:
    """The records of a file, a list or a data frame."""
    if isinstance(source, InputFile):
        return _READERS[form or "jsonl"](source)
    if hasattr(source, "__arrow_c_stream__"):
        return (record for _, record in records_from_frame(source, "the records"))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        return (record for _, record in records_from_list(source, "the records"))
    raise KaratError(
        f"records cannot be read from {shown(source)}", hint=list_hint(source) or "Pass a list of dictionaries."
    )


def _from_json_lines(file: InputFile) -> Iterator[Record]:
    return (record for _, record in records_from_json_lines(file, _HINT))


def _from_json(file: InputFile) -> Iterator[Record]:
    value = decode_json(file.read_all(), file.name, _HINT)
    records = [value] if isinstance(value, Mapping) else value
    return (record for _, record in records_from_list(records, file.name))


def _from_arrow(form: Format, file: InputFile) -> Iterator[Record]:
    tables = (each.table() for each in arrow_files(file, form))
    return (record for table in tables for batch in table.to_batches(_AT_ONCE) for record in batch.to_pylist())


def _from_csv(file: InputFile) -> Iterator[Record]:
    return _from_rows(file, ",;\t")


def _from_tsv(file: InputFile) -> Iterator[Record]:
    return _from_rows(file, "\t")


def _from_rows(file: InputFile, delimiters: str) -> Iterator[Record]:
    """The rows of a table of text. Without a header, it has ids and texts, and no quotation marks around them."""
    first = next(_lines(file), "").rstrip("\r\n")
    delimiter = next((mark for mark in delimiters if mark in first), ",")
    names = next(csv.reader([first], delimiter=delimiter), [])
    if not TEXT_NAMES.intersection(names):
        yield from _ids_and_texts(file, delimiter)
        return
    reader = csv.reader(_lines(file), delimiter=delimiter, strict=True)
    try:
        for row in islice(reader, 1, None):
            if row and len(row) != len(names):
                raise _wrong_width(len(row), len(names), f"{file.name}:{reader.line_num}")
            if row:
                yield dict(zip(names, row, strict=True))
    except csv.Error as error:
        hint = "Write texts of this length as JSON lines." if "limit" in str(error) else None
        raise KaratError(f"not a table: {error}", where=f"{file.name}:{reader.line_num}", hint=hint) from None


def _ids_and_texts(file: InputFile, delimiter: str) -> Iterator[Record]:
    for number, line in enumerate(_lines(file), 1):
        row = line.rstrip("\r\n").split(delimiter)
        if len(row) != 2:
            raise _wrong_width(len(row), 2, f"{file.name}:{number}")
        yield {"_id": row[0], "text": row[1]}


def _lines(file: InputFile) -> Iterator[str]:
    for block in file.blocks(whole_queries=False):
        try:
            text = str(block.data, "utf-8")
        except UnicodeDecodeError:
            raise KaratError("the file is not UTF-8", where=file.name, hint="Save the file as UTF-8.") from None
        yield from (line for line in StringIO(text, newline="\n"))


def _wrong_width(found: int, wanted: int, where: str) -> KaratError:
    hint = "A table of texts has a header with a column text, or two columns: the id and the text."
    return KaratError(f"the line has {plural(found, 'column')} instead of {wanted}", where=where, hint=hint)


_READERS: dict[Format, Callable[[InputFile], Iterator[Record]]] = {
    "json": _from_json, "jsonl": _from_json_lines, "csv": _from_csv, "tsv": _from_tsv,
    "parquet": partial(_from_arrow, "parquet"), "feather": partial(_from_arrow, "feather"), "trec": _from_tsv,
}  # fmt: skip


def _id_and_text(records: Records) -> tuple[str, str] | None:
    """The names of the id and of the text, if other fields are empty, as titles often are; None otherwise."""
    filled = {name for record in records() for name, value in record.items() if value}
    texts = filled & TEXT_NAMES
    return (*(filled - texts), *texts) if len(filled) == 2 and len(texts) == 1 else None  # type: ignore[return-value]  # two names
