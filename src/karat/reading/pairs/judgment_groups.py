"""Judgments of several people: TREC files in which each line names the judgment group that it is from.

    prefs          query group subgroup document grade
    qrels          query group document grade

Files are parsed in Python, line by line: that of a large collection has about a hundred thousand lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from karat.data.judged import Floats, Ints, distinct
from karat.errors import KaratError, Place, shown
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs.containers import Truth
from karat.reading.pairs.pair_checks import id_text, valid_ids
from karat.reading.pairs.places import together
from karat.reading.pairs.trec import Layout, data_lines, empty_error, parse_lines, text_of


@dataclass(frozen=True, eq=False)
class JudgmentGroups:
    """The judgments of each group of each query, and of each of its subgroups, which are sorted by their names.

    `truth` contains the documents that any group of a query judges, sorted, and no grades. A row is a judgment: its
    group, a number for its subgroup, its document (a row of `truth`), and its grade.
    """

    name: str
    truth: Truth
    groups: tuple[str, ...]
    group_query: Ints
    group: Ints
    subgroup: Ints
    gold: Ints
    grade: Floats


class _Lines(NamedTuple):
    """The columns of all lines, and how many lines with data each block has."""

    query: list[str]
    group: list[str]
    subgroup: list[str]
    doc: list[str]
    grade: Floats
    sizes: list[int]


def read_judgment_groups(file: InputFile, layout: Layout) -> JudgmentGroups:
    """The judgments in a file. It is an error if a group, or a subgroup, lists a document twice."""
    lines = _read(file, layout)
    if not lines.query:
        raise empty_error(file, layout)
    (queries, query), (groups, group), (_, subgroup), (docs, doc) = map(_sorted_ids, lines[:4])
    order = np.lexsort((doc, subgroup, group, query))
    query, group, subgroup, doc = query[order], group[order], subgroup[order], doc[order]
    new_group = np.append(True, (query[1:] != query[:-1]) | (group[1:] != group[:-1]))
    new_subgroup = new_group | np.append(True, subgroup[1:] != subgroup[:-1])
    if (repeated := ~new_subgroup & np.append(False, doc[1:] == doc[:-1])).any():
        at = int(repeated.argmax())
        raise _listed_twice(file, layout, lines, order[at - 1 : at + 1].tolist())
    pairs = query * len(docs) + doc
    golds = distinct(pairs)
    return JudgmentGroups(
        file.name,
        Truth(
            tuple(queries),
            np.searchsorted(golds, np.arange(len(queries) + 1) * len(docs)),
            list(map(docs.__getitem__, (golds % len(docs)).tolist())),
            np.zeros(len(golds)),
        ),
        tuple(map(groups.__getitem__, group[new_group].tolist())),
        query[new_group],
        new_group.cumsum() - 1,
        new_subgroup.cumsum() - 1,
        golds.searchsorted(pairs),
        lines.grade[order],
    )


def _read(file: InputFile, layout: Layout) -> _Lines:
    """All lines. The first invalid one is an error."""
    lines = _Lines([], [], [], [], np.empty(0), [])
    grades = [lines.grade]
    for block in file.blocks(whole_queries=False):
        pairs = parse_lines(block, layout)
        lines.query.extend(pairs.queries)
        lines.doc.extend(pairs.docs)
        lines.group.extend(_names(block, layout, "group"))
        has_subgroups = "subgroup" in layout.columns
        lines.subgroup.extend(_names(block, layout, "subgroup") if has_subgroups else [""] * len(pairs.docs))
        grades.append(pairs.numbers)
        lines.sizes.append(len(pairs.docs))
    return lines._replace(grade=np.concatenate(grades))


def _names(block: Block, layout: Layout, column: str) -> list[str]:
    """The groups, or the subgroups, of the lines of a block."""
    at = layout.columns.index(column)
    names = [text_of(tokens[at]) for _, tokens in data_lines(block, layout)]
    known = set(names)
    if valid_ids(known) is None:
        for name, (line, _) in zip(names, data_lines(block, layout), strict=True):
            try:
                id_text(name, encoded=True)
            except KaratError as error:
                raise error.but(place=block.place(line)) from None
    return names


def _sorted_ids(ids: list[str]) -> tuple[list[str], Ints]:
    """The distinct ids, sorted as strcmp sorts them in UTF-8, and the position of each id among them."""
    names = sorted(set(ids))
    position = dict(zip(names, range(len(names)), strict=True))
    return names, np.fromiter(map(position.__getitem__, ids), np.int64, len(ids))


def _listed_twice(file: InputFile, layout: Layout, lines: _Lines, rows: list[int]) -> KaratError:
    query, group, subgroup, doc = (shown(column[rows[0]]) for column in lines[:4])
    by = f"subgroup {subgroup} of group {group}" if lines.subgroup[rows[0]] else f"group {group}"
    what = f"document {doc} of query {query} is listed twice by {by}"
    places = [_place(file, layout, lines.sizes, row) for row in sorted(rows)]
    return KaratError(what, place=together(places), hint="Remove one of the lines.")


def _place(file: InputFile, layout: Layout, sizes: list[int], row: int) -> Place:
    """The place of a row, for which the file is read again."""
    for block, size in zip(file.blocks(whole_queries=False), sizes, strict=True):
        if row < size:
            return block.place(next(islice(data_lines(block, layout), row, None))[0])
        row -= size
    return Place(file.name)
