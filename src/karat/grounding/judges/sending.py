"""Gets a reply to a call: one loop that sends it, waits as long as the server asks for, and repeats what got no reply.

Each attempt is booked against the limits before it is sent, and settled when it ends: with what the server says that it
cost, or else with the most that it can have cost.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import NamedTuple

from karat.errors import KaratError, plural
from karat.grounding.judges.budget import CallBudget, count_tokens, most_tokens
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.requests import (
    AskAgainError,
    CallError,
    LanguageModel,
    LateReplyError,
    ModelReply,
    ModelSettings,
    OpenCall,
    RequestState,
    RequestTooLongError,
    ServerBusyError,
    TokenCounts,
    UnreachableError,
    with_schema,
)
from karat.grounding.judges.secrets import without_secrets
from karat.grounding.judges.server_responses import duration_text

MOST_REPEATS = 6
"""how often a request is repeated that got no reply"""
_FIRST_WAIT = 1.0  # seconds until a request is repeated for the first time; twice as many each time after that
_LONGEST_WAIT = 30.0
_LONGEST_PAUSE = 600.0  # seconds that a server may ask to wait
_MOST_ATTEMPTS = 3  # before the first reply
_MOST_UNANSWERED = 20  # calls in a row that got no reply, all of them repeated
_MOST_UNANSWERED_FIRST = 2  # the same before the first reply
_MOST_FAILED_FIRST = 20  # calls before the first one that succeeds
_SECONDS_BETWEEN_CHECKS = 0.1  # whether everything has stopped
_GRACE = 1.0  # seconds in which a model can notice the time limit itself
_GO_ON = "What was judged so far is kept: run the same again to go on from there."
_MOST_ERRORS = 1_000  # of different wording that are counted, so that memory use is limited
_OTHER_ERRORS = "another error"
_COUNTED = "the model does not say how many tokens it used: they were counted roughly"


class Clock:
    """The time, and waiting."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, seconds: float, end: threading.Event) -> None:
        """Wait so many seconds, or until an event."""
        end.wait(seconds)


class NoReplyError(KaratError):
    """A server gives no replies, so that nothing more is asked."""

    exit_status = 1


class Result(NamedTuple):
    """What became of a call, and the error if it failed."""

    state: RequestState
    error: str | None = None


@dataclass
class Asker:
    """How a model is asked: with which settings, where its replies are kept, and what they may cost."""

    model: LanguageModel
    settings: ModelSettings
    journal: Journal
    concurrency: int = 8
    """the most requests at a time"""
    timeout: float = 60.0
    max_input_tokens: int | None = None
    """requests with more tokens are divided, where that is possible"""
    budget: CallBudget = field(default_factory=CallBudget)
    clock: Clock = field(default_factory=Clock)
    accepts_failures: bool = False
    """whether everything goes on although no call succeeds, as the callers of evaluators may wish"""
    counts_tokens: bool = False
    """whether tokens had to be counted, because the model does not say how many it used"""
    _errors: Counter[str] = field(default_factory=Counter)
    _has_unread_replies: bool = False
    _failed_prompts: Counter[str] = field(default_factory=Counter)

    @property
    def notes(self) -> list[str]:
        """What was found out about the model, why requests were not sent, and why they failed."""
        counted = [_COUNTED] if self.counts_tokens else []
        return [*self.model.notes, *counted, *self.budget.notes, *self._failures()]

    @property
    def hint(self) -> str | None:
        """What to do when everything stops."""
        return _GO_ON if self.journal.is_file and self.journal.has_replies else None

    def add_failure(self, prompt: str, error: str | None, *, has_reply: bool = True) -> None:
        """Count a request that failed, by its prompt and its error."""
        self._has_unread_replies |= has_reply
        self._failed_prompts[prompt] += 1
        error = (error or "no reply").strip()
        self._errors[error if error in self._errors or len(self._errors) < _MOST_ERRORS else _OTHER_ERRORS] += 1

    def _failures(self) -> list[str]:
        """How many requests failed, of which kinds if there are several, and the most frequent error."""
        if not self._errors:
            return []
        [(error, number)], total = self._errors.most_common(1), self._errors.total()
        share = "" if number == total else f", {number:,} of them with this error"
        kinds = [f"{count:,} of {prompt}" for prompt, count in sorted(self._failed_prompts.items())]
        of_kinds = f" ({', '.join(kinds)})" if len(kinds) > 1 else ""
        what = f"{plural(total, 'call')} failed{of_kinds}{share}: {error.removesuffix('.')}"
        again = f"{'it is' if total == 1 else 'they are'} made again"
        retried = "With --retry-failed (in Python retry_failed=True)" if self._has_unread_replies else "In the next run"
        return [f"{what}. {retried}, {again}"]


