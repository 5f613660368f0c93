"""`karat judge`: what it prints, writes and refuses. tests/judges runs it as a process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from karat import evaluate_verdicts
from karat.cli import demo_data as demo
from karat.grounding.judges.prompts import load_prompts
from tests.end_to_end.in_process import good, mistake, printed, run_here
from tests.llm_server import LLMServer, Sent, completion, error
from tests.unit.judges.toy_judge import toy_reply

RESULTS = [
    {"query": "q1", "question": "How hard?", "answer": "Gold is soft. Iron is hard.", "retrieved": ["Gold is soft."]},
    {"query": "q2", "question": "How soft?", "answer": "Gold is soft.", "retrieved": ["Gold is soft."]},
]
JUDGE = ("judge", "rag.jsonl", "--task", "faithfulness", "-o", "verdicts.jsonl")
KEY = {"OPENAI_API_KEY": "key-of-the-tests"}
_NAMES = {prompt.text: name for name, prompt in load_prompts().items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RESULTS))
    return tmp_path


def toy_rule(sent: Sent) -> object:
    return toy_reply(_NAMES[sent.prompt], sent.data)


def test_a_judge_adds_labels_that_the_results_are_evaluated_with(folder: Path) -> None:
    with LLMServer(toy_rule) as server:
        words = (*JUDGE, "--model", "tester", "--base-url", server.url, "--price-in", "1000", "--price-out", "2000")
        out = printed(run_here(folder, *words, environment=KEY))
    table = ["measure           rag", "─────────────────────", "Faithfulness   0.7500", "2 queries"]
    assert out.splitlines() == [*table, "verdicts.jsonl: 4 calls, 0 failed, 400 tokens in, 40 out, cost 0.48"]
    assert good(folder, "evaluate", "rag.jsonl", "--verdicts", "verdicts.jsonl").splitlines() == table
    replayed = good(folder, *JUDGE, "--replay").splitlines()
    assert replayed == [*table, "verdicts.jsonl: 0 calls (4 more were in the file), 0 failed, 0 tokens in, 0 out"]
    estimated = good(folder, *JUDGE, "--estimate").splitlines()
    assert estimated[0].split("  ")[0] == "new calls"
    assert estimated[2].split() == ["0", "4", "0", "0"]


def test_lines_that_somebody_corrected_stay_and_count_in_the_next_run_and_in_a_replay(folder: Path) -> None:
    path = folder / "verdicts.jsonl"
    with LLMServer(toy_rule) as server:
        words = (*JUDGE, "--model", "tester", "--base-url", server.url)
        run_here(folder, *words, environment={"OPENAI_API_KEY": "key-of-the-tests"})
        records = [json.loads(line) for line in path.read_text().splitlines()]
        [label] = [each for each in records if each.get("label") == "none"]
        [claim] = [each for each in records if each.get("query") == "q2" and each.get("type") == "claim"]
        with path.open("a") as file:
            file.writelines(
                json.dumps(each) + "\n" for each in ({**label, "label": "full"}, {**claim, "removed": True})
            )
        before, sent = path.read_bytes(), len(server.sent)
        again = printed(run_here(folder, *words, environment={"OPENAI_API_KEY": "key-of-the-tests"}))
        assert len(server.sent) == sent
    assert path.read_bytes() == before
    assert again.splitlines()[2].split()[:2] == ["Faithfulness", "1.0000"]
    assert good(folder, *JUDGE, "--replay").splitlines()[:4] == again.splitlines()[:4]
    assert [*folder.glob("*.removed")] == []


def test_systems_without_labels_are_named(folder: Path) -> None:
    other = [{**record, "answer": f"No. {record['answer']}"} for record in RESULTS]
    (folder / "other.jsonl").write_text("".join(json.dumps(record) + "\n" for record in other))
    with LLMServer(toy_rule) as server:
        words = ("judge", "rag.jsonl", "other.jsonl", "--task", "correctness", "-o", "verdicts.jsonl", "--model", "m")
        limits = ("--base-url", server.url, "--concurrency", "1", "--max-calls", "1")
        out = printed(run_here(folder, *words, *limits, environment=KEY))
    assert out.splitlines()[-4:] == [
        "note: no measure of the task correctness can be computed for other: there are no labels.",
        "note: 2 queries have no gold answers: whether an answer is correct rests on what the model knows.",
        "note: not everything was asked: another request may exceed the limit of calls.",
        "verdicts.jsonl: 1 call, 0 failed, 3 not asked, 100 tokens in, 10 out",
    ]


@pytest.mark.parametrize("task", ["faithfulness", "correctness", "context"])
def test_if_all_calls_fail_it_says_why_and_what_to_do(folder: Path, task: str) -> None:
    with LLMServer(lambda _: {"verdict": "fine"}) as server:
        words = ("judge", "rag.jsonl", "--task", task, "-o", "verdicts.jsonl", "--model", "m", "--base-url", server.url)
        done = run_here(folder, *words, environment=KEY)
    out, status = done.stdout, done.returncode
    assert status == 1
    field = "claims" if task == "faithfulness" else "label"
    again = "With --retry-failed (in Python retry_failed=True), they are made again."
    assert f"note: 2 calls failed: The field {field} is missing. {again}" in out
    if task == "faithfulness":  # no claim, and hence no label
        without = "note: no measure of the task faithfulness can be computed for rag: there are no labels.\n"
        assert out.startswith(without)
        error = mistake(folder, "evaluate", "rag.jsonl", "--verdicts", "verdicts.jsonl", "-m", "Faithfulness")
        assert "2 labels failed, most often with this error: The field claims is missing. " in error
    else:
        assert out.splitlines()[2].split()[1:] == ["–", "0.0000", "to", "1.0000", "2"]


def test_several_tasks_are_one_run_with_one_table_and_one_line_about_calls(folder: Path) -> None:
    rubric = {"name": "tone", "question": "Is it polite?", "scale": {"poor": 0, "fair": 1, "good": 2}}
    (folder / "tone.json").write_text(json.dumps(rubric))
    words = (*JUDGE, "--task", "context", "--rubric", "tone.json", "--price-in", "1000", "--price-out", "2000")
    estimated = good(folder, *words, "--estimate").splitlines()
    assert [line.split()[:3] for line in estimated[2:6]] == [
        ["faithfulness", "4", "0"], ["context", "2", "0"], ["tone", "2", "0"], ["total", "8", "0"],
    ]  # fmt: skip
    with LLMServer(toy_rule) as server:
        out = printed(run_here(folder, *words, "--model", "m", "--base-url", server.url, environment=KEY))
    assert out.splitlines() == [
        "measure                     rag",
        "───────────────────────────────",
        "Faithfulness             0.7500",
        "ContextRelevance         1.0000",
        "ContextPrecision         1.0000",
        "Correctness(task=tone)   0.5000",
        "2 queries",
        "verdicts.jsonl: 8 calls, 0 failed, 800 tokens in, 80 out, cost 0.96",
    ]
    assert good(folder, *words, "--replay").splitlines()[:-1] == out.splitlines()[:-1]


def test_a_task_whose_calls_all_failed_is_named_beside_the_measures_of_the_others(folder: Path) -> None:
    cited = [{**record, "answer": "Gold is soft [1]."} for record in RESULTS]
    (folder / "rag.jsonl").write_text("".join(json.dumps(record) + "\n" for record in cited))
    with LLMServer(lambda sent: {} if _NAMES[sent.prompt] == "claims" else toy_rule(sent)) as server:
        words = (*JUDGE, "--task", "support", "--model", "m", "--base-url", server.url)
        out = printed(run_here(folder, *words, environment=KEY))
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["SupportPrecision", "SupportRecall"]
    assert out.splitlines()[5] == (
        "note: no measure of the task faithfulness can be computed for rag: there are no labels."
    )


def test_failures_of_several_kinds_of_calls_are_counted_by_kind(folder: Path) -> None:
    with LLMServer(lambda sent: {} if _NAMES[sent.prompt] in ("claims", "correctness") else toy_rule(sent)) as server:
        words = (*JUDGE, "--task", "context", "--task", "correctness", "--model", "m", "--base-url", server.url)
        out = printed(run_here(folder, *words, environment=KEY))
    claims, correctness = (load_prompts()[name].id for name in ("claims", "correctness"))
    assert f"note: 4 calls failed (2 of {claims}, 2 of {correctness}), 2 of them with this error: The field " in out


def test_an_evaluation_names_what_could_not_be_extracted_for_any_query(folder: Path) -> None:
    with LLMServer(lambda sent: {} if _NAMES[sent.prompt] == "claims" else toy_rule(sent)) as server:
        for task in ("faithfulness", "context"):
            words = ("judge", "rag.jsonl", "--task", task, "-o", "verdicts.jsonl", "--model", "m")
            run_here(folder, *words, "--base-url", server.url, environment=KEY)
    note = (
        "note: the claims of the answer could not be extracted for 2 queries, most often with this error: The field"
        " claims is missing. Measures of them are left out. `karat judge --retry-failed` asks again."
    )
    evaluated = ("evaluate", "rag.jsonl", "--verdicts", "verdicts.jsonl")
    assert note in good(folder, *evaluated).splitlines()
    assert note not in good(folder, *evaluated, "-m", "ContextRelevance").splitlines()
    assert note.removeprefix("note: ") in map(str, evaluate_verdicts(folder / "verdicts.jsonl").findings)


def test_contexts_that_a_server_finds_too_long_are_divided(folder: Path) -> None:
    retrieved = [f"Metal {at} is number {at}. Iron is hard." for at in range(8)]
    record = {"query": "q1", "question": "How?", "answer": "Gold is soft. Metal 6 is number 6.", "retrieved": retrieved}
    (folder / "rag.jsonl").write_text(json.dumps(record))

    def rule(sent: Sent) -> object:
        is_long = len(json.dumps(sent.data)) > 500
        message = "This model's maximum context length is 4096 tokens."
        return error(400, message, "context_length_exceeded", "messages") if is_long else toy_rule(sent)

    with LLMServer(rule) as server:
        words = (*JUDGE, "--model", "tester", "--base-url", server.url)
        out = printed(run_here(folder, *words, environment=KEY)).splitlines()
        assert len(server.sent) == 4  # the claims, and the passages all at once and in two halves
        assert out[2] == "Faithfulness   0.5000"
        assert out[-2:] == [
            "note: 1 request was too long, so its texts were divided.",
            "verdicts.jsonl: 4 calls, 0 failed, 300 tokens in, 30 out",
        ]
        assert "0 calls (4 more were in the file)" in printed(run_here(folder, *words, environment=KEY))
        assert len(server.sent) == 4
    assert good(folder, *JUDGE, "--replay").splitlines()[:3] == out[:3]
    [calls] = [line.split() for line in good(folder, "verdicts", "verdicts.jsonl").splitlines() if "support/" in line]
    assert calls[2:] == ["3", "0", "200", "20"]


def test_an_estimate_needs_neither_a_model_nor_an_output(folder: Path) -> None:
    words = ("judge", "rag.jsonl", "--task", "claims", "--estimate", "--price-in", "1", "--price-out", "2")
    assert "no gold answers" in mistake(folder, *words)
    out = good(folder, *words[:3], "context", *words[4:])
    assert out.splitlines()[0].split("  ")[-1].strip() == "cost"
    assert [*folder.iterdir()] == [folder / "rag.jsonl"]


def test_unjudged_documents_are_estimated(folder: Path) -> None:
    run = next(iter(demo.runs().values()))
    folder_of = demo.TRUTH.parent
    words = ("judge", demo.TRUTH, run, "--task", "relevance", "--estimate")
    texts = ("--queries", folder_of / "questions.jsonl", "--corpus", folder_of / "corpus.jsonl")
    assert int(good(folder, *words, *texts).splitlines()[2].split()[0]) > 0
    assert "a judge reads the texts of the queries" in mistake(folder, *words)
    assert "all documents in the top 1 are judged already" in mistake(folder, *words, "--depth", "1", *texts)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rag.jsonl", "--task", "support", "-o", "v.jsonl"], "no model is given. Use --model NAME"),
        (["rag.jsonl", "--task", "support", "--model", " ", "--replay", "-o", "v.jsonl"], "no model is given"),
        (["rag.jsonl", "--model", "m", "-o", "v.jsonl"], "neither a task nor a rubric is given"),
        (["rag.jsonl", "--task", "suport", "--model", "m", "-o", "v.jsonl"], "--task suport is not one of"),
        (["rag.jsonl", "--task", "support", "--task", "support", "--estimate"], "--task support is given twice"),
        (
            ["rag.jsonl", "--task", "relevance", "--task", "support", "--task", "context", "--estimate"],
            "the task relevance is about documents of runs, and support and context are about results",
        ),
        (["rag.jsonl", "--task", "relevance", "--estimate"], "To judge the passages in results, use --task context."),
        (
            ["rag.jsonl", "rag.jsonl", "--task", "relevance", "--estimate"],
            "rag.jsonl: these are results, and the documents that are judged are those of ground truth and runs.",
        ),
        (["rag.jsonl", "--task", "support", "--ties", "trec", "--estimate"], "--ties needs --task relevance"),
        (["rag.jsonl", "--task", "support", "--model", "m"], "--verdicts is missing"),
        (["rag.jsonl", "--task", "support", "--model", "m", "-o", "rag.jsonl"], "the output file is also an input"),
        (["rag.jsonl", "--task", "support", "--model", "m", "-o", "-"], "takes a file, not standard output"),
        (["rag.jsonl", "--task", "support", "--model", "m", "-o", "s3://b/v.jsonl"], "remote"),
        (
            ["rag.jsonl", "--task", "support", "--depth", "5", "--estimate"],
            "--depth 5 has no effect on",
        ),
        (["rag.jsonl", "--depth", "5", "--estimate"], "neither a task nor a rubric is given"),
        (["rag.jsonl", "--task", "relevance", "--system", "a", "--estimate"], "--system a has no effect on"),
        (
            ["rag.jsonl", "--task", "support", "--column", "doc=d", "--estimate"],
            "--column names a column of truth and run",
        ),
        (["rag.jsonl", "--task", "support", "--samples", "0", "--estimate"], "--samples 0 is not a whole number"),
        (["rag.jsonl", "--task", "support", "--max-cost", "1", "--estimate"], "--max-cost 1 needs prices"),
        (
            ["rag.jsonl", "--task", "support", "--price-in", "1", "--estimate"],
            "such as --price-in 0.4 and --price-out 1.6",
        ),
        (
            ["rag.jsonl", "--task", "support", "--model", "m", "--base-url", "localhost:9", "-o", "v.jsonl"],
            "--base-url localhost:9 is not an address",
        ),
        (["rag.jsonl", "--task", "support", "--max-calls", "-1", "--estimate"], "--max-calls -1"),
        (["rag.jsonl", "--task", "support", "--replay", "-o", "v.jsonl"], "v.jsonl: no such file"),
        (["rag.jsonl", "--rubric", "rag.jsonl", "--estimate"], "rag.jsonl: not JSON"),
        (["no.jsonl", "--task", "support", "--estimate"], "no.jsonl: no such file"),
        (["rag.jsonl", "--task", "support", "--prompts", ".", "--estimate"], "the folder has no prompts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_and_leave_no_file(folder: Path, words: list[str], message: str) -> None:
    assert message in mistake(folder, "judge", *words)
    assert [*folder.iterdir()] == [folder / "rag.jsonl"]


def test_whether_answers_address_the_question_needs_only_questions_and_answers(folder: Path) -> None:
    answers = [{"query": "q1", "question": "How hard?", "answer": "Soft."}, {"query": "q2", "answer": " "}]
    (folder / "rag.jsonl").write_text("".join(json.dumps(record) + "\n" for record in answers))
    with LLMServer(toy_rule) as server:
        words = ("judge", "rag.jsonl", "--task", "answer_relevance", "-o", "verdicts.jsonl", "--model", "m")
        out = printed(run_here(folder, *words, "--base-url", server.url, environment=KEY))
    assert [sent.data for sent in server.sent] == [{"question": "How hard?", "answer": "Soft."}]
    table = ["measure              rag", "────────────────────────", "AnswerRelevance   0.2500", "2 queries"]
    assert out.splitlines()[:4] == table
    assert good(folder, "evaluate", "rag.jsonl", "--verdicts", "verdicts.jsonl").splitlines() == table


def test_a_server_that_gives_no_reply_is_an_error_with_status_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.grounding.judges.sending._FIRST_WAIT", 0.001)
    with LLMServer(lambda _: error(500, "out of order")) as server:
        done = run_here(folder, *JUDGE, "--model", "m", "--base-url", server.url, environment=KEY)
        assert len(server.sent) == 6
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "karat: the server has not given a single reply: status 500: out of order\n"


def test_a_model_that_refuses_is_said_to_refuse(folder: Path) -> None:
    refusal = completion({"role": "assistant", "content": None, "refusal": "I cannot help with that."})
    with LLMServer(lambda _: refusal) as server:
        done = run_here(folder, *JUDGE, "--model", "m", "--base-url", server.url, environment=KEY)
    assert done.returncode == 1
    assert "note: 2 calls failed: The model refused to reply. With --retry-failed" in done.stdout
    assert "I cannot help with that." in (folder / "verdicts.jsonl").read_text()


def test_a_key_instead_of_the_name_of_its_variable_is_not_shown(folder: Path) -> None:
    out = mistake(folder, *JUDGE, "--model", "m", "--api-key-env", "sk-proj-Zm9vYmFyYmF6cXV4")
    assert "--api-key-env is not the name of an environment variable. Put the key into a variable" in out
    assert "Zm9v" not in out


def test_a_limit_of_cost_needs_a_server_that_accepts_a_limit_of_tokens(folder: Path) -> None:
    def rule(sent: Sent) -> object:
        limits = [name for name in sent.body if name.startswith("max_")]
        return error(400, f"Unsupported parameter: {limits[0]}", param=limits[0]) if limits else toy_rule(sent)

    with LLMServer(rule) as server:
        words = (*JUDGE, "--model", "m", "--base-url", server.url, "--max-tokens-total", "100000")
        done = run_here(folder, *words, environment=KEY)
    assert done.returncode == 2
    assert done.stderr == (
        "karat: the server accepts no limit of tokens, neither max_tokens nor max_completion_tokens. What a reply costs"
        " has no limit then. Use another model, or instead of --max-tokens-total and --max-cost limit the number of"
        " requests: --max-calls.\n"
    )
