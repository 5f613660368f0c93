"""trec_eval's C code as a service: reads one request per line from standard input, writes one answer per line.

It runs in a process of its own because trec_eval corrupts its memory on some negative grades, and then may crash or
hang. With --fork, each request is evaluated in a fork, so the damage ends with the request; under qemu, a fork takes a
second. Imports only the standard library and pytrec-eval-terrier: the emulated Python has nothing else.

A request is {"qrels", "run", "measures", "relevance_level", "judged_only"}; an answer is {"scores"} or {"error"}. JSON
escapes all characters beyond ASCII, so ids survive any encoding of the pipe.
"""

import importlib
import json
import os
import signal
import sys
from types import ModuleType
from typing import Any

SECONDS = 60
"""The time limit of a request; all of them take less than a second unless trec_eval hangs."""


def serve() -> None:
    sys.modules["numpy"] = ModuleType("numpy")  # pytrec_eval imports it for means, which are not requested here
    pytrec_eval = importlib.import_module("pytrec_eval")
    answer_request = answer_in_fork if "--fork" in sys.argv and hasattr(os, "fork") else answer
    for line in sys.stdin:
        print(answer_request(pytrec_eval, line), flush=True)


def answer_in_fork(pytrec_eval: Any, line: str) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        with os.fdopen(write, "w") as pipe:
            pipe.write(answer(pytrec_eval, line))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.dumps({"error": f"trec_eval ended with status {status}"}) if status else text


def answer(pytrec_eval: Any, line: str) -> str:
    request = json.loads(line)
    try:
        evaluator = pytrec_eval.RelevanceEvaluator(
            request["qrels"],
            set(request["measures"]),
            relevance_level=request["relevance_level"],
            judged_docs_only_flag=request["judged_only"],
        )
        return json.dumps({"scores": evaluator.evaluate(request["run"])})
    except Exception as error:  # peers.py raises it again
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    serve()
