"""evaluate(): read ground truth and a run, match and rank the documents, and compute scores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from karat.errors import KaratError, Message, Parameter, require
from karat.errors.arguments import check_text
from karat.evaluation.answers import evaluate_answers, score_answers
from karat.evaluation.corpus import CorpusMatcher
from karat.evaluation.documents import read_shared_truth, score_documents
from karat.evaluation.findings import empty_results
from karat.evaluation.merge import merge
from karat.evaluation.reading import EvaluationOptions, ReadingOptions, check_reading, read_matcher
from karat.matching.matchers import matcher_of
from karat.options import AUTHOR, Unknown, complete_options
from karat.reading.bytes.input_file import Progress
from karat.reading.pairs.objects import rereadable
from karat.reading.pairs.paths import named_runs
from karat.reading.records.result_fields import PARTS
from karat.reading.records.results import Results, read_results
from karat.registry import Measure, Subject, meanings, parse
from karat.registry.selection import (
    DEFAULT_ANSWER_MEASURES,
    DEFAULT_MEASURES,
    Measures,
    Selection,
    listed_measures,
    of_subject,
    reject_without_labels,
    select_measures,
    subject_of,
)
from karat.scores import Finding, Scores, SystemScores

if TYPE_CHECKING:
    from karat.evaluation.eval_run_result import EvaluationRunResult
    from karat.evaluation.verdicts import LabelledResults, evaluate_verdicts

__all__ = [
    "DEFAULT_ANSWER_MEASURES",
    "DEFAULT_MEASURES",
    "EvaluationRunResult",
    "evaluate",
    "evaluate_answers",
    "evaluate_results",
    "evaluate_runs",
    "evaluate_verdicts",
    "select_measures",
]


_LATER = {
    "EvaluationRunResult": "karat.evaluation.eval_run_result",
    "evaluate_verdicts": "karat.evaluation.verdicts",
}
"""what an evaluation of documents or answers does not need, and is loaded when it is first used"""


def __getattr__(name: str) -> object:
    """Load what most evaluations do not need."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def evaluate(
    truth: Any,
    run: Any,
    measures: Measures = DEFAULT_MEASURES,
    *,
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    split: str | None = None,
    corpus: Any = None,
    verdicts: Any = None,
    by: str | None = None,
    progress: Progress | None = None,
    name: str = "",
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate a run against ground truth.

    `truth` and `run` are each a path (TREC, CSV, TSV, JSON, JSON lines, Parquet or Feather; `-` is standard input), an
    open file, a mapping by query, one list per query, rows, or a data frame. `truth` may also be the folder of a BEIR
    data set. `measures` are names such as `nDCG@10`, in the spelling of karat or of another library.

    - `match`: what counts as a hit. The same `id` (the default), `content` or field (`meta.source`); a `prefix` of the
      id; texts compared by `chunk`, `fuzzy(threshold=90)` or `overlap(threshold=0.5)`; or a function
      `(retrieved, gold) -> bool`.
    - `missing`: queries that are missing from the run score 0 (`"zero"`, the default) or are left out (`"skip"`).
    - `ties`: how equal scores are ordered. `"trec"` (the default) is by document id, descending; `"input"` keeps the
      order of the input; `"best"` and `"worst"` put relevant documents first or last.
    - `duplicates`: a document that a table lists twice for a query is an `"error"` (the default), or only its highest
      rank is kept (`"first"`).
    - `ignore_identical_ids`: ignore documents whose id is the id of their query.
    - `rel`: the lowest grade that counts as relevant, for measures whose name does not set it; 1 by default.
    - `truth_columns`, `run_columns`: the names of columns in files and data frames, as in `{"doc": "docno"}`.
    - `truth_format`, `run_format`: the format of a file, such as `"csv"`, if it is not to be detected.
    - `split`: the split of a BEIR data set; `"test"` by default, or the only one.
    - `corpus`: the texts of documents that are known by id only, to match them by text: a file in any format, the
      folder of a BEIR data set, `ir_datasets:NAME`, `{id: text}`, records, documents or a data frame, or several files.
      A document without a text matches nothing, and is counted.
    - `verdicts`: labels of documents, by people or a model, as grades for documents that the ground truth does not
      judge: a verdict file or several, a list of records, or a data frame. A finding says how many of the judged
      documents they grade. `by` chooses whose labels count, as in `evaluate_verdicts`.

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": {"b": 0.5, "x": 0.4, "a": 0.3}}, ["AP"])["AP"]
    0.8333333333333333
    """
    settings = complete_options(options)
    selected = select_measures(measures, settings["rel"])
    check_text("name", name)
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    check_reading(inputs, progress)
    if corpus is not None:
        truth, run = (rereadable(each, part) for each, part in ((truth, "the ground truth"), (run, "the run")))
    matcher = read_matcher(settings["match"], corpus, truth, {name: run}, inputs)
    judgments = read_shared_truth(truth, inputs, matcher.matcher, selected, verdicts, by)
    return score_documents(judgments, run, selected, settings, inputs, matcher, progress, name, truth)


def evaluate_runs(
    truth: Any,
    runs: Mapping[str, Any] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    measures: Measures = DEFAULT_MEASURES,
    *,
    truth_columns: Mapping[str, str] | None = None,
    run_columns: Mapping[str, str] | None = None,
    truth_format: str | None = None,
    run_format: str | None = None,
    split: str | None = None,
    corpus: Any = None,
    verdicts: Any = None,
    by: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[EvaluationOptions],
) -> SystemScores:
    """Evaluate several runs against the same ground truth, which is read once. The options are those of `evaluate`.

    `runs` is a mapping of names to runs, a list of paths, a folder or a pattern such as `runs/*.trec`: the systems are
    then named after the files. The result is a mapping of names to Scores, and a table when printed.

    >>> scores = evaluate_runs({"q": {"a": 1}}, {"good": {"q": ["a"]}, "bad": {"q": ["x", "a"]}}, "RR")
    >>> {name: of_run["RR"] for name, of_run in scores.items()}
    {'good': 1.0, 'bad': 0.5}
    """
    by_name = named_runs(runs)
    settings = complete_options(options)
    selected = select_measures(measures, settings["rel"])
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    check_reading(inputs, progress)
    if corpus is not None:
        truth = rereadable(truth, "the ground truth")
        by_name = {name: rereadable(run, name) for name, run in by_name.items()}
    matcher = read_matcher(settings["match"], corpus, truth, by_name, inputs)
    judgments = read_shared_truth(truth, inputs, matcher.matcher, selected, verdicts, by)
    return SystemScores(
        {
            name: score_documents(judgments, run, selected, settings, inputs, matcher, progress, name, truth)
            for name, run in by_name.items()
        }
    )


def evaluate_results(
    results: Any,
    measures: Measures | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    results_format: str | None = None,
    name: str = "",
    verdicts: Any = None,
    by: str | None = None,
    unknown: Unknown = "bounds",
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate the results of a RAG system: a list of records, one per question, or a file in any format.

    A record has a `query` and, to evaluate documents, its `truth` (texts, ids or documents) and the `retrieved`
    documents, best first; to evaluate answers, its `gold_answers` and the predicted `answer`. Other usual names are
    read too, with a note; `fields` gives any others: `{"retrieved": "response.source_nodes"}`. The options are those of
    `evaluate`.

    `verdicts` are labels about the answers of the system `name`: a verdict file or several, a list of records, or a
    data frame. Measures such as `Faithfulness` are computed from them; the results then need only a `query`, what was
    `retrieved` and the `answer`, and may be a submission to TREC RAG. `by` and `unknown` are those of
    `evaluate_verdicts`. `CitationValid` needs no labels.

    >>> record = {"query": "How soft?", "truth": ["Gold is soft."], "retrieved": ["Iron rusts.", "is soft"]}
    >>> evaluate_results([record], "RR", match="chunk")["RR"]
    0.5
    >>> evaluate_results([{**record, "gold_answers": ["soft"], "answer": "Soft!"}], ["EM(normalize=true)", "R"]).means
    {'EM(normalize=true)': 1.0, 'R': 0.0}
    """
    listed = None if measures is None else listed_measures(measures)
    settings = complete_options(options)
    check_text("name", name)
    matcher_of(settings["match"])  # an invalid one is an error even if there are no documents
    needed, ambiguous = _needed_subjects(listed or (), has_verdicts=verdicts is not None)
    required = [part for part in PARTS if part in needed]
    optional = PARTS if listed is None or ambiguous else ()
    labelled: LabelledResults | None = None
    if verdicts is None:
        hint: Message = ["Add ", Parameter("verdicts"), ", or leave them out."]
        what: Message = [AUTHOR, " and ", Parameter("unknown"), " apply to verdicts, and there are none"]
        require(by is None and unknown == "bounds", what, hint)
    if verdicts is None and "verdicts" not in needed:
        read = read_results(results, fields, required, optional, results_format)
    else:
        from karat.evaluation.verdicts import LabelledResults

        labelled = LabelledResults.read(results, verdicts, fields, required, optional, results_format, name, by)
        read = labelled.results
    names = listed
    if names is None:  # labels say more about a generated answer than words that it shares with a gold answer
        names = [*(DEFAULT_MEASURES if "documents" in read.parts else ()), *(labelled.measures if labelled else ())]
        names += DEFAULT_ANSWER_MEASURES if "answers" in read.parts else ()
    subjects: tuple[Subject, ...] = (*read.parts, "verdicts") if labelled else read.parts
    selected = select_measures(names, settings["rel"], subjects)

    parts: list[Scores] = []
    if of_documents := of_subject(selected, "documents"):
        parts.append(_evaluate_documents(read, of_documents, settings, name))
    if of_answers := of_subject(selected, "answers"):
        parts.append(score_answers(read.gold_answers, read.answers, of_answers, settings["missing"], name, read.name))
    if labelled and (of_verdicts := of_subject(selected, "verdicts")):
        parts.append(labelled.scores(of_verdicts, unknown, name))

    scores = merge(parts, read.queries, list(map(str, selected)), name)
    unscored = [] if listed else [Finding("unscored", *what) for what in read.unscored]
    unscored += labelled.unscored if labelled and not listed else ()
    notes = [Finding("reading", note, 0) for note in read.notes]
    scored = {*scores.queries}  # a query without documents and answers may have labels
    ignored = [query for query in read.empty if query not in scored]
    findings = (*notes, *scores.findings, *unscored, *empty_results(ignored))
    return replace(scores, findings=findings, questions=read.questions)


