"""DataFrames on Spark that are grouped by query: their partitions are judged without a shuffle, as all rows locally."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
import pytest

import karat
from karat import KaratError
from karat.engines.spark import evaluate, shuffle
from karat.engines.spark.chunks import Chunking
from karat.engines.spark.session import quiet
from tests.spark.local_comparison import outcome
from tests.spark.test_documents import FEW, LISTS, MEASURES, OF_SPANS, PAIRS, SPANS, same_first_word

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Said = Callable[[], str]
TRUTH, RUN = PAIRS[0], PAIRS[1].drop_columns(["position"]).sort_by([("query", "ascending"), ("score", "ascending")])
"""a run that is grouped by query, and in which documents with the same score are in another order than by id"""
IN_PARTITIONS = "executors judge the partitions of the DataFrame, without a shuffle"
SHUFFLED = "shuffles them by query, because "


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    """What was said about how a run is read, since the last call."""
    caplog.set_level(logging.INFO, logger="karat.spark")

    def since() -> str:
        messages = "\n".join(record.getMessage() for record in caplog.records)
        caplog.clear()
        return messages

    return since


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, partitions of some hundred rows would be one chunk."""
    monkeypatch.setattr("karat.engines.spark.partitions.Chunking", partial(Chunking, most=40))
    monkeypatch.setitem(shuffle._SHORT_ROWS, "spark.sql.execution.arrow.maxRecordsPerBatch", "7")


def frame_of(spark: SparkSession, partitions: list[pa.Table]) -> DataFrame:
    """A DataFrame with exactly these partitions."""
    from pyspark.sql.pandas.types import from_arrow_schema

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for each in numbers for number in each.column(0).to_pylist()):
            yield from partitions[number].to_batches()

    return mapped(spark, rows, len(partitions), from_arrow_schema(partitions[0].schema))


def mapped(spark: SparkSession, rows: Any, partitions: int, schema: Any) -> DataFrame:
    """A DataFrame of the rows that a function makes of the number of each partition."""
    with quiet():
        return spark.range(0, partitions, 1, partitions).mapInArrow(rows, schema)


def divided(table: pa.Table, *cuts: int) -> list[pa.Table]:
    return [table.slice(start, stop - start) for start, stop in pairwise([0, *cuts, len(table)])]


def check(spark: SparkSession, truth: pa.Table, partitions: list[pa.Table], measures: Any = FEW, **given: Any) -> Any:
    """The outcome of partitions, which is that of the local engine and that of a shuffle."""
    golds, run = frame_of(spark, divided(truth, len(truth) // 2)), frame_of(spark, partitions)
    found = outcome(lambda: evaluate(golds, run, measures, **given))
    assert found == outcome(lambda: evaluate(golds, run, measures, buckets=2, **given))
    assert found == outcome(lambda: karat.evaluate(truth, pa.concat_tables(partitions), measures, **given))
    return found


@pytest.mark.parametrize("cuts", [(), (100,), (3, 3, 50, 60, 62, 200), range(13, len(RUN), 13)], ids=len)
def test_every_measure_has_its_local_values_whatever_the_partitions_are(
    spark: SparkSession, said: Said, cuts: tuple[int, ...]
) -> None:
    assert "values" in check(spark, TRUTH, divided(RUN, *cuts), MEASURES, name="bm25")
    assert f"bm25: {IN_PARTITIONS}; Spark reads the rows, because the ground truth is a DataFrame" in said()


def test_a_query_may_fill_several_partitions(spark: SparkSession, said: Said) -> None:
    large = pa.table(
        {"query": ["q5"] * 150, "doc": [f"d{at}" for at in range(150)], "score": [1.0 * (at % 7) for at in range(150)]}
    )
    others = RUN.filter(pa.array([query != "q5" for query in RUN["query"].to_pylist()]))
    table = pa.concat_tables([others.slice(0, 60), large, others.slice(60)])
    assert "values" in check(spark, TRUTH, divided(table, 70, 110, 111, 160, 230))
    assert said().count(SHUFFLED) == 1, "the evaluation in buckets"


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ("pairs", "id(normalize=case)"),
        ("pairs", "prefix"),
        ("pairs", "prefix(separator=::)"),
        ("lists", "id"),
        ("lists", "content(normalize=case+space)"),
        ("lists", "meta.of(gold=id)"),
        ("lists", "chunk"),
        ("lists", "fuzzy(threshold=85)"),
        ("lists", "overlap(threshold=0.4)"),
        ("lists", same_first_word),
    ],
)
def test_every_matcher_finds_what_it_finds_after_a_shuffle(
    spark: SparkSession, said: Said, table: str, match: Any
) -> None:
    truth, run = (TRUTH, RUN) if table == "pairs" else LISTS
    golds, found = frame_of(spark, divided(truth, 7)), frame_of(spark, divided(run, 2, 9, 14))
    in_partitions = outcome(lambda: evaluate(golds, found, [*FEW, "R", "ERR"], match=match))
    assert IN_PARTITIONS in (messages := said())
    assert SHUFFLED not in messages
    assert "values" in in_partitions
    assert in_partitions == outcome(lambda: evaluate(golds, found, [*FEW, "R", "ERR"], match=match, buckets=3))


