"""Finding: something noteworthy about the data, as a code, a message and a hint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from karat.errors import enumeration, for_log, plural, printable

_COUNTED = re.compile(r"([\d,]+) (\w+ )?(quer|question|document)(?:y|ies|s)? (.*?)(?:: .*)?", re.DOTALL)
_UNJUDGED = re.compile(r"[<>]?\d+% of the documents\b.* are unjudged")


@dataclass(frozen=True)
class Finding:
    """Something noteworthy about the data that was evaluated.

    `code` identifies the kind of finding, `message` describes it, `count` is the number of queries or documents,
    `hint` says what to do, if anything, and `queries` lists the queries, if it is about queries.
    """

    code: str
    message: str
    count: int
    hint: str = ""
    queries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # The texts are for people, and name queries and documents. What a program reads is in `queries`, unchanged.
        for name in ("message", "hint"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        return for_log(f"{self.message}. {self.hint}" if self.hint else f"{self.message}.")

    @property
    def topic_and_amount(self) -> tuple[str, str] | None:
        """What the finding is about and its number, so that several systems fit in a line; None without a number.

        >>> Finding("missing-queries", "1 query missing from the run (scored 0): q7", 1).topic_and_amount
        ('queries missing from the run (scored 0)', '1')
        >>> Finding("unjudged", "32% of the documents in the top 10 are unjudged", 8).topic_and_amount
        ('unjudged documents in the top 10', '32%')
        """
        if _UNJUDGED.fullmatch(self.message):
            tops = enumeration(re.findall(r"in the top \d+", self.message), "and")
            return f"unjudged documents {tops}".strip(), " and ".join(re.findall(r"[<>]?\d+%", self.message))
        if not (counted := _COUNTED.fullmatch(self.message)):
            return None
        amount, kind, noun, rest = counted.groups()
        return f"{kind or ''}{noun}{'ies' if noun == 'quer' else 's'} {rest}", amount

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "queries": list(self.queries)}


def finding_about_queries(
    code: str, queries: Sequence[str], what: str, hint: str = "", *, noun: str = "query", listed: int = 3
) -> Finding:
    """A finding about queries: how many there are, what is true of them, and the ids of the first ones."""
    more = len(queries) - listed
    ids = ", ".join(queries[:listed]) + (f" and {more:,} more" if more > 0 else "")
    return Finding(code, f"{plural(len(queries), noun)} {what}: {ids}", len(queries), hint, tuple(queries))
