"""The judged documents of each query among what was retrieved for it, by whatever counts as a hit."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from karat.errors import KaratError
from karat.judged import Floats, Ints
from karat.matching.matchers import Comparer, FunctionMatcher, Matcher, Prefix, Same
from karat.sources.containers import RankedLists, ScoredMappings, ScoredRows, Truth
from karat.sources.grades import grades_by_key
from karat.sources.list_checks import DocumentLists

if TYPE_CHECKING:
    from karat.matching.rows import Finder
    from karat.sources.hashing import Hashes


class Joiner:
    """Finds the judged documents of a truth in batches of a run.

    `places` says which query of the truth each query of a batch is, -1 where it is none.
    """

    def __init__(self, truth: Truth, match: Matcher) -> None:
        self._truth = truth
        self._match = match
        # What stands for itself is looked up; everything else has to be gone through.
        self._plain = isinstance(match, Same) and not match.normalize

    def in_lists(self, batch: RankedLists, places: Ints) -> tuple[Ints, Ints, Ints]:
        """The hits: which list, which place in it counted from 0, and which judged document."""
        lists: Sequence[Sequence[Any]] = batch.documents if isinstance(self._match, FunctionMatcher) else batch.docs
        return self._find(lists, places)

    def in_scored(self, batch: ScoredMappings, places: Ints) -> tuple[Ints, list[str], Ints]:
        """The hits: which query of the batch, the document's name there, and which judged document."""
        if not self._plain:
            lists = list(map(list, batch.docs))
            segments, at, golds = self._find(self._folded(lists), places)
            return (
                segments,
                [lists[one][place] for one, place in zip(segments.tolist(), at.tolist(), strict=True)],
                golds,
            )
        sizes: list[int] = []
        names: list[str] = []
        numbers: list[int] = []
        for query, docs in zip(places.tolist(), batch.docs, strict=True):
            before = len(names)
            of_query = self._truth.golds(query) if query >= 0 else range(0)
            for gold, doc in zip(of_query, self._truth.docs[of_query.start : of_query.stop], strict=True):
                if doc in docs:
                    names.append(doc)
                    numbers.append(gold)
            sizes.append(len(names) - before)
        return np.repeat(np.arange(len(sizes)), sizes), names, np.asarray(numbers, np.int64)

    def in_table(self, batch: ScoredRows, hashes: Hashes, places: Ints) -> tuple[Ints, list[str], Ints]:
        """The hits: which row, the document's name there, and which judged document; `hashes` are of whole rows."""
        from karat.sources import arrays

        if self._plain:
            rows, golds = self._finder.find(batch, hashes, places)
            return rows, [self._truth.docs[gold] for gold in golds.tolist()], golds
        if isinstance(self._match, Prefix | Same):
            rows, golds = self._rows_by_key(batch, places)
        else:
            docs = batch.docs.to_pylist()
            lists = [docs[start:stop] for start, stop in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]
            segments, at, golds = self._find(self._folded(lists), places)
            rows = batch.offsets[segments] + at
        return rows, batch.docs.take(arrays.row_indices(rows)).to_pylist(), golds

    @cached_property
    def _finder(self) -> Finder:
        """The judged documents, ready to be found in a table; made once, by whichever thread comes first."""
        from karat.matching.rows import Finder

        return Finder.of(self._truth)

    def _rows_by_key(self, batch: ScoredRows, places: Ints) -> tuple[Ints, Ints]:
        """Rows by normalised ids, and by what stands before each separator in them, the last one first."""
        from karat.sources import arrays
        from karat.sources.hashing import row_hashes

        left = np.arange(len(batch.scores))
        if self._match.normalize:
            batch = replace(
                batch, docs=arrays.text_column([doc or "" for doc in self._match.key.folded(batch.docs.to_pylist())])
            )
        rows, golds = self._finder.find(batch, row_hashes(batch), places)
        all_rows, all_golds = [rows], [golds]
        separator = self._match.folded_separator if isinstance(self._match, Prefix) else None
        if separator:
            # What is longer than any gold belongs to none: an id may have any number of separators.
            longest = max(map(len, self._truth.docs), default=0)
            batch = replace(batch, docs=arrays.truncate(batch.docs, longest + len(separator)))
        while separator and len(left):
            has_one = arrays.contains(batch.docs, separator)
            batch, left = batch.where(has_one), left[has_one]
            batch = replace(batch, docs=arrays.text_before_last(batch.docs, separator))
            rows, golds = self._finder.find(batch, row_hashes(batch), places)
            all_rows.append(left[rows])
            all_golds.append(golds)
            # The next separator may overlap this one, as in a:::b.
            batch = replace(batch, docs=arrays.append_text(batch.docs, separator[:-1]))
        return np.concatenate(all_rows), np.concatenate(all_golds)

    def _folded(self, lists: Sequence[list[str]]) -> Sequence[Sequence[str | None]]:
        key = self._match.key
        return [key.folded(docs) for docs in lists] if key.folds else lists

    def _find(self, lists: Sequence[Sequence[Any]], places: Ints) -> tuple[Ints, Ints, Ints]:
        comparing = self._match.comparer()
        sizes: list[int] = []
        places_in_list: list[int] = []
        golds: list[int] = []
        for query, docs in zip(places.tolist(), lists, strict=True):
            before = len(golds)
            if query >= 0:
                hits = self._by_key(query, docs) if comparing is None else self._by_pairs(query, docs, comparing)
                for at, gold in hits:
                    places_in_list.append(at)
                    golds.append(gold)
            sizes.append(len(golds) - before)
        segments = np.repeat(np.arange(len(sizes)), sizes)
        return segments, np.asarray(places_in_list, np.int64), np.asarray(golds, np.int64)

    def _by_key(self, query: int, docs: Sequence[str | None]) -> Iterator[tuple[int, int]]:
        index = self._truth.index(query)
        if not isinstance(self._match, Prefix):
            yield from ((at, index[docs[at]]) for at in _places_of(index, docs))  # type: ignore[index]  # it is in there
            return
        separator = self._match.folded_separator
        for at, doc in enumerate(docs):
            yield from ((at, index[name]) for name in _belongs_to(doc, separator, index) if name in index)

    def _by_pairs(self, query: int, docs: Sequence[Any], comparing: Comparer) -> Iterator[tuple[int, int]]:
        golds = self._truth.golds(query)
        if isinstance(self._match, FunctionMatcher):
            of_query: Sequence[Any] = self._truth.original_documents(golds)
            yield from ((at, golds[which]) for at, which in comparing.pairs(docs, of_query))
            return
        # A text that comes twice is compared once.
        different = list(dict.fromkeys(filter(None, docs)))
        hits: dict[str, list[int]] = {}
        if different and golds:
            for at, which in comparing.pairs(different, self._truth.docs[golds.start : golds.stop]):
                hits.setdefault(different[at], []).append(golds[which])
        yield from ((at, gold) for at, doc in enumerate(docs) if doc in hits for gold in hits[doc])


