"""What changed in a query from one system to another: its values, and the documents, answers and labels behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from karat.analysis.label_rows import LabelChange


@dataclass(frozen=True)
class Move:
    """A judged document that moved: its first rank in each run, None if not retrieved, and its contribution.

    `gold` is the key that documents are matched by, `label` the id and the text as given, on one line. The
    contribution is how much of the query's difference is due to this document. The contributions of a query and its
    `unattributed` add up to the difference. A contribution is None if the measure is null for some order of the
    documents. `text` is the whole text of the document, if it is known.
    """

    gold: str
    label: str
    grade: float
    before: int | None
    after: int | None
    change: str
    contribution: float | None
    text: str | None = None


@dataclass(frozen=True)
class QueryDiff:
    """A query in both systems: its values, and the documents that moved.

    `unattributed` is the effect of the number of documents retrieved, or the whole difference if contributions are
    unknown.
    """

    query: str
    before: float
    after: float
    difference: float
    moves: tuple[Move, ...] = ()
    unattributed: float = 0.0
    answers: tuple[str | None, str | None] | None = None
    """the predicted answers, if the measure is of answers"""
    text: str | None = None
    """the text of the query, if it is known"""
    labels: tuple[LabelChange, ...] | None = None
    """the labels that differ, if the measure is of verdicts"""

    def values(self) -> dict[str, Any]:
        """The query, its values and their difference; and its text, if that is known."""
        found = {"query": self.query, "before": self.before, "after": self.after, "difference": self.difference}
        return found if self.text is None else {**found, "text": self.text}

    def to_dict(self) -> dict[str, Any]:
        """All fields; the answers, the labels and the text are left out if they are not known."""
        found = asdict(self)
        answers, text = found.pop("answers"), found.pop("text")
        if self.labels is None:
            del found["labels"]
        found |= {} if answers is None else {"answers": list(answers)}
        return found if text is None else {**found, "text": text}
