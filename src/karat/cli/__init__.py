"""The command line: one file per command, each a thin caller of the library."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from karat.cli import demo, evaluate, measures

app = typer.Typer(
    name="karat",
    help="karat measures how good search and question answering are.",
    epilog="Start with: karat demo",
    no_args_is_help=True,
    rich_markup_mode=None,  # rich help costs half a second at every start
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="evaluate")(evaluate.command)
app.command(name="measures")(measures.command)
app.command(name="demo")(demo.command)


def _version(asked: bool) -> None:
    if asked:
        from karat import __version__

        typer.echo(f"karat {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command; a user's mistake is one line on standard error and status 2, never a traceback."""
    from karat.errors import KaratError

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its code instead of an error.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are TextIOWrapper here
    try:
        app()
    except KaratError as error:
        _flush_quietly()
        typer.echo(f"karat: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Python would complain once more when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        typer.echo("karat: out of memory. Evaluate fewer runs at a time, or on a larger machine.", err=True)
        sys.exit(2)
    sys.exit(0)


def _flush_quietly() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
