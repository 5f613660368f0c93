"""`karat check`: what it prints, in which format, and its exit status."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

import pytest

import karat
from karat.cli import demo_data as demo
from karat.cli import program
from karat.scores.finding_kinds import finding_kinds
from tests.end_to_end.in_process import good, mistake, printed, run_here

ROOT = Path(__file__).parents[2]
HOSTILE = "\x1b[2J::error::\u202e"
WORDS = ("check", "t.qrels", "r.trec", "-m", "RR")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An error with two lines, four errors of one kind with a line each, and a warning about a file."""
    (tmp_path / "t.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\nq3 0 d3 2\nq1 0 d1 0\n")
    lines = [f"q{at} Q0 d{at} 1 {1 / at} x\n" for at in (1, 2)] + ["q2 Q0 d9 2 nan x\n"] * 4
    (tmp_path / "r.trec").write_text("".join(lines))
    return tmp_path


def test_each_finding_is_a_line_with_its_place_severity_and_number_and_a_summary_is_last(folder: Path) -> None:
    done = run_here(folder, *WORDS)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "r.trec:3: error K003: score 'nan' is not a number",
        "r.trec:4: error K003: score 'nan' is not a number",
        "r.trec:5: error K003: score 'nan' is not a number",
        "r.trec: error K003: and 1 more",
        "    A TREC run has six columns: query Q0 document rank score tag.",
        "t.qrels:1 and 4: error K004: document d1 is judged twice for query q1, with different grades: 1 and 0",
        "    Keep one judgment per document.",
        "r.trec: warning K030: 1 query missing from the run (scored 0): q3",
        '    To leave them out, use missing="skip" (--missing skip).',
        "5 errors and 1 warning in 2 files. `karat check --explain K003` says what K003 means.",
    ]
    assert str(karat.check(folder / "t.qrels", folder / "r.trec", measures="RR")) == "\n".join(
        line.replace("r.trec:", f"{folder}/r.trec:").replace("t.qrels:", f"{folder}/t.qrels:")
        for line in done.stdout.splitlines()
    )


