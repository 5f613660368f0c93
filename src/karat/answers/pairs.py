"""What the answer measures depend on: the gold answers of each question, and the predicted one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from karat.answers.counting import Counted
from karat.judged import Bools, Floats, Ints

Pair = tuple[str, str]
"""A gold answer, and the predicted one."""

_PAIRS = 4_096
_CHARACTERS = 1 << 22
"""So many pairs, or characters, are compared at a time: enough to be fast, and memory stays flat."""


class Overlap(NamedTuple):
    """One row per pair: are both the same, how many words each has, and how many they share."""

    same: Bools
    gold: Ints
    predicted: Ints
    both: Ints


@dataclass(frozen=True, eq=False)
class Answers:
    """For each question: its gold answers, any of which is right, and the predicted answer, None where there is none.

    A question that should have no answer has an empty text for its gold. One without any gold, and one without a
    predicted answer, scores 0.
    """

    kind: ClassVar[Literal["answers"]] = "answers"

    queries: tuple[str, ...]
    golds: Sequence[Sequence[str]]
    predicted: Sequence[str | None]
    _overlaps: dict[str, Overlap] = field(default_factory=dict, init=False, repr=False)

    def pairs(self) -> Iterator[Pair]:
        """Each gold answer with the predicted one, question by question."""
        for golds, predicted in zip(self.golds, self.predicted, strict=True):
            if predicted is not None:
                for gold in golds:
                    yield gold, predicted

    def blocks(self) -> Iterator[list[Pair]]:
        """The same pairs, some thousands at a time."""
        pairs = self.pairs()
        while block := list(islice(pairs, _PAIRS)):
            yield from _cut(block)

    def best(self, values: Sequence[float] | Floats) -> Floats:
        """The value of each question, from one of each pair: that of the gold answer that fits best."""
        found = np.zeros(len(self.queries))
        np.maximum.at(found, self._pair_query, np.asarray(values, np.float64))
        return found

    def each(self, value: Callable[[str, str], float]) -> Floats:
        """The same for a function of the gold answer and the predicted one."""
        return self.best([value(gold, predicted) for gold, predicted in self.pairs()])

    def overlap(self, normalize: str) -> Overlap:
        """How many words the two texts of each pair share, once normalised: counted once for all measures."""
        if normalize not in self._overlaps:
            # A block is forgotten once it is counted: it has a number for each word.
            rows = [_counted(block, normalize) for block in self.blocks()] or [_counted([], normalize)]
            self._overlaps[normalize] = Overlap(*map(np.concatenate, zip(*rows, strict=True)))
        return self._overlaps[normalize]

    @cached_property
    def _pair_query(self) -> Ints:
        rows = zip(self.golds, self.predicted, strict=True)
        sizes = [len(golds) if predicted is not None else 0 for golds, predicted in rows]
        return np.repeat(np.arange(len(sizes)), np.array(sizes, np.int64))


def _cut(block: list[Pair]) -> Iterator[list[Pair]]:
    """A block in pieces that are not too long."""
    if len(block) == 1 or sum(map(len, chain.from_iterable(block))) <= _CHARACTERS:
        yield block
    else:
        middle = len(block) // 2
        yield from _cut(block[:middle])
        yield from _cut(block[middle:])


def _counted(pairs: Sequence[Pair], normalize: str) -> Overlap:
    counted = Counted(pairs, normalize)
    return Overlap(counted.same, counted.gold.sizes, counted.predicted.sizes, counted.both)
