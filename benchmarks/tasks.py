"""Run and time one task of the benchmark in its own process: python benchmarks/tasks.py NAME SIZE.

Tasks on documents and evaluators are in component_tasks.py, on chunks in matching_tasks.py, on answers in
answer_tasks.py, on significance tests in significance_tasks.py, on compressed files in compression_tasks.py, on JSON in
json_tasks.py, on Parquet in table_tasks.py, on findings in check_tasks.py, on trec_eval's command in trec_tasks.py, on
labels in verdict_tasks.py, on judges in judge_tasks.py, and on small calls in small_tasks.py.

Prints {"seconds", "peak_mb", "means"} as JSON. The clock starts after the import. Except in tasks named "first",
everything is warmed up before, for karat and its peers alike: the file is in the page cache, and each library has
evaluated a megabyte of data, so that lazy imports and compilation are done.
"""

import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import answer_tasks
import check_tasks
import component_tasks
import compression_tasks
import evaluator_tasks
import json_tasks
import judge_tasks
import matching_tasks
import significance_tasks
import small_tasks
import table_tasks
import trec_tasks
import verdict_tasks
from memory import peak_mb
from sizes import FULL, SMALL, Size

MEASURES = ("AP", "nDCG@10", "RR", "R@100")
ONE_PER_MODULE = {
    kind: module
    for module in (check_tasks, compression_tasks, judge_tasks, table_tasks, trec_tasks, verdict_tasks)
    for kind in module.TASKS
}
Means = dict[str, float]
Evaluate = Callable[[Any, Any], Means]


def main(name: str, size: Size) -> None:
    library, _, kind = name.partition(" ")
    if kind == "import":
        seconds, means = clocked(lambda: import_only(library))
    elif kind in component_tasks.TASKS:
        seconds, means = clocked(component_tasks.prepared(library, kind, size))
    elif kind in matching_tasks.TASKS:
        seconds, means = clocked(matching_tasks.prepared(library, kind, size))
        seconds *= matching_tasks.scale(library, kind, size)
    elif kind in answer_tasks.TASKS:
        seconds, means = clocked(answer_tasks.prepared(library, kind, size))
    elif kind in significance_tasks.TASKS:
        seconds, means = clocked(significance_tasks.prepared(library, kind, size))
        seconds *= significance_tasks.scale(library, kind)
    elif kind in (*json_tasks.TASKS, *evaluator_tasks.TASKS):
        module = json_tasks if kind in json_tasks.TASKS else evaluator_tasks
        seconds, means = clocked(module.prepared(library, kind, size))
    elif kind in small_tasks.TASKS:
        seconds, means = clocked(small_tasks.prepared(library, kind, size))
        seconds /= small_tasks.CALLS
    elif kind in ONE_PER_MODULE:
        seconds, means = clocked(ONE_PER_MODULE[kind].prepared(library, size))
    elif kind == "dict":
        seconds, means = evaluate_dicts(DICTS[library](), size)
    else:
        seconds, means = evaluate_files(FILES[library](), size, warm=kind != "first")
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "means": means}))


def clocked(work: Callable[[], Means]) -> tuple[float, Means]:
    start = time.perf_counter()
    means = work()
    return time.perf_counter() - start, means


def import_only(library: str) -> Means:
    importlib.import_module(library)
    return {}


def evaluate_dicts(evaluate: Evaluate, size: Size) -> tuple[float, Means]:
    truth, run = importlib.import_module("data").make_dicts(size)
    evaluate({"q": {"d": 1}}, {"q": {"d": 1.0, "e": 0.5}})
    return clocked(lambda: evaluate(truth, run))


def evaluate_files(evaluate: Evaluate, size: Size, warm: bool) -> tuple[float, Means]:
    with size.run.open("rb") as file:
        while file.read(1 << 20):
            pass
    if warm:
        with tempfile.TemporaryDirectory() as folder:
            truth, run = Path(folder) / "warm.qrels", Path(folder) / "warm.trec"
            # Ids as long as the longest ids of the data: ranx compiles again for every length.
            truth.write_text("1000000 0 10000000 1\n1000000 0 1000000 1\n")
            # Large, as karat reads small files without Arrow.
            lines = (f"1000000 Q0 {doc} 1 {2e7 - doc:.6f} run\n" for doc in range(1_000_000, 1_030_000))
            run.write_text("".join(lines))
            evaluate(str(truth), str(run))
    return clocked(lambda: evaluate(str(size.truth), str(size.run)))


def karat() -> Evaluate:
    module = importlib.import_module("karat")

    def evaluate(truth: Any, run: Any) -> Means:
        scores = module.evaluate(truth, run, list(MEASURES))
        return {measure: float(scores[measure]) for measure in MEASURES}

    return evaluate


def pytrec_eval_files() -> Evaluate:
    module = importlib.import_module("pytrec_eval")
    evaluate_dicts = pytrec_eval_dicts()

    def evaluate(truth: str, run: str) -> Means:
        with open(truth) as truth_file, open(run) as run_file:
            return evaluate_dicts(module.parse_qrel(truth_file), module.parse_run(run_file))

    return evaluate


def pytrec_eval_dicts() -> Evaluate:
    module = importlib.import_module("pytrec_eval")
    names = ("map", "ndcg_cut_10", "recip_rank", "recall_100")

    def evaluate(truth: dict[str, dict[str, int]], run: dict[str, dict[str, float]]) -> Means:
        values = module.RelevanceEvaluator(truth, set(names)).evaluate(run).values()
        return {
            measure: float(module.compute_aggregated_measure(name, [value[name] for value in values]))
            for measure, name in zip(MEASURES, names, strict=True)
        }

    return evaluate


def ir_measures() -> Evaluate:
    module = importlib.import_module("ir_measures")
    measures = [module.parse_measure(measure) for measure in MEASURES]

    def evaluate(truth: str, run: str) -> Means:
        means = module.calc_aggregate(measures, module.read_trec_qrels(truth), module.read_trec_run(run))
        return {str(measure): float(mean) for measure, mean in means.items()}

    return evaluate


def ranx() -> Evaluate:
    module = importlib.import_module("ranx")
    names = ("map", "ndcg@10", "mrr", "recall@100")

    def evaluate(truth: str, run: str) -> Means:
        means = module.evaluate(
            module.Qrels.from_file(truth, kind="trec"), module.Run.from_file(run, kind="trec"), list(names)
        )
        return {measure: float(means[name]) for measure, name in zip(MEASURES, names, strict=True)}

    return evaluate


FILES: Mapping[str, Callable[[], Evaluate]] = {
    "karat": karat,
    "pytrec-eval-terrier": pytrec_eval_files,
    "ir-measures": ir_measures,
    "ranx": ranx,
}
DICTS: Mapping[str, Callable[[], Evaluate]] = {"karat": karat, "pytrec-eval-terrier": pytrec_eval_dicts}


if __name__ == "__main__":
    main(sys.argv[1], {size.name: size for size in (FULL, SMALL)}[sys.argv[2]])
