"""Answer measures that count words: is it the right answer, letter for letter, or how much of it."""

from __future__ import annotations

from operator import eq

import numpy as np

from karat.answers.folding import FOLDINGS, Normalize
from karat.answers.pairs import Answers
from karat.documents.words import separate_cjk_characters
from karat.judged import Floats, Ints, share
from karat.registry import register

_SQUAD = "Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text"
_WORDS = "g words in the gold answer, p in the predicted one, c in both, each as often as both have it"


@register(
    formula="EM = 1 if the predicted answer is a gold answer, else 0",
    reference=_SQUAD,
    takes="answers",
    aliases=("em", "exact_match", "ExactMatch"),
)
def EM(answers: Answers, *, normalize: Normalize = "false") -> Floats:
    """Exact match: whether the answer is a gold one, letter for letter.

    SQuAD's exact match, which forgives case, punctuation, articles and white space, is EM(normalize=true).

    >>> evaluate_answers({"q": "the Eiffel Tower"}, {"q": "Eiffel Tower!"}, ["EM", "EM(normalize=true)"]).means
    {'EM': 0.0, 'EM(normalize=true)': 1.0}
    """
    if normalize == "false":
        return answers.each(eq)
    return answers.best(answers.overlap(normalize).same.astype(np.float64))


@register(
    formula=f"TokenF1 = 2c / (g + p), {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("F1", "f1", "token_f1", "squad_f1"),
)
def TokenF1(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word F1: how much the words of the answer and of the gold one overlap, in whatever order.

    >>> evaluate_answers({"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}, ["TokenF1"])["TokenF1"]
    0.6666666666666666
    """
    of_pairs = answers.overlap(normalize)
    return answers.best(_agreeing(answers, normalize, 2 * of_pairs.both, of_pairs.gold + of_pairs.predicted))


@register(
    formula=f"TokenPrecision = c / p, {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("precision", "Precision", "token_precision"),
)
def TokenPrecision(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word precision: the share of the answer's words that are in the gold one. It falls with every word too many.

    >>> truth, predictions = {"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}
    >>> evaluate_answers(truth, predictions, ["TokenPrecision"])["TokenPrecision"]
    0.5
    """
    of_pairs = answers.overlap(normalize)
    return answers.best(_agreeing(answers, normalize, of_pairs.both, of_pairs.predicted))


@register(
    formula=f"TokenRecall = c / g, {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("recall", "Recall", "token_recall"),
)
def TokenRecall(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word recall: the share of the gold answer's words that are in the answer. Words too many cost nothing.

    >>> truth, predictions = {"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}
    >>> evaluate_answers(truth, predictions, ["TokenRecall"])["TokenRecall"]
    1.0
    """
    of_pairs = answers.overlap(normalize)
    return answers.best(_agreeing(answers, normalize, of_pairs.both, of_pairs.gold))


def _agreeing(answers: Answers, normalize: str, part: Ints, whole: Ints) -> Floats:
    """The share of each pair; 1 where neither text has a word: both say that there is no answer."""
    of_pairs = answers.overlap(normalize)
    return np.where(of_pairs.gold + of_pairs.predicted == 0, 1.0, share(part, whole))


@register(
    formula="Contains = 1 if the words of a gold answer stand in the predicted one, one after the other, else 0",
    reference="Karpukhin et al. (2020), Dense Passage Retrieval for Open-Domain Question Answering: has_answer",
    takes="answers",
    aliases=("contains", "has_answer", "inclusion"),
)
def Contains(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Contains: whether a gold answer stands in the answer, word for word, whatever is around it.

    What language models say is mostly longer than the gold answer: exact match then sees nothing. Whole words only: 5
    is not in 15. With normalize=false, letter for letter, and 5 is.

    >>> evaluate_answers({"q": "1889"}, {"q": "It was finished in 1889."}, ["Contains", "EM"]).means
    {'Contains': 1.0, 'EM': 0.0}
    """
    if normalize == "false":
        return answers.each(lambda gold, predicted: gold in predicted if gold else not predicted)
    folding = FOLDINGS[normalize]
    found: list[bool] = []
    for block in answers.blocks():
        texts = list(dict.fromkeys([*block.golds, *block.said]))
        spaced = dict(zip(texts, map(_spaced, map(folding.words, folding.fold(texts))), strict=True))
        pairs = ((spaced[gold], spaced[said]) for gold, said in zip(*block, strict=True))
        found += [gold in said if gold else not said for gold, said in pairs]
    return answers.best(np.array(found, np.float64))


def _spaced(words: list[str]) -> str:
    """Words with a blank on either side of each, so that no part of one is found; nothing, if there are none."""
    return f" {separate_cjk_characters(' '.join(words))} " if words else ""
