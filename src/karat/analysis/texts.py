"""The texts of questions and of documents that are known by id only, to show them beside their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.scores import Scores


def questions_of(systems: Iterable[Scores]) -> dict[str, str]:
    """The texts of questions that the results of some systems contain; the first system that has one decides."""
    found: dict[str, str] = {}
    for scores in systems:
        found = {**scores.questions, **found}
    return found
