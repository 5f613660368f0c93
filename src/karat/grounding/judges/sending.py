"""Gets a reply to a call: one loop that sends it, waits as long as the server asks for, and repeats what got no reply.

Each attempt is booked against the limits before it is sent, and settled when it ends.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from itertools import count
from queue import Empty, SimpleQueue
from typing import NamedTuple

from karat.errors import KaratError, plural
from karat.grounding.judges.budget import CallBudget, count_tokens, most_tokens
from karat.grounding.judges.calls import OpenCall
from karat.grounding.judges.requests import (
    AskAgainError,
    CallError,
    LanguageModel,
    LateReplyError,
    ModelReply,
    RequestState,
    ServerBusyError,
    UnreachableError,
)
from karat.grounding.judges.secrets import without_secrets

MOST_REPEATS = 6
"""how often a request is repeated that got no reply"""
_FIRST_WAIT = 1.0  # seconds until a request is repeated for the first time; twice as many each time after that
_LONGEST_WAIT = 30.0
_LONGEST_PAUSE = 600.0  # seconds that a server may ask to wait
_MOST_ATTEMPTS = 3  # to reach a server that was never reached
_MOST_UNANSWERED = 20  # requests in a row, all of them repeated
_SECONDS_BETWEEN_CHECKS = 0.1  # whether everything has stopped
_GRACE = 1.0  # seconds in which a model can notice the time limit itself
_NOT_COUNTED = "the model does not say how many tokens it used: they were counted roughly"


class Clock:
    """The time, and waiting."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, seconds: float, end: threading.Event) -> None:
        """Wait so many seconds, or until an event."""
        end.wait(seconds)


class Result(NamedTuple):
    """What became of a call, and the error if it failed."""

    state: RequestState
    error: str | None = None


