"""Calls: the requests to language models that labels come from, and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from karat.errors import KaratError, Place, shown
from karat.errors.arguments import as_count
from karat.grounding.verdict_file.records import read_choice, read_id, read_text

CallState = Literal["done", "failed", "reused"]
"""`reused`: the reply to an earlier call with the same key, for labels about something else"""
_REPLY_START = 2_000  # characters


class Call(NamedTuple):
    """What measures, summaries and reports need to know about a call; replies stay in the file: they may be long."""

    key: str
    model: str | None
    prompt: str | None
    """its name and version, such as support/1"""
    state: str
    tokens_in: int | None
    tokens_out: int | None
    error: str | None = None
    reply_start: str | None = None
    """the first 2,000 characters, if the call failed"""
    reply_length: int = 0


def read_call(record: Mapping[str, Any], place: Place) -> Call:
    """The call of a record; a wrong field is an error that names it. Only the key is required."""
    settings = record.get("settings")
    if settings is not None and not isinstance(settings, Mapping):
        hint = 'For example {"temperature": 0}.'
        raise KaratError(f"the field settings is {shown(settings)}, not an object", place=place, hint=hint)
    model, prompt, reply, error = (read_text(record, name, place) for name in ("model", "prompt", "reply", "error"))
    tokens_in, tokens_out, _ = (_count(record, name, place) for name in ("tokens_in", "tokens_out", "verdicts"))
    state = read_choice(record, "state", get_args(CallState), place) or "done"
    call = Call(read_id(record, "key", place), model, prompt, state, tokens_in, tokens_out)
    if state == "failed" and reply is not None:
        call = call._replace(reply_start=reply[:_REPLY_START], reply_length=len(reply))
    return call._replace(error=error)


def _count(record: Mapping[str, Any], field: str, place: Place) -> int | None:
    value = record.get(field)
    number = as_count(value, 0)
    if number is None and value is not None:
        raise KaratError(f"the field {field} is {shown(value)}, not a whole number from 0", place=place)
    return number


def answered_calls(calls: Iterable[Call]) -> frozenset[str]:
    """The keys of the calls that have a usable reply, some of them in a later try."""
    return frozenset(call.key for call in calls if call.state == "done")


@dataclass(frozen=True)
class ModelCalls:
    """The calls to a model with one prompt; tokens are None if no call says how many there were."""

    model: str
    prompt: str
    """empty if it is not known"""
    calls: int
    failed: int
    """calls without a usable reply, also in a later try"""
    without_tokens: int
    tokens_in: int | None
    tokens_out: int | None


def count_calls(calls: Iterable[Call]) -> list[ModelCalls]:
    """Count calls by model and prompt; a reply that was used again was paid for once."""
    by_prompt: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        if call.state != "reused":
            by_prompt.setdefault((call.model or "(unknown)", call.prompt or ""), []).append(call)
    found = []
    for (model, prompt), made in by_prompt.items():
        failed = {call.key for call in made if call.state == "failed"} - answered_calls(made)
        without = sum(call.tokens_in is None or call.tokens_out is None for call in made)
        tokens = _total(call.tokens_in for call in made), _total(call.tokens_out for call in made)
        found.append(ModelCalls(model, prompt, len(made), len(failed), without, *tokens))
    return found


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
