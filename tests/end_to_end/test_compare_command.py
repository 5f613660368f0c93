"""`karat compare`: runs, results and saved scores, every format, and errors of one line."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from karat import Comparison, Scores, compare, evaluate, evaluate_results
from karat.cli import demo_data as demo
from tests.end_to_end.in_process import run_here
from tests.platforms import KARAT

SYSTEMS = ("overlap", "bm25", "bm25-rm3")
PAIR = ("truth.qrels", "bm25.trec", "bm25-rm3.trec", "-m", "P@10", "--test", "t")
KEYS = (
    "measure", "system", "baseline", "mean", "low", "high", "difference", "difference_low", "difference_high",
    "difference_level", "difference_interval",
    "p", "p_corrected", "effect", "wins", "ties", "losses", "higher_is_better",
)  # fmt: skip
SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".md": "markdown",
    ".markdown": "markdown", ".tex": "latex", ".latex": "latex", ".txt": "table",
}  # fmt: skip
RESULTS = [
    {"query": f"q{at}", "truth": ["a"], "retrieved": ["x", "a"], "gold_answers": ["p"], "answer": "p q"}
    for at in range(8)
]
BETTER = [{**row, "retrieved": ["a", "x"], "answer": "p"} for row in RESULTS]


class Done(NamedTuple):
    status: int
    out: str
    err: str


Karat = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's truth and runs, in the folder where commands run."""
    shutil.copy(demo.TRUTH, tmp_path / "truth.qrels")
    for name, path in demo.runs().items():
        shutil.copy(path, tmp_path / f"{name}.trec")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def karat(folder: Path) -> Karat:
    """Run the command inside the test process."""

    def run(*words: str, command: str = "compare") -> Done:
        done = run_here(folder, command, *words)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def good(done: Done) -> str:
    assert (done.status, done.err) == (0, "")
    return done.out


def refused(done: Done) -> str:
    """The error message, which is one line."""
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("karat: ")
    assert done.err.count("\n") == 1
    return done.err


def scores(folder: Path, name: str, *measures: str) -> Scores:
    return evaluate(folder / "truth.qrels", folder / f"{name}.trec", measures or None, name=name).without_evidence()  # type: ignore[arg-type]


def write_results(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path.name


# Runs.


def test_the_installed_command_compares_two_runs_and_ends_with_the_result_in_words(folder: Path) -> None:
    words = [str(KARAT), "compare", "truth.qrels", "bm25.trec", "bm25-rm3.trec", "-m", "nDCG@10"]
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["measure", "run", "mean", "difference", "from", "bm25", "p", "effect", "+/=/−"]
    assert lines[-1].startswith("bm25-rm3 is significantly better than bm25 on nDCG@10, by 0.120 [0.0")
    assert lines[-1].endswith("(p = 0.0083, 50 queries)")


def test_the_command_prints_what_the_library_computes(karat: Karat, folder: Path) -> None:
    found = json.loads(good(karat(*PAIR, "--format", "json", "--detect", "0.01", "--level", "0.9")))
    systems = {name: scores(folder, name, "P@10") for name in ("bm25", "bm25-rm3")}
    assert found == compare(systems, test="t", detect=0.01, level=0.9).to_dict()
    assert tuple(found["rows"][0]) == KEYS
    assert "power 0.8" in found["sentences"][0]


def test_more_than_two_runs_are_compared_in_pairs_or_with_the_baseline(karat: Karat) -> None:
    runs = ("truth.qrels", *(f"{name}.trec" for name in SYSTEMS), "-m", "P@10", "--test", "t", "--format", "jsonl")
    each = [json.loads(line) for line in karat(*runs).out.splitlines()]
    assert [(row["system"], row["baseline"]) for row in each] == [
        ("overlap", None), ("bm25", "overlap"), ("bm25-rm3", "overlap"), ("bm25-rm3", "bm25"),
    ]  # fmt: skip
    one = [json.loads(line) for line in karat(*runs, "--baseline", "bm25").out.splitlines()]
    assert [(row["system"], row["baseline"]) for row in one] == [
        ("overlap", "bm25"), ("bm25", None), ("bm25-rm3", "bm25"),
    ]  # fmt: skip
    assert one[2]["difference"] == each[3]["difference"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "p by the paired t-test\n"),
        (("--test", "bootstrap"), "p by the paired bootstrap test (10,000 resamples)"),
        (("--test", "tukey", "--permutations", "999"), "(999 permutations)"),
        (("--correction", "bh", "--family", "all", "-m", "RR"), "Benjamini-Hochberg-corrected over 2 comparisons"),
        (("--test", "fisher"), "p by the paired randomization test (exact)"),
        (("--correction", "bonferroni", "--family", "all", "-m", "RR"), "Bonferroni-corrected over 2 comparisons"),
        (("--level", "0.9"), "with 90% confidence intervals"),
        (("--detect", "0.02"), "Detecting a difference of 0.02 takes "),
        (("--equivalence", "0.9"), " within ±0.9 (p "),
        (
            ("--equivalence", "RR=0.9", "-m", "RR"),
            "equivalence: a difference within ±0.9 on RR, by two one-sided tests",
        ),
    ],
)
def test_options_change_the_printed_result(karat: Karat, words: tuple[str, ...], message: str) -> None:
    assert message in good(karat(*PAIR, *words))


