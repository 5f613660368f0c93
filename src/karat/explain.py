"""Why a query scores what it scores: rank by rank, what was retrieved, which gold it is, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from karat.document import Document, DocumentLike, key
from karat.errors import KaratError, shown
from karat.evidence import Evidence, Hit
from karat.names import did_you_mean, value_text
from karat.tables import Cell, Table

if TYPE_CHECKING:
    from rich.console import Group

_WIDTH = 40
_DERIVED_ID = 64  # digits of an id that Haystack, and karat, make of a document that was given none


@dataclass(frozen=True)
class Row:
    """A rank with what was retrieved there, and the gold that it is, if any; without a rank, a gold never found.

    `again` says that the gold was found at a higher rank already: most measures pay for it once.
    """

    rank: int | None
    document: str
    gold: str = ""
    grade: float | None = None
    how: str = ""
    again: bool = False


@dataclass(frozen=True)
class Explanation:
    """What stands behind the scores of one query; print it, or read its rows."""

    query: str
    rows: tuple[Row, ...]
    retrieved: int
    scores: Mapping[str, float | None]
    match: str

    def to_dict(self) -> dict[str, Any]:
        """`{"query", "match", "retrieved", "scores", "rows": [{"rank", "document", "gold", ...}]}`."""
        return {
            "query": self.query,
            "match": self.match,
            "retrieved": self.retrieved,
            "scores": dict(self.scores),
            "rows": [asdict(row) for row in self.rows],
        }

    def table(self) -> Table:
        """A row per rank and gold."""
        rows, last = [], None
        for row in self.rows:
            same = row.rank is not None and row.rank == last
            rank = "" if same else "–" if row.rank is None else str(row.rank)
            how = f"{row.how} (again)" if row.again else row.how
            grade = "" if row.grade is None else value_text(row.grade)
            cells = (rank, "" if same else row.document, row.gold, grade, how)
            rows.append(tuple(Cell(text) for text in cells))
            last = row.rank
        scores = ", ".join(
            f"{name} {'null' if value is None else f'{value:.4f}'}" for name, value in self.scores.items()
        )
        hidden = self.retrieved - len({row.rank for row in self.rows if row.rank is not None})
        left_out = f"; {hidden:,} further down are no hits and not shown" if hidden else ""
        notes = (f"query {self.query}: {scores}", f"{self.retrieved:,} retrieved, matched by {self.match}{left_out}")
        return Table(("rank", "retrieved", "gold", "grade", "how"), tuple(rows), notes, labels=5)

    def __str__(self) -> str:
        return self.table().text().rstrip("\n")

    def __rich__(self) -> Group:
        return self.table().rich()

    def _repr_html_(self) -> str:
        return self.table().html()


def explain(evidence: Evidence, query: str, scores: Mapping[str, float | None], k: int) -> Explanation:
    """Look behind the scores of a query, at the first k ranks and at every hit below them."""
    if query not in evidence.truth.place:
        near = did_you_mean(query, evidence.truth.queries)
        raise KaratError(f"there is no query {shown(query)} in the truth", mend=near or None)
    documents, hits = evidence.look(query)
    golds = evidence.truth.golds(evidence.truth.place[query])
    names = {gold: label(given) for gold, given in zip(golds, evidence.truth.given(golds), strict=True)}
    at_rank: dict[int, list[Hit]] = {}
    for hit in hits:
        at_rank.setdefault(hit.rank, []).append(hit)
    found: set[int] = set()
    rows: list[Row] = []
    for rank, document in enumerate(documents, 1):
        if rank > k and rank not in at_rank:
            continue
        text = label(document)
        if rank not in at_rank:
            rows.append(Row(rank, text))
        for hit in at_rank.get(rank, ()):
            grade = float(evidence.judged.gold_grade[hit.gold])
            rows.append(Row(rank, text, names[hit.gold], grade, hit.how, hit.gold in found))
            found.add(hit.gold)
    grades = evidence.judged.gold_grade
    rows += [Row(None, "", names[gold], float(grades[gold]), "not retrieved") for gold in golds if gold not in found]
    return Explanation(query, tuple(rows), len(documents), dict(scores), str(evidence.match))


def label(document: DocumentLike) -> str:
    """A document in a few words: its id, if it was given one, and the beginning of its text.

    >>> label({"id": "gold-001", "content": "Gold is the chemical element with atomic number 79."})
    'gold-001: Gold is the chemical element …'
    """
    name = document.given_id if isinstance(document, Document) else _field(document, "id")
    text = None if isinstance(document, str) else _field(document, "content")
    if name and text and len(name) == _DERIVED_ID:
        name = None
    words = " ".join(": ".join(part for part in (name, text if text != name else None) if part).split())
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 1]}…"


def _field(document: DocumentLike, field: str) -> str | None:
    try:
        return key(document, field, "")
    except KaratError:
        return shown(document, _WIDTH) if field == "id" else None
