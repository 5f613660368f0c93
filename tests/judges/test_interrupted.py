"""A judge that is killed at any point: nothing that was written is asked again, and the result is the same."""

from __future__ import annotations

import json
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import karat
from tests.judges.commands import PATIENCE, judge_words, key_of, results_file, run, start, toy_rule, written_calls
from tests.llm_server import LLMServer, Rule, Sent, error

QUERIES = 40
CONCURRENCY = 4


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results_file(tmp_path_factory.mktemp("results"), QUERIES)


@pytest.fixture(scope="module")
def uninterrupted(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verdicts") / "verdicts.jsonl"
    with LLMServer(toy_rule) as server:
        done = run(*judge_words(results, path, server.url))
        assert (done.returncode, len(server.sent)) == (0, 2 * QUERIES), done.stderr
    return path


def records_of(path: Path) -> list[str]:
    """The records of a file in any order, without the calls, which are in the order of the replies."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return sorted(json.dumps(each, sort_keys=True) for each in records if each["record"] != "call")


def waiting_rule(last: int | None, is_stopped: threading.Event) -> Rule:
    """The rule of the toy judge, but the last reply waits for the signal: no judge is done before it is stopped."""

    def rule(sent: Sent) -> Any:
        assert sent.number != last or is_stopped.wait(PATIENCE)
        return toy_rule(sent)

    return rule


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_a_judge_that_is_stopped_again_and_again_asks_nothing_twice_that_was_written(
    results: Path, uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "verdicts.jsonl"
    stops = (1, 4, 11, 24, 41, 58, 73) if number == signal.SIGKILL else (3, 30)
    asked: list[str] = []
    in_flight = 0
    for stop in (*stops, None):
        known = written_calls(path)
        is_stopped = threading.Event()
        last = None if stop is None else 2 * QUERIES - len(known) - 1
        with LLMServer(waiting_rule(last, is_stopped), delay=0.01) as server:
            with start(*judge_words(results, path, server.url, "--concurrency", CONCURRENCY)) as process:
                while process.poll() is None and (stop is None or len(known) + len(server.sent) < stop):
                    time.sleep(0.001)
                if stop is not None:
                    process.send_signal(number)
                    is_stopped.set()
                out, error = process.communicate(timeout=PATIENCE)
            sent = [key_of(each) for each in server.sent]
            in_flight += CONCURRENCY
            assert server.most_at_once <= CONCURRENCY
        assert not known & {*sent}, "a call was repeated whose reply was in the file"
        assert stop is not None or process.returncode == 0, error
        if stop is not None and number != signal.SIGKILL:
            kept = f"{path} has what was judged so far: run the same command again to go on."
            # A reply may be written at the very moment of the signal.
            may_be_nothing = len(written_calls(path)) < 2
            messages = [kept, *(["Nothing was judged yet."] if may_be_nothing else [])]
            assert error in [f"karat: interrupted. {each}\n" for each in messages]
        asked += sent
    assert len(asked) - len({*asked}) <= in_flight
    assert {*asked} == written_calls(uninterrupted)
    assert records_of(path) == records_of(uninterrupted)
    values, expected = (karat.evaluate_verdicts(each) for each in (path, uninterrupted))
    assert values.to_dict() == expected.to_dict()
    replayed = run("judge", results, "--task", "faithfulness", "-o", path, "--replay", key=None)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert replayed.stdout.splitlines()[:4] == out.splitlines()[:4]


def test_a_second_process_is_refused(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    may_go_on = threading.Event()

    def rule(sent: Sent) -> Any:
        assert sent.number < 3 or may_go_on.wait(PATIENCE)
        return toy_rule(sent)

    with LLMServer(rule) as server:
        words = judge_words(results, path, server.url)
        with start(*words) as first:
            while not written_calls(path):
                time.sleep(0.01)
            second = run(*words)
            assert (second.returncode, second.stdout) == (2, "")
            assert f"{path}: process {first.pid} is writing to this file." in second.stderr
            may_go_on.set()
            first.communicate(timeout=PATIENCE)
        assert first.returncode == 0
        assert len(server.sent) == 2 * QUERIES


def test_a_full_disk_stops_with_an_error_and_the_command_can_be_repeated(
    results: Path, uninterrupted: Path, tmp_path: Path
) -> None:
    path = tmp_path / "verdicts.jsonl"
    size = uninterrupted.stat().st_size // 2

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with LLMServer(toy_rule) as server:
        words = judge_words(results, path, server.url)
        full = run(*words, preexec_fn=limit_files)
        assert full.returncode == 2
        assert f"{path}: cannot be written: File too large. What was written before is complete." in full.stderr
        assert path.read_bytes().endswith(b"\n")
        known = written_calls(path)
        assert len(known) > 5
        before = len(server.sent)
        assert run(*words).returncode == 0
        assert not known & {key_of(each) for each in server.sent[before:]}
    assert records_of(path) == records_of(uninterrupted)


def long_results(folder: Path, queries: int) -> Path:
    """Results with eight passages, of which a model reads four at a time."""
    path = folder / "rag.jsonl"
    rows = [
        {
            "query": f"q{at}",
            "question": f"How hard is metal {at}?",
            "retrieved": [f"Metal {other} of shelf {at} is soft." for other in range(8)],
            "answer": f"Metal 2 of shelf {at} is soft. Metal 7 of shelf {at} is soft. Metal 9 of shelf {at} is hard.",
        }
        for at in range(queries)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def small_rule(sent: Sent) -> Any:
    """The rule of the toy judge with a small context window."""
    is_long = len(json.dumps(sent.data)) > 650
    return error(400, "This model's maximum context length is 4096 tokens.") if is_long else toy_rule(sent)


def test_a_judge_of_long_texts_that_is_killed_again_and_again_joins_the_same_labels(tmp_path: Path) -> None:
    queries = 8
    results, path, whole = long_results(tmp_path, queries), tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    with LLMServer(small_rule) as server:
        assert run(*judge_words(results, whole, server.url)).returncode == 0
        assert len(server.sent) == 4 * queries  # the claims, all passages, and two halves
    sent = 0
    for stop in (6, 13, 21, None):
        with LLMServer(small_rule, delay=0.01) as server:
            with start(*judge_words(results, path, server.url, "--concurrency", CONCURRENCY)) as process:
                while process.poll() is None and (stop is None or sent + len(server.sent) < stop):
                    time.sleep(0.001)
                if stop is not None:
                    process.kill()
                _, problem = process.communicate(timeout=PATIENCE)
            sent += len(server.sent)
        assert stop is not None or process.returncode == 0, problem
    assert 4 * queries <= sent <= 4 * queries + 3 * CONCURRENCY
    assert records_of(path) == records_of(whole)
    assert written_calls(path) == written_calls(whole)
    replayed = run("judge", results, "--task", "faithfulness", "-o", path, "--replay", key=None)
    assert (replayed.returncode, replayed.stderr) == (0, "")
