"""`--truth` and `--answers`: gold and answers in other files than the results, in every command that reads results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import karat
from tests.end_to_end.in_process import good, mistake, run_here

LOG: list[dict[str, Any]] = [
    {"user_input": "How soft is gold?", "retrieved_contexts": ["Iron rusts.", "Gold is soft."], "response": "Soft"},
    {"user_input": "Who found radium?", "retrieved_contexts": ["Marie Curie found it."], "response": "Nobody"},
]
GOLD: list[dict[str, Any]] = [
    {"id": 1, "question": "Who found radium?", "truth": ["Marie Curie found it."], "gold_answers": ["Marie Curie"]},
    {"id": 2, "question": "How soft is gold?", "truth": ["Gold is soft."], "gold_answers": ["Soft", "Very soft"]},
]
QUERIES = ("soft", "radium")


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.jsonl").write_text(lines(LOG))
    (tmp_path / "better.jsonl").write_text(lines([{**record, "response": "Marie Curie"} for record in LOG]))
    (tmp_path / "gold.jsonl").write_text(lines(GOLD))
    (tmp_path / "gold.csv").write_text("question,answer\nHow soft is gold?,Soft\nWho found radium?,Marie Curie\n")
    (tmp_path / "ids.jsonl").write_text(
        lines([{"query": "q1", "retrieved": ["d9", "d1"]}, {"query": "q2", "retrieved": ["d2"]}])
    )
    (tmp_path / "truth.qrels").write_text("q1 0 d1 2\nq2 0 d2 1\n")
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d3 1 3 t\n")
    return tmp_path


def means(folder: Path, *words: str) -> Any:
    return json.loads(run_here(folder, *words, "--format", "json").stdout)["means"]


def test_gold_in_another_file_is_joined_to_a_log_by_the_text_of_the_question(folder: Path) -> None:
    words = ("evaluate", "log.jsonl", "--truth", "gold.jsonl", "-m", "RR", "-m", "EM")
    assert means(folder, *words) == {"RR": 0.75, "EM": 0.5}
    assert "log.jsonl and gold.jsonl are joined by 'query' = 'question'" in good(folder, *words)


@pytest.mark.parametrize(("gold", "measure"), [("gold.jsonl", "RR"), ("gold.jsonl", "EM")])
def test_gold_before_a_log_means_the_same_as_the_option(folder: Path, gold: str, measure: str) -> None:
    positional = means(folder, "evaluate", gold, "log.jsonl", "-m", measure)
    assert positional == means(folder, "evaluate", "log.jsonl", "--truth", gold, "-m", measure)


def test_ground_truth_that_is_given_twice_is_an_error(folder: Path) -> None:
    twice = mistake(folder, "evaluate", "truth.qrels", "ids.jsonl", "--truth", "truth.qrels")
    assert "truth.qrels: ground truth is given twice" in twice
    assert "ground truth is given twice" in mistake(
        folder, "compare", "gold.jsonl", "log.jsonl", "better.jsonl", "--truth", "gold.csv"
    )


def test_runs_and_logs_are_evaluated_against_the_same_ground_truth(folder: Path) -> None:
    table = run_here(folder, "evaluate", "truth.qrels", "run.trec", "ids.jsonl", "-m", "RR", "--format", "csv").stdout
    assert table.splitlines() == ["run,RR", "run,0.5", "ids,0.75"]
    assert (
        table
        == run_here(
            folder, "evaluate", "run.trec", "ids.jsonl", "--truth", "truth.qrels", "-m", "RR", "--format", "csv"
        ).stdout
    )


def test_grades_of_the_ground_truth_count_and_its_digests_are_those_of_a_run(folder: Path) -> None:
    scores = karat.evaluate_results(folder / "ids.jsonl", "nDCG@5", truth=folder / "truth.qrels")
    run = {"q1": ["d9", "d1"], "q2": ["d2"]}
    assert scores.means == karat.evaluate(folder / "truth.qrels", run, "nDCG@5").means
    good(folder, "evaluate", "ids.jsonl", "--truth", "truth.qrels", "-o", "ids.json")
    (folder / "other.qrels").write_text("q1 0 d9 1\nq2 0 d2 1\n")
    good(folder, "evaluate", "ids.jsonl", "--truth", "other.qrels", "-o", "other.json")
    assert "ground truth" in mistake(folder, "compare", "ids.json", "other.json")


def test_compare_diff_and_report_join_gold_to_all_logs(folder: Path) -> None:
    words = ("log.jsonl", "better.jsonl", "--truth", "gold.jsonl")
    assert "better" in good(folder, "compare", *words, "-m", "EM")
    diff = good(folder, "diff", *words, "-m", "EM")
    assert "radium" in diff
    assert all(line.endswith(".") for line in diff.splitlines() if line.startswith("note"))
    run_here(folder, "report", *words, "-o", "report.html")
    assert "Marie Curie" in (folder / "report.html").read_text()


def test_a_gate_takes_gold_from_the_command_line_and_from_its_configuration(folder: Path) -> None:
    assert "passed" in good(folder, "gate", "log.jsonl", "--truth", "gold.jsonl", "--min", "EM=0.5")
    inner = folder / "ci"
    inner.mkdir()
    (inner / "karat.toml").write_text('[gate]\ntruth = "../gold.jsonl"\nmin = {EM = 0.5}\n')
    assert "passed" in good(folder, "gate", "log.jsonl", "--config", "ci/karat.toml")
    # Ground truth on the command line takes precedence.
    (inner / "karat.toml").write_text('[gate]\ntruth = "../nothing.jsonl"\nmin = {EM = 0.5}\n')
    assert "passed" in good(folder, "gate", "gold.jsonl", "log.jsonl", "--config", "ci/karat.toml")
    assert "nothing.jsonl" in mistake(folder, "gate", "log.jsonl", "--config", "ci/karat.toml")


def test_answers_are_joined_on_the_command_line_and_in_a_configuration(folder: Path) -> None:
    (folder / "answers.json").write_text(json.dumps({"q1": "Soft", "q2": "x"}))
    (folder / "answers.gold.json").write_text(json.dumps({"q1": "Soft", "q2": "y"}))
    words = ("--truth", "answers.gold.json", "--answers", "answers.json")
    assert means(folder, "evaluate", "ids.jsonl", *words, "-m", "EM") == {"EM": 0.5}
    (folder / "karat.toml").write_text(
        '[gate]\ntruth = "answers.gold.json"\nanswers = "answers.json"\nmin = {EM = 0.5}\n'
    )
    assert "passed" in good(folder, "gate", "ids.jsonl")
    no_results = mistake(folder, "evaluate", "truth.qrels", "run.trec", "--answers", "answers.json")
    assert "--answers are joined to results" in no_results


def test_a_judge_and_a_sheet_get_gold_answers_from_another_file(folder: Path) -> None:
    estimate = ("judge", "log.jsonl", "--task", "correctness", "--estimate")
    assert "2 queries have no gold answers" in good(folder, *estimate)
    assert "no gold answers" not in good(folder, *estimate, "--truth", "gold.csv")
    judged = karat.estimate_judging(folder / "log.jsonl", task="correctness", truth=folder / "gold.csv")
    assert not any("no gold answers" in note for note in judged.notes)
    unfit = mistake(
        folder, "judge", "truth.qrels", "run.trec", "--task", "relevance", "--truth", "gold.csv", "--estimate"
    )
    assert "--truth is about answers" in unfit
    sheet = ("verdicts", "template", "log.jsonl", "--task", "correctness", "-o", "sheet.csv")
    out = good(folder, *sheet, "--truth", "gold.csv")
    assert "log.jsonl and gold.csv are joined by" in out
    assert "Marie Curie" in (folder / "sheet.csv").read_text()


def test_the_labels_of_a_log_are_evaluated_beside_joined_gold(folder: Path) -> None:
    row = {"query": "How soft is gold?", "type": "claim", "task": "support", "against": "context", "item": "c1"}
    (folder / "verdicts.jsonl").write_text(lines([{**row, "label": "full", "by": "human"}]))
    words = ("log.jsonl", "--truth", "gold.jsonl", "--verdicts", "verdicts.jsonl", "-m", "RR", "-m", "Faithfulness")
    assert means(folder, "evaluate", *words) == {"RR": 0.75, "Faithfulness": 1.0}


def test_gold_may_be_read_from_standard_input_once(folder: Path) -> None:
    words = ("evaluate", "log.jsonl", "--truth", "-", "-m", "EM", "--format", "csv")
    out = run_here(folder, *words, stdin=(folder / "gold.csv").read_bytes()).stdout
    assert out.splitlines() == ["run,EM", "log,0.5"]
    assert "standard input can be read only once" in mistake(folder, "evaluate", "-", "--truth", "-")


def test_the_log_may_be_its_own_gold(folder: Path) -> None:
    whole = [{**log, "reference": gold["gold_answers"][0]} for log, gold in zip(LOG, reversed(GOLD), strict=True)]
    (folder / "whole.jsonl").write_text(lines(whole))
    assert means(folder, "evaluate", "whole.jsonl", "--truth", "whole.jsonl", "-m", "EM") == {"EM": 0.5}


def test_a_corpus_has_the_texts_of_gold_ids_for_a_log_with_texts(folder: Path) -> None:
    (folder / "texts.qrels").write_text("soft 0 d1 1\nradium 0 d2 1\n")
    log = [{"query": name, "retrieved": [{"content": each["retrieved_contexts"][-1]}]} for name, each in zip(QUERIES, LOG, strict=True)]  # fmt: skip  # noqa: E501
    (folder / "texts.jsonl").write_text(lines(log))
    corpus = [{"_id": "d1", "text": "Gold is soft. Indeed."}, {"_id": "d2", "text": "Radium glows."}]
    (folder / "corpus.jsonl").write_text(lines(corpus))
    words = ("--corpus", "corpus.jsonl", "--match", "chunk", "-m", "RR")
    assert means(folder, "evaluate", "texts.jsonl", "--truth", "texts.qrels", *words) == {"RR": 0.5}
    assert "--corpus is for" in mistake(folder, "evaluate", "texts.jsonl", *words)


def test_a_split_of_a_beir_folder_is_ground_truth_of_a_log(folder: Path) -> None:
    (folder / "beir" / "qrels").mkdir(parents=True)
    for split, doc in (("dev", "d9"), ("test", "d1")):
        (folder / "beir" / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\nq1\t{doc}\t1\n")
    words = ("evaluate", "ids.jsonl", "--truth", "beir", "-m", "RR")
    assert means(folder, *words) == {"RR": 0.5}
    assert means(folder, *words, "--split", "dev") == {"RR": 1.0}
    assert karat.evaluate_results(folder / "ids.jsonl", "RR", truth=str(folder / "beir"), split="dev")["RR"] == 1.0


def test_fields_may_name_those_of_the_gold(folder: Path) -> None:
    (folder / "odd.jsonl").write_text(lines([{"q": each["question"], "right": each["gold_answers"]} for each in GOLD]))
    words = ("log.jsonl", "--truth", "odd.jsonl", "-m", "EM", "--field", "gold_answers=right", "--field", "query=q")
    assert means(folder, "evaluate", *words) == {"EM": 0.5}


def test_a_log_of_questions_with_ids_and_documents_only_is_joined_by_its_ids(folder: Path) -> None:
    records = [
        {"id": "q1", "question": "How soft is gold?", "retrieved": ["d9", "d1"]},
        {"id": "q2", "question": "Who found radium?", "retrieved": ["d2"]},
    ]
    (folder / "search.jsonl").write_text(lines(records))
    (folder / "answers.jsonl").write_text(lines([{"id": "q1", "answer": "Soft"}, {"id": "q2", "answer": "Nobody"}]))
    (folder / "gold_answers.jsonl").write_text(
        lines([{"id": "q1", "gold_answers": ["Soft"]}, {"id": "q2", "gold_answers": ["Marie Curie"]}])
    )
    assert means(folder, "evaluate", "search.jsonl", "--truth", "truth.qrels", "-m", "RR") == {"RR": 0.75}
    joins = ("--truth", "gold_answers.jsonl", "--answers", "answers.jsonl")
    assert means(folder, "evaluate", "search.jsonl", *joins, "-m", "EM") == {"EM": 0.5}


def test_ids_against_questions_name_the_option_that_joins_them(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "q1", "query": "How soft?", "retrieved": ["d1"]}))
    failed = run_here(tmp_path, "evaluate", "truth.qrels", "log.jsonl")
    assert failed.returncode == 2
    assert "If one has questions and the other ids, a log that has both is joined by --truth GOLD" in failed.stderr
    joined = run_here(tmp_path, "evaluate", "log.jsonl", "--truth", "truth.qrels", "-m", "RR")
    assert "1.0000" in joined.stdout


@pytest.mark.parametrize("content", ["s", 'r\n"', "query,truth\n"])
def test_a_table_without_rows_is_no_gold(tmp_path: Path, content: str) -> None:
    (tmp_path / "gold.csv").write_text(content)
    (tmp_path / "log.jsonl").write_text(json.dumps({"query": "q1", "retrieved": ["d1"]}))
    failed = run_here(tmp_path, "evaluate", "log.jsonl", "--truth", "gold.csv")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("karat: gold.csv")
