"""Hints of errors about logs are commands that work: each is run, until one succeeds. None leads to an earlier error.

Logs are odd in one way or another: fields have other names or are inside others, answers are objects or messages, gold
is missing. Where nothing can be done with a log, its error has no command.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.in_process import Done, run_here
from tests.judges.commands import KEY, toy_rule
from tests.llm_server import LLMServer

QUESTIONS = ("How soft is gold?", "Does gold rust?", "What is 18-karat gold?")
COMMAND = re.compile(r"`(karat [^`]*)`")
MOST_STEPS = 4
EVALUATE = ("evaluate", "log")
JUDGE = ("judge", "log", "--task", "faithfulness", "--model", "NAME", "--verdicts", "verdicts.jsonl")
TEMPLATE = ("verdicts", "template", "log", "--task", "faithfulness", "-o", "sheet.csv")
DOCS = [{"id": "d1", "text": "Gold is very soft."}, {"id": "d2", "text": "Iron rusts in wet air."}]
PASSAGES = ["Gold is very soft.", "Iron rusts in wet air."]
CHAT = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Gold is soft."}]


def lines(**fields: Any) -> str:
    """Records in JSON lines, each with a question of its own in place of `?`."""
    return "".join(f"{json.dumps(record)}\n" for record in records(**fields))


def records(**fields: Any) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(fields).replace('"?"', json.dumps(question))) for question in QUESTIONS]


def table(**fields: Any) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, fields)
    writer.writeheader()
    writer.writerows(records(**fields))
    return file.getvalue()


LOGS: dict[str, tuple[str, Sequence[str]]] = {
    # Other names.
    "a query and documents with other names": (lines(ask="?", chunks=PASSAGES, gold_chunks=PASSAGES[:1]), EVALUATE),
    "retrieved documents with another name": (lines(query="?", truth=["d1"], found_docs=["d2", "d1"]), EVALUATE),
    "gold documents with another name": (lines(query="?", relevant_ids=["d1"], retrieved=["d1"]), EVALUATE),
    "answers with other names": (lines(query="?", ideal_answer="Soft.", model_answer="Soft."), EVALUATE),
    "a gold answer with another name": (lines(query="?", ideal="Soft.", answer="Soft."), EVALUATE),
    "all names with a prefix": (lines(my_query="?", my_truth=["d1"], my_retrieved=["d1"]), EVALUATE),
    "names with blanks": ('{"the question": "q1", "gold docs": ["d1"], "found docs": ["d1"]}\n', EVALUATE),
    "names in another language": (lines(frage="?", dokumente=DOCS, gold=["d1"]), EVALUATE),
    "names with quotation marks": (lines(**{"query": "?", "gold's": ["d1"], "docs found": ["d1"]}), EVALUATE),
    # Inside others.
    "fields inside an object": (lines(out={"docs": DOCS, "text": "Soft."}, gold=["d1"], ask="?"), EVALUATE),
    "documents deep inside": (lines(query="?", truth=["d1"], run={"step": {"search": {"hits": DOCS}}}), EVALUATE),
    "an answer deep inside": (lines(query="?", expected="Soft.", output={"message": {"answer": "Soft."}}), EVALUATE),
    "an answer in a list of choices": (
        lines(query="?", reference="Soft.", choices=[{"message": {"content": "Soft."}}]),
        EVALUATE,
    ),
    "gold inside an object": (lines(query="?", retrieved=["d1"], gold={"docs": ["d1"]}), EVALUATE),
    "gold answers inside an object": (lines(query="?", answer="Soft.", expected={"answer": "Soft."}), EVALUATE),
    "a query inside an object": (lines(truth=["d1"], retrieved=["d1"], request={"id": "?"}), EVALUATE),
    # Answers that are not texts.
    "an answer as an object": (lines(query="?", answer={"text": "Soft."}, gold_answers=["Soft."]), EVALUATE),
    "an answer as messages": (lines(query="?", answer=CHAT, gold_answers=["Soft."]), EVALUATE),
    "a gold answer as an object": (lines(query="?", answer="Soft.", gold_answers={"value": "Soft."}), EVALUATE),
    "gold documents as objects": (lines(query="?", retrieved=["d1"], golden=[{"id": "d1"}]), EVALUATE),
    # Without gold.
    "only answers": (lines(query="?", answer="Gold is soft."), EVALUATE),
    "only answers with another name": (lines(query="?", bot_answer="Gold is soft."), EVALUATE),
    "only retrieved documents": (lines(query="?", retrieved=DOCS), EVALUATE),
    "only retrieved documents with another name": (lines(query="?", sources_found=DOCS), EVALUATE),
    "answers and retrieved documents": (lines(query="?", answer="Gold is soft.", retrieved=PASSAGES), EVALUATE),
    "answers and documents with other names": (lines(ask="?", reply_text="Gold is soft.", chunks=DOCS), EVALUATE),
    "a log of ragas without gold": (
        lines(user_input="?", retrieved_contexts=PASSAGES, response="Gold is soft."),
        EVALUATE,
    ),
    "null gold": (lines(query="?", truth=None, retrieved=DOCS), EVALUATE),
    "null gold and another one": (lines(query="?", truth=None, relevant_docs=["d1"], retrieved=DOCS), EVALUATE),
    # Wrong names.
    "a wrong name of retrieved documents": (
        lines(query="?", truth=["d1"], retrieved=["d1"]),
        (*EVALUATE, "--field", "retrieved=docs"),
    ),
    "a misspelt name": (lines(query="?", truth=["d1"], my_nodes=["d1"]), (*EVALUATE, "--field", "retrieved=my_node")),
    "a wrong name of the answer": (
        lines(query="?", truth=["d1"], retrieved=["d1"], answer="Soft.", gold_answers="Soft."),
        (*EVALUATE, "--field", "answer=nope"),
    ),
    "a wrong name and a right one": (
        lines(q="?", truth=["d1"], found=DOCS),
        (*EVALUATE, "--field", "query=q", "--field=retrieved=nope"),
    ),
    "a wrong name in the log of a tool": (
        lines(user_input="?", retrieved_contexts=PASSAGES, reference_contexts=PASSAGES, response="Soft."),
        (*EVALUATE, "--field", "retrieved=contexts"),
    ),
    "a wrong name of a part of documents": (
        lines(query="?", truth=["d1"], retrieved=[{"uri": "d1", "body": "Gold is soft."}]),
        (*EVALUATE, "--field", "retrieved.id=url"),
    ),
    # Other formats.
    "CSV": (table(ask="?", model_answer="Soft.", ideal_answer="Soft."), EVALUATE),
    "CSV with lists": (table(ask="?", passages_found="['a b', 'c d']", gold_passages="['a b']"), EVALUATE),
    "a JSON array": (json.dumps(records(ask="?", found_docs=DOCS, gold_ids=["d1"])), EVALUATE),
    "records in an object": (json.dumps({"run": {"rows": records(ask="?", hits=DOCS, gold_ids=["d1"])}}), EVALUATE),
    "records in one of two lists": (
        json.dumps({"a": records(query="?", retrieved=["d1"], truth=["d1"]), "b": records(query="?", answer="Soft.")}),
        EVALUATE,
    ),
    # Other commands.
    "judge: an answer with another name": (lines(query="?", said="Soft.", reply="Soft.", retrieved=PASSAGES), JUDGE),
    "judge: fields inside an object": (lines(ask="?", out={"answer": "Soft.", "docs": DOCS}), JUDGE),
    "judge: no documents": (lines(query="?", answer="Soft."), JUDGE),
    "judge: no answers": (lines(query="?", retrieved=PASSAGES), JUDGE),
    "judge: a wrong name": (
        lines(query="?", answer="Soft.", retrieved=PASSAGES),
        (*JUDGE, "--field", "retrieved=nope"),
    ),
    "judge: an answer as an object": (lines(query="?", answer={"content": "Soft."}, retrieved=PASSAGES), JUDGE),
    "template: fields inside an object": (lines(ask="?", out={"answer": "Soft [1].", "docs": DOCS}), TEMPLATE),
    "template: no answers": (lines(query="?", retrieved=PASSAGES), TEMPLATE),
    "report: fields inside an object": (
        lines(out={"docs": DOCS}, gold=["d1"], ask="?"),
        ("report", "log", "-o", "report.html"),
    ),
    "gate: fields inside an object": (
        lines(out={"docs": DOCS}, gold=["d1"], ask="?"),
        ("gate", "log", "--min", "RR=0"),
    ),
    "compare: fields inside an object": (
        lines(out={"docs": DOCS}, gold=["d1"], ask="?"),
        ("compare", "log", "log2", "-m", "RR"),
    ),
    "diff: fields inside an object": (
        lines(out={"docs": DOCS}, gold=["d1"], ask="?"),
        ("diff", "log", "log2", "-m", "RR"),
    ),
}  # fmt: skip

HOPELESS: dict[str, str] = {
    "nothing but ids": lines(id="?"),
    "empty objects": "{}\n{}\n",
    "numbers": lines(a=1, b=2.5),
    "gold answers that are numbers": lines(query="?", gold_answers=7, retrieved=None),
    "gold without outputs": lines(query="?", gold_answers=["Soft."]),
}


class Follower:
    """Runs a command, and then what its hint says, again and again."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.errors: list[str] = []

    def run(self, words: Sequence[str]) -> Done:
        more = ("--base-url", self.url) if words[0] == "judge" and "--base-url" not in words else ()
        filled = [{"NAME": "tester", "GOLD": "gold.jsonl"}.get(word, word) for word in words]
        return run_here(self.folder, *filled, *more, environment={"OPENAI_API_KEY": KEY})

    def follow(self, words: Sequence[str]) -> Done:
        done = self.run(words)
        for _ in range(MOST_STEPS):
            if done.returncode != 2:
                return done
            assert done.stderr not in self.errors, f"the hint leads back: {self.errors}"
            self.errors.append(done.stderr)
            commands = [shlex.split(text)[1:] for text in COMMAND.findall(done.stderr)]
            commands = [command for command in commands if command[0] != "look"]
            if not commands:
                return done
            done = self.run(commands[0])
        return done


