"""Context relevance as an evaluator: whether the contexts of a question contain anything that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from karat.components.component import component
from karat.components.evaluators.grounding import GroundingEvaluator, texts_in
from karat.components.evaluators.model_inputs import TEXTS, Question
from karat.documents.normalization import FOLDS, normalized
from karat.documents.words import tokens
from karat.grounding.judges.prompts import object_schema
from karat.grounding.judges.requests import Record

_NOT_RELEVANT, _ANSWERS = 0, 2  # on the scale of relevance; whether the answer is complete was not asked
# The words and examples are those of Haystack (Apache-2.0), so that the labels can be compared with its own.
_INSTRUCTIONS = (
    "Please extract only sentences from the provided context which are absolutely relevant and required to answer the"
    " following question. If no relevant sentences are found, or if you believe the question cannot be answered from"
    " the given context, return an empty list, example: []"
)
_EXAMPLES: list[dict[str, Any]] = [
    {
        "inputs": {
            "questions": "What is the capital of Germany?",
            "contexts": ["Berlin is the capital of Germany. Berlin and was founded in 1244."],
        },
        "outputs": {"relevant_statements": ["Berlin is the capital of Germany."]},
    },
    {
        "inputs": {
            "questions": "What is the capital of France?",
            "contexts": [
                "Berlin is the capital of Germany and was founded in 1244.",
                "Europe is a continent with 44 countries.",
                "Madrid is the capital of Spain.",
            ],
        },
        "outputs": {"relevant_statements": []},
    },
    {
        "inputs": {"questions": "What is the capital of Italy?", "contexts": ["Rome is the capital of Italy."]},
        "outputs": {"relevant_statements": ["Rome is the capital of Italy."]},
    },
]


@component
class ContextRelevanceEvaluator(GroundingEvaluator):
    """Asks a language model which sentences of the contexts are needed to answer a question: `ContextRelevance`.

    `run` takes `questions` and `contexts` (a list of texts for each question). The score of a question is 1 if there
    are any, and 0 if there are none. In labels, a context with such a sentence has the grade 2 (it contains something
    that answers the question), and others 0. The parameters are those of `LLMEvaluator`.

    >>> def model(messages):
    ...     return '{"relevant_statements": ["Gold is soft."]}'
    >>> evaluator = ContextRelevanceEvaluator(chat_generator=model)
    >>> evaluator.run(questions=["Is gold soft?"], contexts=[["Gold is soft. It is yellow.", "Iron rusts."]])["results"]
    [{'relevant_statements': ['Gold is soft.'], 'score': 1.0, 'status': 'evaluated'}]
    """

    measure = "ContextRelevance"
    default_instructions = _INSTRUCTIONS
    input_types = (("questions", list[str]), ("contexts", list[list[str]]))
    output_names = ("relevant_statements",)
    default_examples = _EXAMPLES

    @property
    def _schema(self) -> dict[str, Any]:
        return object_schema(relevant_statements=TEXTS)

    def _checked(self, reply: Any) -> dict[str, Any]:
        return {"relevant_statements": texts_in(super()._checked(reply), "relevant_statements")}

    def _records(self, question: Question, reply: Mapping[str, Any]) -> Iterator[Record]:
        reasons: list[list[str]] = [[] for _ in question.passages]
        for statement in reply["relevant_statements"]:
            for at in _containing(statement, question.inputs["contexts"]):
                reasons[at].append(statement)
        yield from self._context_records(question)
        for passage, why in zip(question.passages, reasons, strict=True):
            grade = _ANSWERS if why else _NOT_RELEVANT
            yield question.verdict("relevance", passage, label=grade, why=" ".join(why) or None)

    def _failed(self, question: Question) -> Iterator[Record]:
        yield from self._context_records(question)
        yield from (question.verdict("relevance", passage, state="failed") for passage in question.passages)

    def _context_records(self, question: Question) -> Iterator[Record]:
        """The contexts of a question; without any, there is nothing to judge."""
        yield from (passage.record() for passage in question.passages)
        yield from question.removals(question.passages, "passage")
        if not question.passages:
            yield question.verdict("relevance", question.context, state="nothing_to_judge")


def _containing(statement: str, contexts: Sequence[str]) -> list[int]:
    """The contexts that contain a statement. If it is in none of them word for word, the one with most of its words.

    >>> _containing("Gold is soft", ["Iron rusts.", "As we know, gold is  soft."]), _containing("Old gold", ["Gold."])
    ([1], [0])
    """
    text, words = normalized(statement, FOLDS), {*tokens(statement.casefold())}
    places = [at for at, context in enumerate(contexts) if text in normalized(context, FOLDS)]
    if places or not contexts:
        return places
    common = [len(words.intersection(tokens(context.casefold()))) for context in contexts]
    return [common.index(max(common))]
