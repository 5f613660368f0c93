"""Mean average precision as an evaluator, in its two conventions."""

from __future__ import annotations

import logging
import math
from typing import Any, ClassVar, Literal, get_args

from karat.components.component import component
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.errors import KaratError, Message, Parameter, did_you_mean, plural
from karat.matching.matchers import Match
from karat.reading.pairs.list_checks import DocumentLists

Convention = Literal["found", "standard"]
_MEASURES = {"found": "AP(norm=found, credit=rank)", "standard": "AP"}
_log = logging.getLogger(__name__)


@component
class DocumentMAPEvaluator(DocumentMeasureEvaluator):
    """Mean average precision: how high the gold documents are ranked.

    There are two conventions. `found` is the convention of Haystack up to 3.0: it divides by the number of gold
    documents that were found, and credits a repeated document each time. `standard` is the convention of trec_eval,
    and of Haystack since 3.1: it divides by the number of all gold documents, and does not credit repetitions.

    Without `convention`, `found` is used (in `karat.integrations.haystack`, the convention of the installed Haystack),
    and a warning shows both scores if they differ.

    >>> lists = {"ground_truth_documents": [["Paris", "Lyon", "Nice"]], "retrieved_documents": [["Rome", "Paris"]]}
    >>> DocumentMAPEvaluator(convention="found").run(**lists)["score"]
    0.5
    >>> DocumentMAPEvaluator(convention="standard").run(**lists)["score"]
    0.16666666666666666
    """

    modifies_inputs = False
    default_convention: ClassVar[Convention] = "found"

    def __init__(
        self,
        document_comparison_field: str = "content",
        convention: Convention | None = None,
        match: Match | None = None,
    ) -> None:
        conventions = get_args(Convention)
        if convention is not None and (not isinstance(convention, str) or convention not in conventions):
            hint = did_you_mean(convention, conventions)
            what: Message = [Parameter("convention", convention), f" is not one of {', '.join(conventions)}"]
            raise KaratError(what, hint=hint)
        self.convention: Convention = convention or self.default_convention
        self._is_default = convention is None
        super().__init__(_MEASURES[self.convention], document_comparison_field, match)

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_documents: DocumentLists, retrieved_documents: DocumentLists) -> dict[str, Any]:
        """The average precision for each question, and the mean.

        Both inputs have one list of documents per question; retrieved documents are listed from best to worst.
        """
        if not self._is_default:
            return super().run(ground_truth_documents, retrieved_documents)
        results = self._results(ground_truth_documents, retrieved_documents, *_MEASURES.values())
        by_convention = dict(zip(_MEASURES, results, strict=True))
        _warn_if_different(by_convention, self.convention)
        return by_convention[self.convention]

    def to_dict(self) -> dict[str, Any]:
        """The evaluator as `{"type", "init_parameters"}`, which `from_dict` reads."""
        data = super().to_dict()
        if self._is_default:
            del data["init_parameters"]["convention"]
        return data


def _warn_if_different(results: dict[str, dict[str, Any]], used: str) -> None:
    """One warning with the scores of both conventions, unless all questions have the same score in both."""
    (other,) = results.keys() - {used}
    pairs = list(zip(results[used]["individual_scores"], results[other]["individual_scores"], strict=True))
    differ = sum(not math.isclose(one, another) for one, another in pairs)
    if differ:
        _log.warning(
            'karat: MAP is %.4f with convention="%s", which is used here, and %.4f with convention="%s"; '
            "they differ for %d of %s. Pass the convention that you want to DocumentMAPEvaluator.",
            *(results[used]["score"], used, results[other]["score"], other),
            *(differ, plural(len(pairs), "question")),
        )
