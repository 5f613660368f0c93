"""The pages of the site that are written from karat itself: names in Python, measures and commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
from inspect import get_annotations
from types import ModuleType

from click.testing import CliRunner
from public_api import MODULES, Name, commands, members, public_module, public_names

from karat import Measure
from karat.cli import measures as explained
from karat.cli import program
from karat.measures import definitions
from karat.output.printable import Printable
from karat.registry import Definition

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)
_KINDS = {
    "judged": ("Rankings", "Measures of ranked documents, from ground truth and a run."),
    "pool": ("Pools", "Measures of all documents of all queries at once."),
    "spans": ("Spans", "Measures of character ranges in documents."),
    "preferences": ("Preferences", "Measures of rankings, from judgments that prefer one document to another."),
    "answers": ("Answers", "Measures that compare a predicted answer with gold answers."),
    "verdicts": ("Labels", "Measures of labels that people or models gave to generated answers and passages."),
}
_WIDTH = 100


def reference_pages() -> Iterator[tuple[str, str, str]]:
    """The title, the place and the text of each page."""
    modules = [module for module in MODULES if module != "karat.measures"]
    yield "Python", "python.md", _python_index(modules)
    for module in modules:
        yield module, f"{module.replace('.', '-')}.md", _module_page(module)
    yield "All measures", "all-measures.md", _measures_index()
    for takes, group in _grouped().items():
        yield f"Measures: {_KINDS[takes][0].lower()}", f"measures-{takes}.md", _measures_page(takes, group)
    yield "Commands", "commands.md", _commands_page()


def markdown(docstring: str | None) -> str:
    """A docstring as Markdown: its examples become blocks of code."""
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```", inspect.cleandoc(docstring or ""))


def _summary(value: object) -> str:
    return markdown(_own_docstring(value)).partition("\n\n")[0].replace("\n", " ")


def _own_docstring(value: object) -> str | None:
    """The docstring of a value of karat's: not that of `str` or `set`."""
    is_own = type(value).__module__.startswith("karat.") or callable(value) or inspect.ismodule(value)
    return value.__doc__ if is_own else None


def _python_index(modules: list[str]) -> str:
    lines = ["# Python", "", "All public names of karat; [Stability](stability.md) says what stays as it is."]
    for module in modules:
        page = f"{module.replace('.', '-')}.md"
        lines += [
            "",
            f"## [{module}]({page})",
            "",
            _summary(public_module(module)),
            "",
            "| name | what it is |",
            "| --- | --- |",
        ]
        for name in _explained(module):
            lines.append(f"| [`{name.name}`]({page}#{module}.{name.name}) | {_summary(name.value)} |")
    measures = 'its measures can be imported by their names, with parameters as arguments: `nDCG(gain="exp") @ 10`.'
    return "\n".join([*lines, "", "## karat.measures", "", f"[All measures](all-measures.md): {measures}", ""])


def _explained(module: str) -> list[Name]:
    """The names that are explained on the page of a module: functions first, then classes, then data.

    Modules have pages of their own, and so have measures. `__version__` explains itself.
    """
    names = [name for name in public_names(module) if not isinstance(name.value, ModuleType | Measure | str)]
    return sorted(names, key=lambda name: (not inspect.isfunction(name.value), not inspect.isclass(name.value)))


def _module_page(module: str) -> str:
    parts = [f"# {module}", markdown(public_module(module).__doc__)]
    for name in _explained(module):
        parts += [f"## {name.name} {{ #{module}.{name.name} }}", _signature(name), markdown(_own_docstring(name.value))]
        parts += _members(module, name)
    if module == "karat":
        parts += ["## Every result { #karat.result }", "What can be done with everything that karat computes."]
        parts += [part for member in members(Printable) for part in _member("karat.result", member)]
    return "\n\n".join([*filter(None, parts), ""])


