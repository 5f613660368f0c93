"""Errors with a location and a hint, and functions that format parts of messages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple, Self, TypeAlias

from karat.errors.credentials import without_credentials

# Control characters, characters that change the direction of writing, invisible ones (but not those that join letters,
# which some scripts need), and lone surrogates.
UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
# What a CI system takes for a command in a log: GitHub `::` at the beginning of a line and `##[` anywhere, Azure
# `##vso[`, TeamCity `##teamcity[`.
_COMMAND = re.compile(r"((?:^|[\r\n])\s*:)(?=:)|(##)(?=\[|vso\[|teamcity\[)")
SENTENCE_ENDS = (".", "?", "!", "…")
_MAX_LENGTH = 1000  # of each part of a message
# Longer names are not compared with others to find out what was meant: that would take too long.
_LONGEST_TYPO = 200


class Place(NamedTuple):
    """Where something is: a file or an argument, and a part of it; and the `other` place if two files are meant.

    >>> print(Place("run.trec", line=7))
    run.trec:7
    >>> print(Place("the run", column="score", row=2))
    the run, column score, row 2
    >>> print(Place("results.jsonl", line=3).inside("answers").inside("[2]"))
    results.jsonl:3, answers[2]
    """

    source: str
    line: int | tuple[int, ...] | None = None
    """counted from 1; several lines if they contradict each other, and so for rows and queries"""
    row: int | tuple[int, ...] | None = None
    """counted from 0"""
    column: str | None = None
    query: str | tuple[str, ...] | None = None
    field: str = ""
    """what is inside: `answers[2]`, `rank 3`"""
    other: Place | None = None

    def __str__(self) -> str:
        rows, queries = (isinstance(each, tuple) and len(each) > 1 for each in (self.row, self.query))
        parts = [self.source if self.line is None else f"{self.source}:{_listed(self.line)}"]
        parts += [f"column {self.column}"] if self.column is not None else []
        parts += [f"{'rows' if rows else 'row'} {_listed(self.row)}"] if self.row is not None else []
        parts += [f"{'queries' if queries else 'query'} {_listed(self.query)}"] if self.query is not None else []
        here = ", ".join(parts) + ("" if not self.field or self.field.startswith("[") else ", ") + self.field
        return without_credentials(f"{here} and {self.other}" if self.other else here)

    def of(self, outer: str) -> Place:
        """The same place, in something larger."""
        return self._replace(source=f"{outer}, {self.source}")

    def inside(self, field: str) -> Place:
        """A part of what is here."""
        separator = "" if not self.field or field.startswith("[") else ", "
        return self._replace(field=f"{self.field}{separator}{field}")


def as_place(place: Place | str) -> Place:
    """A place; a text is the name of a file or an argument."""
    return place if isinstance(place, Place) else Place(place if isinstance(place, str) else shown(place))


def _listed(values: object) -> str:
    return enumeration([*map(str, values)], "and") if isinstance(values, tuple) else str(values)


class Parameter(NamedTuple):
    """A parameter of a function, with its value if a message shows it; on the command line, it is an option.

    >>> print(Parameter("level", 2.0), Parameter("level"))
    level=2.0 level
    """

    name: str
    value: Any = ...

    @property
    def has_value(self) -> bool:
        """Whether a message shows the value."""
        return self.value is not ...

    def __str__(self) -> str:
        return f"{self.name}={shown(self.value)}" if self.has_value else self.name


MessagePart: TypeAlias = str | Parameter | Place
Message: TypeAlias = str | Sequence[MessagePart]
"""a text, or its parts: parameters and places stay data until the text is printed"""


class KaratError(ValueError):
    """An error in the input: what is wrong, where, and how to fix it.

    >>> print(KaratError("score 'abc' is not a number", place=Place("run.trec", line=7), hint="Scores are numbers."))
    run.trec:7: score 'abc' is not a number. Scores are numbers.
    >>> error = KaratError([Parameter("level", 2.0), " is not between 0 and 1"])
    >>> print(error, error.parameter)
    level=2.0 is not between 0 and 1 level
    """

    exit_status = 2  # of a command that ends with it

    def __init__(self, what: Message, *, place: Place | str | None = None, hint: Message | None = None) -> None:
        super().__init__(what, place, hint)
        self.place = None if place is None else as_place(place)
        self.parts, self.hint_parts = _parts(what), _parts(hint)
        self.spelling: Callable[[Parameter], str] = str
        """how parameters are written: the command line has options instead"""

    @property
    def what(self) -> str:
        """What is wrong."""
        return self._worded(self.parts)

    @property
    def hint(self) -> str | None:
        """What to do."""
        return self._worded(self.hint_parts).strip() or None

    @property
    def parameter(self) -> str | None:
        """The name of the parameter that is wrong, if it is one."""
        return next((part.name for part in self.parts if isinstance(part, Parameter)), None)

    def but(
        self, *, what: Message | None = None, place: Place | str | None = None, hint: Message | None = None
    ) -> Self:
        """The same error with other words, or another place or hint."""
        error = copy(self)
        error.spelling = self.spelling
        error.place = self.place if place is None else as_place(place)
        error.parts = self.parts if what is None else _parts(what)
        error.hint_parts = self.hint_parts if hint is None else _parts(hint)
        return error

    def with_places(self, change: Callable[[Place], Place]) -> Self:
        """The same error with all its places changed, that of the error and those in its words."""
        words = self.parts, self.hint_parts
        what, hint = ([change(each) if isinstance(each, Place) else each for each in parts] for parts in words)
        return self.but(what=what, place=self.place and change(self.place), hint=hint)

    def add_hint(self, hint: Message) -> None:
        """Add a sentence to the hint."""
        if hint:
            self.hint_parts = (*self.hint_parts, " ", *_parts(hint))

    def __reduce__(self) -> tuple[Callable[..., KaratError], tuple[object, ...]]:
        """How it is pickled, as on its way from a pool of processes; the spelling belongs to the process."""
        return _unpickled, (type(self), self.args, vars(self) | {"spelling": str})

    def __str__(self) -> str:
        what, place, hint = map(shortened, (self.what, self.place and str(self.place), self.hint))
        before = f"{place}: " if place else ""
        stop = "" if not hint or what.endswith(SENTENCE_ENDS) else "."
        return safe_line(f"{before}{what}{stop} {hint}".rstrip())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def _worded(self, parts: Sequence[MessagePart]) -> str:
        words = (self.spelling(part) if isinstance(part, Parameter) else str(part) for part in parts)
        return without_credentials("".join(words))


def _parts(message: Message | None) -> tuple[MessagePart, ...]:
    is_one = not isinstance(message, list | tuple) or isinstance(message, Parameter | Place)  # tuples themselves
    parts = () if message is None else (message,) if is_one else message
    return tuple(
        each
        if isinstance(each, Parameter | Place)
        else without_credentials(each)
        if isinstance(each, str)
        else shown(each)
        for each in parts
    )


def _unpickled(kind: type[KaratError], args: tuple[object, ...], attributes: dict[str, object]) -> KaratError:
    """An error as it was: errors of some kinds are not created with these arguments."""
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class KaratTypeError(KaratError, TypeError):
    """A KaratError in a place where Haystack raises a TypeError, so that programs written for Haystack catch it."""


class NoSuchFileError(KaratError):
    """There is no file of this name."""

    def __init__(self, place: Place | str, hint: Message | None = None) -> None:
        super().__init__("no such file", place=place, hint=hint)


def require(condition: object, what: Message, hint: Message | None = None, *, place: Place | str | None = None) -> None:
    """Raise a KaratError unless the condition holds. Its message should be cheap to build: it is built in any case."""
    if not condition:
        raise KaratError(what, place=place, hint=hint)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """`Did you mean a, b or c?`, or an empty string if no known name is similar, or if the name is not a text."""
    close = nearest(name, known) if isinstance(name, str) else []
    return f"Did you mean {enumeration(close, 'or')}?" if close else ""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names most similar to a wrong one, ignoring case, most similar first; never the wrong one itself."""
    from difflib import get_close_matches

    by_folded: dict[str, str] = {}
    if len(name) > _LONGEST_TYPO:
        return []
    for candidate in known:
        if isinstance(candidate, str) and candidate != name and len(candidate) <= _LONGEST_TYPO:
            by_folded.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(name.casefold(), by_folded, cutoff=0.6)
    return [by_folded[folded] for folded in close]