def test_clean_data_is_one_line_and_status_0(tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (tmp_path / "r.trec").write_text("q1 Q0 d1 1 0.5 x\nq1 Q0 d2 2 0.4 x\n")
    assert good(tmp_path, *WORDS) == "No errors or warnings in 2 files\n"
    assert good(tmp_path, "check", "t.qrels") == "No errors or warnings\n"
    assert printed(run_here(tmp_path, *WORDS, "--format", "github")) == ""


def test_the_exit_status_is_1_after_errors_and_with_strict_after_warnings(folder: Path) -> None:
    assert run_here(folder, *WORDS).returncode == 1
    assert run_here(folder, *WORDS, "--ignore", "K003,k004").returncode == 0
    assert run_here(folder, *WORDS, "--ignore", "K003", "--ignore", "K004", "--strict").returncode == 1
    assert run_here(folder, *WORDS, "--select", "unjudged", "--strict").returncode == 0


def test_json_has_all_findings_with_their_kind_place_and_queries(folder: Path) -> None:
    data = json.loads(run_here(folder, *WORDS, "--format", "json").stdout)
    assert (data["errors"], data["warnings"], data["checked"]) == (5, 1, ["t.qrels", "r.trec"])
    assert [each["line"] for each in data["findings"] if each["number"] == "K003"] == [3, 4, 5, 6]
    *_, contradiction, missing = data["findings"]
    assert contradiction == {
        "number": "K004",
        "code": "contradicting-judgments",
        "severity": "error",
        "source": "t.qrels",
        "line": [1, 4],
        "message": "document d1 is judged twice for query q1, with different grades: 1 and 0",
        "count": 1,
        "hint": "Keep one judgment per document.",
        "queries": ["q1"],
    }
    assert (missing["number"], missing["source"], missing["queries"]) == ("K030", "r.trec", ["q3"])
    assert "line" not in missing


def test_csv_has_a_row_per_finding_and_the_summary_goes_to_standard_error(folder: Path) -> None:
    done = run_here(folder, *WORDS, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["number"], row["source"], row["line"]) for row in rows][-2:] == [
        ("K004", "t.qrels", "1"),
        ("K030", "r.trec", ""),
    ]
    assert done.stderr == "5 errors and 1 warning in 2 files\n"
    nothing = run_here(folder, *WORDS, "--format", "csv", "--select", "K060")
    assert nothing.stdout == "number,code,severity,place,source,line,message,count,hint\n"
    lines = run_here(folder, *WORDS, "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["number"] for line in lines] == ["K003"] * 4 + ["K004", "K030"]


def test_github_gets_an_annotation_per_finding_at_its_line(folder: Path) -> None:
    done = run_here(folder, *WORDS, "--format", "github", "--ignore", "K003", environment={"GITHUB_ACTIONS": "true"})
    missing = '1 query missing from the run (scored 0): q3. To leave them out, use missing="skip" (--missing skip).'
    assert done.stdout.splitlines() == [
        "::error file=t.qrels,line=1,title=K004 contradicting-judgments::t.qrels:1 and 4: document d1 is judged twice"
        " for query q1, with different grades: 1 and 0. Keep one judgment per document.",
        f"::warning file=r.trec,title=K030 missing-queries::r.trec: {missing}",
    ]
    assert done.stderr == "1 error and 1 warning in 2 files\n"


def test_an_annotation_about_standard_input_names_no_file(folder: Path) -> None:
    words = ("check", "-", "r.trec", "--select", "K004", "--format", "github")
    done = run_here(folder, *words, stdin=(folder / "t.qrels").read_bytes())
    assert done.stdout.startswith("::error title=K004 contradicting-judgments::standard input:1 and 4: ")


def test_the_findings_are_written_to_a_file_whose_suffix_is_the_format(folder: Path) -> None:
    done = run_here(folder, *WORDS, "-o", "found.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "wrote found.json: 5 errors and 1 warning in 2 files\n"
    assert json.loads((folder / "found.json").read_text())["errors"] == 5
    run_here(folder, *WORDS, "-o", "found.txt")
    assert (folder / "found.txt").read_text() == run_here(folder, *WORDS).stdout
    run_here(folder, *WORDS, "-o", "found.md")
    assert "| K003 | error | r.trec | and 1 more |" in (folder / "found.md").read_text()
    assert "the output file is also an input" in mistake(folder, *WORDS, "-o", "r.trec")


def test_severities_are_coloured_on_a_terminal(folder: Path) -> None:
    shown = run_here(folder, *WORDS, terminal=True).stdout
    assert "\x1b[1;31merror K004\x1b[0m" in shown
    assert "\x1b[1;33mwarning K030\x1b[0m" in shown
    plain = run_here(folder, *WORDS, terminal=True, environment={"TERM": "dumb"}).stdout
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "") == plain


@pytest.mark.parametrize("kind", finding_kinds().values(), ids=lambda kind: kind.number)
def test_each_kind_is_explained_by_its_number_or_name_without_a_file(tmp_path: Path, kind: object) -> None:
    number, name, severity = str(kind).partition("\n")[0].split()
    text = good(tmp_path, "check", "--explain", number)
    assert text == f"{kind}\n" == good(tmp_path, "check", "--explain", name.upper())
    assert severity in ("(error)", "(warning)")
    paragraph = text.split("\n\n", 1)[1]
    assert len(paragraph) > 100
    assert text.partition("\n")[0] in (ROOT / "docs" / "check.md").read_text("utf-8")


@pytest.mark.parametrize("option", ["--select", "--ignore", "--explain"])
def test_an_unknown_kind_is_an_error_before_anything_is_read(tmp_path: Path, option: str) -> None:
    message = mistake(tmp_path, "check", "missing.qrels", option, "missing-querys")
    near = "Did you mean missing-queries or missing-answers?"
    assert message == f"karat: {option} missing-querys is not a kind of finding. {near}\n"
    assert "K001 to K060" in mistake(tmp_path, "check", "missing.qrels", option, "xyz")


def test_a_wrong_command_line_has_status_2(folder: Path) -> None:
    assert "TRUTH is missing" in mistake(folder, "check")
    assert "--format yaml is not one of text, json" in mistake(folder, *WORDS, "--format", "yaml")
    assert "--claimed" in mistake(folder, *WORDS, "--claimed", "=0.5")
    assert "is not a number" in mistake(folder, *WORDS, "--claimed", "AP=x")
    assert "nDCGG" in mistake(folder, "check", "t.qrels", "r.trec", "-m", "nDCGG@10")
    assert "no such file" in mistake(folder, *WORDS, "--claimed", "claims.json")
    assert "a Parquet file can contain only scores" in mistake(folder, *WORDS, "-o", "found.parquet")


def test_files_that_cannot_be_read_are_findings_and_the_others_are_checked(folder: Path) -> None:
    (folder / "damaged.gz").write_bytes(b"\x1f\x8b\x08\x00damaged")
    done = run_here(folder, "check", "t.qrels", "nowhere.trec", "damaged.gz", "r.trec", "--corpus", "no.jsonl")
    assert done.returncode == 1
    unreadable = [line for line in done.stdout.splitlines() if "K001" in line]
    assert [line.partition(":")[0] for line in unreadable[:3]] == ["damaged.gz", "no.jsonl", "nowhere.trec"]
    assert "r.trec:3: error K003" in done.stdout
    assert "nowhere.qrels: error K001: no such file" in run_here(folder, "check", "nowhere.qrels", "r.trec").stdout


@pytest.mark.parametrize(
    ("name", "content", "in_python", "on_the_command_line"),
    [
        ("x.csv", "hello\n", "use truth_format.", "use --input-format."),
        ("x.csv", "query,doc,grade\nq,d,x\n", "use truth_columns={'grade': 'NAME'}.", "use --column truth.grade=NAME."),
        ("x.jsonl", '{"ask": "a", "said": "b"}\n' * 2, "use fields={'query': 'NAME'}.", "use --field query=NAME."),
        (
            "x.jsonl",
            '{"query": "a", "answer": {"text": "b"}}\n',
            "in it: fields={'answer': 'answer.text'}.",
            "in it: `karat check x.jsonl --field answer=answer.text`.",
        ),
    ],
)
def test_findings_name_parameters_in_python_and_options_on_the_command_line(
    name: str, content: str, in_python: str, on_the_command_line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    found = karat.check(tmp_path / name)
    assert [finding.hint for finding in found if finding.hint.endswith(in_python)]
    assert f" {on_the_command_line}\n" in run_here(tmp_path, "check", name).stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.qrels", "q 0 d x\nq 0 e y\n"),
        ("t.csv", "query,doc,grade\nq,d,x\n"),
        ("t.jsonl", '{"query": "q", "doc": "d", "grade": "x"}\n'),
    ],
)
def test_ground_truth_whose_rows_are_all_wrong_is_not_called_empty(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    done = run_here(tmp_path, "check", name)
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"{name}: error K001: none of its rows can be read")
    assert "error K003: grade 'x' is not a number\n" in done.stdout
    (tmp_path / "empty.qrels").write_text("")
    assert "K001: the ground truth is empty\n" in run_here(tmp_path, "check", "empty.qrels").stdout


