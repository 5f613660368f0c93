"""More requests at a time while replies are good, fewer when the server is busy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.judges.pace import Pace


def test_one_more_after_as_many_good_replies_as_are_sent_at_once() -> None:
    pace = Pace(8)
    limits = []
    for now in range(8 + 9 + 10):
        pace.good(now, now)
        limits.append(pace.limit)
    assert limits == [8] * 7 + [9] * 9 + [10] * 10 + [11]


def test_never_more_than_the_most() -> None:
    pace = Pace(60)
    for now in range(1000):
        pace.good(now, now)
    assert pace.limit == 64
    pace = Pace(3, 3)
    for now in range(100):
        pace.good(now, now)
    assert pace.limit == 3


def test_a_moment_of_overload_halves_once() -> None:
    pace = Pace(16)
    for _ in range(16):
        pace.busy(sent_at=1.0, now=2.0)
    assert pace.limit == 8
    pace.busy(sent_at=2.5, now=3.0)
    assert pace.limit == 4
    for now in range(10, 20):
        pace.busy(sent_at=now, now=now + 0.5)
    assert pace.limit == 1


def test_slow_replies_add_none() -> None:
    pace = Pace(2, slow=15)
    for _ in range(100):
        pace.good(sent_at=0.0, now=15.5)
    assert pace.limit == 2


def test_what_the_server_says_about_its_limits_is_obeyed() -> None:
    pace = Pace(8)
    pace.good(1.0, 1.0, requests_left=3)
    assert (pace.limit, pace.resume_at) == (3, 0.0)
    pace.good(2.0, 2.0, requests_left=0, wait=6.0)
    assert (pace.limit, pace.resume_at) == (1, 8.0)
    pace.busy(3.0, 4.0, wait=1.0)
    assert pace.resume_at == 8.0  # the later of the two
    pace.busy(3.0, 4.0, wait=30.0)
    assert pace.resume_at == 34.0


def test_waits_double_up_to_half_a_minute_and_are_spread_in_the_same_way_each_time() -> None:
    waits = [Pace(1).repeat_after(repeats) for repeats in range(1, 7)]
    for wait, about in zip(waits, [1, 2, 4, 8, 16, 30], strict=True):
        assert wait == pytest.approx(about, rel=0.25)
    pace, same = Pace(1), Pace(1)
    several = [pace.repeat_after(1) for _ in range(10)]
    assert several == [same.repeat_after(1) for _ in range(10)]
    assert len(set(several)) == 10


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 20)), max_size=50), st.integers(1, 64))
def test_the_limit_is_always_between_one_and_the_most(events: list[tuple[bool, int]], start: int) -> None:
    pace = Pace(start)
    for now, (is_good, number) in enumerate(events):
        if is_good:
            pace.good(now, now, number)
        else:
            pace.busy(now - number, now)
        assert 1 <= pace.limit <= 64
