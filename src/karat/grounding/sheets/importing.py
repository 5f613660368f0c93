"""Add what people have labelled to a verdict file, which is written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from karat.errors import KaratError, Place, plural
from karat.grounding.labels.counting import LabelKey, label_key, label_keys, label_status
from karat.grounding.sheets.filled import FilledSheet
from karat.grounding.verdict_file.drawn import add_drawn
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.grounding.verdict_file.records import FILE_LINE, Item, SystemItemKey, record_line
from karat.output.appended_file import AppendedFile
from karat.output.files import write_chunks


@dataclass(frozen=True)
class AddedLabels:
    """How many labels were added to a verdict file, and notes on others."""

    labels: int
    notes: tuple[str, ...] = ()


def add_to_verdict_file(sheet: FilledSheet, path: str | os.PathLike[str]) -> AddedLabels:
    """Append the items, rubrics and labels of a sheet to a verdict file, or write a new one.

    What is in the file already is not repeated. A label that the same person gave before is replaced, as the later one
    counts; a note says how many there are. A file that another process is writing to is refused.
    """
    if not os.path.isfile(path):
        return _add(sheet, path, partial(write_chunks, path))
    with closing(AppendedFile(os.fspath(path), create=False)) as locked:
        return _add(sheet, path, locked.replace)


def _add(sheet: FilledSheet, path: str | os.PathLike[str], save: Callable[[Iterable[bytes]], None]) -> AddedLabels:
    content = Path(path).read_bytes() if os.path.isfile(path) else b""
    known = VerdictRecords()
    notes = []
    if content.strip():
        if not content.lstrip().removeprefix(b"\xef\xbb\xbf").startswith(b"{"):
            hint = "Labels are added to JSON lines, plain and not compressed."
            raise KaratError("this is not a verdict file", place=os.fspath(path), hint=hint)
        known = read_verdict_records(path)
        notes += known.notes
        if known.cut_short and not content.endswith(b"\n"):
            content = content[: content.rfind(b"\n") + 1]
        content += b"" if content.endswith(b"\n") else b"\n"
    else:
        content = FILE_LINE
    drawn_before = {*known.drawn}
    changed = {key for key, item in sheet.items.items() if _is_changed(item, known.items.get(key))}
    with_passages = {key[:2] for key, item in sheet.items.items() if item.type == "passage"}
    left_over = [
        item
        for key, item in known.items.items()
        if key not in sheet.items
        and (_is_of_changed_answer(item, changed) or (item.type == "passage" and key[:2] in with_passages))
    ]
    lines = [record_line(item.removal()) for item in left_over]
    lines += [record_line(task.record()) for name, task in sheet.tasks.items() if known.tasks.get(name) != task]
    for key, query in sheet.drawn.items():
        add_drawn(known.drawn, query, Place(os.fspath(path)))
        lines += [] if key in drawn_before else [record_line(query.record())]
    lines += [
        record_line(item.record()) for key, item in sheet.items.items() if not _is_known(item, known.items.get(key))
    ]
    if changed:
        has, them = ("has", "it") if len(changed) == 1 else ("have", "them")
        notes.append(f"{plural(len(changed), 'item')} {has} another text now; earlier labels are not about {them}")
    earlier = _labels(known)
    verdicts = [(verdict, earlier.get(label_key(verdict))) for verdict in sheet.verdicts]
    new = [verdict for verdict, before in verdicts if before != _value(verdict)]
    if same := len(verdicts) - len(new):
        notes.append(f"{plural(same, 'label')} {'was' if same == 1 else 'were'} in the file already")
    if replaced := sum(before is not None and before[:2] != _value(verdict)[:2] for verdict, before in verdicts):
        by = sheet.verdicts[0]["by"]
        notes.append(f"{plural(replaced, 'label')} by {by} replaced; use --author if these are other people's labels")
    if lines or new:
        save([content, *lines, *map(record_line, new)])
    return AddedLabels(len(new), tuple(notes))


def _is_known(item: Item, known: Item | None) -> bool:
    """Whether the file has this item, with the same text and everything else."""
    return known is not None and {**item.record(), "text": 0} == {**known.record(), "text": 0}


def _is_changed(item: Item, known: Item | None) -> bool:
    return known is not None and item.record().get("digest") != known.record().get("digest")


def _is_of_changed_answer(item: Item, changed: Set[SystemItemKey]) -> bool:
    """Whether an item is a claim or a sentence of an answer that has another text now."""
    return item.set in ("claims", "sentences") and (item.query, item.system, "answer") in changed


def _labels(known: VerdictRecords) -> dict[LabelKey, tuple[object, ...]]:
    """What the labels of a file say that were not replaced."""
    labels, status = known.labels, label_status(known)
    rows = np.array([row for row, each in enumerate(status) if each != "replaced"], np.int64)
    columns = (labels.label, labels.why, labels.digest, labels.against_digest)
    values = (tuple(column[row] for column in columns) for row in rows.tolist())
    return dict(zip(label_keys(labels, rows), values, strict=True))


def _value(verdict: dict[str, Any]) -> tuple[object, ...]:
    return tuple(map(verdict.get, ("label", "why", "digest", "against_digest")))
