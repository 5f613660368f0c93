"""What a server that speaks the OpenAI chat protocol replies: the text, the tokens, and what went wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from karat.errors import shown
from karat.errors.arguments import as_count
from karat.grounding.judges.requests import CallError, ModelReply, RequestTooLongError, ServerBusyError
from karat.grounding.judges.secrets import without_secrets

_BUSY = (429, 503, 529)
_AGAIN = (408, 409, 425)
_FATAL = {
    401: "the server refuses the API key",
    402: "the server wants to be paid first",
    403: "the server refuses access",
    404: "the server does not know the model, or the address is wrong",
    405: "the server does not know the address",
}
# Messages about rate limits mention quotas and billing, too.
_UNPAID = re.compile(r"insufficient_quota|billing_\w+|(?:insufficient|credit) (?:balance|credits)", re.I)
_NO_MODEL = re.compile(r"model_not_found|model .{0,100}(?:does not exist|not found)", re.I)
# How servers say that a request does not fit into the context window; a limit of the reply alone is something else.
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|window|size|limit)|(?:maximum model|model's maximum) length|too many tokens"
    r"|(?:prompt|inputs?|messages?|request|string)\b[^.]{0,60}\btoo (?:long|large)|request_too_large|length_exceeded"
    r"|exceeds? .{0,30}\b(?:number of tokens|context)|inputs\W{0,2} (?:tokens|must have less)|reduce the length",
    re.I,
)
_TOO_LONG_FOR_RATE = re.compile(r"request too large", re.I)  # no waiting helps
_MISTAKES = (TypeError, AttributeError, NameError, LookupError, AssertionError, NotImplementedError, ImportError)
_AGAIN_IN = re.compile(r"(?:try again|retry) in ([\d.dhms]+)", re.I)
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS = (86_400, 3600, 60, 1, 0.001)


def read_response(body: str, headers: Mapping[str, str]) -> ModelReply:
    """The reply in a response with status 200."""
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        raise _no_reply("the server replied with something other than JSON", body) from None
    if isinstance(decoded, dict) and decoded.get("error") and not decoded.get("choices"):
        status = as_count(_error(decoded).get("code"), 400, 599)  # as some gateways do
        raise failure(status or 500, headers, decoded)
    try:
        choice = decoded["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
    except (LookupError, TypeError, AttributeError):
        raise _no_reply("the server replied without a message", body) from None
    if not text and isinstance(message.get("refusal"), str):
        text = message["refusal"]
    return ModelReply(text, *token_counts(decoded.get("usage")), choice.get("finish_reason") == "length")


def failure(status: int, headers: Mapping[str, str], body: object, key_name: str | None = None) -> CallError:
    """What an error of a server means: whether to wait, to try again, to ask for less or to stop."""
    message = _message(body)
    what = f"status {status}{': ' if message else ''}{message}"
    code = str(_error(body).get("code"))
    if status in _FATAL or (status == 429 and _UNPAID.search(f"{code} {message}")):
        reason = _FATAL.get(status, "the quota is used up")
        hint = f"The key is read from the environment variable {key_name}."
        hint_on_key = hint if key_name and status in (401, 403) else None
        return CallError(f"{reason} ({what})", again=False, fatal=True, hint=hint_on_key)
    if status in (400, 422) and (_NO_MODEL.search(f"{code} {message}") or _error(body).get("param") == "model"):
        return CallError(f"{_FATAL[404]} ({what})", again=False, fatal=True)
    if (_TOO_LONG_FOR_RATE if status in _BUSY else _TOO_LONG).search(f"{code} {message}") or status == 413:
        return RequestTooLongError(f"the request is too long for the model ({what})")
    wait = retry_after(headers)
    if wait is None and (said := _AGAIN_IN.search(message)):
        wait = _duration(said[1].rstrip("."))
    if status in _BUSY or (wait is not None and status >= 500):
        return ServerBusyError(what, wait)
    return CallError(what, again=status >= 500 or status in _AGAIN)


def exception_failure(error: Exception) -> CallError:
    """What an exception of a function or a chat generator means, which may come from any client of a server."""
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    if isinstance(status, int) and status >= 400:
        headers = getattr(response, "headers", None)
        body = getattr(error, "body", None) or str(error)
        return failure(status, headers if isinstance(headers, Mapping) else {}, body)
    what = without_secrets(f"{type(error).__name__}: {error}")
    if _TOO_LONG.search(what):
        return RequestTooLongError(f"the request is too long for the model ({what})")
    return CallError(what, again=not isinstance(error, _MISTAKES), may_cost=True)


def refused_parameters(body: object) -> str:
    """The names of parameters that an error is about, or its message if it does not name them apart."""
    error = _error(body)
    if isinstance(error.get("param"), str):
        return str(error["param"]) if error["param"] != "max_tokens" else f"max_tokens {_message(body)}"
    details = body.get("detail") if isinstance(body, dict) else None
    places = [each.get("loc") for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    return " ".join(str(part) for place in places if isinstance(place, list) for part in place) or _message(body)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, by the headers of an error: a number of seconds or milliseconds, or a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    if (seconds := _number(text)) is not None:
        return seconds
    try:
        until = parsedate_to_datetime(text)
        now = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None


def token_counts(usage: object) -> tuple[int | None, int | None]:
    """The numbers of tokens in and out, as servers report them; None for what is not one."""
    counts = usage if isinstance(usage, Mapping) else {}
    return as_count(counts.get("prompt_tokens"), 0, 10**12), as_count(counts.get("completion_tokens"), 0, 10**12)


def _duration(text: str) -> float | None:
    """The seconds of a duration such as `6m0s`, `1s` or `20ms`, or of a number of seconds."""
    if (seconds := _number(text)) is not None:
        return seconds
    parts = _DURATION.fullmatch(text)
    if not parts or not text:
        return None
    return sum(float(part) * unit for part, unit in zip(parts.groups(), _UNITS, strict=True) if part)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _text(content: object) -> str:
    """The text of a message, which may be a list of parts, or null."""
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _no_reply(what: str, body: str) -> CallError:
    return CallError(f"{what}: {shown(without_secrets(body[:1000]))}", again=True)


def _error(body: object) -> Mapping[str, Any]:
    """The part of an error's body that describes it."""
    error = body.get("error", body) if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _message(body: object) -> str:
    """What a server says about an error, in one line."""
    message: object = _error(body).get("message")
    if not isinstance(message, str):
        message = body if isinstance(body, str) else json.dumps(body, default=str) if body else ""
    return without_secrets(" ".join(str(message)[:5000].split()))[:500]