def written(folder: Path, text: str, words: Sequence[str]) -> list[str]:
    """The words of a command on a log, which is written to a file."""
    suffix = ".csv" if text.startswith("ask,") else ".json" if text[0] in "[{" and "\n" not in text else ".jsonl"
    names: Mapping[str, str] = {"log": f"log{suffix}", "log2": f"log2{suffix}"}
    for name in names.values():
        (folder / name).write_text(text, "utf-8")
    return [names.get(word, word) for word in words]


@pytest.mark.parametrize("name", LOGS)
def test_the_command_in_a_hint_succeeds(name: str, tmp_path: Path) -> None:
    text, words = LOGS[name]
    with LLMServer(toy_rule) as server:
        follower = Follower(tmp_path, server.url)
        done = follower.follow(written(tmp_path, text, words))
    assert done.returncode == 0, [*follower.errors, done.stderr]
    assert len(follower.errors) <= 2
    assert all("..." not in error and "`karat look log" in error for error in follower.errors), follower.errors


WITHOUT_GOLD = [name for name in LOGS if name.startswith(("only ", "answers and ", "a log of ragas"))]


@pytest.mark.parametrize("name", WITHOUT_GOLD)
def test_gold_in_another_file_is_added_by_the_command_in_the_hint(name: str, tmp_path: Path) -> None:
    text, words = LOGS[name]
    gold = [{"query": question, "truth": ["d1", *PASSAGES], "gold_answers": ["Soft."]} for question in QUESTIONS]
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in gold), "utf-8")
    follower = Follower(tmp_path, "")
    error = follower.run(written(tmp_path, text, words)).stderr
    [command] = [text for text in COMMAND.findall(error) if "GOLD" in text]
    done = follower.run(shlex.split(command)[1:])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", HOPELESS)
def test_where_nothing_can_be_done_the_error_says_what_is_missing_and_has_no_other_command(
    name: str, tmp_path: Path
) -> None:
    follower = Follower(tmp_path, "")
    done = follower.follow(written(tmp_path, HOPELESS[name], EVALUATE))
    assert done.returncode == 2
    assert len(follower.errors) == 1
    assert "..." not in done.stderr
