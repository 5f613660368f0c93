"""Tables in every format: marks, encodings, and cells whose text contains markup or control characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from karat.cli.terminal import table_with_encoding
from karat.output.tables import BEST, Cell, Mark, Table, latex_text

HOSTILE = "a|b\x1b[2J & 50% $x_1 {y} #z ~^ \\ <b> [red]*c* `d`\n\u202e\tend"


@pytest.fixture
def table() -> Table:
    rows = ((Cell(HOSTILE), Cell("0.5000", BEST)), (Cell("plain"), Cell("0.2500")))
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
    assert "* best in its column" in text
    assert len(text.splitlines()) == 7


def drawn(table: Table, width: int = 60) -> str:
    console = Console(force_terminal=True, width=width, color_system="standard")
    with console.capture() as page:
        console.print(table.rich())
    return page.get()


def test_a_terminal_shows_the_mark_and_its_legend_besides_the_colour(table: Table) -> None:
    text = drawn(table)
    assert "\x1b[1;32m0.5000*\x1b[0m" in text
    assert "\x1b[2m* best in its column\x1b[0m" in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    marked, unmarked = (line for line in plain.splitlines() if re.search(r"0\.\d{4}", line))
    assert marked.index("0.5000*") == unmarked.index("0.2500")


def test_each_kind_of_mark_has_its_own_symbol_legend_and_style() -> None:
    worse = Mark("!", "worse", "bold red", weak=True)
    table = Table(("run", "p"), ((Cell("a"), Cell("0.01", BEST)), (Cell("b"), Cell("0.02", worse))))
    assert table.legend == ("* best in its column", "! worse")
    assert table.text().splitlines()[2:] == ["a     0.01*", "b     0.02!", *table.legend]
    assert "\x1b[1;31m0.02!" in drawn(table)
    assert "<b>0.01*</b>" in table.html()
    assert "<i>0.02!</i>" in table.html()
    assert "<small>! worse</small>" in table.html()
    assert "| **0.01**\\* |" in table.markdown()
    assert "| *0.02*! |" in table.markdown()
    assert table.latex().startswith("% bold: best in its column\n% italics: worse\n")
    assert r"a & \textbf{0.01} \\" in table.latex()
    assert r"b & \textit{0.02} \\" in table.latex()


def test_a_notebook_aligns_headers_with_their_cells(table: Table) -> None:
    page = table.html()
    assert re.findall(r'<th style="text-align:(\w+)">', page) == ["left", "right"]
    assert re.findall(r'<td style="text-align:(\w+)">', page) == ["left", "right"] * 2


@pytest.mark.parametrize(
    ("encoding", "row", "note"),
    [("utf-8", "a→b   –", "more…"), ("cp1252", "a->b   –", "more…"), ("ascii", "a->b   -", "more...")],
)
def test_characters_that_an_encoding_lacks_are_replaced_before_the_columns_are_aligned(
    encoding: str, row: str, note: str
) -> None:
    table = table_with_encoding(Table(("x", "y"), ((Cell("a→b"), Cell("–")),), ("more…",)), encoding)
    lines = table.text().splitlines()
    assert lines[2:] == [row, note]
    assert len(lines[1]) == len(row)


def test_markdown_has_the_best_in_bold_and_as_many_cells_in_each_row(table: Table) -> None:
    lines = table.markdown().splitlines()
    assert lines[1] == "| --- | ---: |"
    assert lines[2].endswith("| **0.5000**\\* |")
    assert [line.replace("\\|", "").count("|") for line in lines[:4]] == [3] * 4
    assert "\\<b\\>" in lines[2]


def test_latex_escapes_special_characters(table: Table) -> None:
    text = table.latex()
    assert r"\begin{tabular}{lr}" in text
    assert r"\textbf{0.5000} \\" in text
    assert r"\& 50\% \$x\_1 \{y\} \#z \textasciitilde{}\textasciicircum{} \textbackslash{}" in text
    assert "% note: [bold]x[/bold]" in text


SPECIAL = st.text(st.sampled_from("\\&%$#_{}~^<>|[]*\"'`-ab\n\x1b\u202e"))


@given(SPECIAL)
def test_no_special_character_of_latex_is_left_alone(text: str) -> None:
    commands = r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\[&%$#_{}]|^\{\}"
    assert not set(re.sub(commands, "", latex_text(text))) & set("\\&%$#_{}~^\n")


@given(SPECIAL, SPECIAL)
def test_a_row_of_markdown_has_as_many_cells_as_its_header(first: str, second: str) -> None:
    lines = Table((first, second), ((Cell(second), Cell(first, BEST)),)).markdown().splitlines()
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines[:3]] == [3] * 3


def test_html_escapes_everything(table: Table) -> None:
    assert "<b>0.5000*</b>" in table.html()
    assert "&lt;b&gt; [red]" in table.html()
    assert table.html().startswith('<div class="tex2jax_ignore mathjax_ignore"><table>')  # $ is a dollar sign


def test_the_result_in_words_comes_last_and_is_not_dimmed() -> None:
    table = Table(("a",), ((Cell("1"),),), ("a note",), sentences=("a beats b",))
    assert table.text().splitlines()[-2:] == ["a note", "a beats b"]
    assert "\x1b[2ma note" in drawn(table)
    assert drawn(table).splitlines()[-1].strip() == "a beats b"
    assert table.markdown().endswith("- a note\n- a beats b\n")
    assert table.html().endswith("<div>a beats b</div></div>")
    assert table.latex().startswith("% a note\n% a beats b\n")
