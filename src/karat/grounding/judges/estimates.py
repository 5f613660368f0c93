"""What judging will cost: plans are carried out with replies that are assumed, and nothing is asked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from karat.grounding.judges.asking import model_settings
from karat.grounding.judges.assignments import Assignment
from karat.grounding.judges.budget import Prices, cost_text, count_tokens
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.model import model_name
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.requests import ModelReply, ModelRequest, ModelSettings, Plan, RequestOutcome, read_reply
from karat.output.tables import Cell, Table

_TOKENS = "tokens are counted roughly, with a short sentence as the reason for each label"
_CLAIMS = ", and with the sentences of a text as its claims or nuggets"
_REPEATED = "requests that have to be repeated are not included"


@dataclass(frozen=True)
class Estimate:
    """What judging will take, about: new calls, calls whose replies are known, tokens of the new calls, and cost."""

    calls: int
    known: int
    tokens_in: int
    tokens_out: int
    cost: float | None = None
    """if prices are given"""
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """The estimate as a table."""
        numbers = {"new calls": self.calls, "in the file": self.known, "tokens in": self.tokens_in}
        cells = {name: f"{number:,}" for name, number in {**numbers, "tokens out": self.tokens_out}.items()}
        if self.cost is not None:
            cells["cost"] = cost_text(self.cost)
        notes = tuple(f"note: {note}." for note in self.notes)
        return Table(tuple(cells), (tuple(map(Cell, cells.values())),), notes, labels=0)

    def __str__(self) -> str:
        return self.table().text()


def estimate(assignment: Assignment, options: JudgeOptions, path: str | None) -> Estimate:
    """How many calls are needed that are not in the verdict file, and what they may cost; nothing is asked."""
    is_there = path is not None and os.path.exists(path)
    with Journal(path if is_there else None, read_only=True, retry_failed=options.retry_failed) as journal:
        name = "" if options.model is None else model_name(options.model)
        name = name or (journal.models[0] if len(journal.models) == 1 else "")
        plans = assignment.plans(journal, load_prompts(options.prompts), name, options.samples, options.seed)
        notes = [*journal.notes, *assignment.notes, *plans.notes]
        prices = Prices.of(options.price_in, options.price_out)
        return _estimated(plans, journal, model_settings(options, name), prices, notes)


def _estimated(
    plans: Iterable[Plan], journal: Journal, settings: ModelSettings, prices: Prices | None, notes: Sequence[str]
) -> Estimate:
    """Carry out plans without asking: replies that are not known say what requests expect."""
    known: set[int] = set()
    new: set[int] = set()
    tokens_in = tokens_out = 0
    extracts = False

    def outcome(request: ModelRequest) -> RequestOutcome:
        nonlocal tokens_in, tokens_out, extracts
        key = settings.key(request)
        call = journal.known(key)
        if call is not None:
            known.add(hash(key))
            if call.state == "too_long" and request.is_divisible():
                return RequestOutcome(request, key, "too_long")
            read = read_reply(request, ModelReply(call.reply or ""))
            records = tuple(journal.as_corrected(key, read.records))
            return RequestOutcome(request, key, "failed" if read.problem else "done", records, draft=read.draft)
        if hash(key) not in new:
            new.add(hash(key))
            schema = json.dumps(request.schema)
            tokens_in += sum(map(_tokens, (*(message["content"] for message in request.messages), schema)))
            tokens_out += count_tokens(json.dumps(request.expected, ensure_ascii=False))
        read = request.read(request.expected)
        extracts |= any(record["record"] == "item" for record in read.records)
        return RequestOutcome(request, key, "done", read.records, draft=read.draft)

    for plan in plans:
        outcomes: list[RequestOutcome] | None = None
        while True:
            try:
                requests = next(plan) if outcomes is None else plan.send(outcomes)
            except StopIteration:
                break
            outcomes = [outcome(request) for request in requests]
    cost = prices.cost(tokens_in, tokens_out) if prices else None
    about_claims = _CLAIMS if extracts else ""
    return Estimate(len(new), len(known), tokens_in, tokens_out, cost, (*notes, f"{_TOKENS}{about_claims}", _REPEATED))


@lru_cache(maxsize=256)
def _tokens(text: str) -> int:
    """The tokens of a text; those of prompts and schemas are counted once."""
    return count_tokens(text)
