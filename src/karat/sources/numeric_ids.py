"""Ids that are numbers on one side and texts on the other: they are joined, and a note says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from karat.errors import enumeration

IdKind = Literal["query", "document"]


class NumericIdsNote(str):
    """A note that ids of these kinds are numbers: it matters only if those of the other source are texts."""

    name: str
    kinds: frozenset[IdKind]


def numeric_ids_note(name: str, *kinds: IdKind) -> tuple[NumericIdsNote, ...]:
    """The note for a source in which ids of these kinds are numbers; nothing if there are none."""
    if not kinds:
        return ()
    named = enumeration(sorted(kinds, reverse=True), "and")
    note = NumericIdsNote(f"{name}: {named} ids are numbers, read as texts")
    note.name, note.kinds = name, frozenset(kinds)
    return (note,)


def notes_on_reading(truth: Sequence[str], run: Sequence[str]) -> list[str]:
    """The notes on reading ground truth and a run, without those on ids that are numbers in both."""
    of_truth, of_run = ([note for note in notes if isinstance(note, NumericIdsNote)] for notes in (truth, run))
    in_both = {kind for note in of_truth for kind in note.kinds} & {kind for note in of_run for kind in note.kinds}
    found: list[str] = []
    for notes, numeric in ((truth, of_truth), (run, of_run)):
        found += [note for note in notes if not isinstance(note, NumericIdsNote)]
        if numeric:
            found += numeric_ids_note(numeric[0].name, *{kind for note in numeric for kind in note.kinds} - in_both)
    return found
