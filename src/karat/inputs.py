"""Inputs that come in lists, one element per question; and what an answer is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from karat.errors import KaratError, shown


def check_lengths(inputs: Mapping[str, Sequence[object]]) -> None:
    """Refuse inputs that are no lists, have nothing in them, or do not have one element per question."""
    check_equal_lengths(inputs)
    if not all(inputs.values()):
        raise _wrong_lengths(inputs)


def check_equal_lengths(inputs: Mapping[str, Sequence[object]]) -> None:
    """Refuse inputs that are no lists, or do not have one element per question; there may be no questions."""
    for name, values in inputs.items():
        check_list(values, name, "Give one element per question.")
    if len({len(values) for values in inputs.values()}) > 1:
        raise _wrong_lengths(inputs)


def _wrong_lengths(inputs: Mapping[str, Sequence[object]]) -> KaratError:
    return KaratError(
        " and ".join(f"{name} has length {len(values)}" for name, values in inputs.items()),
        mend="Give one element per question to each, and at least one question.",
    )


def check_lists(inputs: Mapping[str, Sequence[Sequence[object]]]) -> None:
    """Refuse inputs that do not have one list per question."""
    check_lengths(inputs)
    for name, lists in inputs.items():
        for query, documents in enumerate(lists):
            if type(documents) is not list:  # they mostly are, and there may be many
                check_list(documents, f"{name}, query {query}", "Give one list per question: [[doc, ...], [doc, ...]].")


def check_list(values: object, where: str, mend: str) -> None:
    """Refuse what is no list, and say how it becomes one."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise KaratError(f"{shown(values)} is not a list", where=where, mend=f"{into_list(values)} {mend}".strip())


def into_list(value: object) -> str:
    """How something that is nearly a list becomes one; empty where nobody knows."""
    if isinstance(value, Set):
        return "A set has no order."
    if hasattr(value, "tolist"):
        return "Write .tolist() behind it."
    return "Write list(...) around it." if isinstance(value, Iterator) else ""


def all_text(values: Iterable[object]) -> bool:
    """Whether these are all strings. Joining them is the fastest way to find out."""
    try:
        "".join(values)  # type: ignore[arg-type]  # that is what is being asked
    except TypeError:
        return False
    return True


_TEXT = "Answers are text: write it in quotes, or str(...) around it."


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
