"""Token F1 as an evaluator: how much the words of an answer and of the ground truth overlap."""

from __future__ import annotations

from karat.components.component import component
from karat.components.evaluators.answer_measure import AnswerMeasureEvaluator
from karat.measures.answers import TokenF1


@component
class AnswerF1Evaluator(AnswerMeasureEvaluator):
    """The F1 of SQuAD, from the precision and recall of the words of each answer: the measure `TokenF1`.

    `normalize` is True (case, punctuation, white space and the articles a, an and the are ignored), "neutral" (articles
    are not ignored, which suits all languages) or False.

    >>> evaluator = AnswerF1Evaluator()
    >>> evaluator.run(ground_truth_answers=["the Eiffel Tower"], predicted_answers=["Eiffel Tower in Paris"])
    {'score': 0.6666666666666666, 'individual_scores': [0.6666666666666666]}
    """

    def __init__(self, normalize: bool | str = True) -> None:
        super().__init__(TokenF1(normalize=normalize))
        self.normalize = normalize
