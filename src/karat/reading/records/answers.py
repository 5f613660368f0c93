"""Read gold answers and predicted answers, by question, from files and Python objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text, reject_lone_surrogates
from karat.errors import KaratError, Place, shown
from karat.reading.bytes.input_file import InputFile, is_file
from karat.reading.bytes.names import Format
from karat.reading.pairs.objects import rereadable
from karat.reading.records.answer_fields import AnswerFields
from karat.reading.records.answer_rows import (
    HINT,
    AnswerRows,
    Questions,
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
    source: Any,
    fields: Mapping[str, str] | None,
    name: str,
    *,
    is_whole: bool = False,
    only: Container[str] | None = None,
) -> GoldAnswers:
    """Read the gold answers of some questions, of which there may be none.

    If these are all there are, and the cells of a table are lists that were written as text, they are read as lists.
    `only` are the questions that are wanted, if these are not all.
    """
    name = source_name(source, name)
    source = InputFile.of(source) if is_file(source) else rereadable(source, name)
    field_names(fields)
    of_source = AnswerFields("gold_answers", fields, name, parses_lists=is_whole)
    if _is_plain(source):
        # The common case needs no check of each answer.
        golds: dict[str, tuple[str, ...] | None] = {query: (text,) for query, text in source.items()}
    elif isinstance(source, InputFile) and (lines := plain_answers(source, of_source, only=only)):
        golds = {
            query: None if value is None else (value,) if type(value) is str else tuple(dict.fromkeys(value)) or ("",)
            for query, value in lines.items()
        }
    else:
        golds = {}
        add_answers(golds, lambda: read_answer_rows(source, of_source), as_gold_answers)
    reject_lone_surrogates(golds, name)
    if only is not None:
        golds = {query: texts for query, texts in golds.items() if query in only}
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
    predicted: dict[str, str | None] = {}
    if _is_plain(source):
        predicted |= source
    else:
        add_predicted_answers(predicted, source, of_source, lambda: tuple(questions))
    check_predicted_answers(predicted, name, may_be_empty=not isinstance(source, InputFile))
    return PredictedAnswers(predicted, tuple(of_source.notes))


def add_predicted_answers(
    predicted: dict[str, str | None],
    source: Any,
    fields: AnswerFields,
    questions: Questions,
    form: Format | None = None,
) -> None:
    """Add the predicted answer of each question in a source; `form` is the format of a part of a file.

    After an error about an answer, those before it were added, and its question.
    """
    if isinstance(source, InputFile) and (lines := plain_answers(source, fields, form)):
        predicted |= lines
    else:
        add_answers(predicted, lambda: read_answer_rows(source, fields, questions, form), as_predicted_answer)


def check_predicted_answers(predicted: Collection[str], name: str, *, may_be_empty: bool = False) -> None:
    """Raise an error if these are the questions of all predicted answers, and cannot be; `name` is the source's."""
    if not predicted and not may_be_empty:
        raise KaratError("no predicted answers found", place=name, hint=HINT["answer"])
    reject_lone_surrogates(predicted, name)


def _is_plain(source: Any) -> bool:
    """Whether this is a dictionary of texts, as it usually is."""
    return isinstance(source, dict) and all_text(source) and all_text(source.values())


def add_answers(
    answers: dict[str, Answer | None], rows: Callable[[], AnswerRows], as_answer: Callable[[Any, Any], Answer]
) -> None:
    """Add the answer of each question; `rows` are read anew to find the first of two rows with the same question."""
    for place, query, value in rows():
        if query in answers:
            first = next(earlier for earlier, question, _ in rows() if question == query)
            raise repeated_question(query, first, place)
        answers[query] = None
        if value is not None:
            answers[query] = as_answer(value, place)


def repeated_question(query: str, first: Place, second: Place) -> KaratError:
    """The error for a question in two rows."""
    hint = "Keep one of them. If a question has several gold answers, put them in a list."
    return KaratError([f"question {shown(query)} was already in ", first], place=second, hint=hint)
