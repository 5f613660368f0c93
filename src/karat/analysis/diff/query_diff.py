"""What changed in a query from one system to another: its values, and the documents, answers and labels behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.analysis.label_evidence import LabelEvidence, LabelRow


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
class LabelChange:
    """A label that differs between two systems; None if a system has no such item, or no label of it."""

    item: str
    type: str
    text: str | None
    task: str
    against: str
    before: str | None
    after: str | None

    @property
    def item_text(self) -> str:
        """The id and the text of the item, as far as they are known."""
        return self.item if not self.text else f"{self.item}: {self.text}"


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
        values = {"query": self.query, "before": self.before, "after": self.after, "difference": self.difference}
        return values if self.text is None else {**values, "text": self.text}

    def to_dict(self) -> dict[str, Any]:
        """All fields; the answers, the labels and the text are left out if they are not known."""
        fields = asdict(self)
        answers, text = fields.pop("answers"), fields.pop("text")
        if self.labels is None:
            del fields["labels"]
        fields |= {} if answers is None else {"answers": list(answers)}
        return fields if text is None else {**fields, "text": text}


def label_changes(before: LabelEvidence, after: LabelEvidence, query: str, measure: str) -> list[LabelChange]:
    """The labels of a query that differ, those of items with other texts included."""
    sides: list[dict[tuple[str, ...], list[LabelRow]]] = []
    for labels in (before, after):
        by_subject: dict[tuple[str, ...], list[LabelRow]] = {}
        for row in labels.rows(query, [measure]):
            by_subject.setdefault((row.item, row.type, row.text or "", row.task, row.against), []).append(row)
        sides.append(by_subject)
    changes = []
    for subject in dict.fromkeys([*sides[0], *sides[1]]):
        old, new = (", ".join(dict.fromkeys(row.label_text for row in side.get(subject, ()))) or None for side in sides)
        if old != new:
            item, kind, text, task, against = subject
            changes.append(LabelChange(item, kind, text or None, task, against, old, new))
    return changes
