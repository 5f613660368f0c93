"""Recall as an evaluator: whether any gold document was found, or how many of them."""

from __future__ import annotations

from enum import Enum

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.errors import KaratError, did_you_mean, shown
from karat.matching.matchers import Match


class RecallMode(Enum):
    """How recall is counted: whether any gold document was found, or how many of them.

    >>> RecallMode.from_str("multi_hit") is RecallMode.MULTI_HIT
    True
    """

    SINGLE_HIT = "single_hit"
    """1 if any gold document was retrieved, else 0."""
    MULTI_HIT = "multi_hit"
    """The share of the gold documents that were retrieved."""

    def __str__(self) -> str:
        return self.value

    @staticmethod
    def from_str(string: str) -> RecallMode:
        """The mode with this name."""
        for mode in RecallMode:
            if isinstance(string, str) and mode.value == string:
                return mode
        names = [mode.value for mode in RecallMode]
        near = did_you_mean(string, names)
        hint = f"{near} The modes are {', '.join(names)}.".strip()
        raise KaratError(f"{shown(string)} is not a recall mode", hint=hint)


_MEASURES = {RecallMode.SINGLE_HIT: "Success", RecallMode.MULTI_HIT: "R"}


@component
class DocumentRecallEvaluator(DocumentMeasureEvaluator):
    """Recall of the retrieved documents: the measure `Success` in single-hit mode (the default), `R` in multi-hit mode.

    >>> lists = {"ground_truth_documents": [["Paris", "Lyon"]], "retrieved_documents": [["Paris", "Rome"]]}
    >>> DocumentRecallEvaluator().run(**lists)["score"]
    1.0
    >>> DocumentRecallEvaluator(mode="multi_hit").run(**lists)["score"]
    0.5
    """

    def __init__(
        self,
        mode: str | RecallMode | Enum = RecallMode.SINGLE_HIT,
        document_comparison_field: str = "content",
        match: Match | None = None,
    ) -> None:
        # The RecallMode of Haystack is accepted too.
        chosen = RecallMode.from_str(mode.value if isinstance(mode, Enum) else mode)
        self.mode = chosen
        super().__init__(_MEASURES[chosen], document_comparison_field, match)
