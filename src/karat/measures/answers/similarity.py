"""Semantic answer similarity: how close the predicted and the gold answer are in meaning, according to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from karat.data.answers import Answers
from karat.data.judged import Floats
from karat.errors import KaratError, shown
from karat.output.progress import progress_bar
from karat.registry import Help, register

if TYPE_CHECKING:
    from karat.measures.answers.models import Model

DEFAULT_MODEL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
STATIC = "wordllama"
BATCH = 32
_BATCHES = 16  # between two updates of the progress bar

ModelName = Annotated[str, Help("a sentence-transformers model, by its name or folder, or wordllama")]


@register(
    formula="SAS = max(0, cosine of the embeddings), or the score of a cross-encoder",
    reference="Risch et al. (2021), Semantic Answer Similarity for Evaluating Question Answering Models",
    takes="answers",
    aliases=("sas", "semantic_answer_similarity"),
)
def SAS(answers: Answers, *, model: ModelName = DEFAULT_MODEL) -> Floats:
    """Semantic answer similarity: how close the predicted answer is to the gold one in meaning, according to a model.

    A model knows that a car is an automobile, but often not that "not safe" is the opposite of "safe". The default
    model is a bi-encoder of 1 GB and needs the extra sas; model=wordllama needs the extra static, but neither a
    download nor a GPU.

    >>> truth, predictions = {"q": "the car is new"}, {"q": "a new automobile"}
    >>> round(evaluate_answers(truth, predictions, "SAS(model=wordllama)")["SAS(model=wordllama)"], 2)
    0.71
    """
    from karat.measures.answers.models import load_model

    return similarity(answers, load_model(model))


def similarity(answers: Answers, model: Model, batch_size: int = BATCH) -> Floats:
    """The similarity of each predicted answer to its most similar gold answer, from 0 to 1.

    Two blank answers have similarity 1; a blank answer and any other have similarity 0. The model is not called.
    """
    values: list[float] = []
    pairs = [(_encodable(gold), _encodable(predicted)) for gold, predicted in zip(*answers.pairs, strict=True)]
    block = batch_size * _BATCHES
    with progress_bar("answers") as progress:
        for start in range(0, len(pairs), block):
            values += _similarities(pairs[start : start + block], model, batch_size)
            if progress:
                progress(min(start + block, len(pairs)), len(pairs))
    return answers.best(values)


def _similarities(pairs: list[tuple[str, str]], model: Model, batch_size: int) -> list[float]:
    values = {pair: float(not pair[0] and not pair[1]) for pair in dict.fromkeys(pairs)}
    not_blank = [pair for pair in values if pair[0] and pair[1]]
    if not_blank:
        scores = model(not_blank, batch_size)
        if np.isnan(scores).any():
            gold, predicted = not_blank[int(np.argmax(np.isnan(scores)))]
            raise KaratError(f"the model returned NaN for {shown(predicted)} and {shown(gold)}")
        values.update(zip(not_blank, np.clip(scores, 0.0, 1.0).tolist(), strict=True))
    return [values[pair] for pair in pairs]


def _encodable(text: str) -> str:
    """A text that any tokenizer accepts: stripped, and with question marks for lone surrogates."""
    return text.strip().encode(errors="replace").decode()
