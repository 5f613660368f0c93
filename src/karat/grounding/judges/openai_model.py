"""A model on a server that speaks the OpenAI chat protocol, through the openai package."""

from __future__ import annotations

import json
import os
import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from karat.errors import KaratError, Parameter
from karat.errors import Message as Wording
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
    without_system_role,
)
from karat.grounding.judges.response_bodies import HEADERS, body_of, reading_hooks
from karat.grounding.judges.secrets import Secrets, check_key_variable, without_secrets
from karat.grounding.judges.server_responses import (
    error_message,
    failure,
    read_response,
    refused_parameters,
    token_counts,
    tokens_in_text,
)

_CONNECT = 10.0  # seconds for a connection
_REFUSALS = (400, 404, 422)
_ROLE_REFUSALS = (*_REFUSALS, 500)  # llama.cpp fails if the template of a model has no such role
_FORMAT = re.compile(r"response_format|schema|json_object|structured.outputs?|guided|requested parameters", re.I)
_TOO_MUCH = re.compile(r"context.length|context window|too long|too large|at most|maximum|less than or equal", re.I)
_ROLES = re.compile(
    r"messages\[\d+\]\.role|system\W{0,3}(?:role|messages?|prompts?|instructions?)\b.{0,40}\b(?:not|unsupported)\b"
    r"|(?:\bnot\b|n't|unsupported|unknown|invalid).{0,40}\bsystem\W{0,3}(?:role|messages?|prompts?|instructions?)\b"
    r"|roles must alternate|only user and assistant|developer instruction is not enabled",
    re.I,
)
_ENDED = re.compile(r"could not finish|output limit was reached", re.I)  # before the first word of the reply
_NO_KEY = "not-needed"  # what a server without keys is sent


@dataclass(frozen=True)
class _Protocol:
    """Which parts of the protocol the server accepts, as far as it is known."""

    format: Literal["schema", "object", "none"] = "schema"
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"
    options: tuple[str, ...] = ("temperature", "seed")
    has_system_role: bool = True


