"""The work on a bucket, as an executor of Spark does it, without Spark."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError
from karat.engines.spark.buckets import in_buckets
from karat.engines.spark.executor_results import queries_of
from karat.engines.spark.places import name_queries
from karat.engines.spark.shipping import error_from, error_text, failure
from karat.engines.spark.tables import SparkTable
from karat.engines.spark.worker import BUCKET, ERROR, FACTS, QUERIES, ROW_ERROR, BucketResult, BucketSide, BucketWork
from karat.errors import KaratTypeError, Parameter, Place
from karat.errors.suggestions import SuggestedCall

TRUTH = pa.table({"query": ["q2", "q1", "q1"], "doc": ["b", "a", "c"], "grade": [1, 1, 0]})
RUN = pa.table({"query": ["q1", "q2", "q2"], "doc": ["a", "b", "x"], "score": [0.5, 0.2, 0.4]})


def evaluated(truth: pa.Table, run: pa.Table) -> BucketResult:
    scores = karat.evaluate(truth, run, ["RR"])
    return BucketResult(scores.queries, {"RR": scores.values["RR"]}, {}, None)


def work_of(work: Any, *tables: pa.Table, **sides: Any) -> BucketWork:
    names = ("the ground truth", "the run")
    of_tables = tuple(BucketSide(name, "query", **sides) for name, _ in zip(names, tables, strict=False))
    return BucketWork(work, of_tables, ("RR",), (), large=2)


def one_bucket(work: Any, *tables: pa.Table, **sides: Any) -> pa.Table:
    return work_of(work, *tables, **sides).run(3, *tables)


def queries_of_bucket(work: Any, *tables: pa.Table) -> Any:
    return queries_of(one_bucket(work, *tables), work_of(work, *tables)).to_pylist()


def error_of(work: Any, *tables: pa.Table) -> KaratError:
    [text] = one_bucket(work, *tables)[ERROR].drop_null().to_pylist()
    return error_from(text)


def test_a_bucket_gives_facts_and_its_queries_in_the_order_of_their_ids() -> None:
    found = one_bucket(evaluated, TRUTH, RUN).to_pylist()
    assert [row[BUCKET] for row in found] == [3, 3]
    assert [(row[FACTS] is None, row[QUERIES] is None) for row in found] == [(False, True), (True, False)]
    assert queries_of_bucket(evaluated, TRUTH, RUN) == [
        {"query": "q1", "value0": 1.0}, {"query": "q2", "value0": 0.5}
    ]  # fmt: skip


def test_a_bucket_without_queries_gives_only_facts() -> None:
    nothing = lambda _: BucketResult([], {"RR": np.empty(0)}, {}, "a fact")  # noqa: E731
    [row] = one_bucket(nothing, TRUTH).to_pylist()
    assert pickle.loads(row[FACTS])[0] == "a fact"
    assert queries_of_bucket(nothing, TRUTH) == []


def test_many_queries_are_returned_in_several_streams() -> None:
    n = 40_000
    many = lambda _: BucketResult([f"q{at:05}" for at in range(n)], {"RR": np.arange(n) / n}, {}, None)  # noqa: E731
    assert len(one_bucket(many, TRUTH)[QUERIES].drop_null()) == 3
    assert queries_of_bucket(many, TRUTH) == [{"query": f"q{at:05}", "value0": at / n} for at in range(n)]


def test_a_value_that_is_not_a_number_travels_as_null() -> None:
    work = lambda _: BucketResult(["a", "b"], {"RR": np.array([np.nan, -0.0])}, {}, None)  # noqa: E731
    assert [row["value0"] for row in queries_of_bucket(work, TRUTH)] == [None, -0.0]


@given(st.permutations(range(8)))
def test_which_error_is_raised_does_not_depend_on_the_order_of_rows(order: list[int]) -> None:
    queries, scores = ["q1", "q2", "q3", "q4"] * 2, [1, 2, 3, 4, float("nan"), 6, float("nan"), 8]
    run = pa.table({"query": queries, "doc": list("abcdefgh"), "score": pa.array(scores, pa.float64())})
    found = error_of(evaluated, TRUTH, run.take(order))
    assert str(found).startswith("the run, column score, query q1: score nan is not a number")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            {"query": ["q1", None], "doc": ["a", "b"], "score": [1.0, 1.0]},
            "the run, column query: the id of the query is missing",
        ),
        (
            {"query": ["q1", "q2"], "doc": ["a", None], "score": [1.0, 1.0]},
            "the run, column doc, query q2: the id of the doc",
        ),
        (
            {"query": ["q1", "q2"], "doc": ["a", ""], "score": [1.0, 1.0]},
            "the run, column doc, query q2: the id of the doc",
        ),
        ({"query": ["q1", "q1"], "doc": ["a", "a"], "score": [1.0, 2.0]}, "the run, query q1: document a is"),
        ({"query": [1, 2], "doc": ["a", "b"], "rank": [1, -1]}, "the run, column rank, query 2: rank"),
        (
            {"query": [1.0, 2.5], "doc": ["a", "b"], "score": [1, 1]},
            "the run, column query, query 2.5: 2.5 is not",
        ),
        ({"query": ["q1", "q2"], "doc": [["a"], ["b", "c"]], "score": [[1.0], [2.0]]}, "the run, query q2: "),
        ({"query": ["q1", "q1"], "doc": [["a"], ["b"]]}, "query q1"),
    ],
)
def test_errors_about_rows_name_the_query(run: dict[str, Any], message: str) -> None:
    found = str(error_of(evaluated, TRUTH, pa.table(run)))
    assert message in found
    assert "row " not in found.split(".")[0]


def test_a_place_in_what_and_in_where_names_the_query() -> None:
    table = pa.table({"meta": [{"id": "q7"}, {"id": "q8"}, {"id": "q7"}]})
    earlier, place = Place("run", row=2), Place("run", row=(0, 1), field="rank 3")
    error = KaratError(["the label in ", earlier, " differs"], place=place, hint="row 1")
    named = name_queries(error, ["run"], [table], ["meta.id"])
    assert str(named) == "run, queries q7 and q8, rank 3: the label in run, query q7 differs. row 1"


def test_two_rows_of_one_query_have_no_other_name() -> None:
    table = pa.table({"query": ["q7", "q7"]})
    error = KaratError(["query q7 was already in ", Place("run", row=0)], place=Place("run", row=1))
    named = name_queries(error, ["run"], [table], ["query"])
    assert str(named) == "run, query q7: query q7 was already in another row"


def test_a_name_that_another_name_ends_with_is_not_confused_with_it() -> None:
    tables = [pa.table({"query": ["a"]}), pa.table({"query": ["b"]})]
    error = KaratError("bad", place=Place("my run", row=0))
    assert str(name_queries(error, ["run", "my run"], tables, ["query", "query"]).place) == "my run, query b"


def test_rows_are_sorted_by_the_column_that_gives_the_order() -> None:
    table = pa.table({"query": list("aaaa"), "at": [3, 1, 2, 1], "doc": ["x", "y", "z", "b"]})
    work = lambda run: BucketResult([], {"RR": np.empty(0)}, {}, run["doc"].to_pylist())  # noqa: E731
    [facts] = one_bucket(work, table, order="at")[FACTS].drop_null().to_pylist()
    assert pickle.loads(facts)[0] == ["b", "y", "z", "x"]


@pytest.mark.parametrize(
    ("table", "documents"),
    [
        (pa.table({"query": list("abbabb")}), None),
        (pa.table({"query": [7.0, 8.0, 8.0, 8.0]}), None),
        (pa.table({"query": ["a", "b"], "doc": [["x"], ["x", "y", "z"]]}), "doc"),
        (pa.table({"query": ["a", "b"], "doc": [None, ["x", "y", "z"]]}), "doc"),
    ],
)
def test_queries_with_too_many_documents_for_a_bucket_are_named(table: pa.Table, documents: str | None) -> None:
    work = lambda _: BucketResult([], {"RR": np.empty(0)}, {}, None)  # noqa: E731
    [facts] = one_bucket(work, table, documents=documents)[FACTS].drop_null().to_pylist()
    assert pickle.loads(facts)[1] in (["b"], ["8"])


def test_rows_that_could_not_be_read_are_errors() -> None:
    sent = [None, error_text(KaratError("bad", place="b.trec:2")), error_text(KaratError("bad", place="a.trec:7"))]
    assert str(error_of(evaluated, TRUTH.append_column(ROW_ERROR, pa.array(sent)), RUN).place) == "a.trec:7"
    without = TRUTH.append_column(ROW_ERROR, pa.nulls(3, pa.string()))
    assert one_bucket(evaluated, without, RUN) == one_bucket(evaluated, TRUTH, RUN)


def test_what_is_not_a_table_is_given_to_the_work_as_it_is_and_errors_keep_their_places() -> None:
    def work(*inputs: Any) -> BucketResult:
        if inputs[1] != "rows 7 to 9":
            raise KaratError("bad", place=Place("the run", row=0))
        return BucketResult(["q1"], {"RR": np.ones(1)}, {}, inputs)

    run = BucketWork(work, (BucketSide("the ground truth", "query"), BucketSide("the run", "query")), ("RR",), ()).run
    [facts] = run(0, TRUTH, "rows 7 to 9")[FACTS].drop_null().to_pylist()
    assert pickle.loads(facts) == ((TRUTH, "rows 7 to 9"), [])
    [text] = run(0, TRUTH, "rows 1 to 2")[ERROR].drop_null().to_pylist()
    assert error_from(text).place == Place("the run", row=0)


VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())
CALLS = st.builds(lambda name, file, task: SuggestedCall.of(name, file, task=task), st.text(), st.text(), VALUES)
PARAMETERS = st.builds(Parameter, st.text(), st.just(...) | VALUES) | CALLS
LINES = st.none() | st.integers() | st.tuples(st.integers(), st.integers())
PLACES = st.recursive(
    st.builds(Place, st.text(), LINES, LINES, query=st.text(), field=st.text(), other=st.none()),
    lambda places: st.builds(Place, st.text(), LINES, LINES, query=st.text(), other=places),
    max_leaves=2,
)
MESSAGES = st.text() | st.lists(st.text() | PARAMETERS | PLACES)


@given(st.sampled_from([KaratError, KaratTypeError]), MESSAGES, st.none() | st.text() | PLACES, st.none() | MESSAGES)
def test_an_error_is_the_same_after_it_was_sent(kind: type, what: Any, place: Any, hint: Any) -> None:
    sent = kind([*([what] if isinstance(what, str) else what), "\ud800\0"], place=place, hint=hint)
    got = error_from(error_text(sent))
    assert type(got) is kind
    assert (got.parts, got.place, got.hint_parts) == (sent.parts, sent.place, sent.hint_parts)


def test_a_value_that_json_cannot_hold_is_sent_as_it_is_shown() -> None:
    got = error_from(error_text(KaratError([Parameter("match", print), " is wrong"])))
    assert "built-in function print" in got.what


JAVA = """org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:1)"""
PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/tmp/x.py", line 14, in bucket
    raise ValueError("bad")
ValueError: bad
and more
"""


