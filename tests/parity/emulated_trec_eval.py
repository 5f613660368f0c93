"""trec_eval's C code as a service: a request per line of standard input, an answer per line of standard output.

Runs inside the emulated Python that install_peers.py prepares, which has pytrec-eval-terrier and no numpy.
A request is {"qrels", "run", "measures", "relevance_level"}; an answer is {"scores"} or {"error"}. JSON escapes
all that is not ASCII, so that ids survive whatever the encoding of the pipe.
"""

import importlib
import json
import sys
from types import ModuleType
from typing import Any


def serve() -> None:
    sys.modules["numpy"] = ModuleType("numpy")  # pytrec_eval imports it for means, which nobody asks for here
    pytrec_eval = importlib.import_module("pytrec_eval")
    for line in sys.stdin:
        print(json.dumps(answer(pytrec_eval, json.loads(line))), flush=True)


def answer(pytrec_eval: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        evaluator = pytrec_eval.RelevanceEvaluator(
            request["qrels"], set(request["measures"]), relevance_level=request["relevance_level"]
        )
        return {"scores": evaluator.evaluate(request["run"])}
    except Exception as error:  # the other side raises it
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    serve()
