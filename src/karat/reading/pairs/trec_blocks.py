"""Read large TREC files in blocks, with Arrow.

Arrow's CSV parser reads a block as it is if every separator is a single character; otherwise white space is collapsed
first. If both fail, each line is parsed in Python.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from karat.reading.bytes.blocks import Block
from karat.reading.pairs.arrays import Column, text_column
from karat.reading.pairs.delimited_blocks import columns_by_arrow, line_end_after, read_quickly
from karat.reading.pairs.pair_checks import are_valid, ordered
from karat.reading.pairs.tables import Columns
from karat.reading.pairs.trec import Layout, parse_lines

_PEEK = 4096  # bytes
_PIECE = 1 << 17  # bytes; what is computed from so many stays in the processor's cache


def read_block(block: Block, layout: Layout) -> Columns:
    """The columns of a block: with Arrow if possible, otherwise line by line."""
    return read_quickly(
        block, lambda part: _read_with_arrow(part.data, layout), lambda part: parse_lines(part, layout), line_end_after
    )


def _read_with_arrow(data: memoryview, layout: Layout) -> Columns | None:
    """The columns of some lines; None if Arrow cannot read one of them."""
    separator = _single_separator(data)
    columns = _parse_with_arrow(data, separator, layout) if separator else None
    if columns is None and b"\0" not in (collapsed := _collapse_white_space(bytes(data))):
        empty = Columns(text_column([]), text_column([]), np.empty(0))
        columns = _parse_with_arrow(collapsed, " ", layout) if collapsed else empty
    return columns


def _single_separator(data: memoryview) -> str | None:
    """The separator, if each separator and line end is one character and there is no other white space; else None."""
    text = np.frombuffer(data, np.uint8)
    if text[0] <= ord(" ") or (text[-1] <= ord(" ") and text[-1] != ord("\n")):
        return None
    separator = "\t" if b"\t" in bytes(data[:_PEEK]) else " "
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE + 1]  # with the first character of the next piece
        blank = piece <= ord(" ")
        expected = np.count_nonzero(piece == ord(separator)) + np.count_nonzero(piece == ord("\n"))
        if np.count_nonzero(blank) != expected or (blank[1:] & blank[:-1]).any():
            return None
    return separator


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
    if columns is None or (has_hash_sign and _any_comment(columns.query)):
        return None
    if layout.number != "rank":  # grades and scores are valid: Arrow reads finite numbers only
        return columns
    rules = layout.rules
    return columns._replace(number=ordered(columns.number, rules)) if are_valid(columns.number, rules) else None


def _any_comment(query: Column) -> bool:
    return bool(pc.any(pc.starts_with(pc.run_end_encode(query).values, "#")).as_py())
