"""Printable: every result of karat, as tables for people and as data for programs, in all formats."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError, Parameter, for_log, printable, require
from karat.errors.arguments import check_switch
from karat.output.delimited import delimited
from karat.output.files import json_text, write_text
from karat.output.tables import DIGITS, Table

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text


class Printable(ABC):
    """A result: tables for people, a document (JSON) and, if it has them, records (CSV) for programs."""

    @abstractmethod
    def tables(self, digits: int = DIGITS) -> list[Table]:
        """The result as tables, with so many decimals."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that is known, as data."""

    def records(self) -> Sequence[Mapping[str, object]]:
        """A record per row, with all digits."""
        raise KaratError("this result has no rows", hint="Use to_dict or to_json.")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that records have, even if there are no records."""
        return ()

    @property
    def contents(self) -> str:
        """How much it contains, in a few words; empty if only the size of a file tells."""
        return ""

    def remarks(self) -> list[str]:
        """What stands below the tables, after their titles; formats for programs have no place for it."""
        lines = []
        for table in self.tables():
            first, *others = (*table.notes, *table.sentences, "")
            lines += [f"{table.title}: {first}" if table.title else first, *others]
        return [line for line in lines if line]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """`to_dict()` as JSON; also written to `path` if given."""
        return write_text(json_text(self.to_dict()), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None, delimiter: str = ",", *, safe: bool = False) -> str:
        """The records as CSV, with all digits; also written to `path` if given.

        With `safe=True`, an apostrophe stands before texts that a spreadsheet would run as a formula, such as `=1+1`.
        """
        records = self.records()
        header = list(dict.fromkeys([*self.fields, *(name for record in records for name in record)]))
        rows = [[record.get(name) for name in header] for record in records]
        return write_text(delimited(header, rows, check_delimiter(delimiter), safe=check_switch("safe", safe)), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:
        """The tables in Markdown; also written to `path` if given."""
        return write_text("\n".join(table.markdown() for table in self.tables(digits)), path)

    def to_latex(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:
        """The tables as booktabs tabulars; also written to `path` if given."""
        return write_text("\n".join(table.latex() for table in self.tables(digits)), path)

    def to_text(self, *, digits: int = DIGITS) -> str:
        """The tables as plain text."""
        return "\n".join(table.text() for table in self.tables(digits))

    def __str__(self) -> str:
        return for_log(self.to_text().rstrip("\n"))

    def __rich__(self) -> Group:
        from rich.console import Group

        return Group(*(table.rich() for table in self.tables()))

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())


class Tabular(Printable):
    """A result that is one table."""

    @abstractmethod
    def table(self, *, digits: int = DIGITS) -> Table:
        """The result as a table."""

    def tables(self, digits: int = DIGITS) -> list[Table]:
        """The result as a list of one table."""
        return [self.table(digits=digits)]


@dataclass(frozen=True)
class Line:
    """A line: its texts one after the other, each with its style on a terminal, which may be empty."""

    parts: tuple[tuple[str, str], ...]

    def text(self) -> str:
        return "".join(printable(text) for text, _ in self.parts)

    def rich(self) -> Text:
        """For a terminal, in colour."""
        from rich.text import Text

        return Text.assemble(*((printable(text), style) for text, style in self.parts))


class LineByLine(Tabular):
    """A result that is printed as lines. In documents and notebooks it is a table, on GitHub annotations."""

    @abstractmethod
    def lines(self) -> list[Line]:
        """The result as lines."""

    @abstractmethod
    def to_github(self) -> str:
        """The result as workflow commands, which GitHub shows as annotations."""

    def to_text(self, *, digits: int = DIGITS) -> str:  # noqa: ARG002  # every result has it
        """The lines as plain text."""
        return "".join(f"{line.text()}\n" for line in self.lines())

    def __rich__(self) -> Group:
        from rich.console import Group

        return Group(*(line.rich() for line in self.lines()))


@dataclass(frozen=True)
class BySystem(Printable):
    """The same kind of result for each system: one below the other, under their names. That of one has no name."""

    results: Mapping[str, Printable]

    def tables(self, digits: int = DIGITS) -> list[Table]:
        by_name = {name: result.tables(digits) for name, result in self.results.items()}
        if len(by_name) == 1:
            return next(iter(by_name.values()))
        return [table for name, (first, *others) in by_name.items() for table in (replace(first, title=name), *others)]

    def to_dict(self) -> dict[str, Any]:
        """`{"runs": {name: ...}}`, or the document of the only system."""
        documents = {name: result.to_dict() for name, result in self.results.items()}
        return {"runs": documents} if len(documents) > 1 else next(iter(documents.values()))

    def records(self) -> list[Mapping[str, object]]:
        """The records of all systems; each names its system if there are several."""
        named = ((name, record) for name, result in self.results.items() for record in result.records())
        return [{"run": name, **record} if len(self.results) > 1 else record for name, record in named]


def rendered(result: Printable, form: str, digits: int = DIGITS, *, safe: bool = False) -> str:
    """A result as text in one of the formats of `karat.options.Format`, or as annotations of GitHub."""
    if form == "json":
        return result.to_json()
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in result.records())
    if form in ("csv", "tsv"):
        return result.to_csv(None, "," if form == "csv" else "\t", safe=safe)
    if form == "markdown":
        return result.to_markdown(digits=digits)
    if form == "github" and isinstance(result, LineByLine):
        return result.to_github()
    return result.to_latex(digits=digits) if form == "latex" else result.to_text(digits=digits)


def check_delimiter(delimiter: object) -> str:
    """A character that can separate columns."""
    valid = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '\r\n"'
    require(valid, [Parameter("delimiter", delimiter), " cannot separate columns"], 'Use "," or "\\t".')
    return str(delimiter)
