"""evaluate_answers(): evaluate predicted answers against gold answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

from karat.data.answers import Answers
from karat.data.judged import Floats
from karat.errors import Place, require
from karat.errors.arguments import check_text
from karat.evaluation.facts import AnswerFacts
from karat.evaluation.findings import SCORE_MISSING, answer_findings, no_common_queries
from karat.options import Missing, check_choice
from karat.reading.pairs.digests import LazyDigests, digest
from karat.reading.records.answer_rows import source_name
from karat.reading.records.answers import read_gold_answers, read_predicted_answers
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, Measures, Selection, asked_names, select_measures
from karat.scores import Finding, Scores
from karat.scores.fingerprint import Fingerprint


def evaluate_answers(
    truth: Any,
    predictions: Any,
    measures: Measures = DEFAULT_ANSWER_MEASURES,
    *,
    missing: Missing = "zero",
    fields: Mapping[str, str] | None = None,
    name: str = "",
) -> Scores:
    """Evaluate predicted answers against gold answers.

    `truth` has one or several gold answers for each question, and the best match counts; `predictions` has one answer.
    Each is a mapping by question, answers or records in a list or from an iterator, a data frame, a data set of Hugging
    Face, or a path (JSON, JSON lines, CSV, TSV, Parquet, Feather).

    If a question should not be answered, its gold answer is "" or an empty list, and an empty predicted answer matches
    it. A question without a predicted answer (None) scores 0, or is left out (`missing="skip"`), and is listed in the
    findings. `fields` maps field or column names: `{"query": "id", "gold_answers": "labels", "answer": "out"}`.

    >>> truth = {"q1": "the Eiffel Tower", "q2": ["9", "nine"]}
    >>> evaluate_answers(truth, {"q1": "Eiffel Tower in Paris", "q2": "Nine."}, "TokenF1").per_query
    {'q1': {'TokenF1': 0.6666666666666666}, 'q2': {'TokenF1': 1.0}}
    """
    check_choice("missing", missing, get_args(Missing))
    check_text("name", name)
    selected = select_measures(measures, subjects=("answers",))
    twice = isinstance(truth, str) and isinstance(predictions, str) and truth == predictions == "-"
    require(
        not twice,
        "standard input can be read only once",
        "Use - for the ground truth or for the predictions, not for both.",
    )
    golds = read_gold_answers(truth, fields)
    place = source_name(predictions, name or "the predictions")
    predicted = read_predicted_answers(predictions, golds.by_query, fields, place)
    scores = score_answers(golds.by_query, predicted.by_query, selected, missing, name, place)
    notes = (Finding("reading", note, 0) for note in (*golds.notes, *predicted.notes))
    return replace(scores, findings=(*notes, *scores.findings))


def score_answers(
    golds: Mapping[str, Sequence[str] | None],
    predicted: Mapping[str, str | None],
    measures: Selection,
    missing: Missing,
    name: str,
    place: Place | str,
) -> Scores:
    """The scores of the questions that have gold answers; `place` is the place of the predictions in errors."""
    compared = ComparedAnswers.of(golds, predicted, missing)
    check_answer_facts(compared.facts, missing, place)
    answers, facts = compared.answers, compared.facts
    digests = LazyDigests(compared.digests)
    scores = scores_of_answers(answers.queries, compared.values(measures), facts, digests, measures, missing, name)
    return replace(scores, answers=answers)


@dataclass(frozen=True, eq=False)
class ComparedAnswers:
    """Predicted answers with gold answers, to all questions or to a part of them, and the facts about them.

    Nothing is checked that depends on other questions.
    """

    answers: Answers
    facts: AnswerFacts

    @classmethod
    def of(
        cls, golds: Mapping[str, Sequence[str] | None], predicted: Mapping[str, str | None], missing: Missing
    ) -> Self:
        """The answers to the questions that have gold answers, without those that `missing` leaves out."""
        known = {query: texts for query, texts in golds.items() if texts is not None}
        answers = Answers(tuple(known), tuple(known.values()), list(map(predicted.get, known)))
        facts = AnswerFacts.of(answers, golds, predicted)
        if missing == "skip" and facts.absent:
            answers = answers.select([answer is not None for answer in answers.predicted])
        return cls(answers, facts)

    def values(self, measures: Selection) -> dict[str, Floats]:
        """The value of each measure for each question."""
        return {str(measure): measure.compute(self.answers) for measure in measures}

    def digests(self) -> dict[str, str]:
        """The digest of each question's gold answers."""
        rows = zip(self.answers.queries, self.answers.golds, strict=True)
        return {query: digest(set(golds)) for query, golds in rows}


def check_answer_facts(facts: AnswerFacts, missing: Missing, place: Place | str) -> None:
    """Raise an error if ground truth and predictions, of which all questions are known, do not fit together."""
    if facts.any_predicted and not facts.any_common:
        raise no_common_queries(facts.truth_examples, facts.prediction_examples, place, "question")
    require(
        facts.known, "no question has a gold answer", "Pass at least one that is not None.", place="the ground truth"
    )
    if missing == "skip" and facts.absent:
        some_left = len(facts.absent) < facts.known
        require(some_left, "no question of the ground truth has a predicted answer", SCORE_MISSING, place=place)


def scores_of_answers(
    queries: Sequence[str],
    values: Mapping[str, Floats],
    facts: AnswerFacts,
    digests: Mapping[str, str],
    measures: Selection,
    missing: Missing,
    name: str = "",
) -> Scores:
    """The scores of all questions, with the findings that follow from the facts about them."""
    findings = tuple(answer_findings(facts.absent, facts.unknown, facts.known, missing))
    fingerprint = Fingerprint({"answers": digests}, options={"missing": missing})
    return Scores(tuple(queries), values, findings, name, fingerprint=fingerprint, asked=asked_names(measures))
