"""Findings about rows: those that cannot be read, and documents that are listed twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from karat.errors import KaratError, Place, enumeration, plural
from karat.errors.suggestions import SuggestedCall
from karat.evaluation.check.many_findings import Found, Others, room
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.pair_checks import (
    ContradictingJudgmentsError,
    InvalidNumberError,
    ListedTwiceError,
    NoPairsError,
    RepeatedJudgmentError,
)
from karat.reading.pairs.places import Locate, Pair, places_of
from karat.reading.pairs.tables import RepeatedJudgment, RepeatedJudgments
from karat.registry.names import format_value
from karat.scores.finding import Finding

_CODES: dict[type[KaratError], str] = {
    InvalidNumberError: "invalid-number",
    RepeatedJudgmentError: "repeated-judgments",
    ContradictingJudgmentsError: "contradicting-judgments",
    ListedTwiceError: "duplicates",
}


def unreadable(error: KaratError, code: str = "unreadable-file") -> Finding:
    """The finding about what cannot be read: what the error says, but not how to look at the file."""
    error = SuggestedCall.without_look(error)
    return Finding(code, error.what, 1, error.hint or "", place=error.place, cause=error)


def unreadable_source(error: KaratError, rejected: RejectedRows) -> Finding:
    """The finding about a source that cannot be read; if all of its rows are wrong, it is not called empty."""
    if isinstance(error, NoPairsError) and rejected.count:
        error = error.but(what="none of its rows can be read", hint="")
    return unreadable(error)


def unreadable_rows(rejected: RejectedRows, source: str) -> Iterator[Found]:
    """The rows that were left out, because they are wrong."""
    for error in rejected.errors:
        yield unreadable(error, _code_of(type(error)))
    for kind, count in rejected.others().items():
        yield Others(_code_of(kind), source, count)


def _code_of(kind: type[KaratError]) -> str:
    """The kind of finding that is about an error of this type."""
    return next((code for of_code, code in _CODES.items() if issubclass(kind, of_code)), "unreadable-row")


def repeated_judgments(repeated: RepeatedJudgments, source: str) -> Iterator[Found]:
    """The documents that are judged more than once, with different grades or with the same."""
    listed = Counter(_code(judgment) for judgment in repeated.judgments)
    for judgment in repeated.judgments:
        (query, doc), grades = judgment.pair, judgment.grades
        times = "twice" if len(grades) == 2 else plural(len(grades), "time")
        distinct = [format_value(grade) for grade in dict.fromkeys(grades)]
        how = f"different grades: {enumeration(distinct, 'and')}" if judgment.contradict else f"grade {distinct[0]}"
        hint = "Keep one judgment per document." if judgment.contradict else "Remove the repeated judgment."
        message = f"document {doc} is judged {times} for query {query}, with {how}"
        yield Finding(_code(judgment), message, 1, hint, (query,), place=judgment.place or Place(source))
    for code, count in (("contradicting-judgments", repeated.contradicting), ("repeated-judgments", repeated.alike)):
        yield Others(code, source, count - listed[code])


def _code(judgment: RepeatedJudgment) -> str:
    return "contradicting-judgments" if judgment.contradict else "repeated-judgments"


def duplicates(pairs: Sequence[Pair], count: int, locate: Locate, source: str) -> Iterator[Found]:
    """The documents that a run lists more than once for a query; `count` is the number of all repetitions."""
    listed = pairs[: room(0)]
    places = places_of(locate, listed)
    hint = 'Keep the best rank of each document with --duplicates first (duplicates="first" in Python), or fix the run.'
    for query, doc in listed:
        place = places.get((query, doc)) or Place(source)
        yield Finding("duplicates", f"document {doc} is listed twice for query {query}", 1, hint, (query,), place=place)
    if not room(len(listed)):
        yield Others("duplicates", source, count - len(listed))
