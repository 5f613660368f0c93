"""Semantic answer similarity as an evaluator: how near the answer is to the right one in meaning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from karat.answers.models import BATCH, DEFAULT_MODEL, Model, loaded
from karat.answers.similarity import similarity
from karat.components.component import component
from karat.components.evaluators.answers import GoldAnswers, PredictedAnswers, answers_of, result
from karat.components.serialization import SerializableComponent
from karat.errors import KaratError, shown

_GIVE_IT = "Give it as text, or leave it out and set HF_TOKEN."
_ENVIRONMENT = {"type": "env_var", "env_vars": ["HF_API_TOKEN", "HF_TOKEN"], "strict": False}


@component
class SASEvaluator(SerializableComponent):
    """Semantic answer similarity: the cosine of a bi-encoder, or the score of a cross-encoder. `SAS` here.

    `model` is a model of sentence-transformers (extra `karat[sas]`), by its name on the Hugging Face hub or its folder;
    or `wordllama` (extra `karat[static]`): static embeddings that come with that package, without torch or download.
    `device` is `cuda`, `mps`, `cpu`, ...; without one, the best there is. `token` is for private models; without one,
    HF_API_TOKEN and HF_TOKEN are looked up. Code that comes with a model is never run.

    Scores are from 0 to 1, a negative cosine is 0, and none depends on the other answers of a call.

    >>> evaluator = SASEvaluator(model="wordllama")
    >>> evaluator.run(ground_truth_answers=["Berlin", "Paris"], predicted_answers=["Berlin", ""])
    {'score': 0.5, 'individual_scores': [1.0, 0.0]}
    """

    only_reads = True

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
            raise KaratError(f"model={shown(model)} is not the name of a model", hint="Give its name, or its folder.")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise KaratError(f"batch_size={shown(batch_size)} is no number of texts", hint="Give 1 or more.")
        self.model = model
        self.batch_size = batch_size
        self.device = _device_name(device)
        self.token = _described(token)
        if self.token is not None and not isinstance(self.token, str):
            _variables(self.token)

    def warm_up(self) -> None:
        """Load the model: `run` does it as well, if nobody has."""
        self._loaded()

    def _loaded(self) -> Model:
        return loaded(self.model, self.device, _secret(self.token))

    @component.output_types(score=float, individual_scores=list[float])
    def run(self, ground_truth_answers: GoldAnswers, predicted_answers: PredictedAnswers) -> dict[str, Any]:
        """The similarity of each answer to its ground truth, and their mean."""
        answers = answers_of(ground_truth_answers, predicted_answers, some=False)
        if not answers.queries:
            return {"score": 0.0, "individual_scores": []}
        return result(answers, similarity(answers, self._loaded(), self.batch_size))

    def to_dict(self) -> dict[str, Any]:
        """`{"type", "init_parameters"}`, which `from_dict` reads; a token is a secret, and is not saved."""
        if self.token is not None and not isinstance(self.token, Mapping):
            hint = "Leave it out and set HF_TOKEN where it runs."
            raise KaratError("a token is not written to a file", hint=hint)
        return super().to_dict()

    def __repr__(self) -> str:
        return f"SASEvaluator(model={self.model!r}, batch_size={self.batch_size!r}, device={self.device!r})"


def _device_name(device: Any) -> str | None:
    """A device as torch calls it, from its name, from torch's or Haystack's object, or from what Haystack saved."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, Mapping) and isinstance(name := device.get("device"), str):
        return name
    if callable(to_name := getattr(device, "to_torch_str", None)):
        try:
            return str(to_name())
        except ValueError:  # several at once
            pass
    if type(device).__module__.partition(".")[0] == "torch":
        return str(device)
    raise KaratError(f"device={shown(device)} is no device", hint='Give its name, such as "cpu" or "cuda:0".')


def _described(token: Any) -> Any:
    """Haystack's Secret as what it saves, if it is one of the environment, or as the token itself."""
    if not callable(resolve := getattr(token, "resolve_value", None)):
        return token
    try:
        return token.to_dict()
    except ValueError:
        return resolve()


def _secret(token: Any) -> str | None:
    """A token: as it is, or from the environment, where it is said to be there, or nothing is said."""
    if isinstance(token, str):
        return token or None
    described = _ENVIRONMENT if token is None else token
    names = _variables(described)
    found = next((os.environ[name] for name in names if os.environ.get(name)), None)
    if found is None and described.get("strict"):
        raise KaratError(f"there is no token in the environment: {' or '.join(names)}", hint="Set it.")
    return found


def _variables(token: Any) -> list[str]:
    """The variables of the environment that a token is said to be in. A token itself is never saved as a mapping."""
    names = token.get("env_vars") if isinstance(token, Mapping) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or "token" in token:
        raise KaratError("this is no token", hint=_GIVE_IT)
    return names
