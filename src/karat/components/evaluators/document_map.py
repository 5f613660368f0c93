"""Mean average precision as an evaluator, in its two conventions."""

from __future__ import annotations

from typing import Literal, get_args

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.errors import did_you_mean, require, shown
from karat.matching.matchers import Match

Convention = Literal["found", "standard"]
_MEASURES = {"found": "AP(norm=found, credit=rank)", "standard": "AP"}


@component
class DocumentMAPEvaluator(DocumentMeasureEvaluator):
    """Mean average precision: how high the gold documents are ranked.

    There are two conventions. `found`, the default, is the convention of Haystack up to 3.0: it divides by the number
    of gold documents that were found, and credits a repeated document each time. `standard` is the convention of
    trec_eval, and of Haystack since 3.1: it divides by the number of all gold documents, and does not credit
    repetitions.

    >>> lists = {"ground_truth_documents": [["Paris", "Lyon", "Nice"]], "retrieved_documents": [["Rome", "Paris"]]}
    >>> DocumentMAPEvaluator().run(**lists)["score"]
    0.5
    >>> DocumentMAPEvaluator(convention="standard").run(**lists)["score"]
    0.16666666666666666
    """

    def __init__(
        self,
        document_comparison_field: str = "content",
        convention: Convention = "found",
        match: Match | None = None,
    ) -> None:
        conventions = get_args(Convention)
        what = f"convention={shown(convention)} is not one of {', '.join(conventions)}"
        require(convention in conventions, what, did_you_mean(str(convention), conventions))
        super().__init__(_MEASURES[convention], document_comparison_field, match)
        self.convention = convention
