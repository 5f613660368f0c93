"""Answer measures: how close a predicted answer is to the gold answer.

The functions compare one predicted answer with one gold answer, or with several, in which case the best value counts.
`evaluate_answers` computes the same measures for many questions: EM, TokenF1, TokenPrecision, TokenRecall, RougeL,
Contains and SAS.
"""

# Texts are normalized in batches, and the words of thousands of pairs are converted to integers at once. (A word of up
# to eight bytes is read as a 64-bit integer.) Shared words, equality and longest common subsequences are then computed
# for all pairs together. SAS compares each distinct pair of texts once. A sentence-transformers model that was
# downloaded before is used without network access, so that the score does not depend on the network.

from __future__ import annotations

from collections.abc import Sequence

from karat.data.answers import Answers
from karat.documents.answer import as_gold_answers, as_predicted_answer
from karat.measures.answers.overlap import EM, Contains, RougeL, TokenF1, TokenPrecision, TokenRecall
from karat.measures.answers.similarity import DEFAULT_MODEL, SAS
from karat.registry import Measure

__all__ = [
    "EM",
    "SAS",
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
"""A gold answer, or several, any of which is right. None means that it is unknown, and matches nothing."""


def exact_match(truth: Gold, predicted: str | None, normalize: bool | str = False) -> int:
    """1 if the predicted answer equals the gold answer, else 0.

    `normalize` is False (compare every character), True (ignore case, punctuation, articles and white space, as in
    SQuAD) or "neutral" (the same for any language, but keep articles). Two empty answers match; None matches nothing.

    >>> exact_match("Paris", "paris"), exact_match("Paris", "paris.", normalize=True), exact_match(None, None)
    (0, 1, 0)
    """
    return int(_value(EM(normalize=normalize), truth, predicted))


def f1(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The F1 of the words of the predicted and the gold answer, as in SQuAD.

    >>> f1(["in 1889", "March 1889"], "It was finished in March 1889.")
    0.5
    """
    return _value(TokenF1(normalize=normalize), truth, predicted)


def precision(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The share of the predicted answer's words that are in the gold answer.

    >>> precision("March 1889", "It was finished in March 1889.")
    0.3333333333333333
    """
    return _value(TokenPrecision(normalize=normalize), truth, predicted)


def recall(truth: Gold, predicted: str | None, normalize: bool | str = True) -> float:
    """The share of the gold answer's words that are in the predicted answer.

    >>> recall("March 1889", "It was finished in March 1889.")
    1.0
    """
    return _value(TokenRecall(normalize=normalize), truth, predicted)


def rouge_l(truth: Gold, predicted: str | None) -> float:
    """ROUGE-L: the F-measure of the longest common subsequence of words.

    >>> rouge_l("the cat sat on the mat", "the cat lay on a mat")
    0.6666666666666666
    """
    return _value(RougeL, truth, predicted)


def contains(truth: Gold, predicted: str | None, normalize: bool | str = True) -> int:
    """1 if the predicted answer contains the gold answer, word for word, else 0.

    >>> contains("March 1889", "It was finished in March 1889."), contains("89", "1889")
    (1, 0)
    """
    return int(_value(Contains(normalize=normalize), truth, predicted))


def sas(truth: Gold, predicted: str | None, model: str = DEFAULT_MODEL) -> float:
    """How similar the predicted answer is to the gold answer in meaning, according to a model, from 0 to 1.

    >>> sas("Berlin", "Berlin", model="wordllama")
    1.0
    """
    return _value(SAS(model=model), truth, predicted)


def _value(measure: Measure, truth: Gold, predicted: str | None) -> float:
    golds = () if truth is None else as_gold_answers(truth, "the ground truth")
    answer = None if predicted is None else as_predicted_answer(predicted, "the predicted answer")
    return float(measure.compute(Answers(("0",), (golds,), (answer,)))[0])
