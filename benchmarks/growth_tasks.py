"""Run and time one cell of the table of growth in its own process: python benchmarks/growth_tasks.py NAME SIZE.

Each task is a function of a size. It prepares its input, outside the clock, and returns the work to be timed. Files are
written once, to benchmarks/.data. Prints {"seconds", "peak_mb"} as JSON.
"""

import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

import evaluator_tasks
import judge_tasks
import table_tasks
import verdict_tasks
from memory import peak_mb
from sizes import FOLDER, FULL

SEED = 20_240_601
CORPUS = 8_841_823
"""The number of documents in the collection, as in data.py."""
DEPTH = 1_000
"""The number of retrieved documents per query of a run."""
MEASURES = ["AP", "nDCG@10", "RR", "R@100"]
LIMIT = 60
"""Work that takes more seconds than this is stopped."""
Work = Callable[[], object]


def main(name: str, size: int) -> None:
    work = TASKS[name](size)
    signal.alarm(LIMIT)  # ends this process
    start = time.perf_counter()
    _result = work()  # kept until the clock has stopped: releasing it is not part of the work
    print(json.dumps({"seconds": time.perf_counter() - start, "peak_mb": peak_mb()}))


def karat() -> Any:
    """karat, with its lazy imports done."""
    module = importlib.import_module("karat")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "warm.trec"
        run.write_text("q Q0 d 1 1.0 run\n")
        importlib.import_module("pyarrow.compute")  # karat reads small files without it, and large ones with it
        module.evaluate({"q": {"d": 1}}, str(run), ["AP"])
    scores = module.evaluate({"q": {"d": 1}, "r": {"d": 1}}, {"q": {"d": 1.0, "e": 0.5}, "r": {"e": 1.0}}, ["AP"])
    scores.interval("AP")
    return module


# Files


