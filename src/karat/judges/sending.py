"""Sends requests, several at a time, and repeats those that got no reply.

Each request is sent by a thread of its own that does nothing else. So a server that does not answer can be given up on,
and the thread that waits for all of them can end at any time.
"""

from __future__ import annotations

import heapq
import json
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import NamedTuple

from karat.errors import KaratError
from karat.judges.budget import CallBudget, Charge, count_tokens, most_tokens
from karat.judges.calls import OpenCall
from karat.judges.pace import MOST_REPEATS, Clock, Pace
from karat.judges.requests import (
    AskAgainError,
    CallError,
    LanguageModel,
    LateReplyError,
    ModelReply,
    ServerBusyError,
    UnreachableError,
)
from karat.judges.secrets import without_secrets

_LONGEST_WAIT = 600.0  # seconds that a server may ask to wait
_MOST_ATTEMPTS = 3  # to reach a server that was never reached
_MOST_UNANSWERED = 20  # requests in a row, all of them repeated
_GRACE = 1.0  # seconds in which a model can notice the time limit itself
_NOT_COUNTED = "the model does not say how many tokens it used: they were counted roughly"


class Result(NamedTuple):
    """The reply to a call, or why it has none; neither if it was not sent because of a limit."""

    call: OpenCall
    reply: ModelReply | None = None
    error: str | None = None


class _Sent(NamedTuple):
    """A call that was sent: when, and what is reserved for it."""

    call: OpenCall
    sent_at: float
    reserved: Charge


class _Arrival(NamedTuple):
    """What came back for the request with this number; without one, it only ends the waiting."""

    number: int | None
    result: ModelReply | BaseException | None


