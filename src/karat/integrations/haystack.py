"""The evaluators as components of Haystack: its pipelines connect, run, draw, save and load them.

Nothing is computed here. Each component holds karat's evaluator of the same name, and takes the same parameters.
A saved pipeline can be loaded once this module was imported: Haystack loads nothing from modules it was not told of.
"""

# The annotations of `run` are what Haystack connects by, and its older releases read them as they stand: they must
# be types, not the text that `from __future__ import annotations` would make of them.

import contextlib
from typing import Any, Self

from karat.answers.models import BATCH, DEFAULT_MODEL
from karat.components import evaluators
from karat.components.evaluators.document_map import Convention
from karat.components.evaluators.document_recall import RecallMode
from karat.components.serialization import Described
from karat.matching.matchers import Match
from karat.measures import Measure

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    if error.name != "haystack":
        raise
    raise ImportError('Haystack is not installed: pip install "karat[haystack]"', name="haystack") from None

with contextlib.suppress(ImportError):  # older releases of Haystack load from anywhere
    from haystack.core.serialization_security import allow_deserialization_module

    allow_deserialization_module(__name__)

__all__ = [
    "AnswerExactMatchEvaluator",
    "AnswerF1Evaluator",
    "AnswerMeasureEvaluator",
    "DocumentMAPEvaluator",
    "DocumentMRREvaluator",
    "DocumentMeasureEvaluator",
    "DocumentNDCGEvaluator",
    "DocumentRecallEvaluator",
    "RecallMode",
    "SASEvaluator",
]


class _Saved:
    """What makes a component one that Haystack can save: the parameters of the evaluator it holds."""

    _evaluator: Described

    def to_dict(self) -> dict[str, Any]:
        """`{"type", "init_parameters"}`, which `from_dict` reads."""
        return default_to_dict(self, **self._evaluator.to_dict()["init_parameters"])

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The component of such a dictionary."""
        return default_from_dict(cls, data)


class _OfDocuments(_Saved):
    """What the evaluators of documents share: all but their parameters."""

    _evaluator: evaluators.DocumentMeasureEvaluator

    @component.output_types(score=float, individual_scores=list[float])
    def run(
        self, ground_truth_documents: list[list[Document]], retrieved_documents: list[list[Document]]
    ) -> dict[str, Any]:
        """The measure's value for each question, and over all of them.

        Both inputs have one list of documents per question: what should be found, and what was, best first.
        """
        return self._evaluator.run(ground_truth_documents, retrieved_documents)


@component
class DocumentMeasureEvaluator(_OfDocuments):
    """Any measure of karat, with any cut-off.

    >>> evaluator = DocumentMeasureEvaluator("P@2")
    >>> found = [Document(content="Rome"), Document(content="Paris"), Document(content="Oslo")]
    >>> evaluator.run(ground_truth_documents=[[Document(content="Paris")]], retrieved_documents=[found])
    {'score': 0.5, 'individual_scores': [0.5]}
    """

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        document_comparison_field: str = "content",
        match: Match | None = None,
    ) -> None:
        self._evaluator = evaluators.DocumentMeasureEvaluator(measure, document_comparison_field, match)


@component
class DocumentRecallEvaluator(_OfDocuments):
    """Recall: whether any gold document was found (single-hit mode, the default), or which share (multi-hit)."""

    def __init__(
        self,
        mode: str | RecallMode = RecallMode.SINGLE_HIT,
        document_comparison_field: str = "content",
        match: Match | None = None,
    ) -> None:
        self._evaluator = evaluators.DocumentRecallEvaluator(mode, document_comparison_field, match)


@component
class DocumentMAPEvaluator(_OfDocuments):
    """Mean average precision. `standard` is the convention of Haystack from 3.1 on, `found`, the default, the older."""

    def __init__(
        self,
        document_comparison_field: str = "content",
        convention: Convention = "found",
        match: Match | None = None,
    ) -> None:
        self._evaluator = evaluators.DocumentMAPEvaluator(document_comparison_field, convention, match)


@component
class DocumentMRREvaluator(_OfDocuments):
    """Mean reciprocal rank: how high the first gold document stands."""

    def __init__(self, document_comparison_field: str = "content", match: Match | None = None) -> None:
        self._evaluator = evaluators.DocumentMRREvaluator(document_comparison_field, match)


@component
class DocumentNDCGEvaluator(_OfDocuments):
    """Normalised discounted cumulative gain; the score of a gold document, where it has one, is its grade."""

    def __init__(self, document_comparison_field: str = "content", match: Match | None = None) -> None:
        self._evaluator = evaluators.DocumentNDCGEvaluator(document_comparison_field, match)


@component
class AnswerExactMatchEvaluator(_Saved):
    """Whether each predicted answer is its ground truth, character by character.

    >>> AnswerExactMatchEvaluator().run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", "Lyon"])
    {'score': 0.5, 'individual_scores': [1, 0]}
    """

    _evaluator: evaluators.AnswerExactMatchEvaluator

    def __init__(self) -> None:
        self._evaluator = evaluators.AnswerExactMatchEvaluator()

    @component.output_types(score=float, individual_scores=list[int])
    def run(self, ground_truth_answers: list[str], predicted_answers: list[str]) -> dict[str, Any]:
        """1 or 0 for each question, and the share of ones."""
        return self._evaluator.run(ground_truth_answers, predicted_answers)


class _OfAnswers(_Saved):
    """What the other evaluators of answers share."""

    _evaluator: evaluators.AnswerMeasureEvaluator | evaluators.SASEvaluator

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_answers: list[str], predicted_answers: list[str]) -> dict[str, Any]:
        """The measure's value for each question, and their mean."""
        return self._evaluator.run(ground_truth_answers, predicted_answers)


@component
class AnswerMeasureEvaluator(_OfAnswers):
    """Any measure of answers that karat has.

    >>> evaluator = AnswerMeasureEvaluator("Contains")
    >>> evaluator.run(ground_truth_answers=["Berlin"], predicted_answers=["It is Berlin."])
    {'score': 1.0, 'individual_scores': [1.0]}
    """

    def __init__(self, measure: str | Measure = "TokenF1") -> None:
        self._evaluator = evaluators.AnswerMeasureEvaluator(measure)


@component
class AnswerF1Evaluator(_OfAnswers):
    """The F1 of SQuAD: precision and recall of the words of each answer."""

    def __init__(self, normalize: bool | str = True) -> None:
        self._evaluator = evaluators.AnswerF1Evaluator(normalize)


@component
class SASEvaluator(_OfAnswers):
    """Semantic answer similarity, by a model of sentence-transformers or by wordllama."""

    _evaluator: evaluators.SASEvaluator

    def __init__(
        self, model: str = DEFAULT_MODEL, batch_size: int = BATCH, device: Any = None, token: Any = None
    ) -> None:
        self._evaluator = evaluators.SASEvaluator(model, batch_size, device, token)

    def warm_up(self) -> None:
        """Load the model."""
        self._evaluator.warm_up()