def enumeration(texts: Sequence[str], conjunction: str) -> str:
    """Texts as they are listed in a sentence.

    >>> enumeration(["a", "b", "c"], "or"), enumeration(["a", "b"], "and"), enumeration(["a"], "and")
    ('a, b or c', 'a and b', 'a')
    """
    return f" {conjunction} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def first_few(ids: Sequence[str]) -> str:
    """The first ids of many, as examples.

    >>> first_few(["q1", "q2", "q3", "q4"]), first_few(["q1", "q2"]), first_few([])
    ('q1, q2, q3, …', 'q1, q2', 'none')
    """
    return ", ".join([*ids[:3], *(["…"] if len(ids) > 3 else [])]) or "none"


def plural(n: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "query"), plural(6980, "query"), plural(0, "document"), plural(2, "day")
    ('1 query', '6,980 queries', '0 documents', '2 days')
    """
    if n != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{n:,} {noun}"


def percent(share: float) -> str:
    """A share in per cent, rounded to 0% and 100% only if it is exact.

    >>> percent(0.125), percent(0.001), percent(1)
    ('12%', '<1%', '100%')
    """
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"


def size_text(size: float) -> str:
    """A number of bytes.

    >>> size_text(17), size_text(1_234_567)
    ('17 B', '1.2 MB')
    """
    unit = "B"
    for larger in ("kB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


def printable(text: str) -> str:
    r"""A text in which control characters are shown as escapes, so that it cannot move the cursor.

    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def safe_line(text: str) -> str:
    """A text that can be printed as a line, on a terminal and in the log of a CI system."""
    return for_log(printable(text))


