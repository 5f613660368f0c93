"""What requests may cost, and what they have cost."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from karat.arguments import as_count, as_number
from karat.errors import KaratError, shown

_MILLION = 1_000_000
_PRICES = "Pass what a million tokens cost, such as price_in=0.4 and price_out=1.6."
_TOKENS_PER_MESSAGE = 16  # roles and separators


class Prices(NamedTuple):
    """What a million tokens cost, in any currency."""

    input: float
    output: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / _MILLION


def read_prices(price_in: object, price_out: object) -> Prices | None:
    """The prices per million tokens, checked; None if neither is given."""
    if price_in is None and price_out is None:
        return None
    prices = []
    both = (("price_in", price_in), ("price_out", price_out))
    for (name, given), (_, other) in zip(both, both[::-1], strict=True):
        if other is None:
            raise KaratError(f"{name}={shown(given)} needs the other price, too", hint=_PRICES)
        price = as_number(given)
        if price is None or not 0 <= price < math.inf:
            raise KaratError(f"{name}={shown(given)} is not a number of 0 or more", hint=_PRICES)
        prices.append(price)
    return Prices(*prices)


@dataclass(frozen=True)
class Usage:
    """What was asked, and what it cost."""

    calls: int = 0
    """requests that were sent, repeated ones included"""
    known: int = 0
    """requests whose replies were known already"""
    done: int = 0
    """requests whose replies were understood, known ones included"""
    failed: int = 0
    not_asked: int = 0
    """requests that were not sent, because of a limit"""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """if prices are given"""


class Charge(NamedTuple):
    """Tokens, and what they cost."""

    tokens: int
    cost: float


class CallBudget:
    """Limits that are never exceeded: what a request may cost is reserved before it is sent, and settled afterwards."""

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.prices = prices
        self._limits = {
            "max_calls": _limit("max_calls", max_calls),
            "max_tokens_total": _limit("max_tokens_total", max_tokens),
            "max_cost": _cost_limit(max_cost),
        }
        if max_cost is not None and prices is None:
            raise KaratError(f"max_cost={shown(max_cost)} needs prices", hint=_PRICES)
        self._calls = self._tokens = 0
        self._cost = 0.0
        self._lock = threading.Lock()

    def charge(self, tokens_in: int, tokens_out: int) -> Charge:
        """What so many tokens cost; nothing without prices."""
        return Charge(tokens_in + tokens_out, self.prices.cost(tokens_in, tokens_out) if self.prices else 0.0)

    def reserve(self, most: Charge) -> bool:
        """Reserve what a request may cost at most, unless that is more than what is left."""
        with self._lock:
            if self._exceeded_by(most):
                return False
            self._calls += 1
            self._tokens += most.tokens
            self._cost += most.cost
        return True

    def settle(self, reserved: Charge, actual: Charge) -> None:
        """A request has ended, and this is what it cost."""
        with self._lock:
            self._tokens += actual.tokens - reserved.tokens
            self._cost += actual.cost - reserved.cost

    def exceeded_by(self, most: Charge) -> str | None:
        """The limit that a request may exceed."""
        with self._lock:
            return self._exceeded_by(most)

    def _exceeded_by(self, most: Charge) -> str | None:
        totals = (self._calls + 1, self._tokens + most.tokens, self._cost + most.cost)
        for (name, limit), total in zip(self._limits.items(), totals, strict=True):
            if limit is not None and total > limit:
                return name
        return None


def _limit(name: str, value: object) -> float | None:
    if value is None:
        return None
    limit = as_count(value, 0)
    if limit is None:
        raise KaratError(f"{name}={shown(value)} is not a whole number of 0 or more")
    return limit


def _cost_limit(value: object) -> float | None:
    if value is None:
        return None
    limit = as_number(value)
    if limit is None or not limit >= 0:
        raise KaratError(f"max_cost={shown(value)} is not a number of 0 or more")
    return limit


def count_tokens(text: str) -> int:
    """About how many tokens a model reads in a text, by a count of its own: words, parts of long words, numbers, signs.

    Compared with the vocabularies o200k and cl100k of tiktoken, it counts 0.96–1.07 times as many tokens in English
    prose, Markdown, HTML, JSON and Python; 1.2–1.35 and 0.75–0.95 times in Chinese, Japanese and Korean; 0.85 and 0.7
    times in German; 1.3 and 0.75 times in Russian; 1.0 and 0.4 times in Arabic and Hindi.

    >>> count_tokens("18-karat gold is three quarters gold."), count_tokens("黄金是一种贵金属")
    (9, 8)
    """
    return len(_token().findall(text))


def most_tokens(texts: list[str]) -> int:
    """The most tokens that messages can have: a token is at least a byte."""
    return sum(len(text.encode(errors="surrogatepass")) + _TOKENS_PER_MESSAGE for text in texts)


@cache
def _token() -> re.Pattern[str]:
    """What is counted as a token."""
    letter = "[A-Za-z\u00c0-\u024f]"
    parts = [
        rf"(?<!{letter}){letter}{{1,9}}|{letter}{{1,4}}",
        r"[0-9]{1,3}",
        r"\s*\n\s*|\s{2,64}",
        r"[!-/:-@\[-`{-~]{1,3}",
        "[\u0250-\u1fff]{1,3}",  # alphabets other than the Latin one
        "[\u2000-\U0010ffff]",  # CJK, signs, emoji
    ]
    return re.compile("|".join(parts))
