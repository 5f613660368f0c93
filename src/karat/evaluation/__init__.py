"""evaluate(): from truth and run to scores, the whole path on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from karat.analysis.evidence import Evidence
from karat.errors import KaratError, shown
from karat.evaluation.answers import evaluate_answers, score_answers
from karat.evaluation.eval_run_result import EvaluationRunResult
from karat.evaluation.findings import empty_lines, findings
from karat.evaluation.merge import merge
from karat.judged import Floats, Judged
from karat.matching.matchers import Matcher, Same, matcher_of
from karat.options import EvaluationOptions, complete_options
from karat.ranking import Observations, Rules, judge
from karat.registry import Measure, Subject, meanings, parse
from karat.registry.selection import (
    DEFAULT_ANSWER_MEASURES,
    DEFAULT_MEASURES,
    Measures,
    listed_measures,
    select_measures,
    subject_of,
)
from karat.scores import Finding, Scores
from karat.sources import Truth, read_run, read_truth
from karat.sources.results import PARTS, read_results
from karat.sources.spans import materialized, read_spans
from karat.sources.text_file import Progress
from karat.spans import Spans

__all__ = [
    "DEFAULT_ANSWER_MEASURES",
    "DEFAULT_MEASURES",
    "EvaluationRunResult",
    "evaluate",
    "evaluate_answers",
    "evaluate_results",
    "evaluate_runs",
    "select_measures",
]


def evaluate(
    truth: Any,
    run: Any,
    measures: Measures = DEFAULT_MEASURES,
    *,
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    name: str = "",
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate a run against ground truth.

    `truth` and `run` are each a path (`-` is standard input), a mapping by query, one list per query, or a data
    frame. `measures` are names such as `nDCG@10`, in karat's spelling or a peer's.

    - `match`: what counts as a hit. The same `id` (the default), `content` or field (`meta.source`); a `prefix` of the
      id; texts compared by `chunk`, `fuzzy(threshold=90)` or `overlap(threshold=0.5)`; or a function
      `(retrieved, gold) -> bool`.
    - `missing`: queries of the truth that the run lacks score `"zero"` (the default), or are left out (`"skip"`).
    - `ties`: how equal scores are ordered. `"trec"` (the default) is by document id, descending; `"input"` keeps the
      order of the input; `"best"` and `"worst"` put relevant documents first or last.
    - `duplicates`: a document listed twice for a query of a table is an `"error"` (the default), or the `"first"` in
      rank is kept.
    - `ignore_identical_ids`: ignore documents whose id is the id of their query.
    - `rel`: the lowest grade that counts as relevant, for measures whose name does not say it; 1 by default.
    - `truth_columns`, `run_columns`: the names of data frame columns, as in `{"doc": "docno"}`.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": {"b": 0.5, "x": 0.4, "a": 0.3}}, ["AP"])["AP"]
    0.8333333333333333
    """
    how = complete_options(options)
    chosen = select_measures(measures, how["rel"])
    matcher_of(how["match"])
    return _evaluated(truth, run, chosen, how, truth_columns, run_columns, progress, name)


def _evaluated(
    truth: Any,
    run: Any,
    chosen: Sequence[Measure],
    how: Mapping[str, Any],
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    name: str = "",
) -> Scores:
    """The path itself: sources, matching, ranking, measures, scores."""
    matcher = matcher_of(how["match"])
    spans: Spans | None = None
    if _of_spans(chosen):
        truth, run = materialized(truth), materialized(run)
        read = read_spans(truth, run, ("the truth", name or "the run"), how["ignore_identical_ids"])
        spans = read.spans
        if matcher == Same():
            # A span's id is its document's.
            truth, run = read.gold_documents, read.retrieved_documents
    judgments = read_truth(truth, columns=truth_columns, key=matcher.gold_key)
    source = read_run(run, judgments, columns=run_columns, key=matcher.key, progress=progress, name=name or "the run")
    rules = Rules(how["ties"], how["duplicates"], how["ignore_identical_ids"])
    judged, noticed = judge(judgments, source, rules, matcher)
    _refuse_unknown_field(matcher, judged, noticed, source.name)
    graded = _with_scores(judged, judgments, any(measure.definition.graded for measure in chosen))
    evidence = Evidence(graded, judgments, source.without_progress(), rules, matcher)
    kept = judged.answered
    skip = how["missing"] == "skip"
    if skip:
        judged, graded = judged.select(kept), graded.select(kept)
        if not judged.queries:
            raise KaratError(
                "no query of the truth is in the run",
                where=source.name,
                hint="Compare the query ids of both: are they written alike?",
            )
    values: dict[str, Floats] = {}
    for measure in chosen:
        if spans is not None and measure.definition.takes == "spans":
            of_all = measure.compute(spans)
            values[str(measure)] = of_all[kept] if skip else of_all
        else:
            values[str(measure)] = measure.compute(graded if measure.definition.graded else judged)
    found = findings(judged, noticed, chosen, how["missing"], matcher)
    return Scores(judged.queries, values, tuple(found), name, evidence)


