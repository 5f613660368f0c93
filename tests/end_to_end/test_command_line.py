"""The installed command in pipes and on terminals, with good and bad files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

import karat
from karat import Scores, SystemScores
from karat.errors.installing import pip_install
from tests.end_to_end.in_process import Done, plain_environment, run_here
from tests.end_to_end.pseudo_terminal import on_terminal
from tests.platforms import CLOSED_PIPE, KARAT, on_posix

TRUTH = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq3 0 d 1\n"
GOOD = "q1 Q0 a 1 3 t\nq1 Q0 x 2 2 t\nq2 Q0 c 1 1 t\n"
POOR = "q1 Q0 b 1 3 t\nq1 Q0 a 2 2 t\nq2 Q0 x 1 2 t\nq2 Q0 c 2 1 t\n"
MEASURES = ("nDCG@10", "AP", "P@5", "NumRelRet")
ASKED = [word for measure in MEASURES for word in ("-m", measure)]
FORMATS = ("table", "tsv", "csv", "json", "jsonl", "markdown", "latex")
ESCAPE = "\x1b"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "truth.qrels").write_text(TRUTH)
    (tmp_path / "good.trec").write_text(GOOD)
    (tmp_path / "poor.trec").write_text(POOR)
    return tmp_path


def installed(folder: Path, *words: str | Path, stdin: bytes = b"", **environment: str) -> Done:
    """Run the installed command in its own process."""
    done = subprocess.run(
        [KARAT, *map(str, words)], cwd=folder, input=stdin, capture_output=True, check=False,
        env=plain_environment(environment),
    )  # fmt: skip
    return Done(done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode())


def good(folder: Path, *words: str | Path) -> str:
    return well(run_here(folder, *words))


def well(done: Done) -> str:
    assert done.returncode == 0
    assert all(line.startswith(("note", "wrote ")) for line in done.stderr.splitlines())
    return done.stdout


@pytest.fixture(scope="session")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The output for two runs in each format, computed once for many tests."""

    @cache
    def printed(form: str) -> str:
        folder = tmp_path_factory.mktemp("printed")
        (folder / "truth.qrels").write_text(TRUTH)
        (folder / "good.trec").write_text(GOOD)
        (folder / "poor.trec").write_text(POOR)
        return good(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED, "--format", form)

    return printed


def without_colour(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def expected(folder: Path, name: str) -> Scores:
    return karat.evaluate(folder / "truth.qrels", folder / f"{name}.trec", MEASURES, name=name)


# Every format contains the same numbers.


def cells(text: str, form: str) -> list[list[str]]:
    """The rows of a format for people, without rules and marks."""
    if form == "markdown":
        lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
        return [[cell.strip().replace("\\", "").strip("*") for cell in line.strip("|").split("|")] for line in lines]
    if form == "latex":
        lines = [line.removesuffix(r" \\") for line in text.splitlines() if line.endswith(r" \\")]
        return [[re.sub(r"\\textbf\{(.*)\}", r"\1", cell).replace("\\", "").strip() for cell in line.split("&")]
                for line in lines]  # fmt: skip
    lines = [line for line in text.splitlines() if re.search(r"\s{2,}", line)]
    return [[cell.strip(" *") for cell in re.split(r"\s{2,}", line.strip())] for line in lines]


def machine_rows(text: str, form: str) -> list[dict[str, Any]]:
    if form == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text), delimiter="," if form == "csv" else "\t"))


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_formats_for_programs_contain_every_mean_to_the_last_digit(
    form: str, folder: Path, printed: Callable[[str], str]
) -> None:
    rows = machine_rows(printed(form), form)
    assert [row["run"] for row in rows] == ["good", "poor"]
    for row in rows:
        means = expected(folder, row["run"]).means
        assert {name: float(row[name]) for name in MEASURES} == means


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_formats_for_programs_contain_every_query_to_the_last_digit(form: str, folder: Path) -> None:
    text = good(folder, "evaluate", "truth.qrels", "poor.trec", *ASKED, "--format", form, "--per-query")
    rows = machine_rows(text, form)
    found = {row["query"]: {name: float(row[name]) for name in MEASURES} for row in rows}
    assert found == expected(folder, "poor").per_query


def test_json_contains_means_queries_and_findings(folder: Path, printed: Callable[[str], str]) -> None:
    data = json.loads(good(folder, "evaluate", "truth.qrels", "good.trec", *ASKED, "--format", "json"))
    assert data == expected(folder, "good").to_dict()
    several = json.loads(printed("json"))
    assert several == {"runs": {name: expected(folder, name).to_dict() for name in ("good", "poor")}}


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_findings_go_to_standard_error_if_the_format_contains_only_numbers(form: str, folder: Path) -> None:
    done = run_here(folder, "evaluate", "truth.qrels", "poor.trec", "--format", form)
    assert "note K030: " in done.stderr
    assert "note K030: " not in done.stdout
    whole = run_here(folder, "evaluate", "truth.qrels", "poor.trec", "--format", "json")
    assert whole.stderr == ""
    assert len(json.loads(whole.stdout)["findings"]) == len(done.stderr.splitlines())


