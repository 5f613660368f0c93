"""Questions with their answers, one row after the other: mappings, lists, records, data frames, JSON, CSV and TSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from typing import Any

from karat.documents.answer import as_gold_answers
from karat.documents.ids import all_text, identifier
from karat.errors import KaratError, list_hint, shown
from karat.sources.records import (
    ALIASES,
    Record,
    field_names,
    field_value,
    is_single_json_value,
    parse_json,
    records_from_json_lines,
    records_from_list,
    rename_hint,
)
from karat.sources.text_file import TextFile

Rows = Iterator[tuple[str, str, Any]]
"""The place, the question and the answer, as it is given, of each."""

# What the fields of a record are called, where no name is given: the first that any of the records has. A file of gold
# answers may well call them answers.
_NAMES = {role: (role, *ALIASES[role]) for role in ("query", "gold_answers", "answer")}
_NAMES["gold_answers"] += ("answer",)
HINT = {
    "gold_answers": 'Gold answers are {query: "answer"} or {query: ["one", "or another"]}: a mapping, JSON, or lines of'
    ' {"query": "...", "gold_answers": [...]}; or a table with the columns query and answer.',
    "answer": 'Predicted answers are {query: "answer"}: a mapping, JSON, or lines of {"query": "...", "answer": "..."};'
    " or a table with the columns query and answer.",
}
_ROWS = 10_000  # of a data frame become Python's at a time
_LISTED = 20  # so many names of fields go into a message

_Names = Mapping[str, Sequence[str]]


def source_name(source: Any, name: str) -> str:
    """What messages call a source: a file by its name."""
    if isinstance(source, str | os.PathLike):
        source = TextFile(os.fspath(source))
    return source.name if isinstance(source, TextFile) else name


def read_answer_rows(
    source: Any, role: str, fields: Mapping[str, str] | None, name: str, positions: Sequence[str] | None = None
) -> Rows:
    """The answers of a source, whatever it is; `role` is the field that they are in."""
    given = field_names(fields)
    names: _Names = {each: (given[each],) if fields and each in fields else _NAMES[each] for each in ("query", role)}
    if isinstance(source, str | os.PathLike):
        source = TextFile(os.fspath(source))
    if isinstance(source, TextFile):
        return _of_file(source, role, names, positions)
    if isinstance(source, Mapping):
        return _of_object(source, role, name)
    if hasattr(source, "__arrow_c_stream__"):
        return _of_records(_records_of_frame(source, name), role, names)
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return _of_list(source, role, names, name, positions)
    collect = "Call its collect() first." if hasattr(source, "collect") else list_hint(source)
    raise KaratError(f"{shown(source)} holds no answers", hint=f"{collect} {HINT[role]}".strip())


def _of_object(answers: Mapping[Any, Any], role: str, name: str) -> Rows:
    """A mapping of questions to answers, or a data set in SQuAD's form."""
    articles = answers.get("data")
    if role == "gold_answers" and isinstance(articles, list) and not (articles and all_text(articles)):
        return _of_squad(articles, name)
    return _of_mapping(answers, name)


def _of_mapping(answers: Mapping[Any, Any], name: str) -> Rows:
    seen: set[str] = set()
    for key, value in answers.items():
        query = identifier(key, name)
        if query in seen:
            hint = "Keep one of them."
            raise KaratError(f"question {query} comes twice, once as text and once as a number", where=name, hint=hint)
        seen.add(query)
        yield f"{name}, question {query}", query, value


def _of_squad(articles: Sequence[Any], name: str) -> Rows:
    """SQuAD's form: articles, their paragraphs, and the questions about each."""
    for article in articles:
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    query = identifier(question["id"], name)
                    yield f"{name}, question {query}", query, question["answers"]
        except (KeyError, TypeError):
            hint = 'It is {"data": [{"paragraphs": [{"qas": [{"id": ..., "answers": [{"text": ...}]}]}]}]}.'
            raise KaratError("this is not SQuAD's form of a data set", where=name, hint=hint) from None


def _of_list(answers: Sequence[Any], role: str, names: _Names, name: str, positions: Sequence[str] | None) -> Rows:
    if answers and all(isinstance(each, Mapping) for each in answers):
        yield from _of_records(records_from_list(answers, name), role, names)
        return
    # The questions are called 0, 1, 2, … as Python counts them.
    queries = [str(at) for at in range(len(answers))] if positions is None else positions
    if len(queries) != len(answers):
        raise KaratError(
            f"there are {len(queries)} questions with gold answers, and {name} has {len(answers)}",
            hint="Lists are matched by position: give one answer per question, None where there is none.",
        )
    for at, (query, value) in enumerate(zip(queries, answers, strict=True)):
        yield f"{name}[{at}]", query, value


def _of_records(records: Iterable[tuple[str, Record]], role: str, names: _Names) -> Rows:
    """The question and the answer of each record; one that comes again has further gold answers, as in a table."""
    if role != "gold_answers":
        yield from _each(records, role, names)
        return
    golds: dict[str, tuple[str, list[str]]] = {}
    for where, query, value in _each(records, role, names):
        _, texts = golds.setdefault(query, (where, []))
        texts.extend(() if value is None else as_gold_answers(value, where))
    yield from ((where, query, texts or None) for query, (where, texts) in golds.items())


