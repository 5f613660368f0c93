"""What labels are about, labels as numbers, some of them unknown, and the arithmetic on them.

An unknown label is NaN. Logic on labels is Kleene's: what is certain whatever the unknown labels are is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from karat.data.judged import Bools, Floats, Ints, ranges, share
from karat.errors import KaratError, shown

MOST_PAIRS = 10**8
"""of items and passages, which take about 5 GB"""

ItemSet = Literal["claims", "gold_claims", "sentences", "nuggets", "passages", "answer", "gold"]
"""The items of a query: claims of the answer and of the gold answer, sentences of the answer, nuggets, the passages
that were given to the system, and the answer and the gold answer as a whole."""

Against = Literal["nothing", "context", "answer", "gold", "question", "passage", "cited", "others"]
"""What a label compares its item with: all passages together, the answer, the gold answer, the question, one passage,
the passages that a sentence cites together, or these without one of them."""

HIGHEST_GRADE = 3.0
"""of relevance; other labels are from 0 to 1"""

SETS: tuple[ItemSet, ...] = get_args(ItemSet)
AGAINST: tuple[Against, ...] = get_args(Against)


class Relation(NamedTuple):
    """What labels are about: the task that was labelled, which items, and what they were compared with."""

    task: str
    items: ItemSet
    against: Against = "nothing"

    @property
    def highest(self) -> float:
        """The highest label that it can have; the lowest is 0."""
        return HIGHEST_GRADE if self.task == "relevance" else 1.0


@dataclass(frozen=True, eq=False)
class Labels:
    """One row per item, or per pair of an item and a passage, ordered by query: its label as a number.

    NaN is an unknown label. `n` is the number of queries.
    """

    n: int
    query: Ints
    value: Floats

    def at_least(self, value: float) -> Labels:
        """1 for labels of at least this value, 0 for others."""
        return self.with_values(np.where(np.isnan(self.value), np.nan, self.value >= value))

    def with_partial(self, credit: float) -> Labels:
        """Support as a number from 0 to 1: full support is 1, partial support counts as much as `credit`."""
        partial = (self.value > 0) & (self.value < 1)
        return self.with_values(np.where(partial, credit, self.value))

    def where(self, rows: Bools) -> Labels:
        """Some of the rows."""
        return Labels(self.n, self.query[rows], self.value[rows])

    def with_values(self, value: Floats) -> Labels:
        """The same rows with other values."""
        return replace(self, value=np.asarray(value, np.float64))

    def count(self) -> Ints:
        """How many rows each query has."""
        return np.bincount(self.query, minlength=self.n)

    def sum(self, weights: Floats | float = 1.0) -> Floats:
        """The sum of each query; NaN if a label is unknown."""
        total: Floats = np.bincount(self.query, weights=self.value * weights, minlength=self.n)  # type: ignore[assignment]  # the stubs ignore weights
        return total

    def mean(self) -> Floats:
        """The mean of each query; NaN if a label is unknown, or if there are none."""
        return known_share(self.sum(), self.count())

    def highest(self) -> Floats:
        """The highest label of each query; NaN without labels, or if an unknown one might be higher than any other."""
        return highest_of(self.query, self.value, self.n)


@dataclass(frozen=True, eq=False)
class PassagePairs:
    """Every item of a set with every passage of its query: a row per pair, ordered by item and then by rank.

    `item` is the position of a pair's item among those of the set, `passage` that of its passage among all items of all
    sets. `query` has a row per item of the set, and so has `listed`: whether the passages of its query are known.
    """

    n: int
    query: Ints
    listed: Bools
    item: Ints
    passage: Ints
    rank: Ints
    value: Floats

    @property
    def labels(self) -> Labels:
        """The label of each pair."""
        return Labels(self.n, self.query[self.item], self.value)

    def top(self, k: int | None) -> PassagePairs:
        """The pairs with the first k passages."""
        if k is None:
            return self
        rows = self.rank <= k
        return replace(
            self, item=self.item[rows], passage=self.passage[rows], rank=self.rank[rows], value=self.value[rows]
        )

    def with_values(self, value: Floats) -> PassagePairs:
        """The same pairs with other values."""
        return replace(self, value=value)

    def full(self) -> PassagePairs:
        """1 for pairs with full support, 0 for others."""
        return self.with_values(self.labels.at_least(1).value)

    def best(self) -> Labels:
        """The highest label of each item; 0 without passages, and NaN if these are not known."""
        highest = highest_of(self.item, self.value, len(self.query), empty=0.0)
        return Labels(self.n, self.query, np.where(self.listed, highest, np.nan))


def check_number_of_pairs(queries: Sequence[str], query: Ints, passages: Ints, items: str) -> None:
    """Raise an error if there are too many pairs: `query` is that of each item, `passages` their number by query."""
    number = int(passages[query].sum())
    if number > MOST_PAIRS:
        counts = np.bincount(query, minlength=len(queries))
        most = int(np.argmax(counts * passages))
        hint = f"The query {shown(queries[most])} has {counts[most]:,} {items} and {passages[most]:,} passages."
        raise KaratError(f"{number:,} pairs of {items} and passages do not fit into memory", hint=hint)


def highest_of(group: Ints, value: Floats, groups: int, empty: float = np.nan) -> Floats:
    """The highest value of each group; NaN if an unknown value may be higher, and `empty` without values.

    No label is higher than 1, so a group with a 1 is known whatever its unknown values are.
    """
    highest = np.full(groups, -np.inf)
    known = ~np.isnan(value)
    np.maximum.at(highest, group[known], value[known])
    unknown = np.bincount(group[~known], minlength=groups) > 0
    highest[unknown & (highest < 1)] = np.nan
    highest[np.isneginf(highest)] = empty
    return highest


def rows_of(query: Ints, wanted: Ints, queries: int) -> tuple[Ints, Ints]:
    """The rows of each wanted query, one query after the other, and which wanted query each is of."""
    order = np.argsort(query, kind="stable")
    counts = np.bincount(query, minlength=queries)
    first = np.cumsum(counts) - counts
    return order[ranges(first[wanted], counts[wanted])], np.repeat(np.arange(len(wanted)), counts[wanted])


def both(one: Floats, other: Floats) -> Floats:
    """1 where both are 1, and 0 where either is 0, even if the other is unknown."""
    return np.where((one == 0) | (other == 0), 0.0, one * other)


def either(one: Floats, other: Floats) -> Floats:
    """1 where either is 1, even if the other is unknown, and 0 where both are 0."""
    return 1 - both(1 - one, 1 - other)


def known_share(part: Floats, whole: Ints | Floats) -> Floats:
    """part / whole, and NaN where whole is 0: there is nothing to judge."""
    return np.where(np.asarray(whole) == 0, np.nan, share(part, whole))


def harmonic_mean(one: Floats, other: Floats) -> Floats:
    """2ab / (a + b), and 0 if both are 0."""
    product, total = 2 * one * other, one + other
    return np.where(total == 0, 0.0, known_share(product, total))
