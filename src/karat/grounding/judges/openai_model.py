"""A model on a server that speaks the OpenAI chat protocol, through the openai package."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from karat.errors import KaratError, Parameter
from karat.errors.installing import pip_install
from karat.grounding.judges.requests import (
    AskAgainError,
    CallError,
    LateReplyError,
    Message,
    ModelReply,
    ModelSettings,
    RequestTooLongError,
    UnreachableError,
    with_schema,
)
from karat.grounding.judges.secrets import REPLACED, is_secret, without_secrets
from karat.grounding.judges.server_responses import failure, read_response, refused_parameters

_CONNECT = 10.0  # seconds for a connection
_LONGEST_REPLY = 10_000_000  # bytes
_REFUSALS = (400, 404, 422)
_FORMAT = re.compile(r"response_format|schema|json_object|structured.outputs?|guided|requested parameters", re.I)
_TOO_MUCH = re.compile(r"context.length|context window|too long|too large|at most|maximum|less than or equal", re.I)
_ENDED = re.compile(r"could not finish|output limit was reached", re.I)  # before the first word of the reply
_NO_KEY = "not-needed"  # what a server without keys is sent


@dataclass(frozen=True)
class _Protocol:
    """Which parts of the protocol the server accepts, as far as it is known."""

    format: Literal["schema", "object", "none"] = "schema"
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"
    options: tuple[str, ...] = ("temperature", "seed")


class OpenAIModel:
    """A model by its name. The key is in the client, and nowhere else."""

    def __init__(self, name: str, *, base_url: str | None, api_key_env: str | None, timeout: float) -> None:
        try:
            import openai
        except ImportError:
            raise KaratError("a model by its name needs the openai package", hint=pip_install("llm")) from None
        if base_url is not None and not re.match(r"https?://[^/]", str(base_url)):
            hint = "It begins with http:// or https://."
            raise KaratError([Parameter("base_url", base_url), " is not an address"], hint=hint)
        self.name = name
        self.notes: list[str] = []
        self._key_name = api_key_env
        self._timeout = timeout
        self._protocol = _Protocol()
        self._lock = threading.Lock()
        self._client = openai.OpenAI(
            api_key=_key(api_key_env, is_needed=not (base_url or os.environ.get("OPENAI_BASE_URL"))),
            base_url=base_url,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT)),
            max_retries=0,  # sending.py repeats them, within the limits
        )
        weakref.finalize(self, self._client.close).atexit = False

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, settings: ModelSettings, sample: int
    ) -> ModelReply:
        """Ask once."""
        protocol = self._protocol
        problem: Exception
        try:
            return self._send(_arguments(protocol, messages, schema, settings, sample))
        except CallError as error:
            problem = error
        except Exception as error:
            if getattr(error, "status_code", None) == 400 and _ENDED.search(str(error)):
                return ModelReply("", is_cut=True)
            problem = self._problem(error, protocol)
        raise problem  # here, where the exception of the client is not part of it: it knows the key

    def _send(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Send a request, and read the response as it comes, so that one that takes too long can be given up on."""
        end = time.monotonic() + self._timeout
        body = bytearray()
        with self._client.chat.completions.with_streaming_response.create(**arguments) as response:
            for part in response.iter_bytes():
                body += part
                if time.monotonic() > end:
                    raise LateReplyError(self._timeout)
                if len(body) > _LONGEST_REPLY:
                    raise CallError(f"the reply has more than {_LONGEST_REPLY:,} bytes", again=False, may_cost=True)
        return read_response(self._without_key(body.decode(errors="replace")), response.headers)

    def _problem(self, error: Exception, protocol: _Protocol) -> Exception:
        """What an exception of the client means, in words that do not contain the key."""
        import openai

        if isinstance(error, openai.APIStatusError):
            body = json.loads(self._without_key(json.dumps(error.body)))
            problem = failure(error.status_code, error.response.headers, body, self._key_name)
            is_refusal = error.status_code in _REFUSALS and not isinstance(problem, RequestTooLongError)
            if is_refusal and self._leaves_out(refused_parameters(body), protocol):
                return AskAgainError()
            return problem
        cause = error.__cause__ or error
        is_connection = isinstance(error, openai.APIConnectionError) or type(error).__module__.startswith("httpx")
        text = without_secrets(self._without_key(str(cause) or type(cause).__name__))
        if is_connection and "Connect" in type(cause).__name__:
            return UnreachableError(text)
        if is_connection and "Timeout" in type(cause).__name__:
            return LateReplyError(self._timeout)
        if is_connection:
            return CallError(f"the connection failed: {text}", again=True, may_cost=True)
        return CallError(f"{type(error).__name__}: {text}", again=False)

    def _leaves_out(self, refused: str, protocol: _Protocol) -> bool:
        """Leave out what the server refuses from now on; False if that is nothing that can be left out."""
        with self._lock:
            if self._protocol != protocol:
                return True  # another request has found out something in the meantime
            reduced = _without(refused, protocol)
            if reduced is None:
                return False
            self._protocol, note = reduced
            self.notes.append(note)
            return True

    def _without_key(self, text: str) -> str:
        """A text, or JSON, without the key, which JSON may write with backslashes."""
        key = self._client.api_key
        if key == _NO_KEY or not is_secret(key):
            return text
        in_json = json.dumps(key)[1:-1]
        for spelling in (in_json.replace("/", "\\/"), in_json, key):
            text = text.replace(spelling, REPLACED)
        return text


