"""Workflow commands of GitHub Actions, which show annotations in a pull request and beside lines of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from karat.errors import printable


def workflow_command(level: Literal["error", "warning"], message: str, properties: Mapping[str, object]) -> str:
    r"""A line that GitHub shows as an annotation, with those properties that are known.

    Texts come from data: what would end a property or the line is escaped.

    >>> workflow_command("error", "50% is\nnot enough", {"file": "a:b.trec", "line": 7, "title": ""})
    '::error file=a%3Ab.trec,line=7::50%25 is\\nnot enough\n'
    """
    listed = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items() if value)
    return f"::{level} {listed}".rstrip() + f"::{_escaped(message)}\n"


def _escaped(text: str, others: str = "") -> str:
    escaped = printable(text).replace("%", "%25")
    for character in others:
        escaped = escaped.replace(character, f"%{ord(character):02X}")
    return escaped
