"""click with help for arguments, descriptions that are not cut, and usage errors of one line."""

from __future__ import annotations

from typing import Any

import click

from karat.cli.files import check_files
from karat.errors import KaratError, did_you_mean


class Argument(click.Argument):
    """A positional argument with a help text; one that takes several values is shown as `RUN...`."""

    def __init__(self, declarations: tuple[str, ...], *, metavar: str, description: str, **attributes: Any) -> None:
        super().__init__(declarations, metavar=metavar, **attributes)
        self.description = description

    def make_metavar(self, ctx: click.Context | None = None) -> str:  # noqa: ARG002  # click 8.1 passes no context
        return str(self.metavar) if self.required else f"[{self.metavar}]"


class Command(click.Command):
    """A command whose help explains its arguments before its options, and which never overwrites its inputs."""

    def invoke(self, ctx: click.Context) -> Any:
        check_files(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [(str(each.metavar), each.description) for each in self.params if isinstance(each, Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)


class Group(click.Group):
    """Commands in the order in which they were added, each with its whole description."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and not ctx.resilient_parsing:
            hint = did_you_mean(cmd_name, self.commands) or f"The commands are {', '.join(self.commands)}."
            raise KaratError(f"no such command: {cmd_name}", hint=hint)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join((each.help or "").split())) for name, each in self.commands.items()])


def usage_error(error: click.UsageError) -> KaratError:
    """The same error in one line: what is wrong with the command line, and a hint."""
    message = error.format_message()
    what = message[:1].lower() + message[1:]
    if error.ctx is None:
        return KaratError(what, hint="See karat --help.")
    usage = " ".join(error.ctx.get_usage().split())
    if isinstance(error, click.NoSuchOption):
        options = [each for each in error.ctx.command.get_params(error.ctx) if isinstance(each, click.Option)]
        names = [name for each in options for name in (*each.opts, *each.secondary_opts)]
        hint = did_you_mean(error.option_name, names) or f"See {error.ctx.command_path} --help."
        return KaratError(f"no such option: {error.option_name}", hint=hint)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return KaratError(f"{error.param.human_readable_name} is missing", hint=usage)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return KaratError(
            error.message.rstrip(".").replace("a valid float", "a number").replace("a valid integer", "a whole number"),
            where=max(error.param.opts, key=len),
        )
    return KaratError(what, hint=usage)
