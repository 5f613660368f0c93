"""Tasks of the benchmark on pytrec_eval's class RelevanceEvaluator, which karat has too: made, and used once."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

from sizes import Size

TASKS = ("evaluator 1000", "evaluator 100")
MEASURES = ("map", "ndcg_cut_10", "recip_rank", "recall_100")
OF_BEIR = tuple(f"{name}.1,3,5,10,100,1000" for name in ("ndcg_cut", "map_cut", "recall", "P"))
COMPARED = ("ndcg_cut_10", "recall_100")
"""The measures whose means are compared, in the time of the task: few, so that they take little of it."""
JUDGED = 2
"""The judged documents of a query in most of BEIR's data sets."""


def prepared(library: str, kind: str, size: Size) -> Callable[[], dict[str, float]]:
    """The evaluation to be timed: 1,000 documents of a tenth of the queries, or as BEIR does, 100 of each."""
    make_dicts = importlib.import_module("data").make_dicts
    if kind == "evaluator 1000":
        measures: tuple[str, ...] = MEASURES
        truth, run = make_dicts(replace(size, dict_queries=size.queries // 10))
    else:
        measures = OF_BEIR
        truth, run = make_dicts(replace(size, dict_queries=size.queries, documents=100))
        truth = {query: dict(islice(grades.items(), JUDGED)) for query, grades in truth.items()}
    module: Any = importlib.import_module("karat.compat.pytrec_eval" if library == "karat" else "pytrec_eval")
    module.RelevanceEvaluator({"q": {"d": 1}}, set(measures)).evaluate({"q": {"d": 1.0}})

    def evaluate() -> dict[str, float]:
        values = list(module.RelevanceEvaluator(truth, set(measures)).evaluate(run).values())
        return {name: sum(of_query[name] for of_query in values) / len(values) for name in COMPARED}

    return evaluate
