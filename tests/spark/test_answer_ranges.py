"""Predicted answers in files on Spark: executors read ranges of them, and everything is as in the local engine."""

from __future__ import annotations

import gzip
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import karat
from karat.engines.spark import answer_ranges, evaluate_answers
from karat.evaluation.answer_parts import AnswerReports
from karat.reading.records.record_ranges import RecordRanges, plan_records
from tests.spark.local_comparison import outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Plans = Callable[[], str]


@pytest.fixture
def plan(caplog: pytest.LogCaptureFixture) -> Plans:
    """What was said about how answers are read."""
    caplog.set_level(logging.INFO, logger="karat.spark")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    """A file of gold answers: one, several, an empty one, and none."""
    texts: dict[str, Any] = {f"q{at}": ["gold", f"a ring {at}"] for at in range(30)}
    others: dict[str, Any] = {"größe": "née", "7": "gold", "none": None, "empty": "", "nothing": []}
    path = tmp_path / "golds.jsonl"
    return write(path, [{"query": query, "gold_answers": each} for query, each in (texts | others).items()])


def write(path: Path, records: Sequence[Any], line_end: str = "\n") -> Path:
    lines = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=len(each) % 2 == 0) for each in records]
    path.write_text(line_end.join(lines), newline="")
    return path


def answers_to(queries: Sequence[Any], names: tuple[str, str] = ("query", "answer"), seed: int = 0) -> list[Any]:
    random = Random(seed)
    texts = ["gold", "a ring", "", None, "née", "x" * 80]
    return [{names[0]: query, names[1]: random.choice(texts)} for query in queries]


def with_place(compute: Callable[[], Any]) -> Any:
    """The outcome, or an error with its place."""
    try:
        scores = compute()
    except karat.KaratError as error:
        return str(error)
    return outcome(lambda: scores)


def same_as_local(golds: Path, path: Path, spark: SparkSession, **options: Any) -> Any:
    """What both engines return, or the error of both."""
    on_spark = with_place(lambda: evaluate_answers(golds, path, session=spark, **options))
    assert on_spark == with_place(lambda: karat.evaluate_answers(golds, path, **options))
    return on_spark


@pytest.mark.parametrize("seed", range(8))
def test_files_are_read_in_ranges_and_evaluated_as_locally(
    spark: SparkSession, golds: Path, tmp_path: Path, plan: Plans, seed: int
) -> None:
    random = Random(seed)
    names = [("query", "answer"), ("id", "prediction")][seed % 2]
    known = [f"q{at}" for at in range(30)] + ["größe", "none", "empty", "nothing"]
    records = answers_to([*random.sample(known, 28), 7, "other", "é"], names, seed)
    if seed % 4 == 3:  # which of the usual names is read is decided by the last range
        records[-1]["answer"] = "gold"
    path = write(tmp_path / "answers.jsonl", records, random.choice(["\n", "\r\n", "\n  \n"]))
    found = same_as_local(golds, path, spark, missing=random.choice(["zero", "skip"]), name="a system")
    assert isinstance(found, dict)
    assert f"{path}: executors read the files directly, in 6 ranges" in plan()
    assert "Spark reads the rows" not in plan()


def test_row_groups_of_parquet_are_ranges(spark: SparkSession, golds: Path, tmp_path: Path, plan: Plans) -> None:
    records = answers_to([f"q{at}" for at in range(25)], ("id", "prediction"))
    path = tmp_path / "answers.parquet"
    table = pa.Table.from_pylist(records)
    pq.write_table(table, path, row_group_size=2)
    assert len(same_as_local(golds, path, spark)["findings"]) == 3
    assert "in 6 ranges" in plan() or "in 7 ranges" in plan()
    folder = tmp_path / "folder"
    folder.mkdir()
    for at in range(3):
        pq.write_table(table.slice(10 * at, 10), folder / f"{at}.parquet", row_group_size=4)
    same_as_local(golds, folder, spark)
    same_as_local(golds, folder / "*.parquet", spark)
    pq.write_table(pa.table({"id": ["x", "q3"], "prediction": ["x", "y"]}), folder / "3.parquet")
    assert "3.parquet, row 1: question 'q3' was already in" in same_as_local(golds, folder, spark)
    pq.write_table(pa.table({"id": [1], "prediction": [2]}), path)
    assert "2 is not text" in same_as_local(golds, path, spark)
    assert "Spark reads the rows" not in plan()


