"""Gold answers and predicted ones, from whatever holds them: mappings, lists, records, data frames, JSON, CSV, TSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from typing import Any

from karat.document import identifier, refuse_half_characters
from karat.errors import KaratError, shown
from karat.inputs import into_list
from karat.sources.pieces import TextSource
from karat.sources.records import (
    Record,
    field_names,
    is_one_value,
    naming,
    parsed,
    records_of_file,
    records_of_list,
    value_of,
)

Golds = dict[str, tuple[str, ...] | None]
"""The gold answers of each question; None where nobody knows one."""

Predicted = dict[str, str | None]

# What the fields of a record are called, where no name is given: the first that it has.
_NAMES = {
    "query": ("query", "id", "query_id", "question_id", "qid", "question"),
    "gold_answers": (
        "gold_answers", "gold_answer", "answers", "ground_truth_answers", "ground_truth_answer", "ground_truth",
        "references", "reference", "answer", "gold",
    ),
    "answer": (
        "answer", "predicted_answer", "prediction", "prediction_text", "predicted_answers", "response", "output",
    ),
}  # fmt: skip
_MEND = {
    "gold_answers": 'Gold answers are {query: "answer"} or {query: ["one", "or another"]}: a mapping, JSON, or lines of'
    ' {"query": "...", "gold_answers": [...]}; or a table with the columns query and answer.',
    "answer": 'Predicted answers are {query: "answer"}: a mapping, JSON, or lines of {"query": "...", "answer": "..."};'
    " or a table with the columns query and answer.",
}
_TEXT = "Answers are text: write it in quotes."
_ROWS = 10_000  # of a data frame become Python's at a time


def read_golds(source: Any, fields: Mapping[str, str] | None = None, name: str = "the truth") -> Golds:
    """The gold answers of each question.

    >>> read_golds({"q1": "Paris", "q2": ["9", "nine"], "q3": None})
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    golds: Golds = {}
    for where, query, value in _rows(source, "gold_answers", fields, name):
        found = None if value is None else gold_answers(value, where)
        if query in golds:
            if not isinstance(value, str) or golds[query] is None:
                raise _twice(query, where)
            # A table has a row for each gold answer of a question.
            found = (*(golds[query] or ()), value)
        golds[query] = found
    if not golds:
        raise KaratError("there are no gold answers", where=_place(source, name), mend=_MEND["gold_answers"])
    refuse_half_characters(golds, name)
    return golds


def read_predicted(
    source: Any, golds: Mapping[str, object], fields: Mapping[str, str] | None = None, name: str = "the predictions"
) -> Predicted:
    """The predicted answer of each question; a list is matched with the gold answers by position.

    >>> read_predicted(["Paris", None], {"q1": ("Paris",), "q2": ("nine",)})
    {'q1': 'Paris', 'q2': None}
    """
    predicted: Predicted = {}
    for where, query, value in _rows(source, "answer", fields, name, tuple(golds)):
        if query in predicted:
            raise _twice(query, where)
        predicted[query] = None if value is None else predicted_answer(value, where)
    refuse_half_characters(predicted, name)
    return predicted


