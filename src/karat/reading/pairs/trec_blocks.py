"""Read large TREC files in blocks, with Arrow.

Arrow's CSV parser reads a block as it is if every separator is a single character; otherwise white space is collapsed
first. If both fail, each line is parsed in Python.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.reading.bytes.input_file import Block
from karat.reading.pairs.arrays import Column, text_column
from karat.reading.pairs.delimited_blocks import columns_by_arrow
from karat.reading.pairs.tables import Columns, columns_of
from karat.reading.pairs.trec import Layout, parse_lines

_PEEK = 4096  # bytes


def read_block(block: Block, layout: Layout) -> Columns:
    """The columns of a block: with Arrow if possible, otherwise line by line."""
    data = block.data
    separator = _single_separator(data)
    columns = _parse_with_arrow(data, separator, layout) if separator else None
    if columns is None and b"\0" not in (collapsed := _collapse_white_space(bytes(data))):
        empty = Columns(text_column([]), text_column([]), np.empty(0))
        columns = _parse_with_arrow(collapsed, " ", layout) if collapsed else empty
    return columns_of(parse_lines(block, layout)) if columns is None else columns


def _single_separator(data: memoryview) -> str | None:
    """The separator, if each separator and line end is one character and there is no other white space; else None."""
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
    """The same lines without blank lines and comments, with one space between columns."""
    if data.isspace():
        return b""
    text = np.frombuffer(data.translate(_ONE_SPACE), np.uint8)
    for is_extra in (_before_blank, _after_line_end):
        text = text[~is_extra(text)]
    if b"#" in data:
        text = text[~_in_comment(text)]
    return text.tobytes()


_ONE_SPACE = bytes.maketrans(b"\t\v\f\r", b"   \n")


def _before_blank(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    following = np.append(text[1:], ord("\n"))
    extra: NDArray[np.bool_] = (text == ord(" ")) & ((following == ord(" ")) | (following == ord("\n")))
    return extra


def _after_line_end(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    before = np.append(np.uint8(ord("\n")), text[:-1])
    extra: NDArray[np.bool_] = ((text == ord(" ")) | (text == ord("\n"))) & (before == ord("\n"))
    return extra


def _in_comment(text: NDArray[np.uint8]) -> NDArray[np.bool_]:
    starts = np.flatnonzero(np.append(np.uint8(ord("\n")), text[:-1]) == ord("\n"))
    return np.repeat(text[starts] == ord("#"), np.diff(starts, append=len(text)))


def _parse_with_arrow(data: memoryview | bytes, separator: str, layout: Layout) -> Columns | None:
    """The columns as Arrow reads them; None if Arrow might read them differently from `parse_lines`."""
    positions = (0, 2, layout.columns.index(layout.number))
    columns = columns_by_arrow(data, len(layout.columns), positions, separator)
    has_hash_sign = bool((np.frombuffer(data, np.uint8) == ord("#")).any())
    return None if columns is None or (has_hash_sign and _any_comment(columns.query)) else columns


def _any_comment(query: Column) -> bool:
    return bool(pc.any(pc.starts_with(pc.run_end_encode(query).values, "#")).as_py())
