"""Findings: what was ignored, missing or guessed in an evaluation, each as a code, a sentence and a hint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from karat.errors import KaratError, enumeration, first_few, percent
from karat.judged import Judged
from karat.matching.matchers import Matcher, Same
from karat.ranking import Observations
from karat.registry import Measure
from karat.registry.names import format_value
from karat.scores.finding import Finding, counted_finding, finding_about_queries
from karat.sources.containers import GradesFromLabels

_LISTED = 3
_BY_ID = Same()
_LEAST_POSITIVE = math.ulp(0.0)
_SKIP_MISSING = 'To leave them out, use missing="skip" (--missing skip).'
SCORE_MISSING = 'To score them 0, use missing="zero" (--missing zero).'


def findings(
    judged: Judged,
    observations: Observations,
    measures: Sequence[Measure],
    missing: str,
    match: Matcher = _BY_ID,
    listed: int = _LISTED,
    only_relevant: bool = False,
) -> list[Finding]:
    """The findings about ground truth and a run, most important first.

    A finding about many queries lists the first `listed` of them by id. If the ground truth contains `only_relevant`
    documents, no other document was judged, and the share of unjudged documents has no meaning.
    """
    cannot_match = f"without {match.field} (cannot match)"
    found = [
        _match(match),
        _missing_queries(judged, observations.missing_queries, missing),
        _unknown_queries(observations.unknown_queries),
        _empty_truths(judged, listed),
        _nothing_found(judged, match),
        *_no_relevant(judged, measures),
        _nothing_retrieved(judged, observations, listed),
        _documents("keyless-golds", observations.golds_without_key, "judged document", cannot_match),
        _documents("keyless", sum(observations.without_key.values()), "retrieved document", cannot_match),
        _documents("duplicates", observations.duplicates, "repeated document", "left out (the best rank is kept)"),
        _documents("identical-ids", observations.identical_ids, "document", "whose id is the query id (ignored)"),
        _slow_queries(observations.slow_queries, listed),
        None if only_relevant else _unjudged(judged, measures),
    ]
    return [finding for finding in found if finding]


def share_of_labels(judged: Judged, labels: GradesFromLabels, measures: Sequence[Measure]) -> Finding:
    """The share of the judged documents that have grades from labels: in the top of the largest cut-off, or in all."""
    cutoff = max((measure.cutoff for measure in measures if measure.cutoff), default=None)
    is_judged = judged.hit_grade >= 0
    if cutoff is not None:
        is_judged &= judged.hit_rank <= cutoff
    graded = int(labels.rows[judged.hit_gold[is_judged]].sum())
    share = percent(graded / max(1, int(is_judged.sum())))
    which = f"judged documents in the top {cutoff}" if cutoff else "judged documents that were retrieved"
    topic = f"{which} with a grade from labels by {labels.by}"
    return Finding(
        "labels",
        f"{share} of the {which} have their grade from labels by {labels.by}",
        graded,
        topic=topic,
        amount=share,
    )


def no_common_queries(
    truth: Sequence[str], run: Sequence[str], where: str, noun: Literal["query", "question"] = "query"
) -> KaratError:
    """The error for a run, or predictions, whose queries are all missing from the ground truth."""
    of_run = "the run has" if noun == "query" else "the predictions have"
    return KaratError(
        f"no {noun} is in both the ground truth and {of_run.rpartition(' ')[0]}: the ground truth has"
        f" {first_few(truth)}; {of_run} {first_few(run)}",
        where=where,
        hint=f"Check that the {noun} ids are spelled the same way in both, and are in the same field or column.",
    )


def answer_findings(absent: Sequence[str], unknown: Sequence[str], scored: int, missing: str) -> list[Finding]:
    """The findings about answers: questions without a predicted answer, and questions without a gold answer."""
    found = []
    if absent:
        hint = _SKIP_MISSING if missing == "zero" and len(absent) < scored else ""
        what = f"without an answer ({_treatment(missing)})"
        found.append(finding_about_queries("missing-answers", absent, what, hint, noun="question"))
    if unknown:
        found.append(
            finding_about_queries("unknown-answers", unknown, "without a gold answer (ignored)", noun="question")
        )
    return found


def empty_results(queries: Sequence[str]) -> list[Finding]:
    """The finding about results that have a query, but neither documents nor answers."""
    return [finding_about_queries("empty-lines", queries, "with nothing to evaluate (ignored)")] if queries else []


def _match(match: Matcher) -> Finding | None:
    return None if match == _BY_ID else Finding("match", f"matched by {match}", 0)


def _missing_queries(judged: Judged, queries: Sequence[str], missing: str) -> Finding | None:
    if not queries:
        return None
    hint = _SKIP_MISSING if missing == "zero" and judged.in_run.any() else ""
    return finding_about_queries("missing-queries", queries, f"missing from the run ({_treatment(missing)})", hint)


def _unknown_queries(queries: Sequence[str]) -> Finding | None:
    return (
        finding_about_queries("unknown-queries", queries, "in the run but not in the ground truth (ignored)")
        if queries
        else None
    )


def _empty_truths(judged: Judged, listed: int) -> Finding | None:
    sizes = (judged.gold_offsets[1:] - judged.gold_offsets[:-1]).tolist()
    queries = [query for query, size in zip(judged.queries, sizes, strict=True) if size == 0]
    return (
        finding_about_queries("empty-truths", queries, "with empty ground truth (scored 0)", listed=listed)
        if queries
        else None
    )


def _slow_queries(queries: Sequence[str], listed: int) -> Finding | None:
    what = "with texts so long that comparing them is slow"
    hint = "Split long texts into chunks."
    return finding_about_queries("long-texts", queries, what, hint, listed=listed) if queries else None


def _nothing_found(judged: Judged, match: Matcher) -> Finding | None:
    """If the whole run has no judged document, ids are usually spelled differently, or `match` does not fit."""
    if len(judged.hit_rank) or not len(judged.gold_grade) or not judged.retrieved.any():
        return None
    hint = "Check that match= compares the right field: look at a document of the ground truth and at one of the run."
    if match == _BY_ID:
        hint = (
            "Check that the document ids are spelled the same way in both. To match chunk ids, use match=prefix; to"
            " match texts, match=content or match=chunk."
        )
    elif isinstance(match, Same) and match.field == "content":
        hint = "match=content needs equal texts. To match parts of a text, use match=chunk."
    return Finding("nothing-found", "no judged document is in the run", 0, hint)


def _no_relevant(judged: Judged, measures: Sequence[Measure]) -> list[Finding]:
    """For each threshold of the measures: the queries whose judged documents all have lower grades."""
    thresholds = {rel for measure in measures if isinstance(rel := measure.get("rel"), int | float) and rel > 0}
    wanted = {float(rel): f"grade {format_value(float(rel))} or more" for rel in sorted(thresholds)}
    if any(measure.definition.graded and not measure.get("rel") for measure in measures):
        # Any positive grade counts in graded measures.
        wanted = {_LEAST_POSITIVE: "positive grade", **wanted}
    found: dict[tuple[str, ...], Finding] = {}
    sizes = judged.gold_offsets[1:] - judged.gold_offsets[:-1]
    for rel, grade in wanted.items():
        lacking = (judged.relevant(rel) == 0) & (sizes > 0)
        queries = tuple(query for query, lacks in zip(judged.queries, lacking.tolist(), strict=True) if lacks)
        if queries:
            # If the same queries lack several grades, the lowest one is the strongest statement.
            found.setdefault(
                queries, finding_about_queries("no-relevant", queries, f"without a document of {grade} (scored 0)")
            )
    return list(found.values())


def _nothing_retrieved(judged: Judged, observations: Observations, listed: int) -> Finding | None:
    keyless = observations.without_key
    rows = zip(judged.queries, judged.in_run.tolist(), judged.retrieved.tolist(), strict=True)
    queries = [query for query, answered, count in rows if answered and count == keyless.get(query, 0)]
    if not queries:
        return None
    which = "documents that can match" if any(query in keyless for query in queries) else "documents"
    return finding_about_queries("nothing-retrieved", queries, f"of the run without {which} (scored 0)", listed=listed)


def _documents(code: str, count: int, noun: str, what: str) -> Finding | None:
    return counted_finding(code, count, noun, what) if count else None


def _unjudged(judged: Judged, measures: Sequence[Measure]) -> Finding | None:
    """The share of unjudged documents at each cut-off of the measures, or of all documents without a cut-off.

    Of more than three cut-offs, these are the lowest and the highest. Measures with `judged_only` have none.
    """
    affected = [measure for measure in measures if not measure.get("judged_only")]
    if measures and not affected:
        return None
    cutoffs = sorted({measure.cutoff for measure in affected if measure.cutoff})
    cutoffs = cutoffs if len(cutoffs) <= 3 else [cutoffs[0], cutoffs[-1]]
    known = judged.by_rank.graded(0)
    shares: dict[str, str] = {}
    unjudged = 0
    for k in cutoffs or (None,):
        retrieved = int(judged.depth(k).sum())
        unjudged = retrieved - int(known.top(k).count().sum())
        shares[f"in the top {k}" if k else ""] = percent(unjudged / max(1, retrieved))
    if not unjudged:
        return None
    first, *others = ((share, where) for where, share in shares.items() if share != "0%")
    texts = [" of the documents ".join(first).strip(), *map(" ".join, others)]
    topic = f"unjudged documents {enumeration(list(shares), 'and')}".strip()
    amount = enumeration(list(shares.values()), "and")
    return Finding("unjudged", f"{enumeration(texts, 'and')} are unjudged", unjudged, topic=topic, amount=amount)


def _treatment(missing: str) -> str:
    return "scored 0" if missing == "zero" else "left out"