@pytest.mark.parametrize("name", ["scores.csv.gz", "scores.xlsx"])
def test_an_output_file_with_an_unknown_suffix_is_rejected(name: str, folder: Path) -> None:
    done = run_here(folder, "evaluate", "truth.qrels", "good.trec", "-o", name)
    assert done.returncode == 2
    assert "--format" in done.stderr
    assert not (folder / name).exists()


def test_an_input_is_never_overwritten(folder: Path) -> None:
    (folder / "link.csv").symlink_to("good.trec")
    done = run_here(folder, "evaluate", "truth.qrels", "good.trec", "-o", "link.csv")
    assert done.returncode == 2
    assert "also an input" in done.stderr
    assert (folder / "good.trec").read_text() == GOOD


def test_a_dash_as_the_output_file_is_standard_output(folder: Path) -> None:
    assert good(folder, "evaluate", "truth.qrels", "good.trec", "-o", "-", "--format", "csv").startswith("run,")
    assert not (folder / "-").exists()


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_formats_for_people_show_the_same_numbers_to_four_digits(
    form: str, folder: Path, printed: Callable[[str], str]
) -> None:
    text = printed(form)
    header, *rows = cells(text, form)
    assert header == ["run", *MEASURES]
    for row in rows[:2]:
        means = expected(folder, row[0]).means
        assert [float(cell) for cell in row[1:]] == pytest.approx([means[name] for name in MEASURES], abs=5e-5)
    assert "q3" in text
    assert text.endswith("\n")


@pytest.mark.parametrize("form", ["table", "latex"])
def test_per_query_shows_every_query_in_formats_for_people(form: str, folder: Path) -> None:
    text = good(folder, "evaluate", "truth.qrels", "good.trec", *ASKED, "--format", form, "--per-query")
    header, *rows = cells(text, form)
    assert header == ["query", *MEASURES]
    assert [row[0] for row in rows[:4]] == ["q1", "q2", "q3", "all"]


def test_the_best_run_of_each_column_is_marked(folder: Path, printed: Callable[[str], str]) -> None:
    def marked(form: str, pattern: str) -> list[str]:
        return re.findall(pattern, printed(form))

    best = [f"{expected(folder, 'good')[name]:.4f}" for name in ("nDCG@10", "AP")]
    assert marked("table", r"([\d.]+)\*") == best
    assert marked("markdown", r"\*\*(.*?)\*\*") == best
    assert marked("latex", r"\\textbf\{(.*?)\}") == best


def test_intervals_contain_their_values(folder: Path) -> None:
    (row,) = machine_rows(
        good(folder, "evaluate", "truth.qrels", "poor.trec", "-m", "AP", "--ci", "--format", "csv"), "csv"
    )
    low, high = expected(folder, "poor").interval("AP")
    assert (float(row["AP low"]), float(row["AP high"])) == (low, high)
    assert low <= float(row["AP"]) <= high


def test_options_reach_the_evaluation(folder: Path) -> None:
    (folder / "odd.trec").write_text("q1 Q0 q1 1 3 t\nq1 Q0 x 1 2 t\nq1 Q0 a 2 2 t\nq1 Q0 x 3 1 t\n")
    words = ["--duplicates", "first", "--ties", "best", "--ignore-identical-ids", "--missing", "skip", "--rel", "1"]
    (row,) = machine_rows(
        good(folder, "evaluate", "truth.qrels", "odd.trec", "-m", "RR", *words, "--format", "jsonl"), "jsonl"
    )
    assert row == {"run": "odd", "RR": 1.0}


def test_standard_input_can_be_the_run_or_the_truth(folder: Path) -> None:
    words = (*ASKED, "--format", "csv")
    as_run = well(installed(folder, "evaluate", "truth.qrels", "-", *words, stdin=GOOD.encode()))
    as_truth = well(installed(folder, "evaluate", "-", "good.trec", *words, stdin=gzip.compress(TRUTH.encode())))
    assert as_run.splitlines()[1].split(",")[1:] == as_truth.splitlines()[1].split(",")[1:]


# Files are written completely or not at all.


