"""Run and time one evaluation on Spark in its own process: python benchmarks/spark_tasks.py ENGINE ROWS FORMAT.

ENGINE is `data` (make the files, time nothing), `karat` (the local engine), or the master of a Spark session, such as
`local[2]`; `cluster[2]` is a standalone cluster of two worker processes with a core each, on this machine, and
`frame[2]` is `local[2]` with DataFrames that are cached before the clock starts, instead of files. Prints JSON:
seconds, bytes of memory, and a digest of the values of all queries, of the means and of the intervals, which is the
same for two engines only if they found the same in every bit. Where the time of Spark went is read from its event log,
and the peaks of memory from /proc.
"""

import hashlib
import importlib
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import growth_tasks
import table_tasks
from memory import peak_bytes

sys.path.append(str(Path(__file__).resolve().parent.parent))
from tests.spark.cluster import Server

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false",
            "spark.log.level": "ERROR", "spark.scheduler.minRegisteredResourcesRatio": "1"}  # fmt: skip
"""All other settings are the defaults: a driver and executors of 1 GB."""


@dataclass(frozen=True)
class Stages:
    """Seconds of an evaluation, from the event log; and how much went through it."""

    counting: float
    """the judgments in DataFrames and the first rows of the run; the rows, if their number decides on buckets"""
    shuffle: float
    """reading rows, hashing queries, packing the rows by bucket, and writing them for the shuffle"""
    judging: float
    """in executors: reading ranges of files, partitions of DataFrames, or shuffled rows, and evaluating them"""
    python: float
    """what the Python workers took, divided by the number of cores: a part of `judging`"""
    shuffled: int
    """bytes"""
    sent: int
    """bytes that Python workers received"""


def main(engine: str, rows: int, file_format: str) -> None:
    if engine == "data":
        files(rows)
        return
    truth, run = files(rows)[file_format]
    measure = local if engine == "karat" else on_spark
    print(json.dumps(measure(engine, str(truth), str(run))))


def files(rows: int) -> dict[str, tuple[Path, Path]]:
    """Ground truth and run in both formats."""
    truth, run = growth_tasks.large_files(rows)
    table = truth.with_suffix(".truth.parquet")
    if not table.exists():
        importlib.import_module("karat").convert(truth, table, kind="truth")
    return {"TREC": (truth, run), "Parquet": (table, table_tasks.in_parquet(run))}


def local(_: str, truth: str, run: str) -> dict[str, Any]:
    karat = growth_tasks.karat()
    begin = time.perf_counter()
    scores = karat.evaluate(truth, run, growth_tasks.MEASURES)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "digest": digest(scores), "memory": {"driver": peak_bytes(os.getpid())}}


def on_spark(engine: str, truth: str, run: str) -> dict[str, Any]:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    evaluate = importlib.import_module("karat.engines.spark").evaluate
    cores = int(engine.partition("[")[2].rstrip("]"))
    with tempfile.TemporaryDirectory() as folder, cluster(engine, cores, folder) as master:
        begin = time.perf_counter()
        session = start(master, cores, folder)
        started = time.perf_counter()
        tables = [cached(session, path) for path in (truth, run)] if engine.startswith("frame") else [truth, run]
        begin_evaluation, at_clock = time.perf_counter(), time.time()
        scores = evaluate(*tables, growth_tasks.MEASURES, session=session)
        ended = time.perf_counter()
        memory = peaks()
        session.stop()
        stages = stages_of(next(Path(folder).glob("events/*")), cores, at_clock)
    return {
        "start": started - begin,
        "seconds": ended - begin_evaluation,
        "digest": digest(scores),
        "memory": memory,
        "stages": vars(stages),
    }