@pytest.mark.parametrize(
    "given",
    [
        {"missing": "skip", "rel": 2},
        {"ties": "worst", "match": lambda retrieved, gold: retrieved[-1] == gold[-1]},
        {"ties": "best", "ignore_identical_ids": True},
    ],
)
def test_every_option_has_its_local_effect(spark: SparkSession, said: Said, given: Any) -> None:
    assert "values" in check(spark, TRUTH, divided(RUN, 40, 130), **given)
    assert IN_PARTITIONS in said()


def test_lists_have_the_order_that_ties_need(spark: SparkSession, said: Said) -> None:
    check(spark, LISTS[0], divided(LISTS[1], 5), ties="input")
    assert IN_PARTITIONS in said()
    with pytest.raises(KaratError, match="the rows of a table on Spark have no order"):
        evaluate(frame_of(spark, [TRUTH]), frame_of(spark, [RUN]), FEW, ties="input")


@pytest.mark.parametrize("given", [{}, {"missing": "skip"}])
def test_a_run_without_rows_is_as_locally(spark: SparkSession, said: Said, given: Any) -> None:
    check(spark, TRUTH, [RUN.slice(0, 0)] * 3, **given)
    assert IN_PARTITIONS in said()


def test_ground_truth_without_rows_and_one_without_a_common_query_are_the_local_errors(
    spark: SparkSession, said: Said
) -> None:
    check(spark, TRUTH.slice(0, 0), [RUN])
    others = pa.array([f"x{query}" for query in TRUTH["query"].to_pylist()])
    assert "no query is in both" in str(check(spark, TRUTH.set_column(0, "query", others), divided(RUN, 20)))


def interleaved(table: pa.Table) -> pa.Table:
    order = [*range(len(table))]
    random.Random(3).shuffle(order)
    return table.take(order)


def moved(table: pa.Table, row: int, to: int) -> pa.Table:
    """The table with one row at another place."""
    order = [*range(len(table))]
    order.insert(to, order.pop(row))
    return table.take(order)


@pytest.mark.parametrize(
    ("table", "cuts", "reason"),
    [
        (interleaved(RUN), (50, 100), "the run: the rows turned out not to be grouped by query"),
        (pa.concat_tables([RUN.slice(96), RUN.slice(0, 96)]), (30, 200), None),
        (moved(RUN, 30, 203), (120,), "the run: query 'q1.*' has rows in several places"),
        (moved(RUN, 30, 107), (), "the run: the rows turned out not to be grouped by query"),
    ],
    ids=["any order", "another order of queries", "in two partitions", "in two chunks"],
)
def test_rows_that_are_not_grouped_by_query_are_shuffled(
    spark: SparkSession, said: Said, table: pa.Table, cuts: tuple[int, ...], reason: str | None
) -> None:
    golds, run = frame_of(spark, [TRUTH]), frame_of(spark, divided(table, *cuts))
    found = outcome(lambda: evaluate(golds, run, FEW))
    assert found == outcome(lambda: karat.evaluate(TRUTH, table, FEW))
    messages = said()
    assert bool(reason) == (SHUFFLED in messages)
    assert not reason or re.search(SHUFFLED + reason, messages)


