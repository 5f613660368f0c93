"""Semantic answer similarity: how near the answer and the gold one are in meaning, as a model sees it."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from karat.answers.models import BATCH, DEFAULT_MODEL, Model, loaded
from karat.answers.pairs import Answers
from karat.errors import KaratError, shown
from karat.judged import Floats
from karat.output.progress import progress_bar
from karat.registry import Help, register

_AT_ONCE = 16  # batches, between two looks at the clock

ModelName = Annotated[str, Help("a model of sentence-transformers, by its name or folder; or wordllama")]


@register(
    formula="SAS = max(0, cosine of the embeddings), or the score of a cross-encoder",
    reference="Risch et al. (2021), Semantic Answer Similarity for Evaluating Question Answering Models",
    takes="answers",
    aliases=("sas", "semantic_answer_similarity"),
)
def SAS(answers: Answers, *, model: ModelName = DEFAULT_MODEL) -> Floats:
    """Semantic answer similarity: how near the answer is to the gold one in meaning, as a model sees it.

    It sees that a car is an automobile; it does not see that "not safe" is the opposite of "safe". The default model is
    a bi-encoder of 1 GB and needs the extra karat[sas]; model=wordllama needs karat[static], no download and no GPU.

    >>> truth, predictions = {"q": "the car is new"}, {"q": "a new automobile"}
    >>> round(evaluate_answers(truth, predictions, "SAS(model=wordllama)")["SAS(model=wordllama)"], 2)
    0.71
    """
    return similarity(answers, loaded(model))


def similarity(answers: Answers, model: Model, batch_size: int = BATCH) -> Floats:
    """How near the predicted answer of each question is to its nearest gold one, from 0 to 1.

    Two blank answers agree, a blank one is far from any other; the model is not asked about them.
    """
    values: list[float] = []
    pairs = [(_encodable(gold), _encodable(predicted)) for gold, predicted in zip(*answers.pairs, strict=True)]
    block = batch_size * _AT_ONCE
    with progress_bar("answers") as progress:
        for start in range(0, len(pairs), block):
            values += _compared(pairs[start : start + block], model, batch_size)
            if progress:
                progress(min(start + block, len(pairs)), len(pairs))
    return answers.best(values)


def _compared(pairs: list[tuple[str, str]], model: Model, batch_size: int) -> list[float]:
    found = {pair: float(not pair[0] and not pair[1]) for pair in dict.fromkeys(pairs)}
    said = [pair for pair in found if pair[0] and pair[1]]
    if said:
        scores = model(said, batch_size)
        if np.isnan(scores).any():
            gold, predicted = said[int(np.argmax(np.isnan(scores)))]
            raise KaratError(f"the model gives no number for {shown(predicted)} and {shown(gold)}")
        found.update(zip(said, np.clip(scores, 0.0, 1.0).tolist(), strict=True))
    return [found[pair] for pair in pairs]


def _encodable(text: str) -> str:
    """A text as a tokenizer takes it: without blanks around it, and half characters as question marks."""
    return text.strip().encode(errors="replace").decode()
