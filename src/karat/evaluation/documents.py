"""The scores of documents: from ground truth and a run to Judged, and from Judged to the values of measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from karat.analysis.evidence import Evidence
from karat.errors import KaratError, require
from karat.evaluation.corpus import CorpusMatcher
from karat.evaluation.findings import SCORE_MISSING, findings, no_common_queries, share_of_labels
from karat.evaluation.reading import ReadingOptions, check_fields, paths_of, read_judgments, read_labelled_judgments
from karat.files.input_file import Progress
from karat.judged import Floats, Judged
from karat.matching.matchers import FunctionMatcher, Matcher, Same
from karat.ranking import RankingRules, judge
from karat.registry import Measure
from karat.registry.selection import Selection, asked_names
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint
from karat.sources import Truth, read_run
from karat.sources.digests import LazyDigests, span_digests, truth_digests
from karat.sources.numeric_ids import notes_on_reading
from karat.spans import Spans


def read_shared_truth(
    truth: Any, inputs: ReadingOptions, matcher: Matcher, measures: Selection, verdicts: Any, by: str | None
) -> Any:
    """Ground truth, read once for several runs, with the labels of its unjudged documents; spans are read later."""
    if not _need_spans(measures):
        return read_labelled_judgments(truth, inputs, matcher, verdicts, by)
    from karat.sources.spans import materialized

    what = "labels grade documents, and measures of spans read spans"
    require(verdicts is None and by is None, what, "Leave verdicts= (--verdicts) out, or evaluate spans by themselves.")
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
    matcher = matching.matcher
    files = paths_of(truth if truth_file is None else truth_file, run)
    spans: Spans | None = None
    truths: dict[str, Mapping[str, str]] = {}
    if _need_spans(measures):
        from karat.sources.spans import materialized, read_spans

        truth, run = materialized(truth), materialized(run)
        read = read_spans(truth, run, ("the ground truth", name or "the run"), settings["ignore_identical_ids"])
        spans = read.spans
        truths["spans"] = LazyDigests(partial(span_digests, spans, read.gold_documents))
        if matcher == Same():
            # The id of a span is the id of its document.
            truth, run = read.gold_documents, read.retrieved_documents

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
    judged, observations = judge(judgments, source, rules, matcher)
    check_fields(matcher, judged, observations, source.name)
    graded = _with_scores_as_grades(judged, judgments, measures)
    evidence = Evidence(graded, judgments, source.without_progress(), rules, matcher, files)
    answered, skip_missing = judged.in_run, settings["missing"] == "skip"
    # A run in memory may be empty: the system retrieved nothing.
    if observations.unknown_queries and not answered.any():
        raise no_common_queries(judgments.queries, observations.unknown_queries, source.name)
    labels = judgments.labels
    if skip_missing:
        require(answered.any(), "the run contains no query", SCORE_MISSING, where=source.name)
        labels = None if labels is None else replace(labels, rows=labels.rows[answered[judged.gold_query]])
        judged, graded = judged.select(answered), graded.select(answered)

    values: dict[str, Floats] = {}
    for measure in measures:
        if spans is not None and measure.definition.takes == "spans":
            column = measure.compute(spans)
            values[str(measure)] = column[answered] if skip_missing else column
        else:
            values[str(measure)] = measure.compute(graded if measure.definition.graded else judged)

    notes_read = (*notes_on_reading(judgments.notes, source.notes), *matching.notes)
    notes = [Finding("reading", note, 0) for note in notes_read]
    found = notes + findings(
        judged, observations, list(measures), settings["missing"], matcher, only_relevant=judgments.only_relevant
    )
    found += [] if labels is None else [share_of_labels(judged, labels, list(measures))]
    recorded = {option: settings[option] for option in ("ties", "missing", "duplicates", "ignore_identical_ids")}
    recorded |= {} if labels is None else {"grades_by": labels.by}
    fingerprint = Fingerprint(truths, str(matcher), recorded)
    return Scores(
        judged.queries, values, tuple(found), name, evidence, fingerprint=fingerprint, asked=asked_names(measures)
    )


def _need_spans(measures: Iterable[Measure]) -> bool:
    return any(measure.definition.takes == "spans" for measure in measures)


def _with_scores_as_grades(judged: Judged, truth: Truth, measures: Iterable[Measure]) -> Judged:
    """For graded measures: if the gold documents have scores, these are their grades."""
    if isinstance(truth.scores, KaratError):
        if any(measure.definition.graded for measure in measures):
            raise truth.scores
        return judged
    return judged if truth.scores is None else judged.regraded(truth.scores)