class Sender:
    """Gets replies to calls."""

    def __init__(
        self,
        model: LanguageModel,
        pace: Pace,
        budget: CallBudget,
        *,
        timeout: float,
        clock: Clock,
        notes: dict[str, None],
        hint: Callable[[], str | None],
    ) -> None:
        self.number_sent = 0
        self.is_spent = False
        """whether a limit does not allow another request"""
        self._model = model
        self._pace = pace
        self._budget = budget
        self._timeout = timeout
        self._clock = clock
        self._ready: deque[OpenCall] = deque()
        self._later: list[tuple[float, int, OpenCall]] = []  # a heap by the time when they are due
        self._sent: dict[int, _Sent] = {}
        self._not_sent: deque[Result] = deque()
        self._arrivals: SimpleQueue[_Arrival] = SimpleQueue()
        self._numbers = count()
        self._unanswered = 0
        self._was_reached = False
        self._notes = notes
        self._hint = hint  # what to do when it stops

    def add(self, call: OpenCall) -> None:
        """Send a call as soon as its turn comes."""
        self._ready.append(call)

    def add_first(self, call: OpenCall) -> None:
        """Send a call before all others: it is asked again."""
        self._ready.appendleft(call)

    @property
    def is_idle(self) -> bool:
        """Whether all calls have their results."""
        return not (self._ready or self._later or self._sent or self._not_sent)

    def has_room(self) -> bool:
        """Send what can be sent now, and return whether more could be."""
        while True:
            now = self._clock.now()
            while self._later and self._later[0][0] <= now:
                self._ready.append(heapq.heappop(self._later)[2])
            if now < self._pace.resume_at or len(self._sent) >= self._pace.limit:
                return False
            if not self._ready:
                return True
            if not self._send(self._ready[0], now):
                return False
            self._ready.popleft()

    def result(self) -> Result | None:
        """Wait for something to arrive; None if it is no result, or if something has to be sent now."""
        if self._not_sent:
            return self._not_sent.popleft()
        now = self._clock.now()
        late = self._timeout + _GRACE
        oldest = next(iter(self._sent), None)  # the first was sent first
        if oldest is not None and now - self._sent[oldest].sent_at >= late:
            return self._result(self._sent.pop(oldest), LateReplyError(self._timeout), now)
        times = [] if oldest is None else [self._sent[oldest].sent_at + late]
        times += [due for due, _, _ in self._later[:1]]
        times += [self._pace.resume_at] if self._pace.resume_at > now else []
        seconds = max(0.0, min(times, default=now) - now)  # what was not due a moment ago may be due now
        arrival = self._clock.wait(self._arrivals, seconds, are_expected=bool(self._sent))
        if arrival is None or arrival.number not in self._sent:
            return None
        return self._result(self._sent.pop(arrival.number), arrival.result, self._clock.now())

    def arrived(self) -> list[Result]:
        """The replies that have arrived already, without waiting for others."""
        results: list[Result] = []
        while True:
            try:
                number, result = self._arrivals.get_nowait()
            except Empty:
                return results
            if number in self._sent and isinstance(result, ModelReply):
                call = self._sent.pop(number).call
                results.append(Result(call, self._counted(result, call.texts)))

    def wake(self) -> None:
        """End the waiting for results; for other threads."""
        self._arrivals.put(_Arrival(None, None))

    def _send(self, call: OpenCall, now: float) -> bool:
        """Send a call, unless it has to wait until it is known what others cost; or give it up if nothing is left."""
        most = self._budget.charge(
            most_tokens([*call.texts, json.dumps(call.request.schema)]), call.settings.max_tokens
        )
        if not self.is_spent and self._budget.reserve(most):
            number = next(self._numbers)
            self._sent[number] = _Sent(call, now, most)
            self.number_sent += 1
            threading.Thread(target=self._ask, args=(number, call), daemon=True, name="karat-request").start()
            return True
        if self._sent:
            return False
        if not self.is_spent:
            self.is_spent = True
            limit = self._budget.exceeded_by(most)
            tokens = "" if limit == "max_calls" else f", with up to {most.tokens:,} tokens"
            self._notes[f"not everything was asked: another request may exceed {limit}{tokens}"] = None
        self._not_sent.append(Result(call))
        return True

    def _ask(self, number: int, call: OpenCall) -> None:
        """Send a request, in a thread of its own."""
        request = call.request
        result: ModelReply | BaseException
        try:
            result = self._model.ask(call.messages, request.schema, settings=call.settings, sample=request.sample)
        except BaseException as error:  # also SystemExit in a function of the user, which would end this thread only
            result = error
        self._arrivals.put(_Arrival(number, result))

    def _result(self, sent: _Sent, result: ModelReply | BaseException | None, now: float) -> Result | None:
        """The result of a call, unless it is sent again."""
        self._was_reached |= not isinstance(result, UnreachableError)
        if isinstance(result, ModelReply):
            reply = self._counted(result, sent.call.texts)
            self._budget.settle(sent.reserved, self._budget.charge(reply.tokens_in or 0, reply.tokens_out or 0))
            self._pace.good(sent.sent_at, now, reply.requests_left, reply.wait)
            self._unanswered = 0
            return Result(sent.call, reply)
        may_cost = isinstance(result, CallError) and result.may_cost
        self._budget.settle(sent.reserved, sent.reserved if may_cost else self._budget.charge(0, 0))
        if isinstance(result, AskAgainError):
            self.add_first(sent.call)
            return None
        if isinstance(result, ServerBusyError):
            self._pace.busy(sent.sent_at, now, result.wait)
            if result.wait is not None and result.wait > _LONGEST_WAIT:
                raise KaratError(f"the server asks to wait for {result.wait:,.0f} seconds: {result}", hint=self._hint())
            return self._repeat(sent.call, now, result, result.wait or 0.0)
        if isinstance(result, CallError) and result.fatal:
            raise KaratError(str(result), hint=" ".join(filter(None, [result.hint, self._hint()])))
        if isinstance(result, LateReplyError):
            self._pace.busy(sent.sent_at, now)
        if isinstance(result, CallError) and result.again:
            return self._repeat(sent.call, now, result)
        return Result(sent.call, error=without_secrets(str(result) or type(result).__name__))

    def _repeat(self, call: OpenCall, now: float, error: Exception, wait: float = 0.0) -> Result | None:
        """Send a call again later, unless it was repeated often enough."""
        call.repeats += 1
        if call.repeats >= _MOST_ATTEMPTS and not self._was_reached:
            raise KaratError(str(error), hint="Check that it is running, and its address.")
        if call.repeats <= MOST_REPEATS:
            due = now + max(wait, self._pace.repeat_after(call.repeats))
            heapq.heappush(self._later, (due, next(self._numbers), call))
            return None
        self._unanswered += 1
        if self._unanswered >= _MOST_UNANSWERED:
            raise KaratError(f"the last {self._unanswered} requests got no reply: {error}", hint=self._hint())
        return Result(call, error=str(error))

    def _counted(self, reply: ModelReply, texts: list[str]) -> ModelReply:
        """A reply with the number of tokens, counted here if the model does not say it."""
        if reply.tokens_in is not None and reply.tokens_out is not None:
            return reply
        self._notes[_NOT_COUNTED] = None
        return reply._replace(tokens_in=sum(map(count_tokens, texts)), tokens_out=count_tokens(reply.text))
