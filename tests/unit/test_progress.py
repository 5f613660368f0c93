"""The progress bar is shown for long work on a terminal, and nowhere else."""

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
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    # Not a fixture: pytest would replace standard error between the fixture and the test.
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def far(pairs: TextPairs, batch_size: int) -> Floats:
    return np.zeros(len(pairs))


MANY = Answers(tuple(map(str, range(100))), [[f"gold {at}"] for at in range(100)], [f"said {at}" for at in range(100)])


def test_comparing_many_answers_shows_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert "/100" in screen.getvalue()
    assert "answers" in screen.getvalue()


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("screen", [io.StringIO(), None])
def test_no_bar_is_shown_in_a_pipe(screen: io.StringIO | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    monkeypatch.setattr("sys.stderr", screen)
    similarity(MANY, far, batch_size=1)
    assert screen is None or screen.getvalue() == ""
    with progress.progress_bar("bytes") as bar:
        assert bar is None


def test_only_one_bar_is_shown_at_a_time_and_the_next_one_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    screen = terminal(monkeypatch)
    with progress.progress_bar("queries") as outer:
        assert outer is not None
        outer(1, 7)
        similarity(MANY, far, batch_size=1)
    assert "queries" in screen.getvalue()
    assert "answers" not in screen.getvalue()
    similarity(MANY, far, batch_size=1)
    assert "answers" in screen.getvalue()
