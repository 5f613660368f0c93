"""The tables of a diff: the queries that changed most, and one query in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.analysis.diff import Diff, Move, QueryDiff
from karat.analysis.evidence import Evidence
from karat.analysis.explain import label, shorten
from karat.analysis.rankings import read_ranking
from karat.errors import plural
from karat.measures import meanings
from karat.output.tables import Cell, Table, note_line
from karat.registry.names import format_value
from karat.scores.summary import cell_text, nonzero_text

_COLUMNS = ("document", "rank", "change", "contribution")
_WIDTH = 40
_FULL_WIDTH = 72
_LIST_WIDTH = 44
_MOVES = 3
_RANKS = 10
_MOST_RANKS = 100


def table(diff: Diff, digits: int) -> Table:
    """A row for each of the largest contributions to the difference of each query."""
    rows: list[tuple[Cell, ...]] = []
    for query_diff in diff.queries:
        first = (query_diff.query, _numbers(diff, query_diff, digits))
        for line in _lines(query_diff, diff, digits):
            query, numbers = first
            rows.append(_cells(query, *line, *numbers))
            first = ("", [""] * 3)
    answers = any(query_diff.answers is not None for query_diff in diff.queries)
    columns = ("answer", "rank", "system", "contribution") if answers else _COLUMNS
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


def _lines(query_diff: QueryDiff, diff: Diff, digits: int) -> list[tuple[str, str, str, str]]:
    """The largest contributions of a query, or both answers."""
    if query_diff.answers is not None:
        texts = ("(none)" if text is None else shorten(text, _FULL_WIDTH) for text in query_diff.answers)
        return [(text, "", name, "") for text, name in zip(texts, diff.names, strict=True)]
    moves = [move for move in query_diff.moves if move.contribution or move.contribution is None]
    largest = sorted(moves, key=lambda move: -abs(move.contribution or 0))[:_MOVES]
    lines = [_line(move, diff.measure, _WIDTH, digits) for move in moves if move in largest]
    others = [move for move in moves if move not in largest]
    if others:
        together = sum(move.contribution or 0 for move in others)
        lines.append((f"{len(others)} more", "", "", nonzero_text(together, diff.measure, "+", digits)))
    return lines + _unattributed(query_diff, diff.measure, digits) or [("", "", "", "")]


def _line(move: Move, measure: str, width: int, digits: int) -> tuple[str, str, str, str]:
    before, after = ("–" if rank is None else str(rank) for rank in (move.before, move.after))
    grade = "" if move.grade == 1 else f" (grade {format_value(move.grade)})"
    contribution = "–" if move.contribution is None else nonzero_text(move.contribution, measure, "+", digits)
    return shorten(move.label, width) + grade, f"{before} → {after}", move.change, contribution


def _unattributed(query_diff: QueryDiff, measure: str, digits: int) -> list[tuple[str, str, str, str]]:
    """A line for the part of the difference that is not attributed to a document, if any."""
    if not query_diff.unattributed:
        return []
    known = all(move.contribution is not None for move in query_diff.moves)
    what = "(number of documents retrieved)" if known else "(all documents together)"
    return [(what, "", "", nonzero_text(query_diff.unattributed, measure, "+", digits))]


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


def query_tables(diff: Diff, query: str, digits: int) -> list[Table]:
    """One query in full: every document that moved, or the answers; and both lists side by side."""
    query_diff = diff[query]
    before, after = diff.names
    old, new, difference = _numbers(diff, query_diff, digits)
    head = f"query {query}: {diff.measure} {before} {old}, {after} {new} ({difference})"
    tables = [
        _moves(diff, query_diff, head, digits)
        if query_diff.answers is None
        else _answers(diff, query_diff, head, digits)
    ]
    evidence = [scores.evidence for scores in diff.scores if scores.evidence is not None]
    if len(evidence) == len(diff.scores) and all(query in each.truth.positions for each in evidence):
        measure = next(iter(meanings(diff.measure)), None)
        depth = (measure.cutoff if measure else None) or _RANKS
        tables.append(_side_by_side(diff.names, evidence, query, min(depth, _MOST_RANKS)))
    return tables


def _moves(diff: Diff, query_diff: QueryDiff, head: str, digits: int) -> Table:
    if diff.limitation is not None:
        row = _cells(query_diff.query, *_numbers(diff, query_diff, digits))
        return Table(("query", *diff.names, "difference"), (row,), (diff.measure, *_notes_on_all(diff)))
    lines = [_line(move, diff.measure, _FULL_WIDTH, digits) for move in query_diff.moves]
    lines += _unattributed(query_diff, diff.measure, digits)
    legend = [_legend(diff)] if lines else []
    long_labels = [move.label for move in query_diff.moves if len(move.label) > _FULL_WIDTH]
    notes = (head, *legend, *_notes_on_all(diff), *long_labels)
    return Table(_COLUMNS, tuple(_cells(*line) for line in lines), notes, labels=3)


def _notes_on_all(diff: Diff) -> list[str]:
    return list(map(note_line, diff.all_notes))


def _answers(diff: Diff, query_diff: QueryDiff, head: str, digits: int) -> Table:
    golds: Sequence[str] = ()
    answers = diff.scores[0].answers
    if answers is not None and query_diff.query in answers.queries:
        golds = answers.golds[answers.queries.index(query_diff.query)]
    predicted = zip(diff.names, query_diff.answers or (), (query_diff.before, query_diff.after), strict=False)
    rows = [_cells(name, "(none)" if text is None else text, f"{value:.{digits}f}") for name, text, value in predicted]
    rows += [_cells("gold", gold, "") for gold in golds]
    notes = (head, *_notes_on_all(diff))
    return Table(("", "answer", diff.measure), tuple(rows), notes, labels=2)


def _side_by_side(names: tuple[str, str], evidence: Sequence[Evidence], query: str, depth: int) -> Table:
    """The first ranks of both lists, each hit with its grade in front."""
    lists = []
    for each in evidence:
        ranking = read_ranking(each, query, depth)
        grades: dict[int, float] = {}
        for hit in ranking.hits:
            grade = float(each.judged.gold_grade[hit.gold])
            grades[hit.rank] = max(grade, grades.get(hit.rank, grade))
        lists.append(
            [
                (f"[{format_value(grades[rank])}] " if rank in grades else "") + label(document, _LIST_WIDTH)
                for rank, document in ranking.documents.items()
                if rank <= depth
            ]
        )
    rows = [
        _cells(str(at + 1), *(column[at] if at < len(column) else "" for column in lists))
        for at in range(max(map(len, lists), default=0))
    ]
    note = f"the first {plural(len(rows), 'rank')} of both; [n] is the grade of a hit"
    return Table(("rank", *names), tuple(rows), (note,), labels=3)