class JoinedLists(NamedTuple):
    """Hits between lists of gold and of retrieved documents: the query, the place in the list from 0, and the gold.

    `gold_sizes` counts the different gold documents of each query, `sizes` its retrieved ones. `scores` are those of
    the gold documents, if they have any, or what is wrong with them. `keyless_golds` counts gold documents without a
    key, and `keyless` retrieved ones, in queries without a hit.
    """

    hit_query: Ints
    hit_place: Ints
    hit_gold: Ints
    sizes: Ints
    gold_sizes: Ints
    scores: Floats | KaratError | None
    keyless_golds: int
    keyless: dict[str, int]


def join_lists(gold_lists: DocumentLists, lists: DocumentLists, match: Same, names: tuple[str, str]) -> JoinedLists:
    """Read the gold and the retrieved documents of each query, and find the ones in the others by key.

    A gold document that is listed twice counts once, with its larger score. Errors call the two inputs by `names`.

    Both lists of a query are read and compared before the next query is touched, while they are in the processor's
    cache: most of the time here is memory access. For the same reason gold documents are numbered in the order in which
    they are found, those not found last: that needs no index of all of them.
    """
    gold_key, key = match.gold_key, match.key
    hits: list[int] = []
    hit_place: list[int] = []
    hit_gold: list[int] = []
    sizes: list[int] = []
    gold_sizes: list[int] = []
    scores_from: dict[int, list[float]] = {}
    wrong_score: KaratError | None = None
    keyless_golds = start = 0
    keyless: dict[str, int] = {}
    for at, (gold_documents, documents) in enumerate(zip(gold_lists, lists, strict=True)):
        where = f"{names[0]}, query {at}"
        listed = gold_key.of(gold_documents, where)
        golds = set(listed)
        if not golds.isdisjoint(_NO_KEYS):
            golds -= _NO_KEYS
            keyless_golds += sum(not doc for doc in listed)
        docs = key.of(documents, f"{names[1]}, query {at}")
        places = _places_of(golds, docs)
        hit_docs = [docs[place] for place in places]
        found = dict.fromkeys(hit_docs)
        if len(found) == len(places):
            hit_gold += range(start, start + len(places))
        else:
            number = {doc: gold for gold, doc in enumerate(found, start)}
            hit_gold += [number[doc] for doc in hit_docs]
        try:
            if grades := grades_by_key(listed, gold_documents, where):
                scores_from[start] = [grades[doc] for doc in dict.fromkeys([*found, *filter(None, listed)])]
        except KaratError as error:
            wrong_score = wrong_score or error
        if not places and not all(docs):
            keyless[str(at)] = sum(not doc for doc in docs)
        hits.append(len(places))
        hit_place += places
        sizes.append(len(docs))
        gold_sizes.append(len(golds))
        start += len(golds)
    scores = np.ones(start)
    for first, scores_of_query in scores_from.items():
        scores[first : first + len(scores_of_query)] = scores_of_query
    return JoinedLists(
        np.repeat(np.arange(len(hits)), hits),
        np.asarray(hit_place, np.int64),
        np.asarray(hit_gold, np.int64),
        np.asarray(sizes, np.int64),
        np.asarray(gold_sizes, np.int64),
        wrong_score or (scores if scores_from else None),
        keyless_golds,
        keyless,
    )


_NO_KEYS = frozenset((None, ""))


def _places_of(golds: Container[str | None], docs: Sequence[str | None]) -> list[int]:
    """Where gold documents are in a list, counted from 0."""
    return [at for at, doc in enumerate(docs) if doc in golds]


def _belongs_to(doc: str | None, separator: str, golds: dict[str, int]) -> Iterator[str]:
    """What an id may belong to: itself, and all that stands before a separator in it."""
    if not doc:
        return
    yield doc
    if doc.count(separator) > len(golds):
        # A hostile id has more separators than there are golds to compare it with.
        yield from (gold for gold in golds if doc.startswith(gold + separator))
        return
    at = doc.rfind(separator)
    while at > 0:
        yield doc[:at]
        # The next one may overlap this one, as in a:::b.
        at = doc.rfind(separator, 0, at + len(separator) - 1)