@pytest.mark.parametrize(
    ("name", "form"),
    [("s.csv", "csv"), ("s.json", "json"), ("s.md", "markdown"),
     ("s.tex", "latex"), ("s.CSV", "csv")],
)  # fmt: skip
def test_the_suffix_of_the_output_file_decides_the_format(
    name: str, form: str, folder: Path, printed: Callable[[str], str]
) -> None:
    words = ["evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED]
    assert good(folder, *words, "-o", name) == ""
    assert (folder / name).read_text() == printed(form)
    assert sorted(path.name for path in folder.iterdir()) == sorted([name, "good.trec", "poor.trec", "truth.qrels"])


def test_the_format_option_overrides_the_suffix_of_the_output_file(folder: Path) -> None:
    good(folder, "evaluate", "truth.qrels", "good.trec", "--format", "json", "-o", "s.csv")
    assert json.loads((folder / "s.csv").read_text())["name"] == "good"


def test_a_parquet_file_is_loaded_as_the_same_scores(folder: Path) -> None:
    good(folder, "evaluate", "truth.qrels", "poor.trec", *ASKED, "-o", "s.parquet")
    assert Scores.load(folder / "s.parquet").to_dict() == expected(folder, "poor").to_dict()
    assert pq.read_table(folder / "s.parquet").column_names == ["query", *MEASURES]


def test_saved_json_and_csv_are_loaded_as_the_same_scores(folder: Path) -> None:
    good(folder, "evaluate", "truth.qrels", "poor.trec", *ASKED, "-o", "s.json")
    good(folder, "evaluate", "truth.qrels", "poor.trec", *ASKED, "-o", "s.csv", "--per-query")
    assert Scores.load(folder / "s.json").to_dict() == expected(folder, "poor").to_dict()
    assert Scores.load(folder / "s.csv").per_query == expected(folder, "poor").per_query


@on_posix
def test_a_symbolic_link_is_kept_and_its_target_is_replaced(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "scores.csv").write_text("old")
    os.chmod(folder / "real" / "scores.csv", 0o640)
    (folder / "link.csv").symlink_to("real/scores.csv")
    good(folder, "evaluate", "truth.qrels", "good.trec", "-o", "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert (folder / "real" / "scores.csv").read_text().startswith("run,")
    assert stat.S_IMODE((folder / "real" / "scores.csv").stat().st_mode) == 0o640
    assert [path.name for path in (folder / "real").iterdir()] == ["scores.csv"]


def refused(done: Done) -> str:
    """The error message: one line on standard error, status 2, no traceback, nothing on standard output."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("karat: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.strip().isprintable()
    assert len(done.stderr) < 700
    return done.stderr


@on_posix
def test_a_full_disk_is_an_error(folder: Path) -> None:
    error = refused(run_here(folder, "evaluate", "truth.qrels", "good.trec", "-o", "/dev/full"))
    assert "/dev/full" in error


@pytest.mark.parametrize("form", ["table", "csv"])
@on_posix
def test_standard_output_on_a_full_disk_is_an_error_without_a_traceback(form: str, folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [KARAT, "evaluate", "truth.qrels", "good.trec", "--format", form],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False, text=True,
        )  # fmt: skip
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


@on_posix
def test_a_closed_standard_output_ends_without_a_traceback(folder: Path) -> None:
    command = f"{KARAT} evaluate truth.qrels good.trec >&-"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr


NO_SPACE = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("name", "at", "raised"),
    [
        ("scores.csv", "fsync", KeyboardInterrupt()),
        ("scores.json", "replace", KeyboardInterrupt()),
        ("scores.csv", "replace", NO_SPACE),
        ("scores.parquet", "fsync", NO_SPACE),
    ],
)
def test_an_interrupted_or_failed_write_keeps_the_old_file_and_leaves_no_other(
    raised: BaseException, name: str, at: str, folder: Path
) -> None:
    (folder / name).write_text("old")
    before = sorted(folder.iterdir())
    with patch.object(os, at, side_effect=raised) as failing:
        done = run_here(folder, "evaluate", "truth.qrels", "good.trec", "-o", name)
    assert failing.called
    assert done.returncode != 0
    assert (folder / name).read_text() == "old"
    assert sorted(folder.iterdir()) == before


KILLED = """
import os, sys
import karat.cli

os.replace = lambda *_: os.kill(os.getpid(), 9)
sys.argv = ["karat", "evaluate", "truth.qrels", "good.trec", "-o", "scores.csv"]
karat.cli.main()
"""


@on_posix
def test_a_killed_write_keeps_the_old_file(folder: Path) -> None:
    (folder / "scores.csv").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=folder, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (folder / "scores.csv").read_text() == "old"


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that can be read but not written; root could write anyway, so that right is dropped."""
    folder = Path(tempfile.mkdtemp())
    for name, text in {"truth.qrels": TRUTH, "good.trec": GOOD, "scores.csv": "old"}.items():
        (folder / name).write_text(text)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["scores.csv", "new.csv"])
@on_posix
def test_a_read_only_folder_is_an_error_and_keeps_the_old_file(name: str, read_only: Path) -> None:
    words = [str(KARAT), "evaluate", "truth.qrels", "good.trec", "-o", name]
    if os.access(read_only, os.W_OK):
        if shutil.which("setpriv") is None:
            pytest.skip("root may write anywhere, and there is no setpriv to take that right away")
        words = ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override", *words]
    done = subprocess.run(words, cwd=read_only, capture_output=True, check=False, text=True, env=plain_environment())
    if done.stderr.startswith("setpriv"):
        pytest.skip(done.stderr)
    assert name in refused(done)
    assert (read_only / "scores.csv").read_text() == "old"
    assert len(list(read_only.iterdir())) == 3


@pytest.mark.parametrize("target", ["nowhere/scores.csv", ".", "x" * 300 + ".csv"])
def test_an_impossible_output_path_is_an_error_that_names_it(target: str, folder: Path) -> None:
    error = refused(run_here(folder, "evaluate", "truth.qrels", "good.trec", "-o", target))
    assert "cannot be written" in error


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet"])
def test_several_runs_are_written_to_one_file(folder: Path, suffix: str) -> None:
    words = ("evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED, "--per-query", "-o", f"s.{suffix}")
    good(folder, *words)
    saved = SystemScores.load(folder / f"s.{suffix}")
    assert {name: scores.per_query for name, scores in saved.items()} == {
        name: expected(folder, name).per_query for name in ("good", "poor")
    }


def test_digits_set_the_decimals_of_tables(folder: Path) -> None:
    words = ("evaluate", "truth.qrels", "good.trec", "poor.trec", "-m", "AP")
    value = expected(folder, "poor")["AP"]
    for more, digits in (((), 2), (("--per-query",), 3), (("--ci",), 1), (("--format", "latex"), 6)):
        assert f"{value:.{digits}f}" in good(folder, *words, *more, "--digits", str(digits))
        assert f"{value:.{digits + 1}f}" not in good(folder, *words, *more, "--digits", str(digits))
    assert "query q1: AP 0.50\n" in good(folder, *words, "--digits", "2", "--explain", "q1")
    for wrong, problem in (
        (("--digits", "-1"), "--digits -1 is not a number of decimals"),
        (("--digits", "2", "--format", "csv"), "csv contains all digits"),
    ):
        assert problem in refused(run_here(folder, *words, *wrong))


def test_runs_are_shown_in_the_order_of_a_measure(folder: Path) -> None:
    words = ("evaluate", "truth.qrels", "poor.trec", "good.trec", "-m", "AP", "-m", "RR", "--format", "csv")
    assert [line.split(",")[0] for line in good(folder, *words).splitlines()] == ["run", "poor", "good"]
    assert [line.split(",")[0] for line in good(folder, *words, "--sort", "map").splitlines()] == [
        "run",
        "good",
        "poor",
    ]
    assert "--sort 'P@5' is not a measure of the scores. The measures are AP, RR." in refused(
        run_here(folder, *words, "--sort", "P@5")
    )


# Bad input.

BAD: dict[str, Callable[[Path], list[str]]] = {
    "a missing truth": lambda _: ["nothing.qrels", "good.trec"],
    "a missing run": lambda _: ["truth.qrels", "god.trec"],
    "an empty run": lambda _: ["truth.qrels", os.devnull],
    "a run as truth": lambda _: ["good.trec", "truth.qrels"],
    "a bad score": lambda folder: ["truth.qrels", bad_file(folder, b"q1 Q0 a 1 abc t\n")],
    "junk": lambda folder: ["truth.qrels", bad_file(folder, bytes(range(256)) * 10)],
    "escapes": lambda folder: ["truth.qrels", bad_file(folder, b"\x1b[31m \x1b[2J \x07 \x1b]0;x\x07 \x1b[1m t\n")],
    "cut gzip": lambda folder: ["truth.qrels", bad_file(folder, gzip.compress(GOOD.encode())[:-9])],
    "a duplicate": lambda folder: ["truth.qrels", bad_file(folder, GOOD.encode() + b"q2 Q0 c 1 1 t\n")],
    "a duplicate with escapes": lambda folder: ["truth.qrels", bad_file(folder, b"q\x1b[2J Q0 \x1b[31m 1 1 t\n" * 2)],
    "an unending line": lambda folder: ["truth.qrels", bad_file(folder, b"x" * (10 << 20))],
    "a long bad word": lambda folder: ["truth.qrels", bad_file(folder, b"q1 Q0 a 1 " + b"x" * 100_000 + b" t\n")],
    "an unknown measure": lambda _: ["truth.qrels", "good.trec", "-m", "nDCGG@10"],
    "standard input twice": lambda _: ["-", "-"],
    "a name with a line end": lambda _: ["truth.qrels", "a\nb.trec"],
    "no common query": lambda folder: ["truth.qrels", bad_file(folder, b"z Q0 a 1 1 t\n")],
    "skipping everything": lambda folder: ["truth.qrels", bad_file(folder, b"z Q0 a 1 1 t\n"), "--missing", "skip"],
}  # fmt: skip


def bad_file(folder: Path, data: bytes) -> str:
    (folder / "bad.trec").write_bytes(data)
    return "bad.trec"


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message_and_nothing_is_written(name: str, folder: Path) -> None:
    words = BAD[name](folder)
    (folder / "out.csv").write_text("old")
    before = sorted(folder.iterdir())
    refused(run_here(folder, "evaluate", *words, "-o", "out.csv"))
    assert (folder / "out.csv").read_text() == "old"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["a duplicate with escapes", "escapes"])
def test_an_error_on_a_terminal_contains_no_escape_sequences(name: str, folder: Path) -> None:
    status, shown = on_terminal(folder, "evaluate", *BAD[name](folder), errors=True)
    assert status == 2
    assert "karat: " in shown
    for sent in (f"{ESCAPE}[2J", f"{ESCAPE}[31m", f"{ESCAPE}]0;", "\x07"):
        assert sent not in shown


USAGE = "Usage: karat evaluate [OPTIONS] TRUTH [RUN...]"
RUN = ["evaluate", "truth.qrels", "good.trec"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate"], f"TRUTH is missing. {USAGE}"),
        (["evaluate", "truth.qrels"], "truth.qrels: this file is read as ground truth, but no run was given"),
        ([*RUN, "--ties", "worse"], "--ties worse is not one of trec, input, best, worst. Did you mean worst?"),
        ([*RUN, "--format", "xml"], "--format xml is not one of table, tsv, csv, json, jsonl, markdown, latex"),
        ([*RUN, "--rel", "x"], "--rel: 'x' is not a number"),
        ([*RUN, "--per-qery"], "no such option: --per-qery. Did you mean --per-query or --per-query-path?"),
        ([*RUN, "--zzz"], "no such option: --zzz. See karat evaluate --help."),
        ([*RUN, "-m"], "option '-m' requires an argument"),
        ([*RUN, "--ci=yes"], "option '--ci' does not take a value"),
        (["gate", "a", "b", "c"], "unexpected extra argument (c). Usage: karat gate [OPTIONS] TRUTH [RUN]"),
        (["evalute"], "no such command: evalute. Did you mean evaluate?"),
        (["xyz"], "no such command: xyz. The commands are evaluate, look, check, answers, compare, diff, gate,"),
        (["--zzz"], "no such option: --zzz. See karat --help."),
        (["measures", "nDCGG"], "Did you mean nDCG"),
    ],
)  # fmt: skip
def test_a_usage_error_is_one_line_with_a_hint(words: list[str], message: str, folder: Path) -> None:
    assert message in refused(run_here(folder, *words))


