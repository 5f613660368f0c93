"""Gold answers and predicted ones, each by question, from whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from karat.document import refuse_half_characters
from karat.errors import KaratError, shown
from karat.inputs import all_text, into_list
from karat.sources.answer_rows import MEND, name_of, rows
from karat.sources.pieces import TextSource

Golds = dict[str, tuple[str, ...] | None]
"""The gold answers of each question; None where nobody knows one."""

Predicted = dict[str, str | None]

_TEXT = "Answers are text: write it in quotes."


def read_golds(source: Any, fields: Mapping[str, str] | None = None, name: str = "the truth") -> Golds:
    """The gold answers of each question.

    >>> read_golds({"q1": "Paris", "q2": ["9", "nine"], "q3": None})
    {'q1': ('Paris',), 'q2': ('9', 'nine'), 'q3': None}
    """
    name = name_of(source, name)
    golds: Golds = {}
    for where, query, value in rows(source, "gold_answers", fields, name):
        found = None if value is None else gold_answers(value, where)
        if query in golds:
            if not isinstance(value, str) or golds[query] is None:
                raise _twice(query, where)
            # A table has a row for each gold answer of a question.
            found = (*(golds[query] or ()), value)
        golds[query] = found
    if not golds:
        raise KaratError("there are no gold answers", where=name, mend=MEND["gold_answers"])
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
        # Nothing has to be looked at one by one.
        predicted: Predicted = dict(source)
    else:
        predicted = {}
        for where, query, value in rows(source, "answer", fields, name, tuple(golds)):
            if query in predicted:
                raise _twice(query, where)
            predicted[query] = None if value is None else predicted_answer(value, where)
    if not predicted and isinstance(source, TextSource | str | os.PathLike):
        raise KaratError("there are no predicted answers", where=name, mend=MEND["answer"])
    refuse_half_characters(predicted, name)
    return predicted


def _is_plain(source: Any) -> bool:
    """Whether this maps texts to texts, as predictions mostly do."""
    return isinstance(source, dict) and "" not in source and all_text(source) and all_text(source.values())


def gold_answers(value: object, where: str) -> tuple[str, ...]:
    """One gold answer or several; none at all means that the right answer is to have none, as in SQuAD 2.

    >>> gold_answers(["9th century", "the 9th"], ""), gold_answers([], ""), gold_answers({"text": ["Paris"]}, "")
    (('9th century', 'the 9th'), ('',), ('Paris',))
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping) and isinstance(texts := value.get("text"), str | list | tuple):
        # {"text": ["Paris"], "answer_start": [17]}, as data sets have it
        return gold_answers(texts, where)
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        several = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        # or a list of such, each with one text
        found = [each["text"] if isinstance(each, Mapping) and "text" in each else each for each in several]
        for at, text in enumerate(found):
            if not isinstance(text, str):
                raise KaratError(f"{shown(text)} is not text", where=f"{where}[{at}]", mend=_TEXT)
        return tuple(dict.fromkeys(found)) or ("",)
    raise KaratError(f"{shown(value)} is no gold answer", where=where, mend=f"{into_list(value)} {_TEXT}".strip())


def predicted_answer(value: object, where: str) -> str:
    """A predicted answer, if it is text."""
    if isinstance(value, str):
        return value
    mend = "Give one predicted answer per question." if isinstance(value, list | tuple) else _TEXT
    raise KaratError(f"{shown(value)} is not text", where=where, mend=mend)


def _twice(query: str, where: str) -> KaratError:
    return KaratError(f"question {shown(query)} comes twice", where=where, mend="Keep one answer of each question.")
