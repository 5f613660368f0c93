"""Which columns of a DataFrame are read, decided from its schema by the functions that decide it for local tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from karat.errors import KaratError, Message, Parameter, Place
from karat.reading.columns import GivenNames, check_unique, missing_columns, names_present
from karat.reading.columns.spellings import fitting_columns
from karat.reading.pairs.arrow_columns import id_notes, list_columns, read_lists
from karat.reading.pairs.columns import columns_to_read
from karat.reading.pairs.frames import Frame
from karat.reading.pairs.numeric_ids import Note
from karat.reading.pairs.tables import Number
from karat.reading.records.answer_fields import AnswerFields, SeenFields

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Role = Literal["truth", "run", "gold_answers", "answer", "verdicts"]
"""what a table contains"""

NUMBERS: dict[str, Number] = {"truth": "grade", "run": "score"}
"""what the numbers of ground truth and of a run are"""

_POSITIONS = 100  # in a list: a path such as `choices.0.text` names one


class TableColumns(NamedTuple):
    """The columns that are read."""

    names: Sequence[str]
    query: str
    """the column of queries; of answers, it may be a path such as `meta.id`"""
    by_role: Mapping[str, str]
    """the names that are given to the local reader"""
    notes: tuple[Note, ...]
    documents: str | None = None
    """the column of the lists of documents, if a row has all documents of a query"""


def columns_of(frame: DataFrame, role: Role, known: GivenNames | None, name: str, order: str | None) -> TableColumns:
    """The columns of a DataFrame that are read; `known` are names of columns by role, or of fields of answers."""
    schema = arrow_schema(frame)
    names, notes = names_present(known, lambda wanted: wanted in schema.names, name)
    if role == "truth" or role == "run":
        read = _pairs(schema, NUMBERS[role], names, name)
    elif role == "verdicts":
        # Each kind of record has fields of its own.
        read = TableColumns(schema.names, _named("query", schema, name), {}, ())
    else:
        read = _answers(frame, schema, role, names, name)
    columns = [*read.names]
    if order is not None and _sortable(order, schema, name) not in columns:
        columns.append(order)
    check_unique(columns, schema.names, name)
    for column in columns:
        if schema.field(column).metadata:
            kind = frame.schema.fields[schema.get_field_index(column)].dataType.simpleString()
            what = f"Spark cannot hand over values of type {kind}"
            raise KaratError(what, place=Place(name, column=column), hint="Convert the column, or drop it.")
    return read._replace(names=columns, notes=(*notes, *read.notes))


def numbered(frame: DataFrame) -> DataFrame:
    """The same DataFrame with columns named c0, c1, ...: other names may be ambiguous, or need quoting."""
    return frame.toDF(*(f"c{at}" for at in range(len(frame.columns))))


def _pairs(schema: pa.Schema, number: Number, known: Mapping[str, str] | None, name: str) -> TableColumns:
    """The columns of ground truth or of a run, with a row per pair or per query."""
    if lists := list_columns(schema, number, known, name):
        by_role = {"query": lists.query, "doc": lists.doc} | ({number: lists.number} if lists.number else {})
        return TableColumns(lists.present, lists.query, by_role, read_lists(name, [], number, lists).notes, lists.doc)
    columns = columns_to_read(schema.names, number, known, name)
    by_role = {"query": columns.query, "doc": columns.doc, "rank" if columns.by_rank else number: columns.number}
    names = list(dict.fromkeys(by_role.values()))
    Frame.of(schema.empty_table().select(names), number, by_role, name)  # a column of a wrong type is an error
    return TableColumns(names, columns.query, by_role, (*columns.note(name), *id_notes(schema, columns, name)))


def _answers(
    frame: DataFrame, schema: pa.Schema, role: str, known: Mapping[str, str] | None, name: str
) -> TableColumns:
    """The columns of questions and answers. Locally, the first is used that has any value."""
    record = {field.name: _example(field.type) for field in schema}
    fields = AnswerFields(role, known, name)
    usual = (each for each in fields.roles if each.name not in (known or {}))
    if any(len(fitting_columns(schema.names, each.spelling)) > 1 for each in usual):
        record = _without_empty(frame, record)
    choice = fields.choose(SeenFields.of([record], fields, name, "column"))
    query, answer = (choice.columns[each.name] for each in fields.roles)
    names = dict.fromkeys(each if each in schema.names else each.partition(".")[0] for each in (query, answer))
    return TableColumns(list(names), query, {"query": query, role: answer}, choice.note(name))


def _example(kind: pa.DataType) -> Any:
    """A value of this type, in which a path finds what it finds in a row."""
    if pa.types.is_struct(kind):
        return {field.name: _example(field.type) for field in kind}
    return [_example(kind.value_type)] * _POSITIONS if pa.types.is_list(kind) else ""


def _without_empty(frame: DataFrame, record: dict[str, Any]) -> dict[str, Any]:
    """A record with None for columns that have no value in any row."""
    from pyspark.sql import functions

    rows = numbered(frame)
    counts = rows.agg(*(functions.count(column) for column in rows.columns)).collect()[0]
    return {name: value if count else None for (name, value), count in zip(record.items(), counts, strict=True)}


def _sortable(order: str, schema: pa.Schema, name: str) -> str:
    kind = schema.field(_named(order, schema, name)).type
    if pa.types.is_nested(kind):
        hint: Message = ["Name a column of numbers, texts or times with ", Parameter("order"), "."]
        raise KaratError(f"rows cannot be sorted by the type {kind}", place=Place(name, column=order), hint=hint)
    return order


def _named(wanted: str, schema: pa.Schema, name: str) -> str:
    """The name of a column; an error if the table does not have it."""
    if wanted in schema.names:
        return wanted
    raise missing_columns([wanted], schema.names, name)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The Arrow schema of a DataFrame; the fields of columns that Arrow cannot carry have metadata."""
    from pyspark.sql.pandas.types import to_arrow_type

    fields = []
    for field in frame.schema.fields:
        try:
            fields.append(pa.field(field.name, to_arrow_type(field.dataType, timezone="UTC")))
        except Exception:  # of several types
            fields.append(pa.field(field.name, pa.binary(), metadata={"type": field.dataType.simpleString()}))
    return pa.schema(fields)
