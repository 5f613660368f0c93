"""The tables of a diff: the queries that changed most, and one query in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.analysis.diff.query_diff import LabelChange, Move, QueryDiff
from karat.analysis.explain import QUESTION_WIDTH
from karat.analysis.rankings import Ranking, read_ranking
from karat.analysis.texts import WIDTH, label
from karat.data.caching import cached_property
from karat.errors import plural
from karat.measures import meanings
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table, long_cell, note_line
from karat.output.widths import shorten
from karat.registry.names import format_value
from karat.scores.value_texts import cell_text, check_digits, nonzero_text

if TYPE_CHECKING:
    from karat.analysis.diff import Diff

_COLUMNS = ("document", "rank", "change", "contribution")
_LABEL_COLUMNS = ("item", "against", "label", "contribution")
_FULL_WIDTH = 72
_LIST_WIDTH = 44
_MOVES = 3
_RANKS = 10
_MOST_RANKS = 100


def table(diff: Diff, digits: int) -> Table:
    """A row for each of the largest contributions to the difference of each query."""
    rows: list[tuple[Cell, ...]] = []
    for query_diff in diff.queries:
        query, numbers = _query_cell(query_diff), _numbers(diff, query_diff, digits)
        for line in _lines(query_diff, diff, digits):
            rows.append((query, *line, *_cells(*numbers)))
            query, numbers = Cell(""), [""] * 3
    answers = any(query_diff.answers is not None for query_diff in diff.queries)
    labels = any(query_diff.labels is not None for query_diff in diff.queries)
    columns = ("answer", "rank", "system", "contribution") if answers else _LABEL_COLUMNS if labels else _COLUMNS
    header = ("query", *columns, *diff.names, "difference")
    return _without_empty_columns(Table(header, tuple(rows), _notes(diff, digits), labels=4))


def _without_empty_columns(table: Table) -> Table:
    """A table without those columns between the query and the numbers that are empty."""
    numbers = 1 + len(_COLUMNS)
    full = [
        at for at in range(len(table.header))
        if at == 0 or at >= numbers or any(row[at].text for row in table.rows)
    ]  # fmt: skip
    header = tuple(table.header[at] for at in full)
    rows = tuple(tuple(row[at] for at in full) for row in table.rows)
    return replace(table, header=header, rows=rows, labels=sum(at < table.labels for at in full))


def _query_cell(query_diff: QueryDiff) -> Cell:
    """The query, and its question if that is known."""
    if query_diff.text is None:
        return Cell(query_diff.query)
    return long_cell(f"{query_diff.query}: {query_diff.text}", WIDTH)


def _lines(query_diff: QueryDiff, diff: Diff, digits: int) -> list[tuple[Cell, ...]]:
    """The largest contributions of a query, or both answers."""
    if query_diff.answers is not None:
        texts = ("(none)" if text is None else text for text in query_diff.answers)
        pairs = zip(texts, diff.names, strict=True)
        return [(long_cell(text, _FULL_WIDTH), *_cells("", name, "")) for text, name in pairs]
    if query_diff.labels is not None:
        lines = [_label_line(change, WIDTH) for change in query_diff.labels[:_MOVES]]
        more = len(query_diff.labels) - _MOVES
        return [*lines, *([_cells(f"{more} more", "", "", "")] if more > 0 else [])] or [_cells("", "", "", "")]
    moves = [move for move in query_diff.moves if move.contribution or move.contribution is None]
    largest = sorted(moves, key=lambda move: -abs(move.contribution or 0))[:_MOVES]
    lines = [_line(move, diff.measure, WIDTH, digits) for move in moves if move in largest]
    others = [move for move in moves if move not in largest]
    if others:
        together = sum(move.contribution or 0 for move in others)
        lines.append(_cells(f"{len(others)} more", "", "", nonzero_text(together, diff.measure, "+", digits)))
    return lines + _unattributed(query_diff, diff.measure, digits) or [_cells("", "", "", "")]


def _label_line(change: LabelChange, width: int) -> tuple[Cell, ...]:
    labels = " → ".join("–" if label is None else label for label in (change.before, change.after))
    return long_cell(change.item_text, width), *_cells(change.against, labels, "")


def _line(move: Move, measure: str, width: int, digits: int) -> tuple[Cell, ...]:
    before, after = ("–" if rank is None else str(rank) for rank in (move.before, move.after))
    grade = "" if move.grade == 1 else f" (grade {format_value(move.grade)})"
    contribution = "–" if move.contribution is None else nonzero_text(move.contribution, measure, "+", digits)
    return long_cell(move.label, width, grade), *_cells(f"{before} → {after}", move.change, contribution)


def _unattributed(query_diff: QueryDiff, measure: str, digits: int) -> list[tuple[Cell, ...]]:
    """A line for the part of the difference that is not attributed to a document, if any."""
    if not query_diff.unattributed:
        return []
    known = all(move.contribution is not None for move in query_diff.moves)
    what = "(number of documents retrieved)" if known else "(all documents together)"
    return [_cells(what, "", "", nonzero_text(query_diff.unattributed, measure, "+", digits))]


def _numbers(diff: Diff, query_diff: QueryDiff, digits: int) -> list[str]:
    values = [cell_text(value, diff.measure, digits) for value in (query_diff.before, query_diff.after)]
    return [*values, nonzero_text(query_diff.difference, diff.measure, "+", digits)]


def _cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)


def _notes(diff: Diff, digits: int) -> tuple[str, ...]:
    before, after = diff.names
    better, same, worse = diff.counts
    old, new = (cell_text(scores.combined(diff.measure), diff.measure, digits) for scores in diff.scores)
    shown = len(diff.queries)
    listed, most = (worse, "lost most") if diff.losses else (better + worse, "changed most")
    some = f"the one that {most} is" if shown == 1 else f"the {shown:,} that {most} are"
    which = f"; {some} shown" if shown < listed else ""
    lines = [
        f"{diff.measure}: {before} {old}, {after} {new}; {plural(better, 'query')} better, {same:,} the same,"
        f" {worse:,} worse{which}"
    ]
    if nulls := int(np.isnan(diff.differences).sum()):
        lines.append(f"note: {plural(nulls, 'query')} left out (no value in {before} or {after}).")
    if not shown:
        lines.append("no query became worse" if diff.losses else "no query changed")
    lines += _notes_on_all(diff)
    if any(query_diff.moves for query_diff in diff.queries):
        lines.append(_legend(diff))
    return tuple(lines)


def _legend(diff: Diff) -> str:
    before, after = diff.names
    return (
        f"contribution: change in the score when the document moves from {before} to {after}"
        " (one document at a time, topmost first)"
    )


@dataclass(frozen=True, eq=False)
class QueryInFull(Printable):
    """One query in full: every document that moved, or the answers, or the labels; and both lists side by side."""

    diff: Diff
    query: str

    def tables(self, digits: int = DIGITS) -> list[Table]:
        digits = check_digits(digits)
        diff, query, change = self.diff, self.query, self.change
        before, after = diff.names
        old, new, difference = _numbers(diff, change, digits)
        question = [] if change.text is None else [f"query {query}: {shorten(change.text, QUESTION_WIDTH)}"]
        head = (*question, f"query {query}: {diff.measure} {before} {old}, {after} {new} ({difference})")
        shown = _answers if change.answers is not None else _labels if change.labels is not None else _moves
        lists = [_side_by_side(diff, self._rankings)] if self._rankings else []
        return [shown(diff, change, head, digits), *lists]

    def to_dict(self) -> dict[str, Any]:
        """`{"measure", "systems", "query", "before", "after", "difference", "moves", ..., "notes"}`."""
        change = self.change.to_dict()
        return {"measure": self.diff.measure, "systems": list(self.diff.names), **change, "notes": self.diff.all_notes}

    @property
    def fields(self) -> tuple[str, ...]:
        row = Move if self.change.labels is None else LabelChange
        return () if self.diff.limitation is not None else tuple(field.name for field in fields(row))

    def records(self) -> list[dict[str, Any]]:
        """A record per document that moved, or per label; the values of the query if these are not known."""
        if self.diff.limitation is not None:
            return [self.change.values()]
        return list(self.change.to_dict()["moves" if self.change.labels is None else "labels"])

    @cached_property
    def change(self) -> QueryDiff:
        """What changed, with the texts of all documents that are shown."""
        listed = [document for ranking in self._rankings for document in ranking.documents.values()]
        return self.diff.query_diff(self.query, listed)

    @cached_property
    def _rankings(self) -> list[Ranking]:
        return _rankings(self.diff, self.query)


def _rankings(diff: Diff, query: str) -> list[Ranking]:
    """What both systems retrieved for a query; nothing if that is not known."""
    evidence = [scores.evidence for scores in diff.scores if scores.evidence is not None]
    if len(evidence) < len(diff.scores) or not all(query in known.truth.positions for known in evidence):
        return []
    return [read_ranking(known, query, _depth(diff)) for known in evidence]


def _depth(diff: Diff) -> int:
    """The number of ranks that are shown."""
    measure = next(iter(meanings(diff.measure)), None)
    return min((measure.cutoff if measure else None) or _RANKS, _MOST_RANKS)


def _moves(diff: Diff, query_diff: QueryDiff, head: Sequence[str], digits: int) -> Table:
    if diff.limitation is not None:
        row = _cells(query_diff.query, *_numbers(diff, query_diff, digits))
        notes = (*head[:-1], diff.measure, *_notes_on_all(diff))
        return Table(("query", *diff.names, "difference"), (row,), notes)
    lines = [_line(move, diff.measure, _FULL_WIDTH, digits) for move in query_diff.moves]
    lines += _unattributed(query_diff, diff.measure, digits)
    legend = [_legend(diff)] if lines else []
    long_labels = [move.label for move in query_diff.moves if len(move.label) > _FULL_WIDTH]
    notes = (*head, *legend, *_notes_on_all(diff), *long_labels)
    return Table(_COLUMNS, tuple(lines), notes, labels=3)


def _labels(diff: Diff, query_diff: QueryDiff, head: Sequence[str], digits: int) -> Table:  # noqa: ARG001  # as _moves
    """The labels that differ."""
    rows = tuple(
        (
            Cell(change.type),
            long_cell(change.item_text, _FULL_WIDTH),
            *_cells(change.task, change.against),
            *_cells(*("–" if label is None else label for label in (change.before, change.after))),
        )
        for change in query_diff.labels or ()
    )
    header = ("", "item", "task", "against", *diff.names)
    return Table(header, rows, (*head, *_notes_on_all(diff)), labels=len(header))


def _notes_on_all(diff: Diff) -> list[str]:
    return list(map(note_line, diff.all_notes))


def _answers(diff: Diff, query_diff: QueryDiff, head: Sequence[str], digits: int) -> Table:
    golds: Sequence[str] = ()
    answers = diff.scores[0].answers
    if answers is not None and query_diff.query in answers.queries:
        golds = answers.golds[answers.queries.index(query_diff.query)]
    predicted = zip(diff.names, query_diff.answers or (), (query_diff.before, query_diff.after), strict=False)
    rows = [_cells(name, "(none)" if text is None else text, f"{value:.{digits}f}") for name, text, value in predicted]
    rows += [_cells("gold", gold, "") for gold in golds]
    notes = (*head, *_notes_on_all(diff))
    return Table(("", "answer", diff.measure), tuple(rows), notes, labels=2)


def _side_by_side(diff: Diff, rankings: Sequence[Ranking]) -> Table:
    """The first ranks of both lists, each hit with its grade in front."""
    lists = []
    for scores, ranking in zip(diff.scores, rankings, strict=True):
        grades: dict[int, float] = {}
        if scores.evidence is not None:
            for hit in ranking.hits:
                grade = float(scores.evidence.judged.gold_grade[hit.gold])
                grades[hit.rank] = max(grade, grades.get(hit.rank, grade))
        marks = {rank: f"[{format_value(grade)}] " for rank, grade in grades.items()}
        shown = [(rank, document) for rank, document in ranking.documents.items() if rank <= _depth(diff)]
        lists.append([marks.get(rank, "") + label(diff.texts.with_text(document)) for rank, document in shown])
    rows = [
        (Cell(str(at + 1)), *(long_cell(column[at], _LIST_WIDTH) if at < len(column) else Cell("") for column in lists))
        for at in range(max(map(len, lists), default=0))
    ]
    note = f"the first {plural(len(rows), 'rank')} of both; [n] is the grade of a hit"
    return Table(("rank", *diff.names), tuple(rows), (note,), labels=3)
