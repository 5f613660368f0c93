"""Read gold answers and predicted answers, by question, from files and Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text, reject_lone_surrogates
from karat.errors import KaratError, Place, shown
from karat.files.input_file import InputFile, is_file
from karat.sources.answer_rows import HINT, AnswerFields, plain_answers, read_answer_rows, source_name
from karat.sources.objects import rereadable
from karat.sources.records import ListsAsText, field_names


class GoldAnswers(dict[str, tuple[str, ...] | None]):
    """The gold answers of each question, None if they are unknown; `notes` say what was guessed about their source."""

    notes: tuple[str, ...] = ()
    lists_as_text = ListsAsText()
    """whether several answers to a question are one text"""


class PredictedAnswers(dict[str, str | None]):
    """The predicted answer to each question, None if there is none; `notes` say what was guessed about their source."""

    notes: tuple[str, ...] = ()


def read_gold_answers(
    source: Any, fields: Mapping[str, str] | None = None, name: str = "the ground truth"
) -> GoldAnswers:
    """Read the gold answers of each question. `fields` maps field names; `name` is used in errors.

    >>> read_gold_answers({"q1": "Paris", "q2": ["9", "nine"], "q3": None})
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    if isinstance(source, GoldAnswers):
        return source
    golds = read_part_of_gold_answers(source, fields, name)
    check_gold_answers(golds.lists_as_text, source_name(source, name), has_any=bool(golds))
    return golds


def check_gold_answers(lists_as_text: ListsAsText, name: str, *, has_any: bool) -> None:
    """Raise an error if these are all gold answers, and cannot be what was meant; `name` is that of the source."""
    lists_as_text.check()
    if not has_any:
        raise KaratError("no gold answers found", place=name, hint=HINT["gold_answers"])


def read_part_of_gold_answers(source: Any, fields: Mapping[str, str] | None, name: str) -> GoldAnswers:
    """Read the gold answers of some questions, of which there may be none."""
    name = source_name(source, name)
    source = InputFile.of(source) if is_file(source) else rereadable(source, name)
    field_names(fields)
    of_source = AnswerFields("gold_answers", fields, name)
    golds = GoldAnswers()
    if _is_plain(source):
        # The common case needs no check of each answer.
        golds.update((query, (text,)) for query, text in source.items())
    elif isinstance(source, InputFile) and (lines := plain_answers(source, of_source)):
        golds.update(
            (query, None if value is None else (value,) if type(value) is str else tuple(dict.fromkeys(value)) or ("",))
            for query, value in lines.items()
        )
    else:
        for place, query, value in read_answer_rows(source, of_source):
            if query in golds:
                raise _repeated_question(query, place, read_answer_rows(source, of_source))
            golds[query] = None if value is None else as_gold_answers(value, place)
    golds.lists_as_text = of_source.lists_as_text
    reject_lone_surrogates(golds, name)
    golds.notes = tuple(of_source.notes)
    return golds


def read_predicted_answers(
    source: Any, golds: Mapping[str, object], fields: Mapping[str, str] | None = None, name: str = "the predictions"
) -> PredictedAnswers:
    """Read the predicted answer of each question; a list is matched with the gold answers by position.

    >>> read_predicted_answers(["Paris", None], {"q1": ("Paris",), "q2": ("nine",)})
    {'q1': 'Paris', 'q2': None}
    """
    name = source_name(source, name)
    source = InputFile.of(source) if is_file(source) else rereadable(source, name)
    of_source = AnswerFields("answer", fields, name)
    predicted = PredictedAnswers()
    if _is_plain(source):
        predicted.update(source)
    elif isinstance(source, InputFile) and (lines := plain_answers(source, of_source)):
        predicted.update(lines)
    else:
        for place, query, value in read_answer_rows(source, of_source, tuple(golds)):
            if query in predicted:
                raise _repeated_question(query, place, read_answer_rows(source, of_source, tuple(golds)))
            predicted[query] = None if value is None else as_predicted_answer(value, place)
    if not predicted and isinstance(source, InputFile):
        raise KaratError("no predicted answers found", place=name, hint=HINT["answer"])
    reject_lone_surrogates(predicted, name)
    predicted.notes = tuple(of_source.notes)
    return predicted


def _is_plain(source: Any) -> bool:
    """Whether this is a dictionary of texts, as it usually is."""
    return isinstance(source, dict) and all_text(source) and all_text(source.values())


def _repeated_question(query: str, place: Place | str, rows: Iterable[tuple[str, str, object]]) -> KaratError:
    first = next(earlier for earlier, each, _ in rows if each == query)
    hint = "Keep one of them. If a question has several gold answers, put them in a list."
    return KaratError(f"question {shown(query)} was already in {first}", place=place, hint=hint)
