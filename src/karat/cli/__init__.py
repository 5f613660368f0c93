"""The command line: one file per command, each a thin caller of the library, imported when the command runs.

A command line is three records: `Inputs` (which files are read, and how), `Settings` (what is computed) and `Output`.
`SystemFiles` finds out what the files are, and evaluates the systems in them. An option is declared once, with the
heading under which `--help` lists it. `Output.print` is the only place where a command prints a result or writes it to
a file.

An output is never one of the inputs. Every parameter of a command that names a file has a type that says whether the
file is read or written. Before a command does anything, all its files are compared by device and inode, so that links
and other spellings of a path are recognized. A test checks that every parameter that takes text declares whether it
names a file.

Patterns that take milliseconds to compile are compiled when they are first used. Commands let the garbage collector
run less often, because imports make many objects that stay (`__main__.py`).
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from karat import __version__
from karat.cli.parser import Group, print_and_exit, usage_error
from karat.cli.terminal import print_error, print_text
from karat.errors import KaratError

_EPILOG = """\
Start with: karat demo

Tab completion in bash: eval "$(_KARAT_COMPLETE=bash_source karat)". In zsh and fish, use zsh_source and fish_source.
"""


@click.group(
    cls=Group,
    names="evaluate look check answers compare diff gate report convert trec judge verdicts measures demo".split(),
    help="karat measures how good search and question answering are.",
    epilog=_EPILOG,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGUMENTS...]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=print_and_exit(lambda _: f"karat {__version__}"),
    help="Show the version and exit.",
)
@click.pass_context
def program(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(f"{context.get_help()}\n")


def main() -> NoReturn:
    """Run a command; a user's mistake is one line on standard error and exit status 2, never a traceback."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: the next file to be opened would take its place and get what is written to it
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # it stays open until the process ends
        stream = getattr(sys, name)
        # A terminal that cannot show a character gets an escape such as \u65e5 instead of an error. In pipes and files,
        # lines end in the same way on Windows, where Python would write \r\n, also within the cells of CSV.
        stream.reconfigure(errors="backslashreplace", newline=None if stream.isatty() else "\n")
    sys.exit(_status())


def _status() -> int:
    """Run a command and return its exit status."""
    status = 2
    try:
        if instruction := os.environ.get("_KARAT_COMPLETE"):
            from karat.cli.completion import print_completions

            print_completions(program, instruction)
            return 0
        # What a pattern stands for is decided in one place, on Windows, too, where click would replace it.
        return program.main(prog_name="karat", standalone_mode=False, windows_expand_args=False) or 0
    except click.UsageError as error:
        message = str(usage_error(error))
    except KaratError as error:
        message, status = str(error), error.exit_status
    except MemoryError:
        message = "out of memory. Evaluate fewer runs at a time."
    except (click.Abort, KeyboardInterrupt):
        return 130  # as a shell reports a program that was ended by Ctrl-C
    print_error(f"karat: {message}\n")
    return status
