"""What evaluators of answers share: lists into Answers, and what is missing in them, said once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from karat.answers import Answers, Gold
from karat.components.sharing import shared
from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.documents.ids import all_text
from karat.judged import Floats
from karat.scores import Scores
from karat.sources.list_checks import check_same_length

GoldAnswers = Sequence[Gold]
"""For each question one gold answer, or several of which any is right; None where nobody knows one."""

PredictedAnswers = Sequence[str | None]

_NAMES = ("ground_truth_answers", "predicted_answers")
_log = logging.getLogger(__name__)


def answers_of(truth: GoldAnswers, predicted: PredictedAnswers, *, some: bool = True) -> Answers:
    """The answers of both lists, question by question: read once for all evaluators of a run.

    Where one is None, nothing matches, and that is said. There has to be a question, unless `some` says otherwise.
    """
    check_same_length(dict(zip(_NAMES, (truth, predicted), strict=True)), allow_empty=not some)
    return shared(_answers, truth, predicted)


def _answers(truth: GoldAnswers, predicted: PredictedAnswers) -> Answers:
    queries = tuple(map(str, range(len(truth))))
    if all_text(truth) and all_text(predicted):
        # As they mostly are: nothing has to be looked at one by one.
        return Answers(queries, [(each,) for each in truth], list(predicted))  # type: ignore[misc]  # all are texts
    golds = [() if each is None else as_gold_answers(each, f"{_NAMES[0]}[{at}]") for at, each in enumerate(truth)]
    said = [
        None if each is None else as_predicted_answer(each, f"{_NAMES[1]}[{at}]") for at, each in enumerate(predicted)
    ]
    absent = {
        "a gold answer": [str(at) for at, texts in enumerate(golds) if not texts],
        "a predicted answer": [str(at) for at, text in enumerate(said) if text is None],
    }
    parts = [
        f"{len(at):,} question{'' if len(at) == 1 else 's'} without {what} (scored 0): {', '.join(at)}"
        for what, at in absent.items()
        if at
    ]
    if parts:
        _log.warning("karat: %s.", "; ".join(parts))
    return Answers(queries, golds, said)


def result(answers: Answers, values: Floats) -> dict[str, Any]:
    """What an evaluator returns: the mean, and the value of each question."""
    return {"score": Scores(answers.queries, {"score": values})["score"], "individual_scores": values.tolist()}