@pytest.mark.parametrize("words", [("empty", "r.trec"), ("t.qrels", "empty"), ("empty",), ("t.qrels", "x/*.trec")])
def test_a_folder_without_files_is_a_finding_and_an_error_of_other_commands(folder: Path, words: tuple[str]) -> None:
    (folder / "empty").mkdir()
    done = run_here(folder, "check", *words)
    [line] = [line for line in done.stdout.splitlines() if "K001: " in line]
    assert (done.returncode, done.stderr) == (1, "")
    path, message = ("x/*.trec", "no file matches this pattern") if "*" in words[-1] else ("empty", "this is a folder")
    assert line.startswith(f"{path}: error K001: {message}")
    assert ("r.trec:3: error K003" in done.stdout) == ("r.trec" in words)
    other = {"empty": "this folder has no files"}.get(path, message)
    assert other in mistake(folder, "evaluate", *words)


def test_a_run_that_is_named_twice_is_a_mistake(folder: Path) -> None:
    words = ("check", "t.qrels", "r.trec")
    assert "./r.trec: this file is given twice: also as r.trec" in mistake(folder, *words, "./r.trec")
    assert "r.trec: this file is given twice. Name it once." in mistake(folder, *words, "r.trec")


def test_standard_input_is_read_once_and_named(folder: Path) -> None:
    of_truth = run_here(folder, "check", "-", "r.trec", "-m", "RR", stdin=(folder / "t.qrels").read_bytes()).stdout
    assert "standard input:1 and 4: error K004" in of_truth
    of_run = run_here(folder, "check", "t.qrels", "-", "-m", "RR", stdin=(folder / "r.trec").read_bytes()).stdout
    assert "standard input:3: error K003" in of_run
    log = run_here(folder, "check", "-", "--match", "prefix", stdin=demo.RESULTS.read_bytes()).stdout
    assert "standard input:28: warning K051" in log
    assert "standard input can be read only once" in mistake(folder, "check", "-", "-")


