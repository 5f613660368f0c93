#!/usr/bin/env python3
"""Write docs/public-api.txt: every public name and every option, so that no change of one goes unnoticed.

Usage::

    python scripts/list_api.py            # write the file
    python scripts/list_api.py --check    # write nothing; exit 1 if it is not up to date
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click
from public_api import MODULES, Name, commands, members, public_names, spelled
from up_to_date import main

FILE = Path(__file__).resolve().parent.parent / "docs" / "public-api.txt"
HEAD = "The public names and the commands of karat: see stability.md. Written by scripts/list_api.py."
WIDTH = 120


def page() -> str:
    lines = [HEAD]
    for module in MODULES:
        lines += ["", module]
        for name in public_names(module):
            lines += written(name, " " * 4)
            # Haystack's components have the members of the classes in karat.components.evaluators.
            if inspect.isclass(name.value) and module != "karat.integrations.haystack":
                lines += [line for member in members(name.value) for line in written(member, " " * 8)]
    lines += ["", "the command line"]
    for words, command in commands():
        arguments = [spelled(each) for each in command.params if isinstance(each, click.Argument)]
        lines.append(f"    {' '.join(['karat', *words, *arguments])}")
        lines += [f"        {spelled(each)}" for each in command.params if isinstance(each, click.Option)]
    return "\n".join([*lines, ""])


def written(name: Name, indent: str) -> list[str]:
    """A name with its parameters, which have a line each if they do not fit into one."""
    if name.parameters is None:
        return [indent + name.before]
    line = f"{indent}{name.before}({', '.join(name.parameters)}){name.after}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}{name.before}(", *(f"{indent}    {each}," for each in name.parameters), f"{indent}){name.after}"]


if __name__ == "__main__":
    sys.exit(main(__file__, "Write the public names and their signatures.", [(FILE, page())]))