def test_rows_that_seem_to_be_grouped_at_first_are_shuffled(
    spark: SparkSession, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("karat.engines.spark.partitions._FIRST_ROWS", 40)
    table = pa.concat_tables([RUN.slice(0, 48), interleaved(RUN.slice(48))])
    found = outcome(lambda: evaluate(frame_of(spark, [TRUTH]), frame_of(spark, divided(table, 150)), FEW))
    assert found == outcome(lambda: karat.evaluate(TRUTH, table, FEW))
    in_partitions, shuffled = said().splitlines()
    assert IN_PARTITIONS in in_partitions
    assert f"{SHUFFLED}the run: the rows turned out not to be grouped by query" in shuffled


def twice(row: int, to: int) -> pa.Table:
    """The run with one of its rows a second time."""
    return pa.concat_tables([RUN.slice(0, to), RUN.slice(row, 1), RUN.slice(to)])


@pytest.mark.parametrize(
    "partitions",
    [
        [twice(1, 3)],
        divided(twice(1, 3), 2),
        divided(twice(29, 31), 24),
        [RUN, RUN.slice(0, 2)],
        [RUN.set_column(2, "score", pa.array([*[1.0] * 99, float("nan"), *[1.0] * (len(RUN) - 100)]))],
        [RUN.set_column(2, "score", pa.array([*[1.0] * 99, None, *[1.0] * (len(RUN) - 100)]))],
        [RUN.set_column(0, "query", pa.array([*RUN["query"].to_pylist()[:-1], None]))],
        [RUN.set_column(1, "doc", pa.array([*RUN["doc"].to_pylist()[:-1], ""]))],
    ],
    ids=["twice", "at a border", "in a chunk", "elsewhere", "NaN", "no score", "no query", "empty id"],
)
def test_an_error_is_the_one_of_a_shuffle(spark: SparkSession, said: Said, partitions: list[pa.Table]) -> None:
    golds, run = frame_of(spark, [TRUTH]), frame_of(spark, partitions)
    messages = []
    for buckets in (None, 1):
        with pytest.raises(KaratError) as raised:
            evaluate(golds, run, FEW, buckets=buckets)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]
    assert IN_PARTITIONS in said()


def test_a_query_that_is_listed_twice_is_the_error_of_a_shuffle(spark: SparkSession) -> None:
    golds, messages = frame_of(spark, [LISTS[0]]), []
    for partitions in ([LISTS[1], LISTS[1].slice(2, 1)], [pa.concat_tables([LISTS[1], LISTS[1].slice(2, 1)])]):
        for buckets in (None, 2):
            with pytest.raises(KaratError) as raised:
                evaluate(golds, frame_of(spark, partitions), FEW, buckets=buckets)
            messages.append(str(raised.value))
    assert len(set(messages)) == 1


@pytest.mark.parametrize("duplicates", ["first", "error"])
def test_of_documents_that_are_listed_twice_the_first_is_kept_if_wanted(
    spark: SparkSession, said: Said, duplicates: Any
) -> None:
    check(spark, TRUTH, divided(twice(1, 3), 2, 60), duplicates=duplicates)
    assert said().count(SHUFFLED) == 1 + (duplicates == "error"), "one of them in buckets"


def test_an_error_in_the_ground_truth_is_the_one_of_a_shuffle(spark: SparkSession) -> None:
    golds, messages = frame_of(spark, [TRUTH, TRUTH.slice(0, 1)]), []
    for buckets in (None, 1):
        with pytest.raises(KaratError, match="is judged twice for query") as raised:
            evaluate(golds, frame_of(spark, [RUN]), FEW, buckets=buckets)
        messages.append(str(raised.value))
    assert messages[0] == messages[1]


def test_ids_may_be_numbers(spark: SparkSession, said: Said) -> None:
    truth = pa.table({"qid": [7, 8, 9], "doc": ["1", "2", "3"], "grade": [1, 2, 1]})
    run = pa.table({"query": [7.0, 7.0, 8.0, 8.0, 10.0], "doc": [1, 5, 2, 3, 3], "score": [0.5, 0.25, 3, 2, 1]})
    assert "values" in check(spark, truth, divided(run, 1, 3))
    assert IN_PARTITIONS in said()


def test_a_run_with_ranks_has_one_note_on_its_columns(spark: SparkSession, said: Said) -> None:
    run = pa.table({"qid": [f"q{q}" for q in range(5)], "doc": ["d1"] * 5, "rank": [1] * 5})
    check(spark, TRUTH, divided(run, 1, 3))
    assert IN_PARTITIONS in said()


def halved(function: Any) -> Any:
    @wraps(function)
    def half(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings) / 2

    return half


def test_a_measure_that_was_registered_on_the_driver_is_known_to_executors(spark: SparkSession, said: Said) -> None:
    @karat.register
    @halved
    def HalfIfFirstInPartitions(judged: Any, *, rel: Annotated[float, Literal[1]] = 1) -> Any:
        return judged.found(1, rel)

    check(spark, TRUTH, divided(RUN, 50), ["HalfIfFirstInPartitions(rel=2)", "AP"])
    assert IN_PARTITIONS in said()


