"""evaluate_results(): evaluate the documents, the answers and the labels in one file of results, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

from karat.errors import KaratError, Message, Parameter, require
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.answers import score_answers
from karat.evaluation.documents import EvaluationPlan, score_documents
from karat.evaluation.findings import empty_results
from karat.evaluation.log_measures import (
    all_measures,
    asked_measures,
    in_one_table,
    selected_measures,
    wanted_of_log,
)
from karat.evaluation.log_numbers import (
    AskedMeasures,
    number_scores,
)
from karat.evaluation.reading import EvaluationOptions, ReadingOptions, read_matcher, read_unlabelled, require_labels
from karat.matching.matchers import Match, matcher_of
from karat.options import Order, Unknown, complete_options
from karat.reading.columns import GivenNames
from karat.reading.records.joining import JoinedSources
from karat.reading.records.results import Results
from karat.registry import Measure
from karat.registry.selection import (
    Measures,
    Rubrics,
    Selection,
    default_measures,
    measure_list,
    of_subject,
)
from karat.scores import Finding, Scores
from karat.scores.columns import with_lower_is_better
from karat.scores.finding import reading_finding

if TYPE_CHECKING:
    from karat.evaluation.verdicts import LabelledResults
    from karat.grounding.verdict_file.reading import VerdictRecords
    from karat.reading.records.result_parts import MergedResults


def evaluate_results(
    results: Any,
    measures: Measures | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    input_format: str | None = None,
    records: str | None = None,
    truth: Any = None,
    answers: Any = None,
    truth_columns: GivenNames | None = None,
    truth_format: str | None = None,
    split: str | None = None,
    corpus: Any = None,
    name: str = "",
    verdicts: Any = None,
    author: str | None = None,
    unknown: Unknown = "bounds",
    correct: bool = False,
    order: Order | None = None,
    lower_is_better: Iterable[str] = (),
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate the results of a RAG system: a list of records, one per question, or a file in any format.

    A record has a `query` and, to evaluate documents, its `truth` (texts, ids or documents) and the `retrieved`
    documents, best first; to evaluate answers, its `gold_answers` and the predicted `answer`. Other usual names are
    read too, with a note; `fields` gives any others: `{"retrieved": "response.source_nodes"}`. `records` is the path of
    the records, if they are inside an object: `"run.items"`. The options are those of `evaluate`. The cut-offs of the
    measures are 5 or 10 by default, if no list is longer.

    `truth` is gold that is elsewhere: ground truth, gold answers, or records with either, as `evaluate` and
    `evaluate_answers` take them, with their options; `answers` are predicted answers. They are joined by the id of the
    query, or by the text of the question.

    `verdicts` are labels about the answers of the system `name`: a verdict file or several, a list of records, or a
    data frame. Measures such as `Faithfulness` are computed from them; the results then need only `query`, `retrieved`
    and `answer`, and may be a submission to TREC RAG. `author`, `unknown` and `correct` are those of
    `evaluate_verdicts`.

    Numbers that the records have, such as a latency, or scores of another tool, are measures by their name; a name may
    be a path (`usage.total_tokens`). `lower_is_better` names those that get worse as they rise. `order="score"` sorts
    the documents of a list by their scores, highest first; by default, the list is the ranking.

    >>> record = {"query": "How soft?", "truth": ["Gold is soft."], "retrieved": ["Iron rusts.", "is soft"]}
    >>> evaluate_results([record], "RR", match="chunk")["RR"]
    0.5
    >>> evaluate_results([{**record, "gold_answers": ["soft"], "answer": "Soft!"}], ["EM(normalize=true)", "R"]).means
    {'EM(normalize=true)': 1.0, 'R': 0.0}
    """
    arguments = LogArguments(
        input_format=input_format, records=records, truth=truth, answers=answers, truth_columns=truth_columns,
        truth_format=truth_format, split=split, corpus=corpus, verdicts=verdicts, author=author, unknown=unknown,
        correct=check_switch("correct", correct), order=order, lower_is_better=lower_is_better, options=options,
    )  # fmt: skip
    return evaluate_logs({check_text("name", name): (results, fields)}, measures, arguments)[name]


