"""Findings: what was ignored, missing or guessed in an evaluation, each as a code, a sentence and a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from karat.errors import KaratError, Message, Parameter, Place, enumeration, first_few, percent, plural, shown
from karat.errors.command_lines import quoted_word
from karat.evaluation.facts import LEAST_POSITIVE, DocumentFacts, Share, largest_cutoff
from karat.matching.id_differences import IdDifference, difference_between, visible
from karat.matching.matcher import Matcher
from karat.matching.matchers import Same
from karat.matching.trials import Trials, try_matches
from karat.registry import Measure
from karat.registry.names import format_value
from karat.scores.finding import Finding, counted_finding, finding_about_queries, in_order_of_ids

_LISTED = 3
_BY_ID = Same()
_SKIP_MISSING = 'To leave them out, use missing="skip" (--missing skip).'
_LARGE_SCORES = (
    "Scores are doubles, in which larger whole numbers, such as times in nanoseconds, become equal if they are close."
    " Subtract the smallest one from all of them."
)
SCORE_MISSING: Message = ["To score them 0, use ", Parameter("missing", "zero"), "."]


def findings(
    facts: DocumentFacts,
    measures: Sequence[Measure] = (),
    missing: str = "zero",
    match: Matcher = _BY_ID,
    listed: int = _LISTED,
    labels_by: str | None = None,
) -> list[Finding]:
    """The findings about ground truth and a run, most important first.

    A finding about many queries lists the first `listed` of them by id. If the ground truth contains relevant documents
    only, no other document was judged, and the share of unjudged documents has no meaning. `labels_by` says whose
    labels are grades of documents that the ground truth does not judge.
    """
    cannot_match = f"without {match.field} (cannot match)"
    possible = [
        _match(match),
        _missing_queries(facts, missing),
        _queries("unknown-queries", facts.unknown, "in the run but not in the ground truth (ignored)"),
        _queries("empty-truths", facts.empty, "with empty ground truth (scored 0)", listed=listed),
        _nothing_found(facts, match),
        *_no_relevant(facts),
        _nothing_retrieved(facts, listed),
        _documents("keyless-golds", facts.golds_without_key, "judged document", cannot_match),
        _documents("keyless", facts.without_key, "retrieved document", cannot_match),
        _documents("duplicates", facts.duplicates, "repeated document", "left out (the best rank is kept)"),
        _documents("identical-ids", facts.identical_ids, "document", "whose id is the query id (ignored)"),
        _documents("large-ties", facts.large_ties, "document", "tied at a score of 2^53 or more", _LARGE_SCORES),
        _slow_queries(facts.slow, listed),
        None if facts.only_relevant else _unjudged(facts.unjudged),
        None if labels_by is None else _share_of_labels(facts.labelled, labels_by, largest_cutoff(measures)),
    ]
    return [finding for finding in possible if finding]


def _share_of_labels(labelled: Share, by: str, cutoff: int | None) -> Finding:
    """The share of the judged documents that have grades from labels: in the top of the largest cut-off, or in all."""
    share = percent(labelled.number / max(1, labelled.total))
    which = f"judged documents in the top {cutoff}" if cutoff else "judged documents that were retrieved"
    topic = f"{which} with a grade from labels by {by}"
    message = f"{share} of the {which} have their grade from labels by {by}"
    return Finding("labels", message, labelled.number, topic=topic, amount=share)


def no_common_queries(
    truth: Sequence[str], run: Sequence[str], place: Place | str, noun: Literal["query", "question"] = "query"
) -> KaratError:
    """The error for a run, or predictions, whose queries are all missing from the ground truth."""
    truth, run = in_order_of_ids(truth), in_order_of_ids(run)
    of_run = "the run has" if noun == "query" else "the predictions have"
    holder = of_run.rpartition(" ")[0]
    if difference := difference_between(truth, run):
        hint = f"{difference.sentence('the ground truth', holder)} Write them alike."
    else:
        hint = f"Check that the {noun} ids are spelled the same way in both, and are in the same field or column."
        if noun == "query" and len({any(" " in query for query in side) for side in (truth, run)}) == 2:
            hint += " If one has questions and the other ids, a log that has both is joined by --truth GOLD (truth= of"
            hint += " evaluate_results)."
    return KaratError(
        f"no {noun} is in both the ground truth and {holder}: the ground truth has"
        f" {first_few(truth)}; {of_run} {first_few(run)}",
        place=place,
        hint=hint,
    )


def answer_findings(absent: Sequence[str], unknown: Sequence[str], scored: int, missing: str) -> list[Finding]:
    """The findings about answers: questions without a predicted answer, and questions without a gold answer."""
    hint = _SKIP_MISSING if missing == "zero" and len(absent) < scored else ""
    about = (
        ("missing-answers", absent, f"without an answer ({_treatment(missing)})", hint),
        ("unknown-answers", unknown, "without a gold answer (ignored)", ""),
    )
    return [finding_about_queries(*each, noun="question") for each in about if each[1]]


def empty_results(queries: Sequence[str]) -> list[Finding]:
    """The finding about queries that are not scored, because their results have neither documents nor answers."""
    return [finding_about_queries("empty-lines", queries, "with nothing to evaluate (ignored)")] if queries else []


def _match(match: Matcher) -> Finding | None:
    return None if match == _BY_ID else Finding("match", f"matched by {match}", 0)


def _missing_queries(facts: DocumentFacts, missing: str) -> Finding | None:
    hint = _SKIP_MISSING if missing == "zero" and facts.answered else ""
    return _queries("missing-queries", facts.missing, f"missing from the run ({_treatment(missing)})", hint)


def _queries(code: str, queries: Sequence[str], what: str, hint: str = "", listed: int = _LISTED) -> Finding | None:
    return finding_about_queries(code, queries, what, hint, listed=listed) if queries else None


def _slow_queries(queries: Sequence[str], listed: int) -> Finding | None:
    what = "with texts so long that comparing them is slow"
    return _queries("long-texts", queries, what, "Split long texts into chunks.", listed)


def _nothing_found(facts: DocumentFacts, match: Matcher) -> Finding | None:
    """If the whole run has no judged document, ids are usually spelled differently, or `match` does not fit."""
    if facts.hits or not facts.golds or not facts.retrieved:
        return None
    hint = hint_on_match(try_matches(facts.unmatched, match)) if facts.unmatched else ""
    return Finding("nothing-found", "no judged document is in the run", 0, hint)


def hint_on_match(trials: Trials) -> str:
    """Which match would find gold documents, as it is written; or that none of those that were tried does."""
    queries = plural(trials.queries, "query")
    if best := trials.best:
        gold, retrieved = visible(*(best.example or ("", "")))
        share = percent(trials.share(best))
        if best.difference:
            same = f"Write them alike, and {share} of the gold documents are found (tried on {queries})."
            difference = IdDifference(best.difference, best.found, best.example or ("", ""))
            return f"{difference.sentence('the ground truth', 'the run')} {same}"
        option = f"With --match {quoted_word(best.match)} (in Python match={best.match!r})"
        found = f"{share} of the gold documents are found (tried on {queries})"
        return f"{option}, {found}: the retrieved {retrieved} is then a hit for the gold {gold}."
    if trials.difference:
        return f"{trials.difference.sentence('the ground truth', 'the run')} Write them alike."
    query, gold, retrieved = map(shown, trials.examples)
    tried = f"tried on {queries}: {enumeration(trials.tried, 'and')}"
    examples = f"For query {query}, the ground truth has {gold}, and the run has {retrieved}."
    return f"No other match finds one ({tried}). {examples}"


def _no_relevant(facts: DocumentFacts) -> list[Finding]:
    """For each threshold of the measures: the queries whose judged documents all have lower grades."""
    by_queries: dict[tuple[str, ...], Finding] = {}
    for rel, queries in facts.lacking.items():
        if queries:
            grade = "positive grade" if rel == LEAST_POSITIVE else f"grade {format_value(rel)} or more"
            what = f"without a document of {grade} (scored 0)"
            # If the same queries lack several grades, the lowest one is the strongest statement.
            by_queries.setdefault(queries, finding_about_queries("no-relevant", queries, what))
    return list(by_queries.values())


def _nothing_retrieved(facts: DocumentFacts, listed: int) -> Finding | None:
    which = "documents that can match" if facts.only_keyless else "documents"
    what = f"of the run without {which} (scored 0)"
    return _queries("nothing-retrieved", facts.nothing_retrieved, what, listed=listed)


def _documents(code: str, count: int, noun: str, what: str, hint: str = "") -> Finding | None:
    return counted_finding(code, count, noun, what, hint=hint) if count else None


def _unjudged(unjudged: Mapping[int | None, Share]) -> Finding | None:
    """The share of unjudged documents at each cut-off, or of all documents without a cut-off."""
    count = [share.number for share in unjudged.values()][-1:]
    if not any(count):
        return None
    shares = {
        f"in the top {k}" if k else "": percent(share.number / max(1, share.total)) for k, share in unjudged.items()
    }
    first, *others = ((share, place) for place, share in shares.items() if share != "0%")
    texts = [" of the documents ".join(first).strip(), *map(" ".join, others)]
    topic = f"unjudged documents {enumeration(list(shares), 'and')}".strip()
    amount = enumeration(list(shares.values()), "and")
    return Finding("unjudged", f"{enumeration(texts, 'and')} are unjudged", count[0], topic=topic, amount=amount)


def _treatment(missing: str) -> str:
    return "scored 0" if missing == "zero" else "left out"
