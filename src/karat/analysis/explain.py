"""explain(): why a query has its scores: the documents retrieved, rank by rank, and the golds they matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.analysis.evidence import NO_RUN_DATA, Evidence
from karat.analysis.rankings import Hit, read_ranking
from karat.analysis.texts import WIDTH, ShownTexts, id_and_text, label
from karat.data.answers import Answers
from karat.documents.ids import identifier
from karat.errors import KaratError, did_you_mean, require, shown
from karat.measures import meanings
from karat.output.printable import Printable
from karat.output.tables import BEST, DIGITS, Cell, Table, long_cell, note_line
from karat.output.widths import shorten
from karat.registry.names import format_value
from karat.scores.columns import registered_direction
from karat.scores.value_texts import check_digits

if TYPE_CHECKING:
    from karat.analysis.label_evidence import LabelRow
    from karat.scores import Scores

_ANSWER_WIDTH = 50
QUESTION_WIDTH = 300
"""columns of the question of a query that is shown alone"""


@dataclass(frozen=True)
class ExplanationRow:
    """A rank, the document retrieved there and the gold it matched, if any; rank None is a gold that was not retrieved.

    `document` and `gold` are the id and the text, on one line.
    `reason` says why the document matched. `repeated` says that the gold was already found at a higher rank: most
    measures credit it once. `text` is the text of the document, or of the gold that was not retrieved, if it is known.
    """

    rank: int | None
    document: str
    gold: str = ""
    grade: float | None = None
    reason: str = ""
    repeated: bool = False
    text: str | None = None


@dataclass(frozen=True)
class Answer:
    """The predicted answer to a query (None if there is none), and its scores against each gold answer."""

    predicted: str | None
    golds: tuple[tuple[str, Mapping[str, float]], ...]

    def best(self, measure: str) -> float | None:
        """The best value of a measure; None if all are the same."""
        values = {scores[measure] for _, scores in self.golds}
        choose = max if registered_direction(measure) else min
        return choose(values) if len(values) > 1 else None


@dataclass(frozen=True)
class Explanation(Printable):
    """Why one query has its scores; print it, or read `rows` and `answer`.

    >>> import karat
    >>> explanation = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"]).explain("q")
    >>> [(row.rank, row.document, row.reason) for row in explanation.rows]
    [(1, 'x', ''), (2, 'a', 'same id')]
    """

    query: str
    rows: tuple[ExplanationRow, ...]
    retrieved: int
    scores: Mapping[str, float | None]
    match: str
    """what counted as a hit; empty if no documents were evaluated"""
    answer: Answer | None = None
    text: str | None = None
    """the text of the query, if it is known"""
    notes: tuple[str, ...] = ()
    """on texts"""
    labels: tuple[LabelRow, ...] | None = None
    """the labels that measures of verdicts read, and the items that lack them; None if there are no such measures"""

    def to_dict(self) -> dict[str, Any]:
        """`{"query", "text", "scores", "match", "retrieved", "rows": [{"rank", ...}], "predicted", "golds"}`.

        Also `labels`, if any were read. Documents and answers that were not evaluated, and the text of the query if it
        is not known, are left out.
        """
        text = {} if self.text is None else {"text": self.text}
        document: dict[str, Any] = {"query": self.query, **text, "scores": dict(self.scores)}
        if self.match:
            rows = [asdict(row) for row in self.rows]
            document |= {"match": self.match, "retrieved": self.retrieved, "rows": rows}
        if self.answer is not None:
            golds = [{"gold": gold, "scores": dict(scores)} for gold, scores in self.answer.golds]
            document |= {"predicted": self.answer.predicted, "golds": golds}
        if self.labels is not None:
            document["labels"] = [asdict(row) for row in self.labels]
        return document

    def tables(self, digits: int = DIGITS) -> list[Table]:
        """A table of the ranks, of the answers and of the labels, as far as they were evaluated."""
        digits = check_digits(digits)
        tables = [self._documents_table(digits)] if self.match else []
        if self.answer is not None:
            tables.append(self._answers_table(self.answer, () if tables else self._first_notes(digits), digits))
        if self.labels is not None:
            tables.append(self._labels_table(self.labels, () if tables else self._first_notes(digits)))
        return tables

    def _labels_table(self, labels: Sequence[LabelRow], notes: tuple[str, ...]) -> Table:
        """A row per label."""
        rows = tuple(
            (
                Cell(row.type),
                long_cell(row.item_text, WIDTH),
                Cell(row.task),
                Cell(row.against),
                Cell(row.label_text),
                Cell(row.author_text),
                long_cell(row.why or "", WIDTH),
            )
            for row in labels
        )
        header = ("", "item", "task", "against", "label", "by", "why")
        return Table(header, rows, notes, labels=len(header))

    def _answers_table(self, answer: Answer, notes: tuple[str, ...], digits: int) -> Table:
        """A row per gold answer and a column per measure; the best value is the score."""
        measures = list(dict.fromkeys(measure for _, scores in answer.golds for measure in scores))
        predicted = "(none)" if answer.predicted is None else answer.predicted
        rows = [(Cell("predicted"), long_cell(predicted, _ANSWER_WIDTH), *(Cell("") for _ in measures))]
        best = {measure: answer.best(measure) for measure in measures}
        for gold, scores in answer.golds:
            values = (
                Cell(f"{scores[measure]:.{digits}f}", BEST if scores[measure] == best[measure] else None)
                for measure in measures
            )
            rows.append((Cell("gold"), long_cell(gold, _ANSWER_WIDTH), *values))
        return Table(("", "answer", *measures), tuple(rows), notes, labels=2)

    def _first_notes(self, digits: int) -> tuple[str, ...]:
        """The question, and the scores of the query."""
        question = [] if self.text is None else [f"query {self.query}: {shorten(self.text, QUESTION_WIDTH)}"]
        scores = self.scores.items()
        values = (f"{name} {'null' if value is None else f'{value:.{digits}f}'}" for name, value in scores)
        result = f"query {self.query}: {', '.join(values)}"
        return (*question, *(note_line(f"{note}.") for note in self.notes), result)

    def _documents_table(self, digits: int) -> Table:
        """A row per rank and gold."""
        rows, last = [], None
        for row in self.rows:
            same = row.rank is not None and row.rank == last
            rank = "" if same else "–" if row.rank is None else str(row.rank)
            reason = f"{row.reason} (repeated)" if row.repeated else row.reason
            grade = "" if row.grade is None else format_value(row.grade)
            documents = (long_cell(text, WIDTH) for text in ("" if same else row.document, row.gold))
            rows.append((Cell(rank), *documents, Cell(grade), Cell(reason)))
            last = row.rank
        hidden = self.retrieved - len({row.rank for row in self.rows if row.rank is not None})
        left_out = f"; {hidden:,} more without a match are not shown" if hidden else ""
        retrieved = f"{self.retrieved:,} retrieved, matched by {self.match}{left_out}"
        notes = (*self._first_notes(digits), retrieved)
        return Table(("rank", "retrieved", "gold", "grade", "reason"), tuple(rows), notes, labels=5)


def explain(scores: Scores, query: str, k: int, queries: Any = None, corpus: Any = None) -> Explanation:
    """Explain the scores of a query by its answer, the first k ranks, and every hit below them.

    `queries` and `corpus` are sources of the texts of the query and of documents that are known by id only.
    """
    has_data = any(data is not None for data in (scores.evidence, scores.answers, scores.verdicts))
    require(has_data, "these scores contain no run data to explain them", NO_RUN_DATA)
    query = identifier(query, "query")
    documents = () if scores.evidence is None else scores.evidence.truth.queries
    answers = () if scores.answers is None else scores.answers.queries
    labelled = () if scores.verdicts is None else scores.verdicts.queries
    if not any(query in queries for queries in (documents, answers, labelled)):
        for finding in scores.findings:
            if query in finding.queries:
                raise KaratError(f"query {shown(query)} was not evaluated: {finding.message}")
        near = did_you_mean(query, dict.fromkeys([*documents, *answers, *labelled]))
        place = "the ground truth" if documents or answers else "the verdicts"
        raise KaratError(f"query {shown(query)} is not in {place}", hint=near or None)
    values = scores.per_query.get(query, {})
    texts = ShownTexts.of([scores], queries, corpus, [query])
    explanation = Explanation(query, (), 0, values, "")
    if scores.evidence is not None and query in scores.evidence.truth.positions:
        explanation = _explain_documents(scores.evidence, query, values, k, texts)
    if scores.answers is not None and query in answers:
        explanation = replace(explanation, answer=_explain_answer(scores.answers, query, list(scores.values)))
    if scores.verdicts is not None and query in labelled:
        explanation = replace(explanation, labels=tuple(scores.verdicts.rows(query, scores.values)))
    return replace(explanation, text=texts.questions.get(query), notes=texts.notes)


def _explain_answer(answers: Answers, query: str, columns: Iterable[str]) -> Answer:
    """The scores of the predicted answer for each gold answer, computed as if it were the only one."""
    at = answers.queries.index(query)
    golds, predicted = answers.golds[at], answers.predicted[at]
    # One query for each gold answer.
    separate = Answers(tuple(map(str, range(len(golds)))), [[gold] for gold in golds], [predicted] * len(golds))
    measures = [measure for name in columns for measure in meanings(name)[:1] if measure.definition.takes == "answers"]
    values = {str(measure): measure.compute(separate).tolist() for measure in measures}
    return Answer(
        predicted, tuple((gold, {name: column[at] for name, column in values.items()}) for at, gold in enumerate(golds))
    )


def _explain_documents(
    evidence: Evidence, query: str, scores: Mapping[str, float | None], k: int, texts: ShownTexts
) -> Explanation:
    """Explain the scores of a query by the first k ranks and every hit below them."""
    ranking = read_ranking(evidence, query, k)
    golds = evidence.truth.golds(evidence.truth.positions[query])
    documents = dict(zip(golds, evidence.truth.original_documents(golds), strict=True))
    texts.look_up([*ranking.documents.values(), *documents.values()])
    by_gold = {gold: texts.with_text(document) for gold, document in documents.items()}
    names = {gold: label(document) for gold, document in by_gold.items()}
    at_rank: dict[int, list[Hit]] = {}
    for hit in ranking.hits:
        at_rank.setdefault(hit.rank, []).append(hit)
    grades = evidence.judged.gold_grade
    retrieved: set[int] = set()
    rows: list[ExplanationRow] = []
    for rank, document in ranking.documents.items():
        shown_document = texts.with_text(document)
        name, text = label(shown_document), id_and_text(shown_document)[1]
        if rank not in at_rank:
            rows.append(ExplanationRow(rank, name, text=text))
        for hit in at_rank.get(rank, ()):
            grade = float(grades[hit.gold])
            rows.append(ExplanationRow(rank, name, names[hit.gold], grade, hit.reason, hit.gold in retrieved, text))
            retrieved.add(hit.gold)
    for gold in golds:
        if gold not in retrieved:
            reason, text = f"not retrieved{evidence.truth.graded_by(gold)}", id_and_text(by_gold[gold])[1]
            rows.append(ExplanationRow(None, "", names[gold], float(grades[gold]), reason, text=text))
    return Explanation(query, tuple(rows), ranking.retrieved, dict(scores), str(evidence.match))
