"""nDCG as an evaluator: whether the best gold documents are ranked highest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator, match_lists
from karat.documents.fields import DocumentLike
from karat.matching.matchers import Match, Same
from karat.measures import DCG
from karat.reading.pairs.list_checks import DocumentLists


@component
class DocumentNDCGEvaluator(DocumentMeasureEvaluator):
    """Normalized discounted cumulative gain of the whole list: the measure `nDCG`.

    The score of a gold document is its grade. Either all gold documents of a question have a score or
    none has; without scores, each grade is 1.

    >>> from karat import Document
    >>> evaluator = DocumentNDCGEvaluator()
    >>> evaluator.run(
    ...     ground_truth_documents=[[Document(content="Paris", score=2), Document(content="Lyon", score=1)]],
    ...     retrieved_documents=[["Lyon", "Paris"]],
    ... )["score"]
    0.8597186998521972
    """

    def __init__(self, document_comparison_field: str = "content", match: Match | None = None) -> None:
        super().__init__("nDCG", document_comparison_field, match)

    @staticmethod
    def validate_inputs(gt_docs: DocumentLists, ret_docs: DocumentLists) -> None:
        """Raise the error that `run` would raise: for the lengths of the lists, or the scores of gold documents."""
        _ = match_lists(gt_docs, ret_docs, Same("content")).graded

    def calculate_dcg(self, gt_docs: Sequence[DocumentLike], ret_docs: Sequence[DocumentLike]) -> float:
        """The discounted cumulative gain of the documents retrieved for one question: the measure `DCG`."""
        return float(DCG.compute(match_lists([gt_docs], [ret_docs], self._matcher).graded)[0])

    def calculate_idcg(self, gt_docs: Sequence[DocumentLike]) -> float:
        """The largest possible `DCG` of a question: that of a run of its gold documents, best first."""
        judged = match_lists([gt_docs], [[]], self._matcher).graded
        best = judged.ideal
        perfect = replace(
            judged,
            gold_grade=best.grade,
            hit_query=best.query,
            hit_rank=best.rank,
            hit_grade=best.grade,
            hit_gold=np.arange(len(best.grade)),
        )
        return float(DCG.compute(perfect)[0])
