"""Language models: by name on a server, as a Haystack chat generator, or as a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from karat.errors import KaratError, Parameter, shown
from karat.grounding.judges.requests import (
    CallError,
    LanguageModel,
    Message,
    ModelReply,
    ModelSettings,
    with_schema,
)
from karat.grounding.judges.secrets import Secrets
from karat.grounding.judges.server_responses import exception_failure, token_counts

MODEL_HINT = (
    "Pass the name of a model, a Haystack chat generator, or a function that takes messages and returns a text."
)


def language_model(
    model: object,
    *,
    base_url: str | None = None,
    api_key_env: str | None = "OPENAI_API_KEY",
    timeout: float = 60.0,
    needs_limit: bool = False,
) -> LanguageModel:
    """A language model.

    - the name of a model on a server that speaks the OpenAI chat protocol: OpenAI's own, or the one at `base_url`,
      with the key in the environment variable `api_key_env`, or without a key if it is None
    - a Haystack chat generator
    - a function that is called with a list of messages (`{"role": "user", "content": "..."}`) and returns a text

    Only a server is told the settings (temperature, seed, limit of tokens); a generator and a function have their own.
    With `needs_limit`, a server that refuses a limit of tokens is not asked without one.
    """
    name = model_name(model)
    if isinstance(model, str):
        from karat.grounding.judges.openai_model import OpenAIModel

        return OpenAIModel(name, base_url=base_url, api_key_env=api_key_env, timeout=timeout, needs_limit=needs_limit)
    if hasattr(model, "run"):
        return _FunctionModel(name, _generator_function(model))
    return _FunctionModel(name, cast("Callable[[list[Message]], object]", model))


def model_name(model: object) -> str:
    """The name that the calls of a language model are known by; the model need not be reachable."""
    if isinstance(model, str) and model.strip():
        return model.strip()
    if hasattr(model, "run") and not isinstance(model, type):
        return _generator_name(model)
    if callable(model) and not isinstance(model, type):
        return _function_name(model)
    raise KaratError([Parameter("model", model), " is not a language model"], hint=MODEL_HINT)


@dataclass(frozen=True)
class RecordedModel:
    """A model whose replies are all known, so that it is never asked."""

    name: str
    notes: Sequence[str] = ()

    def ask(self, *_messages: Any, **_settings: Any) -> ModelReply:
        """It is never asked, because a replay sends nothing."""
        raise CallError("a replay does not ask a model", again=False)

    def close(self) -> None:
        """It has no connections."""


class _FunctionModel:
    """A model that is a function of messages, which returns a text or a ModelReply."""

    notes: Sequence[str] = ()

    def __init__(self, name: str, function: Callable[[list[Message]], object]) -> None:
        self.name = name
        self._function = function
        self._secrets = Secrets()

    def close(self) -> None:
        """A function stays as it is."""

    def ask(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        settings: ModelSettings,  # noqa: ARG002  # the function has its own
        sample: int,  # noqa: ARG002
    ) -> ModelReply:
        """Call the function."""
        failure: Exception
        try:
            reply = self._function(with_schema(messages, schema))
        except CallError:
            raise
        except Exception as error:
            failure = exception_failure(error)
        else:
            reply = ModelReply(reply) if isinstance(reply, str) else reply
            if isinstance(reply, ModelReply):
                return reply._replace(text=self._secrets.masked(reply.text))
            what = f"the model {self.name} returned {shown(reply)}"
            failure = CallError(what, again=False, fatal=True, hint="It has to return a text.")
        raise failure  # here, where the exception above is not part of it: its message may contain a key


def _generator_function(generator: Any) -> Callable[[list[Message]], ModelReply]:
    """A Haystack chat generator as a function of messages."""
    if hasattr(generator, "warm_up"):
        generator.warm_up()

    def call(messages: list[Message]) -> ModelReply:
        from haystack.dataclasses import ChatMessage

        make = {
            "system": ChatMessage.from_system,
            "user": ChatMessage.from_user,
            "assistant": ChatMessage.from_assistant,
        }
        made = [make[message["role"]](message["content"]) for message in messages]
        replies = generator.run(messages=made).get("replies")
        if not replies:
            raise CallError("the chat generator returned no replies", again=True, may_cost=True)
        meta = replies[0].meta
        is_refusal = meta.get("finish_reason") == "content_filter"
        return ModelReply(replies[0].text or "", *token_counts(meta.get("usage")), is_refusal=is_refusal)

    return call


def _function_name(function: object) -> str:
    """A name that is the same each time, because it is part of what a call is known by."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else "function" if name else type(function).__name__


def _generator_name(generator: object) -> str:
    for attribute in ("model", "model_name", "azure_deployment"):
        name = getattr(generator, attribute, None)
        if isinstance(name, str) and name:
            return name
    return type(generator).__name__