def _key(variable: str | None, *, is_needed: bool) -> str:
    """The key in an environment variable."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if not key and is_needed:
        url = Parameter("base_url")
        if variable is None:
            what = "OpenAI needs a key, and no environment variable is named that has it"
            raise KaratError(what, hint=["For a server without keys, pass ", url, "."])
        what = f"the environment variable {variable} is not set"
        raise KaratError(what, hint=["Set it to the key of the server, or pass ", url, " for a server without keys."])
    if not re.fullmatch(r"[!-~]*", key):
        raise KaratError(f"the environment variable {variable} has characters that a key cannot have")
    return key or _NO_KEY


def _arguments(
    protocol: _Protocol,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    settings: ModelSettings,
    sample: int,
) -> dict[str, Any]:
    """A request, with what the server accepts."""
    has_schema = bool(schema) and protocol.format == "schema"
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": [*messages] if has_schema else with_schema(messages, schema),
    }
    if has_schema:
        named = {"name": "reply", "schema": schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": named}
    elif schema and protocol.format == "object":
        arguments["response_format"] = {"type": "json_object"}
    if protocol.limit:
        arguments[protocol.limit] = settings.max_tokens
    values = {"temperature": settings.temperature, "seed": settings.seed + sample}
    return arguments | {name: values[name] for name in protocol.options}


def _without(refused: str, protocol: _Protocol) -> tuple[_Protocol, str] | None:
    """The protocol without what is refused, and a note about it."""
    if _FORMAT.search(refused) and protocol.format == "schema":
        return replace(protocol, format="object"), "the server refuses JSON schemas: it was asked for JSON instead"
    if _FORMAT.search(refused) and protocol.format == "object":
        note = "the server refuses response_format: it was asked for JSON in words only"
        return replace(protocol, format="none"), note
    if _TOO_MUCH.search(refused):
        return None
    if protocol.limit and re.search(rf"\b{protocol.limit}\b", refused):
        if protocol.limit == "max_tokens":
            note = "the server refuses max_tokens: it was sent max_completion_tokens instead"
            return replace(protocol, limit="max_completion_tokens"), note
        return replace(protocol, limit=None), "the server refuses a limit of tokens: replies can have any length"
    for name in protocol.options:
        if re.search(rf"\b{name}\b", refused):
            options = tuple(each for each in protocol.options if each != name)
            return replace(protocol, options=options), f"the server refuses {name}: it was left out"
    return None
