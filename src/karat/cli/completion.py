"""Tab completion: what a shell asks for, and the values that it offers for an option or an argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from click import Command, Context, Parameter
from click.shell_completion import CompletionItem, get_completion_class

from karat.cli.terminal import write_output
from karat.errors import KaratError, shown

Complete = Callable[[Context, Parameter, str], list[CompletionItem]]

_MATCHES = ("id", "content", "meta.", "prefix", "chunk", "fuzzy", "overlap")
_VARIABLE = "_KARAT_COMPLETE"
_SET_UP = f'In bash, run eval "$({_VARIABLE}=bash_source karat)". In zsh and fish, use zsh_source and fish_source.'


def print_completions(program: Command, instruction: str) -> None:
    """Print what a shell asks for. click's own function ends with a traceback if the output cannot be written."""
    shell, _, task = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None or task not in ("source", "complete"):
        raise KaratError(f"{_VARIABLE}={shown(instruction)} is not a request for tab completion", hint=_SET_UP)
    completion = kind(program, {}, "karat", _VARIABLE)
    try:
        text = completion.source() if task == "source" else f"{completion.complete()}\n"
    except (KeyError, ValueError):  # the shell passes the line in environment variables
        raise KaratError("the line to be completed is not known", hint=_SET_UP) from None
    write_output(text)


def complete_file(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The shell completes file names itself."""
    return [CompletionItem(incomplete, type="file")]


def complete_values(values: Sequence[str]) -> Complete:
    """The values that begin with what was typed."""

    def complete(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        return [CompletionItem(value) for value in values if value.startswith(incomplete)]

    return complete


complete_match = complete_values(_MATCHES)


def complete_group(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """`length`, `relevant`, or a file."""
    names = complete_values(("length", "relevant"))(context, parameter, incomplete)
    return [*names, *complete_file(context, parameter, incomplete)]


def complete_definition(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of measures without a cut-off, for `karat measures`."""
    from karat.measures import definitions

    return [CompletionItem(each.name, help=each.summary) for each in definitions() if _begins(each.name, incomplete)]


def complete_measure(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Measures as they can be computed: `nDCG` and `nDCG@10`, but only `P@10`, because P needs a cut-off."""
    from karat.measures import definitions
    from karat.registry.parameters import REQUIRED

    items = []
    for measure in definitions():
        if measure.takes == "preferences" or (context.info_name == "answers" and measure.takes != "answers"):
            continue
        if measure.at is None or measure.parameters[measure.at].default is not REQUIRED:
            items.append(CompletionItem(measure.name, help=measure.summary))
        if measure.at is not None:
            items.append(CompletionItem(f"{measure.name}@{measure.example_at}", help=measure.summary))
    return [item for item in items if _begins(item.value, incomplete)]


def complete_rule(context: Context, parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """The beginning of a rule, such as `nDCG@10=`."""
    items = complete_measure(context, parameter, incomplete)
    return [CompletionItem(f"{item.value}=", help=item.help) for item in items]


def _begins(name: str, incomplete: str) -> bool:
    return name.lower().startswith(incomplete.lower())
