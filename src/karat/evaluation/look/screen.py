"""What is in a log or another file, and what can be done with it: as data, and as one screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from textwrap import wrap
from typing import Any, NamedTuple

from karat.errors import KaratError, enumeration, percent, plural, shown
from karat.matching.trials import Trial, Trials
from karat.output.printable import Printable
from karat.output.tables import DIGITS, Cell, Table, long_cell, note_line
from karat.scores import Finding

WIDTH = 80
"""of a screen, in columns"""
_LONGEST_PATH = 26
_LONGEST_EXAMPLE = 36
_LONGEST_NAMES = 66
_SHORTEST_ID, _LONGEST_ID = 12, 24
_REST_OF_MATCHES = len("gold found") + 9  # columns beside the name of a match and two ids
_LONGEST_MEASURES = 46
_MOST_PATHS, _MOST_PATHS_OF_TOOL = 14, 6  # which fields a tool writes is known
_MOST_NAMES = 12
_MOST_MATCHES = 4
_SHOWN_ELSEWHERE = ("nothing-found", "match", "unjudged")  # what the table of matches shows, and shares of a run


_OPTION = re.compile(r"( --?\S+) (?!-)")


class FieldRead(NamedTuple):
    """A field of records or a column of a table: what it is read as, where it is, and an example."""

    field: str
    path: str
    example: str


class FieldSeen(NamedTuple):
    """A field that exists, as the path that leads to it, the type of its values, and an example."""

    path: str
    type: str
    example: str


class MeasureGroup(NamedTuple):
    """Measures that need the same: nothing else, gold documents, gold answers, or the labels of a task."""

    measures: tuple[str, ...]
    needs: str = ""
    task: str = ""
    """the task of a judge that gives the labels"""


@dataclass(frozen=True, eq=False)
class Look(Printable):
    """What a log contains, and what can be done with it. Printed, it is one screen.

    >>> from karat import look
    >>> seen = look([{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "gold": ["Gold is soft."]}])
    >>> seen.can_be_evaluated, dict(seen.counts)
    (True, {'record': 1})
    """

    name: str
    """the name of the file"""
    what: str
    """what it is, in words"""
    counts: Mapping[str, int]
    """how many records, queries or documents there are"""
    tool: str | None = None
    """the tool that wrote it, if it is known"""
    read: tuple[FieldRead, ...] = ()
    """what is read"""
    unused: tuple[str, ...] = ()
    """the names of fields that are not read"""
    paths: tuple[FieldSeen, ...] = ()
    """the fields that exist, if it cannot be evaluated as it is"""
    matches: Trials | None = None
    """what matches find, if there are gold and retrieved documents"""
    measures: tuple[MeasureGroup, ...] = ()
    notes: tuple[str, ...] = ()
    """the notes of an evaluation"""
    commands: Mapping[str, str] = field(default_factory=dict)
    """what can be done next: a command, or a call if it is not a file, by what it is for"""
    error: KaratError | None = None
    """what an evaluation says, if it cannot be evaluated as it is"""

    @property
    def can_be_evaluated(self) -> bool:
        """Whether it can be evaluated as it is, or is read by another command as it is."""
        return self.error is None

    def tables(self, digits: int = DIGITS) -> list[Table]:  # noqa: ARG002  # there are no decimals
        """The screen, as one table per subject."""
        first, *others = self._tables()
        *middle, last = (replace(first, title=self._title), *others)
        return [*middle, replace(last, sentences=tuple(self._next()))]

    @property
    def _counts(self) -> str:
        return ", ".join(plural(count, noun) for noun, count in self.counts.items())

    @property
    def _title(self) -> str:
        """What it is and how many, if that fits the screen."""
        short = f"{self.name}: {self.what}"
        whole = f"{short}, {self._counts}" if self.counts else short
        return whole if len(whole) <= WIDTH else short

    def _tables(self) -> Iterator[Table]:
        counts = "" if self._title.endswith(self._counts) else self._counts
        evaluation = (note_line(f"{note.rstrip('.')}.") for note in self.notes)
        notes = tuple(line for note in (counts, *self._about_unused(), *evaluation) for line in _lines(note))
        if any(each.path for each in self.read):
            rows = tuple((Cell(each.field), *_cells(each.path, each.example)) for each in self.read)
            yield Table(("read as", "from", "example"), rows, notes, labels=3)
        elif self.read:
            rows = tuple((Cell(each.field), long_cell(each.example, _LONGEST_NAMES)) for each in self.read)
            yield Table(("contains", "names"), rows, notes, labels=2)
        if self.paths:
            shown_paths = self.paths[: _MOST_PATHS if self.tool is None else _MOST_PATHS_OF_TOOL]
            rows = tuple((*_cells(each.path), Cell(each.type), *_cells(example=each.example)) for each in shown_paths)
            more = len(self.paths) - len(shown_paths)
            yield Table(
                ("not used" if self.read and self.unused else "field", "type", "example"),
                rows,
                (f"and {more:,} more",) if more else (),
                labels=3,
            )
        if self.matches:
            yield self._match_table(self.matches)
        if self.measures:
            lines = [
                (Cell(line), Cell("" if at else _need(group)))
                for group in self.measures
                for at, line in enumerate(wrap(", ".join(group.measures), _LONGEST_MEASURES, break_on_hyphens=False))
            ]
            yield Table(("measures", "need"), tuple(lines), labels=2)

    def _about_unused(self) -> list[str]:
        if self.paths and len(self.paths) <= _MOST_PATHS and self.tool is None:
            return []  # a table shows them
        more = len(self.unused) - _MOST_NAMES
        names = [*map(shown, self.unused[:_MOST_NAMES]), *([f"{more} more"] if more > 0 else [])]
        return [f"not used: {enumeration(names, 'and')}"] if names else []

    def _match_table(self, trials: Trials) -> Table:
        by_id = next(filter(_is_by_id, trials.trials), None)
        best = _worth_showing(trials)
        listed = [*best, *([by_id] if by_id and by_id not in best else [])]
        names = [_match_text(trial) for trial in listed]
        width = max((WIDTH - max(map(len, names), default=0) - _REST_OF_MATCHES) // 2, _SHORTEST_ID)
        rows = tuple(
            (Cell(name), *_ids(trial.example or trials.examples[1:], width), Cell(percent(trials.share(trial))))
            for name, trial in zip(names, listed, strict=True)
        )
        tried = f"tried on {plural(trials.queries, 'query')}"
        notes = [f"{tried}: {enumeration(trials.tried, 'and')}; none finds a gold document" if not best else tried]
        lines = tuple(line for note in notes for line in _lines(note))
        return Table(("match", "gold document", "retrieved", "gold found"), rows, lines, labels=3)

    def _next(self) -> Iterator[str]:
        """What can be done next, and what an evaluation says, in lines."""
        for purpose, command in self.commands.items():
            yield from _folded(f"{purpose}: {command}")
        if self.error is not None:
            yield from _lines(f"cannot be evaluated as it is: {self.error}")

    def to_dict(self) -> dict[str, Any]:
        """All facts, as data."""
        matches = None if self.matches is None else {**asdict(self.matches), "tried": self.matches.tried}
        return {
            "name": self.name,
            "what": self.what,
            "tool": self.tool,
            "can_be_evaluated": self.can_be_evaluated,
            "counts": dict(self.counts),
            "read": [each._asdict() for each in self.read],
            "unused": list(self.unused),
            "paths": [each._asdict() for each in self.paths],
            "matches": matches,
            "measures": [each._asdict() for each in self.measures],
            "notes": list(self.notes),
            "commands": dict(self.commands),
            "error": None if self.error is None else str(self.error),
        }


@dataclass(frozen=True, eq=False)
class Looks(Printable):
    """What is in several files, one below the other."""

    looks: tuple[Look, ...]

    def tables(self, digits: int = DIGITS) -> list[Table]:
        return [table for look in self.looks for table in look.tables(digits)]

    def to_dict(self) -> dict[str, Any]:
        """`{"files": [...]}`, or the facts about the only file."""
        return {"files": [look.to_dict() for look in self.looks]} if len(self.looks) > 1 else self.looks[0].to_dict()


def notes_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    """The notes of an evaluation, without those that say what the screen shows."""
    return tuple(finding.note for finding in findings if finding.code not in _SHOWN_ELSEWHERE)


def best_match(trials: Trials | None) -> dict[str, str]:
    """The option of an evaluation by which gold documents are found, if they are not found by their ids."""
    best = None if trials is None else trials.best
    if trials is None or best is None or best.difference:
        return {}
    return {} if any(trial.found for trial in filter(_is_by_id, trials.trials)) else {"match": best.match}


def _worth_showing(trials: Trials) -> list[Trial]:
    """The matches that find most, without those that find no more than a stricter one of their kind."""
    kinds: dict[str, Trial] = {}
    for trial in trials.trials:
        if trial.found:
            kinds.setdefault(trial.match.partition("(")[0], trial)
    return [*kinds.values()][:_MOST_MATCHES]


def _is_by_id(trial: Trial) -> bool:
    return trial.match == "id" and not trial.difference


def _need(group: MeasureGroup) -> str:
    if group.task:
        return f"labels: --task {group.task}"
    return group.needs or "nothing else"


def _match_text(trial: Trial) -> str:
    return f"id, without {trial.difference}" if trial.difference else trial.match


def _cells(path: str | None = None, example: str | None = None) -> list[Cell]:
    given = ((path, _LONGEST_PATH), (example, _LONGEST_EXAMPLE))
    return [long_cell(text, width) for text, width in given if text is not None]


def _ids(example: Sequence[str], width: int) -> list[Cell]:
    return [long_cell(shown(text, 2 * _LONGEST_EXAMPLE), min(width, _LONGEST_ID)) for text in example]


def _folded(command: str) -> list[str]:
    """A command in lines that fit the screen, and that a shell reads as one; or a call, which needs no backslash."""
    together = _OPTION.sub(r"\1\0", command)  # an option and its value stay on one line
    lines = wrap(together, WIDTH - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    mark = " \\" if ": karat " in command else ""
    return [line.replace("\0", " ") + mark * (at < len(lines) - 1) for at, line in enumerate(lines)]


def _lines(text: str) -> list[str]:
    """A text in lines that fit the screen."""
    return wrap(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
