"""Tasks of the benchmark on Parquet files: the run in Parquet, and the same run in a TREC file."""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sizes import Size

TASKS = ("parquet",)
MEASURES = ("AP", "nDCG@10", "RR", "R@100")


def prepared(library: str, size: Size) -> Callable[[], dict[str, float]]:
    """The work to be timed: karat reads the run from Parquet, or, as its own peer, from the TREC file."""
    run = in_parquet(size.run) if library == "karat" else size.run
    run.read_bytes()  # into the page cache
    karat = importlib.import_module("karat")
    importlib.import_module("pyarrow.parquet")
    karat.evaluate(str(size.truth), str(run), list(MEASURES))

    def evaluate() -> dict[str, float]:
        means = karat.evaluate(str(size.truth), str(run), list(MEASURES)).means
        return {measure: float(means[measure]) for measure in MEASURES}

    return evaluate


def in_parquet(run: Path) -> Path:
    """The same run in Parquet, with PyArrow's default settings."""
    path = parquet_path(run)
    if not path.exists():
        with parquet_writer(path) as write:
            for table in tables(run):
                write(table)
    return path


def parquet_path(run: Path) -> Path:
    return run.with_suffix(".run.parquet")


@contextmanager
def parquet_writer(path: Path) -> Iterator[Callable[[Any], None]]:
    """A function that writes tables to a file, which is written whole or not at all."""
    pa, pq = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    unfinished = path.with_suffix(".unfinished")
    schema = pa.schema([("query", pa.string()), ("doc", pa.string()), ("score", pa.float64())])
    with pq.ParquetWriter(unfinished, schema) as writer:
        yield lambda table: writer.write_table(table.select(schema.names))
    unfinished.rename(path)


def tables(run: Path) -> Iterator[Any]:
    """The lines of a TREC file as tables of about a million rows."""
    pa, csv = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    types = {"query": pa.string(), "doc": pa.string(), "score": pa.float64()}
    reader = csv.open_csv(
        str(run),
        csv.ReadOptions(column_names=["query", "q0", "doc", "rank", "score", "tag"], block_size=1 << 25),
        csv.ParseOptions(delimiter=" "),
        csv.ConvertOptions(include_columns=list(types), column_types=types),
    )
    for batch in reader:
        yield pa.Table.from_batches([batch])
