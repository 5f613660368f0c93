"""What requests may cost, and what they have cost."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, Self

from karat.errors import KaratError, Parameter, plural
from karat.grounding.judges.requests import ModelRequest
from karat.output.tables import Cell, Table

_MILLION = 1_000_000
_TOKENS_PER_MESSAGE = 16  # roles and separators
_SECONDS_BETWEEN_CHECKS = 0.1  # whether everything is to stop
_ROUNDING = 1e-9  # of sums of costs


class Prices(NamedTuple):
    """What a million tokens cost, in any currency."""

    input: float
    output: float

    @classmethod
    def of(cls, price_in: float | None, price_out: float | None) -> Self | None:
        """The prices, if both are given."""
        return None if price_in is None or price_out is None else cls(price_in, price_out)

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / _MILLION


@dataclass(frozen=True)
class Usage:
    """What was asked, and what it cost. A call is one question to the model, by its key, and is counted once."""

    calls: int = 0
    """calls that were made now; the next run finds them in the file, except those without a reply"""
    known: int = 0
    """calls that were in the file already"""
    done: int = 0
    """calls whose replies were understood, known ones included"""
    failed: int = 0
    """calls that got no reply, or none that was understood, known ones included"""
    too_long: int = 0
    """calls that did not fit into the context window of the model, which was asked about their parts instead"""
    not_asked: int = 0
    """calls that were not made, because of a limit"""
    requests: int = 0
    """how often something was sent: more often than there are calls, if some were repeated"""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    """if prices are given"""

    def __str__(self) -> str:
        """What was asked, in a line.

        >>> print(Usage(calls=24, known=388, done=409, failed=3, tokens_in=120_000, tokens_out=9_000, cost=0.31))
        24 calls (388 more were in the file), 3 failed, 120,000 tokens in, 9,000 out, cost 0.31
        >>> print(Usage(calls=24, requests=26, done=24, tokens_in=120_000, tokens_out=9_000))
        24 calls in 26 requests, 0 failed, 120,000 tokens in, 9,000 out
        """
        requests = f" in {plural(self.requests, 'request')}" if self.requests > self.calls else ""
        known = f" ({self.known:,} more {'was' if self.known == 1 else 'were'} in the file)" if self.known else ""
        not_asked = f", {self.not_asked:,} not asked" if self.not_asked else ""
        tokens = f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out{self._cost_text()}"
        return f"{plural(self.calls, 'call')}{requests}{known}, {self.failed:,} failed{not_asked}, {tokens}"

    def table(self, notes: Iterable[str] = ()) -> Table:
        """What was asked, as a table with notes."""
        numbers = {"calls": self.calls, "in the file": self.known, "failed": self.failed, "not asked": self.not_asked}
        cells = {name: f"{number:,}" for name, number in numbers.items()}
        cells |= {"tokens in": f"{self.tokens_in:,}", "tokens out": f"{self.tokens_out:,}"}
        if self.cost is not None:
            cells["cost"] = cost_text(self.cost)
        return Table(tuple(cells), (tuple(map(Cell, cells.values())),), tuple(notes), labels=0)

    @property
    def short_text(self) -> str:
        """What was asked so far, short enough for a progress bar.

        >>> Usage(calls=24, known=388, done=409, failed=3, tokens_in=120_000, tokens_out=9_000, cost=0.31).short_text
        '24 calls, 3 failed, 129,000 tokens, cost 0.31'
        """
        tokens = f"{self.tokens_in + self.tokens_out:,} tokens"
        return f"{plural(self.calls, 'call')}, {self.failed:,} failed, {tokens}{self._cost_text()}"

    @property
    def is_failure(self) -> bool:
        """Whether everything that was to be asked has failed."""
        return self.failed > 0 and not self.done

    def _cost_text(self) -> str:
        return "" if self.cost is None else f", cost {cost_text(self.cost)}"


def cost_text(cost: float) -> str:
    """A cost in any currency, with more digits if it is small.

    >>> cost_text(1234.5), cost_text(0.0123)
    ('1,234.50', '0.0123')
    """
    return f"{cost:,.2f}" if cost >= 0.1 or not cost else f"{cost:.4f}"


class Charge(NamedTuple):
    """Tokens, and what they cost."""

    tokens: int
    cost: float


class CallBudget:
    """Limits that are never exceeded: what an attempt may cost is reserved before, and settled afterwards.

    If it is not known what an attempt has cost, what was reserved for it stays booked.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        prices: Prices | None = None,
    ) -> None:
        self.prices = prices
        self.calls = 0
        """attempts so far"""
        self.exceeded: str | None = None
        """which limit another attempt may exceed, as a sentence; nothing more is sent then"""
        self._limits: dict[str, float | None] = {"calls": max_calls, "tokens": max_tokens, "cost": max_cost}
        self._open = self._tokens = 0
        self._cost = 0.0
        self._unknown = self._unknown_tokens = 0  # attempts of which it is not known what they cost
        self._settled = threading.Condition()

    @property
    def notes(self) -> list[str]:
        """Which limit was reached, and how much of it is not known to be spent."""
        notes = [f"not everything was asked: {self.exceeded}"] if self.exceeded else []
        if self._unknown and (self._limits["tokens"] is not None or self._limits["cost"] is not None):
            says = f"{plural(self._unknown, 'request')} got no answer that says how many tokens were used"
            most = f"{'it' if self._unknown == 1 else 'them'}, {plural(self._unknown_tokens, 'token')}"
            notes.append(f"{says}: the limits count the most that is possible for {most}")
        totals = {"tokens": self._tokens, "cost": self._cost}
        for name, total in totals.items():
            limit = self._limits[name]
            if limit is not None and total > limit * (1 + _ROUNDING):
                amount = cost_text(total) if name == "cost" else f"{total:,}"
                notes.append(f"the limit of {name} was exceeded ({amount}), by replies longer than max_tokens allows")
        return notes

    def charge(self, tokens_in: int, tokens_out: int) -> Charge:
        """What so many tokens cost; nothing without prices."""
        return Charge(tokens_in + tokens_out, self.prices.cost(tokens_in, tokens_out) if self.prices else 0.0)

    def reserve(self, most: Charge, is_stopped: threading.Event) -> bool:
        """Reserve what an attempt may cost at most; False if that is more than what is left, or if all is to stop.

        As long as others are under way, they are waited for: they may cost less than what is reserved for them.
        """
        with self._settled:
            while self.exceeded is None and not is_stopped.is_set():
                limit = self._exceeded_by(most)
                if limit is None:
                    self.calls += 1
                    self._open += 1
                    self._tokens += most.tokens
                    self._cost += most.cost
                    return True
                if self._open:
                    self._settled.wait(_SECONDS_BETWEEN_CHECKS)
                else:
                    tokens = "" if limit == "calls" else f", with up to {most.tokens:,} tokens,"
                    self.exceeded = f"another request{tokens} may exceed the limit of {limit}"
        return False

    def settle(self, reserved: Charge, actual: Charge, *, is_known: bool = True) -> None:
        """An attempt has ended, and this is what it cost, or the most that it can have cost."""
        with self._settled:
            self._open -= 1
            if not is_known:
                self._unknown += 1
                self._unknown_tokens += actual.tokens
            self._tokens += actual.tokens - reserved.tokens
            self._cost += actual.cost - reserved.cost
            self._settled.notify_all()

    def _exceeded_by(self, most: Charge) -> str | None:
        """The limit that an attempt may exceed."""
        totals = (self.calls + 1, self._tokens + most.tokens, self._cost + most.cost)
        for (name, limit), total in zip(self._limits.items(), totals, strict=True):
            if limit is not None and total > limit:
                return name
        return None


