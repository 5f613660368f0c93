"""The items of all queries as arrays: a row per item, and a row per citation."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Ints, place_in_query
from karat.data.verdicts import SETS
from karat.errors import KaratError, shown
from karat.grounding.verdict_file.records import Item, ItemKey

SET_AT: dict[str, int] = {name: at for at, name in enumerate(SETS)}
_PASSAGES = SET_AT["passages"]
_WHOLE = ("answer", "gold")
"""the items that every query has"""


class ItemArrays:
    """The items of all queries, ordered by query, and what sentences cite; some items are left out.

    Every query has an item `answer` and an item `gold`, also without a record.
    """

    def __init__(self, queries: Mapping[str, int], items: Mapping[ItemKey, Item], left_out: Set[ItemKey]) -> None:
        listed = [((query, name), items.get((query, name))) for query in queries for name in _WHOLE]
        others = (entry for entry in items.items() if entry[0][1] not in _WHOLE and entry[0][0] in queries)
        listed += [entry for entry in others if entry[0] not in left_out]
        query = np.array([queries[key[0]] for key, _ in listed], np.int64)
        order = np.argsort(query, kind="stable")
        listed = [listed[at] for at in order.tolist()]
        self.query = query[order]
        self._keys = [key for key, _ in listed]
        self.item = [item for _, item in listed]
        """None for an answer or a gold answer without a record"""
        sets = (key[1] if key[1] in _WHOLE or item is None else item.set for key, item in listed)
        self.set = np.array([SET_AT[name] for name in sets], np.int64)
        self.rank = self._ranks()
        self.vital = np.array([item is not None and item.importance == "vital" for item in self.item], bool)
        self._code_of: dict[str, int] = {}
        codes = [self._code_of.setdefault(name, len(self._code_of)) for _, name in self._keys]
        by_name = self.query * len(self._code_of) + np.array(codes, np.int64)
        self._order = np.argsort(by_name)
        self._ascending = by_name[self._order]
        self.left_out_passages = {key for key in left_out if items[key].type == "passage"}
        self._add_citations()

    @cached_property
    def position(self) -> Mapping[ItemKey, int]:
        """The position of each item."""
        return {key: at for at, key in enumerate(self._keys)}

    def code(self, name: str) -> int:
        """The code of a name, for `find`; -1 if no item has it."""
        return self._code_of.get(name, -1)

    def find(self, query: Ints, name: Ints) -> Ints:
        """The position of each item, by the positions of queries and the codes of names; -1 if it is unknown."""
        wanted = query * len(self._code_of) + name
        at = np.minimum(np.searchsorted(self._ascending, wanted), len(self._ascending) - 1)
        positions: Ints = np.where((name >= 0) & (self._ascending[at] == wanted), self._order[at], -1)
        return positions

    def passage(self, query: str, name: str) -> int:
        """The position of a passage; -1 if the query has no such passage."""
        at = self.position.get((query, name), -1)
        return at if at >= 0 and self.set[at] == _PASSAGES else -1

    def _ranks(self) -> Ints:
        """The ranks of passages, without gaps: some may be left out, and the others move up."""
        rank = np.array([item.rank or 0 if item else 0 for item in self.item], np.int64)
        passages = np.flatnonzero(self.set == _PASSAGES)
        order = passages[np.lexsort((rank[passages], self.query[passages]))]
        is_same = (self.query[order][1:] == self.query[order][:-1]) & (rank[order][1:] == rank[order][:-1])
        for at in np.flatnonzero(is_same)[:1].tolist():
            (query, first), (_, second) = self._keys[order[at]], self._keys[order[at + 1]]
            item = self.item[order[at + 1]]
            what = f"the passages {shown(first)} and {shown(second)} of query {shown(query)} have the same rank"
            raise KaratError(what, place=item.place if item else None, hint="Ranks are 1, 2, 3, ….")
        rank[order] = place_in_query(self.query[order])
        return rank

    def _add_citations(self) -> None:
        """The passages that sentences cite, without those that are left out; -1 for what is not one of the query."""
        sentences: list[int] = []
        passages: list[int] = []
        self.cited: dict[int, frozenset[int]] = {}
        for at, item in enumerate(self.item):
            if item is not None and item.type == "sentence":
                kept = (name for name in item.cites if (item.query, name) not in self.left_out_passages)
                cited = [self.passage(item.query, name) for name in kept]
                self.cited[at] = frozenset(cited) - {-1}
                sentences += [at] * len(cited)
                passages += cited
        self.cite_sentence, self.cite_passage = np.array(sentences, np.int64), np.array(passages, np.int64)
