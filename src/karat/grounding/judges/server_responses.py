"""What a server that speaks the OpenAI chat protocol replies: the text, the tokens, and what went wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from karat.errors import plural, shown
from karat.errors.arguments import as_count
from karat.grounding.judges.requests import (
    CallError,
    ModelReply,
    RequestTooLongError,
    ServerBusyError,
    TokenCounts,
)
from karat.grounding.judges.secrets import without_secrets

_BUSY = (429, 503, 529)
_AGAIN = (408, 409, 425)
_OVERLOADED = 529  # of Anthropic, as 429
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
_USAGE = re.compile(r'"usage"\s*:\s*')
_MOST_TOKENS = 10**12
_LONGEST = 1e10  # seconds that a duration can have, some 300 years
_UNITS = (86_400, 3600, 60, 1, 0.001)


def read_response(body: str, headers: Mapping[str, str]) -> ModelReply:
    """The reply in a response with status 200; whatever else it is, the model may have been paid for it."""
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        raise _no_reply("the server replied with something other than JSON", body) from None
    if isinstance(decoded, dict) and decoded.get("error") and not decoded.get("choices"):
        status = as_count(_error(decoded).get("code"), 400, 599)  # as some gateways do
        raise failure(status or 500, headers, decoded, is_in_reply=True)
    try:
        choice = decoded["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
    except (LookupError, TypeError, AttributeError):
        raise _no_reply("the server replied without a message", body) from None
    refusal, finish = message.get("refusal"), choice.get("finish_reason")
    has_refusal = isinstance(refusal, str) and bool(refusal)
    is_refusal = has_refusal or finish == "content_filter"
    tokens_in, tokens_out = token_counts(decoded.get("usage"))
    if text and not tokens_out:
        tokens_out = None  # some servers report 0 of everything
    return ModelReply(text or (refusal if has_refusal else ""), tokens_in, tokens_out, finish == "length", is_refusal)


def failure(
    status: int, headers: Mapping[str, str], body: object, key_name: str | None = None, *, is_in_reply: bool = False
) -> CallError:
    """What an error of a server means: wait, try again, ask for less or stop; and whether it may have cost anything.

    Requests that are refused cost nothing. One that was processed may, unless the server says what it used; so may one
    whose error is in a reply with status 200.
    """
    message = error_message(body)
    what = f"{'an error instead of a reply' if is_in_reply else f'status {status}'}{': ' if message else ''}{message}"
    code = str(_error(body).get("code"))
    tokens = _tokens_of_error(body)
    if status in _FATAL or (status == 429 and _UNPAID.search(f"{code} {message}")):
        reason = _FATAL.get(status, "the quota is used up")
        hint = f"The key is read from the environment variable {key_name}."
        hint_on_key = hint if key_name and status in (401, 403) else None
        return CallError(f"{reason} ({what})", again=False, fatal=True, hint=hint_on_key)
    if status in (400, 422) and (_NO_MODEL.search(f"{code} {message}") or _error(body).get("param") == "model"):
        return CallError(f"{_FATAL[404]} ({what})", again=False, fatal=True)
    wait = retry_after(headers)
    if wait is None and (said := _AGAIN_IN.search(message)):
        wait = _duration(said[1].rstrip("."))
    is_refused = status == _OVERLOADED or (status == 503 and wait is not None)
    is_processed = status == 408 or (status >= 500 and not is_refused)
    may_cost = is_in_reply or tokens != TokenCounts() or is_processed
    if (_TOO_LONG_FOR_RATE if status in _BUSY else _TOO_LONG).search(f"{code} {message}") or status == 413:
        what = f"the request is too long for the model ({what})"
        return RequestTooLongError(what, may_cost=may_cost, tokens=tokens)
    if status in _BUSY or (wait is not None and status >= 500):
        return ServerBusyError(what, wait, may_cost=may_cost, tokens=tokens)
    if code == "content_filter":
        what = f"the server refused the request by a content filter ({what})"
    return CallError(what, again=status >= 500 or status in _AGAIN, may_cost=may_cost, tokens=tokens)


def exception_failure(error: Exception) -> CallError:
    """What an exception of a function or a chat generator means, which may come from any client of a server."""
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    if isinstance(status, int) and status >= 400:
        headers = getattr(response, "headers", None)
        body = getattr(error, "body", None) or str(error)
        return failure(status, headers if isinstance(headers, Mapping) else {}, body)
    what = without_secrets(f"{type(error).__name__}: {error}")
    if _TOO_LONG.search(what):
        return RequestTooLongError(f"the request is too long for the model ({what})", may_cost=True)
    return CallError(what, again=not isinstance(error, _MISTAKES), may_cost=True)


def refused_parameters(body: object) -> str:
    """The names of parameters that an error is about, or its message if it does not name them apart."""
    error = _error(body)
    if isinstance(error.get("param"), str):
        return str(error["param"]) if error["param"] != "max_tokens" else f"max_tokens {error_message(body)}"
    details = body.get("detail") if isinstance(body, dict) else None
    places = [each.get("loc") for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    return " ".join(str(part) for place in places if isinstance(place, list) for part in place) or error_message(body)


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


def token_counts(usage: object) -> TokenCounts:
    """The numbers of tokens in and out, as servers report them; None for what is not one.

    Some servers count the reasoning of a model in the total only. No request has 0 tokens.

    >>> token_counts({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 310})
    TokenCounts(tokens_in=100, tokens_out=210)
    """
    counts = usage if isinstance(usage, Mapping) else {}
    tokens_in = as_count(counts.get("prompt_tokens", counts.get("input_tokens")), 1, _MOST_TOKENS)
    tokens_out = as_count(counts.get("completion_tokens", counts.get("output_tokens")), 0, _MOST_TOKENS)
    total = as_count(counts.get("total_tokens"), 1, _MOST_TOKENS)
    if tokens_in is not None and tokens_out is not None and total is not None:
        tokens_out = max(tokens_out, total - tokens_in)
    return TokenCounts(tokens_in, tokens_out)


def tokens_in_text(body: str) -> TokenCounts:
    """The numbers of tokens in a response that was cut off or is damaged, if they are in what there is of it."""
    usages = [*_USAGE.finditer(body)] if body.lstrip().startswith("{") else []  # not of a stream, which counts on
    if not usages:
        return TokenCounts()
    try:
        return token_counts(json.JSONDecoder().raw_decode(body, usages[-1].end())[0])
    except (ValueError, RecursionError):
        return TokenCounts()


def _duration(text: str) -> float | None:
    """The seconds of a duration such as `6m0s`, `1s` or `20ms`, or of a number of seconds."""
    if (seconds := _number(text)) is not None:
        return seconds
    parts = _DURATION.fullmatch(text)
    if not parts or not text:
        return None
    return sum(min(float(part), _LONGEST) * unit for part, unit in zip(parts.groups(), _UNITS, strict=True) if part)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return min(max(0.0, number), _LONGEST) if math.isfinite(number) else None


def _text(content: object) -> str:
    """The text of a message, which may be a list of parts, or null."""
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _no_reply(what: str, body: str) -> CallError:
    said = shown(without_secrets(body[:1000]))
    return CallError(f"{what}: {said}", again=True, may_cost=True, tokens=tokens_in_text(body))


def _tokens_of_error(body: object) -> TokenCounts:
    fields = body if isinstance(body, dict) else {}
    return token_counts(fields.get("usage", _error(body).get("usage")))


def _error(body: object) -> Mapping[str, Any]:
    """The part of an error's body that describes it."""
    error = body.get("error", body) if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def error_message(body: object) -> str:
    """What a server says about an error, in one line."""
    message: object = _error(body).get("message")
    if not isinstance(message, str):
        message = body if isinstance(body, str) else json.dumps(body, default=str) if body else ""
    return without_secrets(" ".join(str(message)[:5000].split()))[:500]


def duration_text(seconds: float) -> str:
    """A long time in words.

    >>> duration_text(5400), duration_text(1e308)
    ('90 minutes', 'more than a year')
    """
    for unit, length, most in (("minute", 60, 120), ("hour", 3600, 48), ("day", 86_400, 365)):
        if seconds <= most * length:
            return plural(round(seconds / length), unit)
    return "more than a year"