@dataclass(frozen=True, kw_only=True)
class LogArguments:
    """How logs are read and scored: the arguments of `evaluate_results` that are the same for several of them."""

    input_format: str | None = None
    records: str | None = None
    truth: Any = None
    answers: Any = None
    truth_columns: GivenNames | None = None
    truth_format: str | None = None
    split: str | None = None
    corpus: Any = None
    verdicts: Any = None
    author: str | None = None
    unknown: Unknown = "bounds"
    correct: bool = False
    order: Order | None = None
    lower_is_better: Iterable[str] = ()
    options: EvaluationOptions = field(default_factory=EvaluationOptions)


def evaluate_logs(
    logs: Mapping[str, tuple[Any, Mapping[str, str] | None]],
    measures: Measures | None,
    arguments: LogArguments,
    of_documents: Sequence[str] | None = None,
) -> dict[str, Scores]:
    """The scores of several systems, each with its results and its names of fields.

    Without `measures`, all have the same measures of documents: these, or those that fit the longest list of all.
    """
    read = {name: _read_log(results, measures, fields, name, arguments) for name, (results, fields) in logs.items()}
    chosen, note = default_measures(max(log.read.longest_list for log in read.values()))
    notes = (note,) if note is not None and of_documents is None else ()
    return {name: log.scores(of_documents or chosen, notes) for name, log in read.items()}


@dataclass(frozen=True, eq=False)
class _LogToScore:
    """Results that are read, and how they are scored."""

    name: str
    listed: Sequence[str | Measure] | None
    rubrics: Rubrics
    read: Results
    labelled: LabelledResults | None
    settings: Mapping[str, Any]
    arguments: LogArguments

    def scores(self, of_documents: Sequence[str], notes: tuple[str, ...]) -> Scores:
        """The scores. `of_documents` are the measures of documents if none were chosen, with notes on them."""
        read, labelled, name, given = self.read, self.labelled, self.name, self.arguments
        if self.listed is None:
            asked = all_measures(read, labelled, of_documents, notes)
        else:
            asked = asked_measures(self.listed, self.rubrics, read, labelled, has_verdicts=given.verdicts is not None)
        scores = _scores(asked, self.rubrics, read, labelled, self.settings, given.unknown, name)
        noted = with_notes(scores, read, asked, [] if self.listed else unscored_fields(read, labelled))
        return with_lower_is_better({"": noted}, given.lower_is_better)[""]


def _read_log(
    results: Any, measures: Measures | None, fields: Mapping[str, str] | None, name: str, given: LogArguments
) -> _LogToScore:
    listed = None if measures is None else measure_list(measures)
    settings = complete_options(given.options)
    _check_matching(settings["match"], given.corpus, given.truth)
    if given.correct:
        require_labels(given.verdicts)
    verdicts, rubrics = _with_rubrics(given.verdicts, given.author, given.unknown)
    wanted, needs_responses = wanted_of_log(listed, rubrics, has_verdicts=verdicts is not None)
    joins = JoinedSources.of(given.truth, given.answers, fields, given.truth_columns, given.truth_format, given.split)
    log = fields, replace(wanted, order=given.order, joins=joins), given.input_format, given.records
    labelled = None
    if needs_responses:
        from karat.evaluation.verdicts import LabelledResults  # loaded only if there are labels

        labelled = LabelledResults.read(results, verdicts, *log, name, given.author, given.correct)
    read = labelled.results if labelled else read_unlabelled(results, *log)
    return _LogToScore(name, listed, rubrics, read, labelled, {**settings, "corpus": given.corpus}, given)