def test_findings_of_the_runs_are_shown(karat: Karat, folder: Path) -> None:
    lines = (folder / "bm25.trec").read_text().splitlines(keepends=True)
    (folder / "bm25.trec").write_text("".join(line for line in lines if not line.startswith("q01 ")))
    out = good(karat(*PAIR))
    assert "note K030: bm25: 1 query missing from the run (scored 0): q01." in out
    assert "note K032: unjudged documents in the top 10: bm25 " in out


def test_queries_that_a_run_lacks_are_an_error_or_are_left_out_and_counted(karat: Karat, folder: Path) -> None:
    lines = (folder / "bm25.trec").read_text().splitlines(keepends=True)
    (folder / "bm25.trec").write_text("".join(line for line in lines if not line.startswith("q01 ")))
    line = refused(karat(*PAIR, "--missing", "skip"))
    assert "bm25 lacks 1 query (q01)" in line
    assert "--common-queries" in line
    out = good(karat(*PAIR, "--missing", "skip", "--common-queries"))
    assert "note: bm25-rm3: 1 of 50 queries left out (not in all systems)." in out
    assert "49 queries, with" in out


# Formats and files.


@pytest.mark.parametrize("form", sorted(set(SUFFIXES.values())))
def test_every_format_is_the_same_on_standard_output_and_in_a_file(karat: Karat, folder: Path, form: str) -> None:
    printed = karat(*PAIR, "--format", form)
    assert printed.status == 0
    written = karat(*PAIR, "--format", form, "-o", "report.anything")
    assert (written.status, written.out) == (0, "")
    assert (folder / "report.anything").read_text("utf-8") == printed.out
    assert "bm25-rm3" in printed.out
    sentence = "bm25-rm3 is significantly better than bm25 on P@10, by 0.052 ["
    aside = form in ("csv", "tsv", "jsonl")
    assert (sentence in printed.out.replace("\\", "")) is not aside
    assert (sentence in printed.err) is aside
    assert ("note K032: unjudged documents in the top 10: bm25 32%, bm25-rm3 38%." in printed.err) is aside
    assert written.err == f"wrote report.anything: 2 systems, 50 queries, 1 measure\n{printed.err}"


