"""Any measure of answers as an evaluator, and what all evaluators of answers read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from karat.components.component import component
from karat.components.run_cache import cached
from karat.components.serialization import SerializableComponent
from karat.data.answers import Answers
from karat.data.judged import Floats
from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text
from karat.errors import plural
from karat.evaluation import select_measures
from karat.measures import Measure, parse
from karat.measures.answers import Gold
from karat.reading.pairs.list_checks import check_same_length
from karat.scores import Scores

GoldAnswers = Sequence[Gold]
"""For each question one gold answer, a list of alternatives, or None if the answer is not known."""

PredictedAnswers = Sequence[str | None]

_NAMES = ("ground_truth_answers", "predicted_answers")
_log = logging.getLogger(__name__)


@component
class AnswerMeasureEvaluator(SerializableComponent):
    """Any measure of answers: `AnswerMeasureEvaluator(measure="RougeL")`.

    A gold answer is a text, or a list of alternative texts; the alternative with the highest score counts.

    >>> evaluator = AnswerMeasureEvaluator("Contains")
    >>> evaluator.run(ground_truth_answers=["Berlin", ["9", "nine"]], predicted_answers=["It is Berlin.", "Nine!"])
    {'score': 1.0, 'individual_scores': [1.0, 1.0]}
    """

    modifies_inputs = False

    def __init__(self, measure: str | Measure = "TokenF1") -> None:
        single = measure if isinstance(measure, Measure) else parse(measure, "answers")
        (chosen,) = select_measures([single], subjects=("answers",))
        self.measure = str(chosen)

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_answers: GoldAnswers, predicted_answers: PredictedAnswers) -> dict[str, Any]:
        """The value of the measure for each question, and the mean."""
        answers = answers_of(ground_truth_answers, predicted_answers)
        return result(answers, parse(self.measure).compute(answers))


def answers_of(truth: GoldAnswers, predicted: PredictedAnswers, *, allow_empty: bool = False) -> Answers:
    """The answers of both lists, by question; within a run of a pipeline they are read once for all evaluators.

    None matches nothing, and is reported in a warning. Empty lists are an error, unless `allow_empty` is True.
    """
    check_same_length(dict(zip(_NAMES, (truth, predicted), strict=True)), allow_empty=allow_empty)
    return cached(_answers, truth, predicted)


def result(answers: Answers, values: Floats) -> dict[str, Any]:
    """The result of an evaluator: the mean, and the value for each question."""
    return {"score": Scores(answers.queries, {"score": values})["score"], "individual_scores": values.tolist()}


def _answers(truth: GoldAnswers, predicted: PredictedAnswers) -> Answers:
    queries = tuple(map(str, range(len(truth))))
    if all_text(truth) and all_text(predicted):
        # The most common case, and a fast one: no answer has to be checked by itself.
        return Answers(queries, [(gold,) for gold in truth], list(predicted))  # type: ignore[misc]  # all are texts
    golds = [() if gold is None else as_gold_answers(gold, f"{_NAMES[0]}[{at}]") for at, gold in enumerate(truth)]
    texts = [
        None if text is None else as_predicted_answer(text, f"{_NAMES[1]}[{at}]") for at, text in enumerate(predicted)
    ]
    missing = {
        "a gold answer": [str(at) for at, gold in enumerate(golds) if not gold],
        "a predicted answer": [str(at) for at, text in enumerate(texts) if text is None],
    }
    warnings = [
        f"{plural(len(questions), 'question')} without {what} (scored 0): {', '.join(questions)}"
        for what, questions in missing.items()
        if questions
    ]
    if warnings:
        _log.warning("karat: %s.", "; ".join(warnings))
    return Answers(queries, golds, texts)
