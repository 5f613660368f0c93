"""`karat diff` on the command line: changed queries in every format, and errors."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from karat import Scores, compare, evaluate, evaluate_runs
from karat.cli import demo_data as demo
from tests.end_to_end.in_process import run_here
from tests.platforms import KARAT

QRELS = "q 0 a 1\nq 0 b 2\nr 0 c 1\nsame 0 d 1\n"
BEFORE = "q Q0 a 1 3 A\nq Q0 b 2 2 A\nr Q0 x 1 2 A\nr Q0 c 2 1 A\nsame Q0 d 1 1 A\n"
AFTER = "q Q0 x 1 3 B\nq Q0 b 2 2 B\nr Q0 c 1 1 B\nsame Q0 d 1 1 B\n"
RUNS = ("truth.qrels", "old.trec", "new.trec")
TABLE = """\
query   document   rank    change                   contribution      old      new   difference
───────────────────────────────────────────────────────────────────────────────────────────────
q       a          1 → –   fell out of the top 10        -0.3801   0.8597   0.4796      -0.3801
r       c          2 → 1   rose                          +0.3691   0.6309   1.0000      +0.3691
nDCG@10: old 0.8302, new 0.8265; 1 query better, 1 the same, 1 worse
contribution: change in the score when the document moves from old to new (one document at a time, topmost first)
"""


class Done(NamedTuple):
    status: object
    out: str
    err: str


Karat = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in zip(RUNS, (QRELS, BEFORE, AFTER), strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def karat(folder: Path) -> Karat:
    """Run `karat diff` with these words inside the test process."""

    def run(*words: str | Path) -> Done:
        done = run_here(folder, "diff", *words)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def good(karat: Karat) -> Callable[..., str]:
    def run(*words: str | Path) -> str:
        done = karat(*words)
        assert done.status == 0, done.err
        return done.out

    return run


@pytest.fixture
def mistake(karat: Karat, folder: Path) -> Callable[..., str]:
    """The error of a command: one line on standard error and status 2, nothing printed, nothing written."""

    def run(*words: str | Path) -> str:
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        done = karat(*words)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("karat: ")
        assert done.err.count("\n") == 1
        assert done.err.strip().isprintable()
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        return done.err

    return run


Text = Callable[..., str]


def results(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def record(truth: list[str], retrieved: list[str], **more: Any) -> dict[str, Any]:
    lists = [[{"id": name, "content": f"text of {name}"} for name in names] for names in (truth, retrieved)]
    return {"query": "q", "truth": lists[0], "retrieved": lists[1], **more}


def test_changed_queries_are_shown_largest_loss_first_with_the_documents_that_moved(good: Text) -> None:
    assert good(*RUNS) == TABLE
    assert good(*RUNS, "-m", "ndcg_cut_10") == TABLE


def test_the_installed_command_prints_the_same(folder: Path) -> None:
    done = subprocess.run([KARAT, "diff", *RUNS], cwd=folder, capture_output=True, check=True)
    assert (done.stdout.decode(), done.stderr) == (TABLE, b"")


def test_n_is_the_number_of_queries_shown_and_0_shows_all(good: Text) -> None:
    fewer = good(*RUNS, "-n", "1")
    assert "; the one that changed most is shown" in fewer
    assert "c          2 → 1" not in fewer
    assert good(*RUNS, "-n", "0") == TABLE


def test_losses_leaves_out_queries_that_improved(good: Text) -> None:
    shown = good(*RUNS, "--losses")
    assert [line.split()[0] for line in shown.splitlines()[2:-2]] == ["q"]
    assert "1 query better, 1 the same, 1 worse\n" in shown
    # For a measure where lower is better, a rise is a loss.
    (change,) = json.loads(good(*RUNS, "-m", "Unjudged@10", "--losses", "--format", "json"))["queries"]
    assert (change["query"], change["difference"]) == ("q", pytest.approx(0.1))


def test_the_largest_losses_are_shown_if_there_are_more_than_n(folder: Path, good: Text) -> None:
    (folder / "new.trec").write_text("r Q0 c 1 1 B\nsame Q0 x 1 2 B\nsame Q0 d 2 1 B\n", "utf-8")
    shown = good(*RUNS, "--losses", "-n", "1")
    assert [line.split()[0] for line in shown.splitlines() if line.endswith("-0.8597")] == ["q"]
    assert "1 query better, 0 the same, 2 worse; the one that lost most is shown" in shown


def test_the_command_and_comparison_diff_agree_on_the_demo_runs(good: Text) -> None:
    runs = {name: path for name, path in demo.runs().items() if name != "overlap"}
    whole = json.loads(good(demo.TRUTH, *runs.values(), "-m", "AP", "--format", "json", "-n", "4"))
    found = compare(evaluate_runs(demo.TRUTH, runs, "AP"), permutations=9, resamples=9).diff("AP", n=4)
    assert whole == json.loads(json.dumps(found.to_dict()))
    assert len(whole["queries"]) == 4
    for change in whole["queries"]:
        assert sum(move["contribution"] for move in change["moves"]) + change["unattributed"] == pytest.approx(
            change["difference"]
        )


def test_every_format_contains_the_same_queries(good: Text) -> None:
    rows = [json.loads(line) for line in good(*RUNS, "--format", "jsonl").splitlines()]
    assert [(row["query"], round(row["difference"], 4)) for row in rows] == [("q", -0.3801), ("r", 0.3691)]
    for form, delimiter in (("csv", ","), ("tsv", "\t")):
        read = list(csv.DictReader(io.StringIO(good(*RUNS, "--format", form)), delimiter=delimiter))
        assert [{"query": row.pop("query"), **{key: float(row[key]) for key in row}} for row in read] == rows
    assert json.loads(good(*RUNS, "--format", "json"))["queries"][0]["moves"][0]["gold"] == "a"
    assert "| q | a | 1 → – | fell out of the top 10 | -0.3801 | 0.8597 |" in good(*RUNS, "--format", "markdown")
    assert r"r & c & 2 $\rightarrow$ 1 & rose & +0.3691 & 0.6309 & 1.0000 & +0.3691 \\" in good(
        *RUNS, "--format", "latex"
    )


def test_formats_for_programs_contain_only_rows_and_notes_go_to_standard_error(karat: Karat) -> None:
    done = karat(*RUNS, "--format", "csv")
    assert done.out.startswith("query,before,after,difference\nq,")
    assert done.err.startswith("nDCG@10: old 0.8302, new 0.8265; 1 query better")


@pytest.mark.parametrize(
    ("name", "form"),
    [("out.md", "markdown"), ("out.tex", "latex"), ("out.json", "json"), ("out.csv", "csv"), ("out.jsonl", "jsonl"),
     ("out.txt", "table")],
)  # fmt: skip
def test_the_suffix_of_the_output_file_decides_the_format(name: str, form: str, good: Text, folder: Path) -> None:
    assert good(*RUNS, "-o", name) == ""
    assert (folder / name).read_text("utf-8") == good(*RUNS, "--format", form)


def test_one_query_in_full_shows_every_move_and_both_lists(good: Text) -> None:
    assert good(*RUNS, "--query", "q") == (
        "document   rank    change                   contribution\n"
        "────────────────────────────────────────────────────────\n"
        "a          1 → –   fell out of the top 10        -0.3801\n"
        "query q: nDCG@10 old 0.8597, new 0.4796 (-0.3801)\n"
        "contribution: change in the score when the document moves from old to new"
        " (one document at a time, topmost first)\n"
        "\n"
        "rank   old     new\n"
        "────────────────────\n"
        "1      [1] a   x\n"
        "2      [2] b   [2] b\n"
        "the first 2 ranks of both; [n] is the grade of a hit\n"
    )
    change = json.loads(good(*RUNS, "--query", "q", "--format", "json"))
    assert (change["query"], [move["gold"] for move in change["moves"]]) == ("q", ["a"])
    assert good(*RUNS, "--query", "q", "--format", "csv").startswith(
        "gold,label,grade,before,after,change,contribution,text\na,a,1.0,1,,fell out"
    )
    assert good(*RUNS, "--query", "same").count("[1] d") == 2
    assert r"\[2\] b" in good(*RUNS, "--query", "q", "--format", "markdown")


def test_one_query_of_results_is_shown_with_its_texts(good: Text, folder: Path) -> None:
    before = results(folder / "before.jsonl", record(["a", "b"], ["a", "x", "b"]))
    after = results(folder / "after.jsonl", record(["b", "a"], ["y", "a"]))
    shown = good(before, after, "--query", "q")
    assert "a: text of a   1 → 2   fell" in shown
    assert "b: text of b   3 → –   fell out of the top 10" in shown
    assert "1      [1] a: text of a   y: text of y\n" in shown
    assert "3      [1] b: text of b\n" in shown


def test_chunks_that_moved_are_shown_with_the_text_of_their_gold(good: Text, folder: Path) -> None:
    gold = {"query": "q", "truth": ["Gold is soft.", "Iron rusts."]}
    before = results(folder / "before.jsonl", {**gold, "retrieved": ["is soft", "Iron"]})
    after = results(folder / "after.jsonl", {**gold, "retrieved": ["nothing", "is soft"]})
    shown = good(before, after, "-m", "R@1", "--match", "chunk")
    assert "Gold is soft.   1 → 2   fell out of the top 1        -0.5000" in shown
    assert "Iron" not in shown


def test_both_answers_are_shown_for_results_with_answers(good: Text, folder: Path) -> None:
    before = results(folder / "before.jsonl", record(["a"], ["a"], gold_answers=["soft"], answer="soft"))
    after = results(folder / "after.jsonl", record(["a"], ["x", "a"], gold_answers=["soft"], answer="hard"))
    lines = good(before, after, "-m", "EM").splitlines()
    assert lines[2].split() == ["q", "soft", "before", "1.0000", "0.0000", "-1.0000"]
    assert lines[3].split() == ["hard", "after"]
    full = [line.split() for line in good(before, after, "-m", "EM", "--query", "q").splitlines()]
    assert full[2:5] == [["before", "soft", "1.0000"], ["after", "hard", "0.0000"], ["gold", "soft"]]
    assert json.loads(good(before, after, "-m", "EM", "--format", "json"))["queries"][0]["answers"] == ["soft", "hard"]
    assert "a: text of a   1 → 2   fell" in good(before, after, "-m", "RR")


def test_saved_scores_show_differences_and_a_note_why_no_moves_are_shown(good: Text, folder: Path) -> None:
    for name, run in (("old.json", "old.trec"), ("new.csv", "new.trec")):
        scores: Scores = evaluate(folder / "truth.qrels", folder / run, ["nDCG@10", "RR"])
        scores.to_json(folder / name) if name.endswith("json") else scores.to_csv(folder / name)
    for words in (("old.json", "new.csv"), ("truth.qrels", "old.trec", "new.csv")):
        shown = good(*words)
        assert [line.split()[:4] for line in shown.splitlines()[2:4]] == [
            ["q", "0.8597", "0.4796", "-0.3801"], ["r", "0.6309", "1.0000", "+0.3691"],
        ]  # fmt: skip
        saved = "old and new" if words[0] == "old.json" else "new"
        note = f"the scores of {saved} contain no run data: evaluate the runs again to see the documents that moved."
        assert f"note: {note}" in shown
        assert "note: the scores of" in good(*words, "--losses")
        assert [line.split() for line in good(*words, "--query", "q").splitlines()[2:4]] == [
            ["q", "0.8597", "0.4796", "-0.3801"], ["nDCG@10"],
        ]  # fmt: skip
        assert json.loads(good(*words, "--query", "q", "--format", "json"))["notes"][-1] == note


def test_saved_scores_of_one_measure_need_no_measure_to_be_named(good: Text, mistake: Text, folder: Path) -> None:
    for name, values in (("a", "q,0.5,1\nr,0.5,2"), ("b", "q,0.25,1\nr,0.5,2")):
        (folder / f"{name}.csv").write_text(f"query,helpfulness,cost\n{values}\n")
        (folder / f"{name}1.csv").write_text(
            "query,helpfulness\n" + "".join(f"{line.rpartition(',')[0]}\n" for line in values.split("\n"))
        )
    assert "helpfulness: a1 0.5000, b1 0.3750; 0 queries better, 1 the same, 1 worse" in good("a1.csv", "b1.csv")
    assert "higher values are assumed to be better" in good("a1.csv", "b1.csv")
    assert "a diff shows one measure at a time. Use -m helpfulness or -m cost." in mistake("a.csv", "b.csv")


def test_different_truths_are_an_error_unless_forced(mistake: Text, good: Text, folder: Path) -> None:
    before = results(folder / "before.jsonl", record(["a", "b"], ["a"]))
    after = results(folder / "after.jsonl", record(["a"], ["x", "a"]))
    what = "before and after were evaluated against different ground truth for 1 of 1 query (q)"
    assert what in mistake(before, after)
    assert what in mistake(before, after, "--query", "q", "--format", "json")
    assert f"note: {what}; compared anyway." in good(before, after, "--force")
    assert f"note: {what}; compared anyway." in good(before, after, "--force", "--query", "q")
    assert json.loads(good(before, after, "--force", "--format", "json"))["notes"] == [f"{what}; compared anyway."]


def test_queries_that_one_system_lacks_are_an_error_unless_the_common_ones_are_requested(
    mistake: Text, good: Text, folder: Path
) -> None:
    before = results(folder / "before.jsonl", record(["a"], ["a"]), {**record(["a"], ["a"]), "query": "more"})
    after = results(folder / "after.jsonl", record(["a"], ["x", "a"]))
    assert "after lacks 1 query (more)" in mistake(before, after)
    assert "0 queries better, 0 the same, 1 worse" in good(before, after, "--common-queries")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*RUNS, "--query", "sme"), "query 'sme' is not in both systems. Did you mean same?"),
        ((*RUNS, "-m", "R", "-m", "AP"), "a diff shows one measure at a time. Use -m R or -m AP."),
        ((*RUNS, "-m", "R@5,AP"), "a diff shows one measure at a time. Use -m R@5 or -m AP."),
        ((*RUNS, "-m", "nDGC@10"), "Did you mean"),
        (RUNS[:2], "a diff needs two systems, not 1. Name two systems: karat diff TRUTH RUN_A RUN_B"),
        (RUNS[:1], "this file is read as ground truth, but no run was given"),
        ((*RUNS, "./old.trec"), "a diff needs two systems, not 3. Name two systems"),
        ((*RUNS, "-n", "-1"), "-n -1 is negative"),
        ((*RUNS, "-o", "out.parquet"), "a Parquet file can contain only scores"),
        ((*RUNS, "-o", "out.xyz"), "the format of .xyz files is not known"),
        ((*RUNS, "-o", "old.trec", "--format", "csv"), "old.trec"),
        ((RUNS[0], "-", "-"), "standard input can be read only once"),
        ((*RUNS[:2], "none.trec"), "none.trec"),
    ],
)
def test_an_error_is_one_line_with_a_hint(words: tuple[str, ...], message: str, mistake: Text) -> None:
    assert message in mistake(*words)


def test_hostile_ids_are_shown_as_escapes(good: Text, folder: Path) -> None:
    query, gold = '[red]\x1b[2J"q"|<b>', "=1+1,_%&$#{\u202e}\\x"
    (folder / "truth.qrels").write_text(f"{query} 0 {gold} 1\n", "utf-8")
    (folder / "old.trec").write_text(f"{query} Q0 {gold} 1 1 A\n", "utf-8")
    (folder / "new.trec").write_text(f"{query} Q0 x 1 2 A\n{query} Q0 {gold} 2 1 A\n", "utf-8")
    for form in ("table", "markdown", "latex"):
        shown = good(*RUNS, "--format", form) + good(*RUNS, "--format", form, "--query", query)
        assert shown.replace("\n", "").isprintable()
        assert ("<b>" in shown.replace(r"\<b\>", "")) == (form != "markdown")
    assert r"=1+1,\_\%\&\$\#\{" in good(*RUNS, "--format", "latex")
    (read,) = csv.DictReader(io.StringIO(good(*RUNS, "--format", "csv")))
    (move,) = csv.DictReader(io.StringIO(good(*RUNS, "--format", "csv", "--query", query)))
    assert (read["query"], move["gold"]) == (query, gold)
    whole = json.loads(good(*RUNS, "--format", "json"))["queries"][0]
    assert (whole["query"], whole["moves"][0]["gold"]) == (query, gold)


@pytest.mark.parametrize(
    ("words", "header"),
    [
        ((), "query,before,after,difference\n"),
        (("--query", "q"), "gold,label,grade,before,after,change,contribution,text\n"),
    ],
)
def test_csv_has_a_header_even_if_nothing_changed(good: Text, words: tuple[str, ...], header: str) -> None:
    assert good("truth.qrels", "old.trec", "old.trec", "--format", "csv", *words) == header


def test_the_number_of_digits_is_chosen(good: Text) -> None:
    words = ("truth.qrels", "old.trec", "new.trec", "--digits", "2")
    assert "-0.38" in good(*words)
    assert "-0.3801" not in good(*words)
    assert "-0.3801" not in good(*words, "--query", "q")


@pytest.fixture
def texts(folder: Path) -> tuple[str, ...]:
    """Files of the texts of queries and documents, as options."""
    (folder / "queries.tsv").write_text("q\tHow soft is gold?\nr\tWhat rusts?\nsame\tx y\n", "utf-8")
    lines = [json.dumps({"_id": name, "text": f"text of {name}, " * 9}) for name in ("a", "b", "c", "d")]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    return ("--queries", "queries.tsv", "--corpus", "corpus.jsonl")


def test_questions_and_documents_are_shown_beside_their_ids(good: Text, texts: tuple[str, ...]) -> None:
    shown = good(*RUNS, *texts)
    assert "q: How soft is gold?   a: text of a, text of a, text of a, tex…   1 → –   fell out of the top 10" in shown
    assert "note: queries.tsv: there is no header line; the columns are read as ids and texts.\n" in shown
    rows = list(csv.DictReader(io.StringIO(good(*RUNS, *texts, "--format", "csv"))))
    assert [row["text"] for row in rows] == ["How soft is gold?", "What rusts?"]
    whole = json.loads(good(*RUNS, *texts, "--format", "json"))
    assert [each["text"] for each in whole["queries"]] == ["How soft is gold?", "What rusts?"]
    assert whole["queries"][0]["moves"][0]["text"] == "text of a, " * 9


def test_one_query_has_its_question_and_whole_texts(good: Text, texts: tuple[str, ...]) -> None:
    shown = good(*RUNS, *texts, "--query", "q")
    assert "query q: How soft is gold?\n" in shown
    assert "note: corpus.jsonl: no text for 1 of 3 documents (x)." in shown
    assert "2      [2] b: text of b, text of b, text of b, tex…   [2] b: text of b," in shown
    (row,) = csv.DictReader(io.StringIO(good(*RUNS, *texts, "--query", "q", "--format", "csv")))
    assert row["text"] == "text of a, " * 9


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--queries", "old.trec"), "old.trec: this is a run, not the texts of queries."),
        (("--corpus", "truth.qrels"), "truth.qrels: this is ground truth, not the texts of documents."),
        (("--queries", "corpus.jsonl"), "corpus.jsonl: no text found for any of the 3 queries."),
        (("--corpus", "queries.tsv"), "queries.tsv: no text found for any of the 2 documents."),
        (("--corpus", "absent.jsonl"), "absent.jsonl: no such file"),
    ],
)
@pytest.mark.usefixtures("texts")
def test_wrong_texts_are_refused(words: tuple[str, ...], message: str, mistake: Text) -> None:
    assert message in mistake(*RUNS, *words)


def test_the_corpus_is_not_read_for_saved_scores(good: Text, folder: Path, texts: tuple[str, ...]) -> None:
    for name in ("old", "new"):
        evaluate(folder / "truth.qrels", folder / f"{name}.trec", "RR").to_json(folder / f"{name}.json")
    shown = good("old.json", "new.json", *texts, "--query", "q")
    assert "query q: How soft is gold?\n" in shown
    assert "note: the corpus was not read: no document that is shown needs a text." in shown