@on_posix
def test_ctrl_c_ends_quietly_with_status_130(folder: Path) -> None:
    process = subprocess.Popen(
        [KARAT, "evaluate", "truth.qrels", "-"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=plain_environment(),
    )  # fmt: skip
    assert process.stdin is not None
    # More than a pipe holds: when this returns, karat is reading, and waits for more.
    process.stdin.write(GOOD.encode() + b" " * 300_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


# Terminals and pipes.


def test_a_pipe_gets_plain_text(folder: Path, printed: Callable[[str], str]) -> None:
    text = well(installed(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED, COLUMNS="20"))
    assert text == printed("table")
    assert text.replace("\n", "").isprintable()


SYSTEMS = ("evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED)


@pytest.mark.parametrize("value", ["1", "0", "yes"])
def test_force_color_colours_a_pipe_and_does_not_fold(value: str, folder: Path) -> None:
    text = well(installed(folder, *SYSTEMS, FORCE_COLOR=value, COLUMNS="20", TERM="dumb"))
    assert f"{ESCAPE}[1;32m" in text
    piped = good(folder, *SYSTEMS)
    assert [line.split() for line in without_colour(text).splitlines() if "0." in line] == [
        line.split() for line in piped.splitlines() if "0." in line
    ]


@pytest.mark.parametrize("environment", [{"FORCE_COLOR": ""}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}])
def test_a_pipe_gets_plain_text_if_force_color_is_empty_or_no_color_is_set(
    environment: dict[str, str], folder: Path
) -> None:
    done = run_here(folder, *SYSTEMS, environment=environment)
    assert ESCAPE not in done.stdout
    assert done.stdout == good(folder, *SYSTEMS)


def test_a_terminal_gets_colour_if_no_color_and_force_color_are_empty(folder: Path) -> None:
    status, shown = on_terminal(folder, *SYSTEMS, NO_COLOR="", FORCE_COLOR="")
    assert status == 0
    assert f"{ESCAPE}[1;32m" in shown


def test_no_color_overrides_force_color_on_a_terminal(folder: Path) -> None:
    status, shown = on_terminal(folder, *SYSTEMS, NO_COLOR="1", FORCE_COLOR="1")
    assert status == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)
    assert "* best in its column" in without_colour(shown)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize(
    "words", [SYSTEMS, ("compare", *SYSTEMS[1:]), ("gate", "truth.qrels", "good.trec", "--min", "AP=0")]
)
def test_an_encoding_without_line_characters_gets_plain_rules(
    words: tuple[str, ...], encoding: str, folder: Path
) -> None:
    for terminal in (False, True):
        text = without_colour(well(run_here(folder, *words, encoding=encoding, terminal=terminal)))
        assert "\\u" not in text
        assert re.search(r"(?m)^ ?-{20,}", text)


def test_the_encoding_of_python_decides_on_rules(folder: Path) -> None:
    piped = installed(folder, *SYSTEMS, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    status, shown = on_terminal(folder, *SYSTEMS, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (piped.returncode, status) == (0, 0)
    for text in (piped.stdout, without_colour(shown)):
        assert "\\u" not in text
        assert re.search(r"(?m)^ ?-{20,}", text)


def test_a_terminal_gets_colour_and_the_same_numbers(folder: Path) -> None:
    status, shown = on_terminal(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED)
    assert status == 0
    assert ESCAPE in shown
    piped = good(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *ASKED)
    assert re.findall(r"\d\.\d{4}", without_colour(shown)) == re.findall(r"\d\.\d{4}", piped)


@pytest.mark.parametrize("words", [["evaluate", "truth.qrels", "good.trec", "poor.trec"], ["measures"]])
def test_no_color_is_respected(words: list[str], folder: Path) -> None:
    status, shown = on_terminal(folder, *words, NO_COLOR="1")
    assert status == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


@pytest.mark.parametrize("columns", [30, 60])
def test_a_narrow_terminal_gets_every_number_in_its_width(columns: int, folder: Path) -> None:
    measures = [word for k in range(1, 15) for word in ("-m", f"nDCG@{k}")]
    status, shown = on_terminal(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *measures, columns=columns)
    assert status == 0
    lines = without_colour(shown).splitlines()
    assert max(map(len, lines)) <= columns
    piped = good(folder, "evaluate", "truth.qrels", "good.trec", "poor.trec", *measures)
    assert sorted(re.findall(r"\d\.\d{4}", "\n".join(lines))) == sorted(re.findall(r"\d\.\d{4}", piped))


@pytest.mark.parametrize("columns", [100, 200])
def test_texts_are_cut_to_the_width_of_the_terminal(columns: int, folder: Path) -> None:
    (folder / "corpus.tsv").write_text("".join(f"{name}\t{'word ' * 99}\n" for name in "abcdx"))
    words = ("evaluate", "truth.qrels", "good.trec", "-m", "RR", "--explain", "q1", "--corpus", "corpus.tsv")
    status, shown = on_terminal(folder, *words, columns=columns)
    assert status == 0
    row = next(line for line in without_colour(shown).splitlines() if "same id" in line)
    assert columns - 8 < len(row.rstrip()) <= columns


ODD = f"q{ESCAPE}[31m [red]d[/red] {ESCAPE}]0;x\x07 \\[b] &<b> %_$ | ** `x`".split()


@pytest.fixture
def odd(folder: Path) -> Path:
    """A truth whose query ids contain markup or escape sequences."""
    (folder / "truth.qrels").write_text("".join(f"{query} 0 a 1\n" for query in ODD))
    (folder / "good.trec").write_text("".join(f"{query} Q0 a 1 1 t\n" for query in ODD[1:]))
    return folder


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_odd_ids_are_harmless_in_formats_for_people(form: str, odd: Path) -> None:
    text = good(odd, "evaluate", "truth.qrels", "good.trec", "--per-query", "-m", "AP", "--format", form)
    assert text.replace("\n", "").isprintable()
    if form == "table":
        assert "[red]d[/red]" in text
        assert r"q\x1b[31m" in text
        assert "\\[b]" in text


def test_odd_ids_are_harmless_on_a_terminal(odd: Path) -> None:
    status, shown = on_terminal(odd, "evaluate", "truth.qrels", "good.trec", "--per-query", "-m", "AP")
    assert status == 0
    assert without_colour(shown).replace("\n", "").isprintable()
    assert "[red]d[/red]" in shown
    assert r"\x1b[31m" in shown


@pytest.mark.parametrize("form", ["csv", "json"])
def test_odd_ids_are_unchanged_in_formats_for_programs_in_a_pipe_and_in_a_file(form: str, odd: Path) -> None:
    words = ["evaluate", "truth.qrels", "good.trec", "--per-query", "-m", "AP", "--format", form]
    text = good(odd, *words)
    rows = json.loads(text)["queries"] if form == "json" else machine_rows(text, form)
    assert [row["query"] for row in rows] == ODD
    good(odd, *words, "-o", "file")
    assert (odd / "file").read_text() == text


def test_markup_in_the_name_of_a_run_is_harmless(folder: Path) -> None:
    shutil.copy(folder / "good.trec", folder / "[bold red]x.trec")
    shutil.copy(folder / "good.trec", folder / f"{ESCAPE}[31mx.trec")
    text = good(folder, "evaluate", "truth.qrels", "[bold red]x.trec", f"{ESCAPE}[31mx.trec")
    assert "[bold red]x" in text
    assert text.replace("\n", "").isprintable()


def test_a_character_that_the_encoding_lacks_is_shown_as_an_escape(folder: Path) -> None:
    (folder / "truth.qrels").write_text("日 0 a 1\n")
    (folder / "good.trec").write_text("日 Q0 a 1 1 t\n")
    words = ["evaluate", "truth.qrels", "good.trec", "--per-query", "--format", "csv"]
    text = well(installed(folder, *words, PYTHONIOENCODING="latin-1", PYTHONUTF8="0"))
    assert text.splitlines()[1].startswith("\\u65e5,")


@pytest.mark.parametrize(("form", "queries"), [("table", 3), ("csv", 20_000)])
def test_a_closed_pipe_ends_the_command_quietly(form: str, queries: int, folder: Path) -> None:
    (folder / "truth.qrels").write_text("".join(f"q{at} 0 a 1\n" for at in range(queries)))
    words = [str(KARAT), "evaluate", "truth.qrels", "good.trec", "--per-query", "-m", "AP", "--format", form]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in CLOSED_PIPE


# The other commands.


COMMANDS = ("evaluate", "answers", "compare", "diff", "gate", "measures", "demo")


@pytest.mark.parametrize("words", [[], ["-h"], ["--help"]])
def test_help_shows_every_command_with_its_whole_description(words: list[str], folder: Path) -> None:
    text = good(folder, *words)
    listed = " ".join(text.split())
    for command in COMMANDS:
        description = good(folder, command, "--help").split("\n\n")[1]
        assert f" {command} {' '.join(description.split())}" in listed
    assert "..." not in text.replace("[ARGUMENTS...]", "")
    assert 'eval "$(_KARAT_COMPLETE=bash_source karat)"' in listed


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_plain_names_for_values(command: str, folder: Path) -> None:
    text = good(folder, command, "-h")
    assert text == good(folder, command, "--help")
    assert text.startswith(f"Usage: karat {command} [OPTIONS]")
    assert text.isascii()
    for unwanted in ("{TRUTH", "[[", "<", "TEXT", "FLOAT", "INTEGER", "None"):
        assert unwanted not in text


def test_the_help_of_evaluate_explains_arguments_and_options(folder: Path) -> None:
    text = good(folder, "evaluate", "--help")
    assert text.startswith(USAGE)
    names = ("TRUTH ", "RUN... ", "-m, --measure MEASURE", "-o, --output FILE", "--format table|tsv|csv|json|jsonl",
             "--per-query", "--ci", "--missing zero|skip", "--ties trec|input|best|worst", "--rel GRADE")  # fmt: skip
    for shown in names:
        assert f"  {shown}" in text


def test_the_version_is_the_version_of_the_package(folder: Path) -> None:
    assert well(installed(folder, "--version")) == f"karat {karat.__version__}\n"


def test_measures_are_listed_and_explained(folder: Path) -> None:
    text = good(folder, "measures")
    for definition in karat.definitions():
        assert re.search(rf"(?m)^{re.escape(definition.name)}\b", text)
    explained = good(folder, "measures", "nDCG")
    for word in ("nDCG", "formula", "reference", "range", "discount", ">>>"):
        assert word in explained
    assert good(folder, "measures", "ndcg_cut_10") == explained


def test_the_explanation_of_a_measure_has_a_range_that_may_be_negative_and_names_with_their_parameters(
    folder: Path,
) -> None:
    assert "range          −∞ to ∞, higher is better" in good(folder, "measures", "Utility")
    assert "Rprec_mult_m" in good(folder, "measures", "Rprec")
    assert "rbp.p=0.95" in good(folder, "measures", "RBP")


def test_the_demo_ranks_its_three_systems_and_says_how_to_get_their_report(folder: Path) -> None:
    before = sorted(folder.iterdir())
    with patch("karat.report.rendering.find_spec", return_value=None):
        text = good(folder, "demo")
    assert text.endswith(f"which are not installed. Run {pip_install('report')}.\n")
    assert sorted(folder.iterdir()) == before
    table = text[text.index("\nrun ") :]
    header, *rows = [line for line in cells(table, "table") if line[0] in ("run", "overlap", "bm25", "bm25-rm3")][:4]
    assert header[:2] == ["run", "nDCG@10"]
    values = {row[0]: float(row[1].split()[0].strip("*")) for row in rows}
    assert 0 < values["overlap"] < values["bm25"] < values["bm25-rm3"] < 1
    assert re.search(r"Faithfulness +0\.\d{4} \[.*\] +0\.\d{4} to 0\.\d{4} +2\n", text)


def completions(folder: Path, line: str) -> list[str]:
    """What bash offers at the end of a line, each with its kind, such as `plain,evaluate`."""
    words = line.split(" ")
    environment = {"_KARAT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run_here(folder, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_completion_script_for_bash_is_printed(folder: Path) -> None:
    script = well(installed(folder, _KARAT_COMPLETE="bash_source"))
    assert "-F _karat_completion karat" in script
    assert "_KARAT_COMPLETE=bash_complete" in script


@pytest.mark.parametrize("instruction", ["tcsh_source", "bash_complete", "bash", "1"])
def test_a_wrong_request_for_completion_says_how_to_set_it_up(instruction: str, folder: Path) -> None:
    error = refused(run_here(folder, environment={"_KARAT_COMPLETE": instruction}))
    assert 'eval "$(_KARAT_COMPLETE=bash_source karat)"' in error


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("karat e", ["evaluate"]),
        ("karat evaluate --ti", ["--ties"]),
        ("karat evaluate a b --ties b", ["best"]),
        ("karat evaluate a b --format j", ["json", "jsonl"]),
        ("karat gate a b --format j", ["json"]),
        ("karat evaluate a b -m nD", ["nDCG", "nDCG@10"]),
        ("karat evaluate a b -m ndc", ["nDCG", "nDCG@10"]),
        ("karat evaluate a b --measure Preci", []),
        ("karat answers a b -m Token", ["TokenF1", "TokenPrecision", "TokenRecall"]),
        ("karat gate a b --min nD", ["nDCG=", "nDCG@10="]),
        ("karat gate a b --max Unj", ["Unjudged@10="]),
        ("karat gate a b --max-drop nD", ["nDCG=", "nDCG@10="]),
        ("karat evaluate a b --match f", ["fuzzy"]),
        ("karat evaluate a b --match m", ["meta."]),
        ("karat evaluate a b --by l", ["length"]),
        ("karat measures nD", ["nDCG"]),
    ],
)
def test_the_shell_completes_commands_options_choices_and_measures(
    line: str, expected: list[str], folder: Path
) -> None:
    offered = [text.removeprefix("plain,") for text in completions(folder, line) if text.startswith("plain,")]
    assert [text for text in offered if not text.startswith("nDCG_")] == expected


@pytest.mark.parametrize(
    "line", ["karat evaluate tr", "karat evaluate truth.qrels go", "karat gate a b --config k", "karat evaluate a -o x"]
)
def test_the_shell_completes_file_names(line: str, folder: Path) -> None:
    assert completions(folder, line) == [f"file,{line.split()[-1]}"]


@pytest.mark.parametrize("program", ["import karat", "import karat; karat.__version__; dir(karat)", "import karat.cli"])
def test_importing_karat_loads_nothing_heavy(program: str) -> None:
    heavy = ["numpy", "pyarrow", "scipy", "pandas", "rich.table"]
    code = f"{program}; import sys; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "[]\n"


def test_measures_are_named_as_they_were_asked_for_if_the_option_says_so(folder: Path) -> None:
    words = ["evaluate", "truth.qrels", "good.trec", "-m", "map", "-m", "P_1,5", "--rel", "2"]
    names = {"canonical": ["AP(rel=2)", "P(rel=2)@1", "P(rel=2)@5"], "asked": ["map", "P_1", "P_5"]}
    for option, expected in names.items():
        for more in (["--format", "csv"], ["--format", "csv", "--per-query"]):
            done = run_here(folder, *words, "--names", option, *more)
            assert done.stdout.split("\n")[0].split(",")[1:] == expected
        done = run_here(folder, *words, "--names", option, "-o", f"{option}.json")
        assert list(json.loads((folder / f"{option}.json").read_text())["means"]) == expected
    assert Scores.load(folder / "asked.json").means == Scores.load(folder / "canonical.json").means
    done = run_here(folder, *words, "--names", "asked", "--bounds")
    assert done.stderr.startswith("karat: --names and --bounds cannot be combined")
    done = run_here(folder, *words, "--names", "asked", "--report", "page.html")
    assert done.stderr.startswith("karat: --names and --report cannot be combined")
    assert "map" in run_here(folder, *words, "--names", "asked").stdout
