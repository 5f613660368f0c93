"""Documents that are not in the corpus, and queries that are not in the file of queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Ints
from karat.documents.normalization import normalized
from karat.errors import Place, first_few, percent, shown
from karat.evaluation.check.batches import SeenBatch
from karat.evaluation.check.checked import PLACES
from karat.evaluation.check.many_findings import Found, Others, room
from karat.evaluation.check.places import AboutPair, PairPlaces, first_document
from karat.evaluation.check.text_sources import TextSource
from karat.matching.id_differences import difference_between
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher, Prefix
from karat.reading.pairs.arrays import Column, Texts, text_column
from karat.reading.pairs.containers import Batch, ScoredRows, Truth
from karat.reading.pairs.hashing import text_hashes
from karat.scores.finding import Finding

_NEARLY_ALL = 0.9
_MOST_IDS = 1_000_000  # of a source, in which ids that are written differently are looked for
_FEW_IDS = 100_000  # the same if only some ids are missing
_EXAMPLES = 1_000


@dataclass(frozen=True, eq=False)
class KnownIds:
    """The ids of a source of texts, which others are looked up in."""

    source: TextSource
    change: Callable[[str], str] | None = None
    """what is done to ids before they are compared, if a match ignores something in them"""

    @cached_property
    def _changed(self) -> frozenset[str]:
        return frozenset(map(self.change, self.source.index.all_ids())) if self.change else frozenset()

    def lacks(self, ids: Column) -> Bools:
        """Which ids of a column are not known."""
        if self.change is not None:
            are_unknown = (self.change(id_) not in self._changed for id_ in Texts(ids))
            return np.fromiter(are_unknown, bool, len(ids))
        known, hashes = self.source.index.id_hashes, text_hashes(ids)
        if not len(known):
            return np.ones(len(hashes), bool)
        order = np.argsort(hashes)  # neighbours are then looked up one after the other, which is several times as fast
        in_order = hashes[order]
        lacks = np.empty(len(hashes), bool)
        lacks[order] = known[np.minimum(np.searchsorted(known, in_order), len(known) - 1)] != in_order
        return lacks

    def without(self, ids: Sequence[str]) -> list[str]:
        """Those of the ids that are not known."""
        lacks = self.lacks(text_column(ids)).tolist() if ids else []
        return [id_ for id_, is_unknown in zip(ids, lacks, strict=True) if is_unknown]

    def nearly_all(self, missing: int, total: int) -> bool:
        """Whether so many ids are missing that they must be written in another way, or belong to other data."""
        return total > PLACES and missing > _NEARLY_ALL * total

    def hint(self, missing: Iterable[str], of_ids: str, *, nearly_all: bool) -> str:
        """What missing ids differ in from those that are known, if they do."""
        index, examples = self.source.index, list(islice(missing, _EXAMPLES))
        if not (nearly_all or len(index) <= _FEW_IDS):
            return ""
        known = list(islice(index.all_ids(), _MOST_IDS))
        reason = difference_between(examples, known)
        if reason is None or 2 * reason.found < len(examples):
            some = f"{first_few(examples)} in {of_ids}, and {first_few(known)} in {self.source.name}"
            return f"The ids are {some}." if nearly_all and known else ""
        return f"{reason.sentence(of_ids, self.source.name)} Write them alike."


def documents_for(source: TextSource, matcher: Matcher) -> KnownIds | None:
    """The documents of a corpus, compared as a match compares ids; None if it does not compare ids."""
    if isinstance(matcher, FunctionMatcher) or not matcher.key.field == matcher.gold_key.field == "id":
        return None
    if isinstance(matcher, Prefix):
        separator, folds = matcher.folded_separator, matcher.normalize
        return KnownIds(source, lambda id_: normalized(id_, folds).partition(separator)[0])
    return KnownIds(source, partial(normalized, folds=matcher.normalize) if matcher.normalize else None)


def judged_not_in_corpus(truth: Truth, known: KnownIds, pairs: PairPlaces) -> Iterator[Finding]:
    """Judged documents that are not in the corpus."""
    column = text_column(truth.docs)
    rows = np.flatnonzero(known.lacks(column)).tolist()
    if not rows:
        return
    first_of: dict[str, int] = {}
    for row in rows:
        first_of.setdefault(truth.docs[row], row)
    if known.nearly_all(len(rows), len(column)):
        share, hint = percent(len(rows) / len(column)), known.hint(first_of, pairs.name, nearly_all=True)
        message = f"{share} of the judged documents are not in {known.source.readable}"
        yield Finding("judged-not-in-corpus", message, len(first_of), hint, place=Place(pairs.name))
        return
    hint = known.hint(first_of, pairs.name, nearly_all=False)

    def found() -> Iterator[AboutPair]:
        for doc, row in first_of.items():
            query = truth.queries[int(np.searchsorted(truth.offsets, row, side="right")) - 1]
            message = f"document {shown(doc)}, judged for query {query}, is not in {known.source.readable}"
            yield AboutPair(Finding("judged-not-in-corpus", message, 1, hint), (query, doc))

    yield from pairs.placed(found())


def queries_not_in_file(documents: Mapping[str, str], known: KnownIds, pairs: PairPlaces) -> Iterator[Finding]:
    """Queries, each with one of its documents, that are not in the file of queries."""
    missing = known.without(list(documents))
    if not missing:
        return
    nearly_all = known.nearly_all(len(missing), len(documents))
    hint = known.hint(missing, pairs.name, nearly_all=nearly_all)
    if nearly_all:
        message = f"{percent(len(missing) / len(documents))} of the queries are not in {known.source.readable}"
        queries = tuple(missing)
        yield Finding("queries-not-in-file", message, len(missing), hint, queries, place=Place(pairs.name))
        return
    yield from pairs.placed(
        AboutPair(
            Finding(
                "queries-not-in-file", f"query {shown(query)} is not in {known.source.readable}", 1, hint, (query,)
            ),
            (query, documents[query]),
        )
        for query in missing
    )


@dataclass
class NotInTexts:
    """Documents of a run that are not in the corpus, and queries of the run that are not in the file of queries."""

    pairs: PairPlaces
    corpus: KnownIds | None
    queries: KnownIds | None
    first_of: dict[str, str] = field(default_factory=dict)
    """documents that are not in the corpus, each with the first of its queries"""
    missing: int = 0
    """how often such documents were retrieved"""
    others: int = 0
    """how often that was once very many were known"""
    total: int = 0
    documents: dict[str, str] = field(default_factory=dict)
    """the queries of the run, each with one of its documents"""

    def see(self, seen: SeenBatch) -> None:
        """Look up the documents of some queries."""
        batch = seen.batch
        if self.queries is not None:
            self.documents |= {query: first_document(batch, at) for at, query in enumerate(batch.queries)}
        if self.corpus is None:
            return
        column, segments = _documents(batch)
        rows = np.flatnonzero(self.corpus.lacks(column))
        self.total += len(column)
        self.missing += len(rows)
        listed = rows[: room(len(self.first_of))]  # of a run from another corpus, these may be all
        for row, segment in zip(listed.tolist(), segments(listed).tolist(), strict=True):
            self.first_of.setdefault(column[row].as_py(), batch.queries[segment])
        self.others += len(rows) - len(listed)

    def findings(self) -> Iterator[Found]:
        """What was found, once all queries were seen."""
        if self.queries is not None:
            yield from queries_not_in_file(self.documents, self.queries, self.pairs)
        if self.corpus is None or not self.missing:
            return
        name, place = self.corpus.source.readable, Place(self.pairs.name)
        nearly_all = self.corpus.nearly_all(self.missing, self.total)
        hint = self.corpus.hint(self.first_of, self.pairs.name, nearly_all=nearly_all)
        if nearly_all:
            message = f"{percent(self.missing / self.total)} of the retrieved documents are not in {name}"
            yield Finding("retrieved-not-in-corpus", message, self.missing, hint, place=place)
            return
        found = []
        for doc, query in self.first_of.items():
            message = f"document {shown(doc)}, retrieved for query {query}, is not in {name}"
            found.append(AboutPair(Finding("retrieved-not-in-corpus", message, 1, hint), (query, doc)))
        yield from self.pairs.placed(found)
        yield Others("retrieved-not-in-corpus", self.pairs.name, self.others)


def _documents(batch: Batch) -> tuple[Column, Callable[[Ints], Ints]]:
    """The ids of all documents of a batch in a column, and the query of each row by its position in the batch."""
    if isinstance(batch, ScoredRows):
        return batch.docs, batch.segments
    listed = [[doc for doc in docs if doc] for docs in batch.docs]
    ends = np.cumsum([*map(len, listed)], dtype=np.int64)
    return text_column([*chain.from_iterable(listed)]), lambda rows: np.searchsorted(ends, rows, side="right")
