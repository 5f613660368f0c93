"""`karat verdicts`: labels about generated answers. Its commands are in files of their own, named `verdicts_...`."""

from __future__ import annotations

import os

import click

from karat.cli.parser import Group
from karat.cli.terminal import print_text
from karat.errors import did_you_mean

_SUMMARY = "summary"


class _VerdictsGroup(Group):
    """Commands, of which the summary is the one for files: `karat verdicts FILE...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else "--help"
        is_typo = bool(did_you_mean(first, self.names)) and not os.path.exists(first)
        if first not in (*self.names, *self.get_help_option_names(ctx)) and not is_typo:
            args = [_SUMMARY, *args]
        return super().parse_args(ctx, args)


@click.group(
    "verdicts",
    cls=_VerdictsGroup,
    names=(_SUMMARY, "template", "import", "agreement"),
    modules="karat.cli.verdicts_{}",
    help="Count the labels in verdict files, label generated answers by hand, and compare models with people.",
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGUMENTS...]",
)
@click.pass_context
def command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(f"{context.get_help()}\n")
