"""Benchmark task on language-model judges: the faithfulness of answers, by a server that takes 200 ms for each reply.

The server (tests/llm_server.py) is a process of its own: python benchmarks/judge_tasks.py prints its address, and
serves until its standard input is closed. The clock starts after the imports, and after one question was asked.
"""

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from component_tasks import Means
from sizes import FULL, Size

TASKS = ("judge",)
SECONDS = 0.2
AT_ONCE = 8
STATEMENTS = 4


def prepared(library: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    url = started_server()
    evaluator = haystack(url) if library == "haystack-ai" else karat(url)
    number = judged(size)
    inputs: dict[str, list[Any]] = {
        "questions": [f"What is fact number {at}?" for at in range(number)],
        "contexts": [["Gold is soft.", "Silver is shiny."]] * number,
        "predicted_answers": [f"Fact number {at} is that gold is soft." for at in range(number)],
    }
    evaluator.run(**{name: values[:1] for name, values in inputs.items()})
    return lambda: {"Faithfulness": float(evaluator.run(**inputs)["score"])}


def judged(size: Size) -> int:
    return 200 if size is FULL else 40


def karat(url: str) -> Any:
    module = importlib.import_module("karat.components.evaluators")
    return module.FaithfulnessEvaluator(model="tester", base_url=url, concurrency=AT_ONCE, progress_bar=False)


def haystack(url: str) -> Any:
    generators: Any = importlib.import_module("haystack.components.generators.chat")
    key = importlib.import_module("haystack.utils").Secret.from_token("not-needed")
    generator = generators.OpenAIChatGenerator(key, model="tester", api_base_url=url)
    module: Any = importlib.import_module("haystack.components.evaluators")
    return module.FaithfulnessEvaluator(chat_generator=generator, progress_bar=False)


def started_server() -> str:
    """The address of a server that ends with this process."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    return process.stdout.readline().strip()


def reply(sent: Any) -> dict[str, Any]:
    """The statements of an answer, of which some can be inferred: it depends on the number of the fact."""
    text = sent.body["messages"][-1]["content"]
    number = int(re.findall(r"fact number (\d+)", text)[-1])
    scores = [int(at < number % (STATEMENTS + 1)) for at in range(STATEMENTS)]
    return {"statements": [f"Statement {at}." for at in range(STATEMENTS)], "statement_scores": scores}


def serve() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    server: Any = importlib.import_module("tests.llm_server")
    with server.LLMServer(reply, delay=SECONDS) as running:
        print(running.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve()
