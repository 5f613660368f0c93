"""Standard output: colour and folding on a terminal, plain text in a pipe, and a quiet end when nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from karat.errors import KaratError

if TYPE_CHECKING:
    from karat.output.tables import Table


# A longer table is printed as plain text: folding and colouring it would take seconds.
_MAX_ROWS = 1000


def print_text(text: str) -> None:
    """Write a text as it is, at once."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has seen enough.
        _discard_output()
        raise SystemExit(0) from None
    except OSError as error:
        _discard_output()
        raise KaratError(f"cannot be written: {error.strerror}", where="standard output") from None


def print_table(table: Table, narrower: Callable[[], Table] | None = None) -> None:
    """Print a table. If the terminal is too narrow: the narrower table, or groups of columns below each other."""
    if not sys.stdout.isatty() or len(table.rows) > _MAX_ROWS:
        print_text(table.text())
        return
    from rich.console import Console

    console = Console()
    if console.is_dumb_terminal:
        print_text(table.text())
        return
    if narrower is not None and not table.fits(console):
        table = narrower()
    with console.capture() as page:
        for part in [table] if narrower is not None or table.fits(console) else table.stacked(console):
            console.print(part.rich())
    print_text(page.get())


def _discard_output() -> None:
    """Send what is still buffered to the null device; otherwise Python complains about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
