"""The progress bar is shown for long work on a terminal and in a notebook, and nowhere else."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import cast
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


class Notebook:
    """A stand-in for IPython in the kernel of a notebook, with the functions that karat calls: what a cell shows."""

    def __init__(self, *, has_kernel: bool = True, is_closed: bool = False) -> None:
        self.shown: list[dict[str, str]] = []
        self.is_closed = is_closed
        self.kernel = object() if has_kernel else None

    def get_ipython(self) -> Notebook:
        return self

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> Notebook:
        assert raw
        assert display_id
        self.shown.append(content)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        if self.is_closed:
            raise RuntimeError("the connection is closed")
        self.shown.append(content)


def notebook(monkeypatch: pytest.MonkeyPatch, **options: bool) -> Notebook:
    shell = Notebook(**options)
    monkeypatch.setattr(progress, "_DELAY", -1)
    monkeypatch.setattr(progress, "_PAUSE", -1)
    monkeypatch.setitem(sys.modules, "IPython", cast("ModuleType", shell))
    monkeypatch.setitem(sys.modules, "IPython.display", cast("ModuleType", shell))
    return shell


def test_a_notebook_shows_a_bar_below_its_cell_and_removes_it_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = notebook(monkeypatch)
    with progress.progress_bar("queries") as bar:
        assert bar is not None
        bar(10, 40, "<24> calls")
        bar(30, 40, "<72> calls")
    first, second, last = shell.shown
    assert first["text/plain"] == "10 of 40 queries, <24> calls"
    assert first["text/html"] == '<progress value="0.2500"></progress> 10 of 40 queries, &lt;24&gt; calls'
    assert second["text/plain"] == "30 of 40 queries, 0:00:00 left, <72> calls"
    assert set(last.values()) == {""}


def test_a_notebook_shows_bytes_as_sizes_and_one_bar_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = notebook(monkeypatch)
    with progress.progress_bar("bytes") as bar:
        assert bar is not None
        bar(1_500_000, 4_000_000)
        similarity(MANY, far, batch_size=1)
    assert [each["text/plain"] for each in shell.shown] == ["1.5 MB of 4.0 MB", ""]


def test_a_notebook_gets_few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = notebook(monkeypatch)
    monkeypatch.setattr(progress, "_PAUSE", 3600)
    with progress.progress_bar("queries") as bar:
        assert bar is not None
        for done in range(1000):
            bar(done, 1000)
    assert len(shell.shown) == 2


def test_work_goes_on_if_the_notebook_was_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = notebook(monkeypatch, is_closed=True)
    similarity(MANY, far, batch_size=1)
    assert len(shell.shown) == 1
    similarity(MANY, far, batch_size=1)
    assert len(shell.shown) == 2


def test_ipython_on_a_terminal_has_the_bar_of_a_terminal_and_in_a_pipe_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = notebook(monkeypatch, has_kernel=False)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    similarity(MANY, far, batch_size=1)
    screen = terminal(monkeypatch)
    similarity(MANY, far, batch_size=1)
    assert "answers" in screen.getvalue()
    assert shell.shown == []


def test_a_real_kernel_shows_the_bar_of_a_judge_and_its_scores() -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cell = """
import json, tempfile, karat
from karat.output import progress
progress._DELAY = progress._PAUSE = -1
results = [{"query": str(at), "retrieved": ["Gold is soft."], "answer": "Soft."} for at in range(5)]
reply = json.dumps({"why": "It is.", "label": 3})
path = tempfile.mkdtemp() + "/verdicts.jsonl"
karat.judge(results, task="context", model=lambda messages: reply, verdicts=path)
"""
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(page, timeout=60).execute()
    bar, result = page.cells[0].outputs
    assert (bar.output_type, bar.data["text/html"]) == ("display_data", "")
    assert "ContextRelevance" in result.data["text/html"]
