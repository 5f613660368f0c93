"""Read gold answers and predicted answers, by question, from files and Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text, reject_lone_surrogates
from karat.errors import KaratError, shown
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.pairs.objects import rereadable
from karat.reading.records.answer_rows import (
    HINT,
    AnswerFields,
    AnswerRows,
    plain_answers,
    read_answer_rows,
    source_name,
)
from karat.reading.records.list_texts import ListsAsText
from karat.reading.records.records import field_names

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class GoldAnswers:
    """The gold answers of each question, None if they are unknown."""

    by_query: dict[str, tuple[str, ...] | None]
    notes: tuple[str, ...] = ()
    """what was guessed about their source"""
    lists_as_text: ListsAsText = field(default_factory=ListsAsText)
    """whether several answers to a question are one text"""


@dataclass(frozen=True)
class PredictedAnswers:
    """The predicted answer to each question, None if there is none."""

    by_query: dict[str, str | None]
    notes: tuple[str, ...] = ()
    """what was guessed about their source"""


def read_gold_answers(
    source: Any, fields: Mapping[str, str] | None = None, name: str = "the ground truth"
) -> GoldAnswers:
    """Read the gold answers of each question. `fields` maps field names; `name` is used in errors.

    >>> read_gold_answers({"q1": "Paris", "q2": ["9", "nine"], "q3": None}).by_query
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    if isinstance(source, GoldAnswers):
        return source
    golds = read_part_of_gold_answers(source, fields, name, is_whole=True)
    check_gold_answers(golds.lists_as_text, source_name(source, name), has_any=bool(golds.by_query))
    return golds


def check_gold_answers(lists_as_text: ListsAsText, name: str, *, has_any: bool) -> None:
    """Raise an error if these are all gold answers, and cannot be what was meant; `name` is that of the source."""
    lists_as_text.check()
    if not has_any:
        raise KaratError("no gold answers found", place=name, hint=HINT["gold_answers"])


def read_part_of_gold_answers(
    source: Any, fields: Mapping[str, str] | None, name: str, *, is_whole: bool = False
) -> GoldAnswers:
    """Read the gold answers of some questions, of which there may be none.

    If these are all there are, and the cells of a table are lists that were written as text, they are read as lists.
    """
    name = source_name(source, name)
    source = InputFile.of(source) if is_file(source) else rereadable(source, name)
    field_names(fields)
    of_source = AnswerFields("gold_answers", fields, name, parses_lists=is_whole)
    if _is_plain(source):
        # The common case needs no check of each answer.
        golds: dict[str, tuple[str, ...] | None] = {query: (text,) for query, text in source.items()}
    elif isinstance(source, InputFile) and (lines := plain_answers(source, of_source)):
        golds = {
            query: None if value is None else (value,) if type(value) is str else tuple(dict.fromkeys(value)) or ("",)
            for query, value in lines.items()
        }
    else:
        golds = _by_question(lambda: read_answer_rows(source, of_source), as_gold_answers)
    reject_lone_surrogates(golds, name)
    return GoldAnswers(golds, tuple(of_source.notes), of_source.lists_as_text)


def read_predicted_answers(
    source: Any, questions: Iterable[str], fields: Mapping[str, str] | None = None, name: str = "the predictions"
) -> PredictedAnswers:
    """Read the predicted answer of each question; a list is matched with the `questions` by position.

    >>> read_predicted_answers(["Paris", None], ["q1", "q2"]).by_query
    {'q1': 'Paris', 'q2': None}
    """
    name = source_name(source, name)
    source = InputFile.of(source) if is_file(source) else rereadable(source, name)
    of_source = AnswerFields("answer", fields, name)
    if _is_plain(source):
        predicted: dict[str, str | None] = dict(source)
    elif isinstance(source, InputFile) and (lines := plain_answers(source, of_source)):
        predicted = lines
    else:
        order = tuple(questions)
        predicted = _by_question(lambda: read_answer_rows(source, of_source, order), as_predicted_answer)
    if not predicted and isinstance(source, InputFile):
        raise KaratError("no predicted answers found", place=name, hint=HINT["answer"])
    reject_lone_surrogates(predicted, name)
    return PredictedAnswers(predicted, tuple(of_source.notes))


def _is_plain(source: Any) -> bool:
    """Whether this is a dictionary of texts, as it usually is."""
    return isinstance(source, dict) and all_text(source) and all_text(source.values())


def _by_question(rows: Callable[[], AnswerRows], as_answer: Callable[[Any, Any], Answer]) -> dict[str, Answer | None]:
    """The answer of each question; `rows` are read anew to find the first of two rows with the same question."""
    answers: dict[str, Answer | None] = {}
    for place, query, value in rows():
        if query in answers:
            first = next(earlier for earlier, question, _ in rows() if question == query)
            hint = "Keep one of them. If a question has several gold answers, put them in a list."
            raise KaratError([f"question {shown(query)} was already in ", first], place=place, hint=hint)
        answers[query] = None if value is None else as_answer(value, place)
    return answers
