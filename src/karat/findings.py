"""What was noticed in the data: a code for machines, a sentence for people, and the mend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from karat.judged import Judged
from karat.names import value_text
from karat.ranking import Noticed
from karat.registry import Measure

_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    `code` says what kind, `message` how much of it and where, `mend` what to do, if anything.
    """

    code: str
    message: str
    count: float
    mend: str = ""
    queries: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message}. {self.mend}" if self.mend else f"{self.message}."

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "queries": list(self.queries)}


def findings(judged: Judged, noticed: Noticed, measures: Sequence[Measure], missing: str) -> list[Finding]:
    """Everything worth knowing about a truth and a run, in the order in which it matters."""
    found = [
        _missing(judged, missing),
        _unknown(noticed.unknown_queries),
        _empty_truths(judged),
        *_no_relevant(judged, measures),
        _retrieved_nothing(judged),
        _dropped("duplicates", noticed.duplicates, "repeated document", "kept where ranked best"),
        _dropped("identical-ids", noticed.identical, "document", "with the id of its query left out"),
        _unjudged(judged, measures),
    ]
    return [finding for finding in found if finding]


def _missing(judged: Judged, missing: str) -> Finding | None:
    queries = [query for query, there in zip(judged.queries, judged.answered.tolist(), strict=True) if not there]
    if not queries:
        return None
    fate = "scored 0" if missing == "zero" else "left out"
    message = f"{_count(len(queries), 'query', 'queries')} of the truth not in the run, {fate}: {_some(queries)}"
    mend = 'Leave them out with missing="skip" (--missing skip).' if missing == "zero" else ""
    return Finding("missing-queries", message, len(queries), mend, tuple(queries))


def _unknown(queries: list[str]) -> Finding | None:
    if not queries:
        return None
    message = f"{_count(len(queries), 'query', 'queries')} of the run without truth, ignored: {_some(queries)}"
    return Finding("unknown-queries", message, len(queries), "", tuple(queries))


def _empty_truths(judged: Judged) -> Finding | None:
    sizes = (judged.gold_offsets[1:] - judged.gold_offsets[:-1]).tolist()
    queries = [query for query, size in zip(judged.queries, sizes, strict=True) if size == 0]
    if not queries:
        return None
    message = f"{_count(len(queries), 'query', 'queries')} with an empty truth, scored 0: {_some(queries)}"
    return Finding("empty-truths", message, len(queries), "", tuple(queries))


def _no_relevant(judged: Judged, measures: Sequence[Measure]) -> list[Finding]:
    """For each threshold in use: the queries with judgments of which none reaches it."""
    found = []
    sizes = judged.gold_offsets[1:] - judged.gold_offsets[:-1]
    thresholds = {rel for measure in measures if isinstance(rel := measure.get("rel"), int | float) and rel > 0}
    for rel in sorted(thresholds):
        lacking = (judged.relevant(rel) == 0) & (sizes > 0)
        queries = [query for query, lacks in zip(judged.queries, lacking.tolist(), strict=True) if lacks]
        if queries:
            share = (
                "no query has"
                if len(queries) == len(judged.queries)
                else f"{_count(len(queries), 'query', 'queries')} without"
            )
            message = f"{share} a document of grade {value_text(float(rel))} or more, scored 0: {_some(queries)}"
            found.append(Finding("no-relevant", message, len(queries), "", tuple(queries)))
    return found


def _retrieved_nothing(judged: Judged) -> Finding | None:
    nothing = (judged.answered & (judged.retrieved == 0)).tolist()
    queries = [query for query, empty in zip(judged.queries, nothing, strict=True) if empty]
    if not queries:
        return None
    message = f"{_count(len(queries), 'query', 'queries')} in the run with no document, scored 0: {_some(queries)}"
    return Finding("nothing-retrieved", message, len(queries), "", tuple(queries))


def _dropped(code: str, count: int, what: str, how: str) -> Finding | None:
    return Finding(code, f"{_count(count, what, what + 's')} {how}", count) if count else None


def _unjudged(judged: Judged, measures: Sequence[Measure]) -> Finding | None:
    """The share of unjudged documents among those seen, at each cut-off in use (and in all, without one)."""
    cutoffs = sorted({measure.cutoff for measure in measures if measure.cutoff})
    known = judged.by_rank.graded(0)
    shares = []
    for k in cutoffs or (None,):
        seen = int(judged.depth(k).sum())
        unjudged = seen - int(known.top(k).count().sum())
        if unjudged:
            shares.append((unjudged / seen, "of the top " + str(k) if k else "of what was retrieved"))
    if not shares:
        return None
    message = "unjudged: " + ", ".join(f"{_percent(share)} {where}" for share, where in shares)
    return Finding("unjudged", message, shares[0][0])


def _percent(share: float) -> str:
    """A share in per cent; never 0 or 100 where it is not."""
    percent = 100 * share
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