def start(master: str, cores: int, folder: str) -> Any:
    """A new session, all of whose executors are there; it writes an event log."""
    events = Path(folder) / "events"
    events.mkdir()
    builder = importlib.import_module("pyspark.sql").SparkSession.builder.master(master).appName("karat's benchmark")
    for name, value in (SETTINGS | {"spark.eventLog.dir": events.as_uri(), "spark.cores.max": str(cores)}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.range(1).count()  # waits for the executors
    return session


def cached(session: Any, path: str) -> Any:
    """The rows of a Parquet file in a DataFrame that Spark has in memory, and on disk if that is not enough."""
    frame = session.read.parquet(path).cache()
    frame.count()
    return frame


@contextmanager
def cluster(engine: str, workers: int, folder: str) -> Iterator[str]:
    """The master to connect to. A standalone cluster of processes on this machine is started, and stopped."""
    if not engine.startswith("cluster"):
        yield engine.replace("frame", "local")
        return
    with ExitStack() as stack:
        server = Server.started("master.Master", Path(folder, "master"))
        stack.callback(server.kill)
        master = server.says(r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            size = ["--cores", "1", "--memory", "1g", "--work-dir", f"{folder}/work{number}"]
            stack.callback(Server.started("worker.Worker", Path(folder, f"worker{number}"), *size, master).kill)
        yield master


def stages_of(log: Path, cores: int, since: float) -> Stages:
    """Where the time of the only evaluation since then went, from the event log of its session."""
    queries: dict[str, str] = {}
    jobs: dict[int, str] = {}
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    totals: dict[str, int] = defaultdict(int)
    for line in log.read_text("utf-8").splitlines():
        event = json.loads(line)
        kind = event["Event"].rpartition(".")[2]
        if kind == "SparkListenerSQLExecutionStart":
            queries[str(event["executionId"])] = event["description"]
        elif kind == "SparkListenerJobStart":
            query = event["Properties"].get("spark.sql.execution.id")
            jobs |= dict.fromkeys(event["Stage IDs"], queries.get(query, ""))
        elif kind == "SparkListenerStageCompleted":
            stage = event["Stage Info"]
            if stage["Submission Time"] / 1000 < since:
                continue
            amounts = {each["Name"]: int(each["Value"]) for each in stage["Accumulables"]}
            counts = not jobs[stage["Stage ID"]].startswith("toArrow")
            part = "counting" if counts else "shuffle" if "shuffle bytes written" in amounts else "judging"
            times[part].append((stage["Submission Time"] / 1000, stage["Completion Time"] / 1000))
            for name, amount in amounts.items():
                totals[f"{part} {name}"] += amount
    return Stages(
        covered(times["counting"]),
        covered(times["shuffle"]),
        covered(times["judging"]),
        totals["judging time to run Python workers"] / 1000 / cores,
        totals["shuffle shuffle bytes written"],
        totals["judging data sent to Python workers"],
    )


def covered(intervals: list[tuple[float, float]]) -> float:
    """How many seconds are in at least one of the intervals."""
    total, until = 0.0, 0.0
    for begin, end in sorted(intervals):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def peaks() -> dict[str, int]:
    """The peaks of memory: of the driver (its Python and its Java), the largest executor and Python worker."""
    memory: dict[str, int] = {"driver": peak_bytes(os.getpid())}
    for process in descendants(os.getpid()):
        command = Path(f"/proc/{process}/cmdline").read_text("utf-8", "replace")
        if "pyspark.daemon" in command:
            memory["Python worker"] = max(memory.get("Python worker", 0), peak_bytes(process))
        elif "CoarseGrainedExecutorBackend" in command:
            memory["executor"] = max(memory.get("executor", 0), peak_bytes(process))
        elif "SparkSubmit" in command:
            memory["driver"] += peak_bytes(process)
    return memory


def descendants(parent: int) -> list[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children[int(fields[1])].append(int(path.parent.name))
    found = [parent]
    for each in found:
        found += children[each]
    return found[1:]


def digest(scores: Any) -> str:
    """Of all numbers, in every bit; the queries of a local evaluation are in the order of the file."""
    hashed = hashlib.sha256()
    order = scores.by_id
    hashed.update(repr([scores.queries[at] for at in order]).encode())
    for measure in growth_tasks.MEASURES:
        hashed.update(scores.column(measure)[order].tobytes())
        hashed.update(repr((float(scores[measure]), scores.interval(measure))).encode())
    hashed.update(repr(scores.findings).encode())
    return hashed.hexdigest()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
