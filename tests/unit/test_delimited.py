"""CSV and TSV are read back as they were, also if they are safe for spreadsheets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat import Scores, compare
from karat.output.delimited import delimited, unguarded
from karat.scores.system_scores import SystemScores
from tests.end_to_end.in_process import run_here

FORMULAS = ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\ra", " =1", "＝1", "'=1", "''-a", "-1-1", "=cmd|' /C calc'!A0"]
HARMLESS = ["a", "-0.05", "+1e5", "1", "'a", "a=b", "", "-.5", "é"]


def read(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))


def test_delimited_text_is_read_back_unchanged() -> None:
    rows = [['a,b\t"c"\nd', 0.1 + 0.2, None], [" é ", 1.0, 2]]
    for delimiter in ",\t":
        back = read(delimited(["x", "y", "z"], rows, delimiter), delimiter)
        assert back == [["x", "y", "z"], ['a,b\t"c"\nd', "0.30000000000000004", ""], [" é ", "1.0", "2"]]


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_safe_cells_are_no_formulas_and_numbers_stay_numbers(delimiter: str) -> None:
    cells = [*FORMULAS, *HARMLESS, -0.05, 3]
    (safe,) = read(delimited(cells, [], delimiter, safe=True), delimiter)  # type: ignore[arg-type]
    assert safe == [*(f"'{cell}" for cell in FORMULAS), *HARMLESS, "-0.05", "3"]
    (exact,) = read(delimited(cells, [], delimiter), delimiter)  # type: ignore[arg-type]
    assert exact == list(map(str, cells))


@given(st.lists(st.text(st.sampled_from("='-+@ 5.a\t\r\n")), min_size=1).filter(any))
def test_what_was_made_safe_is_read_back_as_it_was(cells: list[str]) -> None:
    assert unguarded(read(delimited(cells, [cells], ",", safe=True))) == [cells, cells]


@given(st.lists(st.text(st.sampled_from("='a")), min_size=1).filter(lambda cells: any(c[:1] == "=" for c in cells)))
def test_an_apostrophe_stays_in_a_file_that_is_not_safe(cells: list[str]) -> None:
    assert unguarded(read(delimited(cells, [], ","))) == [cells]


def test_scores_saved_for_spreadsheets_have_their_own_names_again(tmp_path: Path) -> None:
    scores = Scores(("=1+1", "-5", "'=x"), {"AP": np.array([0.5, -1.0, 1.0])}, name="@a")
    text = scores.to_csv(tmp_path / "scores.csv", safe=True)
    assert [line.split(",")[0] for line in text.splitlines()] == ["query", "'=1+1", "-5", "''=x"]
    assert Scores.load(tmp_path / "scores.csv").queries == scores.queries
    systems = SystemScores({"@a": scores, "=b": scores})
    systems.to_csv(tmp_path / "systems.csv", per_query=True, safe=True)
    assert list(SystemScores.load(tmp_path / "systems.csv")) == ["@a", "=b"]
    assert "'@a" in systems.to_csv(safe=True)
    assert "'=b" in compare(systems).to_csv(safe=True)
    assert "'" not in scores.to_csv().replace("'=x", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth").write_text("=q 0 a 1\nr 0 b 1\n")
    (tmp_path / "=a.trec").write_text("=q Q0 a 1 1 t\nr Q0 b 1 1 t\n")
    (tmp_path / "@b.trec").write_text("=q Q0 x 1 2 t\n=q Q0 a 2 1 t\n")
    (tmp_path / "groups.csv").write_text("query,kind\n=q,+1+1\nr,b\n")
    (tmp_path / "gold.json").write_text('{"=q": "a"}')
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "truth", "=a.trec", "@b.trec"],
        ["evaluate", "truth", "=a.trec", "@b.trec", "--per-query"],
        ["evaluate", "truth", "=a.trec", "--bounds", "--per-query", "-m", "AP"],
        ["evaluate", "truth", "=a.trec", "--by", "groups.csv:kind"],
        ["answers", "gold.json", "gold.json", "--per-query"],
        ["compare", "truth", "=a.trec", "@b.trec"],
        ["diff", "truth", "=a.trec", "@b.trec"],
    ],
)
@pytest.mark.parametrize("target", [["--format", "csv"], ["--format", "tsv"], ["-o", "out.csv"]])
def test_every_command_writes_safe_csv(words: list[str], target: list[str], folder: Path) -> None:
    texts = []
    for safe in ([], ["--safe-csv"]):
        done = run_here(folder, *words, *target, *safe)
        assert done.returncode == 0, done.stderr
        texts.append((folder / "out.csv").read_text() if "-o" in target else done.stdout)
    exact, guarded = (read(text, "\t" if "tsv" in target else ",") for text in texts)
    cells = [cell for row in exact for cell in row if cell[:1] in ("=", "@", "+")]
    assert cells
    assert [cell for row in guarded for cell in row if cell[:1] == "'"] == [f"'{cell}" for cell in cells]
    assert unguarded(guarded) == exact


def test_a_saved_safe_file_is_compared_with_a_run(folder: Path) -> None:
    run_here(folder, "evaluate", "truth", "=a.trec", "--per-query", "-o", "old.csv", "--safe-csv")
    done = run_here(folder, "compare", "truth", "old.csv", "@b.trec", "-m", "AP")  # only if the ids are the same
    assert (done.returncode, "2 queries" in done.stdout) == (0, True), done.stderr


def test_safe_csv_without_csv_is_an_error(folder: Path) -> None:
    done = run_here(folder, "evaluate", "truth", "=a.trec", "--safe-csv", "-o", "out.json")
    assert (done.returncode, "--safe-csv has no effect on the format json" in done.stderr) == (2, True)