STARTS = {
    "csv": "measure,system,", "tsv": "measure\tsystem\t", "json": "{\n", "jsonl": '{"measure": "P@10", ',
    "markdown": "| measure | run |", "latex": "% ", "table": "measure   run ",
}  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_of_the_output_file_decides_the_format(karat: Karat, folder: Path, suffix: str) -> None:
    assert karat(*PAIR, "-o", f"out{suffix.upper()}").status == 0
    assert (folder / f"out{suffix.upper()}").read_text("utf-8").startswith(STARTS[SUFFIXES[suffix]])


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_formats_for_programs_contain_every_number_to_the_last_digit(
    karat: Karat, folder: Path, form: str, delimiter: str
) -> None:
    rows = list(csv.DictReader(io.StringIO(karat(*PAIR, "--format", form).out), delimiter=delimiter))
    expected = compare({name: scores(folder, name, "P@10") for name in ("bm25", "bm25-rm3")}, test="t").rows
    assert [tuple(row) for row in rows] == [KEYS, KEYS]
    assert rows[0]["difference"] == rows[0]["p"] == rows[0]["baseline"] == ""
    numbers = [key for key in KEYS[3:-1] if key != "difference_interval"]
    assert [float(rows[1][key]) for key in numbers] == [getattr(expected[1], key) for key in numbers]
    assert rows[1]["higher_is_better"] == "True"


@pytest.mark.parametrize(("form", "documents", "records"), [("table", 0, 0), ("csv", 0, 1), ("json", 1, 1)])
def test_rows_are_made_once_and_only_if_they_are_written(karat: Karat, form: str, documents: int, records: int) -> None:
    with (
        patch.object(Comparison, "to_dict", autospec=True, side_effect=Comparison.to_dict) as to_dict,
        patch.object(Comparison, "records", autospec=True, side_effect=Comparison.records) as rows,
    ):
        assert karat(*PAIR, "--format", form).status == 0
    assert (to_dict.call_count, rows.call_count) == (documents, records)


def test_latex_is_a_booktabs_table_with_superscripts(karat: Karat) -> None:
    out = good(karat(*PAIR, "--format", "latex"))
    assert r"\toprule" in out
    assert r"b & bm25-rm3 & \textbf{0.1920}$^{a}$ \\" in out


# Saved scores and results.


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet"])
def test_saved_scores_are_compared_with_each_other_and_with_runs(karat: Karat, folder: Path, suffix: str) -> None:
    saved = scores(folder, "bm25", "P@10", "RR")
    getattr(saved, f"to_{suffix}")(folder / f"bm25.{suffix}")
    scores(folder, "bm25-rm3", "P@10").to_json(folder / "bm25-rm3.json")
    of_runs = json.loads(good(karat(*PAIR, "--format", "json")))
    mixed = json.loads(good(karat("truth.qrels", f"bm25.{suffix}", *PAIR[2:], "--format", "json")))
    alone = json.loads(good(karat(f"bm25.{suffix}", "bm25-rm3.json", "--test", "t", "--format", "json")))
    unjudged = of_runs.pop("notes")
    assert unjudged == ["K032: unjudged documents in the top 10: bm25 32%, bm25-rm3 38%."]
    if suffix == "csv":
        # CSV files contain neither findings nor a fingerprint.
        unjudged = [
            "warning: bm25 may have been evaluated against another ground truth: its scores have no fingerprint. Files"
            " that karat saves as JSON or Parquet have one.",
            "K032: bm25-rm3: 38% of the documents in the top 10 are unjudged.",
        ]
    assert mixed.pop("notes") == unjudged
    assert mixed == of_runs
    assert alone["rows"] == of_runs["rows"]
    assert alone["notes"] == ["bm25: RR left out (not in all systems).", *unjudged]


def test_scores_saved_by_the_command_line_can_be_compared(karat: Karat) -> None:
    for name, file in (("bm25", "one.json"), ("bm25-rm3", "two.parquet")):
        assert karat("truth.qrels", f"{name}.trec", "-m", "P@10", "-o", file, command="evaluate").status == 0
    out = good(karat("one.json", "two.parquet", "--baseline", "one", "--test", "t"))
    assert "two is significantly better than one on P@10, by 0.052 [" in out


