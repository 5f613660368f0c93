"""Read questions and their answers from mappings, lists, records, data frames, JSON, CSV, TSV, Parquet and Feather."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from karat.documents.answer import as_gold_answers
from karat.documents.ids import all_text, identifier
from karat.errors import KaratError, list_hint, plural, shown
from karat.files.input_file import InputFile, is_file
from karat.files.names import is_arrow
from karat.json_decoding import decode_json
from karat.sources.formats import detect
from karat.sources.json_frames import frame_in_json
from karat.sources.record_files import records_from_arrow, records_from_frame, records_from_table
from karat.sources.records import (
    Record,
    field_names,
    field_value,
    is_single_json_value,
    objects_from_json_lines,
    records_from_json_lines,
    records_from_list,
    reject_lists_as_text,
    rename_hint,
)
from karat.sources.spellings import ALIASES

AnswerRows = Iterator[tuple[str, str, Any]]
"""For each answer: its location (for errors), the id of its question, and the answer as given."""

# The default names of the fields: the first name that any record has is used. In a file of gold answers, their field
# may also be named answer.
_DEFAULT_NAMES = {field: (field, *ALIASES[field]) for field in ("query", "gold_answers", "answer")}
_DEFAULT_NAMES["gold_answers"] += ("answer",)
HINT = {
    "gold_answers": 'Gold answers are {query: "answer"} or {query: ["one", "or another"]}: a mapping, JSON, or lines of'
    ' {"query": "...", "gold_answers": [...]}; or a table with the columns query and answer.',
    "answer": 'Predicted answers are {query: "answer"}: a mapping, JSON, or lines of {"query": "...", "answer": "..."};'
    " or a table with the columns query and answer.",
}
_MAX_LISTED = 20  # field names listed in a message

_Names = Mapping[str, Sequence[str]]


def source_name(source: Any, name: str) -> str:
    """The name of a source in messages: the path of a file, otherwise `name`."""
    return InputFile.of(source).name if is_file(source) else name


def plain_answers(source: InputFile, field: str, fields: Mapping[str, str] | None) -> dict[str, Any] | None:
    """The answers in JSON lines, by question, if every question is a text of its own, and every answer is text or null.

    Gold answers may also be lists of texts. None for all other files: these are read row by row, which gives the same
    answers, but takes several times as long.
    """
    names = _names_of_fields(field, fields)
    if detect(source) != "jsonl" or any("." in name for each in names.values() for name in each):
        return None
    answers: dict[str, Any] = {}
    used: list[str] = []
    read = 0
    try:
        for _, objects in objects_from_json_lines(source, HINT[field]):
            in_block = [_used_name(objects, each, names[each], "") for each in ("query", field)]
            used, read = used or in_block, read + len(objects)
            queries: list[Any] = [each.get(used[0]) for each in objects]
            values = [each.get(used[1]) for each in objects]
            if in_block != used or not all_text(queries) or not _are_plain(values, field):
                return None
            answers.update(zip(queries, values, strict=True))
    except KaratError:
        return None  # reading row by row gives the error that names the row
    return answers if read == len(answers) > 1 else None


def _are_plain(values: Sequence[Any], field: str) -> bool:
    kinds = set(map(type, values)) - {str, type(None)}
    if kinds == {list} and field == "gold_answers":
        return all_text(chain.from_iterable(value for value in values if type(value) is list))
    return not kinds


def read_answer_rows(
    source: Any, field: str, fields: Mapping[str, str] | None, name: str, queries: Sequence[str] | None = None
) -> AnswerRows:
    """Read the answers of a source; `field` is `gold_answers` or `answer`, and lists are in the order of `queries`."""
    names = _names_of_fields(field, fields)
    if is_file(source):
        return _from_file(InputFile.of(source), field, names, queries)
    if isinstance(source, Mapping):
        return _from_object(source, field, name)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_records(records_from_frame(source, name), field, names)
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return _from_list(source, field, names, name, queries)
    collect = "Call its collect() first." if hasattr(source, "collect") else list_hint(source)
    raise KaratError(f"answers cannot be read from {shown(source)}", hint=f"{collect} {HINT[field]}".strip())


def _names_of_fields(field: str, fields: Mapping[str, str] | None) -> _Names:
    """The possible names of the question and of the answer."""
    given = field_names(fields)
    return {each: (given[each],) if fields and each in fields else _DEFAULT_NAMES[each] for each in ("query", field)}


def _from_object(answers: Mapping[Any, Any], field: str, name: str) -> AnswerRows:
    """A mapping of questions to answers, or a data set in SQuAD's format."""
    articles = answers.get("data")
    if field == "gold_answers" and isinstance(articles, list) and not (articles and all_text(articles)):
        return _from_squad(articles, name)
    return _from_mapping(answers, name)


def _from_mapping(answers: Mapping[Any, Any], name: str) -> AnswerRows:
    seen: set[str] = set()
    for key, value in answers.items():
        query = identifier(key, name)
        if query in seen:
            what = f"question {query} appears twice, once as text and once as a number"
            raise KaratError(what, where=name, hint="Keep one of them.")
        seen.add(query)
        yield f"{name}, question {query}", query, value


