"""ROUGE-L: how many words two answers share in the same order."""

from __future__ import annotations

import numpy as np

from karat.data.answers import Answers
from karat.data.judged import Floats, share
from karat.measures.answers.paired_words import PairedWords
from karat.registry import register


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
