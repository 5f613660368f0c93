"""Carries out plans: asks a language model what they request, and writes down what it replies before it counts.

This is the one path to a model and to the verdict file, for judges and for evaluators that ask a model.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from karat.errors import KaratError, Place, enumeration, require
from karat.grounding.judges.budget import CallBudget, Prices, Usage, is_divided
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.known_records import KnownCall
from karat.grounding.judges.model import MODEL_HINT, RecordedModel, language_model, model_name
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.requests import (
    Batch,
    LanguageModel,
    ModelReply,
    ModelRequest,
    ModelSettings,
    OpenCall,
    Plan,
    RequestOutcome,
    RequestState,
    call_record,
    read_reply,
)
from karat.grounding.judges.sending import Asker, Result, Sender

_SECONDS_PER_WAIT = 0.5

Progress = Callable[[int, Usage], None]
"""called with the number of plans that have ended, and what was asked so far"""


@contextmanager
def open_asker(options: JudgeOptions, path: str | None) -> Iterator[Asker]:
    """A model that can be asked, with a verdict file that its replies are added to; without one, they are not kept."""
    require(options.replay or options.model is not None, "no model is given", MODEL_HINT)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(path, replay=options.replay, retry_failed=options.retry_failed))
        model: LanguageModel
        if options.replay:
            model = RecordedModel(_replayed_name(options, journal))
        else:
            model = language_model(
                options.model,
                base_url=options.base_url,
                api_key_env=options.api_key_env,
                timeout=options.timeout,
                needs_limit=options.max_tokens_total is not None or options.max_cost is not None,
            )
            stack.callback(model.close)
        budget = CallBudget(
            max_calls=options.max_calls,
            max_tokens=options.max_tokens_total,
            max_cost=options.max_cost,
            prices=Prices.of(options.price_in, options.price_out),
        )
        settings = model_settings(options, model.name)
        yield Asker(
            model,
            settings,
            journal,
            concurrency=options.concurrency,
            timeout=options.timeout,
            max_input_tokens=options.max_input_tokens,
            budget=budget,
        )


def model_settings(options: JudgeOptions, name: str) -> ModelSettings:
    """The settings that a model with this name is asked with."""
    return ModelSettings(name, options.temperature, options.seed, options.max_tokens)


def _replayed_name(options: JudgeOptions, journal: Journal) -> str:
    """The model whose replies are read from a file: the given one, or the only one."""
    if options.model is not None:
        return model_name(options.model)
    if len(journal.models) == 1:
        return journal.models[0]
    if not journal.models:
        hint = "Judge without replay first."
        raise KaratError("the file has no replies of a model", place=Place(journal.path), hint=hint)
    hint = f"Name the model whose replies are wanted: {enumeration(journal.models, 'or')}."
    raise KaratError("the file has replies of several models", place=Place(journal.path), hint=hint)


def carry_out(plans: Iterable[Plan], asker: Asker, progress: Progress | None = None) -> Usage:
    """Carry out plans, and return what was asked.

    A request that fails does not stop the others. If none can succeed, as with a wrong key, a KaratError is raised.
    """
    return _Asking(plans, asker, progress).finish()


async def carry_out_async(plans: Iterable[Plan], asker: Asker, progress: Progress | None = None) -> Usage:
    """The same for programs with an event loop, which goes on meanwhile."""
    import asyncio  # most programs have no event loop

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
    """Plans that are carried out together.

    One thread decides what is asked, reads what is known, and writes replies. A pool of workers, `concurrency` of them,
    does nothing but ask the model. A worker gets a call only when it has nothing else to do. So nothing is sent any
    more after an error, and one worker asks in the order of the plans.
    """

    def __init__(self, plans: Iterable[Plan], asker: Asker, progress: Progress | None) -> None:
        self._plans: Iterator[Plan] | None = iter(plans)
        self._asker = asker
        self._progress = progress
        self._sender = Sender(asker)
        self._calls: dict[str, OpenCall] = {}  # those that have no outcome yet, by key
        self._waiting: deque[OpenCall] = deque()  # those that no worker has yet
        self._under_way = self._workers = self._open = self._ended = 0
        self._tasks: SimpleQueue[OpenCall | None] = SimpleQueue()
        # Calls that a worker has ended, or the error that ends everything; None only ends the waiting.
        self._answered: SimpleQueue[tuple[OpenCall, Result | BaseException] | None] = SimpleQueue()
        self._counted: set[int] = set()  # calls, by the hashes of their keys
        self._requests_before = asker.budget.calls
        self._usage = Usage(cost=0.0 if asker.budget.prices else None)

    def stop(self) -> None:
        """Stop as soon as possible; for other threads."""
        self._sender.is_stopped.set()
        self._answered.put(None)

    def finish(self) -> Usage:
        """Carry out everything."""
        try:
            while True:
                self._hand_out()
                answered = self._next_answer() if self._under_way else None
                if answered is None:
                    break
                call, result = answered
                if isinstance(result, BaseException):
                    raise result
                self._under_way -= 1
                self._end(call, *result)
        finally:
            self._sender.is_stopped.set()
            for _ in range(self._workers):
                self._tasks.put(None)
            self._write_arrived()
        return replace(self._usage, requests=self._asker.budget.calls - self._requests_before)

    def _next_answer(self) -> tuple[OpenCall, Result | BaseException] | None:
        """Wait for what a worker puts into the queue."""
        while True:
            # Python on Windows handles Ctrl-C only between two waits.
            with suppress(Empty):
                return self._answered.get(timeout=_SECONDS_PER_WAIT)

    def _hand_out(self) -> None:
        """Give calls to workers until all are busy, and open plans as long as there are not enough calls."""
        while self._under_way < self._asker.concurrency and not self._sender.is_stopped.is_set():
            if self._waiting:
                call = self._waiting.popleft()
                if self._asker.budget.exceeded:
                    self._end(call, "not_asked")
                else:
                    self._give(call)
            elif self._plans is None or self._open >= 2 * self._asker.concurrency:
                break  # open plans that wait for the same call are in memory, too
            elif (plan := next(self._plans, None)) is None:
                self._plans = None
            else:
                self._open += 1
                self._go_on(plan, None)

    def _give(self, call: OpenCall) -> None:
        """Give a call to a worker; the pool grows up to its size."""
        self._under_way += 1
        if self._workers < self._under_way:
            self._workers += 1
            threading.Thread(target=self._work, daemon=True, name="karat-judge").start()
        self._tasks.put(call)

    def _work(self) -> None:
        """Answer calls, as a worker."""
        while (call := self._tasks.get()) is not None:
            try:
                self._answered.put((call, self._sender.ask(call)))
            except BaseException as error:  # which ends everything
                self._sender.is_stopped.set()
                self._answered.put((call, error))

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
        if is_divided(request, asker.max_input_tokens):
            self._count(call, "too_long")
            batch.add(place, call.outcome("too_long", asker.model.name))
        elif key in self._calls:
            self._calls[key].same.append(call)
        elif (known := asker.journal.known(key, request)) is not None:
            batch.add(place, self._known(call, known))
        elif request.if_known:
            batch.add(place, call.outcome("not_asked", asker.model.name))
        elif asker.budget.exceeded or asker.journal.replay:
            self._count(call, "not_asked")
            batch.add(place, call.outcome("not_asked", asker.model.name))
        else:
            self._calls[key] = call
            self._waiting.append(call)

    def _known(self, call: OpenCall, known: KnownCall) -> RequestOutcome:
        """The outcome of a call that was made before."""
        call.reply, call.tokens_in, call.tokens_out = known.reply, known.tokens_in or 0, known.tokens_out or 0
        state: RequestState = "failed"
        if call.reply is not None:
            call.records, call.problem, call.draft = read_reply(call.request, ModelReply(call.reply))
            state = "failed" if call.problem or known.state == "failed" else "done"
        elif known.state == "too_long" and call.request.is_divisible():
            state = "too_long"
        error = known.error or call.problem
        outcome = call.outcome(state, self._asker.model.name, error)
        if not call.request.if_known:
            outcome = replace(outcome, records=tuple(self._asker.journal.reuse(call.key, outcome.records)))
        self._count(call, state, error, known=1)
        return outcome

    def _end(self, call: OpenCall, state: RequestState, error: str | None = None) -> None:
        """A call has ended: write what became of it, and go on with its plan."""
        outcome = call.outcome(state, self._asker.model.name, error)
        if state != "not_asked":
            written = self._asker.journal.write(call_record(outcome, self._asker.settings), outcome.records)
            outcome = replace(outcome, records=tuple(written))
        calls = 0 if state == "not_asked" else 1
        self._count(call, state, error, calls=calls, tokens_in=call.tokens_in, tokens_out=call.tokens_out)
        self._report()
        call.batch.add(call.place, outcome)
        del self._calls[call.key]
        for other in call.same:
            if state == "not_asked":
                self._take(other.request, other.batch, other.place)
            else:
                known = KnownCall.of(call_record(outcome, self._asker.settings))
                other.batch.add(other.place, self._known(other, known))
        for batch in {id(each.batch): each.batch for each in (call, *call.same)}.values():
            if (outcomes := batch.outcomes()) is not None:
                self._go_on(batch.plan, outcomes)

    def _write_arrived(self) -> None:
        """Write the replies that have arrived, because they are paid for; everything ends now, for whatever reason."""
        while not self._answered.empty():
            call, result = self._answered.get() or (None, None)
            if call is not None and isinstance(result, Result) and result.state == "done":
                outcome = call.outcome("done", self._asker.model.name)
                with suppress(Exception):  # the first error is the one that counts
                    self._asker.journal.write(call_record(outcome, self._asker.settings), outcome.records)

    def _count(self, call: OpenCall, state: RequestState, error: str | None = None, **more: int) -> None:
        """Count what became of a call, once for all requests with its key."""
        if hash(call.key) in self._counted:
            return
        self._counted.add(hash(call.key))
        if state == "failed":
            self._asker.add_failure(call.request.prompt, error, has_reply=call.reply is not None)
        totals = {name: getattr(self._usage, name) + number for name, number in {**more, state: 1}.items()}
        prices = self._asker.budget.prices
        self._usage = replace(self._usage, **totals, requests=self._asker.budget.calls - self._requests_before)
        if prices:
            self._usage = replace(self._usage, cost=prices.cost(self._usage.tokens_in, self._usage.tokens_out))

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._ended, self._usage)
