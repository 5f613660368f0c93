"""How much of each answer is supported: what the labels of its claims and sentences say, and how many say what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from karat.data.judged import Bools, Floats, Ints
from karat.data.verdicts import AGAINST, SETS, ItemSet, Labels, Verdicts

_COUNTED: tuple[ItemSet, ...] = ("claims", "sentences")


class Derived(NamedTuple):
    """How far items are supported, and whether they are contradicted: by sample, and by item of any set."""

    support: Floats
    contradicted: Floats


def derived(samples: Sequence[Verdicts], name: ItemSet) -> Iterator[tuple[str, Derived]]:
    """What labels of single passages say about all of them, or about those that a sentence cites."""
    labelled = [(sample, _labelled_against(sample, name)) for sample in samples]
    cited = [sample for sample, against in labelled if against & {"cited", "others", "passage"}]
    if name == "sentences" and cited:
        support = [_by_position(sample, name, sample.citations.together) for sample in cited]
        contradicted = [_by_position(sample, name, sample.citations.contradicted) for sample in cited]
        yield "cited", Derived(np.array(support), np.array(contradicted))
    implying = {"context"} if name == "sentences" else {"context", "passage"}
    context = [sample for sample, against in labelled if against & implying]
    if context:
        support = [_by_position(sample, name, sample.support(name, "context")) for sample in context]
        contradicted = [_by_position(sample, name, sample.contradiction(name)) for sample in context]
        yield "context", Derived(np.array(support), np.array(contradicted))


def _labelled_against(sample: Verdicts, name: ItemSet) -> set[str]:
    """What the labels of a set of items are against."""
    of_set = sample.item_set[sample.label_item] == SETS.index(name)
    return {AGAINST[each] for each in np.unique(sample.label_against[of_set]).tolist()}


def _by_position(verdicts: Verdicts, name: ItemSet, labels: Labels) -> Floats:
    """Values of a set of items, with a place for each item of any set."""
    values = np.full(len(verdicts.item_query), np.nan)
    values[verdicts.item_set == SETS.index(name)] = labels.value
    return values


class SupportCounts:
    """How many claims and sentences of each query are supported: by the passages, or by those that a sentence cites.

    `item_set` is the set of each item, and `known` what is known about the items of a set.
    """

    def __init__(self, verdicts: Verdicts, item_set: Ints, known: Mapping[tuple[ItemSet, str], Derived]) -> None:
        self._verdicts, self._item_set = verdicts, item_set
        self._known = {key: each for key, each in known.items() if key[0] in _COUNTED}

    def by_query(self) -> dict[str, dict[str, list[int] | None]]:
        """For each query: how many items are supported, in part, not, differ between samples, or are unknown.

        They are named by their set and what supports them, such as `sentences cited`. None if it is not known which
        items there are.
        """
        queries = self._verdicts.queries
        by_query: dict[str, dict[str, list[int] | None]] = {query: {} for query in queries}
        for (name, by), known in self._known.items():
            members = self._item_set == SETS.index(name)
            support = np.nan_to_num(known.support, nan=-1.0)
            first, alike = support[0], (support == support[0]).all(axis=0)
            same = (alike & kind for kind in (first == 1, (first > 0) & (first < 1), first == 0))
            counts = [self._count(members & kind) for kind in (*same, ~alike, alike & (first == -1))]
            are_known = self._verdicts.are_listed(name) | (np.sum(counts, axis=0) > 0)
            for query, is_known, numbers in zip(queries, are_known, np.transpose(counts).tolist(), strict=True):
                by_query[query][f"{name} {by}"] = numbers if is_known else None
        return by_query

    def unsupported(self) -> dict[str, int]:
        """How many claims and sentences of each query nothing supports; of several samples, one is enough."""
        return self._total(lambda known: known.support == 0)

    def contradicted(self) -> dict[str, int]:
        """How many of these are contradicted by passages."""
        return self._total(lambda known: known.contradicted == 1)

    def _total(self, are_counted: Callable[[Derived], Bools]) -> dict[str, int]:
        """How many claims and sentences are counted in any sample; sentences by what they cite, if that is labelled."""
        counts = np.zeros(len(self._verdicts.queries), np.int64)
        for name in _COUNTED:
            known = self._known.get((name, "cited"), self._known.get((name, "context")))
            if known is not None:
                counts += self._count(np.asarray(are_counted(known).any(axis=0)))
        return dict(zip(self._verdicts.queries, counts.tolist(), strict=True))

    def _count(self, items: Bools) -> Ints:
        return np.bincount(self._verdicts.item_query[items], minlength=len(self._verdicts.queries))