class OpenAIModel:
    """A model by its name. The key is in the client, and in what keeps it out of replies.

    With `needs_limit`, the server must accept a limit of the tokens of a reply, so that what it costs has a limit.
    """

    def __init__(
        self, name: str, *, base_url: str | None, api_key_env: str | None, timeout: float, needs_limit: bool = False
    ) -> None:
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
        self._needs_limit = needs_limit
        self._protocol = _Protocol()
        self._lock = threading.Lock()
        self._under_way, self._is_closed = 0, False
        key = _key(api_key_env, is_needed=not (base_url or os.environ.get("OPENAI_BASE_URL")))
        self._secrets = Secrets(key)
        self._client = openai.OpenAI(
            api_key=key,
            base_url=base_url,
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT)),
            max_retries=0,  # sending.py repeats them, within the limits
            default_headers=HEADERS,
            http_client=openai.DefaultHttpxClient(event_hooks=reading_hooks(timeout)),
        )
        weakref.finalize(self, self._client.close).atexit = False

    def close(self) -> None:
        """Close all connections; those of requests that are under way when these have ended."""
        self._count_under_way(0, is_closed=True)

    def _count_under_way(self, more: int, *, is_closed: bool = False) -> None:
        with self._lock:
            self._under_way += more
            self._is_closed |= is_closed
            if self._under_way or not self._is_closed:
                return
        self._client.close()  # a connection that is made after this would stay open

    def ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, settings: ModelSettings, sample: int
    ) -> ModelReply:
        """Ask once."""
        protocol = self._protocol
        problem: Exception
        self._count_under_way(1)
        try:
            return self._send(_arguments(protocol, messages, schema, settings, sample))
        except CallError as error:
            problem = error
        except Exception as error:
            result = self._status(error, protocol) if hasattr(error, "status_code") else self._problem(error)
            if isinstance(result, ModelReply):
                return result
            problem = result
        finally:
            self._count_under_way(-1)
        raise problem  # here, where the exception of the client is not part of it: it knows the key

    def _send(self, arguments: Mapping[str, Any]) -> ModelReply:
        """Send a request, and read the response."""
        with self._client.chat.completions.with_streaming_response.create(**arguments) as response:
            body = body_of(response.http_response)
        text = self._secrets.masked(body.text)
        if body.error is None:
            return read_response(text, response.headers)
        problem = body.error if isinstance(body.error, CallError) else self._problem(body.error)
        problem.tokens = tokens_in_text(text)
        raise problem

    def _status(self, error: Any, protocol: _Protocol) -> ModelReply | Exception:
        """What a status other than 200 means, in words that do not contain the key."""
        text = self._secrets.masked(body_of(error.response).text.strip())
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text
        status, message = error.status_code, error_message(body)
        if status == 400 and _ENDED.search(message):
            usage = body.get("usage") if isinstance(body, dict) else None
            return ModelReply("", *token_counts(usage), is_cut=True)
        problem = failure(status, error.response.headers, body, self._key_name)
        if isinstance(problem, RequestTooLongError):
            return problem
        refused = refused_parameters(body) if status in _REFUSALS else ""
        lacks_role = status in _ROLE_REFUSALS and bool(_ROLES.search(f"{refused} {message}"))
        refusal = self._refusal(refused, lacks_role, protocol) if refused or lacks_role else None
        return problem if refusal is None else refusal

    def _problem(self, error: Exception) -> CallError:
        """What an exception of the client means, in words that do not contain the key."""
        import openai

        cause = error.__cause__ or error
        is_connection = isinstance(error, openai.APIConnectionError) or type(error).__module__.startswith("http")
        text = without_secrets(self._secrets.masked(str(cause) or type(cause).__name__))
        if is_connection and "Connect" in type(cause).__name__:
            return UnreachableError(text)
        if is_connection and "Timeout" in type(cause).__name__:
            return LateReplyError(self._timeout)
        if is_connection:
            return CallError(f"the connection failed: {text}", again=True, may_cost=True)
        return CallError(f"{type(error).__name__}: {text}", again=False)

    def _refusal(self, refused: str, lacks_role: bool, protocol: _Protocol) -> Exception | None:
        """Leave out what the server refuses from now on; None if that is nothing that can be left out."""
        with self._lock:
            if self._protocol != protocol:
                return AskAgainError()  # another request has found out something in the meantime
            reduced = _without(refused, protocol, lacks_role=lacks_role)
            if reduced is None:
                return None
            if self._needs_limit and reduced[0].limit is None:
                return _no_limit()
            self._protocol, note = reduced
            self.notes.append(note)
            return AskAgainError()


def _key(variable: str | None, *, is_needed: bool) -> str:
    """The key in an environment variable."""
    if variable:
        check_key_variable(variable)
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
    sent = [*messages] if has_schema else with_schema(messages, schema)
    arguments: dict[str, Any] = {
        "model": settings.model,
        "messages": sent if protocol.has_system_role else without_system_role(sent),
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


def _without(refused: str, protocol: _Protocol, *, lacks_role: bool) -> tuple[_Protocol, str] | None:
    """The protocol without what is refused, and a note about it."""
    if lacks_role and protocol.has_system_role:
        note = "the server refuses messages of the system: instructions and data were sent in one message"
        return replace(protocol, has_system_role=False), note
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


def _no_limit() -> CallError:
    """What a reply costs would have no limit."""
    what = "the server accepts no limit of tokens, neither max_tokens nor max_completion_tokens"
    hint: Wording = [
        "What a reply costs has no limit then. Use another model, or instead of ", Parameter("max_tokens_total"),
        " and ", Parameter("max_cost"), " limit the number of requests: ", Parameter("max_calls"), ".",
    ]  # fmt: skip
    return CallError(what, again=False, fatal=True, hint=hint)
