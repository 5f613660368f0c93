"""Faithfulness as an evaluator: whether the statements of an answer can be inferred from its contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karat.components.component import component
from karat.components.evaluators.grounding import GroundingEvaluator, texts_in
from karat.components.evaluators.model_inputs import TEXTS, Question
from karat.errors import plural, shown
from karat.grounding.judges.prompts import object_schema
from karat.grounding.judges.replies import UnreadableReplyError, label_in, list_in
from karat.grounding.judges.requests import Record
from karat.grounding.verdict_file.records import Item

# The words and examples are those of Haystack (Apache-2.0), so that the labels can be compared with its own.
_INSTRUCTIONS = (
    "Your task is to judge the faithfulness or groundedness of statements based on context information. First, please"
    " extract statements from a provided predicted answer to a question. Second, calculate a faithfulness score for"
    " each statement made in the predicted answer. The score is 1 if the statement can be inferred from the provided"
    " context or 0 if it cannot be inferred."
)
_EXAMPLES: list[dict[str, Any]] = [
    {
        "inputs": {
            "questions": "What is the capital of Germany and when was it founded?",
            "contexts": ["Berlin is the capital of Germany and was founded in 1244."],
            "predicted_answers": "The capital of Germany, Berlin, was founded in the 13th century.",
        },
        "outputs": {
            "statements": ["Berlin is the capital of Germany.", "Berlin was founded in 1244."],
            "statement_scores": [1, 1],
        },
    },
    {
        "inputs": {
            "questions": "What is the capital of France?",
            "contexts": ["Berlin is the capital of Germany."],
            "predicted_answers": "Paris",
        },
        "outputs": {"statements": ["Paris is the capital of France."], "statement_scores": [0]},
    },
    {
        "inputs": {
            "questions": "What is the capital of Italy?",
            "contexts": ["Rome is the capital of Italy."],
            "predicted_answers": "Rome is the capital of Italy with more than 4 million inhabitants.",
        },
        "outputs": {
            "statements": ["Rome is the capital of Italy.", "Rome has more than 4 million inhabitants."],
            "statement_scores": [1, 0],
        },
    },
]


@component
class FaithfulnessEvaluator(GroundingEvaluator):
    """Asks a language model which statements of an answer can be inferred from its contexts: `Faithfulness`.

    `run` takes `questions`, `contexts` (a list of texts for each question) and `predicted_answers`. The score of an
    answer is the share of its statements that can be inferred. An answer without statements scores 0, as in Haystack;
    the measure is null for it. The parameters are those of `LLMEvaluator`.

    >>> def model(messages):
    ...     return '{"statements": ["Gold is soft.", "Gold is blue."], "statement_scores": [1, 0]}'
    >>> evaluator = FaithfulnessEvaluator(chat_generator=model)
    >>> result = evaluator.run(
    ...     questions=["What is gold like?"],
    ...     contexts=[["Pure gold is so soft that a fingernail marks it."]],
    ...     predicted_answers=["It is soft and blue."],
    ... )
    >>> result["results"][0]["statements"], result["individual_scores"]
    (['Gold is soft.', 'Gold is blue.'], [0.5])
    """

    measure = "Faithfulness"
    default_instructions = _INSTRUCTIONS
    input_types = (("questions", list[str]), ("contexts", list[list[str]]), ("predicted_answers", list[str]))
    output_names = ("statements", "statement_scores")
    default_examples = _EXAMPLES

    @property
    def _schema(self) -> dict[str, Any]:
        scores = {"type": "array", "items": {"type": "integer", "enum": [0, 1]}}
        return object_schema(statements=TEXTS, statement_scores=scores)

    def _checked(self, reply: Any) -> dict[str, Any]:
        fields = super()._checked(reply)
        statements, scores = texts_in(fields, "statements"), list_in(fields, "statement_scores")
        if len(statements) != len(scores):
            what = f"There are {plural(len(statements), 'statement')}, but {plural(len(scores), 'score')}."
            raise UnreadableReplyError(f"{what} Write one score for each statement.")
        labels = [label_in(score, ("0", "1")) for score in scores]
        if None in labels:
            raise UnreadableReplyError(f"The score {shown(scores[labels.index(None)])} is neither 0 nor 1.")
        return {"statements": statements, "statement_scores": [int(label or 0) for label in labels]}

    def _records(self, question: Question, reply: Mapping[str, Any]) -> Iterator[Record]:
        texts, scores = reply["statements"], reply["statement_scores"]
        answer, *passages = _answer_and_passages(question)
        of_answer = {"of": "answer", "of_digest": answer.current_digest}
        claims = [question.item(f"claim{at}", "claim", text, **of_answer) for at, text in enumerate(texts, 1)]
        items = [answer, *passages, *claims]
        yield from (item.record() for item in items)
        yield from question.removals(items, "claim", "passage")
        for claim, score in zip(claims, scores, strict=True):
            yield question.verdict("support", claim, label="full" if score else "none")
        if not claims:
            yield question.verdict("support", answer, state="nothing_to_judge")

    def _failed(self, question: Question) -> Iterator[Record]:
        items = _answer_and_passages(question)
        yield from (item.record() for item in items)
        if not question.are_known(items):
            yield from question.removals(items, "claim", "passage")
        yield question.verdict("support", items[0], state="failed")


def _answer_and_passages(question: Question) -> list[Item]:
    """The answer and its contexts."""
    return [question.item("answer", "answer", question.inputs["predicted_answers"]), *question.passages]
