"""The progress bar is shown for long work on a terminal, and nowhere else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from rich.console import Console

from karat import Scores, compare
from karat.data.answers import Answers
from karat.data.judged import Floats
from karat.measures.answers.models import TextPairs
from karat.measures.answers.similarity import similarity
from karat.output import progress
from karat.stats.bootstrap import PERMUTATIONS


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


def test_the_first_bar_shows_what_is_done_and_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    screen = terminal(monkeypatch)
    with progress.progress_bar("queries") as bar:
        assert bar is not None
        bar(3.5, 7)
    assert "3/7" in screen.getvalue()
    assert "/100" not in screen.getvalue()


class ClosedTerminal(Terminal):
    """A terminal whose window was closed after so many texts were written to it."""

    def __init__(self, writable: int) -> None:
        super().__init__()
        self.texts_left = writable

    def write(self, text: str) -> int:
        self.texts_left -= 1
        if self.texts_left < 0:
            raise OSError(5, "Input/output error")
        return super().write(text)


@pytest.mark.parametrize("writable", [0, 1, 2])
def test_work_goes_on_without_a_bar_if_the_terminal_was_closed(writable: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", ClosedTerminal(writable))
    similarity(MANY, far, batch_size=1)
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert "answers" in screen.getvalue()


def test_after_a_bar_that_could_not_be_made_the_next_one_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", -1)
    screen = terminal(monkeypatch)
    with patch.object(progress, "_bar", side_effect=MemoryError), pytest.raises(MemoryError):
        similarity(MANY, far, batch_size=1)
    similarity(MANY, far, batch_size=1)
    assert "answers" in screen.getvalue()


def recorded(module: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, int]]:
    """How much is done, and how much there is to do, at each call of the bars that a module shows."""
    seen: list[tuple[float, int]] = []

    @contextmanager
    def bar(unit: str) -> Iterator[Callable[[float, int], None]]:
        yield lambda done, total: seen.append((done, total))

    monkeypatch.setattr(f"{module}.progress_bar", bar)
    return seen


@pytest.mark.parametrize(
    ("test", "total"), [("randomization", 6), ("t", 6), ("wilcoxon", 6), ("bootstrap", 6), ("tukey", 2 * PERMUTATIONS)]
)
def test_a_bar_counts_the_work_for_all_measures_and_never_goes_back(
    test: str, total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = recorded("karat.comparison.differences", monkeypatch)
    random = np.random.default_rng(0)
    queries = tuple(map(str, range(50)))
    # Of the differences in P, few are not 0, so that their tests are exact.
    systems = {
        name: Scores(queries, {"AP": random.random(50), "P": np.where(np.arange(50) < 9, random.random(50), 0.0)})
        for name in "abc"
    }
    compare(systems, test=test)
    assert {of for _, of in seen} == {total}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (total, total)


def test_in_eighty_columns_a_bar_shows_how_much_is_done_and_most_details(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    details = "1,136 calls, 12 failed, 102,970 tokens, cost 1.35"
    bar = progress._bar("queries", 12, 50, details)
    bar.stop()
    console = Console(width=80)
    with console.capture() as shown:
        console.print(bar.get_renderable())
    assert " 12/50 queries " in shown.get()
    assert details[:38] in shown.get()
