"""The data that measures of preferences read: which documents each judgment group of a query prefers to which.

A judgment group is usually what one person said about one query. It orders its documents by levels, or, if only some
of them were compared with each other, it prefers some documents to some others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats, Ints, distinct, ranges, stretches

Compared = Literal["all", "either", "both"]
"""Which preferences count: all, those with either document retrieved, or those with both retrieved."""

AllOrBoth = Literal["all", "both"]
_CHOICES: tuple[Compared, ...] = get_args(Compared)
_BALANCED: tuple[AllOrBoth, ...] = get_args(AllOrBoth)


@dataclass(frozen=True, eq=False)
class PreferenceGroup:
    """The documents of a judgment group, their levels, and which of them are preferred to which.

    `query` is the position of the query in `Preferences.queries`. `places` are the places of the documents among all
    judged documents of the query, from 0 and ascending: the retrieved ones in the order of their ranks, then the
    others. `preferred[i, j]` says that document i is preferred to document j; it is None if documents are preferred to
    all documents with lower levels.
    """

    query: int
    places: Ints
    levels: Floats
    preferred: Bools | None = None

    @property
    def pairs(self) -> tuple[Ints, Ints]:
        """The preferences: the places of the preferred documents, and those of the other ones."""
        if self.preferred is not None:
            better, other = self.preferred.nonzero()
            return self.places[better], self.places[other]
        order, beyond = self._by_level
        lower = len(order) - beyond
        return self.places[order.repeat(lower)], self.places[order[ranges(beyond, lower)]]

    @property
    def size(self) -> int:
        """The number of preferences."""
        return int((len(self.levels) - self._by_level[1]).sum() if self.preferred is None else self.preferred.sum())

    @property
    def _by_level(self) -> tuple[Ints, Ints]:
        """The documents by descending level, and for each of them where those with lower levels begin."""
        order = np.argsort(-self.levels, kind="stable")
        bounds = stretches(self.levels[order])
        return order, bounds[1:].repeat(np.diff(bounds))

    def comparisons(self) -> Iterator[tuple[Bools, Bools]]:
        """The preferences as pairs of sets: all documents of the first one are preferred to all of the second one."""
        if self.preferred is not None:
            for at, better in enumerate(self.preferred.T):
                yield better, np.arange(len(better)) == at
            return
        for level in distinct(self.levels).tolist():
            yield self.levels > level, self.levels == level

    @property
    def is_relevant(self) -> Bools:
        """Which documents have a level above 0."""
        return self.levels > 0

    @property
    def is_nonrelevant(self) -> Bools:
        """Which have the level 0, or below it, where levels order all documents."""
        return self.levels <= 0 if self.preferred is None else self.levels == 0


class Counts(NamedTuple):
    """How many preferences there are, and how many of them are fulfilled."""

    fulfilled: Ints
    possible: Ints


@dataclass(frozen=True, eq=False)
class Preferences:
    """The judgment groups of all queries, and how many judged documents of each query were retrieved.

    The groups are in the order of their queries. A preference is fulfilled if the preferred document is retrieved, and
    the other one is ranked below it or not retrieved.

    >>> found = Preferences.of({"q": [{"a": 2, "b": 1, "c": 0}]}, {"q": ["b", "a"]}).counts("all")
    >>> found.fulfilled.tolist(), found.possible.tolist()
    ([2], [3])
    """

    kind: ClassVar[Literal["preferences"]] = "preferences"

    queries: tuple[str, ...]
    in_run: Bools
    retrieved: Ints
    groups: Sequence[PreferenceGroup]

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[Mapping[str, float]]], run: Mapping[str, Sequence[str]]) -> Preferences:
        """Preferences from the levels of documents, `{query: [{document: level}]}`, and `{query: [document]}`."""
        made, retrieved = [], []
        for at, (query, of_query) in enumerate(groups.items()):
            judged = {doc: None for levels in of_query for doc in levels}
            ranked = [doc for doc in run.get(query, ()) if doc in judged]
            retrieved.append(len(ranked))
            places = {doc: place for place, doc in enumerate(dict.fromkeys([*ranked, *judged]))}
            for levels in of_query:
                docs = sorted(levels, key=places.__getitem__)
                where = np.array([places[doc] for doc in docs], np.int64)
                made.append(PreferenceGroup(at, where, np.array([levels[doc] for doc in docs], np.float64)))
        in_run = np.array([query in run for query in groups], np.bool_)
        return cls(tuple(groups), in_run, np.array(retrieved, np.int64), tuple(made))

    def counts(self, compared: Compared) -> Counts:
        """The preferences of each group."""
        return Counts(*self._of_groups[_CHOICES.index(compared)])

    def balanced_counts(self, compared: AllOrBoth) -> Counts:
        """The preferences of each group, with as many non-relevant documents as relevant ones, as trec_eval counts.

        R relevant and N non-relevant documents count, or only those that are retrieved. If R >= N, every relevant
        document is also preferred to R - N more documents, which are not retrieved. Otherwise, only the R topmost
        non-relevant documents count. Three things may be surprising, but trec_eval does them:

        - where levels order all documents, these R documents are also compared with all non-relevant ones, which is
          fulfilled if the other one is retrieved above;
        - in a partial order, as many non-relevant documents count as there are relevant ones, retrieved or not;
        - to R - N more documents, all relevant documents are preferred, retrieved or not.
        """
        return Counts(*self._of_groups[len(_CHOICES) + _BALANCED.index(compared)])

    def shares_of_pairs(self, compared: Compared) -> tuple[Floats, Floats]:
        """For each query: the sum of a share per pair of documents that any group compares, and the number of pairs.

        The share is that of the groups whose preference is fulfilled, among those that prefer one to the other.
        """
        total, count = self._of_pairs[_CHOICES.index(compared)]
        return total, count

    def sum(self, values: Ints | Floats) -> Floats:
        """The sum of a value per group, for each query, in the order of the groups."""
        total: Floats = np.bincount(self._group_query, weights=values, minlength=len(self.queries))  # type: ignore[assignment]  # the stubs ignore weights
        return total

    @cached_property
    def groups_of_query(self) -> Ints:
        """How many groups each query has."""
        return np.bincount(self._group_query, minlength=len(self.queries))

    @cached_property
    def _group_query(self) -> Ints:
        return np.fromiter((group.query for group in self.groups), np.int64, len(self.groups))

    @cached_property
    def _of_groups(self) -> Ints:
        """For each choice, and then balanced: how many preferences of each group are fulfilled, and possible."""
        rows = [_counts(group, int(self.retrieved[group.query])) for group in self.groups]
        return np.array(rows, np.int64).reshape(len(rows), len(_CHOICES) + len(_BALANCED), 2).transpose(1, 2, 0)

    @cached_property
    def _of_pairs(self) -> Floats:
        """For each choice: the sum of the shares of each query, and the number of its pairs."""
        found = np.zeros((len(_CHOICES), 2, len(self.queries)))
        # With a single group, the share of a pair is 0 or 1.
        found[:, :, self._group_query] = self._of_groups[: len(_CHOICES)]
        for query, groups in groupby(self.groups, key=lambda group: group.query):
            if self.groups_of_query[query] > 1:
                found[:, :, query] = _shares(groups, int(self.retrieved[query]))
        return found


def _counts(group: PreferenceGroup, retrieved: int) -> list[tuple[int, int]]:
    """How many preferences of a group are fulfilled, and possible, for each choice, and then balanced."""
    found = group.places < retrieved
    counts = _tally(group.comparisons(), found)
    all_relevant, found_relevant = int(group.is_relevant.sum()), int((group.is_relevant & found).sum())
    for compared in _BALANCED:
        relevant, counted = (all_relevant, True) if compared == "all" else (found_relevant, found)
        added = relevant - int((group.is_nonrelevant & counted).sum())
        tally = counts if added >= 0 else _tally(_with_topmost(group, relevant), found)
        fulfilled, possible = tally[_CHOICES.index(compared)]
        counts.append((fulfilled + max(0, added) * found_relevant, possible + max(0, added) * all_relevant))
    return counts


def _tally(comparisons: Iterable[tuple[Bools, Bools]], found: Bools) -> list[tuple[int, int]]:
    """How many of these preferences are fulfilled, and possible, for each choice.

    `found` says which documents are retrieved: they are the first ones.
    """
    fulfilled = fulfilled_both = possible = neither = both = 0
    for better, other in comparisons:
        above: Ints = np.cumsum(better & found) - (better & found)
        fulfilled += int(above[other].sum())
        fulfilled_both += int(above[other & found].sum())
        all_better, all_other = int(better.sum()), int(other.sum())
        found_better, found_other = int((better & found).sum()), int((other & found).sum())
        possible += all_better * all_other
        neither += (all_better - found_better) * (all_other - found_other)
        both += found_better * found_other
    return [(fulfilled, possible), (fulfilled, possible - neither), (fulfilled_both, both)]


def _with_topmost(group: PreferenceGroup, relevant: int) -> Iterator[tuple[Bools, Bools]]:
    """The preferences if only the topmost non-relevant documents count, as many as there are relevant ones."""
    if group.preferred is not None:
        kept = ~group.is_nonrelevant | (group.is_nonrelevant.cumsum() <= group.is_relevant.sum())
        yield from ((better & kept, other & kept) for better, other in group.comparisons())
        return
    lowest = group.levels == group.levels.min()
    yield from ((better, other) for better, other in group.comparisons() if not (other & lowest).any())
    yield np.ones(len(lowest), np.bool_), lowest & (lowest.cumsum() <= relevant)


def _shares(groups: Iterable[PreferenceGroup], retrieved: int) -> list[tuple[float, int]]:
    """The sum of the shares of a query, and the number of its pairs, for each choice."""
    better, other = (np.concatenate(places) for places in zip(*(group.pairs for group in groups), strict=True))
    above, below = np.minimum(better, other), np.maximum(better, other)
    # In the order in which trec_eval adds the shares up, on which the last digit may depend.
    order = np.lexsort((below, above, below >= retrieved))
    above, below, fulfilled = above[order], below[order], (better < other)[order]
    bounds = stretches(above * (int(below.max(initial=0)) + 1) + below)
    first = bounds[:-1]
    shares = np.add.reduceat(fulfilled, first, dtype=np.int64) / np.diff(bounds) if len(first) else np.empty(0)
    both, either = int((below[first] < retrieved).sum()), int((above[first] < retrieved).sum())
    totals = np.concatenate(([0.0], np.add.accumulate(shares)))
    # Where both documents of a pair are not retrieved, none is fulfilled.
    return [(totals[either], len(first)), (totals[either], either), (totals[both], both)]
