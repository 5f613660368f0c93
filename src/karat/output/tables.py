"""Tables for people and for programs: as text, and as Markdown, LaTeX, HTML, CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from karat.errors import printable
from karat.output.widths import shared_widths, shorten, width_of

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table as RichTable
    from rich.text import Text

DIGITS = 4
"""the number of decimals in a table"""
_GAP = 3
_UNFOLDED = 1_000_000
_NUMBERED = re.compile(r"K\d{3}: ")
_NOTE = re.compile(rf"note(: | (?={_NUMBERED.pattern}))")
_NARROWEST = 16  # columns of a long text in a narrow terminal


@dataclass(frozen=True)
class Mark:
    """Why a cell stands out: a symbol after its text, what the symbol means, and a style on a terminal.

    The symbol and its meaning are also shown where there is no colour; a cell whose text says it all needs neither.
    In LaTeX, Markdown and HTML a marked cell is bold, or in italics if it is `weak`: in papers, bold means best.
    """

    symbol: str
    meaning: str
    style: str
    weak: bool = False


BEST = Mark("*", "best in its column", "bold green")


@dataclass(frozen=True)
class Cell:
    """A text, and a mark if it stands out.

    A long text is cut to a width that fits most places: `whole` is the text, of which a wide terminal shows more, and
    `tail` follows it in any case.
    """

    text: str
    mark: Mark | None = None
    whole: str = ""
    tail: str = ""


def long_cell(text: str, width: int, tail: str = "") -> Cell:
    """A cell with a text that is cut to a width, or to another one that the terminal has."""
    whole = printable(" ".join(text.split()))
    return Cell(shorten(whole, width) + tail, None, whole, tail)


@dataclass(frozen=True)
class Table:
    """A header, rows, and notes below them; the first `labels` columns are names, the others numbers.

    `title` is a line above the table. `sentences` are the result in words, which is printed last, with a `style` on a
    terminal. `narrower` is the same in fewer columns, for a terminal that is not wide enough.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    labels: int = 1
    sentences: tuple[str, ...] = ()
    title: str = ""
    style: str = ""
    narrower: Table | None = None

    @property
    def legend(self) -> tuple[str, ...]:
        """A line per kind of mark: `* best in its column`."""
        return tuple(f"{mark.symbol} {mark.meaning}" for mark in self._marks)

    @property
    def _marks(self) -> list[Mark]:
        """The different marks that have a symbol."""
        marks = (cell.mark for row in self.rows for cell in row)
        return list(dict.fromkeys(mark for mark in marks if mark is not None and mark.symbol))

    def text(self) -> str:
        """Plain text, without folding and colour; symbols mark the cells that stand out."""
        header, *rows = self._texts()
        widths = [max(map(width_of, column)) for column in zip(header, *rows, strict=True)]
        rule = "─" * (sum(widths) + _GAP * (len(widths) - 1))
        below = map(printable, (*self.legend, *self.notes, *self.sentences))
        lines = [_aligned(header, widths, self.labels), rule, *(_aligned(row, widths, self.labels) for row in rows)]
        return "\n".join([*self._titles, *lines, *below]) + "\n"

    @property
    def _titles(self) -> list[str]:
        return [printable(self.title)] if self.title else []

    def _texts(self) -> list[list[str]]:
        """The texts of the header and of each row; in a column with marks, cells without a mark end in a blank."""
        marks = set(self._marks)
        marked = [any(row[at].mark in marks for row in self.rows) for at in range(len(self.header))]
        lines = [[printable(name) + " " * has_marks for name, has_marks in zip(self.header, marked, strict=True)]]
        for row in self.rows:
            symbols = (cell.mark.symbol if cell.mark else " " * at for cell, at in zip(row, marked, strict=True))
            lines.append([printable(cell.text) + symbol for cell, symbol in zip(row, symbols, strict=True)])
        return lines

    def rich(self) -> Group:
        """For a terminal: marks in colour, legend and notes dimmed, the result in words not dimmed."""
        from rich.console import Group

        return Group(*self._above(), self._grid(), *self._below())

    def stacked(self, console: Console) -> Group:
        """The same columns in several tables below each other, each as wide as the terminal allows."""
        from rich.console import Group

        parts: list[Table] = []
        for at in range(self.labels, len(self.header)):
            wider = self._columns([*(parts[-1].header[self.labels :] if parts else ()), self.header[at]])
            if parts and wider.fits(console):
                parts[-1] = wider
            else:
                parts.append(self._columns([self.header[at]]))
        return Group(*self._above(), *(part._grid() for part in parts or [self]), *self._below())

    def fits(self, console: Console) -> bool:
        """Whether the table can be drawn in this terminal without folding its cells."""
        from rich.measure import Measurement

        natural = Measurement.get(console, console.options.update(width=_UNFOLDED), self._grid())
        return natural.maximum <= console.width

    def fit(self, width: int) -> Table:
        """The table with its long texts cut so that it is as wide as the terminal; if it is stacked, its labels are."""
        long = [at for at in range(len(self.header)) if any(row[at].whole for row in self.rows)]
        if not long:
            return self
        shown = [max(map(width_of, column)) for column in zip(*self._texts(), strict=True)]
        texts = {
            at: [self.header[at], *(row[at].whole + row[at].tail or row[at].text for row in self.rows)] for at in long
        }
        wanted = [max(map(width_of, texts[at])) for at in long]
        width -= 1  # before version 15, rich counts one column more than it draws
        others = sum(shown[at] for at in range(len(shown)) if at not in long) + _GAP * (len(shown) - 1)
        least = sum(min(each, _NARROWEST) for each in wanted)
        if width - others < least and self.labels < len(shown):
            labels = sum(shown[at] for at in range(self.labels) if at not in long) + _GAP * self.labels
            others = labels + max(shown[self.labels :])
        widths = dict(zip(long, shared_widths(wanted, max(width - others, least)), strict=True))

        def cut(cell: Cell, at: int) -> Cell:
            room = widths[at] - width_of(cell.tail) if cell.whole else 0
            return replace(cell, text=shorten(cell.whole, max(room, 1)) + cell.tail) if cell.whole else cell

        return replace(self, rows=tuple(tuple(map(cut, row, range(len(row)))) for row in self.rows))

    def _columns(self, names: Sequence[str]) -> Table:
        kept = [*range(self.labels), *(at for at in range(self.labels, len(self.header)) if self.header[at] in names)]
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return replace(self, header=tuple(self.header[at] for at in kept), rows=rows)

    def _grid(self) -> RichTable:
        from rich import box
        from rich.align import Align
        from rich.table import Table as RichTable
        from rich.text import Text

        def align(text: Text, at: int) -> Text | Align:
            # Unlike a column's `justify`, Align keeps the blank that stands in place of a mark.
            return text if at < self.labels else Align.right(text)

        header, *lines = self._texts()
        table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for at, name in enumerate(header):
            # Numbers are folded between words only, and labels are folded before them.
            texts = [name, *(line[at] for line in lines)] if at >= self.labels else []
            words = [word for text in texts for word in text.split()]
            table.add_column(align(Text(name), at), overflow="fold", min_width=max(map(len, words), default=1))
        for row, line in zip(self.rows, lines, strict=True):
            styles = (cell.mark.style if cell.mark else "" for cell in row)
            table.add_row(
                *(align(Text(text, style=style), at) for at, (text, style) in enumerate(zip(line, styles, strict=True)))
            )
        return table

    def _above(self) -> list[Text]:
        from rich.text import Text

        return [Text(title, style="dim") for title in self._titles]

    def _below(self) -> list[Text]:
        from rich.text import Text

        notes = (Text(printable(note), style="dim") for note in (*self.legend, *self.notes))
        return [*notes, *(Text(printable(sentence), style=self.style) for sentence in self.sentences)]

    def markdown(self) -> str:
        lines = [
            map(_for_markdown, self.header),
            ("---" if at < self.labels else "---:" for at in range(len(self.header))),
            *(map(_markdown_cell, row) for row in self.rows),
        ]
        below = "".join(f"- {_for_markdown(text)}\n" for text in (*self.legend, *self.notes, *self.sentences))
        title = "".join(f"{_for_markdown(title)}\n\n" for title in self._titles)
        table = title + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
        return f"{table}\n{below}" if below else table

    def latex(self) -> str:
        """A booktabs tabular with marked cells in bold or italics; the notes are comments above it."""
        columns = "l" * self.labels + "r" * (len(self.header) - self.labels)
        rows = [" & ".join(map(_latex_cell, row)) for row in self.rows]
        legend = [f"{'italics' if mark.weak else 'bold'}: {mark.meaning}" for mark in self._marks]
        lines = [
            *(f"% {printable(text)}" for text in (*self._titles, *legend, *self.notes, *self.sentences)),
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
        """For a notebook: marked cells are bold or in italics, and have their symbol."""
        head = self._html_row("th", map(_html, self.header))
        body = "".join(self._html_row("td", map(_html_cell, row)) for row in self.rows)
        notes = "".join(f"<div><small>{_html(note)}</small></div>" for note in (*self.legend, *self.notes))
        sentences = "".join(f"<div>{_html(sentence)}</div>" for sentence in self.sentences)
        title = "".join(f"<div>{_html(title)}</div>" for title in self._titles)
        table = f"{title}<table><thead>{head}</thead><tbody>{body}</tbody></table>"
        # Notebooks would typeset what stands between two dollar signs as a formula, with its links and macros.
        return f'<div class="tex2jax_ignore mathjax_ignore">{table}{notes}{sentences}</div>'

    def _html_row(self, tag: str, contents: Iterable[str]) -> str:
        sides = ("left" if at < self.labels else "right" for at in range(len(self.header)))
        cells = (f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in zip(sides, contents, strict=True))
        return f"<tr>{''.join(cells)}</tr>"


def note_line(text: str) -> str:
    """A line below a table: a note, unless the text says that it is a warning; it may begin with the number of a kind.

    >>> note_line("b: 1 of 4 queries left out."), note_line("warning: b has no fingerprint.")
    ('note: b: 1 of 4 queries left out.', 'warning: b has no fingerprint.')
    >>> note_line("K030: 1 query missing from the run (scored 0): q1.")
    'note K030: 1 query missing from the run (scored 0): q1.'
    """
    return text if text.startswith("warning: ") else f"note{'' if _NUMBERED.match(text) else ':'} {text}"


def note_text(line: str) -> str:
    """A note as data has it: without the word `note`.

    >>> note_text("note: b: 1 of 4 queries left out."), note_text("note K030: 1 query missing from the run: q1.")
    ('b: 1 of 4 queries left out.', 'K030: 1 query missing from the run: q1.')
    """
    start = _NOTE.match(line)
    return line[start.end() :] if start else line


def _aligned(cells: Sequence[str], widths: Sequence[int], labels: int) -> str:
    parts = []
    for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        blank = " " * (width - width_of(cell))
        parts.append(cell + blank if at < labels else blank + cell)
    return (" " * _GAP).join(parts).rstrip()


def _markdown_cell(cell: Cell) -> str:
    text = _for_markdown(cell.text)
    if cell.mark is None:
        return text
    stars = "*" if cell.mark.weak else "**"
    return f"{stars}{text}{stars}{_for_markdown(cell.mark.symbol)}"


def _for_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#$~&])", r"\\\1", printable(text))


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "→": r"$\rightarrow$", "–": "--", "−": "$-$", "…": r"\dots{}",
}  # fmt: skip


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    if cell.mark is None:
        return text
    return rf"\textit{{{text}}}" if cell.mark.weak else rf"\textbf{{{text}}}"


def latex_text(text: str) -> str:
    # At the beginning of a row, LaTeX would read a bracket or a star as an argument of the line break before it.
    guard = "{}" if text.startswith(("[", "*")) else ""
    return guard + "".join(_LATEX.get(character, character) for character in printable(text))


def _html_cell(cell: Cell) -> str:
    if cell.mark is None:
        return _html(cell.text)
    tag = "i" if cell.mark.weak else "b"
    return f"<{tag}>{_html(cell.text)}{_html(cell.mark.symbol)}</{tag}>"


def _html(text: str) -> str:
    """A text for a page: escaped, and without control characters and those that change the direction of writing."""
    from html import escape

    return escape(printable(text))