def count_tokens(text: str) -> int:
    """About how many tokens a model reads in a text, by a count of its own: words, parts of long words, numbers, signs.

    Compared with the vocabularies o200k and cl100k of tiktoken, it counts 0.96–1.07 times as many tokens in English
    prose, Markdown, HTML, JSON and Python; 1.2–1.35 and 0.75–0.95 times in Chinese, Japanese and Korean; 0.85 and 0.7
    times in German; 1.3 and 0.75 times in Russian; 1.0 and 0.4 times in Arabic and Hindi.

    >>> count_tokens("18-karat gold is three quarters gold."), count_tokens("黄金是一种贵金属")
    (9, 8)
    """
    return len(_token().findall(text))


def request_tokens(request: ModelRequest) -> int:
    """About how many tokens a request has."""
    return _fixed_tokens(request) + sum(count_tokens(message["content"]) for message in request.messages[1:])


def is_divided(request: ModelRequest, limit: int | None) -> bool:
    """Whether a request has more tokens than a limit, and can be divided; one without room for texts is an error."""
    if limit is None or request_tokens(request) <= limit or not request.is_divisible():
        return False
    if limit < 2 * (fixed := _fixed_tokens(request)):
        what = f" is too small for the prompt {request.prompt}, which has about {fixed:,} tokens without any texts"
        raise KaratError([Parameter("max_input_tokens", limit), what], hint=f"Allow {2 * fixed:,} or more.")
    return True


def _fixed_tokens(request: ModelRequest) -> int:
    """About how many tokens the prompt and the schema have, which are the same in many requests."""
    return _known_tokens(request.messages[0]["content"]) + _known_tokens(json.dumps(request.schema))


_known_tokens = lru_cache(maxsize=256)(count_tokens)


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