def test_files_that_are_not_divided_are_one_range(
    spark: SparkSession, golds: Path, tmp_path: Path, plan: Plans
) -> None:
    contents: dict[str, bytes] = {
        "quoted.csv": b'id,answer\nq1,"gold\nring"\n\nq2,\n"q3","a, b"\n',
        "wide.csv": b"id,answer\nq1,gold,x\n",
        "answers.tsv": b"query\toutput\nq1\tgold\n",
        "answers.jsonl.gz": gzip.compress(b'{"query": "q1", "answer": "gold"}\n{"query": "q2", "answer": null}\n'),
        "mapping.json": b'{"q1": "gold", "q2": null}',
        "list.json": json.dumps(["gold"] * 35).encode(),
        "short.json": b'["gold"]',
        "empty.jsonl": b"",
        "blank.jsonl": b"\n \n",
        "one.jsonl": b'{"query": "q1", "answer": "gold"}\n',
        "cut.jsonl": b'{"query": "q1", "answer"\n{"query": "q2", "answer": "gold"}\n',
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        same_as_local(golds, tmp_path / name, spark)
    feather.write_feather(pa.table({"query": ["q1"], "answer": ["gold"]}), tmp_path / "answers.feather")
    same_as_local(golds, tmp_path / "answers.feather", spark)
    assert plan().count("executors read the files directly, in 1 range") == len(contents) + 1


def test_text_files_of_a_folder_are_one_table(spark: SparkSession, golds: Path, tmp_path: Path) -> None:
    records = answers_to([f"q{at}" for at in range(30)])
    whole = outcome(lambda: karat.evaluate_answers(golds, write(tmp_path / "answers.jsonl", records)))
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "a.jsonl", records[:20])
    write(folder / "b.jsonl", records[20:])
    (folder / "_SUCCESS").touch()
    (folder / "empty.jsonl").touch()
    assert outcome(lambda: evaluate_answers(golds, folder, session=spark)) == whole
    write(folder / "c.jsonl", ["", *answers_to(["new", "q4"])])
    with pytest.raises(karat.KaratError) as error:
        evaluate_answers(golds, folder, session=spark)
    assert f"c.jsonl:3: question 'q4' was already in {folder / 'a.jsonl'}:5" in str(error.value)


@pytest.mark.parametrize("line", [1, 17, 31])
@pytest.mark.parametrize(
    "wrong",
    ["{", "[1]", '{"answer": "x"}', '{"query": 1.5, "answer": "x"}', '{"query": "q5", "answer": "x"}',
     '{"query": "new", "answer": ["x"]}', '{"query": "new", "query": "new", "answer": "x"}',
     '{"query": "\\ud800", "answer": "x"}', "\x00"],
)  # fmt: skip
def test_an_error_has_the_line_in_the_whole_file(
    spark: SparkSession, golds: Path, tmp_path: Path, wrong: str, line: int
) -> None:
    records = answers_to([f"q{at}" for at in range(30)])
    records.insert(line - 1, wrong)
    found = same_as_local(golds, write(tmp_path / "answers.jsonl", records), spark)
    assert isinstance(found, str)
    assert f"answers.jsonl:{line}: " in found or "\\ud800" in wrong or line == 1


@pytest.mark.parametrize(
    ("records", "fields"),
    [
        ([{"id": f"q{at}", "output": "gold"} for at in range(20)], {"answer": "reply"}),
        ([{"meta": {"id": f"q{at}"}, "reply": "gold"} for at in range(20)], {"query": "meta.id", "answer": "reply"}),
        ([{"query": f"q{at}", "answer": None} for at in range(20)], None),
        ([{"query": f"q{at}", "answer": None, "output": "gold"} for at in range(20)], None),
        (["", "", "", *[{"reply": "x", "key": at} for at in range(20)]], None),
        ([{f"q{at}": "gold"} for at in range(20)], None),
        ([{"query": f"x{at}", "answer": "gold"} for at in range(20)], None),
    ],
)
def test_the_fields_are_those_that_are_read_locally(
    spark: SparkSession, tmp_path: Path, records: Sequence[Any], fields: Mapping[str, str] | None
) -> None:
    gold = write(tmp_path / "golds.jsonl", [{"meta": {"id": f"q{at}"}, "query": f"q{at}", "gold_answers": ["gold"]}
                                            for at in range(9)])  # fmt: skip
    path = write(tmp_path / "answers.jsonl", records)
    same_as_local(gold, path, spark, fields=fields)
    same_as_local(gold, path, spark, fields=fields, missing="skip")


