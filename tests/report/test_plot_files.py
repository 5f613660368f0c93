"""`--plot` and the files of plots: real SVG, PNG and PDF of the size of a column, whole or not at all."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from karat.cli import demo_data as demo
from karat.errors.installing import pip_install
from karat.options import PlotKind
from karat.report.plots.kinds import KINDS
from tests.end_to_end.in_process import printed, refused, run_here

TRUTH = str(demo.TRUTH)
BM25, RM3, OVERLAP = (str(demo.runs()[name]) for name in ("bm25", "bm25-rm3", "overlap"))
WIDTH = 3.3  # inches


def test_the_kinds_on_the_command_line_are_those_of_python() -> None:
    assert tuple(KINDS) == get_args(PlotKind)


def test_an_svg_file_is_as_wide_as_a_column(tmp_path: Path) -> None:
    assert "nDCG@10" in printed(run_here(tmp_path, "evaluate", TRUTH, BM25, RM3, "--plot", "plot.svg"))
    root = ElementTree.fromstring((tmp_path / "plot.svg").read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.attrib["width"]) / 96 == pytest.approx(WIDTH, abs=0.1)
    assert "bm25-rm3" in {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}


def test_a_pdf_file_is_as_wide_as_a_column(tmp_path: Path) -> None:
    printed(run_here(tmp_path, "compare", TRUTH, BM25, RM3, "-m", "AP", "--plot", "plot.PDF"))
    data = (tmp_path / "plot.PDF").read_bytes()
    assert data.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", data)
    assert box is not None
    assert float(box[1]) / 72 == pytest.approx(WIDTH, abs=0.05)


def test_a_png_file_has_300_dots_per_inch(tmp_path: Path) -> None:
    printed(run_here(tmp_path, "diff", TRUTH, BM25, RM3, "--plot", "plot.png", "--plot-kind", "scatter"))
    data = (tmp_path / "plot.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    (width,) = struct.unpack(">I", data[16:20])
    assert width / 300 == pytest.approx(WIDTH, abs=0.05)
    at = data.index(b"pHYs") + 4
    dots_per_metre, _, unit = struct.unpack(">IIB", data[at : at + 9])
    assert (unit, round(dots_per_metre * 0.0254)) == (1, 300)


def test_a_json_file_is_vega_lite_with_its_data(tmp_path: Path) -> None:
    printed(run_here(tmp_path, "diff", TRUTH, BM25, RM3, "-m", "AP", "--plot", "plot.json"))
    spec = json.loads((tmp_path / "plot.json").read_text("utf-8"))
    assert "vega-lite" in spec["$schema"]
    assert len(spec["datasets"]["rows"]) == 50


def plotted(folder: Path, *words: str) -> str:
    """What a plot in Vega-Lite says that it shows."""
    printed(run_here(folder, *words, "--plot", "plot.json"))
    description: str = json.loads((folder / "plot.json").read_text("utf-8"))["description"]
    return description


def test_the_kind_follows_from_the_command(tmp_path: Path) -> None:
    assert plotted(tmp_path, "evaluate", TRUTH, BM25).startswith("The mean on each measure")
    assert plotted(tmp_path, "evaluate", TRUTH, BM25, "--by", "relevant").startswith("nDCG@10 of each group of queries")
    assert "if the unjudged documents" in plotted(tmp_path, "evaluate", TRUTH, BM25, "--bounds")
    compare = ("compare", TRUTH, OVERLAP, BM25, "-m", "AP", "--baseline", "bm25")
    assert plotted(tmp_path, *compare).startswith("How overlap differs from bm25 on AP")
    assert plotted(tmp_path, *compare, "--plot-kind", "cutoffs").startswith("nDCG, recall and precision")
    five = ("compare", TRUTH, *[BM25] * 5, "-m", "P@5", "--permutations", "10")
    assert plotted(tmp_path, *five).startswith("The mean of each system")


def test_a_plot_names_measures_as_they_were_asked_for_and_notes_what_it_leaves_out(tmp_path: Path) -> None:
    assert plotted(tmp_path, "evaluate", TRUTH, BM25, "-m", "map", "--names", "asked").startswith("The mean on map,")
    (tmp_path / "a.csv").write_text("query,AP\nq1,0.5\nq2,\nq3,1\n")
    (tmp_path / "b.csv").write_text("query,AP\nq1,0.25\nq2,1\nq3,0\n")
    done = run_here(tmp_path, "diff", "a.csv", "b.csv", "-m", "AP", "--plot", "plot.json")
    assert "note: plot.json: b − a, without 1 query that has no value." in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--plot plot.gif",
            "plot.gif: a plot cannot be written as .gif. Name a file that ends in .svg, .png, .pdf or .json.",
        ),
        ("--plot plot", "plot: the name of a plot needs a suffix. Name a file that ends in"),
        ("--plot - ", "--plot takes a file, not standard output. Write to a file."),
        ("--plot plot.svg -o plot.svg", "plot.svg: -o and --plot name the same file."),
        ("--plot missing/plot.svg", "missing/plot.svg: cannot be written: No such file or directory"),
        ("--plot-kind first", "--plot-kind is only used with --plot."),
        ("--plot plot.svg --plot-kind slices", "--plot-kind slices needs groups of queries. Add --by,"),
        ("--plot plot.svg --plot-kind scatter", "the plot scatter needs two systems, but there is only one."),
        ("--plot plot.svg --plot-kind pie", "--plot-kind pie is not one of intervals, differences, scatter,"),
        (
            "--plot plot.svg --by length",
            "grouping by length needs the texts of the queries, but only their ids are known.",
        ),
    ],
)
def test_a_plot_that_cannot_be_written_is_one_line_and_no_file(words: str, message: str, tmp_path: Path) -> None:
    assert message in refused(run_here(tmp_path, "evaluate", TRUTH, BM25, *words.split()))
    assert list(tmp_path.iterdir()) == []


def test_a_plot_is_never_written_over_an_input(tmp_path: Path) -> None:
    run = tmp_path / "run.svg"
    run.write_bytes(Path(BM25).read_bytes())
    assert "run.svg: the output file is also an input" in refused(
        run_here(tmp_path, "evaluate", TRUTH, "run.svg", "--plot", "./run.svg")
    )
    assert run.read_bytes() == Path(BM25).read_bytes()


def test_an_old_plot_stays_whole_if_the_new_one_fails(tmp_path: Path) -> None:
    (tmp_path / "plot.svg").write_text("old")
    saved = tmp_path / "scores.json"
    printed(run_here(tmp_path, "evaluate", TRUTH, BM25, "-m", "AP", "-o", "scores.json"))
    words = ("compare", saved, saved, "--plot", "plot.svg", "--plot-kind", "first")
    assert "the plot first needs run data" in refused(run_here(tmp_path, *words))
    assert (tmp_path / "plot.svg").read_text() == "old"


def test_a_missing_extra_is_an_error_before_any_work_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    message = refused(run_here(tmp_path, "evaluate", "no such file", BM25, "--plot", "plot.svg"))
    assert f"plots need altair and vl-convert. {pip_install('report')}" in message