def gold_answers(value: object, where: str) -> tuple[str, ...]:
    """One gold answer or several; none at all means that the right answer is to have none, as in SQuAD 2.

    >>> gold_answers(["9th century", "the 9th"], ""), gold_answers([], ""), gold_answers({"text": ["Paris"]}, "")
    (('9th century', 'the 9th'), ('',), ('Paris',))
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping) and "text" in value:
        # {"text": ["Paris"], "answer_start": [17]}, as data sets have it, or one of a list of such
        return gold_answers(value["text"], where)
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        several = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        texts = [each["text"] if isinstance(each, Mapping) and "text" in each else each for each in several]
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise KaratError(f"{shown(text)} is not text", where=f"{where}[{at}]", mend=_TEXT)
        return tuple(dict.fromkeys(texts)) or ("",)
    raise KaratError(f"{shown(value)} is no gold answer", where=where, mend=f"{into_list(value)} {_TEXT}".strip())


def predicted_answer(value: object, where: str) -> str:
    """A predicted answer, if it is text."""
    if isinstance(value, str):
        return value
    mend = "Give one predicted answer per question." if isinstance(value, list | tuple) else _TEXT
    raise KaratError(f"{shown(value)} is not text", where=where, mend=mend)


def _twice(query: str, where: str) -> KaratError:
    return KaratError(f"question {shown(query)} comes twice", where=where, mend="Keep one answer of each question.")


def _place(source: Any, name: str) -> str:
    return source.name if isinstance(source, TextSource) else os.fspath(source) if _is_path(source) else name


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike)


Rows = Iterator[tuple[str, str, Any]]
"""The place, the question and the answer, as it is given, of each."""


def _rows(
    source: Any, role: str, fields: Mapping[str, str] | None, name: str, positions: Sequence[str] | None = None
) -> Rows:
    """The answers of a source, whatever it is."""
    if _is_path(source):
        source = TextSource(os.fspath(source))
    if isinstance(source, TextSource):
        try:
            yield from _of_file(source, role, fields, positions)
        except KaratError:
            source.check()
            raise
    elif isinstance(source, Mapping):
        yield from _of_mapping(source, name)
    elif hasattr(source, "__arrow_c_stream__"):
        yield from _of_records(_records_of_frame(source, name), role, fields)
    elif isinstance(source, Sequence) and not isinstance(source, bytes):
        yield from _of_list(source, role, fields, name, positions)
    else:
        collect = "Call its collect() first. " if hasattr(source, "collect") else ""
        raise KaratError(
            f"{shown(source)} holds no answers", mend=f"{collect}{into_list(source)} {_MEND[role]}".strip()
        )


def _of_mapping(answers: Mapping[Any, Any], name: str) -> Rows:
    seen: set[str] = set()
    for key, value in answers.items():
        query = identifier(key, name)
        if query in seen:
            raise KaratError(f"question {query} comes twice, once as text and once as a number", where=name)
        seen.add(query)
        yield f"{name}, question {query}", query, value


def _of_list(
    answers: Sequence[Any], role: str, fields: Mapping[str, str] | None, name: str, positions: Sequence[str] | None
) -> Rows:
    if answers and all(isinstance(each, Mapping) for each in answers):
        yield from _of_records(records_of_list(answers, name), role, fields)
        return
    # The questions are called 0, 1, 2, … as Python counts them.
    queries = [str(at) for at in range(len(answers))] if positions is None else positions
    if len(queries) != len(answers):
        raise KaratError(
            f"there are {len(queries)} questions with gold answers, and {name} has {len(answers)}",
            mend="Lists are matched by position: give one answer per question, None where there is none.",
        )
    for at, (query, value) in enumerate(zip(queries, answers, strict=True)):
        yield f"{name}[{at}]", query, value


def _of_records(records: Iterable[tuple[str, Record]], role: str, fields: Mapping[str, str] | None) -> Rows:
    given = field_names(fields)
    read: dict[str, Callable[[Record], Any]] = {}
    for where, record in records:
        if not read:
            read = {each: _field(each, given[each], fields, record, where) for each in ("query", role)}
        query = read["query"](record)
        if query is None:
            raise KaratError("there is no query", where=where, mend="Every record needs one.")
        yield where, identifier(query, where), read[role](record)


def _field(
    role: str, given: str, fields: Mapping[str, str] | None, record: Record, where: str
) -> Callable[[Record], Any]:
    """What reads a field of the records, by the name that it has in the first of them."""
    names = (given,) if fields and role in fields else _NAMES[role]
    name = next((name for name in names if name in record or value_of(record, name) is not None), None)
    if name is None:
        there = ", ".join(map(str, list(record)[:20])) or "none"
        what = f"there is no {shown(given)}" if len(names) == 1 else f"there is no field for the {role}"
        raise KaratError(what, where=where, mend=f"Its fields are {there}. Name it: {naming(role, '...')}")
    return lambda each: value_of(each, name)


# Files.


def _of_file(source: TextSource, role: str, fields: Mapping[str, str] | None, positions: Sequence[str] | None) -> Rows:
    start = source.first_byte()
    if start == b"{" or start == b"[":
        data = source.whole()
        if is_one_value(data):
            value = parsed(data, source.name, _MEND[role])
            yield from _of_json(value, role, fields, source.name, positions)
            return
        given = field_names(fields)
        records = records_of_file(source, [*_NAMES["query"], *_NAMES[role], given["query"], given[role]], _MEND[role])
        yield from _of_records(records, role, fields)
    elif start:
        yield from _of_records(_records_of_table(source, role), role, fields)


def _of_json(
    value: Any, role: str, fields: Mapping[str, str] | None, name: str, positions: Sequence[str] | None
) -> Rows:
    if isinstance(value, list):
        yield from _of_list(value, role, fields, name, positions)
    elif isinstance(value.get("data"), list) and role == "gold_answers":
        yield from _of_squad(value["data"], name)
    elif _is_record(value, role, fields):
        yield from _of_records([(name, value)], role, fields)
    else:
        yield from _of_mapping(value, name)


def _is_record(value: Record, role: str, fields: Mapping[str, str] | None) -> bool:
    """Whether one object is the record of one question, and not a mapping of questions to answers."""
    given = field_names(fields)
    return all(any(name in value for name in (given[each], *_NAMES[each])) for each in ("query", role))


def _of_squad(articles: Sequence[Any], name: str) -> Rows:
    """A data set in SQuAD's form: articles, their paragraphs, and the questions about each."""
    for article in articles:
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    query = identifier(question["id"], name)
                    yield f"{name}, question {query}", query, question["answers"]
        except (KeyError, TypeError):
            mend = 'It is {"data": [{"paragraphs": [{"qas": [{"id": ..., "answers": [{"text": ...}]}]}]}]}.'
            raise KaratError("this is not SQuAD's form of a data set", where=name, mend=mend) from None


