"""A table for people and for programs: drawn, or as Markdown, LaTeX, HTML, CSV and TSV."""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from karat.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table as RichTable

_GAP = 3
_UNFOLDED = 1_000_000


@dataclass(frozen=True)
class Cell:
    """A text, and whether it stands out: as a rule, as the best of its column."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A header, rows, and notes under them; the first `labels` columns are names, the others numbers.

    `said` is the result in words, which comes last. `legend` says what a star means, and `style` is what it is on a
    terminal.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    labels: int = 1
    legend: str = "the best of its column"
    style: str = "bold green"
    said: tuple[str, ...] = ()

    def text(self) -> str:
        """Plain text, unfolded and without colour; the best of a column has a star."""
        starred = [any(row[at].best for row in self.rows) for at in range(len(self.header))]
        lines = [[printable(name) + " " * star for name, star in zip(self.header, starred, strict=True)]]
        for row in self.rows:
            marks = (("*" if cell.best else " ") if star else "" for cell, star in zip(row, starred, strict=True))
            lines.append([printable(cell.text) + mark for cell, mark in zip(row, marks, strict=True)])
        widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
        drawn = [_aligned(line, widths, self.labels) for line in lines]
        rule = "─" * (sum(widths) + _GAP * (len(widths) - 1))
        legend = [f"* {self.legend}"] if any(starred) else []
        return "\n".join([drawn[0], rule, *drawn[1:], *legend, *map(printable, (*self.notes, *self.said))]) + "\n"

    def rich(self) -> Group:
        """For a terminal: the best of a column in colour, the notes dimmed, what they come to not."""
        from rich.console import Group
        from rich.text import Text

        notes = (Text(printable(note), style="dim") for note in self.notes)
        return Group(self._drawn(), *notes, *(Text(printable(sentence)) for sentence in self.said))

    def fits(self, console: Console) -> bool:
        """Whether the table can be drawn in this terminal without folding its cells."""
        from rich.measure import Measurement

        natural = Measurement.get(console, console.options.update(width=_UNFOLDED), self._drawn())
        return natural.maximum <= console.width

    def stacked(self, console: Console) -> list[Table]:
        """The same rows in several tables, each as wide as the terminal allows."""
        parts: list[Table] = []
        for at in range(self.labels, len(self.header)):
            wider = self._columns([*(parts[-1].header[self.labels :] if parts else ()), self.header[at]])
            if parts and wider.fits(console):
                parts[-1] = wider
            else:
                parts.append(self._columns([self.header[at]]))
        return [*parts[:-1], replace(parts[-1], notes=self.notes, said=self.said)] if parts else [self]

    def _columns(self, names: Sequence[str]) -> Table:
        kept = [*range(self.labels), *(at for at in range(self.labels, len(self.header)) if self.header[at] in names)]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, header=tuple(self.header[at] for at in kept), rows=rows, notes=(), said=())

    def markdown(self) -> str:
        lines = [
            map(_for_markdown, self.header),
            ("---" if at < self.labels else "---:" for at in range(len(self.header))),
            *((f"**{_for_markdown(c.text)}**" if c.best else _for_markdown(c.text) for c in row) for row in self.rows),
        ]
        notes = "".join(f"- {_for_markdown(note)}\n" for note in (*self.notes, *self.said))
        table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        return f"{table}\n{notes}" if notes else table

    def latex(self) -> str:
        """A booktabs tabular; the notes are comments above it."""
        columns = "l" * self.labels + "r" * (len(self.header) - self.labels)
        rows = [
            " & ".join(rf"\textbf{{{latex_text(c.text)}}}" if c.best else latex_text(c.text) for c in row)
            for row in self.rows
        ]
        lines = [
            *(f"% {printable(note)}" for note in (*self.notes, *self.said)),
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(latex_text, self.header)) + r" \\",
            r"\midrule",
            *(rf"{row} \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        cells = []
        for row in self.rows:
            marked = (
                f'<td style="text-align:{"left" if at < self.labels else "right"}">'
                + (f"<b>{_html(cell.text)}</b>" if cell.best else _html(cell.text)) + "</td>"
                for at, cell in enumerate(row)
            )  # fmt: skip
            cells.append(f"<tr>{''.join(marked)}</tr>")
        head = "".join(f"<th>{_html(name)}</th>" for name in self.header)
        notes = "".join(f"<div><small>{_html(note)}</small></div>" for note in self.notes)
        said = "".join(f"<div>{_html(sentence)}</div>" for sentence in self.said)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table>{notes}{said}"

    def _drawn(self) -> RichTable:
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for at, name in enumerate(self.header):
            # Numbers are folded between words only, and labels give way to them.
            texts = [name, *(row[at].text for row in self.rows)] if at >= self.labels else []
            words = [word for text in texts for word in text.split()]
            table.add_column(
                Text(printable(name)),
                justify="left" if at < self.labels else "right",
                overflow="fold",
                min_width=max(map(len, words), default=1),
            )
        for row in self.rows:
            table.add_row(*(Text(printable(cell.text), style=self.style if cell.best else "") for cell in row))
        return table


class Tabular(ABC):
    """What has a table, and is printed, shown on a terminal and in a notebook as that."""

    @abstractmethod
    def table(self) -> Table:
        """It as a table."""

    def __str__(self) -> str:
        return self.table().text().rstrip("\n")

    def __rich__(self) -> Group:
        return self.table().rich()

    def _repr_html_(self) -> str:
        return self.table().html()


def _aligned(cells: Sequence[str], widths: Sequence[int], labels: int) -> str:
    parts = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - _width(cell))
        parts.append(cell + blank if at < labels else blank + cell)
    return (" " * _GAP).join(parts).rstrip()


def _width(text: str) -> int:
    """How many columns a text takes: none for what is put on the letter before it, two for a wide character."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 1 + (east_asian_width(letter) in "WF") for letter in text)


def delimited(header: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str) -> str:
    """CSV or TSV for programs: numbers to the last digit, nothing for None, fields quoted where they need it."""
    return "".join(delimiter.join(_field(value, delimiter) for value in row) + "\n" for row in [header, *rows])


def _field(value: object, delimiter: str) -> str:
    text = "" if value is None else str(value)
    # Python's own writer leaves a carriage return bare, and its reader then takes it for the end of a line.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in (delimiter, '"', "\n", "\r")) else text


def _for_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#$~&])", r"\\\1", printable(text))


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "…": r"\dots{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    # At the beginning of a row a bracket would be a length, and a star an option, of the line break before it.
    guard = "{}" if text.startswith(("[", "*")) else ""
    return guard + "".join(_LATEX.get(character, character) for character in printable(text))


def _html(text: str) -> str:
    """A text as it can stand in a page: escaped, and without characters that cannot be written or turn others round."""
    return html.escape(printable(text))
