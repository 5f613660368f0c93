"""Gold answers and predicted ones, each by question, from whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from karat.documents.answer import gold_answers, predicted_answer
from karat.documents.document import all_text, refuse_half_characters
from karat.errors import KaratError, shown
from karat.sources.answer_rows import HINT, name_of, rows
from karat.sources.records import field_names
from karat.sources.text_file import TextFile

Golds = dict[str, tuple[str, ...] | None]
"""The gold answers of each question; None where nobody knows one."""

Predicted = dict[str, str | None]


def read_golds(source: Any, fields: Mapping[str, str] | None = None, name: str = "the truth") -> Golds:
    """The gold answers of each question.

    >>> read_golds({"q1": "Paris", "q2": ["9", "nine"], "q3": None})
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    name = name_of(source, name)
    field_names(fields)
    golds: Golds = {}
    if _is_plain(source):
        # Nothing has to be looked at one by one.
        golds = {query: (text,) for query, text in source.items()}
    else:
        for where, query, value in rows(source, "gold_answers", fields, name):
            if query in golds:
                raise _twice(query, where, rows(source, "gold_answers", fields, name))
            golds[query] = None if value is None else gold_answers(value, where)
    if not golds:
        raise KaratError("there are no gold answers", where=name, hint=HINT["gold_answers"])
    refuse_half_characters(golds, name)
    return golds


def read_predicted(
    source: Any, golds: Mapping[str, object], fields: Mapping[str, str] | None = None, name: str = "the predictions"
) -> Predicted:
    """The predicted answer of each question; a list is matched with the gold answers by position.

    >>> read_predicted(["Paris", None], {"q1": ("Paris",), "q2": ("nine",)})
    {'q1': 'Paris', 'q2': None}
    """
    name = name_of(source, name)
    if _is_plain(source):
        predicted: Predicted = dict(source)
    else:
        predicted = {}
        for where, query, value in rows(source, "answer", fields, name, tuple(golds)):
            if query in predicted:
                raise _twice(query, where, rows(source, "answer", fields, name, tuple(golds)))
            predicted[query] = None if value is None else predicted_answer(value, where)
    if not predicted and isinstance(source, TextFile | str | os.PathLike):
        raise KaratError("there are no predicted answers", where=name, hint=HINT["answer"])
    refuse_half_characters(predicted, name)
    return predicted


def _is_plain(source: Any) -> bool:
    """Whether this maps texts to texts, as it mostly does."""
    return isinstance(source, dict) and all_text(source) and all_text(source.values())


def _twice(query: str, where: str, again: Iterable[tuple[str, str, object]]) -> KaratError:
    first = next(place for place, each, _ in again if each == query)
    hint = "Keep one of them; several gold answers of a question are a list."
    return KaratError(f"question {shown(query)} is in {first} already", where=where, hint=hint)
