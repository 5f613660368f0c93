"""`karat judge --examples` against a server: from labels by people to an agreement without their queries."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from karat.grounding.judges.prompts import load_prompts
from tests.judges.commands import judge_words, results_file, run
from tests.llm_server import LLMServer, Sent
from tests.unit.judges.toy_judge import toy_reply

_PROMPTS = load_prompts()


def rule(sent: Sent) -> Any:
    """The reply of the toy judge, who does not read examples."""
    [name] = {name for name, prompt in _PROMPTS.items() if sent.prompt.startswith(prompt.text)}
    return toy_reply(name, sent.data)


def labels_of(path: Path) -> list[dict[str, Any]]:
    return [record for record in map(json.loads, path.read_text("utf-8").splitlines()) if record["record"] == "verdict"]


def test_claims_that_people_labelled_become_examples_and_their_queries_are_left_out(tmp_path: Path) -> None:
    results, first, people = results_file(tmp_path, 30), tmp_path / "first.jsonl", tmp_path / "people.jsonl"
    with LLMServer(rule) as server:
        assert run(*judge_words(results, first, server.url)).returncode == 0
        items = [line for line in first.read_text("utf-8").splitlines(keepends=True) if '"type":"claim"' in line]
        by_people = [{**label, "by": "human:ann"} for label in labels_of(first)]
        for label in by_people:
            del label["call"]
        people.write_text("".join([*items, *(f"{json.dumps(label)}\n" for label in by_people)]), "utf-8")
        asked = len(server.sent)

        second = tmp_path / "second.jsonl"
        words = judge_words(results, second, server.url, "--examples", people)
        done = run(*words)
        assert done.returncode == 0, done.stderr
        assert "note: 5 labels by people are examples in the prompts; they were chosen from " in done.stdout
        sent = [each for each in server.sent[asked:] if "items" in each.data]
        assert len(sent) == 30
        [shown] = {json.dumps(each.data["examples"]) for each in sent}
        assert {label["reply"]["labels"][0]["label"] for label in json.loads(shown)} == {"full", "none"}
        assert not any("examples" in each.data for each in server.sent[asked:] if each not in sent)  # of claims

        asked = len(server.sent)
        assert "0 calls (60 more were in the file)" in run(*words).stdout
        assert "60 calls (0" not in run(*words, "--replay").stdout
        assert len(server.sent) == asked
    calls = [json.loads(line) for line in second.read_text("utf-8").splitlines() if '"record":"call"' in line]
    [queries] = {tuple(call["examples"]) for call in calls if call["prompt"].startswith("support")}
    assert not any("examples" in call for call in calls if call["prompt"].startswith("claims"))
    agreement = run("verdicts", "agreement", second, people).stdout
    assert f"note: {len(queries)} queries left out, from which the examples for tester were chosen." in agreement
    assert re.search(rf"^tester +support +{2 * (30 - len(queries))} +{30 - len(queries)} ", agreement, re.MULTILINE)


def test_examples_may_be_in_several_files_and_what_cannot_be_one_is_an_error(tmp_path: Path) -> None:
    results, path = results_file(tmp_path, 6), tmp_path / "verdicts.jsonl"
    about = {"record": "verdict", "system": "rag", "task": "correctness", "item": "answer", "label": "correct"}
    files = []
    for at in range(2):
        files.append(tmp_path / f"person{at}.jsonl")
        files[at].write_text(json.dumps({**about, "query": f"q{at}", "by": f"human:{at}"}) + "\n", "utf-8")
    words = ["judge", results, "--model", "tester", "--estimate", "--task"]
    estimated = run(*words, "correctness", "--examples", files[0], "--examples", files[1], key=None)
    assert "note: 2 labels by people are examples in the prompts; they were chosen from 2 queries" in estimated.stdout
    wrong = run(*words, "abstention", "--examples", files[0], "--examples", files[1], "-o", path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "for the task 'abstention': they labelled correctness (2 labels)" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    missing = run(*words, "correctness", "--examples", tmp_path / "nowhere.jsonl")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert not path.exists()
