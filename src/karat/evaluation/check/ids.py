"""Ids that differ only in case, in spaces or in how Unicode writes the same characters; and queries without a match."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING

from karat.data.caching import cached_property
from karat.documents.normalization import Folds, normalized
from karat.errors import enumeration
from karat.errors.command_lines import quoted_word
from karat.evaluation.check.batches import SeenBatch
from karat.evaluation.check.many_findings import Found, Others, room
from karat.evaluation.check.places import AboutPair, PairPlaces, documents_of, first_document
from karat.evaluation.facts import DocumentFacts
from karat.evaluation.findings import no_common_queries
from karat.matching.id_differences import visible
from karat.matching.matchers import Same
from karat.reading.pairs.containers import ScoredRows, Truth
from karat.scores.finding import Finding

if TYPE_CHECKING:
    from karat.evaluation.check.similar_rows import SimilarRows

_NAMES = {"case": "case", "space": "spaces", "unicode": "Unicode normalization"}
_ALL: Folds = ("unicode", "case", "space")
_WITHOUT_CASE: Folds = ("unicode", "space")
_CAPITAL_INSIDE = re.compile(r"[a-z][A-Z]")
_MOST_CAPITALS = 0.1  # the share of ids with a capital letter inside, up to which case is not a part of ids
_EXAMINED = 1_000  # ids that show whether case is a part of them
_SAME = "If they are the same, write the id in one way."


def without_common_queries(truth: Truth, facts: DocumentFacts, run: str) -> Finding | None:
    """The finding about a run whose queries are all missing from the ground truth, with the reason if it is known."""
    if facts.answered or not facts.unknown:
        return None
    error = no_common_queries(truth.queries, facts.unknown, run)
    return Finding("no-common-queries", error.what, len(facts.unknown), error.hint or "", place=error.place)


def similar_queries(truth: Truth, source: PairPlaces) -> Iterator[Finding]:
    """Queries of the ground truth whose ids differ only in how they are written."""
    found: list[AboutPair] = []
    folds = _WITHOUT_CASE if case_matters(truth.queries) else _ALL
    for query, other in similar_ids(truth.queries, folds):
        both = " and ".join(visible(query, other))
        message = f"the queries {both} differ only in {_names(query, other)}"
        documents = truth.golds(truth.positions[other])
        doc = truth.docs[documents.start] if documents else ""
        found.append(AboutPair(Finding("similar-ids", message, 1, _SAME), (other, doc)))
    return source.placed(found)


def similar_documents(truth: Truth, source: PairPlaces) -> Iterator[Finding]:
    """Judged documents of a query whose ids differ only in how they are written."""
    found: list[AboutPair] = []
    for at, query in enumerate(truth.queries):
        golds = truth.golds(at)
        docs = truth.docs[golds.start : golds.stop] if len(golds) > 1 else ()
        for doc, other in similar_ids(docs, _ALL):
            both = " and ".join(visible(doc, other))
            message = f"the documents {both}, judged for query {query}, differ only in {_names(doc, other)}"
            found.append(AboutPair(Finding("similar-ids", message, 1, _SAME), (query, other)))
    return source.placed(found)


def similar_ids(ids: Sequence[str], folds: Folds) -> Iterator[tuple[str, str]]:
    """Each id that is an earlier one after both were folded, with the first of these.

    >>> list(similar_ids(["d1", "D1", "d2", "d1 "], ("case", "space")))
    [('d1', 'D1'), ('d1', 'd1 ')]
    """
    joined = "".join(ids)
    is_plain = joined.isascii() and joined.split() == [joined]
    if is_plain and ("case" not in folds or len({*map(str.lower, ids)}) == len(ids)):
        return  # the usual case, found out much faster
    first: dict[str, str] = {}
    for id_ in ids:
        before = first.setdefault(normalized(id_, folds), id_)
        if before != id_:
            yield before, id_


def case_matters(ids: Iterable[str]) -> bool:
    """Whether case is a part of ids, as in `dQw4w9WgXcQ`, judging by the first of them: many have capitals inside."""
    examined = list(islice(ids, _EXAMINED))
    capitals = sum(_CAPITAL_INSIDE.search(id_) is not None for id_ in examined)
    return capitals > _MOST_CAPITALS * len(examined)


def difference(one: str, other: str) -> Folds:
    """The fewest normalizations that make two ids the same."""
    every = (folds for size in (1, 2) for folds in combinations(_ALL, size))
    return next((folds for folds in every if normalized(one, folds) == normalized(other, folds)), _ALL)


def _names(one: str, other: str) -> str:
    """What two ids differ in, in words."""
    return enumeration([_NAMES[fold] for fold in difference(one, other)], "and")


@dataclass
class SimilarIds:
    """Judged documents and queries that are missing from a run, which has similar ids instead: these are lost hits."""

    truth: Truth
    source: PairPlaces
    found: list[AboutPair] = field(default_factory=list)
    others: int = 0
    """how many documents were found once very many were known"""
    has_hits: bool = False
    """whether a judged document was retrieved; if none was, a finding of its own says what all ids differ in"""
    answered: set[str] = field(default_factory=set)
    unknown: dict[str, str] = field(default_factory=dict)
    """queries that are not in the ground truth, with a document of each"""

    def see(self, seen: SeenBatch) -> None:
        """Remember the queries, and find documents that are similar to judged ones."""
        batch, positions = seen.batch, self.truth.positions
        self.has_hits |= len(seen.ranked["trec"].hit_gold) > 0
        for at, query in enumerate(batch.queries):
            if query in positions:
                self.answered.add(query)
            else:
                self.unknown[query] = first_document(batch, at)
        if isinstance(batch, ScoredRows):
            for segment, docs in self._rows.find(batch).items():
                retrieved = {*batch.of_query(segment)}
                self._compare(batch.queries[segment], docs, retrieved)
            return
        for at, query in enumerate(batch.queries):
            if query in positions:
                listed = documents_of(batch, at)
                self._compare(query, listed, {*listed})

    def findings(self) -> Iterator[Found]:
        """What was found, once all queries were seen."""
        missing = [query for query in self.truth.queries if query not in self.answered]
        of_fold = {normalized(query, _ALL): query for query in missing}
        queries: list[AboutPair] = []
        for query, doc in self.unknown.items() if self.answered else ():  # if none is, a finding says why
            if other := of_fold.get(normalized(query, _ALL)):
                names, (in_truth, in_run) = _names(other, query), visible(other, query)
                message = f"query {in_truth} of the ground truth is missing from the run, which has {in_run}"
                message = f"{message}: they differ only in {names}"
                queries.append(AboutPair(Finding("similar-ids", message, 1, _SAME, (other,)), (query, doc)))
        yield from self.source.placed([*queries, *(self.found if self.has_hits else ())])
        yield Others("similar-ids", self.source.name, self.others if self.has_hits else 0)

    def _compare(self, query: str, docs: Iterable[str], retrieved: Collection[str]) -> None:
        """Find documents that are similar to judged ones that were not retrieved."""
        judged = self.truth.index(self.truth.positions[query])
        missing = {normalized(gold, _ALL): gold for gold in judged if gold not in retrieved}
        if not missing:
            return
        for doc in docs:
            if doc not in judged and (gold := missing.get(normalized(doc, _ALL))):
                if not room(len(self.found)):
                    self.others += 1
                    continue
                names, (in_truth, in_run) = _names(gold, doc), visible(gold, doc)
                message = f"document {in_truth}, judged for query {query}, is missing from the run, which has {in_run}"
                hint = f"{_SAME} To ignore the difference, use --match {_match(gold, doc)}."
                finding = Finding("similar-ids", f"{message}: they differ only in {names}", 1, hint)
                self.found.append(AboutPair(finding, (query, doc)))

    @cached_property
    def _rows(self) -> SimilarRows:
        from karat.evaluation.check.similar_rows import SimilarRows

        return SimilarRows.of(self.truth)


def _match(gold: str, doc: str) -> str:
    """The match that ignores what two ids differ in, as it is written on the command line and in Python."""
    match = str(Same("id", difference(gold, doc)))
    return f"{quoted_word(match)} (in Python match={match!r})"
