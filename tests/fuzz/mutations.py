"""Damage to files at the level of bytes, lines, and the words, numbers and brackets of a text; compression, Parquet."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from tests.compressions import COMPRESS

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.+-]+|\s+|.', re.DOTALL)
_HOSTILE = r"""
    nan|NaN|inf|-Infinity|1e999|-1e999|1e-999|-0|0|1|-1|2|0.5|1_000|0x10|١|²|½|1,5|+1|.5|1.|1e|--1|9223372036854775808|4300
    null|true|false|None|""|"a"|"\ud800"|"\u0000"|"\u202e"|"\x"|[]|{}|[[]]|{"a":1}|[null]|[1,2]|{"a":{"b":[1]}}|"q1"|"d1"
    q1|q2|d1|d3|AP|nDCG@10|P@5|Q0|query|score|answer|truth|retrieved|gold_answers|id|content|meta|text|language|run|measure|queries|values
    "|'|,|;|:|{|}|[|]|#|=|\|@|(|)|/*|<!--|%|🏆|é|日本|ﬁ|&amp;|=1+1|@import|::error::|##[error]|$(x)|../..|-|--help
""".strip()
TOKENS = [each for line in _HOSTILE.splitlines() for each in line.strip().split("|")]
# Numbers and brackets that are valid, but larger and deeper than anybody expects.
_HUGE = [
    "9" * 5000,
    "[" * 900 + "]" * 900,
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 5000 + "1" + "}" * 5000,
    "AP(" + "," * 5000,
]
_RAW = [
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\r\n", b"\n", b"\n\n",
    b"\x0b", b"\x0c", b"\x1a", b"\x1b[2J", b"\x7f", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\t", b" ",
    b"PK\x03\x04", b"\x1f\x8b", b"PAR1",
    b"# comment\n", b"[" * 100_000, b"9" * 5000, b"a" * 70_000, b"{\"a\":" * 1500,
]  # fmt: skip


def damaged(content: bytes, kind: str, random: Random) -> bytes:
    """The content of a file with one to four changes that suit its kind."""
    if kind == "parquet" and random.random() < 0.6:
        content = _changed_table(content, random)
    text_like = kind not in ("parquet", "feather", "arrows")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        change = random.choice(
            (change_tokens, change_tokens, change_lines, change_bytes) if text_like else (change_bytes,)
        )
        content = change(content, random)
        if kind == "parquet" and random.random() < 0.5:
            break
    return _compressed(content, random) if text_like and random.random() < 0.1 else content


def change_bytes(content: bytes, random: Random) -> bytes:
    """Flip, remove, repeat or insert some bytes."""
    start = random.randrange(len(content) + 1)
    end = min(len(content), start + random.choice((1, 1, 2, 8, 100, 10_000)))
    action = random.randrange(5)
    if action == 0 and start < len(content):
        return content[:start] + bytes([content[start] ^ 1 << random.randrange(8)]) + content[start + 1 :]
    if action == 1:
        return content[:start] + content[end:]
    if action == 2:
        return content[:end] + content[start:]
    if action == 3:
        return content[:start]
    return content[:start] + random.choice(_RAW) + content[start:]


def change_lines(content: bytes, random: Random) -> bytes:
    """Remove, repeat, move, join or insert a line."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return random.choice(_RAW)
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(6)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines.insert(other, lines[at])
    elif action == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif action == 3:
        lines[at] = lines[at].rstrip(b"\r\n")
    elif action == 4:
        lines.insert(
            at,
            random.choice(
                (b"\n", b"# x\n", b"x\n", b"\x00\n", b" \n", b"{}\n", b"[]\n", b",,,,\n", b"a b c d e f g\n")
            ),
        )
    else:
        lines = [line.rstrip(b"\r\n") + b"\r\n" for line in lines]
    return b"".join(lines)


def change_tokens(content: bytes, random: Random) -> bytes:
    """Replace, remove, repeat or swap words, numbers, quoted texts, blanks and brackets."""
    tokens = _TOKENS.findall(content.decode("utf-8", "surrogateescape"))
    if not tokens:
        return b""
    at, other = random.randrange(len(tokens)), random.randrange(len(tokens))
    action = random.random()
    if action < 0.6:
        tokens[at] = random.choice(TOKENS if random.random() < 0.95 else _HUGE)
    elif action < 0.7:
        del tokens[at]
    elif action < 0.8:
        tokens.insert(at, tokens[other])
    elif action < 0.9:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    else:
        tokens[at] = tokens[at] * random.choice((2, 3, 1000))
    return "".join(tokens).encode("utf-8", "surrogateescape")


def _compressed(content: bytes, random: Random) -> bytes:
    """Compressed data, sometimes cut off, with a wrong checksum, in two parts, or followed by something else."""
    packed = random.choice(list(COMPRESS.values()))(content)
    return random.choice(
        (
            packed,
            packed,
            packed[:-5],
            packed[: len(packed) // 2],
            packed + packed,
            packed + b"x",
            change_bytes(packed, random),
        )
    )


def _changed_table(content: bytes, random: Random) -> bytes:
    """A Parquet file with another column, type, name or metadata."""
    table = pq.read_table(io.BytesIO(content))
    at = random.randrange(table.num_columns)
    rows = table.num_rows
    column = random.choice(_COLUMNS)(rows)
    action = random.randrange(6)
    if action == 0:
        table = table.set_column(at, table.column_names[at], column)
    elif action == 1:
        table = table.append_column(random.choice(["query", "AP", "P@0", "", "\u202e", "run", "x"]), column)
    elif action == 2:
        table = table.remove_column(at)
    elif action == 3:
        table = table.slice(random.randrange(rows + 1))
    elif action == 4:
        names = table.column_names
        names[at] = random.choice(["query", "AP", "P@0", "", "\x00", "AP(" + "," * 500, "a" * 5000])
        table = table.rename_columns(names)
    metadata = {
        name: change_tokens(value, random) if action == 5 else value
        for name, value in (table.schema.metadata or {}).items()
    }
    written = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), written)
    return written.getvalue()


_COLUMNS: list[Callable[[int], pa.Array]] = [
    lambda rows: pa.nulls(rows),
    lambda rows: pa.nulls(rows, pa.float64()),
    lambda rows: pa.array([b"\xff"] * rows),
    lambda rows: pa.array([[1.0]] * rows),
    lambda rows: pa.array([{"a": 1}] * rows),
    lambda rows: pa.array([True] * rows),
    lambda rows: pa.array([float("nan")] * rows),
    lambda rows: pa.array([float("inf")] * rows),
    lambda rows: pa.array(["x"] * rows),
    lambda rows: pa.array(["q1"] * rows).dictionary_encode(),
    lambda rows: pa.array(range(rows), pa.timestamp("s")),
    lambda rows: pa.array([2**64 - 1] * rows, pa.uint64()),
    lambda rows: pa.array([1] * rows, pa.decimal128(38, 2)),
]