def _records_of_table(source: TextSource, role: str) -> Iterator[tuple[str, Record]]:
    """The lines of a CSV or TSV file, whose first line names the columns."""
    try:
        text = source.whole().decode()
    except UnicodeDecodeError:
        raise KaratError("this is not UTF-8", where=source.name, mend="Save the file as UTF-8.") from None
    if "\0" in text:
        mend = "This is binary data, or UTF-16: save the file as UTF-8."
        raise KaratError("there is a NUL byte in this file", where=source.name, mend=mend)
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = next(line for line in reader if line)
        if len(header) < 2:
            raise KaratError("this is neither JSON nor a table", where=f"{source.name}:1", mend=_MEND[role])
        for row in reader:
            where = f"{source.name}:{reader.line_num}"
            if row and len(row) != len(header):
                what = f"{len(row)} columns, and the first line names {len(header)}"
                raise KaratError(what, where=where, mend="Put what has a comma, a tab or a quote in it into quotes.")
            if row:
                yield where, dict(zip(header, row, strict=True))
    except csv.Error as error:
        where = f"{source.name}:{reader.line_num}"
        mend = 'A quote inside of quotes is written "". Very long texts go better into lines of JSON.'
        raise KaratError(f"not a table: {error}", where=where, mend=mend) from None


def _records_of_frame(source: Any, name: str) -> Iterator[tuple[str, Record]]:
    import pyarrow as pa

    try:
        table = pa.table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise KaratError(f"this cannot be read as a table: {error}", where=name) from None
    records = chain.from_iterable(batch.to_pylist() for batch in table.to_batches(max_chunksize=_ROWS))
    yield from ((f"{name}, row {at}", record) for at, record in enumerate(records))
