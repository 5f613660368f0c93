"""Of very many findings of one kind about one file, the first are listed and the others are counted: decided here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from karat.errors import Place
from karat.reading.bytes.rejected_rows import MOST_ERRORS
from karat.scores.finding import Finding


class Others(NamedTuple):
    """Findings of one kind about one source that are only counted, because whoever found them did not keep them."""

    code: str
    source: str
    number: int


Found: TypeAlias = Finding | Others


def room(listed: int) -> int:
    """How many more findings of a kind about a source are listed, if so many are: whoever keeps them keeps no more."""
    return max(0, MOST_ERRORS - listed)


def first_findings(found: Iterable[Found]) -> Iterator[Finding]:
    """The first findings of each kind about each source; if there are more, a last one says how many. None is kept.

    >>> many = [Finding("empty-lines", "nothing", 1, place=Place("log", line)) for line in range(MOST_ERRORS + 5)]
    >>> *_, last = first_findings([*many, Others("empty-lines", "log", 2)])
    >>> last.message, last.count
    ('and 7 more', 7)
    """
    listed: Counter[tuple[str, str | None]] = Counter()
    others: Counter[tuple[str, str | None]] = Counter()
    for finding in found:
        if isinstance(finding, Others):
            others[finding.code, finding.source] += finding.number
            continue
        about = finding.code, finding.place and finding.place.source
        if room(listed[about]):
            listed[about] += 1
            yield finding
        else:
            others[about] += finding.count or 1
    for (code, source), count in others.items():
        if count > 0:
            yield Finding(code, f"and {count:,} more", count, place=None if source is None else Place(source))
