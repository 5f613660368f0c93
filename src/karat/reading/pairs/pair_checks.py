"""What a pair must be: the ids of a query and a document, and a grade, a score or a rank. All readers ask here.

`checked_pairs` is the definition: it reads row by row, and the first row that is wrong is an error, unless such rows
are left out and their errors collected. `valid_pairs` reads whole columns at once. It is only sure of what is usual,
such as texts and floats, and leaves everything else to the definition; so do readers whose columns are Arrow or NumPy
arrays, which ask `are_valid`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal, NamedTuple

import numpy as np

from karat.data.judged import Floats
from karat.documents.ids import identifier
from karat.errors import KaratError, Message, Parameter, Place, shown
from karat.reading.bytes.compression import MB
from karat.reading.bytes.line_ends import LONGEST_LINE
from karat.reading.bytes.rejected_rows import RejectedRows, reject
from karat.reading.pairs.columns import LARGEST_WHOLE
from karat.reading.pairs.numeric_ids import IdKind

LONGEST_ID = LONGEST_LINE  # bytes
_TRUTH_VALUES = {"true": 1.0, "false": 0.0}
_TRUTH_TYPES = {bool, np.bool_}
_EVERY_PAIR = "Every pair needs the ids of a query and of a document."
_DECIMAL_POINT = "Write numbers with a decimal point, and without separators of thousands: 1234.5."
_TOO_LARGE = "The largest number that can be read is about 1.8e308."
_NOT_RANKS: Message = ["If these are scores, use ", Parameter("run_columns", {"score": "NAME"}), "."]

PlaceOf = Callable[[int, int], Place]
"""the place of a value, for an error: by the position of its row, and of its column in it"""


class NoPairsError(KaratError):
    """Ground truth or a run has no row that is read."""


class InvalidNumberError(KaratError):
    """The grade, the score or the rank of a pair is missing, or is not a number that it can be."""


class RepeatedJudgmentError(KaratError):
    """A document is judged twice, with the same grade."""


class ContradictingJudgmentsError(KaratError):
    """A document is judged twice, with different grades."""


class ListedTwiceError(KaratError):
    """A run lists a document twice for a query."""


def judged_twice_error(doc: str, grades: Sequence[Any], place: Place | str) -> KaratError:
    """The error for a document that is judged twice, with these grades."""
    kind = RepeatedJudgmentError if all(grade == grades[0] for grade in grades) else ContradictingJudgmentsError
    return kind(f"document {doc} is judged twice", place=place, hint="Keep one judgment per document.")


class PairRules(NamedTuple):
    """What the number of a pair is, and what differs between sources."""

    number: Literal["grade", "score", "rank"]
    hint: Message = ""
    """what to do about a number that is missing, or is none"""
    finite: bool = False
    """whether scores must be finite, as grades must be: in JSON, an infinite number is one that is beyond doubles"""
    hint_on_mapping: str = ""
    """what to do about a mapping in the place of a number"""
    encoded: bool = False
    """whether ids are decoded bytes, in which lone surrogates stand for bytes that are not UTF-8"""


def hint_on_column(number: Literal["grade", "score", "rank"]) -> Message:
    """The hint of a table, in which another column may contain the number."""
    option = "truth_columns" if number == "grade" else "run_columns"
    return ["If it is in another column, use ", Parameter(option, {number: "NAME"}), "."]


class PairColumns(NamedTuple):
    """The pairs of some rows. Numbers that are ranks are negative, so that they order documents as scores do."""

    queries: Sequence[str]
    docs: Sequence[str]
    numbers: Floats
    numeric: frozenset[IdKind] = frozenset()
    """the ids that are numbers, in any row"""
    left_out: Sequence[int] = ()
    """the positions of rows that are wrong"""


def checked_pairs(
    rows: Iterable[tuple[Any, Any, Any]], rules: PairRules, place: PlaceOf, rejected: RejectedRows | None = None
) -> PairColumns:
    """The pairs of rows with a query, a document and a number; the first row that is wrong is an error.

    `place` names a value by the position of its row and its column, which is 0, 1 or 2. With `rejected`, rows that are
    wrong are left out.

    >>> checked_pairs([("q1", 7, "0.5")], PairRules("score"), lambda row, _: Place("the run", row=row))
    PairColumns(queries=['q1'], docs=['7'], numbers=array([0.5]), numeric=frozenset({'document'}), left_out=())
    """
    queries, docs, numbers, left_out = [], [], [], []
    numeric: set[IdKind] = set()
    for row, (query, doc, number) in enumerate(rows):
        column = 0
        try:
            query_id = id_text(query, "query", encoded=rules.encoded)
            column = 1
            doc_id = id_text(doc, "document", encoded=rules.encoded)
            column = 2
            numbers.append(_number(number, rules))
        except KaratError as error:
            reject(error.but(place=place(row, column)), rejected)
            left_out.append(row)
            continue
        queries.append(query_id)
        docs.append(doc_id)
        if not isinstance(query, str):
            numeric.add("query")
        if not isinstance(doc, str):
            numeric.add("document")
    values = ordered(np.array(numbers, np.float64), rules)
    return PairColumns(queries, docs, values, frozenset(numeric), tuple(left_out))


def valid_pairs(columns: Sequence[Sequence[Any]], rules: PairRules) -> PairColumns | None:
    """The pairs in columns of queries, documents and numbers, read at once; None if that is not enough."""
    queries, docs, numbers = columns
    of_queries, of_docs = valid_ids(queries), valid_ids(docs)
    values = valid_numbers(numbers, rules)
    if of_queries is None or of_docs is None or values is None:
        return None
    numeric: set[IdKind] = {"query"} if of_queries is not queries else set()
    numeric |= {"document"} if of_docs is not docs else set()
    return PairColumns(of_queries, of_docs, ordered(values, rules), frozenset(numeric))


def read_pairs(
    rows: Callable[[], Iterable[tuple[Any, Any, Any]]],
    rules: PairRules,
    place: PlaceOf,
    rejected: RejectedRows | None = None,
) -> PairColumns:
    """The pairs of rows that are parsed one by one, which may be an error too: at once, or as `checked_pairs` does."""
    try:
        columns = [*zip(*rows(), strict=True)]
        pairs = valid_pairs(columns, rules) if columns else None
    except KaratError:  # of the parser; what is wrong in an earlier row comes first
        pairs = None
    return checked_pairs(rows(), rules, place, rejected) if pairs is None else pairs


def valid_ids(ids: Collection[Any]) -> Sequence[str] | None:
    """Ids as a list of texts, or the same object if they are texts already; None if one may be wrong."""
    texts: Any = ids
    try:
        joined = "".join(ids)
    except TypeError:
        types = set(map(type, ids))
        if not types <= {str, int}:
            return None
        try:
            texts = list(map(str, ids))
        except ValueError:  # a number with thousands of digits
            return None
        joined = "".join(texts)
    is_ascii = joined.isascii()
    if "" in texts or not (is_ascii or is_unicode(joined)):
        return None
    most = LONGEST_ID if is_ascii else LONGEST_ID // 4  # characters; one takes up to four bytes
    # All the others have at least one character.
    return texts if len(joined) - len(texts) < most or max(map(len, texts)) <= most else None


def valid_numbers(numbers: Sequence[Any], rules: PairRules) -> Floats | None:
    """Numbers, or texts that contain numbers, as floats; None if one may be wrong, or of an unusual type."""
    if not numbers:
        return np.empty(0)
    try:
        values = np.frombuffer(array("d", numbers))
    except (TypeError, ValueError, OverflowError):
        try:
            joined, values = "".join(numbers), np.array(list(map(float, numbers)))
        except (TypeError, ValueError):
            return None
        if "_" in joined or not joined.isascii():
            return None
    if may_be_true_or_false(numbers, values, rules):
        return None
    # Of a number that is infinite, the definition finds out whether it is too large.
    return values if np.isfinite(values).all() and are_valid(values, rules) else None


def may_be_true_or_false(numbers: Iterable[Any], values: Floats, rules: PairRules) -> bool:
    """Whether scores or ranks, whose floats are `values`, include true or false, which only grades can be."""
    if rules.number == "grade":
        return False
    # Looking at the types of all numbers would take long.
    zero_or_one = (values == 0) | (values == 1)
    return bool(zero_or_one.any()) and not _TRUTH_TYPES.isdisjoint(map(type, compress(numbers, zero_or_one.tolist())))


def are_valid(numbers: Floats, rules: PairRules) -> bool:
    """Whether all numbers are grades, scores or ranks."""
    if rules.number == "rank":
        return bool(((numbers >= 0) & (numbers <= LARGEST_WHOLE) & (numbers == np.floor(numbers))).all())
    if np.isfinite(numbers).all():
        return True
    return rules.number == "score" and not rules.finite and not np.isnan(numbers).any()


def ordered(numbers: Floats, rules: PairRules) -> Floats:
    """Numbers that order documents as scores do: minus the ranks."""
    return -numbers if rules.number == "rank" else numbers


def id_text(value: Any, kind: IdKind | None = None, *, encoded: bool = False) -> str:
    """An id as a text, or an error without a place: a text stays as it is, a whole number becomes its digits.

    A decimal number may be whole: pandas makes numbers decimal if one of them is missing.

    >>> id_text("007"), id_text(7), id_text(7.0)
    ('007', '7', '7')
    """
    noun = f"the id of the {kind}" if kind else "the id"
    is_decimal = isinstance(value, float)
    if value is None or (is_decimal and math.isnan(value)):
        raise KaratError(f"{noun} is missing", hint=_EVERY_PAIR)
    text = identifier(int(value) if is_decimal and is_whole(value) else value, "")
    if not text:
        raise KaratError(f"{noun} is empty", hint=_EVERY_PAIR)
    if not is_unicode(text):
        if encoded:
            data = text.encode("utf-8", "surrogateescape")
            raise KaratError(f"{shown(data)} is not UTF-8", hint="Save the file as UTF-8.")
        raise KaratError(f"{noun} is not valid Unicode: it contains a lone surrogate", hint="Fix the ids.")
    if 4 * len(text) > LONGEST_ID and len(text.encode()) > LONGEST_ID:
        raise KaratError(f"{noun} is longer than {LONGEST_ID // MB} MB", hint="Are these the ids?")
    return text


def is_whole(number: float) -> bool:
    """Whether a float is a whole number, which no other whole number is rounded to."""
    return abs(number) <= LARGEST_WHOLE and number.is_integer()


def number_in(text: str) -> float | None:
    """The number in a text, which may be infinite or NaN; None if it is not a number.

    Python reads more as a number: `1_000`, and digits of all scripts.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _number(value: Any, rules: PairRules) -> float:
    """A grade, a score or a rank, or an error without a place: a number of any type, or a text that contains one."""
    noun = rules.number
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InvalidNumberError(f"the {noun} is missing", hint=rules.hint)
    if noun != "grade" and _is_true_or_false(value):
        raise InvalidNumberError(f"{noun} {shown(value)} is not a number", hint="Only grades can be true or false.")
    number = _as_float(value)
    if number is None or math.isnan(number):
        raise InvalidNumberError(f"{noun} {shown(value)} is not a number", hint=_hint_on_number(value, rules))
    if math.isinf(number) and _is_finite(value, number):
        raise InvalidNumberError(f"{noun} {shown(value)} is too large", hint=_TOO_LARGE)
    if noun == "rank" and not (number >= 0 and is_whole(number)):
        raise InvalidNumberError(f"rank {shown(value)} is not a whole number from 0", hint=_NOT_RANKS)
    if math.isinf(number) and (noun == "grade" or rules.finite):
        raise InvalidNumberError(f"{noun} {shown(value)} is not a finite number", hint=rules.hint)
    return number


def _as_float(value: Any) -> float | None:
    """A number of any type as a float, infinite if it is too large; None if it is not a number. True is 1."""
    if isinstance(value, str):
        return _TRUTH_VALUES.get(value.strip().lower(), number_in(value))
    try:
        return None if isinstance(value, bytes | bytearray) else float(value)
    except OverflowError:
        return math.inf
    except Exception:  # the methods of an object may raise anything
        return None


def _is_true_or_false(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and value.strip().lower() in _TRUTH_VALUES)


def _is_finite(value: Any, number: float) -> bool:
    """Whether a value is finite, although its float is infinite."""
    if isinstance(value, str):
        return "inf" not in value.lower()
    return not isinstance(value, float) and bool(value != number)


def _hint_on_number(value: Any, rules: PairRules) -> Message:
    if isinstance(value, Mapping) and rules.hint_on_mapping:
        return rules.hint_on_mapping
    digits = "".join(each for each in value if each not in ",. '") if isinstance(value, str) else ""
    return _DECIMAL_POINT if digits.isdecimal() and digits != value else rules.hint


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: one with a lone surrogate cannot, so no file or table can contain it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