def test_a_folder_of_runs_and_several_logs_are_checked(tmp_path: Path) -> None:
    done = run_here(demo.HERE, "check", "truth.qrels", "runs", "-m", "nDCG@10", "--select", "K032")
    assert {line.partition(":")[0] for line in printed(done).splitlines()[:3]} == {
        f"runs/{path.name}" for path in demo.runs().values()
    }
    logs = run_here(demo.HERE, "check", "results.jsonl", "generated.jsonl", "--match", "prefix", "--format", "json")
    data = json.loads(logs.stdout)
    assert data["checked"] == ["results.jsonl", "generated.jsonl"]
    assert {finding["source"] for finding in data["findings"]} == {"results.jsonl", "generated.jsonl"}


def test_a_beir_folder_is_checked_with_its_texts_and_annotations_name_its_files(tmp_path: Path) -> None:
    (tmp_path / "data" / "qrels").mkdir(parents=True)
    (tmp_path / "data" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t0\nq1\td9\t-1\n")
    (tmp_path / "data" / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "Gold."}\n')
    (tmp_path / "data" / "queries.jsonl").write_text('{"_id": "q1", "text": ""}\n')
    lines = run_here(tmp_path, "check", "./data", "--format", "github").stdout.splitlines()
    assert [line.partition("title=")[0] for line in lines] == [
        "::error file=data/qrels/test.tsv,line=3,",
        "::warning file=data/qrels/test.tsv,",
        "::warning file=data/queries.jsonl,line=1,",
    ]
    assert run_here(tmp_path, "check", "data").stdout.splitlines()[-1].startswith("1 error and 2 warnings in 3 files.")


def test_options_that_say_how_a_log_is_read_reach_the_check(tmp_path: Path) -> None:
    record = {"ask": "How soft?", "best": ["d1"], "hits": ["d1"], "said": "d1"}
    (tmp_path / "log.jsonl").write_text(json.dumps({"run": {"items": [record]}}) + "\n")
    fields = [f"{role}={name}" for role, name in zip(("query", "truth", "retrieved", "answer"), record, strict=True)]
    words = [word for field in fields for word in ("--field", field)]
    done = run_here(tmp_path, "check", "log.jsonl", *words, "--records", "run.items", "--format", "json")
    assert all(finding["number"] != "K001" for finding in json.loads(done.stdout)["findings"]), done.stdout
    with_format = run_here(demo.HERE, "check", "results.jsonl", "--match", "prefix", "--input-format", "jsonl")
    assert "10 warnings" in with_format.stdout


def test_claimed_scores_are_checked_and_the_reason_is_named(tmp_path: Path) -> None:
    words = ("check", demo.TRUTH, demo.runs()["bm25"], "--select", "K060")
    done = run_here(tmp_path, *words, "--claimed", "nDCG@10=0.4458", "--claimed", "AP=0.3247")
    assert done.returncode == 1
    assert "nDCG@10 is claimed to be 0.4458, but is 0.4358; 0.4458 comes out if the gain is 2^g − 1" in done.stdout
    assert "AP" not in done.stdout
    (tmp_path / "claims=1.json").write_text(json.dumps({"nDCG@10": 0.4358}))
    assert good(tmp_path, *words, "--claimed", "claims=1.json") == "No errors or warnings in 2 files\n"


@pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "github"])
def test_hostile_names_are_harmless_in_every_format(tmp_path: Path, form: str) -> None:
    truth, run = tmp_path / f"my {HOSTILE}.qrels", tmp_path / "größe %0A,line=7::x.trec"
    truth.write_text(f"{HOSTILE} 0 d1 1\nq 0 d 1\n".replace("\x1b", "e"))
    run.write_text(f"{HOSTILE} Q0 ##[error] 1 nan x\nq Q0 x 1 1 x\n".replace("\x1b", "e"))
    done = run_here(
        tmp_path, "check", truth.name, run.name, "--format", form, terminal=True, environment={"GITHUB_ACTIONS": "true"}
    )
    assert done.returncode == 1
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert "\x1b" not in text
    assert form == "json" or "\u202e" not in text
    commands = [line for line in text.splitlines() if line.startswith("::")]
    properties = r"(?:file=[^:,\n]*)?(?:,line=\d+)?,title=K\d{3} [a-z-]+"
    assert all(re.match(rf"::(error|warning) {properties}::", line) for line in commands)
    assert bool(commands) == (form == "github")
    assert "##[" not in text or form == "github"


