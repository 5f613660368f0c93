"""The kinds of findings that have a number, such as K030: what each means, why it matters, and what to do.

They are declared once, in `finding_kinds.md`, which is also what the documentation and `karat check --explain` show. A
finding is of the kind whose name is its code. Findings without a kind are remarks, such as how a file was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from karat.errors import KaratError, Parameter, did_you_mean
from karat.errors.arguments import check_names

Severity = Literal["error", "warning"]

_HEADING = re.compile(r"^### (K\d{3}) ([a-z-]+) \((error|warning)\)$", re.MULTILINE)


@dataclass(frozen=True)
class FindingKind:
    """A kind of findings. Its name is the `code` of its findings; its number is what people write and search for."""

    number: str
    name: str
    severity: Severity
    text: str
    """what it means, why it matters and what to do; a paragraph in Markdown"""

    def __str__(self) -> str:
        return f"{self.number} {self.name} ({self.severity})\n\n{self.text}"


@cache
def finding_kinds() -> dict[str, FindingKind]:
    """All kinds by their names, in the order of their numbers.

    >>> kind = finding_kinds()["missing-queries"]
    >>> kind.number, kind.severity
    ('K030', 'warning')
    """
    text = Path(__file__).with_name("finding_kinds.md").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    sections = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    return {
        name: FindingKind(number, name, "error" if severity == "error" else "warning", paragraph.strip())
        for number, name, severity, paragraph in sections
    }


def find_kind(name: str, parameter: str = "explain") -> FindingKind:
    """The kind with this number or name, in any case.

    >>> find_kind("k030").name
    'missing-queries'
    """
    kinds = {key: kind for kind in finding_kinds().values() for key in (kind.number, kind.name)}
    wanted = name.strip() if isinstance(name, str) else name
    for key in (wanted, str(wanted).upper(), str(wanted).lower()):
        if key in kinds:
            return kinds[key]
    hint = did_you_mean(wanted, kinds) or _HINT
    raise KaratError([Parameter(parameter, name), " is not a kind of finding"], hint=hint)


def kinds_to_show(select: Iterable[str], ignore: Iterable[str]) -> set[str]:
    """The names of the kinds that are selected (all, if none is) and not ignored, each by its number or name.

    >>> sorted(kinds_to_show(["K030", "unjudged"], ["k030"]))
    ['unjudged']
    """
    chosen = [
        {find_kind(name, option).name for name in check_names(option, names, ["K030", "unjudged"])}
        for option, names in (("select", select), ("ignore", ignore))
    ]
    return (chosen[0] or {*finding_kinds()}) - chosen[1]


_HINT = "Kinds are K001 to K060; docs/check.md lists them."
