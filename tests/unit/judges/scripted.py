"""A model that replies as it is told to, a clock that does not wait, and requests about nothing in particular."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from karat.grounding.judges.asking import carry_out
from karat.grounding.judges.requests import (
    Message,
    ModelReply,
    ModelRequest,
    ModelSettings,
    Plan,
    ReadReply,
    RequestOutcome,
)
from karat.grounding.judges.sending import Asker, Clock

SETTINGS = ModelSettings("tester")


class FakeClock(Clock):
    """Time passes at once when somebody waits for it."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float, end: threading.Event) -> None:  # noqa: ARG002
        with self._lock:
            self.time += seconds


class ScriptedModel:
    """Replies with what a function returns, or raises it if it is an exception; the function is called in threads."""

    name = "tester"

    def __init__(self, rule: Callable[[int, Sequence[Message], ModelSettings], Any]) -> None:
        self.notes: list[str] = []
        self.asked: list[tuple[Sequence[Message], ModelSettings, int]] = []
        self.most_at_once = 0
        self._rule = rule
        self._now = 0
        self._lock = threading.Lock()

    def close(self) -> None: ...

    def ask(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],  # noqa: ARG002  # it replies the same with every schema
        *,
        settings: ModelSettings,
        sample: int,
    ) -> ModelReply:
        with self._lock:
            number = len(self.asked)
            self.asked.append((messages, settings, sample))
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            answer = self._rule(number, messages, settings)
        finally:
            with self._lock:
                self._now -= 1
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, ModelReply) else ModelReply(answer, 100, 10)


def request(text: str = "Who?", sample: int = 0) -> ModelRequest:
    """A request whose reply is `{"label": 1}`."""

    def read(reply: Any) -> ReadReply:
        if not isinstance(reply, dict) or reply.get("label") not in (0, 1):
            return ReadReply((), "The label is not 0 or 1.")
        return ReadReply(({**verdict, "label": reply["label"]},))

    verdict = {"record": "verdict", "query": text, "task": "relevance", "item": "p1"}
    messages: tuple[Message, ...] = ({"role": "system", "content": "Judge."}, {"role": "user", "content": f'"{text}"'})
    return ModelRequest("test/1", messages, {"type": "object"}, read, ({**verdict, "state": "failed"},), sample=sample)


def plan(requests: Sequence[ModelRequest], outcomes: list[RequestOutcome]) -> Plan:
    """A plan that makes all requests together."""
    outcomes.extend((yield requests))


def ask(asker: Asker, asked: ModelRequest) -> RequestOutcome:
    """Ask one thing."""
    outcomes: list[RequestOutcome] = []
    carry_out([plan([asked], outcomes)], asker)
    return outcomes[0]


def plans(n: int, outcomes: list[RequestOutcome]) -> Iterator[Plan]:
    """Plans with one request each."""
    return (plan([request(f"question {number}")], outcomes) for number in range(n))
