"""What stands behind scores: the judged documents, and the run itself where it can be looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.document import DocumentLike, keys
from karat.errors import KaratError
from karat.judged import Judged
from karat.matching.choice import Matcher, Own
from karat.matching.joining import Joiner
from karat.ranking import Rules
from karat.sources.forms import Batch, Lists, Run, Scored, Table, Truth
from karat.ties import Order


class Hit(NamedTuple):
    """A judged document at a rank, and why it is one."""

    rank: int
    gold: int
    how: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that one run was evaluated by. A file is read again when somebody wants to look at it."""

    judged: Judged
    truth: Truth
    run: Run
    rules: Rules
    match: Matcher

    def look(self, query: str) -> tuple[list[DocumentLike], list[Hit]]:
        """What was retrieved for a query, in rank order, and the hits among it."""
        place = self.truth.place[query]
        listed: list[DocumentLike] = []
        scores: dict[str, float] = {}
        for make in self.run.batches():
            batch = make()
            for at in (at for at, name in enumerate(batch.queries) if name == query):
                if isinstance(batch, Lists):
                    listed += batch.documents[at]
                for doc, score in _rows(batch, at):
                    if doc not in scores or score > scores[doc]:
                        # Of a document that comes twice the one with the higher score counts, where it stands.
                        scores.pop(doc, None)
                        scores[doc] = score
        documents: list[DocumentLike] = listed or list(scores)
        if self.rules.ignore_identical_ids:
            names = keys(documents, "id", self.run.name)
            documents = [each for each, name in zip(documents, names, strict=True) if name != query]
        if len(documents) != self.judged.retrieved[place]:
            raise self._changed()
        hits = self._hits(place, documents)
        if scores:
            documents = self._in_order(documents, scores, hits)
            hits = self._hits(place, documents)
        of_query = self.judged.hit_query == place
        judged = zip(self.judged.hit_rank[of_query].tolist(), self.judged.hit_gold[of_query].tolist(), strict=True)
        if [(hit.rank, hit.gold) for hit in hits] != sorted(judged):
            raise self._changed()
        return documents, hits

    def _changed(self) -> KaratError:
        return KaratError("the run has changed since it was evaluated", where=self.run.name, mend="Evaluate again.")

    def _hits(self, place: int, documents: list[DocumentLike]) -> list[Hit]:
        query = self.truth.queries[place]
        read = self.match.key.of_retrieved(documents, f"{self.run.name}, query {query}")
        batch = Lists([query], [read], [documents])
        _, at, gold = Joiner(self.truth, self.match).in_lists(batch, np.array([place]))
        compared = documents if isinstance(self.match, Own) else read
        pairs = sorted(zip(at.tolist(), gold.tolist(), strict=True))
        return [Hit(one + 1, other, self.match.how(compared[one], self.truth.docs[other])) for one, other in pairs]

    def _in_order(self, docs: list[str], scores: dict[str, float], hits: list[Hit]) -> list[str]:
        grades: dict[str, float] = {}
        for hit in hits:
            grade = float(self.truth.grades[hit.gold])
            grades[docs[hit.rank - 1]] = max(grade, grades.get(docs[hit.rank - 1], grade))
        order = Order(self.rules.ties, lambda _: grades)
        equal: dict[float, list[str]] = {}
        for doc in docs:
            equal.setdefault(scores[doc], []).append(doc)
        return [doc for score in sorted(equal, reverse=True) for doc in order.of(equal[score], 0)]


def _rows(batch: Batch, at: int) -> Iterator[tuple[str, float]]:
    """The documents of one query of a batch, each with its score; lists have none."""
    if isinstance(batch, Scored):
        yield from ((doc, float(score)) for doc, score in batch.docs[at].items())
    if isinstance(batch, Table):
        start, stop = batch.offsets[at : at + 2].tolist()
        docs = batch.docs.slice(start, stop - start).to_pylist()
        yield from zip(docs, batch.scores[start:stop].tolist(), strict=True)
