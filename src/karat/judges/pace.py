"""How many requests are sent at the same time, and when: more while the server keeps up, fewer when it is busy."""

from __future__ import annotations

import math
import random
import time
from queue import Empty, SimpleQueue
from typing import TypeVar

MOST_AT_ONCE = 64
MOST_REPEATS = 6
"""how often a request is repeated that got no reply"""
FIRST_WAIT = 1.0
"""seconds until a request is repeated for the first time; twice as many each time after that"""
_LONGEST_WAIT = 30.0

Arrived = TypeVar("Arrived")


class Clock:
    """The time, and waiting for what arrives from other threads."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, arrivals: SimpleQueue[Arrived], seconds: float | None, *, are_expected: bool) -> Arrived | None:  # noqa: ARG002  # for clocks of tests
        """The next arrival, or None if there is none for so many seconds."""
        try:
            return arrivals.get(timeout=seconds)
        except Empty:
            return None


class Pace:
    """Additive increase, multiplicative decrease: one more after as many good replies as are allowed at once.

    If the server is busy, half as many. Requests that were sent before that say nothing new: they were too many at the
    time, so that one moment of overload halves once. Replies that took longer than `slow` seconds add none: the server
    may let requests wait for each other.
    """

    def __init__(self, start: int, most: int = MOST_AT_ONCE, *, slow: float = math.inf, seed: int = 42) -> None:
        self.limit = start
        """how many requests may be under way now"""
        self.resume_at = 0.0
        """no request is sent before this time"""
        self._most = max(start, most)
        self._slow = slow
        self._good = 0
        self._last_decrease = -math.inf
        self._random = random.Random(seed)  # noqa: S311  # not for cryptography

    def good(self, sent_at: float, now: float, requests_left: int | None = None, wait: float | None = None) -> None:
        """A reply came, with what the server says about its limits: how many requests, after how many seconds."""
        self._good += now - sent_at <= self._slow
        if self._good >= self.limit:
            self._good = 0
            self.limit = min(self.limit + 1, self._most)
        if requests_left is not None:
            self.limit = max(1, min(self.limit, requests_left))
        self._pause(now, wait)

    def busy(self, sent_at: float, now: float, wait: float | None = None) -> None:
        """The server refused a request because it has too many."""
        if sent_at > self._last_decrease:
            self.limit = max(1, self.limit // 2)
            self._good = 0
            self._last_decrease = now
        self._pause(now, wait)

    def repeat_after(self, repeats: int) -> float:
        """Seconds until a request is repeated for the n-th time, from 1; not the same for all, so that they spread."""
        wait = min(FIRST_WAIT * 2.0 ** (repeats - 1), _LONGEST_WAIT)
        return float(wait * self._random.uniform(0.75, 1.25))

    def _pause(self, now: float, wait: float | None) -> None:
        if wait:
            self.resume_at = max(self.resume_at, now + wait)
