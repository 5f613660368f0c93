"""Answer measures that compare words: exact match, word overlap, containment and ROUGE-L."""

from __future__ import annotations

from operator import eq
from typing import NamedTuple

import numpy as np

from karat.data.answers import Answers, Pairs
from karat.data.judged import Bools, Floats, Ints, share
from karat.documents.words import separate_cjk_characters
from karat.measures.answers.normalizers import NORMALIZERS, Normalize
from karat.measures.answers.paired_words import PairedWords
from karat.registry import register

_SQUAD = "Rajpurkar et al. (2016), SQuAD: 100,000+ Questions for Machine Comprehension of Text"
_WORDS = "g words in the gold answer, p in the predicted one, c in both (repeated words as often as in both)"


class WordOverlap(NamedTuple):
    """One row per pair: whether both texts are the same, how many words each has, and how many they share."""

    same: Bools
    gold: Ints
    predicted: Ints
    shared: Ints


def word_overlap(answers: Answers, normalize: str) -> WordOverlap:
    """How many words the two texts of each pair share after normalization: counted once for all measures."""
    key = ("word overlap", normalize)
    if key not in answers.computed:
        # Only the counts of a block are kept: its words would need an integer each.
        rows = [_overlap(block, normalize) for block in answers.blocks()] or [_overlap(Pairs([], []), normalize)]
        answers.computed[key] = WordOverlap(*map(np.concatenate, zip(*rows, strict=True)))
    overlap: WordOverlap = answers.computed[key]
    return overlap


def _overlap(pairs: Pairs, normalize: str) -> WordOverlap:
    words = PairedWords(*pairs, normalize)
    return WordOverlap(words.same, words.gold.sizes, words.predicted.sizes, words.shared)


@register(
    formula="EM = 1 if the predicted answer equals a gold answer, else 0",
    reference=_SQUAD,
    takes="answers",
    aliases=("em", "exact_match", "ExactMatch"),
)
def EM(answers: Answers, *, normalize: Normalize = "false") -> Floats:
    """Exact match: whether the predicted answer equals a gold answer, character by character.

    SQuAD's exact match, which ignores case, punctuation, articles and white space, is EM(normalize=true).

    >>> evaluate_answers({"q": "the Eiffel Tower"}, {"q": "Eiffel Tower!"}, ["EM", "EM(normalize=true)"]).means
    {'EM': 0.0, 'EM(normalize=true)': 1.0}
    """
    if normalize == "false":
        return answers.best_of(eq)
    return answers.best(word_overlap(answers, normalize).same.astype(np.float64))


@register(
    formula=f"TokenF1 = 2c / (g + p), {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("F1", "f1", "token_f1", "squad_f1"),
)
def TokenF1(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word F1: how much the words of the predicted and the gold answer overlap, in any order.

    >>> evaluate_answers({"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}, ["TokenF1"])["TokenF1"]
    0.6666666666666666
    """
    words = word_overlap(answers, normalize)
    return answers.best(_word_share(words, 2 * words.shared, words.gold + words.predicted))


@register(
    formula=f"TokenPrecision = c / p, {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("precision", "Precision", "token_precision"),
)
def TokenPrecision(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word precision: the share of the predicted answer's words that are in the gold answer.

    Every additional wrong word lowers it.

    >>> truth, predictions = {"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}
    >>> evaluate_answers(truth, predictions, ["TokenPrecision"])["TokenPrecision"]
    0.5
    """
    words = word_overlap(answers, normalize)
    return answers.best(_word_share(words, words.shared, words.predicted))


@register(
    formula=f"TokenRecall = c / g, {_WORDS}",
    reference=_SQUAD,
    takes="answers",
    aliases=("recall", "Recall", "token_recall"),
)
def TokenRecall(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Word recall: the share of the gold answer's words that are in the predicted answer.

    Additional words do not lower it.

    >>> truth, predictions = {"q": "the Eiffel Tower"}, {"q": "Eiffel Tower in Paris"}
    >>> evaluate_answers(truth, predictions, ["TokenRecall"])["TokenRecall"]
    1.0
    """
    words = word_overlap(answers, normalize)
    return answers.best(_word_share(words, words.shared, words.gold))


def _word_share(words: WordOverlap, part: Ints, whole: Ints) -> Floats:
    """part / whole for each pair; 1 if neither text has a word: both say that there is no answer."""
    return np.where(words.gold + words.predicted == 0, 1.0, share(part, whole))


@register(
    formula="Contains = 1 if the words of a gold answer appear in the predicted one consecutively, else 0",
    reference="Karpukhin et al. (2020), Dense Passage Retrieval for Open-Domain Question Answering: has_answer",
    takes="answers",
    aliases=("contains", "has_answer", "inclusion"),
)
def Contains(answers: Answers, *, normalize: Normalize = "true") -> Floats:
    """Contains: whether the predicted answer contains a gold answer, word for word.

    The answers of language models are usually longer than the gold answer, so their exact match is 0. Only whole words
    match: 15 does not contain 5. With normalize=false, any substring matches.

    >>> evaluate_answers({"q": "1889"}, {"q": "It was finished in 1889."}, ["Contains", "EM"]).means
    {'Contains': 1.0, 'EM': 0.0}
    """
    if normalize == "false":
        return answers.best_of(lambda gold, predicted: gold in predicted if gold else not predicted)
    normalizer = NORMALIZERS[normalize]
    contained: list[bool] = []
    for block in answers.blocks():
        texts = list(dict.fromkeys([*block.golds, *block.predictions]))
        spaced = dict(zip(texts, map(_spaced, map(normalizer.words, normalizer.to_lines(texts))), strict=True))
        pairs = ((spaced[gold], spaced[predicted]) for gold, predicted in zip(*block, strict=True))
        contained += [gold in predicted if gold else not predicted for gold, predicted in pairs]
    return answers.best(np.array(contained, np.float64))


def _spaced(words: list[str]) -> str:
    """The words with a space on either side of each, so that only whole words are found; empty without words."""
    return f" {separate_cjk_characters(' '.join(words))} " if words else ""


@register(
    formula="RougeL = 2·LCS / (g + p), g words in the gold answer, p in the predicted one,"
    " LCS the length of their longest common subsequence",
    reference="Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries",
    takes="answers",
    aliases=("rougeL", "rouge_l", "rougel", "rouge-l", "ROUGE-L"),
)
def RougeL(answers: Answers) -> Floats:
    """ROUGE-L: how many words the predicted and the gold answer share in the same order.

    Words are runs of letters and digits, in lower case, as in the rouge-score package without stemming. That package
    ignores all characters beyond ASCII; here the letters of all scripts count, and each Chinese character is a word.

    >>> evaluate_answers({"q": "police killed the gunman"}, {"q": "the gunman killed police"}, ["RougeL"])["RougeL"]
    0.5
    """
    values: list[Floats] = [np.empty(0)]
    for block in answers.blocks():
        pairs = PairedWords(*block, "rouge")
        words = pairs.gold.sizes + pairs.predicted.sizes
        # Two texts without words agree that there is no answer.
        values.append(np.where(words == 0, 1.0, share(2 * pairs.common_subsequence, words)))
    return answers.best(np.concatenate(values))
