"""What was noticed in the data: a code for machines, a sentence for people, and the hint."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from karat.judged import Judged
from karat.matching.matchers import Matcher, Same
from karat.ranking import Observations
from karat.registry import Measure
from karat.registry.names import format_value
from karat.scores.finding import Finding

_SHOWN = 3
_BY_ID = Same()
_LEAST_POSITIVE = math.ulp(0.0)


def findings(
    judged: Judged,
    noticed: Observations,
    measures: Sequence[Measure],
    missing: str,
    match: Matcher = _BY_ID,
    shown: int = _SHOWN,
) -> list[Finding]:
    """Everything worth knowing about a truth and a run, in the order in which it matters.

    Of many queries that something is true of, so many are named as `shown` says.
    """
    keyless = f"without {match.field}, matching nothing"
    found = [
        _matched_by(match),
        _missing(judged, noticed.missing_queries, missing),
        _unknown(noticed.unknown_queries),
        _empty_truths(judged, shown),
        _nothing_found(judged, match),
        *_no_relevant(judged, measures),
        _retrieved_nothing(judged, noticed, shown),
        _dropped("keyless-golds", noticed.keyless_golds, "judged document", keyless),
        _dropped("keyless", sum(noticed.keyless.values()), "retrieved document", keyless),
        _dropped("duplicates", noticed.duplicates, "repetition", "of a document left out, the one ranked best kept"),
        _dropped("identical-ids", noticed.identical, "document", "with the query's own id left out"),
        _unjudged(judged, measures),
    ]
    return [finding for finding in found if finding]


def answer_findings(absent: Sequence[str], unknown: Sequence[str], scored: int, missing: str) -> list[Finding]:
    """Everything worth knowing about answers: which are not there, and which there is nothing to hold against."""
    found = []
    if absent:
        fate = "scored 0" if missing == "zero" else "left out"
        message = f"{_count(len(absent), 'question', 'questions')} without an answer ({fate}): {_some(absent)}"
        hint = ""
        if missing == "zero" and len(absent) == scored:
            hint = "Compare the ids of the questions in both: are they written alike, and in the same field?"
        elif missing == "zero":
            hint = 'Such questions are left out with missing="skip" (--missing skip).'
        found.append(Finding("missing-answers", message, len(absent), hint, tuple(absent)))
    if unknown:
        message = f"{_count(len(unknown), 'question', 'questions')} without a gold answer (ignored): {_some(unknown)}"
        found.append(Finding("unknown-answers", message, len(unknown), "", tuple(unknown)))
    return found


def empty_lines(queries: Sequence[str]) -> list[Finding]:
    """Results of queries that say nothing of them."""
    if not queries:
        return []
    message = f"{_queries(queries)} with nothing to evaluate (ignored): {_some(queries)}"
    return [Finding("empty-lines", message, len(queries), "", tuple(queries))]


def _matched_by(match: Matcher) -> Finding | None:
    """The same run scores otherwise where something else counts as a hit."""
    return None if match == _BY_ID else Finding("match", f"matched by {match}", 0)


def _missing(judged: Judged, queries: list[str], missing: str) -> Finding | None:
    if not queries:
        return None
    fate = "scored 0" if missing == "zero" else "left out"
    message = f"{_queries(queries)} of the truth not in the run ({fate}): {_some(queries)}"
    hint = ""
    if not judged.answered.any():
        hint = "Compare the query ids of both: are they written alike?"
    elif missing == "zero":
        hint = 'Such queries are left out with missing="skip" (--missing skip).'
    return Finding("missing-queries", message, len(queries), hint, tuple(queries))


def _nothing_found(judged: Judged, match: Matcher) -> Finding | None:
    """Not one judged document in the whole run is mostly a matter of how ids are written."""
    if len(judged.hit_rank) or not len(judged.gold_grade) or not judged.retrieved.any():
        return None
    hint = "Look at a document of both: is that what should be compared?"
    if match == _BY_ID:
        hint = (
            "Are the ids of both written alike? Ids of chunks match by prefix, texts by content or chunk: see match=."
        )
    elif isinstance(match, Same) and match.field == "content":
        hint = "Only the same text matches by content; a part of it matches by chunk: see match=."
    return Finding("nothing-found", "no judged document is in the run", 0, hint)


def _unknown(queries: list[str]) -> Finding | None:
    if not queries:
        return None
    message = f"{_queries(queries)} of the run without truth (ignored): {_some(queries)}"
    return Finding("unknown-queries", message, len(queries), "", tuple(queries))


def _empty_truths(judged: Judged, shown: int) -> Finding | None:
    sizes = (judged.gold_offsets[1:] - judged.gold_offsets[:-1]).tolist()
    queries = [query for query, size in zip(judged.queries, sizes, strict=True) if size == 0]
    if not queries:
        return None
    message = f"{_queries(queries)} with an empty truth (scored 0): {_some(queries, shown)}"
    return Finding("empty-truths", message, len(queries), "", tuple(queries))


def _no_relevant(judged: Judged, measures: Sequence[Measure]) -> list[Finding]:
    """For each threshold in use: the queries with judgments of which none reaches it."""
    thresholds = {rel for measure in measures if isinstance(rel := measure.get("rel"), int | float) and rel > 0}
    wanted = {float(rel): f"of grade {format_value(float(rel))} or more" for rel in sorted(thresholds)}
    if any(measure.definition.graded and not measure.get("rel") for measure in measures):
        # Graded measures gain from any positive grade.
        wanted = {_LEAST_POSITIVE: "of a positive grade", **wanted}
    found: dict[tuple[str, ...], Finding] = {}
    sizes = judged.gold_offsets[1:] - judged.gold_offsets[:-1]
    for rel, which in wanted.items():
        lacking = (judged.relevant(rel) == 0) & (sizes > 0)
        queries = tuple(query for query, lacks in zip(judged.queries, lacking.tolist(), strict=True) if lacks)
        if queries:
            message = f"{_queries(queries)} without a document {which} (scored 0): {_some(queries)}"
            # The same queries lack both: the stronger statement is enough.
            found.setdefault(queries, Finding("no-relevant", message, len(queries), "", queries))
    return list(found.values())


def _retrieved_nothing(judged: Judged, noticed: Observations, shown: int) -> Finding | None:
    rows = zip(judged.queries, judged.answered.tolist(), judged.retrieved.tolist(), strict=True)
    queries = [query for query, answered, count in rows if answered and count == noticed.keyless.get(query, 0)]
    if not queries:
        return None
    what = "no document to match" if any(query in noticed.keyless for query in queries) else "no document"
    message = f"{_queries(queries)} in the run with {what} (scored 0): {_some(queries, shown)}"
    return Finding("nothing-retrieved", message, len(queries), "", tuple(queries))


def _dropped(code: str, count: int, what: str, how: str) -> Finding | None:
    return Finding(code, f"{_count(count, what, what + 's')} {how}", count) if count else None


def _unjudged(judged: Judged, measures: Sequence[Measure]) -> Finding | None:
    """The share of unjudged documents among those seen, at each cut-off in use (and in all, without one)."""
    cutoffs = sorted({measure.cutoff for measure in measures if measure.cutoff})
    known = judged.by_rank.graded(0)
    shares: list[str] = []
    counts: list[int] = []
    for k in cutoffs or (None,):
        seen = int(judged.depth(k).sum())
        unjudged = seen - int(known.top(k).count().sum())
        if unjudged:
            of = "" if shares else " of the documents"
            shares.append(f"{_percent(unjudged / seen)}{of}{f' in the top {k}' if k else ''}")
            counts.append(unjudged)
    return Finding("unjudged", f"unjudged: {', '.join(shares)}", counts[-1]) if shares else None


def _percent(share: float) -> str:
    """A share in per cent; never 0 or 100 where it is not."""
    percent = 100 * share
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def _queries(queries: Sequence[str]) -> str:
    return _count(len(queries), "query", "queries")


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def _some(names: Iterable[str], shown: int = _SHOWN) -> str:
    names = list(names)
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")
