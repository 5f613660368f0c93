"""compare, diff and gate refuse saved scores that were evaluated against another ground truth or in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.in_process import run_here

QRELS = {"truth.qrels": "q 0 a 1\nr 0 b 1\ns 0 c 1\n", "changed.qrels": "s 0 c 1\nr 0 b 2\nq 0 a 1\n"}
RUN = "q Q0 a 1 3 A\nr Q0 x 1 2 A\nr Q0 b 2 1 A\ns Q0 c 1 1 A\n"
REFUSED = "were evaluated against different ground truth for 1 of 3 queries (r)"
COMMANDS = {
    "compare": ("compare", "changed.qrels", "run.trec"),
    "diff": ("diff", "changed.qrels", "run.trec", "-m", "RR"),
    "gate": ("gate", "changed.qrels", "run.trec", "--max-drop", "RR=0.5"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {**QRELS, "run.trec": RUN}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def save(folder: Path, file: str, *options: str) -> None:
    per_query = ["--per-query"] if file.endswith(".csv") else []
    words = ("evaluate", "truth.qrels", "run.trec", "-m", "RR", "-o", file, *per_query, *options)
    assert run_here(folder, *words).returncode == 0


def words(command: str, saved: str, *options: str) -> list[str]:
    return [*COMMANDS[command], *(["--baseline"] if command == "gate" else []), saved, *options]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_saved_scores_of_another_ground_truth_are_refused_unless_forced(
    folder: Path, command: str, suffix: str
) -> None:
    save(folder, f"saved.{suffix}")
    refused = run_here(folder, *words(command, f"saved.{suffix}"))
    assert (refused.returncode, refused.stdout) == (2, "")
    names = "baseline and run" if command == "gate" else "run and saved"
    assert refused.stderr.startswith(f"karat: {names} {REFUSED}. Evaluate both against the same ground truth")
    assert refused.stderr.count("\n") == 1
    forced = run_here(folder, *words(command, f"saved.{suffix}", "--force"))
    assert forced.returncode == 0, forced.stderr
    assert f"note: {names} {REFUSED}; compared anyway." in forced.stdout


@pytest.mark.parametrize(
    "words",
    [("compare", "saved.json", "saved.parquet"), ("diff", "saved.json", "saved.parquet"), ("gate", "saved.json")],
)
def test_ground_truth_that_saved_scores_do_not_need_must_be_the_one_they_were_evaluated_against(
    folder: Path, words: tuple[str, ...]
) -> None:
    save(folder, "saved.json")
    save(folder, "saved.parquet")
    command, *saved = words
    rest = ["--min", "RR=0.1"] if command == "gate" else ["-m", "RR"]
    assert run_here(folder, command, "truth.qrels", *saved, *rest).returncode == 0
    refused = run_here(folder, command, "changed.qrels", *saved, *rest)
    assert refused.returncode == 2
    name = "saved" if command == "gate" else "saved.json"
    assert refused.stderr == (
        f"karat: changed.qrels: the scores of {name} were computed against different ground truth for 1 of 3 queries"
        f" (r). Evaluate {name} against this ground truth, or leave the ground truth out: saved scores do not need"
        " it.\n"
    )
    if command != "gate":
        forced = run_here(folder, command, "changed.qrels", *saved, *rest, "--force")
        assert forced.returncode == 0, forced.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_a_fingerprint_is_compared_with_one_note(folder: Path, command: str) -> None:
    save(folder, "saved.csv")
    done = run_here(folder, *words(command, "saved.csv"))
    assert done.returncode == 0, done.stderr
    name = "baseline" if command == "gate" else "saved"
    assert done.stdout.count("fingerprint") == 1
    assert f"warning: {name} may have been evaluated against another ground truth: its scores have no" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_saved_scores_of_the_same_ground_truth_are_compared_without_a_note(folder: Path, command: str) -> None:
    save(folder, "saved.parquet")
    (folder / "changed.qrels").write_text("\n".join(reversed(QRELS["truth.qrels"].split("\n"))) + "\n")
    done = run_here(folder, *words(command, "saved.parquet"))
    assert done.returncode == 0, done.stderr
    assert "ground truth" not in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_other_matching_and_options_are_refused_and_named(folder: Path, command: str) -> None:
    (folder / "changed.qrels").write_text(QRELS["truth.qrels"])
    save(folder, "saved.json", "--match", "prefix", "--ties", "input")
    refused = run_here(folder, *words(command, "saved.json"))
    assert refused.returncode == 2
    both = (
        ("'prefix' and 'id'", "'input' and 'trec'")
        if command == "gate"
        else ("'id' and 'prefix'", "'trec' and 'input'")
    )
    assert f"were evaluated with match {both[0]}; with ties={both[1]}. " in refused.stderr


@pytest.mark.parametrize("file", ["both.json", "both.parquet"])
def test_several_systems_in_one_file_keep_their_fingerprints(folder: Path, file: str) -> None:
    (folder / "other.trec").write_text(RUN.replace(" b 2 1 ", " b 2 3 "))
    saved = run_here(folder, "evaluate", "truth.qrels", "run.trec", "other.trec", "-m", "RR", "-o", file)
    assert saved.returncode == 0, saved.stderr
    assert "ground truth" not in run_here(folder, "compare", file).stdout
    refused = run_here(folder, "compare", "changed.qrels", file, "run.trec")
    assert (refused.returncode, REFUSED in refused.stderr) == (2, True)


def test_a_diff_says_which_queries_were_left_out(folder: Path) -> None:
    (folder / "truth.qrels").write_text("q 0 a 1\ns 0 c 1\n")
    save(folder, "saved.json")
    done = run_here(folder, *words("diff", "saved.json", "--common-queries"))
    assert "note: run: 1 of 3 queries left out (not in all systems)." in done.stdout


def test_a_damaged_fingerprint_is_one_line_that_names_the_file(folder: Path) -> None:
    save(folder, "saved.json")
    path = folder / "saved.json"
    path.write_text(path.read_text().replace('"truths": {', '"truths": {"judged\\u001b[2J": 5, '))
    done = run_here(folder, *words("compare", "saved.json"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("karat: saved.json: its fingerprint is damaged. Save the scores again.")


def test_karat_toml_cannot_force(folder: Path) -> None:
    (folder / "karat.toml").write_text('[gate]\nforce = true\n[gate.min]\n"RR" = 0.1\n')
    done = run_here(folder, "gate", "truth.qrels", "run.trec")
    assert done.returncode == 2
    assert "karat.toml, gate.force: unknown key" in done.stderr
