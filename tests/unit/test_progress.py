"""The progress bar: for long work, on a terminal, and nowhere else."""

from __future__ import annotations

import io

import numpy as np
import pytest

from karat.answers import Answers
from karat.answers.models import TextPairs
from karat.answers.similarity import similarity
from karat.judged import Floats
from karat.output import progress


class Terminal(io.StringIO):
    """Standard error, with somebody looking at it."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Not a fixture: between that and the test pytest puts its own standard error there.
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def far(pairs: TextPairs, batch_size: int) -> Floats:
    return np.zeros(len(pairs))


MANY = Answers(tuple(map(str, range(100))), [[f"gold {at}"] for at in range(100)], [f"said {at}" for at in range(100)])


def test_comparing_many_answers_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LONG", -1)
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert "/100" in screen.getvalue()
    assert "answers" in screen.getvalue()


def test_what_is_done_soon_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("screen", [io.StringIO(), None])
def test_in_a_pipe_there_is_no_bar(screen: io.StringIO | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LONG", -1)
    monkeypatch.setattr("sys.stderr", screen)
    similarity(MANY, far, batch_size=1)
    assert screen is None or screen.getvalue() == ""
    with progress.progress_bar("bytes") as bar:
        assert bar is None
