"""What the answer measures depend on: the gold answers of each question, and the predicted one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, repeat
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from karat.answers.counting import Counted
from karat.judged import Bools, Floats, Ints

_PAIRS = 4_096
_CHARACTERS = 1 << 22
"""So many pairs, or characters, are compared at a time: enough to be fast, and memory stays flat."""


class Pairs(NamedTuple):
    """Gold answers, and the predicted one to each."""

    golds: list[str]
    said: list[str]


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

    @cached_property
    def pairs(self) -> Pairs:
        """Each gold answer with the predicted one, question by question."""
        golds = list(chain.from_iterable(compress(self.golds, self._sizes)))
        # None is repeated 0 times.
        return Pairs(golds, list(chain.from_iterable(map(repeat, self.predicted, self._sizes))))  # type: ignore[arg-type]

    def blocks(self) -> Iterator[Pairs]:
        """The same pairs, some thousands at a time."""
        golds, said = self.pairs
        for start in range(0, len(golds), _PAIRS):
            stop = start + _PAIRS
            yield from _cut(Pairs(golds[start:stop], said[start:stop]))

    def best(self, values: Sequence[float] | Floats, *, lowest: bool = False) -> Floats:
        """The value of each question, from one of each pair: that of the gold answer that fits best.

        That is the highest, or for a measure of which less is better the lowest; 0 where there is no pair.
        """
        found = np.full(len(self.queries), np.inf if lowest else -np.inf)
        (np.minimum if lowest else np.maximum).at(found, self._pair_query, np.asarray(values, np.float64))
        return np.where(np.isinf(found), 0.0, found)

    def each(self, value: Callable[[str, str], float], *, lowest: bool = False) -> Floats:
        """The same for a function of the gold answer and the predicted one."""
        return self.best(list(map(value, *self.pairs)), lowest=lowest)

    def overlap(self, normalize: str) -> Overlap:
        """How many words the two texts of each pair share, once normalised: counted once for all measures."""
        if normalize not in self._overlaps:
            # A block is forgotten once it is counted: it has a number for each word.
            rows = [_counted(block, normalize) for block in self.blocks()] or [_counted(Pairs([], []), normalize)]
            self._overlaps[normalize] = Overlap(*map(np.concatenate, zip(*rows, strict=True)))
        return self._overlaps[normalize]

    @cached_property
    def _sizes(self) -> list[int]:
        """How many pairs each question has."""
        if None not in self.predicted:
            return list(map(len, self.golds))
        return [len(golds) if one is not None else 0 for golds, one in zip(self.golds, self.predicted, strict=True)]

    @cached_property
    def _pair_query(self) -> Ints:
        return np.repeat(np.arange(len(self._sizes)), np.array(self._sizes, np.int64))


def _cut(block: Pairs) -> Iterator[Pairs]:
    """A block in pieces that are not too long."""
    golds, said = block
    if len(golds) == 1 or sum(map(len, golds)) + sum(map(len, said)) <= _CHARACTERS:
        yield block
    else:
        middle = len(golds) // 2
        yield from _cut(Pairs(golds[:middle], said[:middle]))
        yield from _cut(Pairs(golds[middle:], said[middle:]))


def _counted(pairs: Pairs, normalize: str) -> Overlap:
    counted = Counted(*pairs, normalize)
    return Overlap(counted.same, counted.gold.sizes, counted.predicted.sizes, counted.both)
