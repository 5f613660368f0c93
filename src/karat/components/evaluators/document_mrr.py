"""Mean reciprocal rank as an evaluator: how high the first gold document is ranked."""

from __future__ import annotations

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.matching.matchers import Match


@component
class DocumentMRREvaluator(DocumentMeasureEvaluator):
    """Mean reciprocal rank: 1 / rank of the first gold document, or 0 if none was found. The measure `RR`.

    >>> evaluator = DocumentMRREvaluator()
    >>> evaluator.run(ground_truth_documents=[["Paris"]], retrieved_documents=[["Rome", "Paris"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    """

    def __init__(self, document_comparison_field: str = "content", match: Match | None = None) -> None:
        super().__init__("RR", document_comparison_field, match)
