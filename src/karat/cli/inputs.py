"""What a command line says about its files: their formats, the names of their columns, and the split of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from karat.errors import KaratError, did_you_mean, enumeration, shown
from karat.files.names import check_format
from karat.sources.columns import IfPresent
from karat.sources.spellings import Role

Side = Literal["truth", "run"]
_SIDES: tuple[Side, ...] = get_args(Side)
_ROLES: dict[Side, tuple[Role, ...]] = {"truth": ("query", "doc", "grade"), "run": ("query", "doc", "score", "rank")}


@dataclass(frozen=True)
class Inputs:
    """The formats of ground truth and runs, the names of their columns by role, and the split of a BEIR data set.

    The name of a column that is given for all files is an `IfPresent`: only one of them needs to have it.
    """

    formats: Mapping[Side, str] = field(default_factory=dict)
    columns: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)
    split: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that are given."""
        options = {"--input-format": self.formats, "--column": self.columns, "--split": self.split is not None}
        return [option for option, value in options.items() if value]

    def for_any_file(self) -> Iterator[tuple[str, str]]:
        """The role and the name of each column that is given for all files."""
        pairs = ((role, name) for names in self.columns.values() for role, name in names.items())
        return iter(dict.fromkeys((role, name) for role, name in pairs if isinstance(name, IfPresent)))


def parse_inputs(formats: Sequence[str], columns: Sequence[str], split: str | None) -> Inputs:
    """The values of `--input-format`, `--column` and `--split`."""
    return Inputs(parse_formats(formats), parse_columns(columns), split)


def parse_formats(given: Sequence[str]) -> dict[Side, str]:
    """The formats of ground truth and runs, from texts such as `csv` and `run=csv`.

    >>> parse_formats(["csv"]), parse_formats(["run=jsonl"])
    ({'truth': 'csv', 'run': 'csv'}, {'run': 'jsonl'})
    """
    found: dict[Side, str] = {}
    for text in given:
        side, equals, name = (part.strip() for part in text.rpartition("="))
        for each in _sides(side, f"--input-format {text}") if equals else _SIDES:
            if found.setdefault(each, check_format(name)) != name:
                raise KaratError(f"--input-format is given twice for the {each}", hint="Keep one of them.")
    return found


def parse_columns(given: Sequence[str]) -> dict[Side, dict[str, str]]:
    """The names of columns by role, from texts such as `doc=docno` and `truth.doc=docno`.

    >>> parse_columns(["truth.grade=label", "doc=docno"])
    {'truth': {'grade': 'label', 'doc': 'docno'}, 'run': {'doc': 'docno'}}
    """
    found: dict[Side, dict[str, str]] = {}
    for text in given:
        what, equals, name = (part.strip() for part in text.partition("="))
        side, dot, role = what.rpartition(".")
        if not (what and equals and name):
            hint = "Write --column doc=docno, or --column run.doc=docno for the runs only."
            raise KaratError(f"--column {shown(text)} is not of the form ROLE=NAME", hint=hint)
        sides = [each for each in _SIDES if role in _ROLES[each]]
        if dot:
            sides = [each for each in _sides(side, f"--column {text}") if each in sides]
        if not sides:
            known = _ROLES[side] if side in _ROLES else dict.fromkeys(role for of in _ROLES.values() for role in of)
            hint = f"{did_you_mean(role, known)} Columns are {enumeration(list(known), 'or')}.".strip()
            raise KaratError(f"{shown(role)} is not a column of the {side or 'ground truth or of runs'}", hint=hint)
        for each in sides:
            if found.setdefault(each, {}).setdefault(role, name if dot else IfPresent(name)) != name:
                raise KaratError(f"--column {what} is given twice", hint="Keep one of them.")
    return found


def _sides(side: str, where: str) -> list[Side]:
    if side not in _SIDES:
        hint = f"{did_you_mean(side, _SIDES)} Write truth or run.".strip()
        raise KaratError(f"{shown(side)} is neither truth nor run", where=where, hint=hint)
    return [side]
