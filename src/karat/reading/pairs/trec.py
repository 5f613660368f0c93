"""TREC qrels (ground truth) and runs: large files are read in blocks, with Arrow, and small files in plain Python.

`parse_lines` defines the formats, and finds the errors about a line. Columns are separated by any mix of spaces and
tabs; blank lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from karat.errors import KaratError, Place, plural
from karat.reading.bytes.blocks import Block
from karat.reading.bytes.input_file import InputFile, Progress
from karat.reading.pairs.pair_checks import NoPairsError, PairColumns, PairRules, read_pairs
from karat.reading.pairs.places import FEW_PAIRS, Pair, PlacedPair, placed_lines
from karat.reading.pairs.tables import Columns, Number, by_query, is_small_file


@dataclass(frozen=True)
class TrecTable:
    """A TREC file: qrels, whose rows have grades, or a run, whose rows have scores."""

    source: InputFile
    number: Number
    by_rank = False
    notes = ()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def _layout(self) -> Layout:
        return layout_of_trec(self.number)

    def parts(self, progress: Progress | None = None, *, whole_queries: bool = True) -> Iterator[Callable[[], Columns]]:
        """One part per block of the file."""
        for block in self.source.blocks(progress, whole_queries=whole_queries):
            yield partial(_read_block, block, self._layout)

    def small(self, progress: Progress | None = None) -> dict[str, dict[str, float]] | None:
        """The number of each document of each query in a small file."""
        if not is_small_file(self.source):
            return None
        data = self.source.read_all()
        if progress:
            progress(len(data), len(data))
        return by_query(parse_lines(Block(memoryview(data), self.source, 0, 0), self._layout))

    def locate(self, pairs: Collection[Pair]) -> Iterator[PlacedPair]:
        """The lines with these queries and documents."""
        wanted = {(query.encode(), doc.encode()): (query, doc) for query, doc in pairs}

        def lines_in(block: Block) -> Iterator[tuple[int, Pair]]:
            data = bytes(block.data)
            if len(wanted) > FEW_PAIRS or any(doc in data for _, doc in wanted):
                for at, line in enumerate(data.splitlines()):
                    query, _, doc = (*line.split(None, 3)[:3], b"", b"", b"")[:3]
                    if pair := wanted.get((query, doc)):
                        yield at, pair

        return placed_lines(self.source.blocks(), lines_in)

    def empty_error(self) -> KaratError:
        """The error for a file without data lines."""
        return empty_error(self.source, self._layout)


def _read_block(block: Block, layout: Layout) -> Columns:
    # imported where a block is parsed, so that the next ones are read meanwhile
    from karat.reading.pairs.trec_blocks import read_block

    return read_block(block, layout)


class Layout(NamedTuple):
    """The columns of a file format, and which of them is the number to read."""

    kind: str
    columns: tuple[str, ...]
    number: Number
    open_ended: bool
    hint: str

    @property
    def rules(self) -> PairRules:
        """What the pairs of a file must be."""
        return PairRules(self.number, self.hint, encoded=True)


# As in trec_eval, text after the tag of a run is ignored, and text after a grade is an error.
RUN = Layout(
    "run", ("query", "Q0", "doc", "rank", "score", "tag"), "score", True,
    "A TREC run has six columns: query Q0 document rank score tag.",
)  # fmt: skip
RANKS = RUN._replace(number="rank")
QRELS = Layout(
    "ground truth", ("query", "iteration", "doc", "grade"), "grade", False,
    "A TREC qrels file has four columns: query iteration document grade.",
)  # fmt: skip

GROUPED = QRELS._replace(
    columns=("query", "group", "doc", "grade"),
    hint="A qrels file with judgment groups has four columns: query group document grade.",
)
PREFERENCES = Layout(
    "file of preferences", ("query", "group", "subgroup", "doc", "grade"), "grade", False,
    "A file of preferences has five columns: query group subgroup document grade.",
)  # fmt: skip

_FIRST_LINES = 20
_END = 1 << 16  # bytes in which the last line is, unless others that are blank or comments follow it
_COMMENT = ord("#")


def last_tag(run: InputFile) -> str:
    """The name of a run: the sixth column of the last line with data; empty if there is none."""
    tag = b""
    if not run.is_compressed():
        with run.seekable() as file:
            start = max(0, file.seek(0, os.SEEK_END) - _END)
            file.seek(start)
            # The first line may be cut.
            tag = _tag(file.read().splitlines()[1 if start else 0 :])
    if not tag:
        for block in run.blocks():
            tag = _tag(bytes(block.data).splitlines()) or tag
    return tag.decode("utf-8", "backslashreplace")


def _tag(lines: list[bytes]) -> bytes:
    at = RUN.columns.index("tag")
    rows = (row for row in map(bytes.split, reversed(lines)) if row and row[0][0] != _COMMENT)
    return next((row[at] for row in rows if len(row) > at), b"")


def layout_of_trec(number: Number) -> Layout:
    """The layout of ground truth or of a run."""
    return {"grade": QRELS, "score": RUN, "rank": RANKS}[number]


def fits(start: bytes, layout: Layout) -> bool:
    """Whether `parse_lines` accepts the first lines of a file, whatever blanks and tabs are between the columns."""
    rows = first_rows(start)
    return bool(rows) and all(_fits(row, layout) for row in rows)


def first_rows(start: bytes) -> list[list[bytes]]:
    """The columns of the first lines, judging by the first bytes of a file. The last line may be cut."""
    lines = (line.split() for line in start.splitlines())
    rows = [*islice((row for row in lines if row and not row[0].startswith(b"#")), _FIRST_LINES)]
    return rows if start.endswith((b"\n", b"\r")) or not 1 < len(rows) < _FIRST_LINES else rows[:-1]


def has_width_of_trec(row: Sequence[object]) -> bool:
    """Whether a row has as many columns as TREC qrels or a TREC run."""
    return len(row) == len(QRELS.columns) or len(row) >= len(RUN.columns)


def _fits(tokens: list[bytes], layout: Layout) -> bool:
    count, wanted = len(tokens), len(layout.columns)
    if count < wanted or (count > wanted and not layout.open_ended):
        return False
    if any(all(token.endswith(separator) for token in tokens[:-1]) for separator in (b",", b";")):
        return False  # CSV with blanks after its separators
    try:
        return not math.isnan(float(tokens[layout.columns.index(layout.number)]))
    except ValueError:
        return False


def parse_lines(block: Block, layout: Layout) -> PairColumns:
    """The pairs in all lines. The first invalid line is an error, unless such lines are collected."""
    doc, at = layout.columns.index("doc"), layout.columns.index(layout.number)
    numbers: list[int] = []  # of the lines that are rows

    def rows() -> Iterator[tuple[str, str, str]]:
        numbers.clear()
        if columns := _regular_columns(bytes(block.data), layout):
            yield from zip(columns[0], columns[doc], columns[at], strict=True)
            return
        for number, tokens in data_lines(block, layout):
            numbers.append(number)
            try:
                yield tokens[0].decode(), tokens[doc].decode(), tokens[at].decode()
            except UnicodeDecodeError:
                yield text_of(tokens[0]), text_of(tokens[doc]), text_of(tokens[at])

    def place(row: int, _column: int) -> Place:
        return block.place(numbers[row] if numbers else row)

    return read_pairs(rows, layout.rules, place, block.source.rejected)


def _regular_columns(data: bytes, layout: Layout) -> list[list[str]] | None:
    """The columns, if each line has as many as the layout, in UTF-8, and there are no comments; otherwise None."""
    width = len(layout.columns)
    if b"#" in data or b"\0" in data or {*map(len, map(bytes.split, data.splitlines()))} != {width}:
        return None
    try:
        # Columns are separated as bytes are: white space beyond ASCII is part of an id.
        values = b"\n".join(data.split()).decode().split("\n")
    except UnicodeDecodeError:
        return None
    return [values[at::width] for at in range(width)]


def data_lines(block: Block, layout: Layout) -> Iterator[tuple[int, list[bytes]]]:
    """The columns of each line, with its number, from 0."""
    data, wanted = bytes(block.data), len(layout.columns)
    has_nul = b"\0" in data
    for number, tokens in enumerate(map(bytes.split, lines := data.splitlines())):
        if not tokens or tokens[0][0] == _COMMENT:
            continue
        if has_nul and b"\0" in lines[number]:
            hint = "This is binary data, or UTF-16: TREC files are text in UTF-8."
            block.reject(KaratError("the line contains a NUL byte", place=block.place(number), hint=hint))
            continue
        if len(tokens) != wanted and (len(tokens) < wanted or not layout.open_ended):
            block.reject(_wrong_column_count(tokens, layout, block.place(number)))
            continue
        yield number, tokens


def text_of(token: bytes) -> str:
    """A column as a text, in which lone surrogates stand for bytes that are not UTF-8."""
    return token.decode("utf-8", "surrogateescape")


def _wrong_column_count(tokens: list[bytes], layout: Layout, place: Place) -> KaratError:
    count, hint = len(tokens), layout.hint
    if layout == QRELS and count >= len(RUN.columns):
        hint += " This looks like a run: are ground truth and run in the wrong order?"
    elif layout == RUN and count == len(QRELS.columns):
        hint += " This looks like ground truth: are ground truth and run in the wrong order?"
    elif layout == PREFERENCES and count == len(QRELS.columns):
        hint += " These look like qrels, which `karat trec -R qrels_prefs` reads as preferences."
    elif layout in (QRELS, GROUPED) and count == len(PREFERENCES.columns):
        hint += " This looks like a file of preferences, which `karat trec -R prefs` reads."
    return KaratError(f"the line has {plural(count, 'column')}", place=place, hint=hint)


def empty_error(source: InputFile, layout: Layout) -> KaratError:
    """The error for a file without data lines."""
    return NoPairsError(f"the {layout.kind} is empty", place=source.name, hint=layout.hint)