def _from_squad(articles: Sequence[Any], name: str) -> AnswerRows:
    """SQuAD's format: articles, their paragraphs, and the questions about each paragraph."""
    for article in articles:
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    query = identifier(question["id"], name)
                    yield f"{name}, question {query}", query, question["answers"]
        except (KeyError, TypeError):
            hint = 'The format is {"data": [{"paragraphs": [{"qas": [{"id": ..., "answers": [{"text": ...}]}]}]}]}.'
            raise KaratError("the data set is not in SQuAD's format", where=name, hint=hint) from None


def _from_list(
    answers: Sequence[Any], field: str, names: _Names, name: str, queries: Sequence[str] | None
) -> AnswerRows:
    if answers and all(isinstance(each, Mapping) for each in answers):
        yield from _from_records(records_from_list(answers, name), field, names)
        return
    if queries is None:
        # Questions without ids are numbered from 0.
        queries = [str(at) for at in range(len(answers))]
    if len(queries) != len(answers):
        raise KaratError(
            f"gold answers are given for {plural(len(queries), 'question')}, but {name} has {len(answers):,}",
            hint="Lists are matched by position: pass one answer per question, or None.",
        )
    for at, (query, value) in enumerate(zip(queries, answers, strict=True)):
        yield f"{name}[{at}]", query, value


def _from_records(records: Iterable[tuple[str, Record]], field: str, names: _Names) -> AnswerRows:
    """The question and the answer of each record. Records with the same question add gold answers to it."""
    if field != "gold_answers":
        yield from _answers_of_records(records, field, names)
        return
    golds: dict[str, tuple[str, list[str]]] = {}
    rows = list(_answers_of_records(records, field, names))
    reject_lists_as_text(field, ((where, value) for where, _, value in rows))
    for where, query, value in rows:
        _, texts = golds.setdefault(query, (where, []))
        texts.extend(() if value is None else as_gold_answers(value, where))
    yield from ((where, query, texts or None) for query, (where, texts) in golds.items())


def _answers_of_records(records: Iterable[tuple[str, Record]], field: str, names: _Names) -> AnswerRows:
    """The question and the answer of each record. The same names are used for all records, as some may lack a field."""
    all_records = list(records)
    if not all_records:
        return
    only_records = [record for _, record in all_records]
    first = all_records[0][0]
    query_name, answer_name = (_used_name(only_records, each, names[each], first) for each in ("query", field))
    for where, record in all_records:
        query = field_value(record, query_name)
        if query is None:
            raise KaratError(f"the field {query_name} is missing", where=where, hint="Every record needs it.")
        yield where, identifier(query, where), field_value(record, answer_name)


def _used_name(records: Sequence[Record], field: str, names: Sequence[str], where: str) -> str:
    """The first name that is a field of any record; `where` is the place of the first record."""
    present = set(chain.from_iterable(records))
    for name in names:
        possible = name in present or name.partition(".")[0] in present
        if possible and any(field_value(record, name) is not None for record in records):
            return name
    record = records[0]
    if any(name in record for name in names):
        return next(name for name in names if name in record)
    fields = ", ".join(name if isinstance(name, str) else shown(name) for name in list(record)[:_MAX_LISTED]) or "none"
    what = f"no field {shown(names[0])}" if len(names) == 1 else f"no field for the {field}"
    raise KaratError(
        what, where=where, hint=f"The fields are {fields}. If it has another name, use {rename_hint({field: '...'})}"
    )


# Files.


def _from_file(source: InputFile, field: str, names: _Names, queries: Sequence[str] | None) -> AnswerRows:
    of_file = detect(source)
    if is_arrow(of_file):
        yield from _from_records(records_from_arrow(source, of_file), field, names)
        return
    start = source.first_byte()
    if start in (b"{", b"["):
        data = source.read_all()
        if is_single_json_value(data):
            value = decode_json(data, source.name, HINT[field])
            yield from _from_json(value, field, names, source.name, queries)
            return
        records = records_from_json_lines(source, HINT[field])
        yield from _from_records(records, field, names)
    elif start:
        yield from _from_records(records_from_table(source, HINT[field]), field, names)


def _from_json(value: Any, field: str, names: _Names, name: str, queries: Sequence[str] | None) -> AnswerRows:
    if isinstance(value, list):
        return _from_list(value, field, names, name, queries)
    if frame := frame_in_json(value):
        return _from_records(((f"{name}, row {at}", each) for at, each in enumerate(frame.records)), field, names)
    # An object may be the record of a single question instead of a mapping of questions to answers.
    present = {each: any(_has(value, known) for known in names[each]) for each in names}
    if all(present.values()) or any(present[each] and len(names[each]) == 1 for each in names):
        return _from_records([(name, value)], field, names)
    return _from_object(value, field, name)


def _has(record: Record, name: str) -> bool:
    return name in record or field_value(record, name) is not None