def test_a_measure_that_fails_is_an_error_and_is_not_tried_after_a_shuffle(spark: SparkSession, said: Said) -> None:
    @karat.register
    def Failing(judged: Any) -> Any:
        return 1 / 0

    with pytest.raises(KaratError, match="a task failed: ZeroDivisionError"):
        evaluate(frame_of(spark, [TRUTH]), frame_of(spark, [RUN]), ["Failing"])
    assert SHUFFLED not in said()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"order": "position"}, "order= was given"),
        ({"truth_order": "position"}, "truth_order= was given"),
        ({"buckets": 3}, "buckets= was given"),
    ],
)
def test_what_needs_rows_in_another_order_is_shuffled(spark: SparkSession, said: Said, given: Any, reason: str) -> None:
    tables = [each.append_column("position", pa.array(range(len(each)))) for each in (TRUTH, RUN)]
    found = outcome(lambda: evaluate(frame_of(spark, [tables[0]]), frame_of(spark, [tables[1]]), FEW, **given))
    assert found == outcome(lambda: karat.evaluate(TRUTH, RUN, FEW))
    assert (messages := said()) == f"Spark reads the rows and {SHUFFLED}{reason}", messages


def test_scores_that_are_written_and_spans_are_shuffled(spark: SparkSession, said: Said, tmp_path: Path) -> None:
    golds, run = frame_of(spark, [TRUTH]), frame_of(spark, [RUN])
    stored = evaluate(golds, run, FEW, per_query_path=tmp_path / "scores")
    assert dict(stored.means) == dict(karat.evaluate(TRUTH, RUN, FEW).means)
    assert said().endswith(f"{SHUFFLED}per_query_path= was given")
    spans = frame_of(spark, [SPANS[0]]), frame_of(spark, [SPANS[1]])
    assert outcome(lambda: evaluate(*spans, OF_SPANS)) == outcome(lambda: karat.evaluate(*SPANS, OF_SPANS))
    assert said().endswith(f"{SHUFFLED}measures of spans read whole documents")


@pytest.mark.parametrize("limit", ["_MOST_JUDGMENTS", "_MOST_BYTES"])
def test_large_ground_truth_is_shuffled(
    spark: SparkSession, said: Said, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(f"karat.engines.spark.planning.{limit}", 10)
    tables = LISTS if limit == "_MOST_BYTES" else (TRUTH, RUN)
    found = outcome(lambda: evaluate(frame_of(spark, [tables[0]]), frame_of(spark, [tables[1]]), FEW))
    assert found == outcome(lambda: karat.evaluate(*tables, FEW))
    assert f"{SHUFFLED}the ground truth has more than " in said()


@pytest.mark.parametrize("form", ["qrels", "jsonl"])
def test_ground_truth_may_be_a_text_file(spark: SparkSession, said: Said, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"truth.{form}"
    if form == "qrels":
        path.write_text("".join("{query} 0 {doc} {grade}\n".format(**row) for row in TRUTH.to_pylist()))
    else:
        path.write_text("".join(f'{{"query": "q{at}", "docs": ["d{at}", "d2"]}}\n' for at in range(20)))
    found = outcome(lambda: evaluate(path, frame_of(spark, divided(RUN, 77)), FEW))
    assert found == outcome(lambda: karat.evaluate(path, RUN, FEW))
    assert f"the run: {IN_PARTITIONS}; Spark reads the rows, because the run is a DataFrame" in said()


def test_a_task_that_fails_at_first_changes_nothing(spark: SparkSession, said: Said, tmp_path: Path) -> None:
    """The second time, the rows of the partition are in another order."""

    def rows(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for each in numbers for number in each.column(0).to_pylist()):
            parts = divided(RUN, 96, 192)[number]
            queries = sorted({*parts["query"].to_pylist()}, reverse=(tmp_path / "failed").exists())
            for query in queries:
                yield from parts.filter(pa.compute.equal(parts["query"], query)).to_batches()
            if number == 1 and not (tmp_path / "failed").exists():
                (tmp_path / "failed").touch()
                raise RuntimeError("fails at first")

    run = mapped(spark, rows, 3, "query string, doc string, score double")
    found = outcome(lambda: evaluate(frame_of(spark, [TRUTH]), run, FEW))
    assert found == outcome(lambda: karat.evaluate(TRUTH, RUN, FEW))
    assert (tmp_path / "failed").exists()
    assert IN_PARTITIONS in said()


@pytest.mark.parametrize("seed", range(6))
def test_runs_of_any_kind_have_their_local_scores(spark: SparkSession, seed: int) -> None:
    draw = random.Random(seed)
    table = RUN if draw.random() < 0.7 else moved(RUN, *draw.sample(range(len(RUN)), 2))
    cuts = sorted(draw.choices(range(len(RUN)), k=draw.randint(0, 9)))
    check(
        spark, TRUTH, divided(table, *cuts), missing=draw.choice(["zero", "skip"]), ties=draw.choice(["trec", "best"])
    )


def test_settings_of_the_session_are_what_they_were_afterwards(spark: SparkSession) -> None:
    before = dict(spark.conf.getAll)
    evaluate(frame_of(spark, [TRUTH]), frame_of(spark, [RUN]), FEW)
    assert dict(spark.conf.getAll) == before
