"""Answer measures: how near a predicted answer is to the right one."""

from __future__ import annotations

__all__ = ["exact_match"]


def exact_match(truth: str | None, predicted: str | None) -> int:
    """1 if two answers are the same, character by character, else 0. None is no answer, and matches nothing.

    >>> exact_match("Paris", "Paris"), exact_match("Paris", "paris"), exact_match(None, None)
    (1, 0, 0)
    """
    return int(truth is not None and truth == predicted)
