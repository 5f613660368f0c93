"""`karat look`: what is in a file, and what can be done with it. The exit status says whether it can be evaluated."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from karat.cli import demo_data as demo
from karat.errors.command_lines import quoted_word
from karat.reading import shapes
from tests.end_to_end.in_process import good, mistake, printed, run_here

FOLDER = Path(shapes.__file__).parent
SAMPLES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".json", ".jsonl", ".csv"))
HOSTILE = "log\u202e\x1b[2J"


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_screen_of_a_log_fits_a_terminal_and_its_commands_work(sample: Path) -> None:
    done = run_here(FOLDER, "look", sample.name)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{sample.name}: ")
    assert lines[0].endswith(", 3 records")
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 46
    facts = json.loads(run_here(FOLDER, "look", sample.name, "--format", "json").stdout)
    assert facts["tool"] == sample.stem.partition("-")[0]
    assert facts["can_be_evaluated"] == (done.returncode == 0) == (facts["error"] is None)
    assert run_here(FOLDER, "evaluate", sample.name).returncode == 2 * done.returncode
    for command in facts["commands"].values():
        _, *words = shlex.split(command)
        printed(run_here(FOLDER, *words))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_last_section_is_the_error_of_an_evaluation(sample: Path) -> None:
    facts = json.loads(run_here(FOLDER, "look", sample.name, "--format", "json").stdout)
    error = run_here(FOLDER, "evaluate", sample.name).stderr
    what = (facts["error"] or "").partition(". ")[0]
    assert what in error
    assert bool(what) == bool(error)


def test_ground_truth_and_a_run_are_shown_together_with_the_match_that_makes_them_meet(tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("".join(f"q{at} 0 d{at} 1\n" for at in range(60)))
    (tmp_path / "r.trec").write_text("".join(f"q{at} Q0 d{at}#{at} 1 0.5 x\n" for at in range(60)))
    screen = good(tmp_path, "look", "t.qrels", "r.trec")
    assert "prefix(separator=#)   'd0'            'd0#0'            100%" in screen
    assert f"to evaluate it: karat evaluate t.qrels r.trec --match {quoted_word('prefix(separator=#)')}" in screen
    assert "R@100" in good(tmp_path, "evaluate", "t.qrels", "r.trec", "--match", "prefix(separator=#)")
    (tmp_path / "other.csv").write_text("qid,docno,sim\nq1,d1,0.5\n")
    both = good(tmp_path, "look", "t.qrels", "r.trec", "other.csv")
    assert "t.qrels and r.trec: ground truth and a run" in both
    assert "doc of run       docno   'd1'" in both


def test_columns_of_other_names_are_shown_with_the_error_and_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "r.csv").write_text("a,b,c\nq1,d1,0.5\n")
    done = run_here(tmp_path, "look", "t.qrels", "r.csv")
    assert done.returncode == 1
    assert "no columns 'query', 'doc' and 'score'" in done.stdout
    assert "b       column   'd1'" in done.stdout
    columns = ("--column", "run.query=a", "--column", "run.doc=b", "--column", "run.score=c")
    screen = good(tmp_path, "look", "t.qrels", "r.csv", *columns)
    assert "doc of run       b      'd1'" in screen
    assert "--column run.doc=b" in screen


def test_a_beir_folder_needs_a_run(tmp_path: Path) -> None:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    (tmp_path / "run.json").write_text(json.dumps({"q1": {"d1": 0.5}}))
    done = run_here(tmp_path, "look", "beir")
    assert done.returncode == 1
    assert "ground truth, 2 queries, 2 judged documents" in done.stdout
    assert "karat evaluate beir RUN" in done.stdout
    assert "no run was given" in done.stdout
    assert "1 query" in good(tmp_path, "look", "beir", "run.json", "--split", "dev")
    assert run_here(tmp_path, "look", "run.json").returncode == 1


@pytest.mark.parametrize(("name", "what"), [("run", "a run"), ("truth", "ground truth")])
def test_a_run_or_ground_truth_alone_cannot_be_evaluated(tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "truth").write_text("q1 0 d1 1\n")
    (tmp_path / "run").write_text("q1 Q0 d1 1 0.5 x\n")
    done = run_here(tmp_path, "look", name)
    assert done.returncode == 1
    assert done.stdout.startswith(f"{name}: {what}, 1 query")


def test_a_log_without_gold_is_a_log_if_ground_truth_is_joined_to_it_as_in_an_evaluation(tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\n")
    write(tmp_path / "log.jsonl", {"query": "q1", "documents": ["d1", "d2"]})
    assert good(tmp_path, "look", "log.jsonl", "--truth", "gold.qrels").startswith("log.jsonl: results, 1 record\n")
    assert "joined by 'query'" in run_here(tmp_path, "evaluate", "log.jsonl", "--truth", "gold.qrels").stdout
    assert "gold.qrels and log.jsonl: ground truth and a run" in good(tmp_path, "look", "gold.qrels", "log.jsonl")


def test_saved_scores_and_labels_are_named_with_the_commands_that_read_them(tmp_path: Path) -> None:
    truth, *runs = demo.TRUTH, *demo.runs().values()
    good(tmp_path, "evaluate", truth, *runs, "-o", "scores.json")
    label = {"query": "q", "type": "claim", "item": "c1", "task": "support", "against": "context", "label": "full"}
    write(tmp_path / "labels.jsonl", {**label, "by": "human:ann"})
    screen = good(tmp_path, "look", "scores.json", "labels.jsonl")
    assert "scores.json: saved scores, 3 systems" in screen
    assert "'nDCG@10', 'AP', 'RR', 'P@10' and 'R@100'" in screen
    assert "karat compare scores.json\n" in screen
    assert "labels.jsonl: labels, 1 label" in screen
    assert "karat evaluate RESULTS --verdicts labels.jsonl" in screen


def test_a_log_without_gold_has_status_1_and_one_that_cannot_be_read_2(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"query": "How soft?", "retrieved": ["Gold is soft."], "answer": "Soft."})
    assert run_here(tmp_path, "look", "log.jsonl").returncode == 1
    for name, text in (("no.jsonl", None), ("empty.jsonl", ""), ("cut.jsonl", '{"query": '), ("binary", "\0\1\2")):
        if text is not None:
            (tmp_path / name).write_text(text)
        assert "karat look" not in mistake(tmp_path, "look", name)
    assert "not the folder of a BEIR data set" in mistake(tmp_path, "look", "log.jsonl", "--split", "dev")


def test_fields_of_other_names_are_shown_with_their_types_and_the_error_names_options(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"ask": "How soft?", "out": {"score": 0.5, "hits": [{"key": "d1"}]}, "best": ["d1"]})
    done = run_here(tmp_path, "look", "log.jsonl")
    assert done.returncode == 1
    assert "out.hits.*.key   list of 1   ['d1']" in done.stdout
    assert "cannot be evaluated as it is: log.jsonl: no fields 'query'" in done.stdout
    options = ("--field", "query=ask", "--field", "truth=best", "--field", "retrieved=out.hits")
    screen = good(tmp_path, "look", "log.jsonl", *options, "--field", "retrieved.id=key")
    assert "'d1'            'd1'              100%" in screen
    assert "--field retrieved.id=key" in screen


def test_hostile_names_and_texts_are_harmless(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"query": HOSTILE, "truth": [HOSTILE], "retrieved": [HOSTILE], HOSTILE: HOSTILE})
    for words in ((), ("--format", "markdown")):
        screen = good(tmp_path, "look", "log.jsonl", *words)
        assert "\x1b" not in screen
        assert "\u202e" not in screen
    write(tmp_path / "other.jsonl", {HOSTILE: {HOSTILE: "x" * 10**4}, "answer": "y" * 10**4})
    done = run_here(tmp_path, "look", "other.jsonl")
    assert done.returncode == 1
    assert "\x1b" not in done.stdout
    assert len(done.stdout) < 10_000


def test_the_screen_is_written_to_a_file(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"query": "q", "truth": ["a"], "retrieved": ["a"]})
    run_here(tmp_path, "look", "log.jsonl", "-o", "log.md")
    assert (tmp_path / "log.md").read_text().startswith("log.jsonl: results, 1 record")
    run_here(tmp_path, "look", "log.jsonl", "log.jsonl", "-o", "log.json")
    assert len(json.loads((tmp_path / "log.json").read_text())["files"]) == 2


def test_standard_input_is_read(tmp_path: Path) -> None:
    record = json.dumps({"query": "q", "truth": ["a"], "retrieved": ["a"]}).encode()
    done = run_here(tmp_path, "look", "-", stdin=record)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "standard input: results, 1 record")


def test_gold_in_another_file_is_joined_in_the_order_of_an_evaluation_or_by_an_option(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"query": "q1", "retrieved": ["d1"], "answer": "Soft."})
    (tmp_path / "gold.json").write_text(json.dumps({"q1": {"d1": 1}}))
    for words in (("gold.json", "log.jsonl"), ("log.jsonl", "--truth", "gold.json")):
        screen = good(tmp_path, "look", *words)
        assert "truth       truth       1 document: 'd1'" in screen
        assert "to evaluate it: karat evaluate log.jsonl --truth gold.json\n" in screen
    assert "nDCG@5" in good(tmp_path, "evaluate", "log.jsonl", "--truth", "gold.json")
    assert "`karat evaluate log.jsonl --truth GOLD`" in run_here(tmp_path, "look", "log.jsonl").stdout


def test_a_submission_to_trec_rag_is_evaluated_by_labels_or_its_citations(tmp_path: Path) -> None:
    answer = [{"text": "It is soft.", "citations": [0]}]
    write(tmp_path / "rag.jsonl", {"run_id": "r", "topic_id": "1", "references": ["d7", "d3"], "answer": answer})
    done = run_here(tmp_path, "look", "rag.jsonl")
    assert done.returncode == 1
    assert done.stdout.startswith("rag.jsonl: a submission to TREC RAG, 1 record\n")
    assert "query       topic_id     '1'" in done.stdout
    assert "CitationValid" in good(tmp_path, "evaluate", "rag.jsonl", "-m", "CitationValid")
    write(tmp_path / "CORPUS", {"id": "d7", "text": "Gold is soft."}, {"id": "d3", "text": "Iron is hard."})
    facts = json.loads(run_here(tmp_path, "look", "rag.jsonl", "--format", "json").stdout)
    _, *words = shlex.split(facts["commands"]["what labels cost"])
    assert "support" in good(tmp_path, *words)


def test_a_file_that_is_looked_at_does_not_say_that_one_can_look_at_it(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", {"question": "How soft?", "answer": "Soft."}, {"question": "Rust?", "answer": "No."})
    assert "karat look log.jsonl` shows" in mistake(tmp_path, "evaluate", "log.jsonl")
    assert "shows what is in it" not in run_here(tmp_path, "look", "log.jsonl").stdout
