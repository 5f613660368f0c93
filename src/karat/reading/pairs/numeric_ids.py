"""Ids that are numbers on one side and texts on the other: they are joined, and a note says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from karat.errors import enumeration

IdKind = Literal["query", "document"]


@dataclass(frozen=True)
class NumericIds:
    """A note that ids of these kinds are numbers: it matters only if those of the other source are texts.

    >>> print(NumericIds("run.parquet", frozenset({"query", "document"})))
    run.parquet: query and document ids are numbers, read as texts
    """

    source: str
    kinds: frozenset[IdKind]

    def __str__(self) -> str:
        return f"{self.source}: {enumeration(sorted(self.kinds, reverse=True), 'and')} ids are numbers, read as texts"


Note = str | NumericIds
"""what was guessed or assumed about a source"""


def numeric_ids_note(source: str, *kinds: IdKind) -> tuple[Note, ...]:
    """The note for a source in which ids of these kinds are numbers; nothing if there are none."""
    return (NumericIds(source, frozenset(kinds)),) if kinds else ()


def notes_on_reading(truth: Sequence[Note], run: Sequence[Note]) -> list[str]:
    """The notes on reading ground truth and a run, without those on ids that are numbers in both."""
    of_truth, of_run = ([note for note in notes if isinstance(note, NumericIds)] for notes in (truth, run))
    in_both = {kind for note in of_truth for kind in note.kinds} & {kind for note in of_run for kind in note.kinds}
    texts: list[str] = []
    for notes, numeric in ((truth, of_truth), (run, of_run)):
        texts += [note for note in notes if isinstance(note, str)]
        if kinds := {kind for note in numeric for kind in note.kinds} - in_both:
            texts.append(str(NumericIds(numeric[0].source, frozenset(kinds))))
    return texts
