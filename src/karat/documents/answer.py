"""Gold answers and predicted answers as text, in the formats that data sets use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.errors import KaratError, Place, as_place, shown
from karat.errors.arguments import list_hint, sorted_set

_HINT = "Answers are text: put the value in quotes, or convert it with str(...)."


def as_gold_answers(value: object, place: Place | str) -> tuple[str, ...]:
    """The gold answers of a question: a text, a list of texts, or SQuAD's objects with a `text`.

    An empty list means that the question has no answer, as in SQuAD 2: the right answer is then the empty text.

    >>> as_gold_answers(["9th century", "the 9th"], "here"), as_gold_answers([], "here")
    (('9th century', 'the 9th'), ('',))
    >>> as_gold_answers({"text": ["Paris"], "answer_start": [17]}, "here")
    ('Paris',)
    """
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping) and isinstance(texts := value.get("text"), str | list | tuple):
        return as_gold_answers(texts, place)
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        items = sorted_set(value) if isinstance(value, set | frozenset) else value
        texts = [item["text"] if isinstance(item, Mapping) and "text" in item else item for item in items]
        for at, text in enumerate(texts):
            if not isinstance(text, str):
                raise KaratError(f"{shown(text)} is not text", place=as_place(place).inside(f"[{at}]"), hint=_HINT)
        return tuple(dict.fromkeys(texts)) or ("",)
    raise KaratError(f"{shown(value)} is not a gold answer", place=place, hint=f"{list_hint(value)} {_HINT}".strip())


def as_predicted_answer(value: object, place: Place | str) -> str:
    """A predicted answer, which must be text."""
    if isinstance(value, str):
        return value
    hint = "Pass one predicted answer per question." if isinstance(value, list | tuple) else _HINT
    raise KaratError(f"{shown(value)} is not text", place=place, hint=hint)
