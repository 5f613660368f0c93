"""Lists of gold documents against lists of retrieved ones, query by query; what is listed is relevant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.documents.fields import DocumentLike
from karat.documents.key import Key
from karat.errors import KaratError
from karat.judged import Judged
from karat.sources.grades import grades_by_key

DocumentLists = Sequence[Sequence[DocumentLike]]
"""One list of documents per query."""


@dataclass(frozen=True, eq=False)
class Matched:
    """Lists that were matched.

    `keyless_golds` counts gold documents that have nothing to be matched by, `keyless` has the queries of which that
    is so for all retrieved documents, and how many they are. `wrong_score` is what is wrong with the gold documents'
    scores, if anything is.
    """

    judged: Judged
    keyless_golds: int
    keyless: dict[str, int]
    wrong_score: KaratError | None

    @cached_property
    def binary(self) -> Judged:
        """Every gold document is simply relevant."""
        grades = np.ones(len(self.judged.gold_grade))
        return self.judged if np.array_equal(grades, self.judged.gold_grade) else self.judged.regraded(grades)

    @property
    def graded(self) -> Judged:
        """The score of a gold document is its grade, and 1 in queries without scores."""
        if self.wrong_score:
            raise self.wrong_score
        return self.judged


def match_lists(truth: DocumentLists, run: DocumentLists, gold_key: Key, key: Key, names: tuple[str, str]) -> Matched:
    """Which retrieved documents are gold documents, by their keys; `names` are what errors call both inputs.

    A gold document that is listed twice counts once, with its larger grade. Both lists of a query are read, compared
    and forgotten before the next pair is touched: what takes time here is memory.
    """
    queries = tuple(map(str, range(len(truth))))
    retrieved, sizes, hits = [], [0], []
    ranks: list[int] = []
    golds: list[int] = []
    graded: dict[int, list[float]] = {}
    keyless: dict[str, int] = {}
    keyless_golds = start = 0
    wrong_score: KaratError | None = None
    for query, gold_documents, documents in zip(queries, truth, run, strict=True):
        where = f"{names[0]}, query {query}"
        listed = gold_key.of(gold_documents, where)
        different = set(listed)
        if not different.isdisjoint(_NO_KEYS):
            # What has no key can never be found.
            different -= _NO_KEYS
            keyless_golds += sum(not doc for doc in listed)
        docs = key.of(documents, f"{names[1]}, query {query}")
        found = [at for at, doc in enumerate(docs) if doc in different]
        hit_docs = [docs[at] for at in found]
        # Gold documents are numbered in the order in which they are found, those never found last.
        first = dict.fromkeys(hit_docs)
        if len(first) == len(found):
            golds += range(start, start + len(found))
        else:
            number = {doc: at for at, doc in enumerate(first, start)}
            golds += [number[doc] for doc in hit_docs]
        try:
            if worth := grades_by_key(listed, gold_documents, where):
                graded[start] = [worth[doc] for doc in dict.fromkeys([*first, *filter(None, listed)])]
        except KaratError as error:
            wrong_score = wrong_score or error
        if docs and not found and not any(docs):
            keyless[query] = len(docs)
        retrieved.append(len(docs))
        sizes.append(len(different))
        hits.append(len(found))
        ranks += found
        start += len(different)
    gold = np.asarray(golds, np.int64)
    grade = np.ones(start)
    for first_gold, grades in graded.items():
        grade[first_gold : first_gold + len(grades)] = grades
    judged = Judged(
        queries=queries,
        answered=np.ones(len(queries), bool),
        retrieved=np.asarray(retrieved, np.int64),
        hit_query=np.repeat(np.arange(len(queries)), hits),
        hit_rank=np.asarray(ranks, np.int64) + 1,
        hit_grade=grade[gold],
        hit_gold=gold,
        gold_grade=grade,
        gold_offsets=np.cumsum(sizes),
    )
    return Matched(judged, keyless_golds, keyless, wrong_score)


_NO_KEYS = frozenset((None, ""))
