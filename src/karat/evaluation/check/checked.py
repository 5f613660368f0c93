"""Checked: the findings about evaluation data, and how they are shown: as lines, as data, and on GitHub."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, NamedTuple, overload

from karat.errors import SENTENCE_ENDS, Parameter, plural, safe_line, shortened
from karat.errors.credentials import without_credentials
from karat.output.github import workflow_command
from karat.output.printable import Line, LineByLine
from karat.output.tables import DIGITS, Cell, Table
from karat.reading.bytes.input_file import InputFile
from karat.scores.finding import Finding
from karat.scores.finding_kinds import FindingKind, finding_kinds, kinds_to_show

PLACES = 3
"""how many findings of one kind about one file are shown to people; data has all"""
_STYLES = {"error": "bold red", "warning": "bold yellow"}


class _Group(NamedTuple):
    """The findings of one kind about one file: those that are shown, and how many others there are."""

    kind: FindingKind
    shown: Sequence[Finding]
    others: int

    @property
    def file(self) -> str:
        """What they are about, as far as that is known."""
        place = self.shown[0].place
        return "" if place is None else without_credentials(place.source)

    @property
    def hints(self) -> list[str]:
        """What to do, each once."""
        return list(dict.fromkeys(finding.hint for finding in self.shown if finding.hint))


@dataclass(frozen=True, repr=False)
class Checked(LineByLine, Sequence[Finding]):
    """The findings about evaluation data: errors first, each kind in the order of its number, then by place.

    Printed, it is a line per finding, as `karat check` shows them; in a notebook, it is a table.

    >>> from karat import check
    >>> found = check({"q1": {"d1": 1}, "q2": {"d2": 0}}, {"q1": {"d1": 0.5}}, measures="RR")
    >>> [finding.code for finding in found]
    ['no-relevant', 'missing-queries']
    >>> len(found.errors), len(found.warnings)
    (0, 2)
    """

    findings: tuple[Finding, ...]
    sources: tuple[str, ...] = ()
    """the files that were checked"""

    @property
    def errors(self) -> list[Finding]:
        """Findings that make scores wrong or impossible."""
        return [finding for finding in self.findings if _kind(finding).severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """Findings that change what scores mean."""
        return [finding for finding in self.findings if _kind(finding).severity == "warning"]

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Finding]: ...
    def __getitem__(self, at: int | slice) -> Finding | Sequence[Finding]:
        return self.findings[at]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        return safe_line(f"<Checked: {self.summary}>")

    @property
    def contents(self) -> str:
        """How much was found."""
        return self.summary.lower()

    def only(self, select: Iterable[str], ignore: Iterable[str]) -> Checked:
        """The findings of some kinds: those selected (all, if none is named) without those ignored."""
        kinds = kinds_to_show(select, ignore)
        return Checked(tuple(finding for finding in self.findings if finding.code in kinds), self.sources)

    def spelled(self, spelling: Callable[[Parameter], str]) -> Checked:
        """The same findings, in which parameters are written in another way: the command line has options instead."""
        return Checked(tuple(finding.spelled(spelling) for finding in self.findings), self.sources)

    def lines(self) -> list[Line]:
        """A line per finding, with its place and number, below them a line with what to do, and a summary at the end.

        Of many findings of one kind about one file, the first are shown, and the number of the others.
        """
        lines: list[Line] = []
        for group in self._groups():
            kind = group.kind
            number = (f"{kind.severity} {kind.number}", _STYLES[kind.severity])
            lines += [Line((*_where(_place(each)), number, (f": {each.message}", ""))) for each in group.shown]
            if group.others:
                lines.append(Line((*_where(group.file), number, (f": and {group.others:,} more", ""))))
            lines += [Line(((f"    {hint}", "dim"),)) for hint in group.hints]
        kinds = [_kind(finding) for finding in self.findings[:1]]
        explained = [f". `karat check --explain {kind.number}` says what {kind.number} means." for kind in kinds]
        return [*lines, Line((("".join([self.summary, *explained]), ""),))]

    @property
    def summary(self) -> str:
        """How many findings of which severity there are, and what was checked."""
        by_severity = {"error": self.errors, "warning": self.warnings}
        counts = [plural(len(found), severity) for severity, found in by_severity.items() if found]
        checked = f" in {plural(len(self.sources), 'file')}" if len(self.sources) > 1 else ""
        return f"{' and '.join(counts) or 'No errors or warnings'}{checked}"

    def table(self, *, digits: int = DIGITS) -> Table:  # noqa: ARG002  # every result has it
        """A row per finding; of many of one kind about one file, the first, and the number of the others."""
        header = ("number", "severity", "place", "finding", "what to do")
        rows = []
        for group in self._groups():
            kind = (group.kind.number, group.kind.severity)
            rows += [(*kind, _place(each), each.message, each.hint) for each in group.shown]
            rows += [(*kind, group.file, f"and {group.others:,} more", "")] if group.others else []
        return Table(header, tuple(tuple(map(Cell, row)) for row in rows), notes=(self.summary,), labels=len(header))

    def to_dict(self) -> dict[str, Any]:
        """`{"errors": 1, "warnings": 2, "checked": [...], "findings": [{"number", "code", "source", "line", ...}]}`."""
        return {
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "checked": list(self.sources),
            "findings": [_record(finding) for finding in self.findings],
        }

    @property
    def fields(self) -> tuple[str, ...]:
        return ("number", "code", "severity", "place", "source", "line", "message", "count", "hint")

    def records(self) -> list[dict[str, Any]]:
        """A record per finding: the fields that all of them have, with the first line of several."""
        documents = map(_record, self.findings)
        return [
            {name: document.get(name) for name in self.fields} | {"place": _place(finding), "line": _line(finding)}
            for finding, document in zip(self.findings, documents, strict=True)
        ]

    def to_github(self) -> str:
        """The findings as workflow commands, which GitHub shows as annotations at their lines."""
        return "".join(_annotation(finding, self.sources) for finding in self.findings)

    def _groups(self) -> list[_Group]:
        """Findings of the same kind about the same file."""
        groups: dict[tuple[str, str | None], list[Finding]] = {}
        for finding in self.findings:
            groups.setdefault((finding.code, finding.place and finding.place.source), []).append(finding)
        return [
            _Group(_kind(found[0]), found[:PLACES], sum(each.count or 1 for each in found[PLACES:]))
            for found in groups.values()
        ]


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings, errors first, each kind in the order of its number, then by place."""
    return tuple(sorted(findings, key=lambda each: (_kind(each).severity, _kind(each).number, *_order(each))))


