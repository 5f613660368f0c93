"""Mean average precision as an evaluator, in its two conventions."""

from __future__ import annotations

from typing import Literal, get_args

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.errors import KaratError, did_you_mean, shown
from karat.matching.matchers import Match

Convention = Literal["found", "standard"]
_MEASURES = {"found": "AP(norm=found, credit=rank)", "standard": "AP"}


@component
class DocumentMAPEvaluator(DocumentMeasureEvaluator):
    """Mean average precision: how high the gold documents stand.

    There are two conventions, and they differ. `found`, the default, is Haystack's until 3.0: it divides by the
    gold documents that were found, and counts a repeated document each time. `standard` is trec_eval's, and
    Haystack's from 3.1 on: it divides by all gold documents, and a repetition counts nothing.

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
        if convention not in get_args(Convention):
            near = did_you_mean(str(convention), get_args(Convention))
            raise KaratError(
                f"convention {shown(convention)} is not one of {', '.join(get_args(Convention))}", hint=near
            )
        super().__init__(_MEASURES[convention], document_comparison_field, match)
        self.convention = convention
