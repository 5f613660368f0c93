"""Any measure of the registry as an evaluator, and what all evaluators of documents share."""

from __future__ import annotations

from typing import Any

from karat.components.component import component
from karat.components.evaluators.documents import judged
from karat.components.serialization import Described
from karat.document import check_field
from karat.matching.lists import DocumentLists
from karat.measures import Measure, parse
from karat.scores import Scores


@component
class DocumentMeasureEvaluator(Described):
    """Any measure, with any cut-off, on lists of documents: `DocumentMeasureEvaluator(measure="nDCG@10")`.

    Documents are compared by their content, or by `document_comparison_field`: `id`, or `meta.name`. Graded
    measures (nDCG, DCG, ERR, ...) take the gold documents' scores for grades, where they have any; for the others
    every gold document is simply relevant.

    >>> evaluator = DocumentMeasureEvaluator("P@2")
    >>> evaluator.run(ground_truth_documents=[["Paris"]], retrieved_documents=[["Rome", "Paris", "Oslo"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    """

    only_reads = True

    def __init__(self, measure: str | Measure = "nDCG@10", document_comparison_field: str = "content") -> None:
        self.document_comparison_field = check_field(document_comparison_field)
        self.measure = str(measure.check() if isinstance(measure, Measure) else parse(str(measure)))

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_documents: DocumentLists, retrieved_documents: DocumentLists) -> dict[str, Any]:
        """The measure's value for each question, and over all of them.

        Both inputs have one list of documents per question: what should be found, and what was, best first.
        """
        measure = parse(self.measure)
        field, graded = self.document_comparison_field, measure.definition.graded
        of_lists = judged(ground_truth_documents, retrieved_documents, field, graded)
        values = measure.compute(of_lists)
        score = Scores(of_lists.queries, {self.measure: values})[self.measure]
        return {"score": score, "individual_scores": values.tolist()}
