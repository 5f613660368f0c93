"""What is wrong with ground truth and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from karat.analysis.evidence import Evidence
from karat.data.judged import Floats
from karat.errors import KaratError, Place, enumeration, plural
from karat.evaluation.check.batches import RankedRun, RunCheck, rank_and_see
from karat.evaluation.check.candidates import across_systems
from karat.evaluation.check.claims import check_claims
from karat.evaluation.check.ids import without_common_queries
from karat.evaluation.check.many_findings import Found, Others
from karat.evaluation.check.places import PairPlaces
from karat.evaluation.check.plan import CheckPlan
from karat.evaluation.check.recomputing import Recomputing
from karat.evaluation.check.rows import duplicates, repeated_judgments, unreadable, unreadable_rows, unreadable_source
from karat.evaluation.check.run_checks import Depths, IdenticalIds, RankOrder, wrong_ranks
from karat.evaluation.check.texts import KnownTexts
from karat.evaluation.documents import EvaluationPlan, JudgedDocuments, Sources
from karat.evaluation.facts import DocumentFacts, unjudged_share
from karat.evaluation.findings import findings
from karat.evaluation.reading import CorpusMatcher, read_judgments, read_matcher
from karat.matching.matchers import FunctionMatcher
from karat.ranking import RankingRules, assemble
from karat.reading.bytes.rejected_rows import RejectedRows
from karat.reading.pairs.any_source import Truth, read_ranks, read_run
from karat.reading.pairs.containers import Run
from karat.reading.pairs.objects import rereadable
from karat.reading.pairs.tables import RepeatedJudgments
from karat.registry import Measure
from karat.registry.names import format_value
from karat.scores.combining import combined_column
from karat.scores.finding import Finding
from karat.scores.finding_kinds import finding_kinds

_TOP, _MANY_UNJUDGED = 10, 0.2
_MOST_WRONG_RANKS = 1_000
"""if there are more, the column does not contain ranks"""
_ABOUT_ALL_QUERIES = ("missing-queries", "unknown-queries")
"""which say nothing if no query is in both: that is a finding of its own"""
_FOUND_OTHERWISE = ("duplicates", "identical-ids")
"""with their places, by checks of their own"""
_ABOUT_TRUTH = frozenset({"empty-truths", "no-relevant", "keyless-golds"})
"""findings of an evaluation that do not depend on the run"""
_NOTICEABLE = 0.005
"""of the range of a measure. Systems are compared with three digits; smaller differences are in every run with ties"""


def check_documents(plan: CheckPlan, texts: KnownTexts) -> Iterator[Found]:
    """What is wrong with ground truth and with each run."""
    source = PairPlaces.of_truth(plan).name
    try:
        plan = _with_texts(replace(plan, truth=rereadable(plan.truth, source), corpus=texts.plan.corpus))
    except KaratError as error:
        if all(isinstance(found, Others) or found.place != error.place for found in texts.findings):
            yield unreadable(error)
    read = _read_truth(plan, source)
    yield from read.findings
    yield from texts.about_truth(read.truth)
    systems: list[Evidence] = []
    for name, run in plan.runs.items():
        checked = _CheckedRun(read, name, plan, texts)
        yield from checked.findings(run)
        systems += checked.evidence
    if read.truth is not None:
        yield from across_systems(read.truth, systems, list(plan.measures), source)


def _with_texts(plan: CheckPlan) -> CheckPlan:
    """The plan with a matcher that knows the texts of a corpus, if documents are matched by their texts."""
    matcher = plan.matcher
    if plan.corpus is None or isinstance(matcher, FunctionMatcher) or matcher.key.field != "content":
        return plan
    runs = {name: rereadable(run, name) for name, run in plan.runs.items()}
    with_texts = read_matcher(plan.settings["match"], plan.corpus, plan.truth, runs, plan.inputs)
    return replace(plan, matcher=with_texts.matcher, runs=runs)


class _ReadTruth(NamedTuple):
    """Ground truth, without rows that are wrong, and what is wrong with it; None if it cannot be read at all."""

    truth: Truth | None
    findings: tuple[Found, ...]


def _read_truth(plan: CheckPlan, source: str) -> _ReadTruth:
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
    return _ReadTruth(truth, (*found, *(_about_truth(truth, plan, source) if truth else ())))


def _about_truth(truth: Truth, plan: CheckPlan, source: str) -> Iterator[Finding]:
    judged, observations = assemble(truth, [])
    measures = list(plan.measures)
    facts = DocumentFacts.of(judged, observations, measures, only_relevant=truth.only_relevant)
    for finding in findings(facts, measures, match=plan.matcher):
        if finding.code in _ABOUT_TRUTH:
            yield replace(finding, place=Place(source))
    # Who lists documents without grading them has no other grade.
    if len(truth.grades) > 1 and not truth.only_relevant and (truth.grades == truth.grades[0]).all():
        grade = format_value(float(np.asarray(truth.grades)[0]))
        what = f"all {plural(len(truth.grades), 'judged document')} have grade {grade}"
        hint = "If documents were graded, another column may have to be read."
        yield Finding("equal-grades", what, len(truth.grades), hint, place=Place(source))


class _CheckedRun:
    """A run that is checked, and the evidence for its scores, if there are any."""

    def __init__(self, read: _ReadTruth, name: str, plan: CheckPlan, texts: KnownTexts) -> None:
        self.evidence: list[Evidence] = []
        self._read, self._name, self._plan, self._texts = read, name, plan, texts
        self._truth = read.truth or Truth.empty()
        # Evaluations leave out such documents only if they are asked to.
        self._rules = RankingRules(duplicates="first", ignore_identical_ids=plan.settings["ignore_identical_ids"])

    def findings(self, source: Any) -> Iterator[Found]:
        """What is wrong with the run."""
        rejected = RejectedRows()
        try:
            yield from self._findings(rereadable(source, self._name), rejected)
        except KaratError as error:
            yield unreadable_source(error, rejected)
        yield from unreadable_rows(rejected, self._name)

    def _findings(self, source: Any, rejected: RejectedRows) -> Iterator[Found]:
        plan, inputs, truth, name = self._plan, self._plan.inputs, self._truth, self._name
        columns, form, key = inputs.run_columns, inputs.run_format, plan.matcher.key
        run = read_run(source, truth, columns=columns, format=form, key=key, name=name, rejected=rejected)
        by_rank = RejectedRows(_MOST_WRONG_RANKS)
        ranks = read_ranks(source, columns=columns, format=form, name=name, rejected=by_rank)
        ranked = rank_and_see(truth, run, plan.matcher, lambda: self._checks(run), self._rules, ranks)
        for check in ranked.checks:
            yield from check.findings()
        yield from wrong_ranks(by_rank, _MOST_WRONG_RANKS, rejected, run.name)
        yield from duplicates(ranked.duplicates, ranked.observations.duplicates, run.locate, run.name)
        if self._read.truth is not None:
            yield from self._scored(ranked, run)
            if claims := plan.claimed.get(name):
                recomputing = Recomputing.of(ranked, truth, run, self._rules, plan.matcher)
                yield from check_claims(claims, recomputing, plan.settings)

    def _checks(self, run: Run) -> Sequence[RunCheck]:
        own: list[RunCheck] = [Depths(run.name, list(self._plan.measures)), RankOrder(run)]
        if not self._plan.settings["ignore_identical_ids"]:
            own.append(IdenticalIds(run.name, self._truth))
        return [*own, *self._texts.checks_of_run(run, self._truth)]

    def _scored(self, ranked: RankedRun, run: Run) -> Iterator[Finding]:
        """What an evaluation finds, and what depends on values of measures."""
        plan = self._plan
        measures = {measure: names for measure, names in plan.measures.items() if measure.definition.takes == "judged"}
        evaluation = EvaluationPlan(measures, plan.settings, CorpusMatcher(plan.matcher), plan.inputs)
        sources = Sources(self._truth, run, plan.inputs)
        by_ties = {
            ties: JudgedDocuments.ranked(
                judged, ranked.observations, self._truth, run, replace(self._rules, ties=ties), evaluation, sources
            )
            for ties, judged in ranked.judged.items()
        }
        documents = by_ties["trec"]
        if finding := without_common_queries(self._truth, documents.facts, run.name):
            yield finding
            return
        self.evidence.append(documents.evidence)
        share = unjudged_share(documents.judged, _TOP)
        is_much = 0 < _MANY_UNJUDGED * share.total <= share.number
        # Measures may ignore unjudged documents; and if nothing was found, that is the finding.
        matters = documents.facts.unjudged and documents.facts.hits
        facts = replace(documents.facts, unjudged={_TOP: share} if is_much and matters else {})
        is_another_set = facts.unknown and not facts.answered
        unwanted = {*_ABOUT_TRUTH, *_FOUND_OTHERWISE, *(_ABOUT_ALL_QUERIES if is_another_set else ())}
        for finding in findings(facts, list(measures), plan.settings["missing"], plan.matcher):
            if finding.code in finding_kinds() and finding.code not in unwanted:
                yield replace(finding, place=Place(run.name))
        best, worst = (by_ties[ties].values(measures) for ties in ("best", "worst"))
        yield from _decided_by_ties(measures, best, worst, run.name)


def _decided_by_ties(
    measures: Mapping[Measure, object], best: Mapping[str, Floats], worst: Mapping[str, Floats], name: str
) -> Iterator[Finding]:
    """The measures whose means differ noticeably, with relevant documents first and last in each tie."""
    ranges: list[str] = []
    for measure in measures:
        low, high = measure.definition.bounds
        worst_mean, best_mean = (combined_column(str(measure), values[str(measure)]) for values in (worst, best))
        if worst_mean is None or best_mean is None or measure.definition.combine == "sum":
            continue
        if abs(best_mean - worst_mean) >= _NOTICEABLE * (high - low):
            first, last = sorted((worst_mean, best_mean))
            ranges.append(f"{measure} is {first:.4f} to {last:.4f}")
    if ranges:
        message = f"{enumeration(ranges, 'and')}, depending on the order of documents with equal scores"
        hint = "Write scores with more digits, or break ties in the system."
        yield Finding("decided-by-ties", message, len(ranges), hint, place=Place(name))
