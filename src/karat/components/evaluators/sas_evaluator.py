"""Semantic answer similarity as an evaluator: how similar in meaning answers are to the ground truth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from karat.components.component import component
from karat.components.evaluators.answer_measure import GoldAnswers, PredictedAnswers, answers_of, result
from karat.components.serialization import SerializableComponent
from karat.errors import KaratError, Parameter, shown
from karat.errors.arguments import as_count
from karat.measures.answers.models import Model, load_model
from karat.measures.answers.similarity import BATCH, DEFAULT_MODEL, similarity

_VARIABLES = ("HF_API_TOKEN", "HF_TOKEN")
_ENVIRONMENT = {"type": "env_var", "env_vars": list(_VARIABLES), "strict": False}


@component
class SASEvaluator(SerializableComponent):
    """Semantic answer similarity, the cosine of a bi-encoder or the score of a cross-encoder: the measure `SAS`.

    `model` is the name of a sentence-transformers model on the Hugging Face hub, or its folder (extra `sas`); or
    `wordllama` for static embeddings, which need neither torch nor a download (extra `static`). `device` is
    `cuda`, `mps`, `cpu`, ...; by default the best available one. `token` is for private models; by default it is read
    from HF_API_TOKEN or HF_TOKEN. Code that comes with a model is never run.

    Scores are between 0 and 1; a negative cosine is 0. A score does not depend on the other answers of a call.

    >>> evaluator = SASEvaluator(model="wordllama")
    >>> evaluator.run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", ""])
    {'score': 0.5, 'individual_scores': [1.0, 0.0]}
    """

    modifies_inputs = False
    env_vars = _VARIABLES

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        batch_size: int = BATCH,
        device: Any = None,
        token: Any = None,
    ) -> None:
        if isinstance(model, os.PathLike):
            model = os.fspath(model)
        if not isinstance(model, str) or not model.strip():
            raise KaratError(
                [Parameter("model", model), " is not the name of a model"], hint="Pass its name or its folder."
            )
        size = as_count(batch_size, 1)
        if size is None:
            raise KaratError(
                [Parameter("batch_size", batch_size), " is not a positive whole number"], hint="Use 1 or more."
            )
        self.model = model
        self.batch_size = size
        self.device = _device_name(device)
        self.token = _token_description(token)
        if self.token is not None and not isinstance(self.token, str):
            _variables(self.token)

    def warm_up(self) -> None:
        """Load the model. Otherwise the first `run` loads it."""
        self._loaded_model()

    def _loaded_model(self) -> Model:
        return load_model(self.model, self.device, _token_value(self.token))

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_answers: GoldAnswers, predicted_answers: PredictedAnswers) -> dict[str, Any]:
        """The similarity of each answer to its ground truth, and the mean."""
        answers = answers_of(ground_truth_answers, predicted_answers, allow_empty=True)
        if not answers.queries:
            return {"score": 0.0, "individual_scores": []}
        return result(answers, similarity(answers, self._loaded_model(), self.batch_size))

    def to_dict(self) -> dict[str, Any]:
        """The evaluator as `{"type", "init_parameters"}`, which `from_dict` reads; a token cannot be saved."""
        if self.token is not None and not isinstance(self.token, Mapping):
            hint = "Omit it, and set HF_TOKEN in the environment instead."
            raise KaratError("a token cannot be saved", hint=hint)
        return super().to_dict()

    def __repr__(self) -> str:
        return f"SASEvaluator(model={shown(self.model, 1000)}, batch_size={self.batch_size}, device={self.device!r})"


def _device_name(device: Any) -> str | None:
    """The name of a device in torch, from a name, an object of torch or Haystack, or a dictionary of Haystack."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, Mapping) and isinstance(name := device.get("device"), str):
        return name
    if callable(to_name := getattr(device, "to_torch_str", None)):
        try:
            return str(to_name())
        except ValueError:  # several devices
            pass
    if type(device).__module__.partition(".")[0] == "torch":
        return str(device)
    raise KaratError(
        [Parameter("device", device), " is not a device"], hint='Pass its name, such as "cpu" or "cuda:0".'
    )


def _token_description(token: Any) -> Any:
    """A Secret of Haystack as the dictionary it is saved as, or as its value if it cannot be saved."""
    if not callable(resolve := getattr(token, "resolve_value", None)):
        return token
    try:
        return token.to_dict()
    except ValueError:
        return resolve()


def _token_value(token: Any) -> str | None:
    """A token, read from the environment if it is not given as a text."""
    if isinstance(token, str):
        return token or None
    description = _ENVIRONMENT if token is None else token
    names = _variables(description)
    value = next((os.environ[name] for name in names if os.environ.get(name)), None)
    if value is None and description.get("strict"):
        raise KaratError("no token in the environment", hint=f"Set {' or '.join(names)}.")
    return value


def _variables(token: Any) -> list[str]:
    """The environment variables in the description of a token."""
    names = token.get("env_vars") if isinstance(token, Mapping) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or "token" in token:
        # The message does not show the value, because it may be a secret.
        raise KaratError("this is not a token", hint="Pass it as a string, or omit it and set HF_TOKEN.")
    return names
