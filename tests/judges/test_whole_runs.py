"""Whole runs of a judge against a server: failures, limits, replays, and a key that nobody sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import karat
from karat.grounding.verdict_file.call_counts import count_calls
from karat.grounding.verdict_file.reading import read_verdict_records
from tests.judges.commands import KEY, MODEL, PATIENCE, judge_words, results_file, run, toy_rule
from tests.llm_server import LLMServer, Sent, error, reply


def number_of(sent: Sent) -> int:
    """The number of the question that a request is about."""
    return int(sent.data["question"].split()[-1].rstrip("?"))


def test_a_thousand_questions_of_which_five_percent_of_the_calls_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claims of 50 answers cannot be extracted, and those of 50 others cannot be judged."""
    n = 1000
    unclaimed, unjudged = range(13, n, 20), range(7, n, 20)

    def rule(sent: Sent) -> Any:
        is_failing = number_of(sent) in (unjudged if "items" in sent.data else unclaimed)
        return "I would rather not say." if is_failing else toy_rule(sent)

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    results, path = results_file(tmp_path, n), tmp_path / "verdicts.jsonl"
    with LLMServer(rule) as server:
        words: dict[str, Any] = {"task": "faithfulness", "model": MODEL, "base_url": server.url, "timeout": PATIENCE}
        judging = karat.judge(results, verdicts=path, **words)
        assert len(server.sent) == n + (n - 50) + 100  # what cannot be understood is asked once more
    assert (judging.usage.done, judging.usage.failed) == (n - 50 + n - 100, 100)
    known = {f"q{at}": 0.5 if at % 3 else 1.0 for at in range(n) if at not in (*unclaimed, *unjudged)}
    scores = judging.scores("Faithfulness")
    values = dict(zip(scores.queries, scores.values["Faithfulness"].tolist(), strict=True))
    assert {query: value for query, value in values.items() if value == value} == known
    assert scores["Faithfulness"] == pytest.approx(sum(known.values()) / 900)
    assert scores.bounds("Faithfulness").mean == pytest.approx(
        (sum(known.values()) / n, (sum(known.values()) + 100) / n)
    )
    with LLMServer(toy_rule) as server:
        again = karat.judge(results, verdicts=path, retry_failed=True, **{**words, "base_url": server.url})
        assert (len(server.sent), again.usage.failed) == (150, 0)  # 50 answers have claims only now
    assert again.scores("Faithfulness").bounds("Faithfulness").mean == pytest.approx((0.667, 0.667))


@pytest.mark.parametrize("task", ["faithfulness", "claims", "nuggets", "coverage", "citations", "context"])
def test_the_next_run_finds_in_the_file_as_many_calls_as_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """Also if systems share calls, replies are not understood at first or at all, and claims were extracted before."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    results, path = results_file(tmp_path, 6), tmp_path / "verdicts.jsonl"
    other = tmp_path / "other.jsonl"
    other.write_text(results.read_text("utf-8").replace("Iron", "Tin"), "utf-8")

    def rule(sent: Sent) -> Any:
        is_failing = number_of(sent) == 2 and {"passages", "items"} & {*sent.data}
        is_repeated = number_of(sent) == 4 and len(sent.body["messages"]) == 2
        return "I would rather not say." if is_failing or is_repeated else toy_rule(sent)

    with LLMServer(rule) as server:
        options: dict[str, Any] = {"task": task, "model": MODEL, "verdicts": path, "timeout": PATIENCE}
        first = karat.judge(results, other, base_url=server.url, **options).usage
        asked = {json.dumps(sent.body["messages"][:2]) for sent in server.sent}  # the others say what was wrong
        assert first.requests == len(server.sent) > first.calls == len(asked)
        again = karat.judge(results, other, base_url=server.url, **options).usage
        assert first.requests == len(server.sent)
    assert first.failed > 0
    assert (first.known, again.calls, again.requests) == (0, 0, 0)
    assert (again.known, again.done, again.failed) == (first.calls, first.done, first.failed)
    replayed = karat.judge(results, other, replay=True, **options).usage
    assert (replayed.known, replayed.failed) == (first.calls, first.failed)
    estimate = karat.estimate_judging(results, other, **options)
    assert (estimate.calls, estimate.known) == (0, first.calls)
    assert sum(each.calls for each in count_calls(read_verdict_records(path).calls)) == first.calls


def test_a_budget_stops_a_judge_and_the_rest_is_unknown(tmp_path: Path) -> None:
    results, path = results_file(tmp_path, 20), tmp_path / "verdicts.jsonl"
    with LLMServer(toy_rule) as server:
        words = judge_words(results, path, server.url, "--max-calls", 25)
        done = run(*words)
        assert (done.returncode, len(server.sent)) == (0, 25)
        assert "25 calls, 0 failed" in done.stdout
        assert "not asked" in done.stdout
        assert " to " in done.stdout.splitlines()[2]
        done = run(*judge_words(results, path, server.url))
        assert (done.returncode, len(server.sent)) == (0, 40)
    assert " to " not in done.stdout


def test_a_replay_needs_neither_a_key_nor_openai_nor_a_network(tmp_path: Path) -> None:
    results, path = results_file(tmp_path, 3), tmp_path / "verdicts.jsonl"
    with LLMServer(toy_rule) as server:
        judged = run(*judge_words(results, path, server.url))
    before = path.read_bytes()
    code = (
        "import socket, sys\nsys.modules['openai'] = sys.modules['httpx'] = None\nsocket.socket.connect = None\n"
        "sys.argv[0] = 'karat'\nfrom karat.cli import main\nmain()"
    )
    words = ["judge", results, "--task", "faithfulness", "-o", path, "--replay"]
    replayed = run(*words, key=None, program=["-c", code])
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout.splitlines()[:-1] == judged.stdout.splitlines()[:-1]
    results_file(tmp_path, 4)
    missed = run(*words, key=None)
    assert (missed.returncode, missed.stdout) == (2, "")
    assert "1 of 7 calls is not in the file; the first is claims/2 about query q3, system rag." in missed.stderr
    assert path.read_bytes() == before


def test_the_key_is_in_no_file_output_or_error(tmp_path: Path) -> None:
    """The server repeats the key in errors, and replies in every way that is not understood."""
    results = results_file(tmp_path, 4)
    outputs = []

    def leaking(status: int) -> Any:
        return lambda sent: error(status, f"the key {sent.headers['authorization']} is {KEY}, which is wrong")

    rules = {
        "good": toy_rule,
        "refused": leaking(401),
        "forbidden": leaking(403),
        "invalid": leaking(400),
        "unknown": leaking(404),
        "prose": lambda _: "I would rather not say.",
        "empty": lambda _: reply(""),
    }
    for name, rule in rules.items():
        with LLMServer(rule) as server:
            words = judge_words(results, tmp_path / f"{name}.jsonl", server.url)
            done = run(*words)
            assert {each.headers["authorization"] for each in server.sent} == {f"Bearer {KEY}"}
            outputs += [done.stdout, done.stderr]
    assert "karat: " in "".join(outputs)
    written = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()]
    assert len(written) >= 4
    for secret in (KEY, KEY.removeprefix("sk-"), KEY[-12:]):
        assert secret not in "".join(outputs)
        assert not any(secret.encode() in content for content in written)
