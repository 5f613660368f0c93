"""Carries out plans: asks a language model what they request, and writes down what it replies before it counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from karat.errors import plural
from karat.judges.budget import CallBudget, Usage
from karat.judges.calls import Batch, OpenCall, call_record, read_reply
from karat.judges.journal import Journal, VerdictFile
from karat.judges.pace import MOST_AT_ONCE, Clock, Pace
from karat.judges.requests import (
    LanguageModel,
    ModelReply,
    ModelRequest,
    ModelSettings,
    Plan,
    Record,
    RequestOutcome,
    RequestState,
)
from karat.judges.sending import Result, Sender

Progress = Callable[[int, Usage], None]
"""called with the number of plans that have ended, and what was asked so far"""

_GO_ON = "What was judged so far is kept: run the same again to go on from there."
_MOST_ERRORS = 1_000  # of different wording that are counted, so that memory use is limited
_OTHER_ERRORS = "another error"
_MOST_OPEN = 2 * MOST_AT_ONCE  # plans, so that memory use does not depend on their number


class Asker:
    """How a model is asked: with which settings, where its replies are kept, and what they may cost."""

    def __init__(
        self,
        model: LanguageModel,
        settings: ModelSettings,
        journal: Journal,
        *,
        concurrency: int = 8,
        timeout: float = 60.0,
        budget: CallBudget | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.model = model
        self.settings = settings
        self.journal = journal
        self.budget = budget or CallBudget()
        # Whoever asks for one at a time, or passes a function, may have a reason for it.
        most = MOST_AT_ONCE if model.is_server and concurrency > 1 else concurrency
        self._pace = Pace(concurrency, most, slow=timeout / 4)
        self._timeout = timeout
        self._clock = clock or Clock()
        self._notes: dict[str, None] = {}
        self._errors: Counter[str] = Counter()

    @property
    def notes(self) -> list[str]:
        """What was found out about the model, why requests were not sent, and why they failed."""
        return [*self.model.notes, *self._notes, *self._failures()]

    def add_failure(self, error: str | None) -> None:
        """Count a request that failed, by its error."""
        error = (error or "no reply").strip()
        self._errors[error if error in self._errors or len(self._errors) < _MOST_ERRORS else _OTHER_ERRORS] += 1

    def _failures(self) -> list[str]:
        """The most frequent error of requests that failed."""
        if not self._errors:
            return []
        [(error, number)], total = self._errors.most_common(1), self._errors.total()
        share = "" if number == total else f", {number:,} of them with this error"
        what = f"{plural(total, 'call')} failed{share}: {error.removesuffix('.')}"
        return [f"{what}. With retry_failed, {'it is' if total == 1 else 'they are'} made again"]

    def sender(self) -> Sender:
        """What sends requests: a new one each time that plans are carried out, at the pace that was found before."""
        return Sender(
            self.model,
            self._pace,
            self.budget,
            timeout=self._timeout,
            clock=self._clock,
            notes=self._notes,
            hint=self._hint,
        )

    def _hint(self) -> str | None:
        """What to do when everything has stopped."""
        return _GO_ON if isinstance(self.journal, VerdictFile) and self.journal.has_replies else None


def carry_out(plans: Iterable[Plan], asker: Asker, progress: Progress | None = None) -> Usage:
    """Carry out plans, and return what was asked.

    A request that fails does not stop the others. If none can succeed, as with a wrong key, a KaratError is raised.
    """
    return _Asking(plans, asker, progress).finish()


async def carry_out_async(plans: Iterable[Plan], asker: Asker, progress: Progress | None = None) -> Usage:
    """The same for programs with an event loop, which goes on meanwhile."""
    asking = _Asking(plans, asker, progress)
    finished = asyncio.ensure_future(asyncio.to_thread(asking.finish))
    try:
        return await asyncio.shield(finished)
    except asyncio.CancelledError:
        asking.stop()
        with suppress(Exception):
            await finished  # so that nothing is written any more after this
        raise


class _Asking:
    """Plans that are carried out together. One thread decides what is asked, reads replies and writes them."""

    def __init__(self, plans: Iterable[Plan], asker: Asker, progress: Progress | None) -> None:
        self._plans: Iterator[Plan] | None = iter(plans)
        self._asker = asker
        self._progress = progress
        self._sender = asker.sender()
        self._calls: dict[str, OpenCall] = {}  # those that have no outcome yet, by key
        self._open = self._ended = 0
        self._is_stopped = False
        self._usage = Usage(cost=0.0 if asker.budget.prices else None)

    def stop(self) -> None:
        """Stop as soon as possible; for other threads."""
        self._is_stopped = True
        self._sender.wake()

    def finish(self) -> Usage:
        """Carry out everything."""
        try:
            while not self._is_stopped:
                self._open_plans()
                if self._sender.is_idle and self._plans is None:
                    break
                if (result := self._sender.result()) is not None:
                    self._handle(result)
        finally:
            self._write_arrived()
        return self._usage

    def _open_plans(self) -> None:
        """Open plans until enough requests are under way."""
        while self._sender.has_room() and self._plans is not None and self._open < _MOST_OPEN and not self._is_stopped:
            plan = next(self._plans, None)
            if plan is None:
                self._plans = None
            else:
                self._open += 1
                self._go_on(plan, None)

    def _go_on(self, plan: Plan, outcomes: Sequence[RequestOutcome] | None) -> None:
        """Give a plan its outcomes, and take its next requests, until some of them have to be sent."""
        while True:
            try:
                requests = next(plan) if outcomes is None else plan.send(outcomes)
            except StopIteration:
                self._open -= 1
                self._ended += 1
                self._report()
                return
            batch = Batch(plan, len(requests))
            for place, request in enumerate(requests):
                self._take(request, batch, place)
            outcomes = batch.outcomes()
            if outcomes is None:
                return

    def _take(self, request: ModelRequest, batch: Batch, place: int) -> None:
        """Find out whether a request has to be sent."""
        asker = self._asker
        key = asker.settings.key(request)
        call = OpenCall(request, key, batch, place, request.messages, asker.settings)
        if key in self._calls:
            self._calls[key].same.append(call)
        elif (known := asker.journal.known(key, request)) is not None:
            batch.add(place, self._known(call, known))
        elif self._sender.is_spent or asker.journal.replay:
            self._count(not_asked=1)
            batch.add(place, call.outcome("not_asked", asker.model.name))
        else:
            self._calls[key] = call
            self._sender.add(call)

    def _known(self, call: OpenCall, record: Record) -> RequestOutcome:
        """The outcome of a call that was made before."""
        call.reply = record.get("reply")
        call.tokens_in, call.tokens_out = record.get("tokens_in") or 0, record.get("tokens_out") or 0
        state: RequestState = "failed"
        if call.reply is not None:
            call.records, call.problem = read_reply(call.request, ModelReply(call.reply))
            state = "failed" if call.problem or record.get("state") == "failed" else "done"
        error = record.get("error") or call.problem
        outcome = call.outcome(state, self._asker.model.name, error)
        self._asker.journal.reuse(record, outcome.records)
        if state == "failed":
            self._asker.add_failure(error)
        self._count(known=1, **{state: 1})
        return outcome

    def _handle(self, result: Result) -> None:
        """Read a reply, and ask again if it is incomplete or not understood."""
        call, reply, error = result
        if reply is not None:
            call.read(reply)
            self._count(tokens_in=reply.tokens_in or 0, tokens_out=reply.tokens_out or 0)
            if call.problem is None:
                self._end(call, "done")
            elif call.is_asked_again(reply):
                self._sender.add_first(call)
            else:
                self._end(call, "failed", call.problem)
        elif error is not None:
            self._end(call, "failed", error)
        elif call.reply is not None:
            self._end(call, "failed", call.problem)
        else:
            self._end(call, "not_asked")

    def _end(self, call: OpenCall, state: RequestState, error: str | None = None) -> None:
        """A call has ended: write what became of it, and go on with its plan."""
        outcome = call.outcome(state, self._asker.model.name, error)
        record = call_record(outcome, self._asker.settings)
        if state != "not_asked":
            self._asker.journal.write(record, outcome.records)
        if state == "failed":
            self._asker.add_failure(error)
        self._count(**{state: 1})
        self._report()
        call.batch.add(call.place, outcome)
        del self._calls[call.key]
        for other in call.same:
            if state == "not_asked":
                self._take(other.request, other.batch, other.place)
            else:
                other.batch.add(other.place, self._known(other, record))
        for batch in {id(each.batch): each.batch for each in (call, *call.same)}.values():
            if (outcomes := batch.outcomes()) is not None:
                self._go_on(batch.plan, outcomes)

    def _write_arrived(self) -> None:
        """Write the replies that have arrived, because they are paid for; everything ends now, for whatever reason."""
        with suppress(Exception):  # the first error is the one that counts
            for call, reply, _ in self._sender.arrived():
                if reply is None:
                    continue
                call.read(reply)
                if call.problem is None:
                    outcome = call.outcome("done", self._asker.model.name)
                    self._asker.journal.write(call_record(outcome, self._asker.settings), outcome.records)

    def _count(self, **more: int) -> None:
        more["calls"] = self._sender.number_sent - self._usage.calls
        totals = {name: getattr(self._usage, name) + number for name, number in more.items()}
        prices = self._asker.budget.prices
        self._usage = replace(self._usage, **totals)
        if prices:
            self._usage = replace(self._usage, cost=prices.cost(self._usage.tokens_in, self._usage.tokens_out))

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._ended, self._usage)
