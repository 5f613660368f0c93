"""The command line: one file per command, each a thin caller of the library."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

from karat.cli import answers, compare, demo, diff, evaluate, gate, measures

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
app.command(name="answers")(answers.command)
app.command(name="compare")(compare.command)
app.command(name="diff")(diff.command)
app.command(name="gate")(gate.command)
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

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # closed by the caller of karat: nobody reads it
        # A terminal that cannot show a character gets its code instead of an error.
        getattr(sys, name).reconfigure(errors="backslashreplace")
    try:
        app()
    except KaratError as error:
        print(f"karat: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    except MemoryError:
        print("karat: out of memory. Evaluate fewer runs at a time.", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    sys.exit(0)
