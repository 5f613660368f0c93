"""ROUGE-L: how much of an answer stands in another one in the same order."""

from __future__ import annotations

import numpy as np

from karat.answers.counting import Counted
from karat.answers.pairs import Answers
from karat.judged import Floats, share
from karat.registry import register


@register(
    formula="RougeL = 2·LCS / (g + p), LCS the length of the longest common subsequence of words, of g and of p words",
    reference="Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries",
    takes="answers",
    aliases=("rougeL", "rouge_l", "rougel", "rouge-l", "ROUGE-L"),
)
def RougeL(answers: Answers) -> Floats:
    """ROUGE-L: how many words of the answer and of the gold one stand in both in the same order.

    Words are runs of letters and digits, in small letters, as in the rouge-score package (without stemming). That
    package throws away what is not ASCII; here the letters of all scripts count, and a Chinese character is a word.

    >>> evaluate_answers({"q": "police killed the gunman"}, {"q": "the gunman killed police"}, ["RougeL"])["RougeL"]
    0.5
    """
    values: list[Floats] = [np.empty(0)]
    for block in answers.blocks():
        counted = Counted(*block, "rouge")
        words = counted.gold.sizes + counted.predicted.sizes
        # Where neither has a word, both say that there is no answer.
        values.append(np.where(words == 0, 1.0, share(2 * counted.common_subsequence, words)))
    return answers.best(np.concatenate(values))