def test_only_ranges_that_chose_other_fields_are_read_again(
    spark: SparkSession, golds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_again: list[list[int]] = []
    others = AnswerReports.others

    def recorded(*arguments: Any) -> list[int]:
        read_again.append(others(*arguments))
        return read_again[-1]

    monkeypatch.setattr(AnswerReports, "others", recorded)
    records = [{"query": f"q{at:02}", "prediction": "gold"} for at in range(60)]
    records[-1] = {"query": "q59", "answer": "gold"}
    path = write(tmp_path / "answers.jsonl", records)
    same_as_local(golds, path, spark)
    assert read_again == [[0, 1, 2, 3, 4]]


def test_gold_answers_may_be_in_any_file_that_is_read_locally(spark: SparkSession, tmp_path: Path, plan: Plans) -> None:
    path = write(tmp_path / "answers.jsonl", answers_to([f"q{at}" for at in range(20)]))
    squad = [{"paragraphs": [{"qas": [{"id": f"q{at}", "answers": [{"text": "gold"}]} for at in range(9)]}]}]
    contents = {
        "squad.json": json.dumps({"data": squad}),
        "lists.csv": "query,answer\n" + "".join(f"q{at},\"['gold', 'x']\"\n" for at in range(9)),
        "rows.csv": "id,answer\nq1,gold\nq1,ring\nq2,\n",
        "empty.jsonl": "",
        "none.jsonl": '{"query": "q1", "answer": null}',
        "wrong.jsonl": '{"query": "q1", "answer": "x"}\n{"query": "q2", "answer": 2}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        same_as_local(tmp_path / name, path, spark)
    assert "Spark reads the rows" not in plan()


def test_of_many_gold_answers_each_range_reads_its_own(
    spark: SparkSession, golds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_ranges, "_MOST_QUESTIONS", 3)
    path = write(tmp_path / "answers.jsonl", answers_to([*(f"q{at}" for at in range(20)), "other"]))
    same_as_local(golds, path, spark)
    listed = tmp_path / "answers.json"
    listed.write_text(json.dumps(["gold"] * 35))
    same_as_local(golds, listed, spark)
    rows = tmp_path / "rows.csv"
    rows.write_text("id,answer\n" + "".join(f"q{at % 15},gold {at}\n" for at in range(30)))
    same_as_local(rows, path, spark)


@pytest.mark.parametrize("which", ["golds", "answers"])
def test_a_file_that_is_written_meanwhile_is_an_error(
    spark: SparkSession, golds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    path = write(tmp_path / "answers.jsonl", answers_to([f"q{at}" for at in range(20)]))

    def writing(*arguments: Any) -> RecordRanges:
        ranges = plan_records(*arguments)
        os.utime(golds if which == "golds" else path, (1, 1))
        return ranges

    monkeypatch.setattr("karat.engines.spark.answer_ranges.plan_records", writing)
    with pytest.raises(karat.KaratError, match="the file was changed while it was evaluated") as error:
        evaluate_answers(golds, path, session=spark)
    assert str(error.value.place) == str(golds if which == "golds" else path)


@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_scores_of_questions_are_written_by_executors(
    spark: SparkSession, golds: Path, tmp_path: Path, missing: Any
) -> None:
    records = [*answers_to([f"q{at}" for at in range(10, 26)]), {"query": "q0", "response": "x", "answer": "gold"}]
    records[3] = {"query": "q13", "response": "gold"}
    path = write(tmp_path / "answers.jsonl", records)
    local = karat.evaluate_answers(golds, path, missing=missing)
    folder = tmp_path / "scores"
    stored = evaluate_answers(golds, path, missing=missing, session=spark, per_query_path=folder)
    assert (stored.means, stored.findings) == (local.means, local.findings)
    assert outcome(stored.load) == outcome(lambda: local) | {"asked": {}}  # which are not saved
    write(path, [*records, records[0]])
    with pytest.raises(karat.KaratError, match="was already in"):
        evaluate_answers(golds, path, session=spark, per_query_path=tmp_path / "others")
    assert not (tmp_path / "others").exists()


def test_a_measure_of_ones_own_is_sent_to_the_executors(spark: SparkSession, golds: Path, tmp_path: Path) -> None:
    @karat.register(takes="answers", name="AnswerSize")
    def answer_size(answers):  # type: ignore[no-untyped-def]
        """The length of the predicted answer."""
        return answers.best([float(len(text)) for text in answers.pairs.predictions])

    path = write(tmp_path / "answers.jsonl", answers_to([f"q{at}" for at in range(20)]))
    same_as_local(golds, path, spark, measures=answer_size)


@pytest.mark.parametrize("why", ["buckets", "folder", "frame"])
def test_spark_reads_the_rows_if_it_has_to_and_says_why(
    spark: SparkSession, golds: Path, tmp_path: Path, plan: Plans, why: str
) -> None:
    path = write(tmp_path / "answers.jsonl", answers_to([f"q{at}" for at in range(20)]))
    local = outcome(lambda: karat.evaluate_answers(golds, path))
    folder = tmp_path / "golds"
    folder.mkdir()
    lines = golds.read_text().splitlines()
    write(folder / "a.jsonl", lines[:9])
    write(folder / "b.jsonl", lines[9:])
    frame = spark.createDataFrame([json.loads(line) for line in path.read_text().splitlines()])
    truth: Any = folder if why == "folder" else golds
    predictions: Any = frame if why == "frame" else path
    options: dict[str, Any] = {"session": spark} | ({"buckets": 2} if why == "buckets" else {})
    assert outcome(lambda: evaluate_answers(truth, predictions, **options)) == local
    reasons = {
        "buckets": "buckets= was given",
        "folder": "the ground truth is in several text files",
        "frame": "the predictions are a DataFrame",
    }
    assert f"Spark reads the rows and shuffles them by query, because {reasons[why]}" in plan()
