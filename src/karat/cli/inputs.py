"""What a command line says about its files: their formats, the names of their columns, and the split of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from karat.columns import GivenNames, IfPresent, plain_names
from karat.columns.spellings import Role
from karat.errors import KaratError, Place, did_you_mean, enumeration, shown
from karat.files.input_file import InputFile
from karat.files.names import check_format
from karat.sources.files import DescribedFile

Side = Literal["truth", "run", "queries", "corpus"]
_PAIRS: tuple[Side, ...] = ("truth", "run")
_ROLES: dict[Side, tuple[Role | Literal["id", "text", "title"], ...]] = {
    "truth": ("query", "doc", "grade"), "run": ("query", "doc", "score", "rank"),
    "queries": ("id", "text"), "corpus": ("id", "text", "title"),
}  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """The formats of files, the names of their columns by role, and the split of a BEIR data set.

    A column that is given for ground truth and runs together is `IfPresent`: only one of them needs to have it.
    """

    formats: Mapping[Side, str] = field(default_factory=dict)
    columns: Mapping[Side, GivenNames] = field(default_factory=dict)
    split: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that are given."""
        options = {"--input-format": self.formats, "--column": self.columns, "--split": self.split is not None}
        return [option for option, value in options.items() if value]

    def for_any_file(self) -> Iterator[tuple[str, str]]:
        """The role and the name of each column that is given for ground truth and runs together."""
        pairs = ((role, name) for names in self.columns.values() for role, name in names.items())
        return iter(dict.fromkeys((role, name.name) for role, name in pairs if isinstance(name, IfPresent)))

    def texts(self, side: Literal["queries", "corpus"], given: Sequence[str]) -> list[DescribedFile]:
        """The files of `--queries` and `--corpus`, each `FILE` or `FILE:COLUMN`."""
        from karat.cli.files import split_texts

        files = []
        for text in given:
            path, column = split_texts(text)
            columns = {**self.columns.get(side, {}), **({} if column is None else {"text": column})}
            files.append(DescribedFile(InputFile(path), columns, self.formats.get(side)))
        return files


def check_texts(files: Sequence[DescribedFile], content: Literal["queries", "corpus"]) -> None:
    """Reject files of `--queries` and `--corpus` that cannot be read or contain no texts, before any work is done."""
    for each in files:
        from karat.sources.contents import check_text_file
        from karat.sources.text_files import TextFile

        columns = plain_names(each.columns)
        check_text_file(TextFile.of(each.file, each.format, columns.get("text"), content), content, columns)


def parse_inputs(formats: Sequence[str], columns: Sequence[str], split: str | None) -> Inputs:
    """The values of `--input-format`, `--column` and `--split`."""
    return Inputs(parse_formats(formats), parse_columns(columns), split)


def parse_formats(given: Sequence[str]) -> dict[Side, str]:
    """The formats of files, from texts such as `csv`, for ground truth and runs, and `run=csv`.

    >>> parse_formats(["csv"]), parse_formats(["run=jsonl"])
    ({'truth': 'csv', 'run': 'csv'}, {'run': 'jsonl'})
    """
    found: dict[Side, str] = {}
    for text in given:
        side, equals, name = (part.strip() for part in text.rpartition("="))
        for each in _sides(side, f"--input-format {text}") if equals else _PAIRS:
            if found.setdefault(each, check_format(name)) != name:
                raise KaratError(f"--input-format is given twice for the {each}", hint="Keep one of them.")
    return found


def parse_columns(given: Sequence[str]) -> dict[Side, dict[str, str | IfPresent]]:
    """The names of columns by role, from texts such as `doc=docno` and `truth.doc=docno`.

    >>> parse_columns(["truth.grade=label", "doc=docno"])
    {'truth': {'grade': 'label', 'doc': IfPresent(name='docno')}, 'run': {'doc': IfPresent(name='docno')}}
    """
    found: dict[Side, dict[str, str | IfPresent]] = {}
    for text in given:
        what, equals, name = (part.strip() for part in text.partition("="))
        side, dot, role = what.rpartition(".")
        if not (what and equals and name):
            hint = "Write --column doc=docno, or --column run.doc=docno for the runs only."
            raise KaratError(f"--column {shown(text)} is not of the form ROLE=NAME", hint=hint)
        sides = [each for each in (_sides(side, f"--column {text}") if dot else _PAIRS) if role in _ROLES[each]]
        if not sides:
            known = _ROLES[side] if side in _ROLES else dict.fromkeys(role for of in _PAIRS for role in _ROLES[of])
            hint = f"{did_you_mean(role, known)} Columns are {enumeration(list(known), 'or')}.".strip()
            raise KaratError(f"{shown(role)} is not a column of the {side or 'ground truth or of runs'}", hint=hint)
        for each in sides:
            column = name if dot else IfPresent(name)
            if found.setdefault(each, {}).setdefault(role, column) not in (name, IfPresent(name)):
                raise KaratError(f"--column {what} is given twice", hint="Keep one of them.")
    return found


def parse_fields(given: Sequence[str]) -> dict[str, str]:
    """The names of fields in results files, from texts such as `retrieved=source_nodes`.

    >>> parse_fields(["query=id", "retrieved=response.source_nodes"])
    {'query': 'id', 'retrieved': 'response.source_nodes'}
    """
    names: dict[str, str] = {}
    for text in given:
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals and name) or names.get(role, name) != name:
            problem = "is given twice" if role in names else "is not of the form NAME=FIELD"
            raise KaratError(f"--field {shown(text)} {problem}", hint="Write --field retrieved=source_nodes.")
        names[role] = name
    return names


def _sides(side: str, place: Place | str) -> list[Side]:
    known: tuple[Side, ...] = get_args(Side)
    found = next((each for each in known if each == side), None)
    if found is None:
        raise KaratError(f"{shown(side)} is not one of {', '.join(known)}", place=place, hint=did_you_mean(side, known))
    return [found]