def grouped(lines: int) -> Work:
    return evaluated(*files(lines // DEPTH))


def checked(lines: int) -> Work:
    """What is wrong with the data, instead of scores."""
    module, (truth, run) = karat(), files(lines // DEPTH)
    module.check({"q": {"d": 1}}, {"q": {"d": 1.0}}, measures=MEASURES)
    return lambda: module.check(str(truth), str(run), measures=MEASURES)


def large(lines: int) -> Work:
    return evaluated(*large_files(lines))


def in_parquet(rows: int) -> Work:
    truth, run = large_files(rows)
    path = table_tasks.parquet_path(run)
    if not path.exists():
        # In a process of its own, because the peak of memory outlives `start_again`.
        writer = get_context("spawn").Process(target=table_tasks.in_parquet, args=(run,))
        writer.start()
        writer.join()
    return evaluated(truth, path)


def large_files(lines: int) -> tuple[Path, Path]:
    """The files of a run; for more lines than the benchmark's run has, that run several times, with other queries."""
    times = lines // (FULL.queries * DEPTH)
    truth, run = files(min(lines // DEPTH, FULL.queries))
    if times < 2:
        return truth, run
    made = FOLDER / f"growth-{lines}.qrels", FOLDER / f"growth-{lines}.trec"
    if not made[1].exists():
        for path, copy in zip((truth, run), made, strict=True):
            write(copy, chain.from_iterable(with_prefix(path, b"%d" % at) for at in range(times)))
    return made


def with_prefix(path: Path, prefix: bytes) -> Iterator[bytes]:
    """The lines of a file, each after a prefix; in blocks, because the peak of memory outlives `start_again`."""
    with path.open("rb") as file:
        while block := file.read(1 << 22) + file.readline():
            yield prefix + block[:-1].replace(b"\n", b"\n" + prefix) + b"\n"


def scattered(lines: int) -> Work:
    """The lines of the run are in random order."""
    truth, run = files(lines // DEPTH)
    shuffled = FOLDER / f"growth-{lines}-scattered.trec"
    if not shuffled.exists():
        rows = run.read_bytes().splitlines(keepends=True)
        random.Random(SEED).shuffle(rows)
        write(shuffled, rows)
        start_again()
    return evaluated(truth, shuffled)


def converted(lines: int) -> Work:
    """TREC text to Parquet."""
    module, (_, run) = karat(), files(lines // DEPTH)
    target = Path(tempfile.mkdtemp()) / "run.parquet"
    module.convert({"q": {"d": 1.0}}, target, kind="run")  # imports
    return lambda: module.convert(run, target)


def as_trec_eval(lines: int) -> Work:
    """What `karat trec` prints: trec_eval's official measures."""
    truth, run = files(lines // DEPTH)
    karat()
    module = importlib.import_module("karat.compat.trec_eval")
    return lambda: module.run_trec_eval(str(truth), str(run), module.TrecOptions())


def evaluated(truth: Path, run: Path) -> Work:
    module = karat()
    return lambda: module.evaluate(str(truth), str(run), MEASURES)


def files(queries: int) -> tuple[Path, Path]:
    size = FULL if queries == FULL.queries else replace(FULL, name=f"growth-{queries * DEPTH}", queries=queries)
    if not size.run.exists():
        importlib.import_module("data").make_files(size)
        start_again()
    return size.truth, size.run


def verdicts(questions: int) -> Work:
    """Labels about generated answers."""
    return verdict_tasks.evaluated(verdict_tasks.verdict_file(questions))


def replayed(questions: int) -> Work:
    """Answers that were judged before: all replies are in the file."""
    if judge_tasks.is_judged_now(questions):
        start_again()
    return judge_tasks.replayed(questions)


def judgments(lines: int) -> Work:
    """A qrels file of queries with 1,000 judged documents each, and a run of ten documents per query."""
    truth, run = FOLDER / f"growth-{lines}-judgments.qrels", FOLDER / f"growth-{lines}-judgments.trec"
    if not run.exists():
        source, queries = random.Random(SEED), range(lines // DEPTH)
        judged = ((query, document) for query in queries for document in source.sample(range(CORPUS), DEPTH))
        write(truth, (b"%d 0 %d %d\n" % (query, document, document % 3) for query, document in judged))
        retrieved = ((query, rank) for query in queries for rank in range(1, 11))
        write(run, (b"%d Q0 %d %d %f run\n" % (query, rank, rank, 1 / rank) for query, rank in retrieved))
        start_again()
    return evaluated(truth, run)


def write(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file whole or not at all: an interrupted benchmark must not leave a part of it for the next one."""
    FOLDER.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        file.writelines(lines)
    unfinished.rename(path)


def start_again() -> NoReturn:
    """Begin this task anew, because making its files took memory that the work does not need."""
    os.execv(sys.executable, [sys.executable, *sys.argv])


# Data in memory


def arrow_table(rows: int) -> Work:
    module, (truth, frame) = karat(), arrow(rows)
    return lambda: module.evaluate(str(truth), frame, MEASURES)


def data_frame(rows: int) -> Work:
    module, (truth, frame) = karat(), arrow(rows)
    pandas = frame.to_pandas()
    return lambda: module.evaluate(str(truth), pandas, MEASURES)


def arrow(rows: int) -> tuple[Path, Any]:
    """The run as an Arrow table with text ids."""
    csv, pa = importlib.import_module("pyarrow.csv"), importlib.import_module("pyarrow")
    truth, run = files(rows // DEPTH)
    names = ["query", "q0", "doc", "rank", "score", "tag"]
    types = {"query": pa.string(), "doc": pa.string(), "score": pa.float64()}
    return truth, csv.read_csv(
        str(run),
        csv.ReadOptions(column_names=names),
        csv.ParseOptions(delimiter=" "),
        csv.ConvertOptions(include_columns=list(types), column_types=types),
    )


def dicts(rows: int) -> Work:
    module = karat()
    truth, run = importlib.import_module("data").make_dicts(replace(FULL, dict_queries=rows // DEPTH))
    return lambda: module.evaluate(truth, run, MEASURES)


def relevance_evaluator(queries: int) -> Work:
    """pytrec_eval's class as BEIR uses it: 100 documents per query."""
    return evaluator_tasks.prepared("karat", "evaluator 100", replace(FULL, queries=queries))


def ties(documents: int) -> Work:
    """One query in which every score occurs twice; every fourth document is judged."""
    module = karat()
    run = {"q": {f"d{at}": float(at // 2) for at in range(documents)}}
    truth = {"q": {f"d{at}": at % 3 for at in range(0, documents, 4)}}
    return lambda: module.evaluate(truth, run, MEASURES)


# Matching and answers


def fuzzy_pair(characters: int) -> Work:
    """A chunk cut out of a gold document, a tenth replaced: just below the threshold. `characters` is the product."""
    module, source = karat(), random.Random(SEED)
    long = round((2 * characters) ** 0.5)
    letters = "abcdefghijklmnopqrstuvwxyz      "
    text = [source.choice(letters) for _ in range(long)]
    chunk = text[long // 4 : long // 4 + long // 2]
    for at in source.sample(range(len(chunk)), len(chunk) // 10):
        chunk[at] = source.choice(letters)
    module.evaluate({"q": ["gold"]}, {"q": ["old"]}, "R", match="fuzzy")
    truth, run = {"q": ["".join(text)]}, {"q": ["".join(chunk)]}
    return lambda: module.evaluate(truth, run, "R", match="fuzzy(threshold=91)")


def chunks(questions: int) -> Work:
    work: Work = importlib.import_module("matching_tasks").prepared(
        "karat", "chunk", replace(FULL, questions=questions)
    )
    return work


def answers(pairs: int) -> Work:
    work: Work = importlib.import_module("answer_tasks").prepared("karat", "answers", replace(FULL, answers=pairs))
    return work


# Scores


def intervals(queries: int) -> Work:
    """The table of five measures, with confidence intervals."""
    work: Work = scores_of(queries, [f"m{at}" for at in range(5)]).intervals
    return work


def scores_of(queries: int, names: list[str], seed: int = SEED, digits: int | None = None) -> Any:
    """Skewed scores from 0 to 1, half of them 0; with `digits`, rounded, so that there are ties."""
    np, module = importlib.import_module("numpy"), karat()
    source = np.random.default_rng(seed)
    values = {name: source.beta(0.6, 1.5, queries) * (source.random(queries) < 0.5) for name in names}
    if digits is not None:
        values = {name: np.round(column, digits) for name, column in values.items()}
    return module.Scores(tuple(f"q{at}" for at in range(queries)), values)


def bounds_of_runs(lines: int) -> Work:
    truth, run = files(lines // DEPTH)
    scores = karat().evaluate(str(truth), str(run), ["AP"])
    return lambda: scores.bounds("AP")


def bounds_of_one_query(documents: int) -> Work:
    scores = karat().evaluate({"q": {"d0": 1, "d7": 1}}, {"q": [f"d{at}" for at in range(documents)]}, ["AP"])
    return lambda: scores.bounds("AP")


def compare_systems(pairs: int) -> Work:
    return compared(pairs, queries=50)


def compare_by_wilcoxon(pairs: int) -> Work:
    """Scores with one digit, so that many differences are equal."""
    return compared(pairs, queries=12, digits=1, test="wilcoxon")


def compared(pairs: int, queries: int, digits: int | None = None, **options: Any) -> Work:
    module, count = karat(), round((2 * pairs) ** 0.5 + 0.5)
    systems = {f"s{at}": scores_of(queries, ["m"], SEED + at, digits) for at in range(count)}
    warm = {name: systems[name] for name in list(systems)[:2]}
    module.compare(warm, **options)
    return lambda: module.compare(systems, **options)


def compare_queries(queries: int) -> Work:
    module = karat()
    systems = {f"s{at}": scores_of(queries, ["m"], SEED + at) for at in range(2)}
    return lambda: module.compare(systems)


def saved(ending: str) -> Callable[[int], Work]:
    def task(queries: int) -> Work:
        module = karat()
        path = FOLDER / f"growth-{queries}-scores.{ending}"
        FOLDER.mkdir(exist_ok=True)
        scores_of(queries, [f"m{at}" for at in range(5)]).save(path)
        return lambda: module.Scores.load(path)

    return task


# Names


def names(commas: int) -> Work:
    module = karat()

    def parse() -> None:
        try:
            module.parse(f"AP({',' * commas})")
        except module.KaratError:
            return
        raise AssertionError("the name was accepted")

    return parse


TASKS: dict[str, Callable[[int], Work]] = {
    "grouped": grouped,
    "check": checked,
    "trec": as_trec_eval,
    "convert": converted,
    "large": large,
    "large-parquet": in_parquet,
    "scattered": scattered,
    "judgments": judgments,
    "verdicts": verdicts,
    "replayed": replayed,
    "arrow": arrow_table,
    "pandas": data_frame,
    "dicts": dicts,
    "evaluator": relevance_evaluator,
    "ties": ties,
    "fuzzy": fuzzy_pair,
    "chunks": chunks,
    "answers": answers,
    "intervals": intervals,
    "bounds": bounds_of_runs,
    "bounds-one": bounds_of_one_query,
    "systems": compare_systems,
    "wilcoxon": compare_by_wilcoxon,
    "queries": compare_queries,
    "json": saved("json"),
    "csv": saved("csv"),
    "parquet": saved("parquet"),
    "names": names,
}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
