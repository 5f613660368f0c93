"""What a language model is asked, what it replies, and what became of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypedDict

from karat.errors import Message as Wording
from karat.grounding.judges.replies import UnreadableReplyError, decode_reply

Record = Mapping[str, Any]
"""a record of a verdict file"""
RequestState = Literal["done", "failed", "too_long", "not_asked"]
"""`too_long`: the model refuses the request, and the plan asks about its parts instead"""
_LONGER = 4  # times as many tokens, for a reply that was cut off


class Message(TypedDict):
    """A message of the OpenAI chat protocol."""

    role: Literal["system", "user", "assistant"]
    content: str


class ReadReply(NamedTuple):
    """What a reply says: records of a verdict file, and what is wrong with the reply, if anything."""

    records: tuple[Record, ...]
    problem: str | None = None
    draft: Any = None
    """what the plan goes on with and nobody else reads, as from one of several parts of a text"""


@dataclass(frozen=True)
class ModelRequest:
    """One request to a language model.

    The first message is the fixed part of the prompt, the same for all requests of a kind, so that the server can cache
    it. The last message is data in JSON.
    """

    prompt: str
    """the name and version of the prompt, such as `support/1`"""
    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    """the JSON schema of the reply"""
    read: Callable[[Any], ReadReply] = field(compare=False)
    """reads a decoded reply; the records do not name author, sample and call"""
    failed: tuple[Record, ...] = ()
    """the verdicts that the reply should give, in the state `failed`"""
    expected: Any = None
    """a reply as it may be, decoded, for estimates: with the sentences of an answer as its claims"""
    sample: int = 0
    is_divisible: Callable[[], bool] = field(default=lambda: False, compare=False)
    """says whether the plan can ask about parts of the texts instead, if the request is too long"""
    if_known: bool = False
    """whether it is not sent if the verdict file does not have the reply: nothing depends on it any more"""
    after: Mapping[str, Any] | None = None
    """the call about the part of the texts before, and the labels until then: what the reply is joined with"""
    examples: tuple[str, ...] = ()
    """the queries that the examples in the messages were chosen from"""


@dataclass(frozen=True)
class ModelSettings:
    """Which model is asked, and how: part of the key of every call."""

    model: str
    temperature: float = 0.0
    seed: int = 42
    max_tokens: int = 2048

    def record(self) -> dict[str, Any]:
        """The settings as a field of call records."""
        return {"temperature": self.temperature, "seed": self.seed, "max_tokens": self.max_tokens}

    def key(self, request: ModelRequest) -> str:
        """What a call is known by: a digest of the model, the prompt, the inputs, the settings and the sample.

        That of a part of a text also depends on the labels by the parts before.
        """
        about = [self.model, request.prompt, request.messages, request.schema, self.record(), request.sample]
        about += [] if request.after is None else [request.after]
        text = json.dumps(about, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


class TokenCounts(NamedTuple):
    """How many tokens a request used, as far as the server says so."""

    tokens_in: int | None = None
    tokens_out: int | None = None


_UNKNOWN = TokenCounts()


class ModelReply(NamedTuple):
    """The reply of a model, as text, with the tokens that were counted, and whether it ends at the token limit.

    `is_refusal`: the model refused to reply, or a filter has stopped it; the text is what it said about that.
    """

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    is_cut: bool = False
    is_refusal: bool = False


class LanguageModel(Protocol):
    """Something that replies to messages."""

    @property
    def name(self) -> str:
        """The author of its labels."""

    @property
    def notes(self) -> Sequence[str]:
        """What was found out about the server, such as a parameter that it refuses."""

    def ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any], *, settings: ModelSettings, sample: int
    ) -> ModelReply:
        """Ask once, and raise a CallError if there is no reply."""

    def close(self) -> None:
        """Close the connections to the server."""


class CallError(Exception):
    """A request got no reply; `again` says whether another try may succeed, as after a time-out.

    `fatal`: no request can succeed, as with a wrong key or an unknown model; `hint` says what to do. `may_cost`: the
    model may have replied, but the reply did not arrive; `tokens` are what it used, if the server says so.
    """

    def __init__(
        self,
        what: str,
        *,
        again: bool,
        fatal: bool = False,
        may_cost: bool = False,
        tokens: TokenCounts = _UNKNOWN,
        hint: Wording | None = None,
    ) -> None:
        super().__init__(what)
        self.again = again
        self.fatal = fatal
        self.may_cost = may_cost
        self.tokens = tokens
        self.hint = hint


class ServerBusyError(CallError):
    """The server asks to wait: status 429, 503 or 529, with the seconds of Retry-After if it says so."""

    def __init__(
        self, what: str, wait: float | None = None, *, may_cost: bool = False, tokens: TokenCounts = _UNKNOWN
    ) -> None:
        super().__init__(what, again=True, may_cost=may_cost, tokens=tokens)
        self.wait = wait

    @property
    def is_refused(self) -> bool:
        """Whether the request was refused until later, rather than processed in vain."""
        return bool(self.wait) or not self.may_cost


class LateReplyError(CallError):
    """A request got no reply within the time limit: perhaps the server has more requests than it can process."""

    def __init__(self, limit: float) -> None:
        super().__init__(f"no reply within {limit:g} second{'' if limit == 1 else 's'}", again=True, may_cost=True)


class RequestTooLongError(CallError):
    """The model refuses a request because it is too long: a part of it may fit."""

    def __init__(self, what: str, *, may_cost: bool = False, tokens: TokenCounts = _UNKNOWN) -> None:
        super().__init__(what, again=False, may_cost=may_cost, tokens=tokens)


class UnreachableError(CallError):
    """There is no connection to the server."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no connection to the server: {what}", again=True)


