"""Sequences of requests of which some depend on the replies to others, side by side, and about parts of long texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

from karat.grounding.judges.compared_texts import ComparedTexts
from karat.grounding.judges.requests import ModelRequest, RequestOutcome

T = TypeVar("T")
Steps = Generator[Sequence[ModelRequest], Sequence[RequestOutcome], T]
"""it yields requests that can be sent together, receives their outcomes, and returns something in the end"""


def single_step(request: ModelRequest) -> Steps[None]:
    """A request that nothing depends on."""
    yield [request]


def if_known(steps: Steps[object]) -> Steps[None]:
    """The same requests, of which those are counted that the verdict file has: what follows from them is there, too."""
    outcomes: Sequence[RequestOutcome] | None = None
    while True:
        try:
            requests = next(steps) if outcomes is None else steps.send(outcomes)
        except StopIteration:
            return
        outcomes = yield [replace(request, if_known=True) for request in requests]


def together(sequences: Iterable[Steps[T]]) -> Steps[list[T]]:
    """Several sequences side by side, and what each of them returns."""
    steps = [*sequences]
    returned: dict[int, T] = {}
    outcomes: dict[int, Sequence[RequestOutcome] | None] = dict.fromkeys(range(len(steps)))
    while outcomes:
        requests: dict[int, Sequence[ModelRequest]] = {}
        for at, received in outcomes.items():
            try:
                requests[at] = next(steps[at]) if received is None else steps[at].send(received)
            except StopIteration as end:
                returned[at] = end.value
        answered = iter((yield [*chain.from_iterable(requests.values())]) if requests else ())
        outcomes = {at: [*islice(answered, len(asked))] for at, asked in requests.items()}
    return [returned[at] for at in range(len(steps))]


def ask_about_next(
    parts: deque[ComparedTexts], request: Callable[[ComparedTexts, T, bool], ModelRequest], so_far: T
) -> Steps[RequestOutcome]:
    """Ask about the first of several parts of texts, and remove it; halves take the place of a part that is too long.

    `request` makes the request about a part: with what is known `so_far`, and whether it is the last part.
    """
    while True:
        part = parts.popleft()
        [outcome] = yield [request(part, so_far, not parts)]
        if outcome.state != "too_long":
            return outcome
        parts.extendleft(reversed(part.halves))