def _kind(finding: Finding) -> FindingKind:
    return finding_kinds()[finding.code]


def _order(finding: Finding) -> tuple[str, int]:
    """Where a finding is; after the lines of a file comes what is said about all of it."""
    place = finding.place
    if place is None:
        return "", sys.maxsize
    at = _first(place.row if place.line is None else place.line)
    return place.source, sys.maxsize if at is None else at


def _first(at: int | tuple[int, ...] | None) -> int | None:
    return at[0] if isinstance(at, tuple) else at


def _line(finding: Finding) -> int | None:
    return None if finding.place is None else _first(finding.place.line)


def _place(finding: Finding) -> str:
    return "" if finding.place is None else shortened(str(finding.place))


def _where(place: str) -> tuple[tuple[str, str], ...]:
    """A place at the beginning of a line."""
    return ((place, "bold"), (": ", "")) if place else ()


def _record(finding: Finding) -> dict[str, Any]:
    """A finding as data: its kind, the parts of its place that are known, and its texts."""
    kind, place = _kind(finding), finding.place
    known = {} if place is None else {**place._asdict(), "source": without_credentials(place.source)}
    known |= {"other": str(place.other)} if place and place.other else {}
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}
    where = {name: value for name, value in listed.items() if value not in (None, "")}
    texts = {name: value for name, value in finding.to_dict().items() if name not in ("code", "topic", "amount")}
    return {"number": kind.number, "code": kind.name, "severity": kind.severity, **where, **texts}


def _annotation(finding: Finding, files: Sequence[str]) -> str:
    """A workflow command; places that GitHub cannot show, such as rows, are in the text."""
    kind, place = _kind(finding), _place(finding)
    file = without_credentials(finding.place.source) if finding.place else ""
    is_file = file in files or _line(finding) is not None  # objects in memory have rows
    is_file &= file != InputFile.of("-").name
    stop = "" if finding.message.endswith(SENTENCE_ENDS) else "."
    text = f"{place}{': ' * bool(place)}{finding.message}{stop} {finding.hint}".rstrip()
    properties = {
        "file": PurePath(os.path.normpath(file)).as_posix() if is_file else "",
        "line": (is_file and _line(finding)) or "",
        "title": f"{kind.number} {kind.name}",
    }
    return workflow_command(kind.severity, text, properties)
