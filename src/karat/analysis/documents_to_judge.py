"""Which documents to judge: the unjudged ones in the top ranks, and judged ones to compare a judge with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from karat.analysis.evidence import NO_RUN_DATA, Evidence
from karat.analysis.rankings import Ranking, read_rankings
from karat.errors import KaratError, Parameter, require
from karat.errors.arguments import as_count
from karat.matching.matchers import Same
from karat.reading.pairs.containers import Truth
from karat.scores import Scores
from karat.stats import SEED


class DocumentsToJudge(NamedTuple):
    """The documents to judge, by query, in the order of the queries' ids.

    `unjudged` documents of a query are in the order of their best ranks. `judged` are all documents of the drawn
    queries that the ground truth judges, by id; a judge that grades them too can be compared with it.
    """

    unjudged: Mapping[str, tuple[str, ...]]
    judged: Mapping[str, tuple[str, ...]]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each query and document, once; the unjudged ones of a query first."""
        for query in sorted({*self.unjudged, *self.judged}):
            yield from ((query, document) for document in self.unjudged.get(query, ()))
            yield from ((query, document) for document in self.judged.get(query, ()))


def documents_to_judge(
    systems: Mapping[str, Scores], depth: int = 10, overlap: int = 0, seed: int = SEED
) -> DocumentsToJudge:
    """The documents that are unjudged in the top `depth` of any system, and the judged ones of `overlap` queries.

    The systems were evaluated against the same ground truth, by document ids. A negative grade is not a judgment.
    Queries that are not in the ground truth are left out. Those of the overlap are drawn at random, with a fixed seed,
    from the queries with judged documents; if there are fewer, they are all. A larger overlap contains a smaller one,
    so that nothing has to be judged twice.

    >>> from karat import evaluate_runs
    >>> systems = evaluate_runs({"q": {"a": 1, "b": 0}}, {"bm25": {"q": ["x", "a"]}, "dense": {"q": ["b", "y"]}}, "RR")
    >>> documents_to_judge(systems, depth=2, overlap=1)
    DocumentsToJudge(unjudged={'q': ('x', 'y')}, judged={'q': ('a', 'b')})
    """
    for name, value, least in (("depth", depth, 1), ("overlap", overlap, 0), ("seed", seed, 0)):
        if as_count(value, least) is None:
            raise KaratError([Parameter(name, value), f" is not a whole number of {least} or more"])
    require(systems, "no system was given", "Pass what evaluate_runs returns.")
    runs = [_evidence(scores, name) for name, scores in systems.items()]
    best: dict[str, dict[str, int]] = {}
    for evidence in runs:
        for query, ranks in unjudged_documents(evidence, depth):
            known = best.setdefault(query, {})
            for document, rank in ranks.items():
                known[document] = min(rank, known.get(document, rank))
    unjudged = {
        query: tuple(sorted(ranks, key=lambda document: (ranks[document], document)))
        for query, ranks in sorted(best.items())
    }
    return DocumentsToJudge(unjudged, _drawn_at_random(runs[0].truth, overlap, seed))


def _evidence(scores: Scores, name: str) -> Evidence:
    if scores.evidence is None:
        raise KaratError("these scores contain no run data to find documents in", place=name, hint=NO_RUN_DATA)
    match = scores.evidence.match
    what = f"documents are judged by their ids, and the runs are matched by {match}"
    require(match == Same(), what, ["Use ", Parameter("match", "id"), ", the default."], place=name)
    return scores.evidence


def unjudged_documents(evidence: Evidence, depth: int) -> Iterator[tuple[str, dict[str, int]]]:
    """The unjudged documents in the top of each query of a run that has any, with their ranks."""
    for query, ranking in read_rankings(evidence, evidence.truth.queries, depth).items():
        if ranks := _unjudged_ranks(evidence, ranking, depth):
            documents = [ranking.documents[rank] for rank in ranks]
            names = evidence.match.key.of_retrieved(documents, evidence.place(query))
            # Of a document that a list repeats, the first rank counts.
            yield query, {name: rank for name, rank in zip(names[::-1], ranks[::-1], strict=True) if name}


def _unjudged_ranks(evidence: Evidence, ranking: Ranking, depth: int) -> list[int]:
    judged = {hit.rank for hit in ranking.hits if evidence.truth.grades[hit.gold] >= 0}
    return [rank for rank in sorted(ranking.documents) if rank <= depth and rank not in judged]


def _drawn_at_random(truth: Truth, overlap: int, seed: int) -> dict[str, tuple[str, ...]]:
    """The judged documents of queries that are drawn at random."""
    is_judged = truth.grades >= 0
    if truth.labels is not None:
        is_judged &= ~truth.labels.rows
    counts = np.diff(np.concatenate(([0], np.cumsum(is_judged)))[truth.offsets]).tolist()
    queries = sorted(query for query, count in zip(truth.queries, counts, strict=True) if count)
    order = np.random.default_rng(seed).permutation(len(queries))[:overlap].tolist()
    drawn = {}
    for query in sorted(queries[at] for at in order):
        rows = truth.index(truth.positions[query])
        drawn[query] = tuple(sorted(doc for doc, row in rows.items() if is_judged[row]))
    return drawn
