"""`karat verdicts`: labels about generated answers. Its commands are in files of their own, named `verdicts_...`."""

from __future__ import annotations

import click

from karat.cli.parser import Group
from karat.cli.terminal import print_text


@click.group(
    "verdicts",
    cls=Group,
    names=("template", "import"),
    modules="karat.cli.verdicts_{}",
    help="Label generated answers by hand, and see what is labelled.",
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGUMENTS...]",
)
@click.pass_context
def command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(f"{context.get_help()}\n")
