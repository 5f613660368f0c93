"""Sheets that people fill in with a spreadsheet: a row per label, with everything that is needed to decide it.

A spreadsheet changes what looks like a number, a date or a formula, and everybody may edit anything. So the texts are
in quotation marks, and the last cell of a row is a record, in JSON, of what the row is about, with digests of what it
shows. `filled` reads it back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from karat.errors import KaratError, Message, Parameter, first_few, plural, shown
from karat.grounding.labels.missing import ANSWERABLE, NEEDS_GOLD, sheet_measures
from karat.grounding.responses.responses import Response, items_of_other_answers
from karat.grounding.sheets.sheet_rows import SheetLabel, SheetRow, rows_of, sheet_label, task_of_sheet
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.drawn import DrawnQuery, draw, drawn_queries
from karat.grounding.verdict_file.records import Item, items_by_query, text_digest
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE, Task
from karat.output.delimited import delimited
from karat.output.files import write_chunks

COLUMNS = ("row", "question", "item", "compare_with", "asked", "allowed", "label", "why", "record")
LONGEST_CELL = 32_767
"""characters that a cell of Excel may have"""

_LONGEST_VALUE = 131_072  # characters of a value that Python's csv module reads
_MOST_ROWS = 1_048_576  # of Excel
# What a spreadsheet or an encoding may drop or change: control characters and lone surrogates.
_FRAGILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet, how many labels it asks for, and notes on what a spreadsheet may do to it."""

    rows: Sequence[Sequence[str]]
    labels: int
    queries: int
    measures: tuple[str, ...] = ()
    """what the labels suffice for"""
    notes: tuple[str, ...] = ()


def sheet_of(
    recipe: str,
    responses: Sequence[Response],
    items: Sequence[Item] = (),
    tasks: Mapping[str, Task] | None = None,
    *,
    sample: int | None = None,
    seed: int = 0,
    only: Mapping[str, Collection[SheetLabel]] | None = None,
) -> Sheet:
    """The sheet for a recipe. `items` are claims and nuggets, and `tasks` rubrics of the user's own.

    Items that need no label, such as sentences without a citation, have a row too: they are part of what is measured.
    A `sample` is of so many queries, drawn at random and listed in the order in which they were drawn. With `only`, the
    sheet has these labels of these queries, in this order.
    """
    task, by_query = task_of_sheet(recipe, tasks or {}), items_by_query(items)
    _check_systems(responses, items)
    if recipe in ("faithfulness", "claims"):
        _check_answers(responses, by_query)
    drawn = _drawn(recipe, responses, sample, seed)
    if drawn or only is not None:
        by_id = {response.query: response for response in responses}
        responses = [by_id[query] for query in (only if only is not None else drawn)]
    rows = [row for response in responses for row in rows_of(recipe, response, by_query.get(response.query, ()))]
    if only is not None:
        rows = [row for row in rows if sheet_label(row) in only[row.response.query]]
    if not rows:
        raise KaratError("there is nothing to label: the results have no answers")
    relations = {row.label.relation for row in rows if row.label is not None}
    if not relations:
        raise _nothing_is_asked(recipe)
    notes: tuple[str, ...] = ()
    if recipe == "abstention":
        if any(response.gold_answers is not None for response in responses):
            relations.add(ANSWERABLE)
        else:
            notes = (NEEDS_GOLD,)
    sheet = sheet_of_rows(recipe, task, rows, drawn)
    return replace(sheet, measures=tuple(sheet_measures(recipe, relations)), notes=(*sheet.notes, *notes))


def sheet_of_rows(recipe: str, task: Task, rows: Sequence[SheetRow], drawn: Mapping[str, DrawnQuery]) -> Sheet:
    """The sheet with these rows, about queries of which some were drawn at random."""
    names = (row.item if isinstance(row.item, str) else row.item.id for row in rows)
    about = (f"{row.response.query}\t{name}" for row, name in zip(rows, names, strict=True))
    sheet = text_digest("\n".join([recipe, *about]))[:8]
    cells: list[list[str]] = []
    seen: set[tuple[str, str | None]] = set()
    for number, row in enumerate(rows, 1):
        answer = row.response.query, row.response.system
        place = {"row": number, "rows": len(rows), "sheet": sheet}
        record = {**place, **_mark(drawn.get(row.response.query))}
        cells.append(_cells(row, task, record, is_first=answer not in seen))
        seen.add(answer)
    return Sheet(cells, sum(row.label is not None for row in rows), len(seen), notes=_size_notes(cells))


