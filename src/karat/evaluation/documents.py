"""The scores of documents: from ground truth and a run to Judged, and from Judged to the values of measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from karat.analysis.evidence import Evidence
from karat.data.judged import Bools, Floats, Judged, Pool
from karat.data.spans import Spans
from karat.errors import KaratError, Message, Parameter, Place, require, shown
from karat.evaluation.corpus import CorpusMatcher
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.findings import SCORE_MISSING, findings, no_common_queries
from karat.evaluation.reading import ReadingOptions, paths_of, read_judgments, read_labelled_judgments
from karat.matching.matchers import FunctionMatcher, Matcher, Same
from karat.options import Missing
from karat.ranking import RankingRules, judge, judge_pool
from karat.reading.bytes.input_file import Progress
from karat.reading.pairs.any_source import Truth, read_run
from karat.reading.pairs.digests import LazyDigests, span_digests, truth_digests
from karat.reading.pairs.numeric_ids import Note, notes_on_reading
from karat.registry import Measure
from karat.registry.selection import Selection, asked_names, notes_on_names
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint


def need_spans(measures: Iterable[Measure]) -> bool:
    """Whether any of the measures reads spans."""
    return any(measure.definition.takes == "spans" for measure in measures)


def need_pool(measures: Iterable[Measure]) -> bool:
    """Whether any of the measures depends on the judged documents of other queries."""
    return any(measure.definition.takes == "pool" for measure in measures)


def read_shared_truth(
    truth: Any, inputs: ReadingOptions, matcher: Matcher, measures: Selection, verdicts: Any, by: str | None
) -> Any:
    """Ground truth, read once for several runs, with the labels of its unjudged documents; spans are read later."""
    if not need_spans(measures):
        return read_labelled_judgments(truth, inputs, matcher, verdicts, by)
    from karat.reading.records.spans import materialized

    what = "labels grade documents, and measures of spans read spans"
    hint: Message = ["Leave ", Parameter("verdicts"), " out, or evaluate spans by themselves."]
    require(verdicts is None and by is None, what, hint)
    return materialized(truth)


def score_documents(
    truth: Any,
    run: Any,
    measures: Selection,
    settings: Mapping[str, Any],
    inputs: ReadingOptions,
    matching: CorpusMatcher,
    progress: Progress | None = None,
    name: str = "",
    truth_file: Any = None,
) -> Scores:
    """The path of every evaluation of documents: sources, matching, ranking, measures, scores."""
    files = paths_of(truth if truth_file is None else truth_file, run)
    documents = JudgedDocuments.read(truth, run, measures, settings, inputs, matching.matcher, progress, name, files)
    check_facts(documents.facts, matching.matcher, settings["missing"], documents.evidence.run.name)
    return scores_of_documents(
        documents.judged.queries,
        documents.values(measures),
        documents.facts,
        documents.truths,
        measures,
        settings,
        matching,
        name,
        documents.labels_by,
        documents.evidence,
    )


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
        measures: Selection,
        settings: Mapping[str, Any],
        inputs: ReadingOptions,
        matcher: Matcher,
        progress: Progress | None = None,
        name: str = "",
        files: tuple[str, ...] = (),
    ) -> Self:
        """Read ground truth and a run, and judge the documents of the run."""
        spans: Spans | None = None
        truths: dict[str, Mapping[str, str]] = {}
        notes_on_truth: tuple[Note, ...] = ()
        notes_on_run: tuple[Note, ...] = ()
        if need_spans(measures):
            from karat.reading.records.spans import materialized, read_spans, spans_of_frame

            truth, run = materialized(truth), materialized(run)
            if listed := spans_of_frame(truth, "grade", inputs.truth_columns, "the ground truth"):
                truth, inputs, notes_on_truth = listed.documents, inputs._replace(truth_columns=None), listed.notes
            if listed := spans_of_frame(run, "score", inputs.run_columns, name or "the run"):
                run, inputs, notes_on_run = listed.documents, inputs._replace(run_columns=None), listed.notes
            read = read_spans(truth, run, ("the ground truth", name or "the run"), settings["ignore_identical_ids"])
            spans = read.spans
            truths["spans"] = LazyDigests(partial(span_digests, spans, read.gold_documents))
            if matcher == Same():
                # The id of a span is the id of its document.
                truth, run = read.gold_documents or truth, read.retrieved_documents

        judgments = read_judgments(truth, inputs, matcher)
        by_function = isinstance(matcher, FunctionMatcher)
        truths["judged"] = LazyDigests(partial(truth_digests, judgments, True)) if by_function else judgments.digests
        source = read_run(
            run,
            judgments,
            columns=inputs.run_columns,
            format=inputs.run_format,
            key=matcher.key,
            progress=progress,
            name=name or "the run",
        )
        rules = RankingRules(settings["ties"], settings["duplicates"], settings["ignore_identical_ids"])
        before, observations = judge(judgments, source, rules, matcher)
        graded = _with_scores_as_grades(before, judgments, measures)
        pool = judge_pool(judgments, source.without_progress(), rules, matcher) if need_pool(measures) else None
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
            truth_notes=(*notes_on_truth, *judgments.notes),
            run_notes=(*notes_on_run, *source.notes),
        )
        by = None if labels is None else labels.by
        return cls(judged, graded, pool, spans, answered, facts, truths, evidence, by)

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


def check_facts(facts: DocumentFacts, matcher: Matcher, missing: Missing, run: str) -> None:
    """Raise an error if ground truth and run, of which all queries are known, do not fit together."""
    golds = facts.golds_without_key + facts.all_golds
    for name, field, without, total in (
        (None, matcher.gold_key.field, facts.golds_without_key, golds),
        (run, matcher.key.field, facts.without_key, facts.all_retrieved),
    ):
        # With normalization, documents that have the field may still be without a key.
        if field != "id" and not matcher.key.folds and 0 < without == total:
            raise _missing_field(matcher, field, name)
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
    measures: Selection,
    settings: Mapping[str, Any],
    matching: CorpusMatcher,
    name: str = "",
    labels_by: str | None = None,
    evidence: Evidence | None = None,
) -> Scores:
    """The scores of all queries, with the findings that follow from the facts about them."""
    notes = (*notes_on_reading(facts.truth_notes, facts.run_notes), *matching.notes)
    found = [Finding("names", note, 0) for note in notes_on_names(measures)]
    found += [Finding("reading", note, 0) for note in notes]
    found += findings(facts, list(measures), settings["missing"], matching.matcher, labels_by=labels_by)
    recorded = {option: settings[option] for option in ("ties", "missing", "duplicates", "ignore_identical_ids")}
    recorded |= {} if labels_by is None else {"grades_by": labels_by}
    fingerprint = Fingerprint(truths, str(matching.matcher), recorded)
    asked = asked_names(measures)
    return Scores(queries, values, tuple(found), name, evidence, fingerprint=fingerprint, asked=asked)


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


def _with_scores_as_grades(judged: Judged, truth: Truth, measures: Iterable[Measure]) -> Judged:
    """For graded measures: if the gold documents have scores, these are their grades."""
    if isinstance(truth.scores, KaratError):
        if any(measure.definition.graded for measure in measures):
            raise truth.scores
        return judged
    return judged if truth.scores is None else judged.regraded(truth.scores)
