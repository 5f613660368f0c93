"""A progress bar on standard error, for long work on a terminal; never in a pipe."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY = 0.5  # seconds before a bar is shown
_SHOWN = threading.Lock()  # held by the one bar on the terminal


ShowProgress = Callable[..., None]
"""called with the number of units that are done, their total and, if there is more to say, a text"""


@contextmanager
def progress_bar(unit: str) -> Iterator[ShowProgress | None]:
    """A function to call with the number of units done and their total; None if standard error is not a terminal.

    `unit` is a noun in the plural, such as "queries"; "bytes" are shown in MB. Within work that shows a bar, further
    bars are not shown. If the terminal cannot be written to, the work goes on without a bar.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    bar: Progress | None = None

    def progress(done: float, total: int, details: str = "") -> None:
        nonlocal bar, start
        if bar is None and done < total and time.monotonic() - start > _DELAY and _SHOWN.acquire(blocking=False):
            try:
                bar = _bar(unit, done, total, details)
            except OSError:
                start = math.inf  # do not try again
            finally:
                if bar is None:
                    _SHOWN.release()
        elif bar is not None:
            bar.update(bar.task_ids[0], completed=done, total=total, details=details)

    try:
        yield progress
    finally:
        if bar is not None:
            try:
                with suppress(OSError):
                    bar.stop()
            finally:
                _SHOWN.release()


def remove_bar() -> None:
    """Erase the line of a bar and show the cursor, which it hides, because the process ends now."""
    if _SHOWN.locked() and os.isatty(2):
        os.write(2, b"\r\x1b[2K\x1b[?25h")


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
