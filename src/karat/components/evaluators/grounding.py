"""Evaluators that ask a language model for labels of answers and contexts; their scores are those of a measure."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from karat.components.component import component
from karat.components.evaluators.llm_evaluator import LLMEvaluator
from karat.components.evaluators.model_inputs import ChatGenerator
from karat.components.types import check_type
from karat.errors import shown
from karat.grounding.judges.replies import UnreadableReplyError, list_in
from karat.grounding.judges.requests import RequestOutcome
from karat.measures import parse
from karat.scores import Scores

SCORED: dict[str, Any] = {
    "score": float, "individual_scores": list[float], "results": list[dict[str, Any]],
    "meta": list[dict[str, Any]] | None,
}  # fmt: skip
"""the outputs of evaluators with scores, and their types"""


def texts_in(reply: Mapping[str, Any], field: str) -> list[str]:
    """The texts in a field of a reply; anything else in it is an error."""
    texts = list_in(reply, field)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise UnreadableReplyError(f"The field {field} has {shown(text)} in it: write a list of texts.")
    return texts


class GroundingEvaluator(LLMEvaluator):
    """Replies become labels, and a measure computes the scores from them."""

    modifies_inputs = False
    measure: ClassVar[str]
    default_instructions: ClassVar[str]
    input_types: ClassVar[tuple[tuple[str, Any], ...]]
    output_names: ClassVar[tuple[str, ...]]
    default_examples: ClassVar[list[dict[str, Any]]]

    def __init__(
        self,
        examples: list[dict[str, Any]] | None = None,
        progress_bar: bool = True,
        raise_on_failure: bool = True,
        chat_generator: ChatGenerator | None = None,
        *,
        model: str | ChatGenerator | None = None,
        base_url: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout: float = 60.0,
        verdicts: str | os.PathLike[str] | None = None,
        replay: bool = False,
        system: str | None = None,
    ) -> None:
        super().__init__(
            self.default_instructions,
            list(self.input_types),
            list(self.output_names),
            examples or self.default_examples,
            progress_bar,
            raise_on_failure=raise_on_failure,
            chat_generator=chat_generator,
            model=model,
            base_url=base_url,
            api_key_env=api_key_env,
            concurrency=concurrency,
            timeout=timeout,
            verdicts=verdicts,
            replay=replay,
            system=system,
        )

    @component.output_types(**SCORED)
    def run(self, **inputs: Any) -> dict[str, Any]:
        """The score of each question, and the mean.

        The inputs are lists with one element per question. `results` has one dictionary per question, with what the
        model replied, the `score`, and the `status`: `evaluated`, or `error` if the question could not be judged. Its
        score is None then, and is left out of the mean. `meta` has one element per question: which model was asked, and
        how many tokens it needed.
        """
        return super().run(**inputs)

    @component.output_types(**SCORED)
    async def run_async(self, **inputs: Any) -> dict[str, Any]:
        """The same as `run`, for programs with an event loop, which goes on meanwhile."""
        return await super().run_async(**inputs)

    def _questions(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        for name, kind in self.inputs:
            check_type(inputs.get(name, []), kind, name)
        return super()._questions(inputs)

    def _outputs(self, by_question: Mapping[int, RequestOutcome], model: str) -> dict[str, Any]:
        from karat.grounding.labels.selection import select
        from karat.grounding.verdict_file.reading import read_verdict_records

        outputs = super()._outputs(by_question, model)
        replies: list[dict[str, Any] | None] = outputs["results"]
        records = [record for outcome in by_question.values() for record in outcome.records]
        verdicts = select(read_verdict_records(records)).samples[0]
        queries = tuple(map(str, range(len(replies))))
        by_query = dict(zip(verdicts.queries, parse(self.measure).compute(verdicts).tolist(), strict=True))
        # Where nothing can be judged, the measure is null, but Haystack's evaluators score 0.
        values = [
            math.nan if reply is None else 0.0 if math.isnan(by_query[query]) else by_query[query]
            for query, reply in zip(queries, replies, strict=True)
        ]
        scores = [None if math.isnan(value) else value for value in values]
        results = [
            {**{name: [] for name in self.outputs}, "score": None, "status": "error"}
            if reply is None
            else {**reply, "score": score, "status": "evaluated"}
            for reply, score in zip(replies, scores, strict=True)
        ]
        score = Scores(queries, {"score": np.array(values)}).combined("score")
        return {"score": score, "individual_scores": scores, "results": results, "meta": outputs["meta"]}