LOST = "Lost task 1.1 in stage 1.0 (TID 5) (127.0.0.1 executor 2): ExecutorLostFailure (executor 2 exited caused by"
LOST += " one of the running tasks) Reason: Command exited with code 137"
CRASHED = "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting 'x'"
VERSIONS = (
    "java.io.InvalidClassException: org.apache.spark.x; local class incompatible: stream classdesc serialVersionUID"
)


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        (JAVA, "Spark: Job aborted due to stage failure: Task 0 in stage 2.0 failed"),
        (PYTHON.replace(":\nTraceback", ": Traceback"), "Spark: a task failed: ValueError: bad"),  # Spark Connect
        (PYTHON.replace("ValueError", "OSError") + PYTHON, "Spark: a task failed: ValueError: bad. The logs"),
        (PYTHON, "Spark: a task failed: ValueError: bad. The logs"),
        (f"An error occurred while calling o1.toArrow.\n: {JAVA}", "Spark: Job aborted"),
        (f"{JAVA}\nCaused by: java.io.IOException: disk full\n\tat x", "Spark: disk full"),
        ("", "Spark: RuntimeError"),
        ("Total size of results (1 GB) is bigger than spark.driver.maxResultSize", "too large for the driver"),
        (f"{JAVA}, most recent failure: {LOST}", "Spark: executor 2 was lost, and tasks failed too often (Command exi"),
        (f"{JAVA}, most recent failure: {LOST}", "(Command exited with code 137). If it was killed, memory ran out"),
        (
            f"{JAVA}\nCaused by: {CRASHED}",
            "Spark: a Python process of an executor was killed or crashed. Raise spark.ex",
        ),
        (PYTHON.replace("ValueError: bad", "MemoryError"), "Spark: Python ran out of memory. Raise spark.executor.mem"),
        (
            f"{JAVA}\nCaused by: java.lang.OutOfMemoryError: Java heap space",
            "Java ran out of memory (Java heap space). ",
        ),
        (f"{JAVA}\nCaused by: java.io.IOException: No space left on device", "Spark: no space is left on a disk. "),
        (PYTHON.replace("bad", "[Errno 28] No space left on device"), "Spark: no space is left on a disk. "),
        ("Job aborted due to stage failure: Master removed our application: FAILED", "the master ended the applicati"),
        (
            "Cannot call methods on a stopped SparkContext.\nThis",
            "Spark: the session was stopped while it was in use. ",
        ),
        (VERSIONS, "Spark: the driver and the cluster have different versions of Spark. Install the pyspark"),
    ],
)
def test_a_failure_of_spark_is_one_line_without_traces(exception: str, message: str) -> None:
    found = str(failure(RuntimeError(exception)))
    assert message in found
    assert "\n" not in found
    assert "DAGScheduler" not in found


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        (
            PYTHON.replace("ValueError: bad", "ModuleNotFoundError: No module named 'pyarrow'"),
            "Spark: an executor cannot import a module (No module named 'pyarrow'): the driver runs Python 3.",
        ),
        (
            PYTHON.replace("bad", "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in"),
            "an executor has another version of Python than the driver: it runs Python 3.9, and the driver runs Python",
        ),
        (
            'x (TID 0) (h1 executor 3): java.io.IOException: Cannot run program "./a/python": error=2, No such file',
            "Spark: an executor on h1 cannot start its Python, ./a/python (No such file): the driver runs Python 3.",
        ),
    ],
)
def test_without_a_session_to_ask_the_error_says_what_is_known_about_python(exception: str, message: str) -> None:
    class ConnectError(Exception):
        __module__ = "pyspark.errors.exceptions.connect"

    found = str(failure(ConnectError(exception)))
    assert message in found
    assert "PYSPARK_PYTHON (or spark.pyspark.python)" in found


@pytest.mark.parametrize("buckets", [0, -1, 1.5, "2", True, 10**9])
def test_a_number_of_buckets_is_a_positive_whole_number(buckets: Any) -> None:
    nothing = SparkTable("the run", None, "query", None)
    with pytest.raises(KaratError, match=r"^buckets=.* is not a number of buckets\. Pass a whole number from 1 to"):
        in_buckets(evaluated, nothing, values=["RR"], buckets=buckets)
