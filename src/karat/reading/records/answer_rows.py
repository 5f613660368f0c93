"""Read questions and their answers from mappings, lists, records, data frames, JSON, CSV, TSV, Parquet and Feather."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from karat.documents.answer import as_gold_answers
from karat.documents.ids import all_text, identifier
from karat.errors import KaratError, Place, plural, shown
from karat.errors.arguments import list_hint
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.bytes.names import Format, is_arrow
from karat.reading.columns import Choice, Noun
from karat.reading.columns.spellings import find_column
from karat.reading.contents.formats import detect
from karat.reading.pairs.objects import MOST_FIELDS
from karat.reading.records.answer_fields import AnswerFields, SeenFields
from karat.reading.records.json_frames import frame_in_json
from karat.reading.records.list_texts import ListsAsText, parsed_list
from karat.reading.records.paths import Record, field_names_of, field_value
from karat.reading.records.record_files import records_from_frame, records_of_file
from karat.reading.records.records import is_single_json_value, objects_from_json_lines, records_from_list

AnswerRows = Iterator[tuple[Place, str, Any]]
"""For each answer: its location (for errors), the id of its question, and the answer as given."""

Questions = Callable[[], Sequence[str]]
"""the questions that answers in a list are given to, in their order"""

HINT = {
    "gold_answers": 'Gold answers are {query: "answer"} or {query: ["one", "or another"]}: a mapping, JSON, or lines of'
    ' {"query": "...", "gold_answers": [...]}; or a table with the columns query and answer.',
    "answer": 'Predicted answers are {query: "answer"}: a mapping, JSON, or lines of {"query": "...", "answer": "..."};'
    " or a table with the columns query and answer.",
}
_PAIR = "Pass pairs of a question and its answer as a dictionary: dict(pairs)."


def source_name(source: Any, name: str) -> str:
    """The name of a source in messages: the path of a file, otherwise `name`."""
    return InputFile.of(source).name if is_file(source) else name


def plain_answers(
    source: InputFile, fields: AnswerFields, form: Format | None = None, only: Container[str] | None = None
) -> dict[str, Any] | None:
    """The answers in JSON lines, by question, if every question is a text of its own, and every answer is text or null.

    Gold answers may also be lists of texts. None for all other files: these are read row by row, which gives the same
    answers, but takes several times as long. If `only` some questions are wanted, others may be in several lines.
    """
    if (form or detect(source)) != "jsonl" or any("." in name for name in (fields.names or {}).values()):
        return None
    answers: dict[str, Any] = {}
    first: Choice | None = None
    seen: list[SeenFields] = []
    lines = 0
    try:
        for numbers, objects in objects_from_json_lines(source, HINT[fields.field]):
            seen.append(SeenFields.of(objects, fields, Place(source.name, line=numbers[0]), "field"))
            choice = fields.choice or fields.choose(seen[-1])
            first = first or choice
            query, answer = (choice.columns[role.name] for role in fields.roles)
            queries: list[Any] = [record.get(query) for record in objects]
            values = [record.get(answer) for record in objects]
            if choice != first or not all_text(queries) or not _are_plain(values, fields.field):
                return None
            before = len(answers)
            wanted = len(queries) if only is None else sum(query in only for query in queries)
            pairs = zip(queries, values, strict=True)
            answers.update(pairs if only is None else (pair for pair in pairs if pair[0] in only))
            if len(answers) < before + wanted:
                return None  # a question is in several lines
            lines += len(objects)
    except KaratError:
        return None  # reading row by row gives the error that names the row
    if first is None or lines < 2:
        return None
    fields.use(first, SeenFields.merged(seen))
    return answers


def _are_plain(values: Sequence[Any], field: str) -> bool:
    kinds = set(map(type, values)) - {str, type(None)}
    if kinds == {list} and field == "gold_answers":
        return all_text(chain.from_iterable(value for value in values if type(value) is list))
    return not kinds


def read_answer_rows(
    source: Any, fields: AnswerFields, queries: Questions | None = None, form: Format | None = None
) -> AnswerRows:
    """Read the answers of a source; lists are in the order of `queries`. `form` is the format of a part of a file."""
    name = fields.source
    if is_file(source):
        return _from_file(InputFile.of(source), fields, queries, form)
    if isinstance(source, Mapping):
        return _from_object(source, fields)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_records(records_from_frame(source, name), fields, "column")
    if isinstance(source, Sequence) and not isinstance(source, bytes):
        return _from_list(source, fields, queries)
    collect = "Call its collect() first." if hasattr(source, "collect") else list_hint(source)
    raise KaratError(f"answers cannot be read from {shown(source)}", hint=f"{collect} {HINT[fields.field]}".strip())


def _from_object(answers: Mapping[Any, Any], fields: AnswerFields) -> AnswerRows:
    """A mapping of questions to answers, or a data set in SQuAD's format."""
    articles = answers.get("data")
    if fields.field == "gold_answers" and isinstance(articles, list) and not (articles and all_text(articles)):
        return _from_squad(articles, fields.source)
    return _from_mapping(answers, fields.source)


def _from_mapping(answers: Mapping[Any, Any], name: str) -> AnswerRows:
    seen: set[str] = set()
    for key, value in answers.items():
        query = identifier(key, name)
        if query in seen:
            what = f"question {query} appears twice, once as text and once as a number"
            raise KaratError(what, place=name, hint="Keep one of them.")
        seen.add(query)
        yield Place(name, field=f"question {query}"), query, value


