"""Standard output: colour and folding on a terminal, plain text in a pipe, and a quiet exit if the pipe is closed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from karat.errors import KaratError
from karat.output.encoding import with_encoding

if TYPE_CHECKING:
    from rich.console import Console

    from karat.output.tables import Table


# A longer table is printed as plain text: folding and colouring it would take seconds.
_MAX_ROWS = 1000
_UNFOLDED = 1_000_000


def write_output(text: str) -> None:
    """Write a text to standard output, exactly and at once."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) closed the pipe.
        _discard_output()
        raise SystemExit(0) from None
    except OSError as error:
        _discard_output()
        raise KaratError(f"cannot be written: {error.strerror}", where="standard output") from None


def print_text(text: str) -> None:
    """Print a text for people, with plain characters in place of those that the output's encoding lacks."""
    write_output(with_encoding(text, sys.stdout.encoding))


def print_error(text: str) -> None:
    """Print a note or an error on standard error."""
    sys.stderr.write(with_encoding(text, sys.stderr.encoding))


def print_table(table: Table, narrower: Callable[[], Table] | None = None) -> None:
    """Print a table. If the terminal is too narrow: the narrower table, or groups of columns below each other."""
    console = None if len(table.rows) > _MAX_ROWS else colour_console()
    if console is None:
        print_text(table.with_encoding(sys.stdout.encoding).text())
        return
    if narrower is not None and not table.fits(console):
        table = narrower()
    table = table.with_encoding(sys.stdout.encoding)
    with console.capture() as page:
        console.print(table.rich() if narrower is not None or table.fits(console) else table.stacked(console))
    print_text(page.get())


def colour_console() -> Console | None:
    """A console that draws for standard output, or None if plain text is wanted.

    See https://no-color.org and https://force-color.org: FORCE_COLOR also colours a pipe, and NO_COLOR overrides it.
    """
    no_colour = bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR")) and not no_colour
    is_terminal = sys.stdout.isatty()
    is_capable = is_terminal and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    if not (forced or is_capable):
        return None
    from rich.console import Console

    return Console(
        file=io.StringIO(),  # only captured; rich draws lines in Unicode for it, and print_text replaces them if needed
        force_terminal=True,
        no_color=no_colour,
        color_system="auto" if is_capable else "standard",
        width=None if is_terminal else _UNFOLDED,
    )


def _discard_output() -> None:
    """Send what is still buffered to the null device; otherwise Python reports an error about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
