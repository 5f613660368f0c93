"""A gold answer, one or several, and a predicted one, as data sets write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from karat.errors import KaratError, list_hint, shown

_TEXT = "Answers are text: write it in quotes, or convert it with str(...)."


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
                raise KaratError(f"{shown(text)} is not text", where=f"{where}[{at}]", hint=_TEXT)
        return tuple(dict.fromkeys(found)) or ("",)
    raise KaratError(f"{shown(value)} is no gold answer", where=where, hint=f"{list_hint(value)} {_TEXT}".strip())


def predicted_answer(value: object, where: str) -> str:
    """A predicted answer, if it is text."""
    if isinstance(value, str):
        return value
    hint = "Give one predicted answer per question." if isinstance(value, list | tuple) else _TEXT
    raise KaratError(f"{shown(value)} is not text", where=where, hint=hint)
