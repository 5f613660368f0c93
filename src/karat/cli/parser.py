"""click with help for arguments, descriptions that are not cut, and errors of one line that name options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from karat.cli.terminal import print_text
from karat.errors import KaratError, Parameter, did_you_mean
from karat.errors.arguments import is_list_like
from karat.errors.command_lines import command_line, quoted_word
from karat.errors.suggestions import SuggestedCall

EVALUATED = "What is evaluated"
MEASURES = "Measures"
STATISTICS = "Statistics"
OUTPUT = "Output"
READING = "Reading files"
GROUPS = (EVALUATED, MEASURES, STATISTICS, OUTPUT, READING)
"""the headings of options in the help of a command, in this order"""

# Parameters whose option has another name, and what the value of the option begins with.
_OPTIONS = {
    "truth_format": ("formats", "truth="),
    "run_format": ("formats", "run="),
    "input_format": ("formats", ""),
    "truth_columns": ("columns", "truth."),
    "run_columns": ("columns", "run."),
    "kind": ("as", ""),
    "truth": ("gold", ""),
}
_WIDTH = 60  # characters of a value in a message
_LOOK = "look"
_WORDS = f"{__name__}.words"  # where a context has what was written after the name of its command


class Argument(click.Argument):
    """A positional argument with a help text; one that takes several values is shown as `RUN...`."""

    def __init__(self, declarations: tuple[str, ...], *, metavar: str, description: str, **attributes: Any) -> None:
        super().__init__(declarations, metavar=metavar, **attributes)
        self.description = description

    def make_metavar(self, ctx: click.Context | None = None) -> str:  # noqa: ARG002  # click 8.1 passes no context
        return str(self.metavar) if self.required else f"[{self.metavar}]"


class GroupedOption(click.Option):
    """An option that the help of a command lists under the heading of its group."""

    def __init__(self, declarations: tuple[str, ...], *, group: str, **attributes: Any) -> None:
        super().__init__(declarations, **attributes)
        self.group = group


def print_and_exit(text: Callable[[click.Context], str]) -> Callable[[click.Context, click.Parameter, bool], None]:
    """What an option such as --help does. click's own would end with status 1 if the output cannot be written."""

    def callback(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            print_text(f"{text(ctx)}\n")
            ctx.exit()

    return callback


class WithHelp(click.Command):
    """A command with the option --help."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = print_and_exit(click.Context.get_help)
        return option


class Command(WithHelp):
    """A command whose help has its options in groups and an example, and which never overwrites its inputs.

    `groups` are the names of options that this command lists under another heading than their own.
    """

    def __init__(
        self, *args: Any, example: str, groups: Mapping[str, Sequence[str]] = MappingProxyType({}), **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self.example, self.groups = example, groups

    def group_of(self, option: click.Parameter) -> str | None:
        """The heading of an option in the help; that of --help is the one of the output."""
        of_command = (group for group, names in self.groups.items() if option.name in names)
        return next(of_command, option.group if isinstance(option, GroupedOption) else None)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = [*args]
        with naming_options(ctx):
            return super().parse_args(ctx, args)

    def expand(self, path: str) -> list[str]:
        """The files that a folder or a pattern stands for."""
        from karat.reading.pairs.paths import expand

        return expand(path)

    def invoke(self, ctx: click.Context) -> Any:
        from karat.cli.files import check_files, expand_files

        expand_files(ctx, self.expand)
        check_files(ctx)
        with naming_options(ctx):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [(str(each.metavar), each.description) for each in self.params if isinstance(each, Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        options: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                options.setdefault(self.group_of(option) or OUTPUT, []).append(record)
        # Headings of the command itself come first.
        for group in sorted(options, key=lambda group: GROUPS.index(group) if group in GROUPS else -1):
            with formatter.section(group):
                formatter.write_dl(options[group])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Example"):
            formatter.write_text(self.example)


class Group(WithHelp, click.Group):
    """Commands by their names, in this order, each with its whole description.

    `command` in the module `karat.cli.NAME` is imported when it is needed: a command loads only itself.
    """

    def __init__(self, *, names: Sequence[str], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.names = names

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.names:
            return self.commands.get(cmd_name) or _import_command(cmd_name)
        if ctx.resilient_parsing:
            return None
        hint = did_you_mean(cmd_name, self.names) or f"The commands are {', '.join(self.names)}."
        raise KaratError(f"no such command: {cmd_name}", hint=hint)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = {name: self.get_command(ctx, name) for name in self.names}
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join((each.help or "").split())) for name, each in commands.items() if each])


def _import_command(name: str) -> click.Command:
    command: click.Command = import_module(f"karat.cli.{name}").command
    return command


@contextmanager
def naming_options(context: click.Context) -> Iterator[None]:
    """Let errors name options of a command, unless they spell parameters in a way of their own, as keys of a file."""
    try:
        yield
    except KaratError as error:
        if error.spelling is str:
            error.spelling = spelling_of(context)
        raise


def spelling_of(context: click.Context) -> Callable[[Parameter], str]:
    """How a command writes parameters: as its options, and calls as commands."""
    return lambda parameter: (
        command_text(context, parameter)
        if isinstance(parameter, SuggestedCall)
        else option_text(context.command, parameter)
    )


def command_text(context: click.Context, call: SuggestedCall) -> str:
    """A command that can be run: another one, or that of a context with other values of some options."""
    is_looking = context.command.name == _LOOK and not call.name  # what is said about an evaluation
    other = "evaluate" if is_looking else call.name if call.parameters else ""
    command = _import_command(other) if other else context.command
    before, after = [], ([call.file] if call.file else [])
    if not call.name:
        words = context.meta.get(_WORDS, [])
        end = words.index("--") if "--" in words else len(words)
        before, after = words[:end], words[end:]
    changed: list[str] = []
    for name, value in call.parameters.items():
        options = (each for each in command.params if isinstance(each, click.Option))
        option = next((each for each in options if name in (each.name, *(opt.lstrip("-") for opt in each.opts))), None)
        if option is None:
            return str(call)
        before = _without_option(before, option.opts)
        texts = [f"{key}={each}" for key, each in value.items()] if isinstance(value, Mapping) else [str(value)]
        changed += (word for text in texts for word in (max(option.opts, key=len), text))
    path = ["karat", other or call.name] if other or call.name else context.command_path.split()
    words = [*path, *before, *after, *changed] if call.name else [*path, *before, *changed, *after]
    return f"`{command_line(words)}`"


def _without_option(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The words of a command line without an option that takes a value."""
    kept: list[str] = []
    is_value = False
    for word in words:
        is_option = word in names
        if not is_value and not is_option and not any(word.startswith(f"{name}=") for name in names):
            kept.append(word)
        is_value = is_option and not is_value
    return kept


def option_text(command: click.Command, parameter: Parameter) -> str:
    """A parameter as it is written on the command line; as in Python if the command does not have it."""
    name, prefix = _OPTIONS.get(parameter.name, (parameter.name, ""))
    by_name = {each.name: each for each in command.params}
    declared = by_name.get(name) or by_name.get(parameter.name)
    if declared is None:
        return str(parameter)
    values = _value_texts(parameter.value) if parameter.has_value else []
    if isinstance(declared, click.Argument):
        return " ".join([str(declared.metavar), *map(quoted_word, values)])
    option = max(declared.opts, key=len)
    if isinstance(declared, click.Option) and declared.is_flag:
        return option if parameter.value else max(declared.secondary_opts, key=len, default=option)
    return " ".join(f"{option} {quoted_word(prefix + value)}" for value in values) or option


def _value_texts(value: object) -> list[str]:
    """What is written after an option: once, or several times for a list or a mapping."""
    if isinstance(value, Mapping):
        return [f"{name}={_value_text(each)}" for name, each in value.items()]
    values = list(value) if is_list_like(value) else [] if value is None else [value]  # type: ignore[call-overload]
    return list(map(_value_text, values))


def _value_text(value: object) -> str:
    """A value without the quotation marks of Python, and a whole number without a point."""
    text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


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
        is_option = isinstance(error.param, click.Option)
        name = max(error.param.opts, key=len) if is_option else error.param.human_readable_name
        return KaratError(f"{name} is missing", hint=usage)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return KaratError(
            error.message.rstrip(".").replace("a valid float", "a number").replace("a valid integer", "a whole number"),
            place=max(error.param.opts, key=len),
        )
    return KaratError(what, hint=usage)
