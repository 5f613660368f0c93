"""Why a query scores what it scores: rank by rank, what was retrieved, which gold it is, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.analysis.evidence import Evidence, Hit
from karat.answers import Answers
from karat.documents.document import Document
from karat.documents.fields import DocumentLike, document_key
from karat.errors import KaratError, did_you_mean, shown
from karat.measures import meanings
from karat.output.tables import Cell, Table
from karat.registry.names import format_value
from karat.scores.combining import higher_is_better

if TYPE_CHECKING:
    from rich.console import Group

    from karat.scores import Scores

_WIDTH = 40
_ANSWER = 50
_DERIVED_ID = 64  # digits of an id that Haystack, and karat, make of a document that was given none


@dataclass(frozen=True)
class ExplanationRow:
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
class Answer:
    """The predicted answer of a query, None where there is none, and what each measure says of each gold answer."""

    predicted: str | None
    golds: tuple[tuple[str, Mapping[str, float]], ...]

    def best(self, measure: str) -> float | None:
        """The best value of a measure, if not all are the same."""
        values = {scores[measure] for _, scores in self.golds}
        choose = max if higher_is_better(measure) else min
        return choose(values) if len(values) > 1 else None


@dataclass(frozen=True)
class Explanation:
    """What stands behind the scores of one query; print it, or read its rows and its answer."""

    query: str
    rows: tuple[ExplanationRow, ...]
    retrieved: int
    scores: Mapping[str, float | None]
    match: str
    """what counted as a hit; nothing, where no documents were evaluated"""
    answer: Answer | None = None

    def to_dict(self) -> dict[str, Any]:
        """`{"query", "scores", "match", "retrieved", "rows": [{"rank", "document", ...}], "predicted", "golds"}`.

        What was not evaluated, documents or answers, is left out.
        """
        found: dict[str, Any] = {"query": self.query, "scores": dict(self.scores)}
        if self.match:
            rows = [asdict(row) for row in self.rows]
            found |= {"match": self.match, "retrieved": self.retrieved, "rows": rows}
        if self.answer is not None:
            golds = [{"gold": gold, "scores": dict(scores)} for gold, scores in self.answer.golds]
            found |= {"predicted": self.answer.predicted, "golds": golds}
        return found

    def tables(self) -> list[Table]:
        """The ranks, the answers, or both: what was evaluated."""
        parts = [self._of_documents()] if self.match else []
        return [*parts, self._of_answers(self.answer, not parts)] if self.answer is not None else parts

    def _of_answers(self, answer: Answer, alone: bool) -> Table:
        """A row per gold answer, and what each measure says of it; the best of them is the score."""
        measures = list(dict.fromkeys(measure for _, scores in answer.golds for measure in scores))
        said = "(none)" if answer.predicted is None else short(answer.predicted)
        rows = [(Cell("predicted"), Cell(said), *(Cell("") for _ in measures))]
        best = {measure: answer.best(measure) for measure in measures}
        for gold, scores in answer.golds:
            values = (Cell(f"{scores[measure]:.4f}", scores[measure] == best[measure]) for measure in measures)
            rows.append((Cell("gold"), Cell(short(gold)), *values))
        notes = (f"query {self.query}: {self._scores()}",) if alone else ()
        return Table(("", "answer", *measures), tuple(rows), notes, labels=2)

    def _scores(self) -> str:
        return ", ".join(f"{name} {'null' if value is None else f'{value:.4f}'}" for name, value in self.scores.items())

    def _of_documents(self) -> Table:
        """A row per rank and gold."""
        rows, last = [], None
        for row in self.rows:
            same = row.rank is not None and row.rank == last
            rank = "" if same else "–" if row.rank is None else str(row.rank)
            how = f"{row.how} (again)" if row.again else row.how
            grade = "" if row.grade is None else format_value(row.grade)
            cells = (rank, "" if same else row.document, row.gold, grade, how)
            rows.append(tuple(Cell(text) for text in cells))
            last = row.rank
        hidden = self.retrieved - len({row.rank for row in self.rows if row.rank is not None})
        left_out = f"; {hidden:,} further down are no hits and not shown" if hidden else ""
        notes = (
            f"query {self.query}: {self._scores()}",
            f"{self.retrieved:,} retrieved, matched by {self.match}{left_out}",
        )
        return Table(("rank", "retrieved", "gold", "grade", "how"), tuple(rows), notes, labels=5)

    def __str__(self) -> str:
        return "\n".join(table.text() for table in self.tables()).rstrip("\n")

    def __rich__(self) -> Group:
        from rich.console import Group

        return Group(*(table.rich() for table in self.tables()))

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())


def explain(scores: Scores, query: str, k: int) -> Explanation:
    """Look behind the scores of a query: at its answer, at the first k ranks and at every hit below them."""
    documents = () if scores.evidence is None else scores.evidence.truth.queries
    answers = () if scores.answers is None else scores.answers.queries
    if query not in documents and query not in answers:
        for finding in scores.findings:
            if query in finding.queries:
                raise KaratError(f"query {shown(query)} was not evaluated: {finding.message}")
        near = did_you_mean(query, dict.fromkeys([*documents, *answers]))
        raise KaratError(f"there is no query {shown(query)} in the truth", hint=near or None)
    values = scores.per_query.get(query, {})
    found = Explanation(query, (), 0, values, "")
    if scores.evidence is not None and query in scores.evidence.truth.positions:
        found = explain_documents(scores.evidence, query, values, k)
    if scores.answers is not None and query in answers:
        found = replace(found, answer=_explained_answer(scores.answers, query, list(scores.values)))
    return found


def _explained_answer(answers: Answers, query: str, columns: Iterable[str]) -> Answer:
    """What each measure says of each gold answer: each asked again, as if there was no other."""
    at = answers.queries.index(query)
    golds, predicted = answers.golds[at], answers.predicted[at]
    apart = Answers(tuple(map(str, range(len(golds)))), [[gold] for gold in golds], [predicted] * len(golds))
    measures = [measure for name in columns for measure in meanings(name)[:1] if measure.definition.takes == "answers"]
    values = {str(measure): measure.compute(apart).tolist() for measure in measures}
    return Answer(
        predicted, tuple((gold, {name: of[at] for name, of in values.items()}) for at, gold in enumerate(golds))
    )


def explain_documents(evidence: Evidence, query: str, scores: Mapping[str, float | None], k: int) -> Explanation:
    """The same for documents alone."""
    documents, hits = evidence.look(query)
    golds = evidence.truth.golds(evidence.truth.positions[query])
    names = {gold: label(given) for gold, given in zip(golds, evidence.truth.original_documents(golds), strict=True)}
    at_rank: dict[int, list[Hit]] = {}
    for hit in hits:
        at_rank.setdefault(hit.rank, []).append(hit)
    found: set[int] = set()
    rows: list[ExplanationRow] = []
    for rank, document in enumerate(documents, 1):
        if rank > k and rank not in at_rank:
            continue
        text = label(document)
        if rank not in at_rank:
            rows.append(ExplanationRow(rank, text))
        for hit in at_rank.get(rank, ()):
            grade = float(evidence.judged.gold_grade[hit.gold])
            rows.append(ExplanationRow(rank, text, names[hit.gold], grade, hit.how, hit.gold in found))
            found.add(hit.gold)
    grades = evidence.judged.gold_grade
    rows += [
        ExplanationRow(None, "", names[gold], float(grades[gold]), "not retrieved")
        for gold in golds
        if gold not in found
    ]
    return Explanation(query, tuple(rows), len(documents), dict(scores), str(evidence.match))


def label(document: DocumentLike, width: int = _WIDTH) -> str:
    """A document in a few words: its id, if it was given one, and the beginning of its text.

    >>> label({"id": "gold-001", "content": "Gold is the chemical element with atomic number 79."})
    'gold-001: Gold is the chemical element …'
    """
    name = document.given_id if isinstance(document, Document) else _field(document, "id")
    text = None if isinstance(document, str) else _field(document, "content")
    if name and text and len(name) == _DERIVED_ID:
        name = None
    return short(": ".join(part for part in (name, text if text != name else None) if part), width)


def short(text: str, width: int = _ANSWER) -> str:
    """A text in one line, cut to a width."""
    words = " ".join(text.split())
    return words if len(words) <= width else f"{words[: width - 1]}…"


def _field(document: DocumentLike, field: str) -> str | None:
    try:
        return document_key(document, field, "")
    except KaratError:
        return shown(document, _WIDTH) if field == "id" else None
