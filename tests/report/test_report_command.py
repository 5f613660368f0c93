"""`karat report`, and `--report` of other commands."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from karat.cli import demo_data as demo
from karat.cli import program
from karat.errors import KaratError
from tests.fuzz.base_calls import REPORT_CALLS, namespace

TRUTH = str(demo.TRUTH)
BM25, OVERLAP = (str(demo.runs()[name]) for name in ("bm25", "overlap"))


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["karat", "report"])


def run(*arguments: str) -> str:
    result = CliRunner().invoke(program, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", TRUTH, OVERLAP, BM25, "--baseline", "overlap", "--corpus", str(demo.HERE / "corpus.jsonl")),
        ("report", str(demo.RESULTS), "--match", "chunk"),
        ("evaluate", TRUTH, BM25),
        ("compare", TRUTH, OVERLAP, BM25, "-m", "RR"),
        ("gate", TRUTH, BM25, "--min", "RR=0.1", "--max-drop", "AP=0.1", "--baseline", OVERLAP),
    ],
    ids=lambda arguments: " ".join(Path(each).name for each in arguments[:3]),
)
def test_commands_write_a_report_and_name_it(arguments: tuple[str, ...]) -> None:
    output = run(*arguments, "-o" if arguments[0] == "report" else "--report", "report.html")
    assert "wrote report.html: a report, 1." in output
    page = Path("report.html").read_text("utf-8")
    assert page.lower().startswith("<!doctype html>")


def test_the_demo_ends_with_its_report() -> None:
    path = Path(run("demo").splitlines()[-1].strip())
    assert path == Path("karat-demo.html").resolve()
    assert "Questions about gold" in path.read_text("utf-8")


def test_saved_scores_have_a_report() -> None:
    run("evaluate", TRUTH, BM25, "-o", "bm25.json")
    run("evaluate", TRUTH, OVERLAP, "-o", "overlap.parquet")
    run("report", "bm25.json", "overlap.parquet", "-o", "report.html")
    assert "These scores come without the documents" in Path("report.html").read_text("utf-8")


def test_questions_of_results_are_shown() -> None:
    run("report", str(demo.RESULTS), "--match", "chunk", "-o", "report.html")
    question = json.loads(demo.RESULTS.read_text("utf-8").splitlines()[0])["question"]
    assert question in Path("report.html").read_text("utf-8")


def options_of(page: str) -> dict[str, str]:
    """The options that a page shows under "How it was made"."""
    return dict(re.findall(r"<dt>(\w+)</dt><dd><bdi>(.*?)</bdi>", Path(page).read_text("utf-8")))


def test_the_options_of_a_comparison_are_used_and_shown() -> None:
    chosen = {"test": "tukey", "level": "0.9", "permutations": "2000", "detect": "0.02"}
    arguments = [text for name, value in chosen.items() for text in (f"--{name}", value)]
    run("report", TRUTH, OVERLAP, BM25, "-o", "report.html", "--common-queries", *arguments)
    shown = options_of("report.html")
    assert {name: shown.get(name) for name in (*chosen, "common_queries")} == {**chosen, "common_queries": "yes"}
    page = Path("report.html").read_text("utf-8")
    assert "Means with 90% confidence intervals" in page
    assert "p by Tukey's randomized HSD" in html.unescape(page)
    assert "Detecting a difference of 0.02 takes" in page
    run("report", TRUTH, OVERLAP, BM25, "-o", "report.html", "--test", "t", "--correction", "bh", "--family", "all")
    assert options_of("report.html")["family"] == "all"
    assert "permutations" not in options_of("report.html")


def test_a_report_says_which_systems_are_equivalent() -> None:
    run("report", TRUTH, OVERLAP, BM25, "-o", "report.html", "-m", "RR", "-m", "AP", "--equivalence", "AP=0.5")
    page = html.unescape(Path("report.html").read_text("utf-8"))
    assert "Shown to be equivalent on AP, within ±0.5: 1 of 1 pair of systems: bm25 and overlap." in page
    assert options_of("report.html")["equivalence"] == "AP=0.5"


def test_one_system_has_a_level_and_no_comparison() -> None:
    run("report", TRUTH, BM25, "-o", "report.html", "--level", "0.8")
    assert "Means with 80% confidence intervals" in Path("report.html").read_text("utf-8")
    assert options_of("report.html")["level"] == "0.8"
    for option in ("--test=t", "--baseline=bm25", "--detect=0.1", "--common-queries"):
        with pytest.raises(KaratError, match=f"{option.partition('=')[0]} is about a comparison, and there is only"):
            run("report", TRUTH, BM25, "-o", "report.html", option)


def test_the_calls_of_the_fuzzer_that_write_reports_are_valid() -> None:
    names = namespace()
    for call in REPORT_CALLS:
        eval(call, dict(names))
    assert Path("report.html").exists()


GATE = ("gate", TRUTH, BM25, "--baseline", OVERLAP, "--max-drop", "AP=0.5")


def test_the_report_of_a_gate_is_configured_with_its_texts_and_shows_its_options() -> None:
    Path("ci").mkdir()
    for name in ("questions.jsonl", "corpus.jsonl"):
        shutil.copy(demo.HERE / name, "ci")
    Path("ci/karat.toml").write_text(
        '[gate]\nreport = "report.html"\nqueries = "questions.jsonl"\ncorpus = ["corpus.jsonl"]\nlevel = 0.9\n'
    )
    run(*GATE, "--config", "ci/karat.toml")
    page = Path("ci/report.html").read_text("utf-8")
    assert "Why does gold not rust?" in page
    assert "Means with 90% confidence intervals" in page
    assert "difference from the baseline, <bdi>overlap</bdi>" in page
    shown = options_of("ci/report.html")
    assert (shown["baseline"], shown["level"], shown["family"]) == ("overlap", "0.9", "all")
    with pytest.raises(KaratError, match="the output file is also an input"):
        run(*GATE, "--config", "ci/karat.toml", "--report", "ci/corpus.jsonl")


def test_configured_texts_are_for_a_report_that_may_not_be_written() -> None:
    shutil.copy(demo.HERE / "questions.jsonl", ".")
    Path("karat.toml").write_text('[gate]\nqueries = "questions.jsonl"\ncorpus = "absent.jsonl"\n')
    assert "gate passed" in run(*GATE)
    with pytest.raises(KaratError, match=r"^--queries is only used for a report. Add --report FILE"):
        run(*GATE, "--queries", "questions.jsonl")
    with pytest.raises(KaratError, match=r"absent\.jsonl"):
        run(*GATE, "--report", "report.html")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("questions.html", "the output file is also an input"),
        ("absent/report.html", "cannot be written"),
    ],
)
def test_a_configured_report_that_cannot_be_written_is_an_error(name: str, error: str) -> None:
    shutil.copy(demo.HERE / "questions.jsonl", "questions.html")
    Path("karat.toml").write_text(f'[gate]\nreport = "{name}"\nqueries = "questions.html"\n')
    with pytest.raises(KaratError, match=error):
        run(*GATE)


@pytest.mark.parametrize(
    "name",
    ["../page.html", "{outside}/page.html", "link.html", "folder/page.html", "inner/../../page.html", "/dev/stdout"],
)
def test_a_configured_report_is_only_written_inside_the_folder_of_the_configuration(name: str, tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    (project / "inner").mkdir(parents=True)
    (outside / "page.html").write_text("keep")
    (tmp_path / "page.html").write_text("keep")
    (project / "link.html").symlink_to(outside / "page.html")
    (project / "folder").symlink_to(outside)
    (project / "karat.toml").write_text(f'[gate]\nreport = "{name.format(outside=outside.as_posix())}"\n')
    where = re.escape(
        f"{project / 'karat.toml'}, gate.report: this file is not in the folder of the configuration file"
    )
    with pytest.raises(KaratError, match=f"^{where}"):
        run(*GATE, "--config", str(project / "karat.toml"))
    assert [path.read_text() for path in (outside / "page.html", tmp_path / "page.html")] == ["keep", "keep"]


@pytest.mark.parametrize("name", ["script.py", ".git/hooks/pre-commit", "karat.toml", "html"])
def test_a_configured_report_replaces_only_pages(name: str) -> None:
    Path("karat.toml").write_text(f'[gate]\nreport = "{name}"\n')
    with pytest.raises(
        KaratError, match=r"karat\.toml, gate\.report: the name of this file does not end in \.html\. Name"
    ):
        run(*GATE)


def test_a_configured_report_may_be_written_where_links_stay_inside_and_a_given_one_anywhere(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "link"
    (project / "pages").mkdir(parents=True)
    elsewhere.symlink_to(project)
    (project / "karat.toml").write_text('[gate]\nreport = "pages/report.HTML"\n')
    run(*GATE, "--config", str(elsewhere / "karat.toml"))
    assert (project / "pages" / "report.HTML").exists()
    run(*GATE, "--config", str(project / "karat.toml"), "--report", str(tmp_path / "page"))
    assert (tmp_path / "page").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "run.json"), "the report needs a file. Add -o report.html"),
        (("report", "run.json", "-o", "run.json"), "the output file is also an input"),
        (("report", "run.json", "-o", "absent/report.html"), "cannot be written"),
        (("evaluate", "truth.json", "run.json", "--report", "truth.json"), "the output file is also an input"),
        (
            ("evaluate", "truth.json", "run.json", "--report", "report.html", "--rel", "nan"),
            "--rel nan is not a number. Pass a grade, for example --rel 2.",
        ),
    ],
)
def test_bad_input_is_an_error_and_no_file_is_written(arguments: tuple[str, ...], message: str) -> None:
    for name in ("truth.json", "run.json"):
        Path(name).write_text('{"q": {"a": 1}}')
    with pytest.raises(KaratError) as error:
        run(*arguments)
    assert message in str(error.value)
    assert sorted(path.name for path in Path().iterdir()) == ["run.json", "truth.json"]
