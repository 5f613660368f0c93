"""Exact match as an evaluator: is the answer, character by character, the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from karat.answers import exact_match
from karat.components.component import component
from karat.components.serialization import Described
from karat.errors import KaratError, shown
from karat.inputs import check_lengths
from karat.scores import Scores


@component
class AnswerExactMatchEvaluator(Described):
    """Whether each predicted answer is its ground truth, character by character; None matches nothing.

    >>> evaluator = AnswerExactMatchEvaluator()
    >>> evaluator.run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", "Lyon"])
    {'score': 0.5, 'individual_scores': [1, 0]}
    """

    only_reads = True

    @component.output_types(score=float, individual_scores=list[int])
    def run(
        self, ground_truth_answers: Sequence[str | None], predicted_answers: Sequence[str | None]
    ) -> dict[str, Any]:
        """1 or 0 for each question, and the share of ones."""
        inputs = {"ground_truth_answers": ground_truth_answers, "predicted_answers": predicted_answers}
        check_lengths(inputs)
        for name, answers in inputs.items():
            for at, answer in enumerate(answers):
                if answer is not None and not isinstance(answer, str):
                    raise KaratError(f"{shown(answer)} is not text", where=f"{name}[{at}]", mend="Answers are text.")
        scores = [
            exact_match(truth, predicted)
            for truth, predicted in zip(ground_truth_answers, predicted_answers, strict=True)
        ]
        queries = tuple(map(str, range(len(scores))))
        score = Scores(queries, {"exact match": np.asarray(scores, np.float64)})["exact match"]
        return {"score": score, "individual_scores": scores}