class Sender:
    """Gets replies to calls, for several threads, of which each works on one call. They share what is known here."""

    def __init__(self, asker: Asker) -> None:
        self.is_stopped = threading.Event()
        """set it, and nothing more is sent"""
        self._asker = asker
        self._budget, self._clock = asker.budget, asker.clock
        self._slots = threading.Semaphore(asker.concurrency)  # one per attempt under way, also if it was given up on
        self._last_end = 0.0  # of any attempt
        self._resume_at = 0.0  # no request is sent before this time
        self._unanswered = self._failed = 0
        self._first_attempts = 0  # under way
        self._was_reached = self._has_replied = self._has_succeeded = False
        self._may_fail = asker.accepts_failures or asker.journal.has_replies  # before any call succeeds
        self._extra_in = self._extra_out = 0  # tokens of an attempt beyond those that were thought to be the most
        self._lock = threading.Lock()
        self._random = random.Random(42)  # noqa: S311  # not for cryptography

    def ask(self, call: OpenCall) -> Result:
        """Ask until there is a reply that is understood, or none can be expected.

        A KaratError says that no other call can succeed either.
        """
        result = self._ask(call)
        with self._lock:
            self._has_succeeded |= result.state == "done"
            self._failed += result.state == "failed"
            if self._failed >= _MOST_FAILED_FIRST and not self._has_succeeded and not self._may_fail:
                what = f"none of the first {self._failed} calls succeeded: {result.error}"
                raise NoReplyError(what, hint=self._asker.hint)
        return result

    def _ask(self, call: OpenCall) -> Result:
        while True:
            try:
                reply = self._reply(call)
            except CallError as error:
                # What is too long only because an unreadable reply was added does not get shorter by asking for parts.
                is_too_long = isinstance(error, RequestTooLongError) and call.reply is None
                state: RequestState = "too_long" if is_too_long and call.request.is_divisible() else "failed"
                return Result(state, without_secrets(str(error)))
            if reply is None:
                return Result("not_asked") if call.reply is None else Result("failed", call.problem)
            call.read(reply)
            if call.problem is None:
                return Result("done")
            if not call.is_asked_again(reply):
                return Result("failed", call.problem)

    def _reply(self, call: OpenCall) -> ModelReply | None:
        """The reply to a call, however often it has to be sent; None if a limit does not allow that."""
        error: CallError | None = None
        repeats = 0
        while not isinstance(result := self._booked_attempt(call, is_first=not repeats), ModelReply):
            if result is None and error is not None and self._budget.exceeded:
                raise error  # rather than to say that nothing was asked
            if result is None:
                return None
            if not isinstance(result, CallError | AskAgainError):
                raise CallError(without_secrets(str(result) or type(result).__name__), again=False)
            if isinstance(result, CallError):
                error, repeats = result, repeats + 1
                self._clock.wait(self._wait_after(error, repeats), self.is_stopped)
        return result

    def _booked_attempt(self, call: OpenCall, *, is_first: bool) -> ModelReply | BaseException | None:
        """Make an attempt, booked against the limits; None if they do not allow it, or everything has stopped."""
        least_in = most_tokens([each["content"] for each in with_schema(call.messages, call.request.schema)])
        most_in, most_out = least_in + self._extra_in, call.settings.max_tokens + self._extra_out
        most = self._budget.charge(most_in, most_out)
        if not self._budget.reserve(most, self.is_stopped):
            return None
        spent, is_known = self._budget.charge(0, 0), True
        result: ModelReply | BaseException | None = None
        try:
            if self._may_send():
                result = self._attempt(call, is_first=is_first)
                self._hold_back(result)  # before those go on who wait for the budget
                tokens = _tokens_used(result)
                if tokens is not None:
                    is_known = None not in tokens
                    used_in, used_out = (
                        most if used is None else used for used, most in zip(tokens, (most_in, most_out), strict=True)
                    )
                    spent = self._budget.charge(used_in, used_out)
                    self._extra_in = max(self._extra_in, used_in - least_in)
                    self._extra_out = max(self._extra_out, used_out - call.settings.max_tokens)
        finally:
            self._budget.settle(most, spent, is_known=is_known)
        if isinstance(result, CallError) and result.may_cost:
            call.add_tokens(*result.tokens)
        self._was_reached |= result is not None and not isinstance(result, UnreachableError)
        if isinstance(result, ModelReply):
            self._unanswered, self._has_replied = 0, True
            return self._counted(result, call.texts)
        return result

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
        started, seconds = time.monotonic(), self._asker.timeout + _GRACE
        while not self._slots.acquire(timeout=_SECONDS_BETWEEN_CHECKS):
            if self.is_stopped.is_set():
                return False
            if time.monotonic() - max(started, self._last_end) > seconds:
                what = f"no request has ended for {plural(round(seconds), 'second')}, and no more may be sent at a time"
                raise KaratError(what, hint=self._asker.hint)
        return True

    def _hold_back(self, result: object) -> None:
        """After a reply that says when to go on, send nothing before that time."""
        if isinstance(result, ServerBusyError) and result.wait and result.wait <= _LONGEST_PAUSE:
            with self._lock:
                self._resume_at = max(self._resume_at, self._clock.now() + result.wait)

    def _attempt(self, call: OpenCall, *, is_first: bool) -> ModelReply | BaseException:
        """Send a request once, in a thread that can be given up on: what the model returns or raises."""
        results: SimpleQueue[ModelReply | BaseException] = SimpleQueue()

        def ask() -> None:
            result: ModelReply | BaseException
            request = call.request
            try:
                result = self._asker.model.ask(messages, request.schema, settings=settings, sample=request.sample)
            except BaseException as error:  # also SystemExit in a user's function, which would end this thread only
                result = error
            self._last_end = time.monotonic()
            self._slots.release()
            results.put(result)

        messages, settings = call.messages, call.settings
        threading.Thread(target=ask, daemon=True, name="karat-request").start()
        with self._lock:
            self._first_attempts += is_first
        try:
            return results.get(timeout=self._asker.timeout + _GRACE)
        except Empty:
            return LateReplyError(self._asker.timeout)
        finally:
            with self._lock:
                self._first_attempts -= is_first

    def _wait_after(self, error: CallError, repeats: int) -> float:
        """Seconds until a request without a reply is repeated for the n-th time; raises an error if it is not."""
        what = without_secrets(str(error))
        if error.fatal:
            fatal = KaratError(what, hint=error.hint)
            fatal.add_hint(self._asker.hint or "")
            raise fatal
        pause = error.wait or 0.0 if isinstance(error, ServerBusyError) else 0.0
        if pause > _LONGEST_PAUSE:
            raise NoReplyError(f"the server asks to wait for {duration_text(pause)}: {what}", hint=self._asker.hint)
        if not error.again:
            raise error
        with self._lock:
            self._check_server(error, what, repeats)
            # Not the same for all, so that they spread.
            wait = min(_FIRST_WAIT * 2.0 ** (repeats - 1), _LONGEST_WAIT) * self._random.uniform(0.75, 1.25)
        return max(pause, wait)

    def _check_server(self, error: CallError, what: str, repeats: int) -> None:
        """Raise an error if a request is not repeated any more; it ends everything if others got no reply either.

        A server that has not given a single reply yet is not waited for as long as one that has. Others that are under
        way for the first time may still get one.
        """
        is_silent = not self._has_replied and not (isinstance(error, ServerBusyError) and error.is_refused)
        if repeats >= _MOST_ATTEMPTS and not self._was_reached:
            raise NoReplyError(what, hint="Check that it is running, and its address.")
        is_given_up = repeats > MOST_REPEATS or (is_silent and repeats >= _MOST_ATTEMPTS)
        self._unanswered += is_given_up
        if is_silent and not self._may_fail:
            if self._unanswered >= _MOST_UNANSWERED_FIRST and not self._first_attempts:
                raise NoReplyError(f"the server has not given a single reply: {what}")
        elif is_given_up and self._unanswered >= _MOST_UNANSWERED:
            raise NoReplyError(f"the last {self._unanswered} calls got no reply: {what}", hint=self._asker.hint)
        if is_given_up:
            raise error

    def _counted(self, reply: ModelReply, texts: list[str]) -> ModelReply:
        """A reply with the number of tokens, counted here if the model does not say it."""
        if reply.tokens_in is not None and reply.tokens_out is not None:
            return reply
        self._asker.counts_tokens = True
        return reply._replace(tokens_in=sum(map(count_tokens, texts)), tokens_out=count_tokens(reply.text))


def _tokens_used(result: ModelReply | BaseException) -> TokenCounts | None:
    """What an attempt used, as far as it is known; None if nothing was used."""
    if isinstance(result, ModelReply):
        return TokenCounts(result.tokens_in, result.tokens_out)
    if isinstance(result, CallError):
        return result.tokens if result.may_cost else None
    return None if isinstance(result, AskAgainError) else TokenCounts()
