"""Numbers of a log, and the order of its documents, in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat.grounding.judges.prompts import load_prompts
from tests.end_to_end.in_process import good, mistake, printed, run_here
from tests.llm_server import LLMServer, Sent
from tests.unit.judges.toy_judge import toy_reply

CSV = """user_input,retrieved_contexts,response,faithfulness,latency (ms)
How soft?,"['Gold is soft.', 'Iron rusts.']",Soft.,0.5,120
Rust?,['Iron rusts.'],No.,1.0,80
Melt?,['Gold melts.'],Yes.,0.75,
"""
LOWER = ("--lower-is-better", "latency (ms)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ragas_scores.csv").write_text(CSV)
    (tmp_path / "faster.csv").write_text(CSV.replace(",120", ",60").replace(",80", ",40"))
    retrieved = [{"id": "d2", "content": "Iron", "score": 0.5}, {"id": "d1", "content": "Gold", "score": 0.9}]
    records = [
        {"query": "q1", "truth": ["d1"], "retrieved": retrieved, "answer": "Soft.", "cost": 2},
        {"query": "q2", "truth": ["d1"], "retrieved": retrieved[::-1], "answer": "Soft.", "cost": 4},
    ]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    (tmp_path / "qa.csv").write_text("question,answer,latency\nWhy?,Because.,12\nHow?,So.,15\n")
    return tmp_path


def test_a_gate_decides_on_the_numbers_of_a_log_without_gold(folder: Path) -> None:
    out = good(folder, "gate", "ragas_scores.csv", "--min", "faithfulness=0.3", "--max", "latency (ms)=200")
    assert "passed    faithfulness   0.7500     at least 0.3000" in out
    assert "note: faithfulness is the number in the log; karat's Faithfulness needs labels." in out
    assert "1 query without a value for latency (ms) (left out): Melt?" in out
    assert run_here(folder, "gate", "ragas_scores.csv", "--min", "faithfulness=0.8").returncode == 1


def test_a_gate_decides_on_karats_own_measure_where_there_are_labels(folder: Path) -> None:
    label = {"type": "claim", "task": "support", "against": "context", "item": "c1", "label": "none"}
    records = [{"query": query, **label} for query in ("How soft?", "Rust?", "Melt?")]
    (folder / "v.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    words = ("gate", "ragas_scores.csv", "--verdicts", "v.jsonl", "--min", "faithfulness=0.3")
    done = run_here(folder, *words)
    assert done.returncode == 1
    assert "Faithfulness" in done.stdout
    assert "faithfulness is karat's Faithfulness; the number in the log is faithfulness (log)" in done.stdout
    assert run_here(folder, *words[:-1], "faithfulness (log)=0.3").returncode == 0


def test_evaluate_shows_numbers_and_sorts_by_them(folder: Path) -> None:
    logs = ("evaluate", "ragas_scores.csv", "faster.csv", "--sort", "latency (ms)")
    assert good(folder, *logs).index("ragas_scores ") < good(folder, *logs).index("faster ")
    assert good(folder, *logs, *LOWER).index("faster ") < good(folder, *logs, *LOWER).index("ragas_scores ")
    assert "latency   13.5000" in good(folder, "evaluate", "qa.csv")


def test_compare_diff_and_report_take_numbers_of_logs(folder: Path) -> None:
    logs = ("ragas_scores.csv", "faster.csv", "-m", "latency (ms)", *LOWER)
    assert "latency (ms)" in good(folder, "compare", *logs)
    assert "2 queries better" in good(folder, "diff", *logs)
    assert run_here(folder, "report", *logs, "-o", "report.html").returncode == 0
    assert "latency (ms)" in (folder / "report.html").read_text()


def test_saved_scores_keep_the_numbers(folder: Path) -> None:
    good(folder, "evaluate", "ragas_scores.csv", *LOWER, "-o", "scores.json")
    out = good(folder, "gate", "faster.csv", "--max-drop", "latency (ms)=0", "--baseline", "scores.json", *LOWER)
    assert "gate passed" in out
    assert "faithfulness" in good(folder, "compare", "scores.json", "faster.csv")


def test_lower_is_better_names_a_number(folder: Path) -> None:
    assert "is not a measure of the scores" in mistake(folder, "evaluate", "qa.csv", "--lower-is-better", "latnecy")
    (folder / "truth").write_text("q1 0 d1 1\n")
    (folder / "run").write_text("q1 Q0 d1 1 0.5 r\n")
    error = mistake(folder, "evaluate", "truth", "run", "--lower-is-better", "RR")
    assert "--lower-is-better applies to saved scores and to numbers of a log" in error


def test_an_unknown_name_is_an_error_that_names_the_numbers_of_the_log(folder: Path) -> None:
    error = mistake(folder, "evaluate", "qa.csv", "-m", "latnecy")
    assert "Did you mean latency? Numbers in qa.csv: latency." in error
    assert "unknown measure 'latnecy'" in mistake(folder, "gate", "qa.csv", "--max", "latnecy=3")


def test_a_field_that_is_not_a_number_everywhere_is_an_error_with_its_place_if_it_is_asked_for(folder: Path) -> None:
    (folder / "qa.csv").write_text("question,answer,latency\nWhy?,Because.,12\nHow?,So.,slow\nWho?,I.,3\n")
    assert "qa.csv:3, latency: 'slow' is not a number" in mistake(folder, "gate", "qa.csv", "--max", "latency=3")


def test_documents_are_sorted_by_score_in_all_commands(folder: Path) -> None:
    rr = ("-m", "RR")
    assert "RR        0.7500" in good(folder, "evaluate", "a.jsonl", *rr)
    assert "for query q1; the order of the lists counts" in good(folder, "evaluate", "a.jsonl", *rr)
    by_score = ("--order", "score")
    assert "RR        1.0000" in good(folder, "evaluate", "a.jsonl", *rr, *by_score)
    assert "1.0000" in good(folder, "compare", "a.jsonl", "b.jsonl", *rr, *by_score)
    assert "1.0000" in good(folder, "diff", "a.jsonl", "b.jsonl", *rr, *by_score)
    assert "gate passed" in good(folder, "gate", "a.jsonl", "--min", "RR=1", *by_score)
    assert run_here(folder, "gate", "a.jsonl", "--min", "RR=1").returncode == 1
    assert run_here(folder, "report", "a.jsonl", *by_score, "-o", "r.html").returncode == 0


def test_the_order_can_be_set_in_a_configuration_file(folder: Path) -> None:
    (folder / "karat.toml").write_text('[gate]\norder = "score"\nlower-is-better = ["cost"]\n[gate.min]\nRR = 1\n')
    assert "gate passed" in good(folder, "gate", "a.jsonl")
    (folder / "karat.toml").write_text('[gate]\norder = "rank"\n[gate.min]\nRR = 1\n')
    assert "'rank' is not one of score" in mistake(folder, "gate", "a.jsonl")


def test_an_order_without_effect_is_refused(folder: Path) -> None:
    assert "--order rank is not an order of documents" in mistake(
        folder, "compare", "a.jsonl", "b.jsonl", "--order", "rank"
    )
    good(folder, "evaluate", "a.jsonl", "-o", "scores.json")
    error = mistake(folder, "compare", "scores.json", "scores.json", "--order", "score")
    assert "--order has no effect on saved scores" in error


def test_a_judge_reads_documents_in_the_order_of_scores(folder: Path) -> None:
    prompts = {prompt.text: name for name, prompt in load_prompts().items()}

    def reply(sent: Sent) -> object:
        return toy_reply(prompts[sent.prompt], sent.data)

    words = ("judge", "a.jsonl", "--task", "context", "--model", "tester", "--order", "score", "-o", "v.jsonl")
    with LLMServer(reply) as server:
        printed(run_here(folder, *words, "--base-url", server.url, environment={"OPENAI_API_KEY": "key-of-the-tests"}))
    records = [json.loads(line) for line in (folder / "v.jsonl").read_text().splitlines()]
    ranks = {(each["query"], each["id"]): each["rank"] for each in records if each.get("type") == "passage"}
    assert ranks["q1", "d1"] == 1
    assert ranks["q1", "d2"] == 2


def test_a_sheet_lists_documents_in_the_order_of_scores_and_names_the_command_with_it(folder: Path) -> None:
    words = ("verdicts", "template", "a.jsonl", "--task", "context", "--order", "score", "-o", "sheet.csv")
    assert "--order score" in good(folder, *words)
    sheet = (folder / "sheet.csv").read_text()
    assert sheet.index("Gold") < sheet.index("Iron")
