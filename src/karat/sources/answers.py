"""Gold answers and predicted ones, each by question, from whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text, reject_lone_surrogates
from karat.errors import KaratError, shown
from karat.sources.answer_rows import HINT, read_answer_rows, source_name
from karat.sources.records import field_names
from karat.sources.text_file import TextFile

GoldAnswers = dict[str, tuple[str, ...] | None]
"""The gold answers of each question; None where nobody knows one."""

PredictedAnswers = dict[str, str | None]


def read_gold_answers(source: Any, fields: Mapping[str, str] | None = None, name: str = "the truth") -> GoldAnswers:
    """The gold answers of each question.

    >>> read_gold_answers({"q1": "Paris", "q2": ["9", "nine"], "q3": None})
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    name = source_name(source, name)
    field_names(fields)
    golds: GoldAnswers = {}
    if _is_plain(source):
        # Nothing has to be looked at one by one.
        golds = {query: (text,) for query, text in source.items()}
    else:
        for where, query, value in read_answer_rows(source, "gold_answers", fields, name):
            if query in golds:
                raise _twice(query, where, read_answer_rows(source, "gold_answers", fields, name))
            golds[query] = None if value is None else as_gold_answers(value, where)
    if not golds:
        raise KaratError("there are no gold answers", where=name, hint=HINT["gold_answers"])
    reject_lone_surrogates(golds, name)
    return golds


def read_predicted_answers(
    source: Any, golds: Mapping[str, object], fields: Mapping[str, str] | None = None, name: str = "the predictions"
) -> PredictedAnswers:
    """The predicted answer of each question; a list is matched with the gold answers by position.

    >>> read_predicted_answers(["Paris", None], {"q1": ("Paris",), "q2": ("nine",)})
    {'q1': 'Paris', 'q2': None}
    """
    name = source_name(source, name)
    if _is_plain(source):
        predicted: PredictedAnswers = dict(source)
    else:
        predicted = {}
        for where, query, value in read_answer_rows(source, "answer", fields, name, tuple(golds)):
            if query in predicted:
                raise _twice(query, where, read_answer_rows(source, "answer", fields, name, tuple(golds)))
            predicted[query] = None if value is None else as_predicted_answer(value, where)
    if not predicted and isinstance(source, TextFile | str | os.PathLike):
        raise KaratError("there are no predicted answers", where=name, hint=HINT["answer"])
    reject_lone_surrogates(predicted, name)
    return predicted


def _is_plain(source: Any) -> bool:
    """Whether this maps texts to texts, as it mostly does."""
    return isinstance(source, dict) and all_text(source) and all_text(source.values())


def _twice(query: str, where: str, again: Iterable[tuple[str, str, object]]) -> KaratError:
    first = next(place for place, each, _ in again if each == query)
    hint = "Keep one of them; several gold answers of a question are a list."
    return KaratError(f"question {shown(query)} is in {first} already", where=where, hint=hint)
