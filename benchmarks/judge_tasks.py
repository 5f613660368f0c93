"""Benchmark tasks on language-model judges: by a server that takes 200 ms for each reply, and replayed from a file.

The server (tests/llm_server.py) is a process of its own: python benchmarks/judge_tasks.py prints its address, and
serves until its standard input is closed. The clock starts after the imports, and after one question was asked.
"""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from component_tasks import Means
from sizes import FOLDER, FULL, Size

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


def is_judged_now(questions: int) -> bool:
    """Have as many answers judged by a function, unless that was done before."""
    answers, verdicts = judged_files(questions)
    if verdicts.exists():
        return False
    FOLDER.mkdir(exist_ok=True)
    with answers.open("w") as file:
        for at in range(questions):
            answer = f"Fact number {at} is that gold is soft."
            passages = [{"id": "p1", "content": "Gold is soft."}, {"id": "p2", "content": "Silver is shiny."}]
            record = {"query": f"What is fact number {at}?", "retrieved": passages, "answer": answer}
            file.write(json.dumps({**record, "gold_answers": ["Gold is soft."]}) + "\n")
    unfinished = verdicts.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    module: Any = importlib.import_module("karat")
    module.judge(str(answers), task="correctness", model=says_correct, verdicts=str(unfinished))
    unfinished.rename(verdicts)
    return True


def replayed(questions: int) -> Callable[[], object]:
    """Judges the same answers again, with every reply from the file."""
    answers, verdicts = judged_files(questions)
    module: Any = importlib.import_module("karat")
    return lambda: module.judge(str(answers), task="correctness", verdicts=str(verdicts), replay=True)


def judged_files(questions: int) -> tuple[Path, Path]:
    return FOLDER / f"growth-{questions}-answers.jsonl", FOLDER / f"growth-{questions}-judged.jsonl"


def says_correct(messages: list[Any]) -> str:
    return json.dumps({"why": f"I have read {len(messages)} messages.", "label": "correct"})


def serve() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    server: Any = importlib.import_module("tests.llm_server")
    with server.LLMServer(reply, delay=SECONDS) as running:
        print(running.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve()
