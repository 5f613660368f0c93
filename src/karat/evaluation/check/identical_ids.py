"""Queries that retrieve a document with their own id: themselves, in data sets where queries are documents too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from karat.documents.fields import document_keys
from karat.errors import Place
from karat.evaluation.check.batches import SeenBatch
from karat.reading.pairs.containers import Batch, RankedLists, ScoredMappings, Truth
from karat.scores.finding import Finding, finding_about_queries

_SHARE = 0.01
"""of the queries; where all ids are numbers, some are the same by chance"""


@dataclass
class IdenticalIds:
    """The queries that retrieve a document with their own id, unless it is judged; a `RunCheck`."""

    name: str
    truth: Truth
    _queries: list[str] = field(default_factory=list)
    _seen: int = 0

    def see(self, seen: SeenBatch) -> None:
        """Find these queries in a batch."""
        self._seen += len(seen.batch.queries)
        self._queries += (query for query in _with_own_id(seen.batch) if not self._is_judged(query))

    def findings(self) -> Iterator[Finding]:
        """The queries, if they are too many to be chance."""
        if self._queries and len(self._queries) >= _SHARE * self._seen:
            what = "with a document of the same id in the run"
            hint = "If queries are documents too, use --ignore-identical-ids (ignore_identical_ids=True)."
            yield replace(finding_about_queries("identical-ids", self._queries, what, hint), place=Place(self.name))

    def _is_judged(self, query: str) -> bool:
        position = self.truth.positions.get(query)
        return position is not None and query in self.truth.index(position)


def _with_own_id(batch: Batch) -> list[str]:
    if isinstance(batch, ScoredMappings):
        return [query for query, docs in zip(batch.queries, batch.docs, strict=True) if query in docs]
    if isinstance(batch, RankedLists):
        lists = zip(batch.queries, batch.documents, strict=True)
        return [query for query, documents in lists if query in document_keys(documents, "id", f"query {query}")]
    from karat.reading.pairs.arrays import rows_with

    # Few documents have the id of any query, so few are compared with their own.
    rows = rows_with(batch.docs, batch.queries)
    return [query for query, doc in batch.pairs_of(rows) if query == doc]