class Sender:
    """Gets replies to calls, for several threads, of which each works on one call. They share what is known here."""

    def __init__(
        self,
        model: LanguageModel,
        budget: CallBudget,
        *,
        concurrency: int,
        timeout: float,
        clock: Clock,
        notes: dict[str, None],
        hint: Callable[[], str | None],
    ) -> None:
        self.is_stopped = threading.Event()
        """set it, and nothing more is sent"""
        self._model = model
        self._budget = budget
        self._timeout = timeout
        self._clock = clock
        self._notes = notes
        self._hint = hint  # what to do when everything stops
        self._slots = threading.Semaphore(concurrency)  # one for each attempt under way, also if it was given up on
        self._last_end = 0.0  # of any attempt
        self._resume_at = 0.0  # no request is sent before this time
        self._unanswered = 0
        self._was_reached = False
        self._lock = threading.Lock()
        self._random = random.Random(42)  # noqa: S311  # not for cryptography

    def ask(self, call: OpenCall) -> Result:
        """Ask until there is a reply that is understood, or none can be expected.

        A KaratError says that no other call can succeed either.
        """
        while True:
            try:
                reply = self._reply(call)
            except CallError as error:
                return Result("failed", without_secrets(str(error)))
            if reply is None:
                return Result("not_asked") if call.reply is None else Result("failed", call.problem)
            call.read(reply)
            if call.problem is None:
                return Result("done")
            if not call.is_asked_again(reply):
                return Result("failed", call.problem)

    def _reply(self, call: OpenCall) -> ModelReply | None:
        """The reply to a call, however often it has to be sent; None if a limit does not allow that."""
        repeats = count(1)
        while True:
            most = self._budget.charge(
                most_tokens([*call.texts, json.dumps(call.request.schema)]), call.settings.max_tokens
            )
            if not self._budget.reserve(most, self.is_stopped):
                return None
            reply, spent = None, self._budget.charge(0, 0)
            try:
                if not self._may_send():
                    return None
                result = self._attempt(call)
                self._hold_back(result)  # before those go on who wait for the budget
                if isinstance(result, ModelReply):
                    reply = self._counted(result, call.texts)
                    spent = self._budget.charge(reply.tokens_in or 0, reply.tokens_out or 0)
                elif isinstance(result, CallError) and result.may_cost:  # the model may have replied unheard
                    spent = most
            finally:
                self._budget.settle(most, spent)
            if not isinstance(result, UnreachableError):
                self._was_reached = True
            if reply is not None:
                self._unanswered = 0
                return reply
            if isinstance(result, BaseException) and not isinstance(result, AskAgainError):
                self._clock.wait(self._wait_after(result, next(repeats)), self.is_stopped)

    def _may_send(self) -> bool:
        """Wait for the end of a pause and for a slot, which the next attempt takes; False if everything has stopped."""
        while True:
            while (pause := self._resume_at - self._clock.now()) > 0 and not self.is_stopped.is_set():
                self._clock.wait(pause, self.is_stopped)
            if not self._has_slot():
                return False
            if self.is_stopped.is_set() or self._resume_at <= self._clock.now():
                break
            self._slots.release()  # another request has got a pause meanwhile
        if self.is_stopped.is_set():
            self._slots.release()
        return not self.is_stopped.is_set()

    def _has_slot(self) -> bool:
        """Take a slot as soon as there is one; False if everything has stopped. An error if no request ever ends."""
        started, seconds = time.monotonic(), self._timeout + _GRACE
        while not self._slots.acquire(timeout=_SECONDS_BETWEEN_CHECKS):
            if self.is_stopped.is_set():
                return False
            if time.monotonic() - max(started, self._last_end) > seconds:
                what = f"no request has ended for {plural(round(seconds), 'second')}, and no more may be sent at a time"
                raise KaratError(what, hint=self._hint())
        return True

    def _hold_back(self, result: object) -> None:
        """After a reply that says when to go on, send nothing before that time."""
        if isinstance(result, ServerBusyError) and result.wait:
            with self._lock:
                self._resume_at = max(self._resume_at, self._clock.now() + result.wait)

    def _attempt(self, call: OpenCall) -> ModelReply | BaseException:
        """Send a request once, in a thread that can be given up on: what the model returns or raises."""
        results: SimpleQueue[ModelReply | BaseException] = SimpleQueue()

        def ask() -> None:
            result: ModelReply | BaseException
            request = call.request
            try:
                result = self._model.ask(messages, request.schema, settings=settings, sample=request.sample)
            except (
                BaseException
            ) as error:  # also SystemExit in a function of the user, which would end this thread only
                result = error
            self._last_end = time.monotonic()
            self._slots.release()
            results.put(result)

        messages, settings = call.messages, call.settings
        threading.Thread(target=ask, daemon=True, name="karat-request").start()
        try:
            return results.get(timeout=self._timeout + _GRACE)
        except Empty:
            return LateReplyError(self._timeout)

    def _wait_after(self, error: BaseException, repeats: int) -> float:
        """Seconds until a request without a reply is repeated for the n-th time; raises an error if it is not."""
        if not isinstance(error, CallError):
            raise CallError(str(error) or type(error).__name__, again=False)
        if error.fatal:
            raise KaratError(str(error), hint=" ".join(filter(None, [error.hint, self._hint()])))
        pause = error.wait or 0.0 if isinstance(error, ServerBusyError) else 0.0
        if pause > _LONGEST_PAUSE:
            raise KaratError(f"the server asks to wait for {pause:,.0f} seconds: {error}", hint=self._hint())
        if not error.again:
            raise error
        with self._lock:
            if repeats >= _MOST_ATTEMPTS and not self._was_reached:
                raise KaratError(str(error), hint="Check that it is running, and its address.")
            if repeats > MOST_REPEATS:
                self._unanswered += 1
                if self._unanswered >= _MOST_UNANSWERED:
                    what = f"the last {self._unanswered} requests got no reply: {error}"
                    raise KaratError(what, hint=self._hint())
                raise error
            # Not the same for all, so that they spread.
            wait = min(_FIRST_WAIT * 2.0 ** (repeats - 1), _LONGEST_WAIT) * self._random.uniform(0.75, 1.25)
        return max(pause, wait)

    def _counted(self, reply: ModelReply, texts: list[str]) -> ModelReply:
        """A reply with the number of tokens, counted here if the model does not say it."""
        if reply.tokens_in is not None and reply.tokens_out is not None:
            return reply
        self._notes[_NOT_COUNTED] = None
        return reply._replace(tokens_in=sum(map(count_tokens, texts)), tokens_out=count_tokens(reply.text))