def _drawn(recipe: str, responses: Sequence[Response], sample: int | None, seed: int) -> dict[str, DrawnQuery]:
    """The queries of a sample in the order in which they were drawn; none without a sample."""
    if sample is None:
        return {}
    queries = [response.query for response in responses]
    return drawn_queries(draw(queries, sample, seed), queries, responses[0].system, recipe, seed)


def _mark(drawn: DrawnQuery | None) -> dict[str, Any]:
    """What the record of a row says of the sample that its query is in."""
    return {} if drawn is None else {"sample": drawn.record()}


def _nothing_is_asked(recipe: str) -> KaratError:
    """The error if there are items, but none of them needs a label."""
    if recipe not in ("support", "citations"):
        return KaratError(f"there is nothing to label for the task {recipe}: no item needs a label")
    hint = "Sentences are compared with all passages for the task faithfulness."
    return KaratError("there is nothing to label: no sentence of the answers cites a passage", hint=hint)


def _size_notes(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """What Excel does not read of a sheet; one that nothing reads is an error."""
    longest = max(len(cell) for row in rows for cell in row)
    if longest > _LONGEST_VALUE:
        what = f"a cell of the sheet would have {longest:,} characters, and CSV is read up to {_LONGEST_VALUE:,}"
        raise KaratError(what, hint="Use results with fewer or shorter passages.")
    notes = []
    if longest > LONGEST_CELL:
        notes.append(f"the longest cell has {longest:,} characters, but Excel cuts off all after {LONGEST_CELL:,}")
    if len(rows) >= _MOST_ROWS:
        notes.append(f"the sheet has {plural(len(rows), 'row')}, but Excel reads only the first {_MOST_ROWS:,}")
    return tuple(notes)


def write_sheet(sheet: Sheet, path: str | os.PathLike[str]) -> None:
    """Write a sheet as CSV or TSV, with a byte order mark, by which Excel knows that it is UTF-8."""
    suffix = PurePath(path).suffix.lower()
    if suffix not in (".csv", ".tsv"):
        raise KaratError("a sheet is written as CSV or TSV", place=os.fspath(path), hint="Write to a .csv file.")
    text = delimited(COLUMNS, sheet.rows, "," if suffix == ".csv" else "\t", safe=True)
    write_chunks(path, [text.encode("utf-8-sig")])


def _check_systems(responses: Sequence[Response], items: Sequence[Item]) -> None:
    """Raise an error if all claims are those of other systems."""
    systems = dict.fromkeys(each.system for each in items if each.type == "claim" and each.of == "answer")
    if systems and not {None, *(each.system for each in responses)} & {*systems}:
        names = [str(each) for each in systems]
        what = f"the claims are about the answers of {first_few(names)}, not of {shown(responses[0].system)}"
        raise KaratError(what, hint=["Name the system of the results: ", Parameter("system", names[0]), "."])


def _check_answers(responses: Sequence[Response], by_query: Mapping[str, Sequence[Item]]) -> None:
    """Raise an error if claims are those of an answer that has changed since."""
    for response in responses:
        if any(item.type == "claim" for item in items_of_other_answers(by_query.get(response.query, ()), response)):
            what = f"the claims of query {shown(response.query)} are not those of its answer, which has changed since"
            raise KaratError(what, hint="List the claims of the answer as it is now, in a file without earlier ones.")


def shown_digest(cell: str) -> str:
    """The digest of what a cell shows; white space may be different after a spreadsheet has saved it."""
    return text_digest(" ".join(cell.split()))


def record_digest(record: Mapping[str, Any]) -> str:
    """The digest of a record in a sheet, apart from the digest itself."""
    return text_digest(json.dumps({name: record[name] for name in sorted(record) if name != "digest"}))[:8]


def _cells(row: SheetRow, task: Task, place: dict[str, Any], is_first: bool) -> list[str]:
    response, item = row.response, row.item
    record: dict[str, Any] = {**place, "query": response.query, "system": response.system, "task": task.name}
    if isinstance(item, str):
        cells = ["", "", _EMPTY[item], NOTHING_TO_JUDGE, NOTHING_TO_JUDGE]
        digest = response.digest_of("gold" if item == "question" else item)
        record["item"] = {"id": item, "digest": digest}
    elif row.label is None:
        passage = "passage that was given" if item.cites else "passage"
        cells = [_quoted(item.text), "", f"Nothing: it cites no {passage}.", NOTHING_TO_JUDGE, ""]
        record["item"] = _item_record(item)
    else:
        against = row.label.against
        if item.text is None:
            raise _missing_text(item)
        allowed = " | ".join([*task.scale, NOTHING_TO_JUDGE])
        compared, question = _compared_text(response, against, task), _question(task, item, against, response)
        cells = [_quoted(row.shown_text), compared, question, allowed, ""]
        record |= {"item": _item_record(item), "against": against, "asked": True}
        record["against_digest"] = row.label.against_digest(response)
    if task.name not in BUILT_IN:
        record["rubric"] = {"question": task.question, "scale": task.described_scale}
    if is_first:
        record |= {} if response.answer is None else {"answer": text_digest(response.answer)}
        record["passages"] = [
            [passage.id, passage.rank, None if passage.text is None else text_digest(passage.text)]
            for passage in response.passages
        ]
    record["shown"] = [shown_digest(cell) for cell in cells[:2]]
    record["digest"] = record_digest(record)
    number = f"{place['row']} of {place['rows']}"
    return [number, _visible(response.question), *cells, "", json.dumps(record)]


_EMPTY = {
    "answer": "Nothing: the answer is empty.",
    "context": "Nothing: no passages were given.",
    "question": "Nothing: the question has no nuggets.",
}


def _item_record(item: Item) -> dict[str, Any]:
    """The record of an item; an implied one is only named, with the digest of its text, and so is a document."""
    record = {name: value for name, value in item.record().items() if name not in ("record", "query")}
    if item.type == "document":
        return {name: value for name, value in record.items() if name != "text"}
    return {"id": item.id, "digest": record["digest"]} if item.type == "answer" else record


def _question(task: Task, item: Item, against: Against, response: Response) -> str:
    """What is asked about an item, in plain words."""
    noun = f"gold {item.type}" if item.of == "gold" else item.type
    if task.name == "support":
        are_many = against == "context" or (isinstance(against, tuple) and len(against) > 1)
        passages = "these passages together" if are_many else "this passage"
        compared = {"answer": "this answer", "gold": "the gold answer"}.get(str(against), passages)
        verb = "Do" if are_many else "Does"
        how = "in full, in part (partial) or not at all (none), or contradict it (contradicts)"
        return f"{verb} {compared} support the {noun} {how}?"
    if task.name == "correctness":
        gold = ", compared with the gold answers" if response.gold_answers else ""
        return f"Is this answer correct{gold}: correct, partial or incorrect?"
    if task.name == "answer_relevance":
        return "Does this answer address the question, whether right or wrong: fully, partly, or not at all (no)?"
    if task.name == "abstention":
        return "Is this an answer (answered), or does it refuse to answer (refused)?"
    question = task.question or f"Which label of {task.name} fits this answer?"
    means = "; ".join(f"{label}: {task.means[label]}" for label in task.labels if label in task.means)
    return _visible(f"{question} {means}".strip())


def _compared_text(response: Response, against: Against, task: Task) -> str:
    """The text that an item is compared with."""
    if isinstance(against, tuple) or against == "context":
        passages = response.compared_passages(against)
        return "\n\n".join(f"[{passage.rank}] {_visible(passage.text or '')}" for passage in passages)
    if against == "answer":
        return _quoted(response.answer)
    if against == "gold" or task.name == "correctness":
        if response.gold_answers is None and against == "gold":
            raise KaratError(f"query {shown(response.query)} has no gold answer to compare claims with")
        return "\n".join(map(_quoted, response.gold_answers or ()))
    return ""


def _missing_text(item: Item) -> KaratError:
    """The error for an item that cannot be labelled because nobody could read it."""
    what = f"the text of {item.type} {shown(item.id)} of query {shown(item.query)} is not"
    if item.type == "passage":
        hint: Message = ["Add the texts with ", Parameter("corpus"), "."]
        return KaratError(f"{what} in the results", hint=hint)
    return KaratError(f"{what} in its record", hint='Add "text": "..." to the record of the item.')


def _quoted(text: str | None) -> str:
    """A text in quotation marks, so that a spreadsheet takes it for a text."""
    return f"“{_visible(text or '')}”"


def _visible(text: str) -> str:
    return _FRAGILE.sub(" ", text)
