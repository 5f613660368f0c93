"""Generate the data of the benchmark, always the same, in benchmarks/.data.

    python benchmarks/data.py [--small]

The run has the size of MS MARCO's development set: 6,980 queries with 1,000 documents each, 7 million lines.
No two scores of a query are equal, not even as float32, so all libraries rank the documents in the same order.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from sizes import FOLDER, FULL, SMALL, Size

SEED = 20_240_601
CORPUS = 8_841_823
"""The number of documents in the collection: ids have up to seven digits, as in MS MARCO."""
RETRIEVED = 0.85
"""The share of relevant documents that the run finds."""

Integers = npt.NDArray[np.int64]


def make_files(size: Size) -> None:
    """Write the truth and the run of a size, unless they exist."""
    if size.truth.exists() and size.run.exists():
        return
    FOLDER.mkdir(exist_ok=True)
    random = np.random.default_rng(SEED)
    queries = np.sort(random.choice(1_200_000, size.queries, replace=False))
    unfinished = size.run.with_suffix(".unfinished")
    judged = []
    options = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with pa.OSFile(str(unfinished), "wb") as file:
        for part in np.array_split(queries, max(1, size.queries // 500)):
            documents = np.stack([random.choice(CORPUS, size.documents, replace=False) for _ in part])
            csv.write_csv(run_table(random, part, documents), file, options)
            judged += list(truth_lines(random, part, documents))
    size.truth.write_text("".join(judged))
    unfinished.rename(size.run)


def run_table(random: np.random.Generator, queries: Integers, documents: Integers) -> pa.Table:
    rows, depth = documents.shape
    return pa.table(
        {
            "query": pa.array(np.repeat(queries, depth)),
            "q0": repeated("Q0", rows * depth),
            "document": pa.array(documents.ravel()),
            "rank": pa.array(np.tile(np.arange(1, depth + 1), rows)),
            "score": decimals(descending(random, rows, depth).ravel()),
            "tag": repeated("run", rows * depth),
        }
    )


def descending(random: np.random.Generator, rows: int, depth: int) -> Integers:
    """Scores in millionths, each at least ten below the previous one, which float32 can still distinguish."""
    highest = random.integers(24_000_000, 30_000_000, (rows, 1))
    scores: Integers = highest - random.integers(10, 20_000, (rows, depth)).cumsum(1)
    return scores


def decimals(millionths: Integers) -> pa.Array:
    whole = pc.cast(pa.array(millionths // 1_000_000), pa.string())
    rest = pc.utf8_lpad(pc.cast(pa.array(millionths % 1_000_000), pa.string()), 6, "0")
    return pc.binary_join_element_wise(whole, rest, ".")


def repeated(word: str, times: int) -> pa.Array:
    return pa.repeat(pa.scalar(word), times)


def truth_lines(random: np.random.Generator, queries: Integers, documents: Integers) -> Iterator[str]:
    """One to three relevant documents per query, mostly at high ranks of the run, with grades from 1 to 3."""
    for query, ranked in zip(queries, documents, strict=True):
        relevant = set()
        for _ in range(random.choice([1, 2, 3], p=[0.64, 0.29, 0.07])):
            found = random.random() < RETRIEVED
            rank = min(int(random.pareto(0.6)), len(ranked) - 1)
            relevant.add(int(ranked[rank]) if found else int(CORPUS + random.integers(CORPUS)))
        for document in sorted(relevant):
            yield f"{query} 0 {document} {random.integers(1, 4)}\n"


def make_dicts(size: Size) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """A truth of 25 judged documents per query, half of them relevant and most of them retrieved, and its run."""
    random = np.random.default_rng(SEED)
    truth, run = {}, {}
    for number in range(size.dict_queries):
        documents = [f"d{document}" for document in random.choice(CORPUS, size.documents + 5, replace=False)]
        scores = (descending(random, 1, size.documents)[0] / 1_000_000).tolist()
        judged = [*random.choice(size.documents, 20, replace=False), *range(size.documents, size.documents + 5)]
        grades = random.choice([0, 1, 2, 3], 25, p=[0.5, 0.3, 0.15, 0.05]).tolist()
        truth[f"q{number}"] = {documents[place]: grade for place, grade in zip(judged, grades, strict=True)}
        # In random order, like results collected from several shards.
        order = random.permutation(size.documents).tolist()
        run[f"q{number}"] = {documents[place]: scores[place] for place in order}
    return truth, run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true")
    make_files(SMALL if parser.parse_args().small else FULL)
