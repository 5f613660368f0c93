"""Calls: the requests to language models that labels come from, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from karat.arguments import as_count
from karat.errors import KaratError, shown
from karat.labels.records import read_choice, read_id, read_text

CallState = Literal["done", "failed", "reused"]
"""`reused`: the reply to an earlier call with the same key, for labels about something else"""


class Call(NamedTuple):
    """What measures and summaries need to know about a call; the reply stays in the file, because it may be long."""

    key: str
    model: str | None
    state: str
    tokens_in: int | None
    tokens_out: int | None


def read_call(record: Mapping[str, Any], where: str) -> Call:
    """The call of a record; a wrong field is an error that names it. Only the key is required."""
    settings = record.get("settings")
    if settings is not None and not isinstance(settings, Mapping):
        hint = 'For example {"temperature": 0}.'
        raise KaratError(f"the field settings is {shown(settings)}, not an object", where=where, hint=hint)
    model, *_ = (read_text(record, name, where) for name in ("model", "prompt", "reply", "error"))
    tokens_in, tokens_out, _ = (_count(record, name, where) for name in ("tokens_in", "tokens_out", "verdicts"))
    state = read_choice(record, "state", get_args(CallState), where) or "done"
    return Call(read_id(record, "key", where), model, state, tokens_in, tokens_out)


def _count(record: Mapping[str, Any], field: str, where: str) -> int | None:
    value = record.get(field)
    number = as_count(value, 0)
    if number is None and value is not None:
        raise KaratError(f"the field {field} is {shown(value)}, not a whole number from 0", where=where)
    return number
