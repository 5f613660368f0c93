"""Exact match as an evaluator: whether answers equal the ground truth, character by character."""

from __future__ import annotations

from typing import Any

from karat.components.component import component
from karat.components.evaluators.answer_measure import AnswerMeasureEvaluator, GoldAnswers, PredictedAnswers
from karat.measures.answers import EM


@component
class AnswerExactMatchEvaluator(AnswerMeasureEvaluator):
    """Whether each predicted answer equals its ground truth, character by character: the measure `EM`.

    None matches nothing.

    >>> evaluator = AnswerExactMatchEvaluator()
    >>> evaluator.run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", "Lyon"])
    {'score': 0.5, 'individual_scores': [1, 0]}
    """

    modifies_inputs = False

    def __init__(self) -> None:
        super().__init__(EM)

    @component.output_types(score=float, individual_scores=list[int])
    def run(self, ground_truth_answers: GoldAnswers, predicted_answers: PredictedAnswers) -> dict[str, Any]:
        """1 or 0 for each question, and their mean."""
        result = super().run(ground_truth_answers, predicted_answers)
        return {**result, "individual_scores": [int(value) for value in result["individual_scores"]]}
