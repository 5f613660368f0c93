"""Benchmark tasks on small calls: two queries in memory, evaluated again and again in one process."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sizes import Size

TASKS = ("two-queries 5", "two-queries 91")
CALLS = 200
"""The number of calls that are timed together."""
FEW = ("map", "recip_rank", "ndcg_cut_10", "P_10", "recall_100")
PLAIN = "map ndcg recip_rank Rprec bpref infAP set_P set_recall set_F set_map set_relative_P".split()
AT_CUTOFFS = "P recall ndcg_cut map_cut success relative_P".split()
CUTOFFS = "1 2 3 5 10 15 20 30 50 100 200 500 1000".split()
MANY = (
    *PLAIN,
    *(f"{name}_{cutoff}" for name in AT_CUTOFFS for cutoff in CUTOFFS),
    *(f"iprec_at_recall_{recall}" for recall in ("0.00", "1.00")),
)

Means = dict[str, float]


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed: every call evaluates both queries, and the means are those of the last call."""
    names = FEW if kind.endswith(" 5") else MANY
    truth, run = importlib.import_module("data").make_dicts(replace(size, dict_queries=2))
    evaluate, means = {"karat": karat, "pytrec-eval-terrier": pytrec_eval}[library](truth, run, names)
    evaluate()

    def work() -> Means:
        for _ in range(CALLS):
            result = evaluate()
        return means(result)

    return work


def karat(truth: Any, run: Any, names: tuple[str, ...]) -> tuple[Callable[[], Any], Callable[[Any], Means]]:
    module = importlib.import_module("karat")
    return lambda: module.evaluate(truth, run, names), lambda scores: {name: scores[name] for name in names}


def pytrec_eval(truth: Any, run: Any, names: tuple[str, ...]) -> tuple[Callable[[], Any], Callable[[Any], Means]]:
    """As a program uses it that has another ground truth in each call."""
    module = importlib.import_module("pytrec_eval")

    def means(values: dict[str, Means]) -> Means:
        return {name: sum(of_query[name] for of_query in values.values()) / len(values) for name in names}

    return lambda: module.RelevanceEvaluator(truth, set(names)).evaluate(run), means