def _of_spans(measures: Iterable[Measure]) -> bool:
    return any(measure.definition.takes == "spans" for measure in measures)


def _with_scores(judged: Judged, truth: Truth, needed: bool) -> Judged:
    """For graded measures: where gold documents were listed with scores, these are their grades."""
    if isinstance(truth.scores, KaratError):
        if needed:
            raise truth.scores
        return judged
    return judged if truth.scores is None else judged.regraded(truth.scores)


def _refuse_unknown_field(match: Matcher, judged: Judged, noticed: Observations, run: str) -> None:
    """A field that not one document has is a slip of the pen."""
    for name, field, keyless, whole in (
        ("the truth", match.gold_key.field, noticed.keyless_golds, noticed.keyless_golds + len(judged.gold_grade)),
        (run, match.key.field, sum(noticed.keyless.values()), int(judged.retrieved.sum())),
    ):
        # What is there may still be folded to nothing.
        if field != "id" and not match.key.folds and 0 < keyless == whole:
            hint = "match= names one of their fields."
            if name == "the truth" and match == Same(field):
                hint += f" Where it names the id of a gold document, write {field}(gold=id)."
            raise KaratError(f"no document has a {shown(field)}, or all are empty", where=name, hint=hint)


def evaluate_runs(
    truth: Any,
    runs: Mapping[str, Any],
    measures: Measures = DEFAULT_MEASURES,
    *,
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **options: Unpack[EvaluationOptions],
) -> dict[str, Scores]:
    """Evaluate several runs against one truth, which is read once. The options are those of `evaluate`.

    >>> scores = evaluate_runs({"q": {"a": 1}}, {"good": {"q": ["a"]}, "bad": {"q": ["x", "a"]}}, "RR")
    >>> {name: of_run["RR"] for name, of_run in scores.items()}
    {'good': 1.0, 'bad': 0.5}
    """
    if not isinstance(runs, Mapping) or not runs:
        raise KaratError(f"{shown(runs)} are no runs", hint='Give them by name: {"bm25": run, "dense": run}.')
    how = complete_options(options)
    chosen = select_measures(measures, how["rel"])
    if _of_spans(chosen):
        judgments = materialized(truth)
    else:
        judgments = read_truth(truth, columns=truth_columns, key=matcher_of(how["match"]).gold_key)
        truth_columns = None
    return {
        name: _evaluated(judgments, run, chosen, how, truth_columns, run_columns, progress, name)
        for name, run in runs.items()
    }


def evaluate_results(
    results: Any,
    measures: Measures | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    name: str = "",
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate the results of a RAG system: a file of JSON lines, or a list of records, one per question.

    Each has a `query`, its `truth` (texts, ids or documents) and what was `retrieved`, best first; or its
    `gold_answers` and the `answer`; or all of them, and then both are measured. `fields` says where they are called
    otherwise, as `{"retrieved": "response.source_nodes"}`. The options are those of `evaluate`.

    >>> record = {"query": "How soft?", "truth": ["Gold is soft."], "retrieved": ["Iron rusts.", "is soft"]}
    >>> evaluate_results([record], "RR", match="chunk")["RR"]
    0.5
    >>> evaluate_results([{**record, "gold_answers": ["soft"], "answer": "Soft!"}], ["EM(normalize=true)", "R"]).means
    {'EM(normalize=true)': 1.0, 'R': 0.0}
    """
    asked = None if measures is None else listed_measures(measures)
    how = complete_options(options)
    matcher_of(how["match"])
    certain, open_ones = _subjects(asked)
    read = read_results(results, fields, certain, PARTS if asked is None or open_ones else ())
    defaults = {"documents": DEFAULT_MEASURES, "answers": DEFAULT_ANSWER_MEASURES}
    names = [name for part in read.parts for name in defaults[part]] if asked is None else asked
    chosen = select_measures(names, how["rel"], read.parts)
    parts: list[Scores] = []
    of_documents, of_answers = (
        [measure for measure in chosen if subject_of(measure) == part] for part in ("documents", "answers")
    )
    if of_documents:
        try:
            parts.append(_evaluated(read.truth, read.run, of_documents, how, name=name))
        except KaratError as error:
            if error.where is None:
                raise
            raise KaratError(error.what, where=f"{read.name}, {error.where}", hint=error.hint) from error.__cause__
    if of_answers:
        parts.append(score_answers(read.gold_answers, read.answers, of_answers, how["missing"], name, read.name))
    together = merge(parts, read.queries, list(map(str, chosen)), name)
    unscored = [] if asked else [Finding("unscored", *what) for what in read.unscored]
    return replace(together, findings=(*together.findings, *unscored, *empty_lines(read.empty)))


def _subjects(asked: Iterable[str | Measure] | None) -> tuple[list[Subject], bool]:
    """What these measures are of, and whether that depends on what is there, as of F1."""
    known = [[each] if isinstance(each, Measure) else meanings(str(each)) or [parse(str(each))] for each in asked or ()]
    certain = {subject_of(meant[0]) for meant in known if len(meant) == 1}
    return [part for part in PARTS if part in certain], any(len(meant) > 1 for meant in known)
