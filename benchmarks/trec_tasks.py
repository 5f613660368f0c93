"""Task of the benchmark on trec_eval's command: what it prints for a run of millions of lines."""

import importlib
from collections.abc import Callable

from sizes import Size

TASKS = ("trec",)
SUMMED = ("num_q", "num_ret", "num_rel", "num_rel_ret")

Means = dict[str, float]


def prepared(library: str, size: Size) -> Callable[[], Means]:
    """The work to be timed, from files to the summary of trec_eval's official measures."""
    size.run.read_bytes()
    return {"karat": karat, "pytrec-eval-terrier": pytrec_eval}[library](size)


def karat(size: Size) -> Callable[[], Means]:
    module = importlib.import_module("karat.compat.trec_eval")

    def evaluate() -> Means:
        lines = module.run_trec_eval(str(size.truth), str(size.run), module.TrecOptions(version=9)).text.splitlines()
        rows = (line.split("\t") for line in lines)
        return {name.rstrip(): float(value) for name, _, value in rows if name.rstrip() != "runid"}

    return evaluate


def pytrec_eval(size: Size) -> Callable[[], Means]:
    module = importlib.import_module("pytrec_eval")

    def evaluate() -> Means:
        with size.truth.open() as truth, size.run.open() as run:
            evaluator = module.RelevanceEvaluator(module.parse_qrel(truth), {"official"})
            values = list(evaluator.evaluate(module.parse_run(run)).values())
        names = [name for name in values[0] if name != "runid"]
        return {name: float(module.compute_aggregated_measure(name, [each[name] for each in values])) for name in names}

    return evaluate
