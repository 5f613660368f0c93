"""Tables in every format: nothing in a cell can break out of it."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from karat.output.tables import Cell, Table, delimited

HOSTILE = "a|b\x1b[2J & 50% $x_1 {y} #z ~^ \\ <b> [red]*c* `d`\n\u202e\tend"


@pytest.fixture
def table() -> Table:
    rows = ((Cell(HOSTILE), Cell("0.5000", best=True)), (Cell("plain"), Cell("0.2500")))
    return Table(("run", "nDCG@10"), rows, ("2 queries", "note: [bold]x[/bold]"))


def test_plain_text_has_a_star_at_the_best_and_sends_no_control_characters(table: Table) -> None:
    text = table.text()
    assert "0.5000*" in text
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert "\u202e" not in text
    assert "[red]*c*" in text
    assert "note: [bold]x[/bold]" in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert "* the best of its column" in text
    assert len(text.splitlines()) == 7


def test_markdown_has_the_best_in_bold_and_as_many_cells_in_each_row(table: Table) -> None:
    lines = table.markdown().splitlines()
    assert lines[1] == "| --- | ---: |"
    assert lines[2].endswith("| **0.5000** |")
    assert [line.replace("\\|", "").count("|") for line in lines[:4]] == [3] * 4
    assert "\\<b\\>" in lines[2]


def test_latex_escapes_what_latex_would_read(table: Table) -> None:
    text = table.latex()
    assert r"\begin{tabular}{lr}" in text
    assert r"\textbf{0.5000} \\" in text
    assert r"\& 50\% \$x\_1 \{y\} \#z \textasciitilde{}\textasciicircum{} \textbackslash{}" in text
    assert "% note: [bold]x[/bold]" in text


def test_html_escapes_everything(table: Table) -> None:
    assert "<b>0.5000</b>" in table.html()
    assert "&lt;b&gt; [red]" in table.html()


def test_delimited_text_reads_back_as_it_was() -> None:
    rows = [['a,b\t"c"\nd', 0.1 + 0.2, None], ["é", 1.0, 2]]
    for delimiter in ",\t":
        back = list(csv.reader(io.StringIO(delimited(["x", "y", "z"], rows, delimiter)), delimiter=delimiter))
        assert back == [["x", "y", "z"], ['a,b\t"c"\nd', "0.30000000000000004", ""], ["é", "1.0", "2"]]


def test_the_result_in_words_comes_last_and_is_not_dimmed() -> None:
    table = Table(("a",), ((Cell("1"),),), ("a note",), said=("a beats b",))
    assert table.text().splitlines()[-2:] == ["a note", "a beats b"]
    console = Console(force_terminal=True, width=40, color_system="standard")
    with console.capture() as page:
        console.print(table.rich())
    assert "\x1b[2ma note" in page.get()
    assert page.get().splitlines()[-1].strip() == "a beats b"
    assert table.markdown().endswith("- a note\n- a beats b\n")
    assert table.html().endswith("<div>a beats b</div>")
    assert table.latex().startswith("% a note\n% a beats b\n")