def test_results_with_answers_can_be_compared(karat: Karat, folder: Path) -> None:
    files = (write_results(folder / "old.jsonl", RESULTS), write_results(folder / "new.jsonl", BETTER))
    found = json.loads(good(karat(*files, "--format", "json", "--baseline", "old")))
    systems = {
        name: evaluate_results(folder / f"{name}.jsonl", name=name).without_evidence() for name in ("old", "new")
    }
    assert found == compare(systems, "old").to_dict()
    assert "new is significantly better than old on RR, by 0.500 (p = 0.0078, 8 queries)" in found["sentences"]
    assert {"nDCG@5", "TokenF1"} <= {row["measure"] for row in found["rows"]}


def test_results_with_other_field_names_can_be_compared_with_saved_scores(karat: Karat, folder: Path) -> None:
    renamed = [{"query": row["query"], "truth": row["truth"], "hits": row["retrieved"]} for row in RESULTS]
    write_results(folder / "old.jsonl", renamed)
    evaluate_results(write_results(folder / "new.jsonl", BETTER), "RR").to_csv(folder / "new.csv")
    out = good(karat("old.jsonl", "new.csv", "-m", "RR", "--field", "retrieved=hits"))
    assert "new is significantly better than old on RR, by 0.500" in out


# Mistakes.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--level", "1"), "--level 1 is not between 0 and 1. For 95%, write --level 0.95."),
        (("--level", "nan"), "nan is not between 0 and 1"),
        (("--detect", "0"), "--detect 0 is not a positive number"),
        (("--detect", "-0.1"), "--detect -0.1 is not a positive number"),
        (("--detect", "nan"), "--detect nan is not a positive number"),
        (("--permutations", "0"), "--permutations 0 is not a whole number"),
        (("--test", "tukey", "--correction", "bonferroni"), "--correction bonferroni has no effect on Tukey's test"),
        (("--test", "tukey", "--family", "all"), "--family all has no effect on Tukey's test"),
        (("--test", "student", "--permutations", "99"), "--permutations 99 has no effect on the t test. Leave --perm"),
        (("--correction", "none", "--family", "all"), "--family all has no effect on p-values that are not corrected"),
        (("-o", "report.parquet"), "a Parquet file can contain only scores"),
        (("-o", "report.docx"), "the format of .docx files is not known"),
        (("--match", "fuzy"), "fuzy"),
        (("--field", "retrieved"), "--field 'retrieved' is not of the form NAME=FIELD"),
    ],
)
def test_options_are_checked_before_any_file_is_read(karat: Karat, words: tuple[str, ...], message: str) -> None:
    assert message in refused(karat("no.qrels", "no.trec", "nor.trec", *words))


