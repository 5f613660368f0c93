"""evaluate(): from ground truth and a run to scores.

The whole path is `_evaluate` below; each step has a module:

    reading     the ground truth, with labels of documents if there are any; and the texts of a corpus to match by
    documents   a run is read, matched and ranked, which gives `Judged`; measures are computed from it
    facts       what is known about the queries and documents; facts about parts of the queries can be merged
    findings    what the facts say: what was ignored, missing or guessed
    results     evaluate_results(): the documents, answers and labels of one file of results
    answers     evaluate_answers(): gold and predicted answers
    verdicts    evaluate_verdicts(): labels of generated answers; `label_scores` has their values, `verdict_parts`
                evaluates labels that are in several places, and `verdict_files` large files, which it divides
    corrected   the values of people for drawn queries, which correct the means of a model; those of documents are in
                `corrected_documents`
    label_agreement   label_agreement(): the labels of models compared with those of people
    next_labels   which labels people should give next
    check       check(): what is wrong with data
    look        look(): what is in a log or another file, and what can be done with it
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from karat.errors.arguments import check_switch, check_text
from karat.evaluation.answers import evaluate_answers
from karat.evaluation.documents import EvaluationPlan, read_shared_truth, score_documents
from karat.evaluation.reading import EvaluationOptions, ReadingOptions, check_reading, paths_of, read_matcher
from karat.evaluation.results import evaluate_results
from karat.options import complete_options
from karat.reading.bytes.input_file import Progress
from karat.reading.pairs.objects import rereadable
from karat.reading.pairs.paths import named_runs
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, DEFAULT_MEASURES, Measures, select_measures
from karat.scores import Scores, SystemScores

if TYPE_CHECKING:
    from karat.evaluation.eval_run_result import EvaluationRunResult
    from karat.evaluation.verdicts import evaluate_verdicts

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
    author: str | None = None,
    correct: bool = False,
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
      documents they grade. `author` chooses whose labels count, as in `evaluate_verdicts`.
    - `correct`: the grades are those of a model, and `corrected()` of the scores has their means corrected by people,
      who graded the documents of queries that were drawn at random (`karat verdicts template --sample`).

    >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": {"b": 0.5, "x": 0.4, "a": 0.3}}, ["AP"])["AP"]
    0.8333333333333333
    """
    check_text("name", name)
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    return _evaluate(truth, {name: run}, measures, options, inputs, corpus, verdicts, author, correct, progress)[name]


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
    author: str | None = None,
    correct: bool = False,
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
    inputs = ReadingOptions(truth_columns, run_columns, truth_format, run_format, split)
    return SystemScores(
        _evaluate(truth, by_name, measures, options, inputs, corpus, verdicts, author, correct, progress)
    )


def _evaluate(
    truth: Any,
    runs: Mapping[str, Any],
    measures: Measures,
    options: EvaluationOptions,
    inputs: ReadingOptions,
    corpus: Any,
    verdicts: Any,
    author: str | None,
    correct: bool,
    progress: Progress | None,
) -> dict[str, Scores]:
    """The path of every evaluation of documents: sources, matching, ranking, measures, scores."""
    settings = complete_options(options)
    selected = select_measures(measures, settings["rel"])
    check_reading(inputs, progress)
    if corpus is not None:  # ground truth and runs are also read to find out which texts are needed
        truth = rereadable(truth, "the ground truth")
        runs = {name: rereadable(run, name or "the run") for name, run in runs.items()}
    matching = read_matcher(settings["match"], corpus, truth, runs, inputs)
    people = None
    if check_switch("correct", correct):
        from karat.evaluation.corrected_documents import GradesByPeople

        people = GradesByPeople.of(verdicts, author, settings["ties"])
        verdicts, author = people.records, people.judges.model
    judgments = read_shared_truth(truth, inputs, matching.matcher, selected, verdicts, author)
    plan = EvaluationPlan(selected, settings, matching, inputs, people)
    return {
        name: score_documents(judgments, run, plan, name, progress, paths_of(truth, run)) for name, run in runs.items()
    }
