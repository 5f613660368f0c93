"""TREC truths (qrels) and runs.

The columns stand between any mix of spaces and tabs; blank lines and lines that begin with # are passed over.
Arrow's parser takes the text as it is where it is tidy, squeezed where it is not, and where both fail
each line is read by hand, which is the definition of the format here and names the line that breaks it.
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

from karat.errors import KaratError, shown
from karat.judged import Floats
from karat.sources.arrays import Column, concatenate, text_column, to_numpy
from karat.sources.containers import Batch, ScoredRows
from karat.sources.grouping import group_by_query, group_consecutive
from karat.sources.text_file import BOM, Block, Progress, TextFile

_LOOK = 4096


class Layout(NamedTuple):
    """The columns of a file, and which of them is the number that we read."""

    kind: str
    columns: tuple[str, ...]
    number: str
    open_ended: bool
    hint: str


# trec_eval ignores what follows a run's tag, and refuses what follows a grade.
RUN = Layout(
    "run", ("query", "Q0", "doc", "rank", "score", "tag"), "score", True,
    "A TREC run has six columns: query Q0 document rank score tag.",
)  # fmt: skip
QRELS = Layout(
    "truth", ("query", "iteration", "doc", "grade"), "grade", False,
    "A TREC truth (qrels) has four columns: query iteration document grade.",
)  # fmt: skip


class Columns(NamedTuple):
    """What is read of some lines."""

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
        """Block by block."""
        for block in self.source.blocks(self.progress):
            yield lambda block=block: self._batch(block)  # type: ignore[misc]  # the default binds the block

    def as_one_batch(self) -> Batch:
        """All of it, for a run whose queries are scattered over the file."""
        return group_by_query(*_read_all(self.source, RUN), self._places)

    def empty_error(self) -> KaratError:
        """The error for a file without a line of data."""
        return _empty(self.source, RUN)

    def without_progress(self) -> TrecRun:
        """The same file, to be read without telling how far it is."""
        return TrecRun(self.source)

    def _batch(self, block: Block) -> ScoredRows:
        return group_consecutive(*_read(block, RUN), self._places)

    def _places(self, query: str, doc: str) -> str:
        return _places(self.source, query, doc)


def read_qrels(source: TextFile) -> ScoredRows:
    """The judgments of a qrels file, group_by_query by query."""
    columns = _read_all(source, QRELS)
    return group_by_query(*columns, lambda query, doc: _places(source, query, doc))


def _read_all(source: TextFile, layout: Layout) -> Columns:
    parts = [_read(block, layout) for block in source.blocks()]
    if not any(len(part.number) for part in parts):
        raise _empty(source, layout)
    return Columns(
        concatenate(part.query for part in parts),
        concatenate(part.doc for part in parts),
        np.concatenate([part.number for part in parts]),
    )


def _read(block: Block, layout: Layout) -> Columns:
    """The columns of some lines: by the fast ways, if they can tell; else by hand."""
    data = block.data
    separator = _tidy(data)
    columns = _by_arrow(data, separator, layout) if separator else None
    if columns is None and b"\0" not in (squeezed := _squeezed(bytes(data))):
        columns = _by_arrow(squeezed, " ", layout)
    return columns or _by_hand(block, layout)


def _tidy(data: memoryview) -> str | None:
    """The separator, if each separator and each line end stands alone and there is no other white space."""
    text = np.frombuffer(data, np.uint8)
    blank = text <= ord(" ")
    if blank[0] or (blank[-1] and text[-1] != ord("\n")) or (blank[1:] & blank[:-1]).any():
        return None
    separator = "\t" if b"\t" in bytes(data[:_LOOK]) else " "
    line_ends = np.count_nonzero(text == ord("\n"))
    if separator == " ":
        return separator if np.count_nonzero(text < ord(" ")) == line_ends else None
    return separator if np.count_nonzero(text == ord("\t")) + line_ends == np.count_nonzero(blank) else None


def _squeezed(data: bytes) -> bytes:
    """The same lines without comments, each column separated by one space."""
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


def _by_arrow(data: memoryview | bytes, separator: str, layout: Layout) -> Columns | None:
    """The columns as Arrow reads them; None where something in them is not plain."""
    if not len(data) or bytes(data[:3]) == BOM:
        return None  # Arrow drops a byte order mark, which is part of an id here
    # What is ASCII is UTF-8, and one look over it is cheaper than Arrow's at every id.
    plain = bool(np.frombuffer(data, np.uint8).max() < 128)
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
                check_utf8=not plain,
            ),
        )
    except pa.ArrowInvalid:
        return None
    query, doc = concatenate(table["query"].chunks), concatenate(table["doc"].chunks)
    parts = [to_numpy(chunk, np.float64) for chunk in table[layout.number].chunks]
    number = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if not np.isfinite(number).all() or (_holds_hash(data) and _a_comment_among(query)):
        return None
    return Columns(query, doc, number)


def _holds_hash(data: memoryview | bytes) -> bool:
    return bool((np.frombuffer(data, np.uint8) == ord("#")).any())


def _a_comment_among(query: Column) -> bool:
    return bool(pc.any(pc.starts_with(pc.run_end_encode(query).values, "#")).as_py())


def _by_hand(block: Block, layout: Layout) -> Columns:
    """Line by line, as the format is defined; the first line that breaks it is an error."""
    queries, docs, values = [], [], []
    wanted, at = len(layout.columns), layout.columns.index(layout.number)
    for number, line in enumerate(bytes(block.data).splitlines()):
        tokens = line.split()
        if not tokens or tokens[0].startswith(b"#"):
            continue
        where = partial(block.where, number)
        if b"\0" in line:
            raise KaratError(
                "there is a NUL byte in this line",
                where=where(),
                hint="This is binary data, or UTF-16: TREC files are text in UTF-8.",
            )
        if len(tokens) < wanted or (len(tokens) > wanted and not layout.open_ended):
            raise _wrong_columns(tokens, layout, where())
        queries.append(_text(tokens[0], where))
        docs.append(_text(tokens[2], where))
        values.append(_number(tokens, at, layout, where))
    return Columns(text_column(queries), text_column(docs), np.asarray(values, np.float64))


def _text(token: bytes, where: Callable[[], str]) -> str:
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise KaratError(f"{shown(token)} is not UTF-8", where=where(), hint="Save the file as UTF-8.") from None


def _number(tokens: list[bytes], at: int, layout: Layout, where: Callable[[], str]) -> float:
    token = tokens[at]
    try:
        number = math.nan if b"_" in token else float(token)
        good = not math.isnan(number) and (math.isfinite(number) or layout is RUN)
    except ValueError:
        good = False
    if not good:
        text = token.decode(errors="replace")
        raise KaratError(
            f"{layout.number} {shown(text)} is not a number", where=where(), hint=layout.hint + _if_json(tokens)
        )
    return number


def _if_json(tokens: list[bytes]) -> str:
    """A hint for who gives a file of results where a truth or a run belongs."""
    if not tokens[0].startswith(b"{"):
        return ""
    return " This looks like results of RAG, which hold their own truth: karat evaluate results.jsonl."


def _wrong_columns(tokens: list[bytes], layout: Layout, where: str) -> KaratError:
    count, hint = len(tokens), layout.hint + _if_json(tokens)
    if layout is QRELS and count >= len(RUN.columns):
        hint += " This looks like a run: are truth and run in the wrong order?"
    elif layout is RUN and count == len(QRELS.columns):
        hint += " This looks like a truth: are truth and run in the wrong order?"
    return KaratError(f"{count} column{'s' if count != 1 else ''}", where=where, hint=hint)


def _places(source: TextFile, query: str, doc: str) -> str:
    """The first two lines that hold this query and document: `run.trec:3 and 7`."""
    wanted = query.encode(), doc.encode()
    lines: list[int] = []
    for block in source.blocks():
        data = bytes(block.data)
        there = data.splitlines() if wanted[1] in data else []
        found = [at for at, line in enumerate(there) if tuple(line.split(None, 3)[:3:2]) == wanted]
        before = source.lines_before(block.offset) if found else 0
        lines += [before + at + 1 for at in found]
        if len(lines) > 1:
            return f"{source.name}:{lines[0]} and {lines[1]}"
    return source.name


def _empty(source: TextFile, layout: Layout) -> KaratError:
    return KaratError(f"the {layout.kind} is empty", where=source.name, hint=layout.hint)