def _check_matching(match: Match, corpus: Any, truth: Any) -> None:
    """Reject an invalid match and a corpus that is not needed, whether or not the results contain documents."""
    matcher_of(match)
    hint: Message = ["Add ", Parameter("truth"), ", or leave it out."]
    require(corpus is None or truth is not None, "a corpus is for gold that is in another file than the results", hint)


def _with_rubrics(verdicts: Any, author: str | None, unknown: Unknown) -> tuple[VerdictRecords | None, Rubrics]:
    """The records of verdicts, and the measures of their rubrics. Without verdicts, no labels can be chosen."""
    if verdicts is None:
        hint: Message = ["Add ", Parameter("verdicts"), ", or leave them out."]
        what: Message = [Parameter("author"), " and ", Parameter("unknown"), " apply to verdicts, and there are none"]
        require(author is None and unknown == "bounds", what, hint)
        return None, {}
    from karat.grounding.labels.missing import rubric_measures
    from karat.grounding.verdict_file.reading import read_verdict_records

    records = read_verdict_records(verdicts)
    return records, rubric_measures(records.rubrics)


def _scores(
    asked: AskedMeasures,
    rubrics: Rubrics,
    read: Results,
    labelled: LabelledResults | None,
    settings: Mapping[str, Any],
    unknown: Unknown,
    name: str,
) -> Scores:
    """The scores of documents, of answers and by labels, and the numbers of the log, in one table."""
    selected = selected_measures(asked, read, settings, rubrics, has_labels=labelled is not None)
    if labelled:
        selected = labelled.readable(selected)
    parts = [*scores_of_parts(read, selected, settings, name)]
    if labelled and (of_verdicts := of_subject(selected, "verdicts")):
        parts.append(labelled.scores(of_verdicts, unknown, name))
    if asked.numbers:
        parts.append(number_scores(read, asked, name))
    return in_one_table(parts, read, asked, selected, name)


def scores_of_parts(read: Results, measures: Selection, settings: Mapping[str, Any], name: str) -> Iterator[Scores]:
    """The scores of documents and those of answers, as far as the measures are about them."""
    if of_documents := of_subject(measures, "documents"):
        with placed_in_results(read.name, read.gold):
            corpus = settings["corpus"]
            matcher = read_matcher(settings["match"], corpus, read.truth, {name: read.run}, ReadingOptions())
            scores = score_documents(read.truth, read.run, EvaluationPlan(of_documents, settings, matcher), name)
        yield scores
    if of_answers := of_subject(measures, "answers"):
        yield score_answers(read.gold_answers, read.answers, of_answers, settings["missing"], name, read.name)


@contextmanager
def placed_in_results(name: str, gold: str = "") -> Iterator[None]:
    """Errors about ground truth or a run that are in results of this name, or in their `gold`, if it has a name."""
    try:
        yield
    except KaratError as error:
        if error.place is None:
            raise
        is_gold = error.place.source == "the ground truth" and bool(gold)
        if is_gold and gold == error.place.source:
            raise
        raise error.but(place=error.place.of(gold if is_gold else name)) from error.__cause__


def unscored_fields(read: Results | MergedResults, labelled: LabelledResults | None = None) -> list[Finding]:
    """What the results contain, but could not be scored."""
    return [*(Finding("unscored", *what) for what in read.unscored), *(labelled.unscored if labelled else ())]


def with_notes(
    scores: Scores,
    read: Results | MergedResults,
    asked: AskedMeasures,
    unscored: Sequence[Finding],
) -> Scores:
    """The same scores with the questions, and with findings about how the results were read."""
    notes = [reading_finding(note, read.name) for note in read.notes]
    notes += [Finding("measures", note, 0) for note in asked.notes]
    scored = {*scores.queries}  # a query without documents and answers may have labels
    ignored = [query for query in read.empty if query not in scored]
    findings = (*notes, *scores.findings, *unscored, *empty_results(ignored))
    return replace(scores, findings=findings, questions=read.questions)
