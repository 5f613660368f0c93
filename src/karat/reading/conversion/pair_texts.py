"""Rows of a run or of ground truth as text, many at a time: TREC, CSV, TSV, JSON and JSON lines.

Numbers are written with as many digits as it takes to read the same number back, and no more.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from karat.data.judged import Floats, Ints
from karat.errors import KaratError, shown
from karat.reading.pairs.arrays import Column, row_indices, text_column
from karat.reading.pairs.containers import ScoredRows
from karat.reading.pairs.hashing import repeated_rows
from karat.reading.pairs.places import place_of

# Blanks and line ends separate columns and lines in TREC files, and NUL is not read as text.
_NOT_IN_TREC = b" \t\n\v\f\r\0"
_BYTE_ORDER_MARK = "\ufeff"
# Some readers remove blanks that are not in quotes.
_BLANK_AT_AN_END = r"^[\s\v\pZ\x1c-\x1f\x{85}]|[\s\v\pZ\x1c-\x1f\x{85}]$"
# An apostrophe before what a spreadsheet would run as a formula; see output/delimited.py.
_GUARDED = r"^'[\s']*[=+\-@＝＋－＠\t\r\n]"
_OTHER_FORMATS = "Write CSV, JSON or Parquet instead."


def trec_run(rows: ScoredRows, tag: str, *, by_rank: bool) -> bytes:
    """Lines of a TREC run. The rank is the position by descending score, with ties in the order of the rows."""
    _check_trec_ids(rows)
    scores = _number_texts(_scores_from_ranks(rows) if by_rank else rows.scores)
    positions = _texts_of(_positions(rows))
    return _lines(_query_column(rows), " Q0 ", _wide(rows.docs), " ", positions, " ", scores, f" {tag}\n")


def trec_qrels(rows: ScoredRows) -> bytes:
    """Lines of TREC qrels."""
    _check_trec_ids(rows)
    return _lines(_query_column(rows), " 0 ", _wide(rows.docs), " ", _number_texts(rows.scores), "\n")


def delimited_lines(rows: ScoredRows, delimiter: str, *, by_rank: bool) -> bytes:
    """Lines of CSV or TSV: query, document, and score, grade or rank. Ids are quoted if needed."""
    _check_ids(rows, b"\0", "CSV and TSV")
    _check_apostrophes(rows)
    query = _quoted(text_column(rows.queries), delimiter)
    query = query.take(_query_numbers(rows))
    numbers = _texts_of(ranks(rows)) if by_rank else _number_texts(rows.scores)
    return _lines(query, delimiter, _quoted(_wide(rows.docs), delimiter), delimiter, numbers, "\n")


def json_members(rows: ScoredRows, *, by_rank: bool, is_listed: bool) -> bytes:
    """Members of a JSON object, each preceded by a comma: `"q1": {"d1": 2.5}`, or lists if documents are listed."""
    return _lines(",\n", _json_texts(text_column(rows.queries)), ": ", _json_documents(rows, by_rank, is_listed))


def json_lines(rows: ScoredRows, *, by_rank: bool, is_listed: bool) -> bytes:
    """Lines of JSON, one per query: `{"query": "q1", "documents": {"d1": 2.5}}`, or lists if documents are listed."""
    queries = _json_texts(text_column(rows.queries))
    return _lines('{"query": ', queries, ', "documents": ', _json_documents(rows, by_rank, is_listed), "}\n")


def ranks(rows: ScoredRows) -> Ints:
    """The ranks of a run without scores."""
    whole = (-rows.scores).astype(np.int64)
    if (whole != -rows.scores).any():
        rank = -rows.scores[np.argmax(whole != -rows.scores)]
        raise KaratError(f"rank {rank} is not a whole number", hint="Ranks are 1, 2, 3, ...")
    return whole


def _number_texts(numbers: Floats) -> Column:
    """Each number in the fewest digits from which it is read back exactly."""
    return _texts_of(np.ascontiguousarray(numbers, np.float64))


def _query_column(rows: ScoredRows) -> Column:
    """The query of each row."""
    return text_column(rows.queries).take(_query_numbers(rows))


def _check_ids(rows: ScoredRows, unwanted: bytes, kind: str) -> None:
    """Reject an id that is empty or contains one of these bytes, which this kind of file cannot contain."""
    for role, column in (("query", text_column(rows.queries)), ("document", rows.docs)):
        if not len(column):
            continue
        if pc.min(pc.binary_length(column)).as_py() == 0:
            hint = "Only JSON can contain it."
            raise KaratError(f"the id of a {role} is empty, which {kind} cannot contain", hint=hint)
        if _contains_any(column, unwanted):
            _reject_id(column, unwanted, role, kind)


def _check_trec_ids(rows: ScoredRows) -> None:
    _check_ids(rows, _NOT_IN_TREC, "a TREC file")
    for query in rows.queries:
        if query.startswith(("#", _BYTE_ORDER_MARK)):
            what = f"the query id {shown(query)} begins with {shown(query[0])}, which a TREC file cannot contain there"
            raise KaratError(what, hint=_OTHER_FORMATS)


def _check_apostrophes(rows: ScoredRows) -> None:
    """Reject ids that would be read without their first character, as if `--safe-csv` had written it."""
    for column in (text_column(rows.queries), rows.docs):
        guarded = pc.match_substring_regex(column, _GUARDED) if _contains_any(column, b"'") else None
        if guarded is not None and pc.any(guarded).as_py():
            text = column.filter(guarded)[0].as_py()
            what = f"the id {shown(text)} begins with an apostrophe before a sign, which CSV and TSV would lose"
            raise KaratError(what, hint="Write JSON or Parquet instead.")


def _reject_id(column: Column, unwanted: bytes, role: str, kind: str) -> None:
    for text in column.to_pylist():
        character = next((character for character in text if character.encode() in unwanted), None)
        if character is not None:
            name = {" ": "a blank", "\t": "a tab", "\0": "a NUL character"}.get(character, "a line end")
            hint = _OTHER_FORMATS if character != "\0" else "Write JSON or Parquet instead."
            what = f"the {role} id {shown(text)} contains {name}, which {kind} cannot contain"
            raise KaratError(what, hint=hint)


def _check_json(rows: ScoredRows) -> None:
    """Reject what a JSON object would lose or cannot contain: a document that is listed twice, infinite scores."""
    repeated = repeated_rows(rows, rows.hashes())
    if len(repeated):
        query, doc = _pair(rows, int(repeated[0]))
        what = f"document {doc} is listed twice for query {query}, which JSON cannot contain"
        raise KaratError(what, place=place_of(rows.locate, (query, doc)), hint="Write CSV, TREC or Parquet instead.")
    finite = np.isfinite(rows.scores)
    if not finite.all():
        at = int(np.argmin(finite))
        query, doc = _pair(rows, at)
        what = f"the score of document {doc} for query {query} is {rows.scores[at]}, which JSON cannot contain"
        raise KaratError(what, hint="Write CSV, TREC or Parquet instead.")


def _pair(rows: ScoredRows, row: int) -> tuple[str, str]:
    return rows.queries[int(rows.segments(np.array([row]))[0])], rows.docs[row].as_py()


# Columns.


def _json_documents(rows: ScoredRows, by_rank: bool, is_listed: bool) -> Column:
    """The documents of each query. If they have scores, a list would be read as an order, so they are an object."""
    docs = _json_texts(_wide(rows.docs))
    if is_listed:
        return _joined("[", _of_queries(docs, rows.offsets), "]")
    _check_json(rows)
    numbers = _json_numbers(_scores_from_ranks(rows) if by_rank else rows.scores)
    return _joined("{", _of_queries(_joined(docs, ": ", numbers), rows.offsets), "}")


def _positions(rows: ScoredRows) -> Ints:
    """The position of each row in its query by descending score, from 1."""
    sizes = np.diff(rows.offsets)
    positions = np.arange(1, len(rows.scores) + 1) - np.repeat(rows.offsets[:-1], sizes)
    ascends = rows.scores[1:] > rows.scores[:-1]
    ascends &= positions[1:] > 1
    if ascends.any():
        order = np.lexsort((-rows.scores, np.repeat(np.arange(len(sizes)), sizes)))
        by_score = np.empty_like(positions)
        by_score[order] = positions
        return by_score
    return positions


def _scores_from_ranks(rows: ScoredRows) -> Floats:
    """Positive scores that keep the order of documents that have only ranks: 1 for the last one of a query."""
    sizes = np.diff(rows.offsets)
    if not len(rows.scores):
        return rows.scores
    last = np.minimum.reduceat(rows.scores, rows.offsets[:-1][sizes > 0])
    scores: Floats = rows.scores - np.repeat(last, sizes[sizes > 0]) + 1
    return scores


def _query_numbers(rows: ScoredRows) -> pa.Array:
    return row_indices(np.repeat(np.arange(len(rows.queries)), np.diff(rows.offsets)))


def _wide(column: Column) -> Column:
    return column if pa.types.is_large_string(column.type) else column.cast(pa.large_string())


def _texts_of(numbers: Ints | Floats) -> Column:
    kind = pa.float64() if numbers.dtype == np.float64 else pa.int64()
    column = pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers))])
    return column.cast(pa.large_string())


def _json_numbers(numbers: Floats) -> Column:
    # Without its decimals, -0.0 would be read as a whole number, which has no sign.
    texts = _number_texts(numbers)
    return pc.replace_with_mask(texts, pc.equal(texts, _scalar("-0")), _scalar("-0.0"))


def _quoted(column: Column, delimiter: str) -> Column:
    """Texts as cells of CSV, in quotation marks where that is needed."""
    marks = f'{delimiter}"\n\r'
    blanks_or_not_ascii = bytes([*range(33), *range(127, 256)])
    if not _contains_any(column, marks.encode() + blanks_or_not_ascii):
        return column
    needed = pc.match_substring_regex(column, f"[{marks}]|{_BLANK_AT_AN_END}")
    return pc.if_else(needed, _joined('"', pc.replace_substring(column, '"', '""'), '"'), column)


def _json_texts(column: Column) -> Column:
    """Texts in quotation marks, with escapes where that is needed."""
    quoted = _joined('"', column, '"')
    if not _contains_any(column, bytes([*range(32), 127, *b'"\\'])):
        return quoted
    needed = pc.match_substring_regex(column, r'["\\\x00-\x1f\x7f]')
    escaped = [json.dumps(text, ensure_ascii=False) for text in column.filter(needed).to_pylist()]
    return pc.replace_with_mask(quoted, needed, text_column(escaped))


def _contains_any(column: Column, wanted: bytes) -> bool:
    """Whether any text contains one of these bytes."""
    is_wanted = np.zeros(256, bool)
    is_wanted[list(wanted)] = True
    return bool(is_wanted[np.frombuffer(_content(column), np.uint8)].any())


def _of_queries(texts: Column, offsets: Ints) -> Column:
    """The texts of each query in one, separated by commas."""
    starts = pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets.astype(np.int64))])
    return pc.binary_join(pa.LargeListArray.from_arrays(starts, texts), _scalar(", "))


def _joined(*columns: Column | str) -> Column:
    """Columns and texts, joined row by row."""
    parts = [_scalar(part) if isinstance(part, str) else part for part in columns]
    return pc.binary_join_element_wise(*parts, _scalar(""))


def _scalar(text: str) -> pa.Scalar:
    """A text for Arrow's functions; `pa.scalar` would import pandas."""
    return text_column([text])[0]


def _lines(*columns: Column | str) -> bytes:
    """Columns and texts, joined row by row, and all rows after one another."""
    return bytes(_content(_joined(*columns)))


def _content(column: Column) -> memoryview:
    """The bytes of all texts of a column, after one another."""
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return memoryview(b"")
    kind = np.int64 if pa.types.is_large_string(column.type) else np.int32
    bounds = np.frombuffer(offsets, kind)
    return memoryview(data)[int(bounds[column.offset]) : int(bounds[column.offset + len(column)])]
