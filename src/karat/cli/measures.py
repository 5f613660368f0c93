"""`karat measures`: the list of measures, and the explanation of each."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from karat.cli.completion import complete_definition
from karat.cli.parser import Argument, Command

if TYPE_CHECKING:
    from karat.registry import Definition


_FROM_LABELS = " (from verdicts)"
_TAKES = {
    "pool": "the judged documents of all queries; not on Spark",
    "spans": "spans in ground truth and run: (document, start, end)",
    "preferences": "preferences of judgment groups: karat trec -R prefs, -R qrels_prefs",
    "answers": "gold answers and a predicted answer: karat answers, evaluate_answers",
    "verdicts": "labels of generated answers: karat evaluate results.jsonl --verdicts FILE, evaluate_results(...,"
    " verdicts=...)",
}


_WITHOUT_LABELS = "generated answers and what was retrieved: karat evaluate results.jsonl, evaluate_results(...)"
_NO_LABELS = "none: citations are read from the answers"


@click.command("measures", cls=Command, example="karat measures nDCG")
@click.argument(
    "name",
    cls=Argument,
    required=False,
    metavar="NAME",
    description="Explain this measure.",
    shell_complete=complete_definition,
)
def command(name: str | None) -> None:
    """List the measures, or explain one."""
    from karat.cli.terminal import print_table, print_text
    from karat.measures import definitions
    from karat.output.tables import Cell, Table
    from karat.registry import definitions_of

    if name is not None:
        print_text("\n\n".join("\n".join(explanation(each)) for each in definitions_of(name)) + "\n")
        return
    described = ((each, f"{each.summary}{_FROM_LABELS * (each.takes == 'verdicts')}") for each in definitions())
    rows = tuple((Cell(signature(each)), Cell(text)) for each, text in described)
    print_table(Table(("measure", "description"), rows, ("karat measures NAME explains a measure.",), labels=2))


def signature(definition: Definition) -> str:
    """A measure's name with its cut-off, if it takes one: `P@k`, `RR[@k]`."""
    from karat.registry.parameters import REQUIRED

    if definition.at is None:
        return definition.name
    required = definition.parameters[definition.at].default is REQUIRED
    return f"{definition.name}@{definition.at}" if required else f"{definition.name}[@{definition.at}]"


def explanation(definition: Definition) -> Iterator[str]:
    """The explanation of a measure, line by line."""
    yield signature(definition)
    yield from _wrapped(definition.summary)
    if definition.details:
        yield ""
        for paragraph in definition.details.split("\n\n"):
            yield from _wrapped(" ".join(paragraph.split()))
    yield ""
    for fact, text in facts(definition).items():
        yield from _wrapped(text, f"  {fact:<15}")
    for name, text in parameters(definition).items():
        yield from _wrapped(text, f"  {name:<15}")
    if definition.example:
        yield ""
        yield from (f"  {line}" for line in example(definition))


def facts(definition: Definition) -> dict[str, str]:
    """What is to be known of a measure besides its description and its parameters: its formula, its range and more."""
    from karat.registry.names import format_value

    labels = _labels(definition) if definition.takes == "verdicts" else ""
    low, high = (format_value(bound).replace("-", "−").replace("inf", "∞") for bound in definition.bounds)
    known = {
        "formula": definition.formula,
        "reference": definition.reference,
        "input": _WITHOUT_LABELS if labels == _NO_LABELS else _TAKES.get(definition.takes, ""),
        "labels": labels,
        "range": f"{low} to {high}, {'higher' if definition.higher_is_better else 'lower'} is better",
        "gold answers": "if there are several, the best score counts" if definition.takes == "answers" else "",
        "combined by": {"mean": "the mean over queries", "sum": "the sum over queries",
                        "geometric": "the geometric mean over queries"}[definition.combine],
        "also known as": ", ".join(map(_alias, definition.aliases))
                         + (" (for answers)" if definition.takes == "answers" else ""),
    }  # fmt: skip
    return {fact: text for fact, text in known.items() if text}


def parameters(definition: Definition) -> dict[str, str]:
    """What each parameter of a measure is, with its choices and its default."""
    from karat.registry.names import format_value
    from karat.registry.parameters import REQUIRED

    texts = {}
    for parameter in definition.parameters.values():
        default = "required" if parameter.default is REQUIRED else f"default {format_value(parameter.default)}"
        choices = f" ({' | '.join(parameter.choices)})" if parameter.choices else ""
        none = "no default" if parameter.default is None else default
        texts[parameter.name] = f"{parameter.help.text}{choices}; {none}"
    return texts


def example(definition: Definition) -> list[str]:
    """The lines of the example of a measure, with what it imports."""
    return [*_imports(definition), *definition.example.splitlines()]


def _imports(definition: Definition) -> Iterator[str]:
    """What the example of a measure needs."""
    if definition.takes == "preferences":
        yield ">>> from karat.data.preferences import Preferences"
        yield f">>> from karat.measures import {definition.name}"
        return
    of = {"answers": "_answers", "verdicts": "_verdicts"}.get(definition.takes, "")
    yield f">>> from karat import evaluate{of}"


def _labels(definition: Definition) -> str:
    """The labels that a measure of verdicts needs, and the tasks with which people are asked for them."""
    from karat.grounding.labels.missing import in_words, recipe_of
    from karat.measures.labels import relations_of
    from karat.registry import Measure

    relations = relations_of(Measure(definition.name, definition=definition))
    if not relations:
        return "" if definition.labels is None else _NO_LABELS
    needed = dict.fromkeys(f"{relation.task} of {in_words(relation)}" for relation in relations)
    recipes = dict.fromkeys(map(recipe_of, relations))
    # Labels of citations include those of each sentence with each passage that it cites.
    tasks = [f"--task {recipe}" for recipe in recipes if recipe != "support" or "citations" not in recipes]
    return f"{'; '.join(needed)} (karat verdicts template {', '.join(tasks)})"


def _alias(alias: str) -> str:
    """An alias as it is used: `P_k` and `rbp.p=0.95` for those that are declared as `P_` and `rbp_(p=?)`."""
    text = alias.replace("_(p=?)", ".p=0.95").replace("(p=?)@p", "@95").replace("(mult=?)", "m")
    return f"{text}k" if text.endswith("_") else text


def _wrapped(text: str, lead: str = "  ") -> list[str]:
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    return textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=" " * len(lead)) or [lead.rstrip()]
