"""nDCG as an evaluator: are the best gold documents on top."""

from __future__ import annotations

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.matching.matchers import Match


@component
class DocumentNDCGEvaluator(DocumentMeasureEvaluator):
    """Normalised discounted cumulative gain, over the whole list. `nDCG` here.

    The score of a gold document is its grade; all of a question's gold documents have one, or none has, and then
    each is worth 1.

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
