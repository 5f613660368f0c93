"""Read large TREC files in blocks, with Arrow.

Arrow's CSV parser reads a block as it is if every separator is a single character; otherwise white space is collapsed
first. If both fail, each line is parsed in Python.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
from numpy.typing import NDArray

from karat.reading.bytes.input_file import BOM, Block
from karat.reading.pairs.arrays import Column, concatenate, text_column, to_numpy
from karat.reading.pairs.tables import Columns, columns_of
from karat.reading.pairs.trec import Layout, parse_lines

_PEEK = 4096  # bytes


def read_block(block: Block, layout: Layout) -> Columns:
    """The columns of a block: with Arrow if possible, otherwise line by line."""
    data = block.data
    separator = _single_separator(data)
    columns = _parse_with_arrow(data, separator, layout) if separator else None
    if columns is None and b"\0" not in (collapsed := _collapse_white_space(bytes(data))):
        columns = _parse_with_arrow(collapsed, " ", layout) if collapsed else _no_columns()
    if columns is None:
        columns = columns_of(parse_lines(block, layout))
    return columns


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


def _no_columns() -> Columns:
    return Columns(text_column([]), text_column([]), np.empty(0))


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