def for_log(text: str) -> str:
    """A text as it can be printed in a CI system, which executes commands that it finds in the log.

    Outside of CI systems, the text stays as it is.
    """
    variables = {"GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"}
    return without_commands(text) if any(map(os.environ.get, variables)) else text


def without_commands(text: str) -> str:
    """A text in which a blank breaks whatever a CI system would take for a command.

    >>> print(without_commands("::error::no ##[add-mask]x"))
    : :error::no ## [add-mask]x
    """
    return _COMMAND.sub(lambda match: f"{match[0]} ", text)


def shown(value: object, width: int = 60) -> str:
    r"""A value for a message: quoted, on one line, without control characters, cut to a width.

    >>> print(shown("a\x1b[2Jb"))
    'a\x1b[2Jb'
    """
    if isinstance(value, str | bytes | list | tuple) and len(value) > width:
        value = value[: 10 * _MAX_LENGTH if isinstance(value, str) else width]  # it may have millions of elements
    try:
        text = ascii(value) if isinstance(value, bytes) else repr(value)
    except Exception:  # a repr may do anything, and this is for a message about something else
        text = ""
    if not text or ("\n" in text and not isinstance(value, str)):  # a data frame and an array are shown by their type
        text = _described(value)
    text = without_credentials(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _described(value: object) -> str:
    """A value that cannot be shown in one line, by its type."""
    if isinstance(value, int):
        return "a number with thousands of digits"
    return f"an object of type {type(value).__name__}"


def shortened(part: str | None) -> str:
    """A part of a message: names in it come from data, and may be of any length."""
    part = part if isinstance(part, str) else "" if part is None else shown(part)
    # The end usually says what is wrong with the name before it.
    half = _MAX_LENGTH // 2
    return part if len(part) <= _MAX_LENGTH else f"{part[: half - 1]}…{part[-half:]}"
