"""`karat gate` in CI systems: exit status, files, GitHub, and errors."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import karat
from karat import Scores
from tests.end_to_end.in_process import Done, run_here
from tests.platforms import KARAT

QUERIES = [f"q{at:02}" for at in range(12)]
TRUTH = "".join(f"{query} 0 a 1\n{query} 0 b 2\n" for query in QUERIES)
GOOD = "".join(f"{query} Q0 a 1 3 t\n{query} Q0 b 2 2 t\n" for query in QUERIES)
# In NOISY two queries lose everything, which is not significant; in POOR all of them lose something.
NOISY = "".join(
    f"{query} Q0 {'a' if at > 1 else 'x'} 1 3 t\n{query} Q0 {'b' if at > 1 else 'y'} 2 2 t\n"
    for at, query in enumerate(QUERIES)
)
POOR = "".join(f"{query} Q0 x 1 4 t\n{query} Q0 a 2 3 t\n{query} Q0 b 3 2 t\n" for query in QUERIES)

Run = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"truth.qrels": TRUTH, "good.trec": GOOD, "noisy.trec": NOISY, "poor.trec": POOR}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def saved(folder: Path) -> str:
    karat.evaluate(str(folder / "truth.qrels"), str(folder / "good.trec"), ["AP", "RR"]).to_parquet(
        folder / "old.parquet"
    )
    return "old.parquet"


@pytest.fixture
def run(folder: Path) -> Run:
    """Run the command inside the test process."""

    def gate(*words: str, **environment: str) -> Done:
        return run_here(folder, "gate", *words, environment=environment)

    return gate


def installed(folder: Path, *words: str, stdin: str = "") -> Done:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    return subprocess.run(
        [KARAT, "gate", *words], cwd=folder, input=stdin, capture_output=True, check=False, text=True, env=environment
    )


def test_a_gate_that_passes_exits_with_0_and_ends_with_the_verdict(folder: Path) -> None:
    done = installed(
        folder, "truth.qrels", "good.trec", "--min", "nDCG@10=0.6", "--max", "Unjudged@2=0", "--min", "map=1"
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["verdict", "measure", "score", "rule"]
    assert [line.split()[:2] for line in lines[2:5]] == [
        ["passed", "nDCG@10"], ["passed", "AP"], ["passed", "Unjudged@2"],
    ]  # fmt: skip
    assert lines[-1] == "gate passed: 3 rules"


def test_a_gate_that_fails_exits_with_1_and_names_the_queries(folder: Path, run: Run) -> None:
    done = run("truth.qrels", "noisy.trec", "--baseline", "good.trec", "--max-drop", "AP=0.01", "--min", "RR=0.5")
    assert (done.returncode, done.stderr) == (1, "")
    assert "failed    AP        0.8333   at most 0.0100 below 1.0000: fell by 0.1667 (p = 0.5000)" in done.stdout
    assert "AP, largest losses: q00 (1.0000 → 0.0000), q01 (1.0000 → 0.0000)\n" in done.stdout
    assert done.stdout.endswith("gate failed: 1 of 2 rules\n")


def test_a_significant_gate_passes_noise_and_fails_real_drops(folder: Path, run: Run) -> None:
    words = ["--baseline", "good.trec", "--max-drop", "AP=0.01", "--significant"]
    noisy, poor = (run("truth.qrels", name, *words) for name in ("noisy.trec", "poor.trec"))
    assert (noisy.returncode, poor.returncode) == (0, 1)
    assert "not significantly more (p = 0.2500, one-sided)" in noisy.stdout
    assert "significant: p below 0.05, one-sided, by the paired randomization test" in noisy.stdout
    assert "fell by 0.4167, significantly more (p = 0.0002, one-sided)" in poor.stdout


def test_a_non_inferior_rule_needs_evidence_to_pass(folder: Path, run: Run) -> None:
    words = ["--baseline", "good.trec", "--non-inferior", "AP=0.3", "--level", "0.9"]
    good, noisy, poor = (run("truth.qrels", name, *words) for name in ("good.trec", "noisy.trec", "poor.trec"))
    assert [good.returncode, noisy.returncode, poor.returncode] == [0, 1, 1]
    assert (
        "passed    AP        1.0000   shown to be less than 0.3000 below 1.0000: unchanged (p = 0.0002" in good.stdout
    )
    assert "fell by 0.1667, not significant (p = 0.1" in noisy.stdout
    assert "significant: p below 0.1, one-sided" in noisy.stdout
    (folder / "karat.toml").write_text('[gate]\nbaseline = "good.trec"\n[gate.non-inferior]\nAP = 0.3\n')
    assert run("truth.qrels", "good.trec").returncode == 0
    assert run("truth.qrels", "poor.trec").returncode == 1


def test_saved_scores_can_be_the_baseline_or_the_system(folder: Path, run: Run, saved: str) -> None:
    done = run("truth.qrels", "poor.trec", "--baseline", saved, "--max-drop", "AP=0.01", "--max-drop", "RR=0.6")
    assert done.returncode == 1
    assert "gate failed: 1 of 2 rules" in done.stdout
    more = run("truth.qrels", "good.trec", "--baseline", saved, "--max-drop", "AP=0", "--min", "nDCG@10=0.5")
    assert (more.returncode, more.stderr) == (0, "")
    assert run(saved, "--baseline", saved, "--max-drop", "AP=0").returncode == 0
    assert run(saved, "--min", "AP=0.9").returncode == 0
    own = Scores(("q",), {"my own": karat.Scores.load(folder / saved).column("AP")[:1]})
    own.to_json(folder / "own.json")
    assert run("own.json", "--min", "my own=0.5").returncode == 0


def test_results_need_no_run_and_can_be_read_from_standard_input(folder: Path) -> None:
    line = {"query": "q", "truth": ["a"], "retrieved": ["x", "a"], "gold_answers": ["one"], "answer": "one"}
    done = installed(folder, "-", "--min", "RR=0.5", "--min", "EM=1", stdin=json.dumps(line) + "\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gate passed: 2 rules" in done.stdout


def test_rules_are_read_from_a_file_and_the_command_line_takes_precedence(folder: Path, run: Run, saved: str) -> None:
    (folder / "karat.toml").write_text(
        f'[gate]\nsignificant = true\nrel = 2\nbaseline = "{saved}"\n[gate.min]\nRR = 0.9\n[gate.max-drop]\nP.2 = 1\n'
    )
    assert "karat.toml, gate.max-drop.P: this is a table" in run("truth.qrels", "good.trec").stderr
    (folder / "karat.toml").write_text('[gate]\nrel = 2\n[gate.min]\nRR = 0.9\n"P@2" = 0.1\n')
    done = run("truth.qrels", "good.trec")
    assert done.returncode == 1
    assert done.stdout.startswith("rules from karat.toml\n")
    assert "failed    RR(rel=2)    0.5000   at least 0.9000" in done.stdout
    done = run("truth.qrels", "good.trec", "--min", "recip_rank=0.4")
    assert done.returncode == 0
    assert done.stdout.startswith("rules from karat.toml and the command line\n")
    assert "gate passed: 2 rules" in done.stdout
    assert run("truth.qrels", "good.trec", "--rel", "1").returncode == 0


def test_a_switch_in_the_file_can_be_turned_off(folder: Path, run: Run, saved: str) -> None:
    (folder / "ci").mkdir()
    rules = folder / "ci" / "pyproject.toml"
    rules.write_text(
        f'[tool.karat.gate]\nsignificant = true\nbaseline = "../{saved}"\n[tool.karat.gate.max-drop]\nAP = 0.01\n'
    )
    words = ["truth.qrels", "noisy.trec", "--config", "ci/pyproject.toml"]
    assert run(*words).returncode == 0
    assert run(*words, "--no-significant").returncode == 1


def test_junit_json_and_markdown_are_written_to_files(folder: Path, run: Run) -> None:
    words = ["truth.qrels", "poor.trec", "--min", "AP=0.9", "--min", "RR=0.1"]
    done = run(*words, "--junit", "gate.xml", "-o", "gate.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "wrote gate.xml: 2 rules\nwrote gate.json: 2 rules\n"
    assert [case.get("name") for case in ET.parse(folder / "gate.xml").iter("testcase")] == ["min AP", "min RR"]
    assert len(list(ET.parse(folder / "gate.xml").iter("failure"))) == 1
    document = json.loads((folder / "gate.json").read_text("utf-8"))
    assert [rule["passed"] for rule in document["rules"]] == [False, True]
    markdown = run(*words, "--format", "markdown")
    assert "| **failed** | AP | 0.5833 | at least 0.9000 |" in markdown.stdout


def test_in_github_a_failed_rule_is_annotated_and_the_step_has_a_summary(folder: Path, run: Run) -> None:
    hostile = "q%##[error]::x"
    (folder / "hostile.qrels").write_text(f"{hostile} 0 a 1\n")
    (folder / "hostile.trec").write_text(f"{hostile} Q0 x 1 1 t\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    words = ["hostile.qrels", "hostile.trec", "--min", "AP=0.5", "--min", "RR=0"]
    done = run(*words, **github)
    assert done.returncode == 1
    commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert commands == ["::error title=karat gate::AP is 0.0000, but must be at least 0.5000"]
    assert "##[" not in done.stdout
    done = run(*words, "--format", "json", **github)
    assert json.loads(done.stdout)["rules"][0]["worst"][0]["query"] == hostile
    assert "##[" not in done.stdout
    assert done.stderr.splitlines() == commands
    assert (folder / "summary.md").read_text("utf-8").count("### karat: gate failed: 1 of 2 rules") == 2
    github["GITHUB_STEP_SUMMARY"] = str(folder)
    unwritten = run(*words, **github)
    assert unwritten.returncode == 1
    assert unwritten.stderr.startswith("note: cannot write the step summary")
    assert not [line for line in run(*words).stdout.splitlines() if line.startswith("::")]


def test_a_failed_gate_exits_with_1_even_if_its_output_is_not_read(folder: Path) -> None:
    words = [str(KARAT), "gate", "truth.qrels", "poor.trec", "--min", "AP=0.9"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(words, cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["truth.qrels", "good.trec", "--min", "nDGC@10=0.5"], "--min nDGC@10=0.5: unknown measure 'nDGC'. Did"),
        (["nowhere", "nowhere"], "there are no rules. Add --min nDCG@10=0.6"),
        (["nowhere", "nowhere", "--max-drop", "AP=0.1"], "--max-drop AP=0.1: a max-drop rule for AP needs"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "--min", "map=0.1"], "--min map=0.1: map has two min limits"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "--level", "95"], "--level 95 is not between 0 and 1"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "--match", "fuzy"], "fuz"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "--config", "no.toml"], "no.toml: no such file"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "-o", "x.csv"], "x.csv: a gate cannot be written as csv"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "-o", "x.xml"], "x.xml: -o does not write JUnit XML"),
        (["truth.qrels", "good.trec", "--min", "AP=0.1", "--junit", "good.trec"], "good.trec: the output file is"),
        (["nowhere", "nowhere", "--min", "AP=0.1", "--baseline", "good.trec"], "good.trec is not used by any rule"),
        (["truth.qrels", "--max-drop", "AP=0.1", "--baseline", "good.trec"], "truth.qrels: this file is read"),
        (["old.parquet", "old.parquet", "--min", "AP=0.1"], "results and saved scores take no RUN"),
        (["old.parquet", "--min", "nDCG@10=0.1"], "--min nDCG@10=0.1: these scores have no 'nDCG@10'"),
        (["truth.qrels", "good.trec", "--baseline", "old.parquet", "--max-drop", "P@5=0"], "scores have no 'P@5'"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("saved")
def test_an_error_is_one_line_and_status_2_before_anything_is_read(
    folder: Path, run: Run, words: list[str], message: str
) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("karat: ")
    assert message in line
    assert (folder / "good.trec").read_text() == GOOD


@pytest.mark.parametrize("target", ["karat.toml", "old.json"])
def test_neither_the_rules_nor_the_baseline_are_overwritten(folder: Path, run: Run, target: str) -> None:
    karat.evaluate(str(folder / "truth.qrels"), str(folder / "good.trec"), "AP").to_json(folder / "old.json")
    (folder / "karat.toml").write_text('[gate]\nbaseline = "old.json"\n[gate.max-drop]\nAP = 0.1\n')
    before = (folder / target).read_bytes()
    for option in ("--junit", "-o"):
        done = run("truth.qrels", "good.trec", option, target, "--format", "json")
        assert (done.returncode, "the output file is also an input" in done.stderr) == (2, True)
    assert (folder / target).read_bytes() == before


def test_junit_and_the_table_cannot_be_written_to_the_same_file(run: Run) -> None:
    done = run("truth.qrels", "good.trec", "--min", "AP=0.1", "--junit", "g.txt", "-o", "g.txt")
    assert (done.returncode, "the same file" in done.stderr) == (2, True)


def test_an_error_about_fields_in_the_file_names_the_file(folder: Path, run: Run) -> None:
    (folder / "f.toml").write_text('[gate.min]\nAP = 0.1\n[gate.field]\nretrieved = "nodes"\n')
    done = run("truth.qrels", "good.trec", "--config", "f.toml")
    assert (done.returncode, "f.toml: gate.field applies to results" in done.stderr) == (2, True)


@pytest.mark.usefixtures("saved")
def test_an_option_without_effect_on_saved_scores_is_rejected(run: Run) -> None:
    done = run("old.parquet", "--min", "AP=0.1", "--missing", "skip")
    assert (done.returncode, "--missing has no effect on saved scores" in done.stderr) == (2, True)


def test_options_that_no_rule_uses_are_refused(folder: Path, run: Run) -> None:
    done = run("truth.qrels", "good.trec", "--min", "AP=0.1", "--significant")
    assert (done.returncode, done.stdout) == (2, "")
    assert "significant has no effect without a max-drop rule" in done.stderr


def test_a_configuration_file_needs_a_name(run: Run) -> None:
    done = run("truth.qrels", "good.trec", "--config", "")
    assert (done.returncode, "the name of the configuration file is empty" in done.stderr) == (2, True)


def test_a_gate_is_forced_on_the_command_line_only(folder: Path, run: Run) -> None:
    (folder / "karat.toml").write_text("[gate]\nforce = true\n")
    done = run("truth.qrels", "good.trec")
    assert (done.returncode, "karat.toml, gate.force: unknown key. Use --force on the" in done.stderr) == (
        2,
        True,
    )


def test_a_run_without_ground_truth_is_not_told_to_use_another_command(folder: Path, run: Run) -> None:
    (folder / "scores.csv").write_text("query,AP\nq1,1\n")
    done = run("scores.csv", "--max-drop", "AP=0.1", "--baseline", "truth.qrels")
    assert (done.returncode, "Name the ground truth before the runs." in done.stderr) == (2, True)
