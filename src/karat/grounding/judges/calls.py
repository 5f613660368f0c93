"""A request under way: what was tried so far, what its reply says, and its record in the verdict file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from karat.grounding.judges.replies import UnreadableReplyError, decode_reply
from karat.grounding.judges.requests import (
    Message,
    ModelReply,
    ModelRequest,
    ModelSettings,
    Plan,
    ReadReply,
    Record,
    RequestOutcome,
    RequestState,
)

_LONGER = 4  # times as many tokens, for a reply that was cut off


class Batch:
    """The requests that a plan has made together, and what became of them so far."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan = plan
        self._outcomes: dict[int, RequestOutcome] = {}
        self._size = size

    def add(self, place: int, outcome: RequestOutcome) -> None:
        """Add the outcome of a request."""
        self._outcomes[place] = outcome

    def outcomes(self) -> list[RequestOutcome] | None:
        """The outcomes in the order of the requests; None if some are missing."""
        if len(self._outcomes) < self._size:
            return None
        return [self._outcomes[place] for place in range(self._size)]


@dataclass
class OpenCall:
    """A request under way, with what was tried so far."""

    request: ModelRequest
    key: str
    batch: Batch
    place: int
    """in the batch"""
    messages: tuple[Message, ...]
    settings: ModelSettings
    was_cut: bool = False
    was_unreadable: bool = False
    reply: str | None = None
    records: tuple[Record, ...] = ()
    """what the reply says, as far as it is valid"""
    problem: str | None = None
    """of the reply"""
    tokens_in: int = 0
    tokens_out: int = 0
    same: list[OpenCall] = field(default_factory=list)
    """other calls with the same key, which wait for this one"""

    @property
    def texts(self) -> list[str]:
        """The texts of the messages."""
        return [message["content"] for message in self.messages]

    def read(self, reply: ModelReply) -> None:
        """Read a reply: `records` are what it says, and `problem` what is wrong with it."""
        text = reply.text.encode(errors="replace").decode()  # a lone surrogate can neither be sent nor written
        self.reply = text
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0
        self.records, self.problem = read_reply(self.request, reply._replace(text=text))

    def is_asked_again(self, reply: ModelReply) -> bool:
        """Change what is asked after a reply with a problem: allow more tokens, or say what is wrong; each once."""
        if reply.is_cut and not self.was_cut:
            self.was_cut = True
            self.settings = replace(self.settings, max_tokens=_LONGER * self.settings.max_tokens)
            return True
        if reply.is_cut or self.was_unreadable:
            return False
        self.was_unreadable = True
        error = json.dumps({"error": self.problem, "task": "Write the whole reply again, as JSON only."})
        more: tuple[Message, Message] = (
            {"role": "assistant", "content": self.reply or ""},
            {"role": "user", "content": error},
        )
        self.messages += more
        return True

    def outcome(self, state: RequestState, by: str, error: str | None = None) -> RequestOutcome:
        """What became of it, with the records, signed; if it failed, what is valid in its reply counts."""
        records = self.records or self.request.failed if state == "failed" else self.records
        sample = {"sample": self.request.sample} if self.request.sample else {}
        signed = tuple(
            {**record, "by": by, **sample, "call": self.key} if record["record"] == "verdict" else record
            for record in records
        )
        return RequestOutcome(self.request, self.key, state, signed, self.reply, error, self.tokens_in, self.tokens_out)


def read_reply(request: ModelRequest, reply: ModelReply) -> ReadReply:
    """The records of a reply, and what is wrong with it."""
    try:
        found = request.read(decode_reply(reply.text))
    except UnreadableReplyError as error:
        found = ReadReply((), str(error))
    if found.problem and reply.is_cut:
        return ReadReply(found.records, "The reply was cut off at the limit of tokens.")
    return found


def call_record(outcome: RequestOutcome, settings: ModelSettings) -> Record:
    """The record of a call in a verdict file."""
    fields = {
        "record": "call", "key": outcome.key, "model": settings.model, "prompt": outcome.request.prompt,
        "settings": settings.record(), "reply": outcome.reply, "tokens_in": outcome.tokens_in,
        "tokens_out": outcome.tokens_out, "state": outcome.state, "error": outcome.error,
        "verdicts": sum(record["record"] == "verdict" for record in outcome.records),
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
