"""Standard output: colour and folding on a terminal, plain text in a pipe, and a quiet exit if the pipe is closed.

Where the encoding of an output lacks a character, such as ASCII or cp1252, a plain one takes its place.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TextIO, cast

from karat.errors import UNPRINTABLE, KaratError, for_log
from karat.output.escapes import reads_escapes

if TYPE_CHECKING:
    from rich.console import Console

    from karat.output.printable import Line
    from karat.output.tables import Table


# A longer table is printed as plain text: folding and colouring it would take seconds.
_MAX_ROWS = 1000
_UNFOLDED = 1_000_000
_JSON = ("json", "jsonl")
_PLAIN = {
    "─": "-", "–": "-", "−": "-", "→": "->", "…": "...", "·": "*", "²": "^2", "½": "1/2", "≤": "<=", "≥": ">=",
    "∞": "inf", "√": "sqrt", "Σ": "sum", "Π": "prod", "∩": "&", "∪": "U", "α": "alpha", "β": "beta", "ε": "epsilon",
}  # fmt: skip


def write_output(text: str) -> None:
    """Write a text to standard output, exactly and at once."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        # The reader (`| head`) closed the pipe, which Windows may call an invalid argument.
        if isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL):
            raise SystemExit(0) from None
        raise KaratError(f"cannot be written: {error.strerror}", place="standard output") from None


def print_text(text: str) -> None:
    """Print a text for people, with plain characters in place of those that the output's encoding lacks."""
    write_output(_in_log(with_encoding(text, sys.stdout.encoding), sys.stdout))


def print_data(text: str, form: str) -> None:
    """Print data for programs: exactly, except on a terminal and in the log of a CI system, where it is made harmless.

    JSON stays the same data, since its escapes are read back as the same characters.
    """
    _use_utf8(sys.stdout)
    safe = _on_terminal(text, form) if sys.stdout.isatty() else text
    in_log = _in_log(safe, sys.stdout)
    # A blank in JSON would change the data. Only ## can be a command there, because no line begins with a text.
    write_output(in_log if form not in _JSON or in_log == safe else safe.replace("##", "#\\u0023"))


def print_error(text: str) -> None:
    """Print a note or an error on standard error."""
    _write_error(_in_log(with_encoding(text, sys.stderr.encoding), sys.stderr))


def print_commands(text: str, *, to_error: bool) -> None:
    """Print the commands of karat itself to a CI system, which reads them from both streams."""
    _use_utf8(sys.stderr if to_error else sys.stdout)
    if to_error:
        _write_error(text)
    else:
        write_output(text)


def _use_utf8(stream: TextIO) -> None:
    """Let data be in UTF-8 on all systems, as in files: on Windows, Python's encoding of a pipe is an old one."""
    if sys.platform == "win32" and not stream.isatty() and not os.environ.get("PYTHONIOENCODING"):
        cast("io.TextIOWrapper", stream).reconfigure(encoding="utf-8", errors="backslashreplace")


def _write_error(text: str) -> None:
    """Write to standard error. If it cannot be written, the exit status still tells the outcome."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def _on_terminal(text: str, form: str) -> str:
    """Data in which control characters, except those that separate lines and columns, are shown as escapes of JSON."""
    kept = "\n\t" if form == "tsv" else "\n"
    return UNPRINTABLE.sub(lambda match: match[0] if match[0] in kept else f"\\u{ord(match[0]):04x}", text)


def _in_log(text: str, stream: TextIO) -> str:
    """A text for a stream that may be the log of a CI system; a file contains what would be printed elsewhere."""
    try:
        is_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # a stream without a file descriptor
        is_file = False
    return text if is_file else for_log(text)


def print_table(table: Table) -> None:
    """Print a table. If the terminal is too narrow: its narrower form, or groups of columns below each other."""
    console = None if len(table.rows) > _MAX_ROWS else colour_console()
    if console is None:
        print_text(table_with_encoding(table, sys.stdout.encoding).text())
        return
    if sys.stdout.isatty():
        table = table.fit(console.width)
    has_narrower = table.narrower is not None
    if table.narrower is not None and not table.fits(console):
        table = table.narrower
    table = table_with_encoding(table, sys.stdout.encoding)
    with console.capture() as page:
        console.print(table.rich() if has_narrower or table.fits(console) else table.stacked(console))
    print_text(page.get())


def print_lines(lines: Sequence[Line]) -> None:
    """Print lines, with colours on a terminal, which folds those that are too long for it."""
    console = None if len(lines) > _MAX_ROWS else colour_console()
    if console is None:
        print_text("".join(f"{line.text()}\n" for line in lines))
        return
    with console.capture() as page:
        for line in lines:
            console.print(line.rich(), soft_wrap=True)
    print_text(page.get())


def colour_console() -> Console | None:
    """A console that draws for standard output, or None if plain text is wanted.

    See https://no-color.org and https://force-color.org: FORCE_COLOR also colours a pipe, and NO_COLOR overrides it.
    """
    no_colour = bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR")) and not no_colour
    is_terminal = sys.stdout.isatty()
    is_capable = is_terminal and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    is_capable = is_capable and reads_escapes(sys.stdout)
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


def _discard(stream: TextIO) -> None:
    """Send what is still buffered to the null device; otherwise Python reports an error about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def table_with_encoding(table: Table, encoding: str) -> Table:
    """The same table with plain characters in place of those that an encoding lacks."""

    def plain(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(with_encoding(text, encoding) for text in texts)

    rows = tuple(tuple(replace(cell, text=with_encoding(cell.text, encoding)) for cell in row) for row in table.rows)
    return replace(
        table,
        title=with_encoding(table.title, encoding),
        header=plain(table.header),
        rows=rows,
        notes=plain(table.notes),
        sentences=plain(table.sentences),
    )


def with_encoding(text: str, encoding: str) -> str:
    r"""A text in which typographic characters that an encoding lacks are replaced by plain ones.

    Other characters stay: the stream shows them as escapes.

    >>> with_encoding("a → b … 日", "ascii"), with_encoding("a → b … 日", "cp1252")
    ('a -> b ... 日', 'a -> b … 日')
    """
    return text if text.isascii() else text.translate(_replacements(encoding))


@cache
def _replacements(encoding: str) -> dict[int, str]:
    return {ord(character): plain for character, plain in _PLAIN.items() if not _can_encode(character, encoding)}


def _can_encode(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
