"""`karat judge` as a process that talks to a server, which replies by the words of texts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from karat.grounding.judges.prompts import load_prompts
from karat.grounding.judges.requests import ModelRequest, ModelSettings, ReadReply
from tests.llm_server import Sent
from tests.unit.judges.toy_judge import toy_reply

KEY = "sk-karat-tests-0123456789abcdef"
MODEL = "tester"
PATIENCE = 300
"""seconds to wait for what comes, however slow the machine is"""
_PROMPTS = {prompt.text: prompt for prompt in load_prompts().values()}


def toy_rule(sent: Sent) -> Any:
    """The reply of the toy judge."""
    return toy_reply(_PROMPTS[sent.prompt].name, sent.data)


def key_of(sent: Sent) -> str:
    """The key of the call that a request was sent for."""
    body = sent.body
    schema = body["response_format"]["json_schema"]["schema"]
    request = ModelRequest(_PROMPTS[sent.prompt].id, tuple(body["messages"]), schema, ReadReply)
    return ModelSettings(MODEL, body["temperature"], body["seed"], 2048).key(request)


def written_calls(path: Path) -> set[str]:
    """The keys of the calls that are in a verdict file."""
    content = path.read_bytes() if path.exists() else b""
    records = [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines() if line]
    return {record["key"] for record in records if record["record"] == "call"}


def results_file(folder: Path, queries: int) -> Path:
    """Results whose answers have two claims: both are in the passages if the number of the query is divisible by 3."""
    path = folder / "rag.jsonl"
    rows = [
        {
            "query": f"q{at}",
            "question": f"How hard is metal {at}?",
            "retrieved": [f"Metal {at} is soft.", "Gold is soft."],
            "answer": f"Metal {at} is soft [1]. {f'Iron {at} is hard' if at % 3 else 'Gold is soft'}.",
            "gold_answers": [f"Metal {at} is soft."],
        }
        for at in range(queries)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def start(
    *words: object, key: str | None = KEY, program: Sequence[str] = ("-m", "karat"), **options: Any
) -> subprocess.Popen[str]:
    """Start `karat`, with a key in the environment."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    environment |= {"NO_COLOR": "1"} | ({} if key is None else {"OPENAI_API_KEY": key})
    command = [sys.executable, *program, *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )


def run(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `karat` to its end."""
    with start(*words, **options) as process:
        out, error = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


def judge_words(results: Path, verdicts: Path, url: str, *more: object) -> Sequence[object]:
    """The words of a command that judges faithfulness."""
    words = ("judge", results, "--task", "faithfulness", "--model", MODEL, "--base-url", url, "-o", verdicts)
    return (*words, "--timeout", PATIENCE, *more)
