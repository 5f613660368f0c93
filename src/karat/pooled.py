"""Retrieval metrics averaged over examples: recall, all-or-nothing recall, and nDCG of chunks.

Each is a measure of the registry. `calculate_metric_scores` returns the mean over all examples, and the values of each.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from karat.errors import KaratError, plural, shown
from karat.errors.arguments import as_count, is_list_like
from karat.evaluation.document_lists import match_documents, warnings
from karat.matching.containment import ContainmentComparer, is_chunk_from_original
from karat.matching.matcher import Matcher
from karat.matching.matchers import Chunk, Match, matcher_of
from karat.measures import parse
from karat.reading.pairs.list_checks import DocumentLists, check_document_lists
from karat.scores import Scores

__all__ = ["RetrievalNDCGAny", "RetrievalRecall", "RetrievalRecallAll", "is_chunk_from_original"]

PooledScores = tuple[dict[str, float], list[dict[str, float]]]
_NAMES = ("gold_docs", "retrieved_docs")
_DIGITS = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _ChunkFromOriginal(Chunk):
    """`chunk` as `is_chunk_from_original` defines it: a chunk that is empty without its prefix matches nothing."""

    def comparer(self) -> ContainmentComparer:
        return ContainmentComparer(self.normalize, self.threshold)


class _Pooled:
    """A measure of the registry, its name here, and its default `match`."""

    _measure: ClassVar[str]
    _name: ClassVar[str]
    _match: ClassVar[str | Matcher]

    def __init__(self, global_config: object = None, *, match: Match | None = None) -> None:
        self.global_config = global_config
        self.match = matcher_of(self._match if match is None else match)

    def calculate_metric_scores(
        self,
        gold_docs: DocumentLists,
        retrieved_docs: DocumentLists | None = None,
        k_list: Iterable[int] = (1, 5, 10, 20),
        *,
        retrieved_chunks: DocumentLists | None = None,
    ) -> PooledScores:
        """The metric at each k: the mean over all examples, rounded to four digits, and the values of each example.

        Both inputs have one list per example: the gold documents, and the retrieved documents, best first.
        `retrieved_chunks` is another name for `retrieved_docs`.
        """
        retrieved = retrieved_chunks if retrieved_docs is None else retrieved_docs
        if retrieved is None or (retrieved_docs is not None and retrieved_chunks is not None):
            neither = "neither retrieved_docs nor retrieved_chunks is given"
            both = "retrieved_docs and retrieved_chunks are both given"
            raise KaratError(neither if retrieved_docs is None else both, hint="Pass one of them.")
        depths = _depths(k_list)
        check_document_lists(dict(zip(_NAMES, (gold_docs, retrieved), strict=True)))
        matched = match_documents(gold_docs, retrieved, self.match, _NAMES)
        judged = matched.binary
        text = warnings(matched, self.match)
        if short := int((judged.retrieved < depths[-1]).sum()):
            text += f" {short} of {plural(len(judged.queries), 'example')} retrieved fewer than {depths[-1]} documents."
        if text:
            _log.warning("karat: %s", text.strip())
        measures = {k: parse(f"{self._measure}@{k}") for k in depths}
        values = {f"{self._name}@{k}": measure.compute(judged) for k, measure in measures.items()}
        pooled = {name: round(Scores(judged.queries, {name: column})[name], _DIGITS) for name, column in values.items()}
        columns = {name: column.tolist() for name, column in values.items()}
        return pooled, [{name: columns[name][at] for name in columns} for at in range(len(judged.queries))]


class RetrievalRecall(_Pooled):
    """Recall@k: the share of the gold documents in the top k, compared by text or id. The measure `R@k`.

    >>> RetrievalRecall().calculate_metric_scores([["a", "b"]], [["a", "x", "b"]], k_list=[1, 3])
    ({'Recall@1': 0.5, 'Recall@3': 1.0}, [{'Recall@1': 0.5, 'Recall@3': 1.0}])
    """

    _measure, _name, _match = "R", "Recall", "content"


class RetrievalRecallAll(_Pooled):
    """Recall_all@k: 1 if every gold document has a chunk in the top k, else 0. The measure `RecallAll@k`.

    >>> RetrievalRecallAll().calculate_metric_scores([["Gold is soft.", "Iron rusts."]], [["soft", "rusts"]], [1, 2])
    ({'Recall_all@1': 0.0, 'Recall_all@2': 1.0}, [{'Recall_all@1': 0.0, 'Recall_all@2': 1.0}])
    """

    _measure, _name, _match = "RecallAll", "Recall_all", _ChunkFromOriginal()


class RetrievalNDCGAny(_Pooled):
    """NDCG_any@k: nDCG of the chunks, where a chunk of any gold document is relevant.

    DCG is rel₁ + Σ relᵢ / log2(i), and the ideal ranking sorts the retrieved chunks. The measure
    `nDCG(discount=jk, ideal=retrieved, credit=rank)@k`.

    >>> RetrievalNDCGAny().calculate_metric_scores([["Gold is soft."]], [["Iron", "Silver", "soft"]], [3])[0]
    {'NDCG_any@3': 0.6309}
    """

    _measure, _name, _match = "nDCG(discount=jk, ideal=retrieved, credit=rank)", "NDCG_any", _ChunkFromOriginal()


def _depths(k_list: Iterable[int]) -> list[int]:
    """The distinct cut-offs, in ascending order."""
    hint = "Pass positive whole numbers, such as [1, 5, 10]."
    if not is_list_like(k_list):
        raise KaratError(f"k_list is {shown(k_list)}", hint=hint)
    depths = list(k_list)
    for k in depths:
        if as_count(k, 1, 2**63) is None:
            raise KaratError(f"k_list contains {shown(k)}", hint=hint)
    if not depths:
        raise KaratError("k_list is empty", hint=hint)
    return sorted({int(k) for k in depths})
