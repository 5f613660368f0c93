"""Scores that executors write to a folder instead of sending them to the driver."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import karat
from karat import Finding, KaratError, Scores
from karat.engines.spark import evaluate
from karat.engines.spark.buckets import Buckets, CollectedBuckets, in_buckets
from karat.engines.spark.stored import store_scores
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BucketResult
from karat.reading.bytes.part_files import DESCRIPTION
from karat.scores import StoredScores
from karat.scores.fingerprint import Fingerprint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Names that SQL or a file system might take for something else.
MEASURES = ["AP", "nDCG(gain=exp, discount=jk)@3", "P(rel=0.5)@5", "ERR(map={1: 2})@`x`", "GMAP", "NumRet"]


@dataclass(frozen=True)
class Values:
    """The values of each query, made of its number; null for every seventh."""

    measures: tuple[str, ...] = tuple(MEASURES)

    def __call__(self, table: pa.Table) -> BucketResult:
        queries = sorted(table["query"].to_pylist())
        numbers = np.array([int(query[1:]) for query in queries], np.float64)
        values = {
            name: np.where(numbers % 7 == at, np.nan, np.sin(numbers + at) ** 2)
            for at, name in enumerate(self.measures)
        }
        return BucketResult(queries, values, {"judged": [f"{int(n):016x}" for n in numbers]}, len(queries))


def scores_of(buckets: CollectedBuckets) -> Scores:
    """Scores with a finding about the facts."""
    finding = Finding("facts", "queries", sum(buckets.facts))
    digests = {kind: dict(zip(buckets.queries, map(str, each), strict=True)) for kind, each in buckets.texts.items()}
    fingerprint = Fingerprint(digests, "id", {"ties": "trec"})
    return Scores(buckets.queries, buckets.values, (finding, *buckets.findings), "bm25", fingerprint=fingerprint)


@pytest.fixture(scope="module")
def buckets(spark: SparkSession) -> Callable[..., Buckets]:
    def make(measures: tuple[str, ...] = tuple(MEASURES), number: int = 3, queries: int = 100) -> Buckets:
        frame = spark.createDataFrame([(f"q{at}",) for at in range(queries)], "query string")
        table = SparkTable("the run", frame, "query", frame["query"])
        return in_buckets(Values(measures), table, values=measures, texts=["judged"], buckets=number)

    return make


Make = Callable[..., Buckets]


@pytest.fixture(scope="module")
def in_memory(buckets: Make) -> Scores:
    return scores_of(buckets().collect())


@pytest.fixture(scope="module")
def stored(buckets: Make, tmp_path_factory: pytest.TempPathFactory) -> StoredScores:
    return store_scores(buckets(number=5), tmp_path_factory.mktemp("stored") / "one", scores_of)


def test_a_written_folder_is_loaded_as_the_scores_that_would_have_been_collected(
    stored: StoredScores, in_memory: Scores
) -> None:
    assert stored.means == in_memory.means
    assert stored.findings == in_memory.findings
    assert (stored.name, stored.query_count, Path(stored.path).name) == ("bm25", 100, "one")
    assert stored.load().to_json() == in_memory.to_json()
    assert Scores.load(stored.path).intervals() == in_memory.intervals()


def test_intervals_do_not_depend_on_the_number_of_buckets(buckets: Make, stored: StoredScores, tmp_path: Path) -> None:
    one = store_scores(buckets(number=1), tmp_path / "one", scores_of)
    assert one.to_json() == stored.to_json() == (tmp_path / "one" / DESCRIPTION).read_text()
    assert "100 queries, with 95% confidence intervals" in one.table(0.95).text()


def test_folders_are_compared_as_scores_are(stored: StoredScores, in_memory: Scores) -> None:
    expected = karat.compare({"one": in_memory, "two": in_memory}).to_json()
    assert karat.compare({"one": stored, "two": stored.path}).to_json() == expected


def test_spark_reads_the_rows_and_not_the_description(spark: SparkSession, stored: StoredScores) -> None:
    frame = spark.read.parquet(stored.path)
    assert frame.columns == ["query", *MEASURES, "digest of judged"]
    assert frame.count() == 100
    assert frame.where("AP IS NULL").count() == 15


@pytest.mark.parametrize("name", ["blanks and é [1] {2}*/", "100%20"])
def test_folders_of_any_name_are_written(name: str, buckets: Make, tmp_path: Path) -> None:
    stored = store_scores(buckets(("AP",), 1, 5), f"{tmp_path}/{name}", scores_of)
    assert len(stored.load().queries) == 5


def test_a_relative_path_is_relative_to_where_python_is(
    buckets: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored = store_scores(buckets(("AP",), 1, 5), "one", scores_of)
    assert stored.path == str(tmp_path / "one")
    with pytest.raises(KaratError, match="this folder exists already"):
        store_scores(buckets(("AP",), 1, 5), f"file://{tmp_path}/one", scores_of)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_exists_already_is_refused_before_any_work_is_done(
    make: Callable[[Path], Any], buckets: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "one")
    monkeypatch.setattr(Buckets, "write", None)
    with pytest.raises(KaratError, match="one: this folder exists already"):
        store_scores(buckets(), tmp_path / "one", scores_of)


def test_a_measure_with_the_name_of_another_column_is_refused(buckets: Make, tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="a measure is called Query, which is the name of another column"):
        store_scores(buckets(("AP", "Query")), tmp_path / "one", scores_of)


def test_an_error_about_the_whole_run_leaves_no_folder(buckets: Make, tmp_path: Path) -> None:
    def refuse(_: CollectedBuckets) -> Scores:
        raise KaratError("no queries in common")

    with pytest.raises(KaratError, match="no queries in common"):
        store_scores(buckets(), tmp_path / "one", refuse)
    assert not (tmp_path / "one").exists()


def too_large(table: pa.Table) -> BucketResult:
    queries = table["query"].to_pylist()
    return BucketResult(queries, {"AP": np.full(len(queries), math.inf)}, {"judged": ["0" * 16] * len(queries)}, 0)


def test_an_error_about_a_value_names_the_query(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("q1",)], "query string")
    work = in_buckets(
        too_large, SparkTable("the run", frame, "query", frame["query"]), values=["AP"], texts=["judged"], buckets=1
    )
    with pytest.raises(KaratError, match="query q1: AP is inf, which is too large to be a score"):
        store_scores(work, tmp_path / "one", scores_of)
    assert not (tmp_path / "one").exists()


def test_a_job_that_dies_leaves_a_folder_that_is_refused(
    buckets: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_: StoredScores) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(StoredScores, "to_json", die)
    with pytest.raises(KeyboardInterrupt):
        store_scores(buckets(), tmp_path / "one", scores_of)
    with pytest.raises(KaratError, match=rf"one: this folder has no {DESCRIPTION}, which is written last"):
        Scores.load(tmp_path / "one")


def test_rows_that_the_driver_does_not_find_are_an_error(
    buckets: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Buckets.write

    def write_elsewhere(*arguments: Any) -> None:
        write(*arguments)
        for path in (tmp_path / "one").glob("*part-*"):
            path.unlink()

    monkeypatch.setattr(Buckets, "write", write_elsewhere)
    with pytest.raises(KaratError, match=r"one: the folder has 0 of 100 queries .*Pass a path that all machines share"):
        store_scores(buckets(), tmp_path / "one", scores_of)


@pytest.mark.parametrize(
    ("path", "message"),
    {
        "nowhere://bucket/one": r'nowhere://bucket/one: cannot be written: .*No FileSystem for scheme "nowhere"',
        "/proc/one": r"^/proc/one: cannot be written: .*/proc/one",
        "a:b": "^a:b: cannot be written: ",
        "": "^per_query_path is empty",
    }.items(),
)
def test_a_folder_that_cannot_be_written_is_an_error(path: str, message: str, buckets: Make) -> None:
    with pytest.raises(KaratError, match=message) as raised:
        store_scores(buckets(("AP",), 1, 5), path, scores_of)
    assert "\n" not in str(raised.value)


def test_an_evaluation_writes_what_it_would_return(spark: SparkSession, tmp_path: Path) -> None:
    judged = [(f"q{query}", f"d{doc}", (query + doc) % 3) for query in range(20) for doc in range(5)]
    # The first query is missing from the run, and the last one is unknown.
    retrieved = [(f"q{query}", f"d{doc}", float((7 * query + doc) % 11)) for query in range(1, 21) for doc in range(9)]
    truth = spark.createDataFrame(judged, "query string, doc string, grade int")
    run = spark.createDataFrame(retrieved, "query string, doc string, score double")
    measures = ["map", "nDCG@5", "GMAP", "NumRel"]
    stored = evaluate(truth, run, measures, buckets=3, per_query_path=tmp_path / "one", name="one")
    golds = {query: {doc: grade for of, doc, grade in judged if of == query} for query, _, _ in judged}
    docs = {query: {doc: score for of, doc, score in retrieved if of == query} for query, _, _ in retrieved}
    expected = karat.evaluate(golds, docs, measures, name="one")
    assert str(stored) == str(expected)
    assert stored.means == expected.means
    assert Scores.load(tmp_path / "one").to_json() == expected.take(expected.by_id).to_json()
    other = karat.evaluate(golds, {query: {"d1": 1.0} for query in golds}, measures)
    assert (
        karat.compare({"one": stored, "other": other}).to_json()
        == karat.compare({"one": expected.take(expected.by_id), "other": other}).to_json()
    )
