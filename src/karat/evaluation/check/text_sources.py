"""The corpus and the file of queries that are checked, each read once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from karat.documents.normalization import Folds
from karat.errors import KaratError, shown
from karat.evaluation.check.many_findings import Found
from karat.evaluation.check.plan import CheckPlan
from karat.evaluation.check.rows import unreadable, unreadable_rows
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.data_sets import texts_file
from karat.reading.texts.entries import NOUNS, EntryReader
from karat.reading.texts.text_files import Content
from karat.reading.texts.texts import other_text
from karat.scores.finding import Finding

if TYPE_CHECKING:
    from karat.evaluation.check.text_index import TextIndex

SAME_QUESTION: Folds = ("unicode", "case", "space")
"""questions that differ only in this are the same question; without punctuation, C++ and C# would be"""
_FOLDS: dict[Content, Folds] = {"queries": SAME_QUESTION, "corpus": ()}
_CONTRADICTING: dict[Content, str] = {"queries": "contradicting-queries", "corpus": "contradicting-texts"}
_REPEATED: dict[Content, str] = {"queries": "repeated-questions", "corpus": "repeated-texts"}


def texts_of_plan(plan: CheckPlan, content: Content) -> Any:
    """The source of texts that is given, or that in the folder of the ground truth; None if there is none."""
    given = plan.queries if content == "queries" else plan.corpus
    if given is None and plan.folder is not None:
        file = texts_file(plan.folder, content)
        return file if file and os.path.isfile(file) else None
    return given


@dataclass(frozen=True, eq=False)
class TextSource:
    """A corpus or a file of queries that was read."""

    content: Content
    name: str
    index: TextIndex
    unreadable: tuple[Found, ...] = ()
    is_whole: bool = True
    """whether it was read to its end"""

    @classmethod
    def read(cls, source: Any, content: Content) -> Self:
        """Read a source of texts. What cannot be read is a finding, and the rest is still read."""
        from karat.evaluation.check.text_index import TextIndex

        rejected = RejectedRows()
        reader = EntryReader(content, rejected=rejected)
        index, found = TextIndex(_FOLDS[content]), list[Found]()
        try:
            for entry in reader.entries(source):
                index.add(entry)
        except KaratError as error:
            found.append(unreadable(error))
        is_whole = not found
        found += unreadable_rows(rejected, reader.name)
        return cls(content, reader.name, index, tuple(found), is_whole)

    @property
    def readable(self) -> str:
        """The source in a message about ids that it lacks: they may be in rows that cannot be read."""
        return f"the rows of {self.name} that can be read" if self.unreadable else self.name

    def findings(self) -> Iterator[Found]:
        """What is wrong with the texts, whatever they are used for."""
        yield from self.unreadable
        noun, index = NOUNS[self.content], self.index
        for rows in index.same_ids():
            first, *others = [row for row in rows if not index.empty[row]] or rows
            id_, before = index.id_of(first), index.place_of(first)
            for row in others:
                place = index.place_of(row)
                if index.have_same_text(first, row):
                    message = f"{noun} {shown(id_)} is listed here and in {before}, with the same text"
                    yield Finding(_REPEATED[self.content], message, 1, "Remove one of them.", place=place)
                else:
                    message = "".join(map(str, other_text(self.content, id_, before)))
                    hint = f"Give each {noun} one text."
                    yield Finding(_CONTRADICTING[self.content], message, 1, hint, place=place)
        yield from map(self._without_text, index.empty.nonzero()[0].tolist())

    def _without_text(self, row: int) -> Finding:
        message = f"{NOUNS[self.content]} {shown(self.index.id_of(row))} has no text"
        return Finding("empty-text", message, 1, place=self.index.place_of(row))