@pytest.mark.parametrize(
    "words",
    [("--test", "z"), ("--correction", "sidak"), ("--level", "high"), ("--format", "parquet")],
)
def test_an_invalid_choice_is_rejected_without_a_traceback(karat: Karat, words: tuple[str, ...]) -> None:
    done = karat(*PAIR, *words)
    assert (done.status, done.out) == (2, "")
    assert words[0] in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("truth.qrels",), "truth.qrels: this file is read as ground truth, but no run was given"),
        (("truth.qrels", "bm25.trec"), "a comparison needs at least two systems"),
        (("truth.qrels", "bm25.trec", "no.trec"), "no.trec: no such file"),
        (("truth.qrels", "bm25.trec", "no.json"), "no.json: no such file"),
        (("no.csv", "nor.csv"), "no.csv: no such file"),
        (("no.json", "nor.json"), "no.json: no such file"),
        (("truth.qrels", "bm25.trec", "overlap.trec", "--baseline", "bm52"), "Did you mean bm25?"),
        (("-", "-", "bm25.trec"), "standard input can be read only once"),
        (
            ("truth.qrels", "bm25.trec", "overlap.trec", "-o", "bm25.trec", "--format", "csv"),
            "the output file is also an input",
        ),
        (("truth.qrels", "bm25.trec", "broken.parquet"), "broken.parquet: the Parquet data is damaged or cut short"),
        (("truth.qrels", "bm25.trec", "means.csv"), "means.csv: this is a table of means"),
        (("truth.qrels", "bm25.trec", "saved.csv", "-m", "AP"), "saved.csv: these scores have no 'AP'"),
        (("truth.qrels", "bm25.trec", "saved.csv"), "no measure in common"),
        (("truth.qrels", "bm25.trec", "saved.csv", "-m", "P@7"), "the systems have different queries"),
        (("saved.csv", "others.csv"), "no query in common: saved has q01, q02; others has x"),
        (("truth.qrels", "bm25.trec", "overlap.trec", "--field", "query=id"), "--field applies to results"),
    ],
)
def test_an_error_is_one_line_and_status_2(karat: Karat, folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 not so")
    (folder / "means.csv").write_text("run,AP\nbm25,0.5\n")
    (folder / "saved.csv").write_text("query,P@7\nq01,0.5\nq02,0.25\n")
    (folder / "others.csv").write_text("query,P@7\nx,0.5\n")
    assert message in refused(karat(*words))


def test_a_single_run_is_an_error_that_asks_for_another(karat: Karat) -> None:
    assert "{" not in refused(karat("truth.qrels", "bm25.trec"))


def test_control_characters_in_a_file_name_are_not_sent_to_the_terminal(karat: Karat, folder: Path) -> None:
    name = "e\x1b[2J|$_<b>"
    shutil.copy(folder / "bm25.trec", folder / f"{name}.trec")
    words = ("truth.qrels", "overlap.trec", f"{name}.trec", "-m", "P@10", "--test", "t")
    for form in ("table", "markdown", "latex"):
        assert "\x1b" not in good(karat(*words, "--format", form))
    assert json.loads(good(karat(*words, "--format", "json")))["systems"] == ["overlap", name]
    aside = karat(*words, "--format", "csv")
    assert "\x1b" not in aside.err
    assert next(csv.reader(io.StringIO(aside.out.splitlines()[2])))[1] == name


def test_saved_scores_that_are_not_finite_are_rejected(karat: Karat, folder: Path) -> None:
    (folder / "one.csv").write_text("query,AP\nq1,inf\nq2,1\nq3,2\n")
    (folder / "two.csv").write_text("query,AP\nq1,1\nq2,0.5\nq3,3\n")
    assert "one.csv" in refused(karat("one.csv", "two.csv", "--format", "json"))


def test_a_run_next_to_saved_scores_needs_a_truth(karat: Karat, folder: Path) -> None:
    scores(folder, "bm25", "P@10").to_json(folder / "saved.json")
    assert "truth" in refused(karat("saved.json", "overlap.trec")).partition("Each line is one object")[0]


def test_a_baseline_can_be_given_by_its_file(karat: Karat) -> None:
    for name in ("bm25", "bm25.trec", "./bm25.trec"):
        out = good(
            karat("truth.qrels", "./bm25.trec", "bm25-rm3.trec", "-m", "P@10", "--test", "t", "--baseline", name)
        )
        assert "difference from bm25" in out


def test_a_run_with_none_of_the_queries_is_not_compared(karat: Karat, folder: Path) -> None:
    (folder / "other.trec").write_text("z1 Q0 d 1 1 r\n")
    error = refused(karat("truth.qrels", "other.trec", "bm25.trec", "-m", "P@10"))
    assert "other.trec: no query is in both the ground truth and the run: the ground truth has q01, q02, q03" in error


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", "empty.json: the file is empty"), ("[1, 2]", "record 1: 1 is not an object")],
)
def test_a_file_without_scores_is_an_error(karat: Karat, folder: Path, text: str, problem: str) -> None:
    (folder / "empty.json").write_text(text)
    assert problem in refused(karat("empty.json", "empty.json"))


def test_a_truth_can_be_named_json_and_a_baseline_can_be_given_next_to_standard_input(
    karat: Karat, folder: Path
) -> None:
    (folder / "truth.json").write_bytes((folder / "truth.qrels").read_bytes())
    words = ("bm25.trec", "bm25-rm3.trec", "-m", "P@10", "--test", "t", "--baseline", "bm25.trec")
    note = "note: truth.json is read as TREC: its content is not JSON.\n"
    assert good(karat("truth.json", *words)).replace(note, "") == good(karat("truth.qrels", *words))