def _each(records: Iterable[tuple[str, Record]], role: str, names: _Names) -> Rows:
    """One name serves all records: one of them may lack an answer."""
    listed = list(records)
    if not listed:
        return
    query_name, answer_name = (_name(listed, each, names[each]) for each in ("query", role))
    for where, record in listed:
        query = field_value(record, query_name)
        if query is None:
            raise KaratError(f"there is no {query_name}", where=where, hint="Every record needs one.")
        yield where, identifier(query, where), field_value(record, answer_name)


def _name(records: Sequence[tuple[str, Record]], role: str, names: Sequence[str]) -> str:
    there = set(chain.from_iterable(record for _, record in records))
    for name in names:
        known = name in there or name.partition(".")[0] in there
        if known and any(field_value(record, name) is not None for _, record in records):
            return name
    where, record = records[0]
    if any(name in record for name in names):
        return next(name for name in names if name in record)
    fields = ", ".join(map(str, list(record)[:_LISTED])) or "none"
    what = f"there is no {shown(names[0])}" if len(names) == 1 else f"there is no field for the {role}"
    raise KaratError(what, where=where, hint=f"Its fields are {fields}. Name it: {rename_hint(role, '...')}")


# Files.


def _of_file(source: TextFile, role: str, names: _Names, positions: Sequence[str] | None) -> Rows:
    start = source.first_byte()
    if start in (b"{", b"["):
        data = source.whole()
        if is_single_json_value(data):
            value = parse_json(data, source.name, HINT[role])
            yield from _of_json(value, role, names, source.name, positions)
            return
        records = records_from_json_lines(source, [*names["query"], *names[role]], HINT[role])
        yield from _of_records(records, role, names)
    elif start:
        yield from _of_records(_records_of_table(source, role), role, names)


def _of_json(value: Any, role: str, names: _Names, name: str, positions: Sequence[str] | None) -> Rows:
    if isinstance(value, list):
        return _of_list(value, role, names, name, positions)
    # One object may be the record of one question, and not a mapping of questions to answers.
    there = {each: any(_has(value, known) for known in names[each]) for each in names}
    if all(there.values()) or any(there[each] and len(names[each]) == 1 for each in names):
        return _of_records([(name, value)], role, names)
    return _of_object(value, role, name)


def _has(record: Record, name: str) -> bool:
    return name in record or field_value(record, name) is not None


def _records_of_table(source: TextFile, role: str) -> Iterator[tuple[str, Record]]:
    """The lines of a CSV or TSV file, whose first line names the columns."""
    try:
        text = source.whole().decode()
    except UnicodeDecodeError:
        raise KaratError("this is not UTF-8", where=source.name, hint="Save the file as UTF-8.") from None
    if "\0" in text:
        hint = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError("there is a NUL byte in this file", where=source.name, hint=hint)
    head = text.lstrip("\r\n").partition("\n")[0]
    delimiter = next((mark for mark in "\t,;" if mark in head), ",")
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(line for line in reader if line)
        if len(header) < 2:
            raise KaratError("this is neither JSON nor a table", where=f"{source.name}:1", hint=HINT[role])
        _refuse_repeated(header, f"{source.name}:{reader.line_num}")
        for row in reader:
            where = f"{source.name}:{reader.line_num}"
            if row and len(row) != len(header):
                what = f"{len(row)} columns, and the first line names {len(header)}"
                raise KaratError(what, where=where, hint="Put what has a comma, a tab or a quote in it into quotes.")
            if row:
                # A cell in which nothing stands is no answer.
                yield where, {name: cell or None for name, cell in zip(header, row, strict=True)}
    except csv.Error as error:
        where = f"{source.name}:{reader.line_num}"
        too_long = "Such long texts go into lines of JSON."
        hint = too_long if "limit" in str(error) else 'A quote inside of quotes is written "".'
        raise KaratError(f"not a table: {error}", where=where, hint=hint) from None


def _refuse_repeated(columns: Sequence[str], where: str) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise KaratError(f"there are two columns {shown(column)}", where=where, hint="Keep one of them.")


def _records_of_frame(source: Any, name: str) -> Iterator[tuple[str, Record]]:
    import pyarrow as pa

    try:
        table = pa.table(source)
        _refuse_repeated(table.column_names, name)
        records = chain.from_iterable(batch.to_pylist() for batch in table.to_batches(max_chunksize=_ROWS))
        yield from ((f"{name}, row {at}", record) for at, record in enumerate(records))
    except KaratError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        hint = "A data frame has the columns query and answer." + (" A column: call .tolist() on it." if
            hasattr(source, "tolist") or hasattr(source, "to_list") else "")  # fmt: skip
        raise KaratError(f"this cannot be read as a table: {error}", where=name, hint=hint) from None