def _members(module: str, name: Name) -> Iterator[str]:
    # Haystack's components have the members of the classes in karat.components.evaluators.
    if not inspect.isclass(name.value) or module == "karat.integrations.haystack":
        return
    shared = []
    for member in members(name.value):
        home = next(base for base in name.value.__mro__ if member.name in (*vars(base), *get_annotations(base)))
        if home is Printable:
            shared.append(f"[`{member.name}`](karat.md#karat.result.{member.name})")
        else:
            yield from _member(f"{module}.{name.name}", member)
    if shared:
        yield f"As [every result](karat.md#karat.result), it has {', '.join(shared[:-1])} and {shared[-1]}."


def _member(owner: str, member: Name) -> Iterator[str]:
    text = markdown(_docstring(member.value))
    if member.parameters is not None or text:  # a field is in the signature of its class
        yield f"### {member.name} {{ #{owner}.{member.name} }}"
        yield _signature(member)
        yield text


def _docstring(value: object) -> str | None:
    function = getattr(value, "func", None) or getattr(value, "fget", None) or getattr(value, "__func__", value)
    return function.__doc__ if inspect.isfunction(function) else None


def _signature(name: Name) -> str:
    """How a name is written, with a line for each parameter if they do not fit into one, and the fields of a class."""
    lines = [name.before]
    if name.parameters is not None:
        lines = [f"{name.before}({', '.join(name.parameters)}){name.after}"]
        if len(lines[0]) > _WIDTH:
            lines = [f"{name.before}(", *(f"    {each}," for each in name.parameters), f"){name.after}"]
    elif inspect.isclass(name.value):
        plain = (each for each in members(name.value) if each.parameters is None and not _docstring(each.value))
        lines += [f"    {each.before}" for each in plain]
    text = "\n".join(lines)
    return f"```python\n{text}\n```"


def _grouped() -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {takes: [] for takes in _KINDS}
    for definition in definitions():
        found[definition.takes].append(definition)
    return found


def _measures_index() -> str:
    lines = [
        "# All measures",
        "",
        "`karat measures` lists the same, and `karat measures NAME` explains one. [Measures](measures.md) says how"
        " names and parameters are written, and how to register a measure of your own.",
    ]
    for takes, group in _grouped().items():
        title, what = _KINDS[takes]
        lines += ["", f"## [{title}](measures-{takes}.md)", "", what, "", "| measure | what it is |", "| --- | --- |"]
        lines += [
            f"| [`{explained.signature(each)}`](measures-{takes}.md#{each.name}) | {each.summary} |" for each in group
        ]
    return "\n".join([*lines, ""])


def _measures_page(takes: str, group: list[Definition]) -> str:
    title, what = _KINDS[takes]
    return "\n\n".join([f"# Measures: {title.lower()}", what, *map(_measure, group), ""])


def _measure(definition: Definition) -> str:
    facts = explained.facts(definition)
    formula = facts.pop("formula", "")
    parts = [f"## {definition.name} {{ #{definition.name} }}", definition.summary]
    if formula:
        parts.append(f"```text\n{formula}\n```")
    parts += [inspect.cleandoc(definition.details), _listed(facts)]
    if parameters := explained.parameters(definition):
        parts += ["Parameters:", _listed({f"`{name}`": text for name, text in parameters.items()})]
    if definition.example:
        parts.append("```pycon\n" + "\n".join(explained.example(definition)) + "\n```")
    return "\n\n".join(filter(None, parts))


def _listed(texts: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {_plain(text)}" for name, text in texts.items())


def _plain(text: str) -> str:
    """A text in which only code is marked up."""
    parts = escape(text, quote=False).split("`")
    parts[::2] = [re.sub(r"([*_\[\]])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _commands_page() -> str:
    parts = ["# Commands", "What each command says with `--help`."]
    for words, _ in commands():
        shown = CliRunner().invoke(program, [*words, "--help"], prog_name="karat", terminal_width=_WIDTH)
        parts += [f"## {' '.join(['karat', *words])}", f"```text\n{shown.output.rstrip()}\n```"]
    return "\n\n".join([*parts, ""])
