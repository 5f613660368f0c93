"""Any measure of answers as an evaluator."""

from __future__ import annotations

from typing import Any

from karat.components.component import component
from karat.components.evaluators.answers import GoldAnswers, PredictedAnswers, answers_of, result
from karat.components.serialization import SerializableComponent
from karat.evaluation import select_measures
from karat.measures import Measure, parse


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
