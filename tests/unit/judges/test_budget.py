"""Limits on calls, tokens and cost are never exceeded, and tokens are counted about right."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.grounding.judges.asking import carry_out
from karat.grounding.judges.budget import CallBudget, Prices, count_tokens, most_tokens
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.requests import CallError, ModelReply, ServerBusyError
from karat.grounding.judges.sending import Asker
from tests.unit.judges.scripted import SETTINGS, FakeClock, ScriptedModel, plans

limits = st.none() | st.integers(0, 40_000)


@given(
    st.none() | st.integers(0, 30), limits, st.none() | st.integers(0, 100), st.integers(1, 64), st.integers(0, 10**6)
)
def test_limits_are_never_exceeded_whatever_happens(
    max_calls: int | None, max_tokens: int | None, max_cost: int | None, concurrency: int, seed: int
) -> None:
    prices = Prices(1000.0, 5000.0)
    spent: list[tuple[int, int]] = []
    chance = random.Random(seed)
    lock = threading.Lock()

    def rule(number: int, messages: Any, settings: Any) -> Any:
        with lock:
            kind = chance.choice(["good", "good", "long", "unreadable", "cut", "busy", "lost"])
            tokens_in = chance.randint(1, most_tokens([message["content"] for message in messages]))
            tokens_out = settings.max_tokens if kind in ("long", "cut", "lost") else chance.randint(1, 50)
            if kind == "busy":
                return ServerBusyError("wait")
            spent.append((tokens_in, tokens_out))
        if kind == "lost":
            return CallError("the connection failed", again=True, may_cost=True)
        text = "no" if kind == "unreadable" else '{"lab' if kind == "cut" else '{"label": 1}'
        return ModelReply(text, tokens_in, tokens_out, is_cut=kind == "cut")

    model = ScriptedModel(rule)
    budget = CallBudget(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost, prices=prices)
    asker = Asker(model, SETTINGS, Journal(), concurrency=concurrency, budget=budget, clock=FakeClock())
    usage = carry_out(plans(12, []), asker)
    assert usage.requests == len(model.asked)
    assert usage.done + usage.failed + usage.not_asked == 12
    assert max_calls is None or len(model.asked) <= max_calls
    assert max_tokens is None or sum(map(sum, spent)) <= max_tokens
    assert max_cost is None or sum(prices.cost(*tokens) for tokens in spent) <= max_cost + 1e-9
    if max_calls is max_tokens is max_cost is None:
        assert usage.not_asked == 0


def test_what_others_cost_is_waited_for_before_the_rest_is_given_up() -> None:
    model = ScriptedModel(lambda *_: '{"label": 1}')
    asker = Asker(model, SETTINGS, Journal(), budget=CallBudget(max_tokens=2450), clock=FakeClock())
    usage = carry_out(plans(10, []), asker)  # a request may need 2,199 tokens and needs 110
    assert (usage.done, usage.not_asked) == (3, 7)
    note = "not everything was asked: another request, with up to 2,199 tokens, may exceed the limit of tokens"
    assert asker.notes == [note]


def test_reservations_of_many_threads_are_never_more_than_the_limit() -> None:
    budget = CallBudget(max_calls=1000, max_tokens=50_000)
    reserved: list[bool] = []

    def reserve() -> None:
        for _ in range(50):
            most = budget.charge(90, 10)
            if budget.reserve(most, threading.Event()):
                reserved.append(True)
                budget.settle(most, budget.charge(40, 10))

    threads = [threading.Thread(target=reserve) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 999 - 64 <= len(reserved) <= 1000


@pytest.mark.parametrize("limit", [{"max_calls": 1}, {"max_tokens": 100}, {"max_cost": 1.0}])
def test_each_attempt_is_booked_before_it_is_made(limit: dict[str, Any]) -> None:
    """Two are under way with what each may cost reserved, so that a limit for one of them lets the second one wait."""
    prices = Prices(10_000.0, 10_000.0)
    budget, stop = CallBudget(**limit, prices=prices), threading.Event()
    most = budget.charge(50, 50)
    assert budget.reserve(most, stop)
    waiting = threading.Thread(target=budget.reserve, args=(most, stop))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert (budget.calls, budget.exceeded) == (1, None)
    budget.settle(most, budget.charge(50, 0))
    waiting.join()
    name = {"max_calls": "calls", "max_tokens": "tokens", "max_cost": "cost"}[next(iter(limit))]
    assert (budget.calls, str(budget.exceeded).endswith(f"may exceed the limit of {name}")) == (1, True)


def test_whoever_waits_for_the_budget_ends_when_everything_stops() -> None:
    budget, stop = CallBudget(max_calls=1), threading.Event()
    assert budget.reserve(budget.charge(1, 1), stop)
    stop.set()
    assert not budget.reserve(budget.charge(1, 1), stop)
    assert budget.exceeded is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Gold is a chemical element with the symbol Au and the atomic number 79.", 16),
        ("def mean(values: list[float]) -> float:\n    return sum(values) / len(values)\n", 20),
        ('{"question": "Who?", "items": [{"item": 1, "text": "Gold is soft."}]}', 25),
        ("金は貴金属の一種であり、元素記号はAu、原子番号は79である。", 26),
        ("Золото — благородный металл жёлтого цвета.", 13),
    ],
)
def test_tokens_are_counted_about_as_o200k_counts_them(text: str, tokens: int) -> None:
    assert count_tokens(text) == pytest.approx(tokens, rel=0.2)


def test_any_text_has_tokens_but_not_more_than_bytes() -> None:
    for text in ("\ud800\x00", "a" * 1000, " " * 1000, "\n" * 1000, "🙂" * 100, "\u0301" * 100):
        assert 0 < count_tokens(text) <= most_tokens([text])
