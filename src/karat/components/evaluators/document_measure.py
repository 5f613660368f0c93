"""Any measure of rankings as an evaluator, the base class of all evaluators of documents."""

from __future__ import annotations

import logging
from typing import Any

from karat.components.component import component
from karat.components.run_cache import cached
from karat.components.serialization import SerializableComponent
from karat.documents.fields import check_field
from karat.errors import KaratError, Message, Parameter, safe_line, shown
from karat.evaluation.document_lists import JudgedLists, match_documents, warnings
from karat.matching.matcher import Matcher
from karat.matching.matchers import FunctionMatcher, Match, Same, matcher_of
from karat.measures import Measure, parse
from karat.reading.pairs.list_checks import DocumentLists, check_document_lists
from karat.scores import Scores

_NAMES = ("ground_truth_documents", "retrieved_documents")
_log = logging.getLogger(__name__)


@component
class DocumentMeasureEvaluator(SerializableComponent):
    """Any measure of rankings, with any cut-off: `DocumentMeasureEvaluator(measure="nDCG@10")`.

    Documents are compared by their content, or by `document_comparison_field`: `id`, or `meta.name`. `match` defines a
    hit differently: `prefix`, `chunk`, `fuzzy`, `overlap` or a function, as in `evaluate`. Graded measures (nDCG, DCG,
    ERR, ...) use the scores of gold documents as grades, if they have scores; for all other measures every gold
    document is relevant.

    >>> evaluator = DocumentMeasureEvaluator("P@2")
    >>> evaluator.run(ground_truth_documents=[["Paris"]], retrieved_documents=[["Rome", "Paris", "Oslo"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    >>> chunks = DocumentMeasureEvaluator("P@2", match="chunk")
    >>> chunks.run(ground_truth_documents=[["Paris, Rome and Oslo"]], retrieved_documents=[["Rome", "Bern"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    """

    modifies_inputs = False

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        document_comparison_field: str = "content",
        match: Match | None = None,
    ) -> None:
        self.document_comparison_field = check_field(document_comparison_field)
        chosen = measure.check() if isinstance(measure, Measure) else parse(measure)
        if chosen.definition.takes != "judged":
            answers = chosen.definition.takes == "answers"
            hint = "Use AnswerMeasureEvaluator." if answers else "Call karat.evaluate instead."
            what = "the documents of all queries" if chosen.definition.takes == "pool" else chosen.definition.takes
            raise KaratError(f"{chosen} measures {what}, not documents", hint=hint)
        self.measure = str(chosen)
        if match is not None and document_comparison_field != "content":
            field = shown(document_comparison_field)
            both: Message = [Parameter("match", match), " and ", Parameter("document_comparison_field", field)]
            hint = "Pass the field to the matcher, as in chunk(field=meta.text)."
            raise KaratError([*both, " cannot be combined"], hint=hint)
        chosen_match = None if match is None else matcher_of(match)
        self.match = match if isinstance(chosen_match, FunctionMatcher | None) else str(chosen_match)

    @property
    def _matcher(self) -> Matcher:
        return Same(self.document_comparison_field) if self.match is None else matcher_of(self.match)

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_documents: DocumentLists, retrieved_documents: DocumentLists) -> dict[str, Any]:
        """The value of the measure for each question, and over all questions.

        Both inputs have one list of documents per question; retrieved documents are listed from best to worst.
        """
        return self._results(ground_truth_documents, retrieved_documents, self.measure)[0]

    def _results(self, truth: DocumentLists, run: DocumentLists, *measures: str) -> list[dict[str, Any]]:
        """The result of each measure. The lists are matched once, within a run of a pipeline for all evaluators."""
        chosen = [parse(measure) for measure in measures]
        matched = cached(_match_and_warn, truth, run, match=self._matcher)
        judged = matched.graded if any(measure.definition.graded for measure in chosen) else matched.binary
        scores = Scores(judged.queries, {str(measure): measure.compute(judged) for measure in chosen})
        return [
            {"score": scores[measure], "individual_scores": scores.column(str(measure)).tolist()} for measure in chosen
        ]

    def to_dict(self) -> dict[str, Any]:
        """The evaluator as `{"type", "init_parameters"}`, which `from_dict` reads; a function cannot be saved."""
        data = super().to_dict()
        if isinstance(self._matcher, FunctionMatcher):
            raise KaratError(
                f"the function {self._matcher} cannot be saved", hint="Use the name of a matcher, such as chunk."
            )
        if self.match is None:
            # Without `match`, the parameters are those of Haystack's evaluators.
            del data["init_parameters"]["match"]
        return data


def match_lists(truth: DocumentLists, run: DocumentLists, match: Matcher) -> JudgedLists:
    """The lists after matching, without warnings; lists of different lengths, or no lists, are an error."""
    check_document_lists(dict(zip(_NAMES, (truth, run), strict=True)))
    return match_documents(truth, run, match, _NAMES)


def _match_and_warn(truth: DocumentLists, run: DocumentLists, match: Matcher) -> JudgedLists:
    matched = match_lists(truth, run, match)
    if text := warnings(matched, match):
        _log.warning("karat: %s", safe_line(text))
    return matched