def test_findings_in_python_print_as_lines_and_are_a_table_in_a_notebook(folder: Path) -> None:
    found = karat.check({"q1": {"d1": 1}, "q2": {"d2": 0}}, {"q1": {"d1": 0.5}}, measures="RR")
    assert str(found).splitlines()[0].startswith("the ground truth: warning K020: ")
    assert repr(found) == f"<Checked: {found.summary}>" == "<Checked: 2 warnings>"
    html = found._repr_html_()
    assert html.count("<tr>") == 3
    assert "K030" in html
    assert [finding.code for finding in found.only(["K030"], [])] == ["missing-queries"]
    assert "file=" not in found.to_github()  # the ground truth is not a file
    assert len(found) == len(found.warnings) == 2
    assert found[0] in found


def test_the_hook_for_pre_commit_runs_a_command_that_exists() -> None:
    yaml = pytest.importorskip("yaml")
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["language"], hook["pass_filenames"]) == ("karat-check", "python", False)
    program_name, command = hook["entry"].split()
    assert program_name == "karat"
    assert command in program.names
    assert "karat-check" in (ROOT / "docs" / "check.md").read_text("utf-8")


def test_numbers_and_names_of_kinds_are_completed(folder: Path) -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_KARAT_COMPLETE": "bash_complete"}
        done = run_here(folder, environment={**os.environ, **words})
        return [each.partition(",")[2] for each in done.stdout.splitlines()]

    assert completed("karat check --ignore K03")[:2] == ["K030", "K031"]
    assert completed("karat check --ignore miss") == ["missing-queries", "missing-answers"]