def test_unknown_measures_and_unused_options_are_rejected(karat: Karat, folder: Path) -> None:
    assert "Did you mean nDCG" in refused(karat("truth.qrels", "bm25.trec", "bm25.trec", "-m", "nDGC@10"))
    scores(folder, "bm25", "P@10").to_json(folder / "old.json")
    for words in (("old.json", "old.json"), ("truth.qrels", "old.json", "old.json")):
        assert "--missing has no effect on saved scores" in refused(karat(*words, "--missing", "skip"))
    assert "this file is read as ground truth" in refused(karat("truth.qrels", "--baseline", "x"))


def test_groups_of_queries_are_compared_and_corrected_together(karat: Karat, folder: Path) -> None:
    lines = [f"q{at:02},{'short' if at <= 25 else 'long'}" for at in range(1, 51)]
    (folder / "queries.csv").write_text("\n".join(["query,kind", *lines]) + "\n")
    out = good(karat(*PAIR, "--baseline", "bm25", "--by", "queries.csv:kind"))
    assert "50 queries in 2 groups, with 95% confidence intervals" in out
    assert "Holm-corrected over 2 comparisons" in out
    assert " for kind=short" in out
    done = karat(*PAIR, "--baseline", "bm25", "--by", "queries.csv:kind", "--format", "csv")
    assert "50 queries in 2 groups" in done.err
    rows = done.out.splitlines()
    assert rows[0].startswith("group,queries,measure,system,baseline,mean,")
    assert [row.split(",")[0] for row in rows[1:]] == ["short", "short", "long", "long", "all", "all"]
    document = json.loads(good(karat(*PAIR, "--by", "queries.csv:kind", "--format", "json")))
    assert (document["by"], [group["queries"] for group in document["groups"]]) == ("kind", [25, 25])
    assert r"\begin{tabular}" in good(karat(*PAIR, "--by", "queries.csv:kind", "--format", "latex"))
    assert "50 queries in 4 groups" in good(karat(*PAIR, "--by", "relevant"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "length"), "Add their texts, such as --queries queries.jsonl."),
        (("--queries", "queries.csv:text"), "--queries is only used to group by length"),
        (("--by", "relevant", "--test", "tukey"), "Tukey's test does not correct over groups of queries"),
        (("--by", "no.csv:kind"), "no.csv: no such file"),
    ],
)
def test_wrong_groups_are_refused(karat: Karat, words: tuple[str, ...], message: str) -> None:
    assert message in refused(karat("truth.qrels", "bm25.trec", "bm25-rm3.trec", *words))


def test_digits_and_the_order_of_the_runs_are_chosen(karat: Karat) -> None:
    words = ("truth.qrels", "overlap.trec", "bm25.trec", "bm25-rm3.trec", "-m", "RR", "--baseline", "bm25")
    lines = good(karat(*words, "--digits", "2", "--sort", "RR")).splitlines()
    assert [line.removeprefix("RR").split()[:2] for line in lines[2:5]] == [
        ["bm25-rm3", "0.67"], ["bm25", "0.55"], ["overlap", "0.40"],
    ]  # fmt: skip
    assert "+0.11 [-0.02, 0.25]" in lines[2]
    assert " 0.553$" in good(karat(*words, "--digits", "3", "--format", "latex"))
    assert "--digits applies to table" in refused(karat(*words, "--digits", "3", "--format", "csv"))
    assert "--sort 'AP' is not a measure of the scores" in refused(karat(*words, "--sort", "AP"))
    assert "--digits 99 is not a number of decimals" in refused(karat(*words, "--digits", "99"))


def test_saved_scores_cannot_be_grouped_by_their_relevant_documents(karat: Karat, folder: Path) -> None:
    for name in ("bm25", "bm25-rm3"):
        scores(folder, name, "P@10").to_json(folder / f"{name}.json")
    error = refused(karat("bm25.json", "bm25-rm3.json", "--by", "relevant"))
    assert (
        "these scores contain no judged documents. Evaluate the runs again: saved scores contain no run data" in error
    )
