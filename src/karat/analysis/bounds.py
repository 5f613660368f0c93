"""Bounds: the lowest and the highest value that a measure could have if unjudged documents or answers were judged."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np

from karat.analysis.evidence import NO_RUN_DATA, Evidence
from karat.analysis.gradings import lowest_and_highest
from karat.data.judged import Judged
from karat.errors import KaratError, Message, Parameter, Place, require
from karat.errors.arguments import as_number
from karat.measures import definitions, meanings, parse
from karat.options import check_choice
from karat.output.progress import progress_bar
from karat.registry import Effect, Measure
from karat.registry.names import format_value
from karat.scores import Scores
from karat.scores.bounds import Bounds


def bounds(scores: Scores, measure: str | Measure, max_grade: float | None = None) -> Bounds:
    """The lowest and the highest value of a measure over all gradings of the unjudged documents that were retrieved.

    For measures of verdicts: whatever the unknown labels are.

    Each of them may have any grade from 0 to `max_grade`. By default this is the largest grade in the ground truth, of
    any query, or 1 if that has no relevant document. Documents that were not retrieved are not considered.

    >>> from karat import evaluate
    >>> print(bounds(evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b"]}, "RR"), "RR"))
    query    score   lowest   highest   unjudged
    ────────────────────────────────────────────
    q       0.5000   0.5000    1.0000          1
    r       1.0000   1.0000    1.0000          0
    all     0.7500   0.7500    1.0000          1
    RR if the 1 unjudged document were graded from 0 to 1
    """
    if measure in scores:  # with rel=2, AP is AP(rel=2)
        measure = parse(scores.column_name(measure))
    measure = measure.check() if isinstance(measure, Measure) else parse(measure)
    if measure.definition.takes == "verdicts":
        return _bounds_of_labels(scores, measure, max_grade)
    _check_effect(measure)
    evidence = _evidence(scores)
    if evidence.rules.ties in ("best", "worst"):
        ties = Parameter("ties", evidence.rules.ties)
        raise KaratError(
            ["bounds are not defined for ", ties, ", which orders tied documents by grade"],
            hint=["Evaluate again with ", Parameter("ties", "trec"), " or ", Parameter("ties", "input"), "."],
        )
    _check_repeats(evidence)
    judged = evidence.judged_for(measure)
    grade = _max_grade(judged, max_grade)
    queries = _evaluated(scores, evidence)
    kept = np.zeros(len(judged.queries), bool)
    kept[[evidence.truth.positions[query] for query in queries]] = True
    judged = judged.select(kept)
    value = measure.compute(judged)
    unjudged = judged.retrieved - judged.by_rank.graded(0).count()
    with progress_bar("queries") as progress:
        low, high, exact = lowest_and_highest(measure, judged, value, unjudged, grade, progress)
    position = {query: at for at, query in enumerate(judged.queries)}
    order = np.array([position[query] for query in queries], np.int64)
    nullable = np.zeros(len(low), bool)
    of_judged = Bounds(str(measure), judged.queries, value, low, high, exact, unjudged, nullable, grade)
    return of_judged.take(order, queries)


def _bounds_of_labels(scores: Scores, measure: Measure, max_grade: float | None) -> Bounds:
    """The bounds of a measure of verdicts, which scores keep from their evaluation."""
    require(max_grade is None, [Parameter("max_grade"), " is about unjudged documents, not labels"], "Leave it out.")
    name = scores.column_name(measure)
    fingerprint = scores.fingerprint
    from_labels = fingerprint is None or "verdicts" in fingerprint.truths
    require(from_labels, f"{name} is a number of the log, and has no bounds")
    value = scores.column(name)
    if name not in scores.label_bounds and np.isnan(value).any():
        raise KaratError(
            f"these scores have no bounds of {name}",
            hint=["Evaluate again with ", Parameter("unknown", "bounds"), "; scores that were saved as CSV have none."],
        )
    return scores.label_bounds.get(name) or Bounds.of_values(name, scores.queries, value)


def _check_effect(measure: Measure) -> None:
    """Reject a measure whose definition does not say how unjudged documents affect it."""
    definition = measure.definition
    effect: object = measure.unjudged
    if effect is not None:
        check_choice(f"{measure}: unjudged", effect, get_args(Effect))
        return
    if "rel" in definition.parameters and measure(rel=1).unjudged:
        what = f"{measure} has no bounds: every judged document reaches this threshold"
        raise KaratError(what, hint="Use a rel above 0.")
    names = [known.name for known in definitions() if Measure(known.name, definition=known).unjudged]
    unknown = f"{measure} has no bounds: how unjudged documents affect it is not known"
    what = "answer measures have no bounds" if definition.takes == "answers" else unknown
    raise KaratError(what, hint=f"Measures with bounds: {', '.join(names)}.")


def _evidence(scores: Scores) -> Evidence:
    if scores.evidence is not None:
        return scores.evidence
    if scores.answers is not None:
        raise KaratError("bounds need documents, but these are scores of answers", hint="Evaluate the documents.")
    raise KaratError("these scores contain no run data to compute bounds from", hint=NO_RUN_DATA)


def _evaluated(scores: Scores, evidence: Evidence) -> tuple[str, ...]:
    """The queries whose documents were evaluated; scores of results may have queries with answers or numbers only."""
    known = evidence.truth.positions
    if scores.answers is None and all(query in known for query in scores.queries):
        return scores.queries
    columns = [column for name, column in scores.values.items() if _are_of_documents(name)]
    measured = ~np.all(np.isnan(columns), axis=0)
    kept = zip(scores.queries, measured.tolist(), strict=True)
    return tuple(query for query, is_measured in kept if is_measured and query in known)


def _are_of_documents(name: str) -> bool:
    return any(measure.definition.subject == "documents" for measure in meanings(name))


def _max_grade(judged: Judged, max_grade: float | None) -> float:
    largest = float(judged.gold_grade.max(initial=0.0))
    if max_grade is None:
        return largest or 1.0
    argument, grade = Parameter("max_grade", max_grade), as_number(max_grade)
    if grade is None or not 0 < grade < math.inf:
        raise KaratError([argument, " is not the grade of a relevant document"], hint="Use a number above 0.")
    text = format_value(largest)
    what: Message = [argument, f" is below the largest grade in the ground truth, {text}"]
    require(grade >= largest, what, f"Use {text} or more, or leave it out.")
    return grade


def _check_repeats(evidence: Evidence) -> None:
    """Reject unjudged documents at several ranks: the gradings that give the lowest and highest value are unknown."""
    judged, truth = evidence.judged, evidence.truth
    repeated = evidence.repeated_unjudged
    if repeated is None:
        # Several chunks may match one gold that is in the pool but unjudged.
        unknown = judged.hit_grade < 0
        rank = judged.hit_query * (judged.retrieved.max(initial=0) + 1) + judged.hit_rank
        is_repeated = np.bincount(judged.hit_gold[unknown], minlength=len(truth.docs)) > 1
        rows = unknown & is_repeated[judged.hit_gold] & ~np.isin(rank, rank[~unknown])
        for row in np.flatnonzero(rows)[:1].tolist():
            repeated = judged.queries[judged.hit_query[row]], truth.docs[judged.hit_gold[row]]
    if repeated is not None:
        query, document = repeated
        raise KaratError(
            f"the unjudged document {document} is at several ranks; bounds need unjudged documents to be listed once",
            place=Place(evidence.run.name, query=query),
            hint="Remove the repeated documents from the run, or judge them.",
        )
