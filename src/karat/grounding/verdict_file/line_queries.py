"""The queries that lines of verdict files are about, found without decoding most of the lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Ints
from karat.errors import KaratError
from karat.grounding.verdict_file.file_lines import query_of
from karat.reading.bytes.json_decoding import decode_lines

SHARED, BLANK, INVALID = -1, -2, -3
"""instead of the number of a query: records that are about none, blank lines, and what cannot be read"""
_QUERY = r'^\{"record": ?"(?:item|verdict)", ?"query": ?"(?P<query>[^"\\]+)"'


class LineQueries:
    """Numbers for queries, in the order in which they appear."""

    def __init__(self) -> None:
        self._number_of: dict[bytes, int] = {}

    @property
    def queries(self) -> list[bytes]:
        """The queries of all lines so far, as they are encoded."""
        return list(self._number_of)

    def numbers(self, lines: pa.Array) -> Ints:
        """The number of the query that each line is about."""
        names = pc.struct_field(pc.extract_regex(lines, _QUERY), "query")
        is_plain = pc.equal(pc.count_substring(lines, '"query"'), 1)
        encoded = pc.if_else(is_plain, names, b"").dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        of_name = [self._number(query) if query else INVALID for query in distinct]
        numbers: Ints = np.array([*of_name, INVALID])[encoded.indices.fill_null(len(distinct)).to_numpy()]
        for at in np.flatnonzero(numbers == INVALID).tolist():
            numbers[at] = self._number_of_line(lines[at].as_py())
        return numbers

    def _number(self, query: bytes) -> int:
        return self._number_of.setdefault(query, len(self._number_of))

    def _number_of_line(self, line: bytes) -> int:
        if not line or line.isspace():
            return BLANK
        if b'"query"' not in line and b"\\u" not in line:
            return SHARED
        (record,) = decode_lines([line]) or [None]
        if not isinstance(record, dict):
            return INVALID
        try:
            query = query_of(record)
        except KaratError:
            return INVALID
        return SHARED if query is None else self._number(query.encode(errors="surrogatepass"))
