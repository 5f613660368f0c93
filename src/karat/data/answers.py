"""Answers: the data that answer measures read, the gold answers of each question and the predicted one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, repeat
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints

_PAIRS = 4_096
_CHARACTERS = 1 << 22
"""Limits of one block of pairs: large enough to be fast, small enough to keep memory flat."""


class Pairs(NamedTuple):
    """Gold answers, and the predicted answer that each is compared with."""

    golds: list[str]
    predictions: list[str]


@dataclass(frozen=True, eq=False)
class Answers:
    """For each question, its gold answers, any of which is right, and the predicted answer, or None if it has none.

    The gold answer of a question that should not be answered is an empty text. A question without a gold answer or
    without a predicted answer scores 0.
    """

    kind: ClassVar[Literal["answers"]] = "answers"

    queries: tuple[str, ...]
    golds: Sequence[Sequence[str]]
    predicted: Sequence[str | None]
    computed: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    """what one measure has computed from these answers, and others read"""

    def select(self, keep: Sequence[bool]) -> Answers:
        """The same, for some of the questions."""
        queries, golds = compress(self.queries, keep), compress(self.golds, keep)
        return Answers(tuple(queries), tuple(golds), tuple(compress(self.predicted, keep)))

    @cached_property
    def pairs(self) -> Pairs:
        """Each gold answer with the predicted one, question by question."""
        golds = list(chain.from_iterable(compress(self.golds, self._sizes)))
        # None is repeated 0 times.
        return Pairs(golds, list(chain.from_iterable(map(repeat, self.predicted, self._sizes))))  # type: ignore[arg-type]

    def blocks(self) -> Iterator[Pairs]:
        """The same pairs, a few thousand at a time."""
        golds, predictions = self.pairs
        for start in range(0, len(golds), _PAIRS):
            stop = start + _PAIRS
            yield from _split(Pairs(golds[start:stop], predictions[start:stop]))

    def best(self, values: Sequence[float] | Floats, *, lowest: bool = False) -> Floats:
        """The best value of each question, given one value per pair; 0 for a question without pairs.

        The best value is the highest one, or with `lowest=True` the lowest.
        """
        best = np.full(len(self.queries), np.inf if lowest else -np.inf)
        (np.minimum if lowest else np.maximum).at(best, self._pair_query, np.asarray(values, np.float64))
        return np.where(np.isinf(best), 0.0, best)

    def best_of(self, function: Callable[[str, str], float], *, lowest: bool = False) -> Floats:
        """The best value of each question, given a function of a gold answer and the predicted one."""
        return self.best(list(map(function, *self.pairs)), lowest=lowest)

    @cached_property
    def _sizes(self) -> list[int]:
        """How many pairs each question has."""
        if None not in self.predicted:
            return list(map(len, self.golds))
        return [len(golds) if one is not None else 0 for golds, one in zip(self.golds, self.predicted, strict=True)]

    @cached_property
    def _pair_query(self) -> Ints:
        return np.repeat(np.arange(len(self._sizes)), np.array(self._sizes, np.int64))


def _split(block: Pairs) -> Iterator[Pairs]:
    """Halve a block until each part is within the limit of characters."""
    golds, predictions = block
    if len(golds) == 1 or sum(map(len, golds)) + sum(map(len, predictions)) <= _CHARACTERS:
        yield block
    else:
        middle = len(golds) // 2
        yield from _split(Pairs(golds[:middle], predictions[:middle]))
        yield from _split(Pairs(golds[middle:], predictions[middle:]))
