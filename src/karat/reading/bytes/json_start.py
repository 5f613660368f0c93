"""Tell a JSON file from JSON lines, judging by how it begins."""

from __future__ import annotations

import json
import re
from typing import Literal

from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.names import format_of_name

_START = 1 << 16  # bytes: the first line of JSON lines is rarely longer
_TEXT = rb'"(?:[^"\\]|\\.)*"'
# The first key of an object, and the first character of its value.
_FIRST_KEY = re.compile(rb"\s*\{\s*" + _TEXT + rb"\s*:\s*(.)")
# An object with a key, or a list of objects or texts. The ids of a TREC file may begin with brackets, too.
_JSON = re.compile(rb"[\[\s]*\{\s*(?:" + _TEXT + rb"\s*:|\}|$)|\[[\[\s]*(?:" + _TEXT + rb"\s*[,\]]|\]|$)")


def is_json(start: bytes) -> bool:
    """Whether a file begins like JSON."""
    return _JSON.match(start.lstrip()) is not None


def json_or_jsonl(file: InputFile) -> Literal["json", "jsonl"]:
    """The format of a file that begins with `{` or `[`: one JSON value, or a JSON object on each line."""
    start = file.start(_START)
    first, newline, rest = start.lstrip().partition(b"\n")
    if not newline and len(start) == _START:
        # In a long object, the first value of a record is a text or a number; that of a mapping is its documents.
        found = _FIRST_KEY.match(first)
        return "json" if not found or found[1] in b"{[" else "jsonl"
    if not rest.strip():
        return "jsonl" if format_of_name(file.name) == "jsonl" else "json"
    return "jsonl" if _is_complete(first) or (_is_line(first) and _is_line(rest.lstrip())) else "json"


def _is_complete(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _is_line(text: bytes) -> bool:
    """Whether this looks like an object on a line of its own, even if it is damaged."""
    line = text.partition(b"\n")[0].strip()
    return line.startswith(b'{"') and line.endswith((b"}", b'"', b"]"))
