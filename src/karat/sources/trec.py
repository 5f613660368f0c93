"""Read TREC qrels (ground truth) and runs.

Columns are separated by any mix of spaces and tabs; blank lines and lines that begin with # are skipped. Arrow's CSV
parser reads the text as it is if every separator is a single character; otherwise white space is collapsed first. If
both fail, each line is parsed in Python, which defines the format and names the line with an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from karat.errors import KaratError, plural, shown
from karat.file_kinds import not_trec
from karat.judged import Floats
from karat.sources.arrays import Column, concatenate, text_column, to_numpy
from karat.sources.containers import Batch, ScoredRows
from karat.sources.grouping import group_by_query, group_consecutive
from karat.sources.text_file import BOM, Block, Progress, TextFile

_PEEK = 4096  # bytes


class Layout(NamedTuple):
    """The columns of a file format, and which of them is the number to read."""

    kind: str
    columns: tuple[str, ...]
    number: str
    open_ended: bool
    hint: str


# As in trec_eval, text after the tag of a run is ignored, and text after a grade is an error.
RUN = Layout(
    "run", ("query", "Q0", "doc", "rank", "score", "tag"), "score", True,
    "A TREC run has six columns: query Q0 document rank score tag.",
)  # fmt: skip
QRELS = Layout(
    "ground truth", ("query", "iteration", "doc", "grade"), "grade", False,
    "A TREC qrels file has four columns: query iteration document grade.",
)  # fmt: skip


class Columns(NamedTuple):
    """The columns that are read from some lines."""

    query: Column
    doc: Column
    number: Floats


@dataclass(frozen=True)
class TrecRun:
    """A run in a file, or on standard input."""

    source: TextFile
    progress: Progress | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def batches(self) -> Iterator[Callable[[], Batch]]:
        """One batch per block of the file."""
        for block in self.source.blocks(self.progress):
            yield lambda block=block: self._batch(block)  # type: ignore[misc]  # the default argument binds the block

    def as_one_batch(self) -> Batch:
        """The whole run, for a file whose lines are not grouped by query."""
        return group_by_query(*_read_all(self.source, RUN), self._locate)

    def empty_error(self) -> KaratError:
        """The error for a file without data lines."""
        return _empty_error(self.source, RUN)

    def without_progress(self) -> TrecRun:
        """The same run, to be read again without reporting progress."""
        return TrecRun(self.source)

    def _batch(self, block: Block) -> ScoredRows:
        return group_consecutive(*_read_block(block, RUN), self._locate)

    def _locate(self, query: str, doc: str) -> str:
        return _locate(self.source, query, doc)


def read_qrels(source: TextFile) -> ScoredRows:
    """Read the judgments of a qrels file, grouped by query."""
    columns = _read_all(source, QRELS)
    return group_by_query(*columns, lambda query, doc: _locate(source, query, doc))


def _read_all(source: TextFile, layout: Layout) -> Columns:
    parts = [_read_block(block, layout) for block in source.blocks()]
    if not any(len(part.number) for part in parts):
        raise _empty_error(source, layout)
    return Columns(
        concatenate(part.query for part in parts),
        concatenate(part.doc for part in parts),
        np.concatenate([part.number for part in parts]),
    )


def _read_block(block: Block, layout: Layout) -> Columns:
    """The columns of a block: with Arrow if possible, otherwise line by line."""
    data = block.data
    separator = _single_separator(data)
    columns = _parse_with_arrow(data, separator, layout) if separator else None
    if columns is None and b"\0" not in (collapsed := _collapse_white_space(bytes(data))):
        columns = _parse_with_arrow(collapsed, " ", layout)
    return columns or _parse_lines(block, layout)


def _single_separator(data: memoryview) -> str | None:
    """The separator, if all separators and line ends are single characters and there is no other white space."""
    text = np.frombuffer(data, np.uint8)
    blank = text <= ord(" ")
    if blank[0] or (blank[-1] and text[-1] != ord("\n")) or (blank[1:] & blank[:-1]).any():
        return None
    separator = "\t" if b"\t" in bytes(data[:_PEEK]) else " "
    line_ends = np.count_nonzero(text == ord("\n"))
    if separator == " ":
        return separator if np.count_nonzero(text < ord(" ")) == line_ends else None
    return separator if np.count_nonzero(text == ord("\t")) + line_ends == np.count_nonzero(blank) else None


def _collapse_white_space(data: bytes) -> bytes:
    """The same lines without comments, with one space between columns."""
    data = data.translate(_ONE_SPACE)
    if b"#" in data:
        data = re.sub(rb"(?m)^ *#[^\n]*\n?", b"", data)
    text = np.frombuffer(data, np.uint8)
    for is_extra in (_before_blank, _after_line_end):
        text = text[~is_extra(text)]
    return text.tobytes()


_ONE_SPACE = bytes.maketrans(b"\t\v\f\r", b"   \n")


def _before_blank(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    following = np.append(text[1:], ord("\n"))
    extra: NDArray[np.bool_] = (text == ord(" ")) & ((following == ord(" ")) | (following == ord("\n")))
    return extra


def _after_line_end(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    before = np.append(np.uint8(ord("\n")), text[:-1])
    extra: NDArray[np.bool_] = (text == ord(" ")) & (before == ord("\n"))
    return extra


def _parse_with_arrow(data: memoryview | bytes, separator: str, layout: Layout) -> Columns | None:
    """The columns as Arrow reads them; None if Arrow might read them differently from `_parse_lines`."""
    if not len(data) or bytes(data[:3]) == BOM:
        return None  # Arrow drops a byte order mark, which is part of an id here
    # ASCII is valid UTF-8, and one pass over all bytes is cheaper than Arrow's check of each id.
    is_ascii = bool(np.frombuffer(data, np.uint8).max() < 128)
    try:
        table = csv.read_csv(
            pa.BufferReader(pa.py_buffer(data)),
            csv.ReadOptions(column_names=layout.columns, use_threads=False, block_size=min(len(data) + 1, 1 << 30)),
            csv.ParseOptions(delimiter=separator, quote_char=False, double_quote=False, escape_char=False),
            csv.ConvertOptions(
                include_columns=["query", "doc", layout.number],
                column_types={"query": pa.string(), "doc": pa.string(), layout.number: pa.float64()},
                null_values=[],
                strings_can_be_null=False,
                check_utf8=not is_ascii,
            ),
        )
    except pa.ArrowInvalid:
        return None
    query, doc = concatenate(table["query"].chunks), concatenate(table["doc"].chunks)
    parts = [to_numpy(chunk, np.float64) for chunk in table[layout.number].chunks]
    number = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not np.isfinite(number).all() or (_contains_hash_sign(data) and _any_comment(query)):
        return None
    return Columns(query, doc, number)


def _contains_hash_sign(data: memoryview | bytes) -> bool:
    return bool((np.frombuffer(data, np.uint8) == ord("#")).any())


def _any_comment(query: Column) -> bool:
    return bool(pc.any(pc.starts_with(pc.run_end_encode(query).values, "#")).as_py())


def _parse_lines(block: Block, layout: Layout) -> Columns:
    """The columns, parsed line by line: the definition of the format. The first invalid line is an error."""
    queries, docs, values = [], [], []
    wanted, at = len(layout.columns), layout.columns.index(layout.number)
    for number, line in enumerate(bytes(block.data).splitlines()):
        tokens = line.split()
        if not tokens or tokens[0].startswith(b"#"):
            continue
        where = partial(block.where, number)
        if b"\0" in line:
            raise KaratError(
                "the line contains a NUL byte",
                where=where(),
                hint="This is binary data, or UTF-16: TREC files are text in UTF-8.",
            )
        if len(tokens) < wanted or (len(tokens) > wanted and not layout.open_ended):
            raise _not_trec(block, layout) or _wrong_column_count(tokens, layout, where())
        queries.append(_text(tokens[0], where))
        docs.append(_text(tokens[2], where))
        values.append(_number(tokens[at], layout, block, where))
    return Columns(text_column(queries), text_column(docs), np.asarray(values, np.float64))


def _text(token: bytes, where: Callable[[], str]) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise KaratError(f"{shown(token)} is not UTF-8", where=where(), hint="Save the file as UTF-8.") from None


def _number(token: bytes, layout: Layout, block: Block, where: Callable[[], str]) -> float:
    try:
        number = math.nan if b"_" in token else float(token)
        valid = not math.isnan(number) and (math.isfinite(number) or layout is RUN)
    except ValueError:
        valid = False
    if not valid:
        text = token.decode(errors="replace")
        what = f"{layout.number} {shown(text)} is not a number"
        raise _not_trec(block, layout) or KaratError(what, where=where(), hint=layout.hint)
    return number


def _not_trec(block: Block, layout: Layout) -> KaratError | None:
    """The error if the file has another format: JSON, or a table with a header."""
    wanted = "a TREC run" if layout is RUN else "a TREC qrels file"
    hint = "A results file contains its own ground truth: karat evaluate results.jsonl."
    return not_trec(block.source.start(), block.source.name, wanted, hint)


def _wrong_column_count(tokens: list[bytes], layout: Layout, where: str) -> KaratError:
    count, hint = len(tokens), layout.hint
    if layout is QRELS and count >= len(RUN.columns):
        hint += " This looks like a run: are ground truth and run in the wrong order?"
    elif layout is RUN and count == len(QRELS.columns):
        hint += " This looks like ground truth: are ground truth and run in the wrong order?"
    return KaratError(f"the line has {plural(count, 'column')}", where=where, hint=hint)


def _locate(source: TextFile, query: str, doc: str) -> str:
    """The first two lines with this query and document: `run.trec:3 and 7`."""
    wanted = query.encode(), doc.encode()
    lines: list[int] = []
    for block in source.blocks():
        data = bytes(block.data)
        lines_of_block = data.splitlines() if wanted[1] in data else []
        found = [at for at, line in enumerate(lines_of_block) if tuple(line.split(None, 3)[:3:2]) == wanted]
        before = source.lines_before(block.offset) if found else 0
        lines += [before + at + 1 for at in found]
        if len(lines) > 1:
            return f"{source.name}:{lines[0]} and {lines[1]}"
    return source.name


def _empty_error(source: TextFile, layout: Layout) -> KaratError:
    return KaratError(f"the {layout.kind} is empty", where=source.name, hint=layout.hint)