def _evaluate_documents(read: Results, measures: Selection, settings: Mapping[str, Any], name: str) -> Scores:
    """Evaluate the documents of results; errors name the results as their place."""
    try:
        matching = CorpusMatcher(matcher_of(settings["match"]))
        return score_documents(read.truth, read.run, measures, settings, ReadingOptions(), matching, name=name)
    except KaratError as error:
        if error.place is None:
            raise
        raise error.but(place=error.place.of(read.name)) from error.__cause__


def _needed_subjects(measures: Iterable[str | Measure], has_verdicts: bool) -> tuple[set[Subject], bool]:
    """What the measures need, and whether any measure fits documents and answers, as F1 does."""
    possible = [[each] if isinstance(each, Measure) else meanings(str(each)) or [parse(str(each))] for each in measures]
    for only in possible:
        if len(only) == 1 and not has_verdicts:
            reject_without_labels(only[0])
    if (
        has_verdicts
        and possible
        and not any(subject_of(each) == "verdicts" for several in possible for each in several)
    ):
        hint = "Add a measure such as Faithfulness, or leave the verdicts out."
        raise KaratError("none of these measures is computed from verdicts", hint=hint)
    needed = {subject_of(only[0]) for only in possible if len(only) == 1}
    return needed, any(len(several) > 1 for several in possible)
