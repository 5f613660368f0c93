"""What is wrong with ground truth, whatever the runs are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from karat.errors import KaratError, Place, plural
from karat.evaluation.check.many_findings import Found
from karat.evaluation.check.plan import CheckPlan
from karat.evaluation.check.rows import repeated_judgments, unreadable, unreadable_rows, unreadable_source
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.findings import findings
from karat.evaluation.reading import read_judgments
from karat.ranking import assemble
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.any_source import Truth
from karat.reading.pairs.tables import RepeatedJudgments
from karat.registry.names import format_value
from karat.scores.finding import Finding

ABOUT_TRUTH = frozenset({"empty-truths", "no-relevant", "keyless-golds"})
"""findings of an evaluation that do not depend on the run"""


class ReadTruth(NamedTuple):
    """Ground truth, without rows that are wrong, and what is wrong with it; None if it cannot be read at all."""

    truth: Truth | None
    findings: tuple[Found, ...]


def read_truth_to_check(plan: CheckPlan, source: str) -> ReadTruth:
    """Read ground truth, and check it."""
    rejected, repeated = RejectedRows(), RepeatedJudgments()
    truth, failure = None, None
    try:
        truth = read_judgments(plan.truth, plan.inputs, plan.matcher, rejected=rejected, repeated=repeated)
    except KaratError as error:
        failure = unreadable_source(error, rejected)
    found: list[Found] = [failure] if failure else []
    found += [*unreadable_rows(rejected, source), *repeated_judgments(repeated, source)]
    if truth is not None and isinstance(truth.scores, KaratError):
        found.append(unreadable(truth.scores, "invalid-number"))
        truth = replace(truth, scores=None)
    return ReadTruth(truth, (*found, *(_about(truth, plan, source) if truth else ())))


def _about(truth: Truth, plan: CheckPlan, source: str) -> Iterator[Finding]:
    judged, observations = assemble(truth, [])
    measures = list(plan.measures)
    facts = DocumentFacts.of(judged, observations, measures, only_relevant=truth.only_relevant)
    for finding in findings(facts, measures, match=plan.matcher):
        if finding.code in ABOUT_TRUTH:
            yield replace(finding, place=Place(source))
    # Who lists documents without grading them has no other grade.
    if len(truth.grades) > 1 and not truth.only_relevant and (truth.grades == truth.grades[0]).all():
        grade = format_value(float(np.asarray(truth.grades)[0]))
        what = f"all {plural(len(truth.grades), 'judged document')} have grade {grade}"
        hint = "If documents were graded, another column may have to be read."
        yield Finding("equal-grades", what, len(truth.grades), hint, place=Place(source))
