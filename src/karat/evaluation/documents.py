"""The scores of documents: from ground truth and a run to Judged, and from Judged to the values of measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from karat.analysis.evidence import Evidence
from karat.data.judged import Bools, Floats, Judged, Pool
from karat.data.spans import Spans
from karat.errors import KaratError, Message, Parameter, Place, require, shown
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.findings import SCORE_MISSING, findings, no_common_queries
from karat.evaluation.reading import CorpusMatcher, ReadingOptions, read_judgments, read_labelled_judgments
from karat.matching.document_samples import SampledQuery, sample_of_run
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher, Same
from karat.options import Missing
from karat.ranking import Observations, RankingRules, rank_judged, rank_pool
from karat.reading.bytes.input_file import Progress
from karat.reading.pairs.any_source import Run, Truth, read_run
from karat.reading.pairs.digests import LazyDigests, span_digests, truth_digests
from karat.reading.pairs.numeric_ids import Note, notes_on_reading
from karat.registry import Measure
from karat.registry.selection import Selection, asked_names, notes_on_names
from karat.scores import Finding, Scores
from karat.scores.finding import reading_finding
from karat.scores.fingerprint import Fingerprint

if TYPE_CHECKING:
    from karat.evaluation.corrected_documents import GradesByPeople

_RECORDED = ("ties", "missing", "duplicates", "ignore_identical_ids")  # options that scores must share to be compared


class EvaluationPlan(NamedTuple):
    """What is computed, and how; the same for all runs that are evaluated together."""

    measures: Selection
    settings: Mapping[str, Any]
    """all options of `evaluate`"""
    matching: CorpusMatcher
    inputs: ReadingOptions = ReadingOptions()
    people: GradesByPeople | None = None
    """the grades of people that correct those of a model, if they do"""


def need_spans(measures: Iterable[Measure]) -> bool:
    """Whether any of the measures reads spans."""
    return any(measure.definition.takes == "spans" for measure in measures)


def need_pool(measures: Iterable[Measure]) -> bool:
    """Whether any of the measures depends on the judged documents of other queries."""
    return any(measure.definition.takes == "pool" for measure in measures)


def read_shared_truth(
    truth: Any, inputs: ReadingOptions, matcher: Matcher, measures: Selection, verdicts: Any, author: str | None
) -> Any:
    """Ground truth, read once for several runs, with the labels of its unjudged documents; spans are read later."""
    if not need_spans(measures):
        return read_labelled_judgments(truth, inputs, matcher, verdicts, author)
    from karat.reading.records.spans import materialized

    what = "labels grade documents, and measures of spans read spans"
    hint: Message = ["Leave ", Parameter("verdicts"), " out, or evaluate spans by themselves."]
    require(verdicts is None and author is None, what, hint)
    return materialized(truth)


def score_documents(
    truth: Any,
    run: Any,
    plan: EvaluationPlan,
    name: str = "",
    progress: Progress | None = None,
    files: tuple[str, ...] = (),
) -> Scores:
    """The scores of a run, which is judged here. `files` are the paths of ground truth and run."""
    documents = JudgedDocuments.read(truth, run, plan, name, progress, files)
    facts, evidence = documents.facts, documents.evidence
    check_facts(facts, plan.matching.matcher, plan.settings["missing"], evidence.run.name)
    queries, values = documents.judged.queries, documents.values(plan.measures)
    scores = scores_of_documents(queries, values, facts, documents.truths, plan, name, documents.labels_by, evidence)
    return scores if plan.people is None else plan.people.correct(scores, documents, plan.measures)


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """Documents that were judged, of all queries or of a part of them: what their values are computed from.

    `graded` is `judged` with the grades for graded measures, and `pool` with the documents that any query judges.
    `answered` says which queries of `spans` are left, and `truths` contains the digests of the ground truth. Nothing is
    checked that depends on other queries.
    """

    judged: Judged
    graded: Judged
    pool: Pool | None
    spans: Spans | None
    answered: Bools | None
    facts: DocumentFacts
    truths: Mapping[str, Mapping[str, str]]
    evidence: Evidence
    labels_by: str | None

    @classmethod
    def read(
        cls,
        truth: Any,
        run: Any,
        plan: EvaluationPlan,
        name: str = "",
        progress: Progress | None = None,
        files: tuple[str, ...] = (),
    ) -> Self:
        """Read ground truth and a run, and judge the documents of the run."""
        matcher = plan.matching.matcher
        sources = Sources(truth, run, plan.inputs)
        if need_spans(plan.measures):
            sources = _read_spans(truth, run, plan, name)
        inputs = sources.inputs
        judgments = read_judgments(sources.truth, inputs, matcher)
        columns, form, label = inputs.run_columns, inputs.run_format, name or "the run"
        source = read_run(
            sources.run, judgments, columns=columns, format=form, key=matcher.key, progress=progress, name=label
        )
        return cls.judge(judgments, source, plan, sources=sources, files=files)

    @classmethod
    def judge(
        cls,
        judgments: Truth,
        source: Run,
        plan: EvaluationPlan,
        *,
        sources: Sources | None = None,
        files: tuple[str, ...] = (),
        is_part: bool = False,
    ) -> Self:
        """Judge the documents of a run. If it `is_part` of one, queries that are not in it are in other parts."""
        settings, matcher = plan.settings, plan.matching.matcher
        rules = RankingRules(settings["ties"], settings["duplicates"], settings["ignore_identical_ids"])
        before, observations = rank_judged(judgments, source, rules, matcher)
        if is_part:
            judgments, before = judgments.only(before.in_run), before.select(before.in_run)
            observations = replace(observations, golds_without_key=0)
        sources = sources or Sources(judgments, source, plan.inputs)
        return cls.ranked(before, observations, judgments, source, rules, plan, sources, files)

    @classmethod
    def ranked(
        cls,
        before: Judged,
        observations: Observations,
        judgments: Truth,
        source: Run,
        rules: RankingRules,
        plan: EvaluationPlan,
        sources: Sources,
        files: tuple[str, ...] = (),
    ) -> Self:
        """The judged documents of a run that were ranked by the rules: `before` has all queries."""
        measures, settings, matcher = plan.measures, plan.settings, plan.matching.matcher
        by_function = isinstance(matcher, FunctionMatcher)
        digests = LazyDigests(partial(truth_digests, judgments, True)) if by_function else judgments.digests
        graded = with_scores_as_grades(before, judgments, measures)
        pool = rank_pool(judgments, source.without_progress(), rules, matcher) if need_pool(measures) else None
        evidence = Evidence(graded, judgments, source.without_progress(), rules, matcher, files)
        judged, labels, answered = before, judgments.labels, None
        labelled = None if labels is None else labels.rows
        if settings["missing"] == "skip":
            answered = before.in_run
            labelled = None if labelled is None else labelled[answered[before.gold_query]]
            judged, graded = before.select(answered), graded.select(answered)
            pool = None if pool is None else pool.select(answered)
        facts = DocumentFacts.of(
            judged,
            observations,
            list(measures),
            before=before,
            labelled=labelled,
            only_relevant=judgments.only_relevant,
            unmatched=_unmatched(before, evidence),
            truth_notes=(*sources.truth_notes, *judgments.notes),
            run_notes=(*sources.run_notes, *source.notes),
        )
        truths = {**sources.digests, "judged": digests}
        by = None if labels is None else labels.by
        return cls(judged, graded, pool, sources.spans, answered, facts, truths, evidence, by)

    def regraded(self, grades: Floats) -> Self:
        """The same documents, of which those with a number here, by row of the ground truth, have another grade."""
        before = self.evidence.judged
        grades = grades if self.answered is None else grades[self.answered[before.gold_query]]

        def with_grades(judged: Judged) -> Judged:
            return judged.regraded(np.where(np.isnan(grades), judged.gold_grade, grades))

        return replace(self, judged=with_grades(self.judged), graded=with_grades(self.graded))

    def values(self, measures: Selection) -> dict[str, Floats]:
        """The value of each measure for each query."""
        values: dict[str, Floats] = {}
        for measure in measures:
            if self.spans is not None and measure.definition.takes == "spans":
                column = measure.compute(self.spans)
                values[str(measure)] = column if self.answered is None else column[self.answered]
            elif self.pool is not None and measure.definition.takes == "pool":
                values[str(measure)] = measure.compute(self.pool)
            else:
                values[str(measure)] = measure.compute(self.graded if measure.definition.graded else self.judged)
        return values


@dataclass(frozen=True, eq=False)
class Sources:
    """Ground truth and a run, as they are judged; and their spans, if measures read them."""

    truth: Any
    run: Any
    inputs: ReadingOptions
    spans: Spans | None = None
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """the digests of the gold spans"""
    truth_notes: tuple[Note, ...] = ()
    run_notes: tuple[Note, ...] = ()


def _read_spans(truth: Any, run: Any, plan: EvaluationPlan, name: str) -> Sources:
    """Read the spans of ground truth and run. Matched by id, the documents that are judged are those of the spans."""
    from karat.reading.records.spans import materialized, read_spans, spans_of_frame

    inputs, names = plan.inputs, ("the ground truth", name or "the run")
    truth, run = materialized(truth), materialized(run)
    truth_notes: tuple[Note, ...] = ()
    run_notes: tuple[Note, ...] = ()
    if listed := spans_of_frame(truth, "grade", inputs.truth_columns, names[0]):
        truth, inputs, truth_notes = listed.documents, inputs._replace(truth_columns=None), listed.notes
    if listed := spans_of_frame(run, "score", inputs.run_columns, names[1]):
        run, inputs, run_notes = listed.documents, inputs._replace(run_columns=None), listed.notes
    read = read_spans(truth, run, names, plan.settings["ignore_identical_ids"])
    digests = {"spans": LazyDigests(partial(span_digests, read.spans, read.gold_documents))}
    if plan.matching.matcher == Same():
        # The id of a span is the id of its document.
        truth, run = read.gold_documents or truth, read.retrieved_documents
    return Sources(truth, run, inputs, read.spans, digests, truth_notes, run_notes)


def check_facts(facts: DocumentFacts, matcher: Matcher, missing: Missing, run: str) -> None:
    """Raise an error if ground truth and run, of which all queries are known, do not fit together."""
    golds = facts.golds_without_key + facts.all_golds
    for name, key_field, without, total in (
        (None, matcher.gold_key.field, facts.golds_without_key, golds),
        (run, matcher.key.field, facts.without_key, facts.all_retrieved),
    ):
        # With normalization, documents that have the field may still be without a key.
        if key_field != "id" and not matcher.key.folds and 0 < without == total:
            raise _missing_field(matcher, key_field, name)
    # A run in memory may be empty: the system retrieved nothing.
    if facts.unknown and not facts.answered:
        raise no_common_queries(facts.examples, facts.unknown, run)
    if missing == "skip":
        require(facts.answered, "the run contains no query", SCORE_MISSING, place=run)


def scores_of_documents(
    queries: tuple[str, ...],
    values: Mapping[str, Floats],
    facts: DocumentFacts,
    truths: Mapping[str, Mapping[str, str]],
    plan: EvaluationPlan,
    name: str = "",
    labels_by: str | None = None,
    evidence: Evidence | None = None,
    run_name: str | None = None,
) -> Scores:
    """The scores of all queries, with the findings that follow from the facts about them.

    `run_name` is that of the run in messages, if the evidence does not have it.
    """
    measures, settings, (matcher, notes_on_corpus) = plan[:3]
    notes = (*notes_on_reading(facts.truth_notes, facts.run_notes), *notes_on_corpus)
    all_findings = [Finding("names", note, 0) for note in notes_on_names(measures)]
    file = run_name if evidence is None else evidence.run.name
    all_findings += [reading_finding(note, file) for note in notes]
    all_findings += findings(facts, list(measures), settings["missing"], matcher, labels_by=labels_by)
    recorded = {option: settings[option] for option in _RECORDED}
    recorded |= {} if labels_by is None else {"grades_by": labels_by}
    fingerprint = Fingerprint(truths, str(matcher), recorded)
    asked = asked_names(measures)
    return Scores(queries, values, tuple(all_findings), name, evidence, fingerprint=fingerprint, asked=asked)


def _missing_field(matcher: Matcher, field: str, run: str | None) -> KaratError:
    """The error if no document at all has the field that `match` names: it is probably a typo.

    The documents are those of a run, or else of the ground truth.
    """
    place = Place("the ground truth" if run is None else run)
    if matcher.texts is not None:
        which = "judged" if run is None else "retrieved"
        return KaratError(f"the corpus has no text for any {which} document", place=place)
    what = f"the field {shown(field)} is missing or empty in all documents"
    error = KaratError(what, place=place, hint=[Parameter("match"), " must name a field of the documents."])
    if run is None and matcher == Same(field):
        error.add_hint(f"If it contains the id of a gold document, write {field}(gold=id).")
    return error


def _unmatched(judged: Judged, evidence: Evidence) -> tuple[SampledQuery, ...]:
    """Documents of some queries, if no judged document was retrieved."""
    if len(judged.hit_rank):
        return ()
    return sample_of_run(evidence.truth, evidence.run, judged.in_run & (judged.retrieved > 0))


def with_scores_as_grades(judged: Judged, truth: Truth, measures: Iterable[Measure]) -> Judged:
    """For graded measures: if the gold documents have scores, these are their grades."""
    if isinstance(truth.scores, KaratError):
        if any(measure.definition.graded for measure in measures):
            raise truth.scores
        return judged
    return judged if truth.scores is None else judged.regraded(truth.scores)
