"""Answer measures: how near a predicted answer is to the right one.

The functions compare one answer with its gold answer, or with several, of which the best counts. `evaluate_answers`
does so for many questions, by the measures of the same definitions: EM, TokenF1, TokenPrecision, TokenRecall, RougeL,
Contains and SAS.
"""

from __future__ import annotations

from collections.abc import Sequence

from karat.answers.models import DEFAULT_MODEL
from karat.answers.overlap import EM, Contains, TokenF1, TokenPrecision, TokenRecall
from karat.answers.pairs import Answers
from karat.answers.rouge import RougeL
from karat.answers.similarity import SAS
from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.registry import Measure

__all__ = [
    "EM",
    "SAS",
    "Answers",
    "Contains",
    "RougeL",
    "TokenF1",
    "TokenPrecision",
    "TokenRecall",
    "contains",
    "exact_match",
    "f1",
    "precision",
    "recall",
    "rouge_l",
    "sas",
]

Gold = str | Sequence[str] | None
"""A gold answer, or several of which any is right; None where nobody knows one, and nothing matches."""


def exact_match(truth: Gold, predicted: str | None, normalize: bool | str = False) -> int:
    """1 if an answer is the gold one, else 0: letter for letter, or with what SQuAD forgives left out.

    `normalize` is True (SQuAD's: case, punctuation, articles, white space), "neutral" (the same for any language, where
    articles count) or False. Two empty answers agree; None is no answer, and matches nothing.

    >>> exact_match("Paris", "paris"), exact_match("Paris", "paris.", normalize=True), exact_match(None, None)
    (0, 1, 0)
    """
    return int(_value(EM(normalize=normalize), truth, predicted))


def f1(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The harmonic mean of word precision and word recall, as in SQuAD.

    >>> f1(["in 1889", "March 1889"], "It was finished in March 1889.")
    0.5
    """
    return _value(TokenF1(normalize=normalize), truth, predicted)


def precision(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The share of the words of an answer that are in the gold one.

    >>> precision("March 1889", "It was finished in March 1889.")
    0.3333333333333333
    """
    return _value(TokenPrecision(normalize=normalize), truth, predicted)


def recall(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The share of the words of the gold answer that are in an answer.

    >>> recall("March 1889", "It was finished in March 1889.")
    1.0
    """
    return _value(TokenRecall(normalize=normalize), truth, predicted)


def rouge_l(truth: Gold, predicted: str | None) -> float:
    """How many words of both stand in the same order: the F-measure of their longest common subsequence.

    >>> rouge_l("the cat sat on the mat", "the cat lay on a mat")
    0.6666666666666666
    """
    return _value(RougeL, truth, predicted)


def contains(truth: Gold, predicted: str | None, normalize: bool | str = True) -> int:
    """1 if a gold answer stands in an answer, word for word, else 0.

    >>> contains("March 1889", "It was finished in March 1889."), contains("89", "1889")
    (1, 0)
    """
    return int(_value(Contains(normalize=normalize), truth, predicted))


def sas(truth: Gold, predicted: str | None, model: str = DEFAULT_MODEL) -> float:
    """How near an answer is to the gold one in meaning, as a model sees it, from 0 to 1.

    >>> sas("Berlin", "Berlin", model="wordllama")
    1.0
    """
    return _value(SAS(model=model), truth, predicted)


def _value(measure: Measure, truth: Gold, predicted: str | None) -> float:
    golds = () if truth is None else as_gold_answers(truth, "the truth")
    said = None if predicted is None else as_predicted_answer(predicted, "the predicted answer")
    return float(measure.compute(Answers(("0",), (golds,), (said,)))[0])
