"""A progress bar for long work: on standard error if that is a terminal, or below the cell of a notebook.

Never in a pipe.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.errors import size_text
from karat.output.escapes import reads_escapes

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY = 0.5  # seconds before a bar is shown
_PAUSE = 0.2  # seconds between two messages to a notebook
_SHOWN = threading.Lock()  # held by the one bar that is shown


ShowProgress = Callable[..., None]
"""called with the number of units that are done, their total and, if there is more to say, a text"""


class _Bar(NamedTuple):
    """A bar that is shown: a function to show more, and one to remove it."""

    show: ShowProgress
    remove: Callable[[], None]


@contextmanager
def progress_bar(unit: str) -> Iterator[ShowProgress | None]:
    """A function to call with the number of units done and their total; None if there is no place for a bar.

    `unit` is a noun in the plural, such as "queries"; "bytes" are shown in MB. Within work that shows a bar, further
    bars are not shown. If the bar cannot be shown, the work goes on without it.
    """
    make = _bar_in_notebook if _is_notebook() else _bar_on_terminal if _is_terminal() else None
    if make is None:
        yield None
        return
    start = time.monotonic()
    bar: _Bar | None = None

    def progress(done: float, total: int, details: str = "") -> None:
        nonlocal bar, start
        if bar is None and done < total and time.monotonic() - start > _DELAY and _SHOWN.acquire(blocking=False):
            try:
                bar = make(unit, done, total, details)
            except OSError:
                start = math.inf  # do not try again
            finally:
                if bar is None:
                    _SHOWN.release()
        elif bar is not None:
            bar.show(done, total, details)

    try:
        yield progress
    finally:
        if bar is not None:
            try:
                with suppress(OSError):
                    bar.remove()
            finally:
                _SHOWN.release()


def remove_bar() -> None:
    """Erase the line of a bar and show the cursor, which it hides, because the process ends now."""
    if _SHOWN.locked() and os.isatty(2) and reads_escapes(sys.stderr):
        os.write(2, b"\r\x1b[2K\x1b[?25h")


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook; IPython on a terminal has none."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and getattr(get_shell(), "kernel", None) is not None


def _bar_on_terminal(unit: str, done: float, total: int, details: str) -> _Bar:
    bar = _bar(unit, done, total, details)

    def show(done: float, total: int, details: str = "") -> None:
        bar.update(bar.task_ids[0], completed=done, total=total, details=details)

    return _Bar(show, bar.stop)


def _bar_in_notebook(unit: str, done: float, total: int, details: str) -> _Bar:
    """A bar below the cell, in a place of its own, which is empty in the end."""
    from datetime import timedelta
    from html import escape
    from importlib import import_module

    first, start = done, time.monotonic()
    shown = start

    def content(done: float, total: int, details: str = "") -> dict[str, str]:
        """What a browser shows, and a text for where there is none."""
        is_size, seconds = unit == "bytes", time.monotonic() - start
        counts = f"{size_text(done)} of {size_text(total)}" if is_size else f"{int(done):,} of {total:,} {unit}"
        left = (total - done) * seconds / (done - first) if done > first else None
        time_left = "" if left is None else f"{timedelta(seconds=round(left))} left"
        text = ", ".join(filter(None, (counts, time_left, details)))
        html = f'<progress value="{done / max(total, 1):.4f}"></progress> {escape(text)}'
        return {"text/html": html, "text/plain": text}

    handle: Any = import_module("IPython.display").display(content(done, total, details), raw=True, display_id=True)

    def show(done: float, total: int, details: str = "") -> None:
        nonlocal shown
        if time.monotonic() - shown >= _PAUSE:
            shown = time.monotonic()
            with suppress(Exception):  # whatever happens to the connection, the work goes on
                handle.update(content(done, total, details), raw=True)

    def remove() -> None:
        with suppress(Exception):
            handle.update({"text/html": "", "text/plain": ""}, raw=True)

    return _Bar(show, remove)


def _bar(unit: str, completed: float, total: int, details: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    whole = Column(no_wrap=True)  # in a narrow window, the bar and the details are cut first
    number = MofNCompleteColumn(table_column=whole)
    counts = [DownloadColumn()] if unit == "bytes" else [number, TextColumn(unit)]
    time_left = TimeRemainingColumn(table_column=whole)
    bar_column = BarColumn(bar_width=10 if details else 40)
    columns = [bar_column, *counts, time_left, TextColumn("{task.fields[details]}", markup=False)]
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.update(bar.add_task("", details=details), completed=completed, total=total)
    bar.start()
    return bar
