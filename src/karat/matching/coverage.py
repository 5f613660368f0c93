"""How much of a gold passage a chunk covers, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from karat.normalization import Folds, normalized

# Chinese, Japanese and Korean write no blanks between words: there, each character is a token.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


def tokens(text: str) -> list[str]:
    """The words of a text: letters and digits that stand together; of CJK scripts, each character.

    >>> tokens("It's 3.5 kg, 金は重い")
    ['It', 's', '3', '5', 'kg', '金', 'は', '重', 'い']
    """
    return _TOKEN.findall(text)


def coverage(text: str, gold: str) -> float:
    """The share of the gold's tokens that the text has, each as often as both have it; 0 where the gold has none."""
    return _covered(Counter(tokens(text)), Counter(tokens(gold)))


def _covered(text: Counter[str], gold: Counter[str]) -> float:
    whole = gold.total()
    return sum(min(count, text[token]) for token, count in gold.items() if token in text) / whole if whole else 0.0


class Covering:
    """Compares the tokens of the texts of one query after the other."""

    def __init__(self, threshold: float, folds: Folds) -> None:
        self._threshold = threshold
        self._counted = cache(lambda text: Counter(tokens(normalized(text, folds))))
        self._folds = folds

    def pairs(self, texts: Sequence[str], golds: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Which text covers enough of which gold, or is equal to it."""
        in_golds = [self._counted(gold) for gold in golds]
        where: dict[str, list[int]] = {}
        for gold, counts in enumerate(in_golds):
            for token in counts:
                where.setdefault(token, []).append(gold)
        equal: dict[str, list[int]] = {}
        for gold, content in enumerate(golds):
            equal.setdefault(normalized(content, self._folds), []).append(gold)
        for at, text in enumerate(texts):
            counts = self._counted(text)
            common = Counter[int]()
            for token in counts.keys() & where.keys():
                for gold in where[token]:
                    common[gold] += min(counts[token], in_golds[gold][token])
            enough = {gold for gold, count in common.items() if count / in_golds[gold].total() >= self._threshold}
            form = normalized(text, self._folds)
            yield from ((at, gold) for gold in sorted(enough.union(equal.get(form, ()) if form else ())))
