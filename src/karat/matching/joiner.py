"""Find the judged documents of each query among its retrieved documents, with any matcher."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints, ranges
from karat.documents.fields import DocumentLike
from karat.documents.key import Key
from karat.errors import KaratError, Place
from karat.matching.matcher import Comparer, Matcher
from karat.matching.matchers import FunctionMatcher, Prefix, Same
from karat.output.progress import progress_bar
from karat.reading.pairs.containers import RankedLists, ScoredMappings, ScoredRows, Truth
from karat.reading.pairs.list_checks import DocumentLists
from karat.reading.pairs.mappings import grades_by_key

if TYPE_CHECKING:
    from karat.matching.rows import RowFinder
    from karat.reading.pairs.hashing import Hashes


IdsOfHits = Callable[[Ints], Sequence[str]]
"""The ids of some of the retrieved documents that are judged, by their positions. Most are never needed."""

# Of the last separators in ids, so many are looked for in all rows of a table at once.
_MOST_SEPARATORS = 8


class Joiner:
    """Finds the judged documents of the ground truth in batches of a run.

    `positions` contains, for each query of a batch, its position among the judged queries, or -1 if it is not there.
    """

    def __init__(self, truth: Truth, match: Matcher) -> None:
        self._truth = truth
        self._match = match
        self.slow_queries: set[int] = set()
        """Queries, by their positions, with texts so long that comparing them took seconds."""
        # Unchanged keys can be looked up; with any other matcher, all documents have to be read.
        self._by_lookup = isinstance(match, Same) and not match.key.changes_ids

    def find_in_lists(self, batch: RankedLists, positions: Ints) -> tuple[Ints, Ints, Ints]:
        """The hits: the list, the position in it from 0, and the judged document."""
        lists: Sequence[Sequence[Any]] = batch.documents if isinstance(self._match, FunctionMatcher) else batch.docs
        return self._find(lists, positions)

    def find_in_mappings(self, batch: ScoredMappings, positions: Ints) -> tuple[Ints, IdsOfHits, Ints, Floats]:
        """The hits: the query of the batch, the ids of retrieved documents, the judged document, and the score."""
        if not self._by_lookup:
            lists = list(map(list, batch.docs))
            segments, at, golds = self._find(self._folded(lists), positions)
            rows = batch.offsets[segments] + at
            return segments, lambda hits: batch.ids(rows[hits]), golds, batch.scores[rows]
        segments = (positions >= 0).nonzero()[0]
        starts, stops = self._truth.offsets[positions[segments]], self._truth.offsets[positions[segments] + 1]
        sizes = stops - starts
        golds = ranges(starts, sizes)
        mappings = chain.from_iterable(map(repeat, map(batch.docs.__getitem__, segments.tolist()), sizes.tolist()))
        not_there = repeat(math.nan)  # no score is NaN
        scores = np.fromiter(map(dict.get, mappings, self._keys(golds), not_there), np.float64, len(golds))
        hits = (~np.isnan(scores)).nonzero()[0]
        golds = golds[hits]
        return segments.repeat(sizes)[hits], lambda some: self._keys(golds[some]), golds, scores[hits]

    def _keys(self, golds: Ints) -> Sequence[str]:
        """The keys of judged documents; those in a column become strings when they are read."""
        docs = self._truth.docs
        if len(golds) == len(docs) and (golds[1:] > golds[:-1]).all():  # all of them, as usual
            return docs
        if isinstance(docs, list):
            return list(map(docs.__getitem__, golds.tolist()))
        from karat.reading.pairs import arrays

        return arrays.Texts(arrays.text_column(docs).take(arrays.row_indices(golds)))

    def find_in_table(self, batch: ScoredRows, hashes: Hashes, positions: Ints) -> tuple[Ints, Ints]:
        """The hits: row, and judged document; `hashes` has one hash per row."""
        if self._by_lookup:
            return self._finder.find(batch, hashes, positions)
        if isinstance(self._match, Prefix | Same):
            return self._rows_by_key(batch, positions)
        segments, at, golds = self._find(self._folded(list(batch.by_query())), positions)
        return batch.offsets[segments] + at, golds

    @cached_property
    def _finder(self) -> RowFinder:
        """The index of the judged documents, built when it is first needed."""
        from karat.matching.rows import RowFinder

        return RowFinder.from_truth(self._truth)

    def _rows_by_key(self, batch: ScoredRows, positions: Ints) -> tuple[Ints, Ints]:
        """Find rows by their normalized ids, and by the text before each separator in them, the last one first."""
        from karat.reading.pairs import arrays

        left = np.arange(len(batch.scores))
        if self._match.key.changes_ids:
            batch = replace(
                batch, docs=arrays.text_column([doc or "" for doc in self._match.key.folded(batch.docs.to_pylist())])
            )
        rows, golds = self._finder.find(batch, batch.hashes(), positions)
        all_rows, all_golds = [rows], [golds]
        if not isinstance(self._match, Prefix):
            return rows, golds
        separator = self._match.folded_separator
        # A prefix longer than every gold id cannot match, and an id may have any number of separators.
        batch = replace(batch, docs=arrays.truncate(batch.docs, self._longest_id + len(separator)))
        ids = batch.docs
        for _ in range(_MOST_SEPARATORS):
            has_one = arrays.contains_text(batch.docs, separator)
            batch, left = batch.where(has_one), left[has_one]
            if not len(left):
                break
            batch = replace(batch, docs=arrays.text_before_last(batch.docs, separator))
            rows, golds = self._finder.find(batch, batch.hashes(), positions)
            all_rows.append(left[rows])
            all_golds.append(golds)
            # The next separator may overlap with this one, as in a:::b.
            batch = replace(batch, docs=arrays.append_text(batch.docs, separator[:-1]))
        rows, golds = np.concatenate(all_rows), np.concatenate(all_golds)
        if not len(left):
            return rows, golds
        # All rows are read again for each separator, so ids with many of them are looked up one by one.
        others = ~np.isin(rows, left)
        of_rows = zip(left.tolist(), positions[batch.segments(np.arange(len(left)))].tolist(), strict=True)
        docs = ids.take(arrays.row_indices(left)).to_pylist()
        by_row = [
            (row, gold)
            for (row, query), doc in zip(of_rows, docs, strict=True)
            if query >= 0
            for gold in self._owners(doc, separator, self._truth.index(query))
        ]
        more = np.asarray(by_row, np.int64).reshape(-1, 2)
        return np.concatenate((rows[others], more[:, 0])), np.concatenate((golds[others], more[:, 1]))

    @cached_property
    def _longest_id(self) -> int:
        return max(map(len, self._truth.docs), default=0)

    @staticmethod
    def _owners(doc: str | None, separator: str, index: dict[str, int]) -> Iterator[int]:
        """The judged documents that an id belongs to."""
        return (index[name] for name in _possible_owners(doc, separator, index) if name in index)

    def without_text(self, queries: Sequence[str], docs: Iterable[Iterable[str]], positions: Ints) -> dict[str, int]:
        """How many documents of a judged query, which are known by their ids only, have no text, if there are any."""
        if (texts := self._match.texts) is None:
            return {}
        of_queries = zip(queries, docs, positions.tolist(), strict=True)
        counts = {query: sum(doc not in texts for doc in ids) for query, ids, position in of_queries if position >= 0}
        return {query: count for query, count in counts.items() if count}

    def _folded(self, lists: Sequence[list[str]]) -> Sequence[Sequence[str | None]]:
        key = self._match.key
        return [key.folded(docs) for docs in lists] if key.changes_ids else lists

    def _find(self, lists: Sequence[Sequence[Any]], positions: Ints) -> tuple[Ints, Ints, Ints]:
        comparer = self._match.comparer()
        sizes: list[int] = []
        positions_in_list: list[int] = []
        golds: list[int] = []
        with progress_bar("queries") as progress:
            for query, docs in zip(positions.tolist(), lists, strict=True):
                before = len(golds)
                if query >= 0:
                    hits = self._by_key(query, docs) if comparer is None else self._by_pairs(query, docs, comparer)
                    for at, gold in hits:
                        positions_in_list.append(at)
                        golds.append(gold)
                sizes.append(len(golds) - before)
                if progress:
                    progress(len(sizes), len(lists))
        segments = np.repeat(np.arange(len(sizes)), sizes)
        return segments, np.asarray(positions_in_list, np.int64), np.asarray(golds, np.int64)

    def _by_key(self, query: int, docs: Sequence[str | None]) -> Iterator[tuple[int, int]]:
        index = self._truth.index(query)
        if not isinstance(self._match, Prefix):
            yield from ((at, index[docs[at]]) for at in _positions_of(index, docs))  # type: ignore[index]  # it is in there
            return
        separator = self._match.folded_separator
        for at, doc in enumerate(docs):
            yield from ((at, gold) for gold in self._owners(doc, separator, index))

    def _by_pairs(self, query: int, docs: Sequence[Any], comparer: Comparer) -> Iterator[tuple[int, int]]:
        golds = self._truth.golds(query)
        if isinstance(self._match, FunctionMatcher):
            gold_documents: Sequence[Any] = self._truth.original_documents(golds)
            yield from ((at, golds[which]) for at, which in comparer.pairs(docs, gold_documents))
            return
        # A text that is listed twice is compared once.
        distinct = list(dict.fromkeys(filter(None, docs)))
        hits: dict[str, list[int]] = {}
        if distinct and golds:
            slow_before = comparer.slow_pairs
            for at, which in comparer.pairs(distinct, self._truth.docs[golds.start : golds.stop]):
                hits.setdefault(distinct[at], []).append(golds[which])
            if comparer.slow_pairs > slow_before:
                self.slow_queries.add(query)
        yield from ((at, gold) for at, doc in enumerate(docs) if doc in hits for gold in hits[doc])


class JoinedLists(NamedTuple):
    """Hits in lists of retrieved documents: the query, the position in the list from 0, and the gold document.

    `gold_sizes` counts the distinct gold documents of each query, `sizes` its retrieved documents. `scores` lists
    the scores of the gold documents, None if they have no scores, or the error if a score is wrong. `golds_without_key`
    counts gold documents without a key; `without_key` counts retrieved ones, in queries without a hit.
    """

    hit_query: Ints
    hit_position: Ints
    hit_gold: Ints
    sizes: Ints
    gold_sizes: Ints
    scores: Floats | KaratError | None
    golds_without_key: int
    without_key: dict[str, int]


def join_lists(gold_lists: DocumentLists, lists: DocumentLists, match: Same, names: tuple[str, str]) -> JoinedLists:
    """Read the gold and the retrieved documents of each query, and match them by key.

    A gold document that is listed twice counts once, with its larger score. Errors call the two inputs by `names`.

    Both lists of a query are read and compared before the next query, while they are in the processor's cache: most
    of the time here is memory access. To avoid an index of all gold documents, they are numbered in the order in which
    they are found, those not found last.
    """
    gold_key, key = match.gold_key, match.key
    by_content = gold_key == key == Key("content")
    hits: list[int] = []
    hit_position: list[int] = []
    hit_golds_from: dict[int, list[int]] = {}
    gold_sizes: list[int] = []
    scores_from: dict[int, list[float]] = {}
    wrong_score: KaratError | None = None
    golds_without_key = start = 0
    without_key: dict[str, int] = {}
    for at, (gold_documents, documents) in enumerate(zip(gold_lists, lists, strict=True)):
        if by_content and (plain := _plain_hits(gold_documents, documents)):
            found_at, keyless = plain
            gold_sizes.append(len(gold_documents))
        else:
            place = Place(names[0], query=str(at))
            listed = gold_key.of(gold_documents, place)
            golds = set(listed)
            if not golds.isdisjoint(_NO_KEYS):
                golds -= _NO_KEYS
                golds_without_key += sum(not doc for doc in listed)
            docs = key.of_retrieved(documents, Place(names[1], query=str(at)))
            found_at = _positions_of(golds, docs)
            hit_docs = [docs[position] for position in found_at]
            hit_golds = dict.fromkeys(hit_docs)
            if len(hit_golds) < len(found_at):
                number = {doc: gold for gold, doc in enumerate(hit_golds, start)}
                hit_golds_from[len(hit_position)] = [number[doc] for doc in hit_docs]
            try:
                if grades := grades_by_key(listed, gold_documents, place):
                    scores_from[start] = [grades[doc] for doc in dict.fromkeys([*hit_golds, *filter(None, listed)])]
            except KaratError as error:
                wrong_score = wrong_score or error
            keyless = 0 if found_at else sum(not doc for doc in docs)
            gold_sizes.append(len(golds))
        if keyless:
            without_key[str(at)] = keyless
        hits.append(len(found_at))
        hit_position += found_at
        start += gold_sizes[-1]
    hits_per_query, golds_per_query = np.asarray(hits, np.int64), np.asarray(gold_sizes, np.int64)
    hit_gold = ranges(np.cumsum(golds_per_query) - golds_per_query, hits_per_query)
    _overwrite(hit_gold, hit_golds_from)
    scores = np.ones(start)
    _overwrite(scores, scores_from)
    return JoinedLists(
        np.repeat(np.arange(len(hits)), hits_per_query), np.fromiter(hit_position, np.int64, len(hit_position)),
        hit_gold, np.fromiter(map(len, lists), np.int64, len(lists)), golds_per_query,
        wrong_score or (scores if scores_from else None), golds_without_key, without_key,
    )  # fmt: skip


def _overwrite(array: Ints | Floats, parts: Mapping[int, Sequence[float]]) -> None:
    """Replace parts of an array, each from the position that it is given by."""
    for start, values in parts.items():
        array[start : start + len(values)] = values


def _plain_hits(
    gold_documents: Sequence[DocumentLike], documents: Sequence[DocumentLike]
) -> tuple[list[int], int] | None:
    """The positions of gold documents in a list, and without any of them, the number of empty texts.

    Only for the most common lists, which are read in one pass: the content of each document is a text, and no gold
    document is empty, has a score, or is in one of the lists twice. None for all other lists.
    """
    try:
        golds = {text for doc in gold_documents if type(text := doc.content) is str and doc.score is None}
        if len(golds) < len(gold_documents) or "" in golds:
            return None
        found_at = [
            at
            for at, doc in enumerate(documents)
            if (text in golds if type(text := doc.content) is str else _not_a_text())
        ]
        if len({documents[at].content for at in found_at}) < len(found_at):
            return None
        return found_at, 0 if found_at else [doc.content for doc in documents].count("")
    except AttributeError:
        return None


def _not_a_text() -> bool:
    raise AttributeError


_NO_KEYS = frozenset((None, ""))


def _positions_of(golds: Container[str | None], docs: Sequence[str | None]) -> list[int]:
    """The positions of gold documents in a list, from 0."""
    return [at for at, doc in enumerate(docs) if doc in golds]


def _possible_owners(doc: str | None, separator: str, golds: dict[str, int]) -> Iterator[str]:
    """The ids that an id may belong to: itself, and the text before each separator in it."""
    if not doc:
        return
    yield doc
    if doc.count(separator) > len(golds):
        # With more separators than golds, comparing with each gold is faster.
        yield from (gold for gold in golds if doc.startswith(gold + separator))
        return
    at = doc.rfind(separator)
    while at > 0:
        yield doc[:at]
        # The next one may overlap with this one, as in a:::b.
        at = doc.rfind(separator, 0, at + len(separator) - 1)
