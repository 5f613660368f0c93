"""Text files on Spark: it reads the lines, and karat's own readers read what is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from karat.engines.spark.columns import NUMBERS, Role
from karat.engines.spark.files import FilesFormat, SparkFiles
from karat.engines.spark.line_records import LINE, RecordsInLines
from karat.engines.spark.lines import (
    FILE,
    NAMES,
    ONE_LINE,
    RECORDS,
    STARTS,
    LineReader,
    names_with_values,
    objects_in,
    read_pairs,
    rows_in,
    undecided_guard,
    with_queries,
)
from karat.engines.spark.shipping import error_from, failure, for_executors, large_types
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import ROW_ERROR
from karat.errors import KaratError
from karat.evaluation.verdict_ranges import query_of_row
from karat.reading.columns import GivenNames, Noun
from karat.reading.pairs.delimited_blocks import read_block as read_delimited
from karat.reading.pairs.delimited_layout import Delimited, empty_error, layout_of
from karat.reading.pairs.files import names_for_file
from karat.reading.pairs.json_files import fields_of_objects, json_lines
from karat.reading.pairs.json_objects import HINT
from karat.reading.pairs.json_objects import empty_error as empty_objects
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.tables import Number
from karat.reading.pairs.trec import empty_error as empty_trec
from karat.reading.pairs.trec import layout_of_trec
from karat.reading.pairs.trec_blocks import read_block as read_trec
from karat.reading.records.answer_fields import AnswerFields, SeenFields
from karat.reading.records.answer_rows import HINT as ANSWERS_HINT
from karat.reading.records.paths import Record, field_value
from karat.reading.records.record_files import delimiter_of, records_from_table
from karat.reading.records.records import records_from_json_lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SAMPLE = 1000  # records, in which the names of fields are found
_VERDICTS = "Each line of a verdict file is one object, and each row of a table one record."
_TYPES = {pa.string(): "string", pa.binary(): "binary", pa.float64(): "double"}


class TextTable(NamedTuple):
    """How the lines of text files are read in executors."""

    reader: LineReader
    by_role: Mapping[str, str]
    """the names of columns or fields, for the local reader"""
    notes: tuple[Note, ...]
    empty: KaratError | None
    """the error for files without rows"""
    by_query: bool = False
    records: RecordsInLines | None = None


def table_of_text(
    files: SparkFiles, form: FilesFormat, role: Role, columns: GivenNames | None, session: SparkSession
) -> SparkTable:
    """The table in text files."""
    from pyspark.sql import functions

    text = text_table(files, form, role, columns, partial(_names_on_spark, files, session))
    lines = _lines(files, text.reader, session)
    return SparkTable(
        files.name,
        _read(lines, text.reader),
        "query",
        functions.col("query"),
        counted=lines,
        notes=text.notes,
        columns=text.by_role,
        by_query=text.by_query,
        empty_error=text.empty,
        records=text.records,
    )


def _lines(files: SparkFiles, reader: LineReader, session: SparkSession) -> DataFrame:
    """The lines of files as bytes, with what a reader has to know about each."""
    from pyspark.sql import functions

    columns = [functions.col("value").cast("binary").alias(LINE)]
    columns += [functions.col("_metadata.file_path").alias(FILE)] if files.has_others else []
    columns += [(functions.col("_metadata.file_block_start") == 0).alias(STARTS)] if reader.header is not None else []
    return session.read.text(files.path).select(*columns)


def _read(lines: DataFrame, reader: LineReader) -> DataFrame:
    columns = [f"{field.name} {_TYPES[field.type]}" for field in reader.schema]
    reader = replace(reader, large_types=large_types(lines.sparkSession))
    return lines.mapInArrow(for_executors(reader), ", ".join([*columns, f"{ROW_ERROR} string"]))


def _names_on_spark(files: SparkFiles, session: SparkSession, reader: LineReader) -> list[str]:
    """The names that a reader finds in all lines."""
    try:
        rows = _read(_lines(files, reader, session), reader).distinct().collect()
    except Exception as error:  # of Java, Hadoop or a remote server
        raise failure(error) from None
    if errors := [row[ROW_ERROR] for row in rows if row[ROW_ERROR]]:
        raise error_from(min(errors))
    return sorted(row["name"] for row in rows)


def text_table(
    files: SparkFiles,
    form: FilesFormat,
    role: Role,
    known: GivenNames | None,
    names_in_lines: Callable[[LineReader], list[str]],
) -> TextTable:
    """How text files are read; `names_in_lines` gives the names that a reader finds in all lines."""
    is_json = form.format == "json" or form.format == "jsonl"
    columns, notes = names_for_file(files.first, form.format, known)
    form = form._replace(notes=(*form.notes, *notes))
    if role == "truth" or role == "run":
        if is_json:
            return _objects(files, form, NUMBERS[role], columns)
        if form.format == "trec":
            return _trec(files, form, NUMBERS[role], columns)
        return _delimited(files, form, "tsv" if form.format == "tsv" else "csv", NUMBERS[role], columns)
    hint = ANSWERS_HINT.get(role, _VERDICTS)
    rows = records_from_json_lines(files.first, hint) if is_json else records_from_table(files.first, hint)
    sample = [record for _, record in islice(rows, _SAMPLE)]
    if is_json:
        header, records = None, partial(objects_in, hint=hint)
    else:
        header = next((line.strip() for _, line in files.first.lines() if line.strip()), b"")
        names = tuple(sample[0]) if sample else ()
        records = partial(rows_in, names=names, separator=delimiter_of(files.first))
    if role == "verdicts":
        read = partial(with_queries, records=records, query=query_of_row)
        reader = LineReader(files.name, read, RECORDS, header, form.hint)
        in_lines = RecordsInLines(files.name, header, pa.schema([("query", pa.string())]))
        return TextTable(reader, {}, form.notes, None, records=in_lines)
    all_names = LineReader(files.name, partial(names_with_values, records=records), NAMES, header, form.hint)
    by_field, notes, empty = _answers(
        files.name, sample, role, columns, "field" if is_json else "column", partial(names_in_lines, all_names)
    )
    read = partial(with_queries, records=records, query=partial(field_value, path=by_field["query"]))
    reader = LineReader(files.name, read, RECORDS, header, form.hint)
    without_lines = pa.schema([(name, pa.string()) for name in by_field.values()])
    in_lines = RecordsInLines(files.name, header, without_lines)
    return TextTable(reader, by_field, (*form.notes, *notes), empty, records=in_lines)


def _trec(files: SparkFiles, form: FilesFormat, number: Number, columns: Mapping[str, str] | None) -> TextTable:
    if columns:
        raise KaratError("a TREC file has no names of columns", place=files.name, hint="Leave them out.")
    layout = layout_of_trec(number)
    read = partial(read_pairs, read=partial(read_trec, layout=layout), number=number, separator="")
    reader = LineReader(files.name, read, _pairs(number), hint=form.hint)
    return TextTable(reader, _own_names(number), form.notes, empty_trec(files.first, layout))


def _delimited(
    files: SparkFiles,
    form: FilesFormat,
    format: Delimited,  # noqa: A002
    number: Number,
    columns: Mapping[str, str] | None,
) -> TextTable:
    layout = layout_of(files.first, format, number, columns)
    header = files.first.start(layout.start).strip()
    if b"\n" in header:
        raise KaratError("the header has more than one line", place=files.name, hint=ONE_LINE)
    rows = partial(read_delimited, layout=layout, number=number, is_guarded=undecided_guard)
    read = partial(read_pairs, read=rows, number=number, separator=layout.separator)
    reader = LineReader(files.name, read, _pairs(number), header or None, form.hint)
    return TextTable(reader, _own_names(number), (*form.notes, *layout.notes), empty_error(files.name, number))


def _pairs(number: Number) -> pa.Schema:
    return pa.schema([("query", pa.string()), ("doc", pa.string()), (number, pa.float64())])


def _own_names(number: Number) -> dict[str, str]:
    return {name: name for name in ("query", "doc", number)}


def _objects(files: SparkFiles, form: FilesFormat, number: Number, columns: Mapping[str, str] | None) -> TextTable:
    """JSON lines of ground truth or of a run."""
    fields, by_query = fields_of_objects(json_lines(files.first, number), number, columns)
    by_role = {"query": fields.query, "doc": fields.doc}
    by_role |= {} if by_query else {"rank" if fields.by_rank else number: fields.number}
    read = partial(
        with_queries, records=partial(objects_in, hint=HINT[number]), query=partial(field_value, path=fields.query)
    )
    reader = LineReader(files.name, read, RECORDS, hint=form.hint)
    types = (pa.string(), pa.list_(pa.string()) if by_query else pa.string(), pa.float64())
    without_lines = pa.schema(list(zip(by_role.values(), types, strict=False)))
    notes = (*form.notes, *fields.note(files.name))
    in_lines = RecordsInLines(files.name, None, without_lines, by_role)
    return TextTable(reader, by_role, notes, empty_objects(files.name, number), by_query, in_lines)


def _answers(
    name: str,
    sample: Sequence[Record],
    role: Role,
    known: Mapping[str, str] | None,
    noun: Noun,
    all_names: Callable[[], list[str]],
) -> tuple[dict[str, str], tuple[str, ...], KaratError]:
    """The fields of answers, notes on them, and the error for files without answers.

    The first of the usual names is used that has a value in any record, of which `sample` has only the first ones.
    """
    what = f"no {'gold' if role == 'gold_answers' else 'predicted'} answers found"
    empty = KaratError(what, place=name, hint=ANSWERS_HINT[role])
    if not sample:
        raise empty
    fields = AnswerFields(role, known, name)
    choice = fields.choose(SeenFields.of(sample, fields, name, noun))
    if any(choice.columns[field] != (known or {}).get(field, field) for field in ("query", role)):
        choice = fields.choose(SeenFields.of([dict.fromkeys(all_names(), "")], fields, name, noun))
    return dict(choice.columns), choice.note(name), empty