class AskAgainError(Exception):
    """The server refused a parameter, which is left out from now on: the same request can be sent again at once."""


@dataclass(frozen=True)
class RequestOutcome:
    """What became of a request: its records, with author, sample and call.

    If it failed, they are what is valid in its reply, or else its verdicts in the state `failed`.
    """

    request: ModelRequest
    key: str
    state: RequestState
    records: tuple[Record, ...] = ()
    reply: str | None = None
    error: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    draft: Any = None
    """what the plan goes on with, and nobody else reads"""


Plan = Generator[Sequence[ModelRequest], Sequence[RequestOutcome], None]
"""all requests about one question: it yields those that can be sent together, and receives their outcomes"""


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """Messages that ask for JSON of a schema, for models that cannot be told otherwise; the first part is the same."""
    first, *others = messages
    if not schema:
        return [*messages]
    wanted = "Reply with one JSON object that matches this JSON schema, and with nothing else:"
    content = f"{first['content']}\n\n{wanted}\n{json.dumps(schema)}"
    return [{"role": first["role"], "content": content}, *others]


def without_system_role(messages: Sequence[Message]) -> list[Message]:
    """Messages for a model that has no role for instructions: they come before the data, in one message of the user."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return [*messages]
    system, user, *others = messages
    content = f"{system['content']}\n\nThe data, as JSON:\n{user['content']}"
    return [{"role": user["role"], "content": content}, *others]


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
    draft: Any = None
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
        self.reply = reply.text.encode(errors="replace").decode()  # lone surrogates can neither be sent nor written
        self.add_tokens(reply.tokens_in, reply.tokens_out)
        self.records, self.problem, self.draft = read_reply(self.request, reply._replace(text=self.reply))

    def add_tokens(self, tokens_in: int | None, tokens_out: int | None) -> None:
        """Count what an attempt used, as far as it is known."""
        self.tokens_in += tokens_in or 0
        self.tokens_out += tokens_out or 0

    def is_asked_again(self, reply: ModelReply) -> bool:
        """Change what is asked after a reply with a problem: allow more tokens, or say what is wrong; each once."""
        if reply.is_cut and not self.was_cut:
            self.was_cut = True
            self.settings = replace(self.settings, max_tokens=_LONGER * self.settings.max_tokens)
            return True
        if reply.is_cut or reply.is_refusal or self.was_unreadable:
            return False
        self.was_unreadable = True
        error = json.dumps({"error": self.problem, "task": "Write the whole reply again, as JSON only."})
        self.messages += ({"role": "assistant", "content": self.reply or ""}, {"role": "user", "content": error})
        return True

    def outcome(self, state: RequestState, by: str, error: str | None = None) -> RequestOutcome:
        """What became of it, with the records, signed; if it failed, what is valid in its reply counts."""
        records = self.records
        if state == "failed" and not self.records and not self.draft:
            records = self.request.failed
        sample = {"sample": self.request.sample} if self.request.sample else {}
        signed = tuple(
            {**record, "by": by, **sample, "call": self.key} if record["record"] == "verdict" else record
            for record in records
        )
        tokens = self.tokens_in, self.tokens_out
        return RequestOutcome(self.request, self.key, state, signed, self.reply, error, *tokens, self.draft)


def read_reply(request: ModelRequest, reply: ModelReply) -> ReadReply:
    """The records of a reply, and what is wrong with it."""
    try:
        read = request.read(decode_reply(reply.text))
    except UnreadableReplyError as error:
        read = ReadReply((), str(error))
    if read.problem and reply.is_refusal:
        return read._replace(problem="The model refused to reply.")
    if read.problem and reply.is_cut:
        return read._replace(problem="The reply was cut off at the limit of tokens.")
    return read


def call_record(outcome: RequestOutcome, settings: ModelSettings) -> Record:
    """The record of a call in a verdict file."""
    fields = {
        "record": "call", "key": outcome.key, "model": settings.model, "prompt": outcome.request.prompt,
        "settings": settings.record(), "reply": outcome.reply, "tokens_in": outcome.tokens_in,
        "tokens_out": outcome.tokens_out, "state": outcome.state, "error": outcome.error,
        "verdicts": sum(record["record"] == "verdict" for record in outcome.records),
        "after": outcome.request.after, "examples": [*outcome.request.examples] or None,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
