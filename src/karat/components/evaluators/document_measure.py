"""Any measure of the registry as an evaluator, and what all evaluators of documents share."""

from __future__ import annotations

from typing import Any

from karat.components.component import component
from karat.components.evaluators.documents import judged
from karat.components.serialization import SerializableComponent
from karat.documents.fields import check_field
from karat.errors import KaratError, shown
from karat.matching.lists import DocumentLists
from karat.matching.matchers import FunctionMatcher, Match, Matcher, Same, matcher_of
from karat.measures import Measure, parse
from karat.scores import Scores


@component
class DocumentMeasureEvaluator(SerializableComponent):
    """Any measure, with any cut-off, on lists of documents: `DocumentMeasureEvaluator(measure="nDCG@10")`.

    Documents are compared by their content, or by `document_comparison_field`: `id`, or `meta.name`. Where something
    else counts as a hit, `match` says what: `prefix`, `chunk`, `fuzzy`, `overlap` or a function, as in `evaluate`.
    Graded measures (nDCG, DCG, ERR, ...) take the gold documents' scores for grades, where they have any; for the
    others every gold document is simply relevant.

    >>> evaluator = DocumentMeasureEvaluator("P@2")
    >>> evaluator.run(ground_truth_documents=[["Paris"]], retrieved_documents=[["Rome", "Paris", "Oslo"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    >>> chunks = DocumentMeasureEvaluator("P@2", match="chunk")
    >>> chunks.run(ground_truth_documents=[["Paris, Rome and Oslo"]], retrieved_documents=[["Rome", "Bern"]])
    {'score': 0.5, 'individual_scores': [0.5]}
    """

    only_reads = True

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        document_comparison_field: str = "content",
        match: Match | None = None,
    ) -> None:
        self.document_comparison_field = check_field(document_comparison_field)
        chosen = measure.check() if isinstance(measure, Measure) else parse(str(measure))
        if chosen.definition.takes != "judged":
            answers = chosen.definition.takes == "answers"
            hint = "Take AnswerMeasureEvaluator." if answers else "Call evaluate() with them instead."
            raise KaratError(f"{chosen} takes {chosen.definition.takes}", hint=hint)
        self.measure = str(chosen)
        if match is not None and document_comparison_field != "content":
            field = shown(document_comparison_field)
            raise KaratError(f"match={shown(match)} and document_comparison_field={field} both say what is compared",
                             hint="Give one of them; a matcher takes field=, as chunk(field=meta.text).")  # fmt: skip
        chosen_match = None if match is None else matcher_of(match)
        self.match = match if isinstance(chosen_match, FunctionMatcher | None) else str(chosen_match)

    @property
    def _matcher(self) -> Matcher:
        return Same(self.document_comparison_field) if self.match is None else matcher_of(self.match)

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_documents: DocumentLists, retrieved_documents: DocumentLists) -> dict[str, Any]:
        """The measure's value for each question, and over all of them.

        Both inputs have one list of documents per question: what should be found, and what was, best first.
        """
        measure = parse(self.measure)
        of_lists = judged(ground_truth_documents, retrieved_documents, self._matcher, measure.definition.graded)
        values = measure.compute(of_lists)
        score = Scores(of_lists.queries, {self.measure: values})[self.measure]
        return {"score": score, "individual_scores": values.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """`{"type", "init_parameters"}`, which `from_dict` reads; a function cannot be saved."""
        data = super().to_dict()
        if isinstance(self._matcher, FunctionMatcher):
            raise KaratError(f"the function {self._matcher} cannot be saved", hint="Match by a name, such as chunk.")
        if self.match is None:
            # What is not said is as Haystack would have it.
            del data["init_parameters"]["match"]
        return data
