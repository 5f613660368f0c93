"""What judging will cost: plans are carried out with replies that are assumed, and nothing is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from karat.grounding.judges.asking import model_settings
from karat.grounding.judges.assignments import Assignment
from karat.grounding.judges.budget import Prices, cost_text, count_tokens, is_divided, request_tokens
from karat.grounding.judges.examples import judge_prompts
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.model import model_name
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.requests import ModelReply, ModelRequest, ModelSettings, Plan, RequestOutcome, read_reply
from karat.output.tables import Cell, Table

_TOKENS = "tokens are counted roughly, with a short sentence as the reason for each label"
_CLAIMS = ", and with the sentences of a text as its claims or nuggets"
_REPEATED = (
    "requests that have to be repeated are not included, nor those that have to be divided because they are too long"
)
_SHARED = "a call that several tasks need is counted for the first of them"


@dataclass(frozen=True)
class Estimate:
    """What judging will take, about: new calls, calls whose replies are known, tokens of the new calls, and cost.

    >>> import karat
    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> estimate = karat.estimate_judging(results, task="context", price_in=0.5, price_out=2)
    >>> estimate.calls, estimate.known, estimate.cost is not None
    (1, 0, True)
    """

    calls: int
    known: int
    tokens_in: int
    tokens_out: int
    cost: float | None = None
    """if prices are given"""
    notes: tuple[str, ...] = ()
    tasks: Mapping[str, Estimate] = field(default_factory=dict)
    """the parts of several tasks; a call that several of them need is counted for the first"""

    def table(self) -> Table:
        """The estimate as a table: of several tasks a row each, and their total."""
        rows = {**self.tasks, "total": self}
        columns = ("new calls", "in the file", "tokens in", "tokens out", *(["cost"] if self.cost is not None else []))
        notes = tuple(f"note: {note}." for note in self.notes)
        if not self.tasks:
            return Table(columns, (self._cells(),), notes, labels=0)
        return Table(("task", *columns), tuple((Cell(name), *row._cells()) for name, row in rows.items()), notes)

    def _cells(self) -> tuple[Cell, ...]:
        numbers = (f"{number:,}" for number in (self.calls, self.known, self.tokens_in, self.tokens_out))
        return tuple(map(Cell, (*numbers, *([cost_text(self.cost)] if self.cost is not None else []))))

    def __str__(self) -> str:
        return self.table().text()


def estimate(assignment: Assignment, options: JudgeOptions, path: str | None) -> Estimate:
    """How many calls are needed that are not in the verdict file, and what they may cost; nothing is asked."""
    prompts, notes_on_examples = judge_prompts(assignment, options)
    is_there = path is not None and os.path.exists(path)
    with Journal(path if is_there else None, read_only=True, retry_failed=options.retry_failed) as journal:
        name = "" if options.model is None else model_name(options.model)
        name = name or (journal.models[0] if len(journal.models) == 1 else "")
        prices = Prices.of(options.price_in, options.price_out)
        estimator = _Estimator(journal, model_settings(options, name), prices, options.max_input_tokens)
        tasks, notes = {}, [*journal.notes, *assignment.notes, *notes_on_examples]
        for task, make in assignment.plans.items():
            plans = make(journal, prompts, name, options.samples, options.seed)
            notes += plans.notes
            tasks[task] = estimator.estimate(plans)
    notes += [_TOKENS + (_CLAIMS if estimator.extracts else ""), _REPEATED]
    if estimator.shares_calls:
        notes.append(_SHARED)
    parts = tasks.values()
    return Estimate(
        calls=sum(part.calls for part in parts),
        known=sum(part.known for part in parts),
        tokens_in=sum(part.tokens_in for part in parts),
        tokens_out=sum(part.tokens_out for part in parts),
        cost=sum(part.cost or 0.0 for part in parts) if prices else None,
        notes=tuple(dict.fromkeys(notes)),
        tasks=tasks if len(tasks) > 1 else {},
    )


class _Estimator:
    """Carries out plans without asking: replies that are not known say what requests expect."""

    def __init__(self, journal: Journal, settings: ModelSettings, prices: Prices | None, most: int | None) -> None:
        self._journal, self._settings, self._prices, self._max_input_tokens = journal, settings, prices, most
        self._task_of: dict[int, int] = {}  # of the calls so far, by the hash of their key
        self._task = self._calls = self._known = self._tokens_in = self._tokens_out = 0
        self.extracts = self.shares_calls = False

    def estimate(self, plans: Iterable[Plan]) -> Estimate:
        """What the plans of a task take besides those of earlier tasks."""
        self._task += 1
        self._calls = self._known = self._tokens_in = self._tokens_out = 0
        for plan in plans:
            outcomes: list[RequestOutcome] | None = None
            while True:
                try:
                    requests = next(plan) if outcomes is None else plan.send(outcomes)
                except StopIteration:
                    break
                outcomes = [self._outcome(request) for request in requests]
        cost = self._prices.cost(self._tokens_in, self._tokens_out) if self._prices else None
        return Estimate(self._calls, self._known, self._tokens_in, self._tokens_out, cost)

    def _outcome(self, request: ModelRequest) -> RequestOutcome:
        """What the reply says that is known, or is expected."""
        key = self._settings.key(request)
        if is_divided(request, self._max_input_tokens):
            return RequestOutcome(request, key, "too_long")
        call = self._journal.known(key, request)
        if call is None and request.if_known:
            return RequestOutcome(request, key, "not_asked")
        is_new = hash(key) not in self._task_of
        self.shares_calls |= self._task_of.setdefault(hash(key), self._task) != self._task
        if call is not None:
            self._known += is_new
            if call.state == "too_long" and request.is_divisible():
                return RequestOutcome(request, key, "too_long")
            read = read_reply(request, ModelReply(call.reply or ""))
            records = tuple(self._journal.as_corrected(key, read.records))
            return RequestOutcome(request, key, "failed" if read.problem else "done", records, draft=read.draft)
        if is_new:
            self._calls += 1
            self._tokens_in += request_tokens(request)
            self._tokens_out += count_tokens(json.dumps(request.expected, ensure_ascii=False))
        read = request.read(request.expected)
        self.extracts |= any(record["record"] == "item" for record in read.records)
        return RequestOutcome(request, key, "done", read.records, draft=read.draft)
