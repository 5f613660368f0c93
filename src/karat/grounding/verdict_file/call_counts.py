"""How many calls of language models a verdict file has, and how many tokens they took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karat.grounding.verdict_file.records import Call, answered_calls


@dataclass(frozen=True)
class ModelCalls:
    """The calls to a model with one prompt; tokens are None if no call says how many there were."""

    model: str
    prompt: str
    """empty if it is not known"""
    calls: int
    """by their keys: one that failed and was made again counts once"""
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
    counts = []
    for (model, prompt), made in by_prompt.items():
        failed = {call.key for call in made if call.state == "failed"} - answered_calls(made)
        without = sum(call.tokens_in is None or call.tokens_out is None for call in made)
        tokens = _total(call.tokens_in for call in made), _total(call.tokens_out for call in made)
        counts.append(ModelCalls(model, prompt, len({call.key for call in made}), len(failed), without, *tokens))
    return counts


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
