"""What changed, as tables: the queries that changed most, and one of them in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.analysis.diff import Diff, Move, QueryDiff
from karat.analysis.evidence import Evidence
from karat.analysis.explain import label, short
from karat.measures import meanings
from karat.output.tables import Cell, Table
from karat.registry.names import format_value
from karat.scores.summary import cell_text

_WIDTH = 40
_FULL = 72
_SIDE = 44
_MOVES = 3
_RANKS = 10


def table(diff: Diff) -> Table:
    """A row per query, and per document that accounts for most of its difference."""
    rows: list[tuple[Cell, ...]] = []
    for change in diff.queries:
        numbers = _numbers(diff, change)
        lines = _lines(change, diff.names)
        for at, (what, rank, how, part) in enumerate(lines):
            rows.append(
                _cells(change.query if at == 0 else "", what, rank, how, part, *(numbers if at == 0 else [""] * 3))
            )
    answers = any(change.answers is not None for change in diff.queries)
    about = ("answer", "rank", "system", "part") if answers else ("what moved", "rank", "how", "part")
    header = ("query", *about, *diff.names, "difference")
    return _without_empty(Table(header, tuple(rows), _notes(diff), labels=4), kept=5)


def _without_empty(table: Table, kept: int) -> Table:
    """A table without columns that say nothing, of those before the numbers; the first is always there."""
    full = [
        at for at in range(len(table.header))
        if at == 0 or at >= kept or any(row[at].text for row in table.rows)
    ]  # fmt: skip
    header = tuple(table.header[at] for at in full)
    rows = tuple(tuple(row[at] for at in full) for row in table.rows)
    return replace(table, header=header, rows=rows, labels=sum(at < table.labels for at in full))


def _lines(change: QueryDiff, names: tuple[str, str]) -> list[tuple[str, str, str, str]]:
    """What moved in a query, the largest parts alone."""
    if change.answers is not None:
        texts = ("(none)" if text is None else short(text, _FULL) for text in change.answers)
        return [(text, "", name, "") for text, name in zip(texts, names, strict=True)]
    telling = [move for move in change.moves if move.part or move.part is None]
    largest = sorted(telling, key=lambda move: -abs(move.part or 0))[:_MOVES]
    lines = [_line(move, _WIDTH) for move in telling if move in largest]
    others = [move for move in telling if move not in largest]
    if others:
        lines.append((f"{len(others)} more", "", "", f"{sum(move.part or 0 for move in others):+.4f}"))
    return lines + _rest(change) or [("", "", "", "")]


def _line(move: Move, width: int) -> tuple[str, str, str, str]:
    before, after = ("–" if rank is None else str(rank) for rank in (move.before, move.after))
    grade = "" if move.grade == 1 else f" (grade {format_value(move.grade)})"
    part = "–" if move.part is None else f"{move.part:+.4f}"
    return short(move.label, width) + grade, f"{before} → {after}", move.how, part


def _rest(change: QueryDiff) -> list[tuple[str, str, str, str]]:
    """What no document accounts for, if there is anything."""
    told = all(move.part is not None for move in change.moves)
    what = "documents retrieved" if told else "all together"
    return [(what, "", "", f"{change.rest:+.4f}")] if change.rest else []


def _numbers(diff: Diff, change: QueryDiff) -> list[str]:
    values = [cell_text(value, diff.measure) for value in (change.before, change.after)]
    return [*values, f"{change.difference:+.4f}"]


def _cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)


def _notes(diff: Diff) -> tuple[str, ...]:
    before, after = diff.names
    better, same, worse = diff.counts
    means = [scores.combined(diff.measure) for scores in diff.scores]
    said = [cell_text(mean, diff.measure) for mean in means]
    shown = len(diff.queries)
    listed, most = (worse, "lost most") if diff.losses else (better + worse, "changed most")
    some = f"the one that {most} is" if shown == 1 else f"the {shown:,} that {most} are"
    which = f"; {some} shown" if shown < listed else ""
    lines = [
        f"{diff.measure}: {before} {said[0]}, {after} {said[1]}; {better:,} quer{'y' if better == 1 else 'ies'}"
        f" better, {same:,} the same, {worse:,} worse{which}"
    ]
    if nulls := int(np.isnan(diff.differences).sum()):
        lines.append(f"note: {nulls:,} left out: {before} and {after} do not both have a value.")
    if not shown:
        lines.append("no query became worse" if diff.losses else "no query changed")
    if diff.cannot is not None:
        lines.append(f"note: {diff.cannot}")
    elif any(change.moves for change in diff.queries):
        lines.append(_parts(diff))
    return tuple(lines)


def _parts(diff: Diff) -> str:
    before, after = diff.names
    return f"part: what a document accounts for, if the documents go from {before} to {after} one by one, topmost first"


def in_full(diff: Diff, query: str) -> list[Table]:
    """One query: every document that moved, both lists side by side, and the answers."""
    change = diff[query]
    numbers = _numbers(diff, change)
    before, after = diff.names
    head = f"query {query}: {diff.measure} {before} {numbers[0]}, {after} {numbers[1]} ({numbers[2]})"
    lines = [_line(move, _FULL) for move in change.moves] + _rest(change)
    notes = [head]
    if diff.cannot is not None:
        notes.append(f"note: {diff.cannot}")
    elif lines:
        notes.append(_parts(diff))
    notes += [move.label for move in change.moves if len(move.label) > _FULL]
    tables = []
    if change.answers is not None:
        tables.append(_answers(diff, change, head))
    else:
        rows = tuple(_cells(*line) for line in lines)
        tables.append(Table(("what moved", "rank", "how", "part"), rows, tuple(notes), labels=3))
    evidence = [scores.evidence for scores in diff.scores]
    if all(each is not None and query in each.truth.positions for each in evidence):
        measure = next(iter(meanings(diff.measure)), None)
        depth = (measure.cutoff if measure else None) or _RANKS
        tables.append(_side_by_side(diff.names, [each for each in evidence if each], query, min(depth, 100)))
    return tables


def _answers(diff: Diff, change: QueryDiff, head: str) -> Table:
    golds: Sequence[str] = ()
    answers = diff.scores[0].answers
    if answers is not None and change.query in answers.queries:
        golds = answers.golds[answers.queries.index(change.query)]
    said = zip(diff.names, change.answers or (), (change.before, change.after), strict=False)
    rows = [_cells(name, "(none)" if text is None else text, f"{value:.4f}") for name, text, value in said]
    rows += [_cells("gold", gold, "") for gold in golds]
    return Table(("", "answer", diff.measure), tuple(rows), (head,), labels=2)


def _side_by_side(names: tuple[str, str], evidence: Sequence[Evidence], query: str, depth: int) -> Table:
    """The first ranks of both lists; hits have their grade in front."""
    lists = []
    for each in evidence:
        documents, hits = each.look(query)
        grades: dict[int, float] = {}
        for hit in hits:
            grade = float(each.judged.gold_grade[hit.gold])
            grades[hit.rank] = max(grade, grades.get(hit.rank, grade))
        lists.append(
            [
                (f"[{format_value(grades[rank])}] " if rank in grades else "") + label(document, _SIDE)
                for rank, document in enumerate(documents[:depth], 1)
            ]
        )
    rows = [
        _cells(str(at + 1), *(column[at] if at < len(column) else "" for column in lists))
        for at in range(max(map(len, lists), default=0))
    ]
    return Table(
        ("rank", *names), tuple(rows), (f"the first {len(rows)} of both; [n] is the grade of a hit",), labels=3
    )
