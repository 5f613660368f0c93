"""nDCG as an evaluator: whether the best gold documents are ranked highest."""

from __future__ import annotations

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.matching.matchers import Match


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