def is_squad(value: Mapping[Any, Any]) -> bool:
    """Whether an object is a data set in SQuAD's format."""
    articles = value.get("data")
    return isinstance(articles, list) and all(isinstance(each, dict) and "paragraphs" in each for each in articles)


def _from_squad(articles: Sequence[Any], name: str) -> AnswerRows:
    """SQuAD's format: articles, their paragraphs, and the questions about each paragraph."""
    for article in articles:
        try:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    query = identifier(question["id"], name)
                    yield Place(name, field=f"question {query}"), query, question["answers"]
        except (KeyError, TypeError):
            hint = 'The format is {"data": [{"paragraphs": [{"qas": [{"id": ..., "answers": [{"text": ...}]}]}]}]}.'
            raise KaratError("the data set is not in SQuAD's format", place=name, hint=hint) from None


def _from_list(answers: Sequence[Any], fields: AnswerFields, questions: Questions | None) -> AnswerRows:
    name = fields.source
    if answers and all(isinstance(each, Mapping) or field_names_of(each) for each in answers):
        records = records_from_list(answers, name, (fields.names or {}).values())
        yield from _from_records(records, fields)
        return
    if answers and all(isinstance(each, tuple) and len(each) == 2 for each in answers):
        what = f"{shown(answers[0])} may be a question with its answer, or two answers"
        raise KaratError(
            what, place=Place(name, field="[0]"), hint=f"{_PAIR} Pass several gold answers of a question as a list."
        )
    # Questions without ids are numbered from 0.
    queries = [str(at) for at in range(len(answers))] if questions is None else questions()
    if len(queries) != len(answers):
        raise KaratError(
            f"gold answers are given for {plural(len(queries), 'question')}, but {name} has {len(answers):,}",
            hint="Lists are matched by position: pass one answer per question, or None.",
        )
    for at, (query, value) in enumerate(zip(queries, answers, strict=True)):
        yield Place(name, field=f"[{at}]"), query, value


def _from_records(records: Iterable[tuple[Place, Record]], fields: AnswerFields, noun: Noun = "field") -> AnswerRows:
    """The question and the answer of each record. Records with the same question add gold answers to it."""
    if fields.field != "gold_answers":
        yield from _answers_of_records(records, fields, noun)
        return
    golds: dict[str, tuple[Place, list[str]]] = {}
    rows = list(_answers_of_records(records, fields, noun))
    fields.lists_as_text = ListsAsText.of(fields.field, ((place, value) for place, _, value in rows))
    if fields.parses_lists and fields.lists_as_text.is_field:
        rows = [(place, query, value and parsed_list(value, place)) for place, query, value in rows]
        fields.notes.append(f"{fields.source}: gold answers that are lists in the form of text are read as lists")
        fields.lists_as_text = ListsAsText()
    for place, query, value in rows:
        _, texts = golds.setdefault(query, (place, []))
        texts.extend(() if value is None else as_gold_answers(value, place))
    yield from ((place, query, texts or None) for query, (place, texts) in golds.items())


def _answers_of_records(records: Iterable[tuple[Place, Record]], fields: AnswerFields, noun: Noun) -> AnswerRows:
    """The question and the answer of each record. The same names are used for all records, as some may lack a field."""
    all_records = list(records)
    if not all_records:
        return
    only_records = [record for _, record in all_records]
    seen = SeenFields.of(only_records, fields, all_records[0][0], noun)
    choice = fields.use(fields.choice, seen)
    query_name, answer_name = (choice.columns[role.name] for role in fields.roles)
    for place, record in all_records:
        query = field_value(record, query_name)
        if query is None:
            raise KaratError(
                f"the {noun} {shown(query_name)} has no value", place=place, hint="Every answer needs a question."
            )
        yield place, identifier(query, place), field_value(record, answer_name)


# Files.


def _from_file(source: InputFile, fields: AnswerFields, queries: Questions | None, form: Format | None) -> AnswerRows:
    of_file, hint = form or detect(source), HINT[fields.field]
    if not is_arrow(of_file) and not source.first_byte():
        return
    # How a file begins does not tell a mapping with a long answer from a record.
    if form is None and of_file in ("json", "jsonl") and is_single_json_value(data := source.read_all()):
        yield from _from_json(decode_json(data, source.name, hint), fields, queries)
        return
    # Texts may look like TREC, but answers are never in such a file.
    read_as: Format = "csv" if of_file == "trec" else "jsonl" if of_file == "json" else of_file
    noun: Noun = "field" if read_as == "jsonl" else "column"
    yield from _from_records(records_of_file(source, read_as, hint), fields, noun)


def _from_json(value: Any, fields: AnswerFields, queries: Questions | None) -> AnswerRows:
    name = fields.source
    if isinstance(value, list):
        return _from_list(value, fields, queries)
    if not isinstance(value, dict):
        raise KaratError(f"this file contains {shown(value)}", place=name, hint=HINT[fields.field])
    if frame := frame_in_json(value, name):
        fields.notes[:] = [frame.note(name)]
        return _from_records(((Place(name, row=at), each) for at, each in enumerate(frame.records)), fields)
    # An object may be the record of a single question instead of a mapping of questions to answers.
    names = fields.names or {}
    is_named = [_has(value, names[role.name]) for role in fields.roles if role.name in names]
    is_usual = [
        len(value) <= MOST_FIELDS and find_column(value, role.spelling) is not None
        for role in fields.roles
        if role.name not in names
    ]
    if any(is_named) or all((*is_named, *is_usual)):
        return _from_records([(Place(name), value)], fields)
    return _from_object(value, fields)


def _has(record: Record, name: str) -> bool:
    return name in record or field_value(record, name) is not None
