"""Standard output: colour and folding on a terminal, plain text in a pipe, and a quiet end when nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from karat.errors import KaratError

if TYPE_CHECKING:
    from karat.output.tables import Table


# A longer table is written as a pipe gets it: to fold and colour it would take seconds, and it is scrolled through.
_LONG = 1000


def say(text: str) -> None:
    """Write a text as it is, at once."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        _forget_output()
        raise SystemExit(0) from None
    except OSError as error:
        _forget_output()
        raise KaratError(f"cannot be written: {error.strerror}", where="standard output") from None


def show(table: Table, narrower: Callable[[], Table] | None = None) -> None:
    """Draw a table; where the terminal is too narrow for it, the narrower one, or its columns one after the other."""
    if not sys.stdout.isatty() or len(table.rows) > _LONG:
        say(table.text())
        return
    from rich.console import Console

    console = Console()
    if console.is_dumb_terminal:
        say(table.text())
        return
    if narrower is not None and not table.fits(console):
        table = narrower()
    with console.capture() as page:
        for part in [table] if narrower is not None or table.fits(console) else table.stacked(console):
            console.print(part.rich())
    say(page.get())


def _forget_output() -> None:
    """Let what is still buffered go nowhere, or Python complains about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
