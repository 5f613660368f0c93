"""What has to be known about ranges of verdict files before their records are read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from karat.errors import Place
from karat.grounding.verdict_file.file_lines import FileLines
from karat.grounding.verdict_file.line_queries import SHARED, LineQueries
from karat.grounding.verdict_file.records import Call, read_call
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_lines


class RangeSurvey(NamedTuple):
    """How many lines a range has, which queries they are about, and the records that are about none."""

    lines: int
    queries: frozenset[str]
    described: FileLines
    """rubrics, the version of the file, and records that lack a query"""
    calls: Sequence[Call]


def survey_range(file: InputFile) -> RangeSurvey:
    """Survey a range of a verdict file, whose lines are numbered from 1.

    A line that is not a record is left out: whoever reads the records of the range finds the error.
    """
    count, found = 0, LineQueries()
    described, calls = FileLines(file.name, numbers := list[int](), others := list[bytes]()), list[Call]()
    for first, lines in file.lines_in_blocks():
        for at in np.flatnonzero(found.numbers(pa.array(lines, pa.binary())) == SHARED).tolist():
            (record,) = decode_lines([lines[at]]) or [None]
            if isinstance(record, dict) and record.get("record") == "call":
                call = read_call(record, Place(file.name, line=first + at))
                calls.append(call._replace(reply_start=None))
            elif isinstance(record, dict):
                numbers.append(first + at)
                others.append(lines[at])
        count = first + len(lines) - 1
    queries = set()
    for query in found.queries:
        with suppress(UnicodeDecodeError):  # not UTF-8, which is an error when it is read
            queries.add(query.decode(errors="surrogatepass"))
    return RangeSurvey(count, frozenset(queries), described, calls)
