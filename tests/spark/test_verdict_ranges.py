"""Verdict files on Spark: executors read ranges of them, and every result, finding and error is the local one."""

from __future__ import annotations

import gzip
import json
import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import karat
from karat.engines.spark import evaluate_verdicts
from karat.evaluation import verdict_ranges
from tests.random_verdicts import RUBRIC, labelled_by_several
from tests.spark.local_comparison import outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Records = list[dict[str, Any]]
Plans = Callable[[], str]


@pytest.fixture
def plan(caplog: pytest.LogCaptureFixture) -> Plans:
    """What was said about how verdicts are read."""
    caplog.set_level(logging.INFO, logger="karat.spark")
    return lambda: "\n".join(record.getMessage() for record in caplog.records)


def write(path: Path, records: Records, end: str = "") -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records) + end)
    return path


def label(query: object, **more: Any) -> dict[str, Any]:
    return {
        "record": "verdict", "query": query, "item": "answer", "task": "correctness", "label": "correct", "by": "model",
        **more,
    }  # fmt: skip


def with_place(compute: Callable[[], karat.Scores]) -> Any:
    """The outcome, or an error with its place."""
    try:
        scores = compute()
    except karat.KaratError as error:
        return str(error)
    return outcome(lambda: scores)


def same_as_local(path: Path, spark: SparkSession, **options: Any) -> Any:
    """What both engines return, or the error of both."""
    on_spark = with_place(lambda: evaluate_verdicts(path, session=spark, **options))
    assert on_spark == with_place(lambda: karat.evaluate_verdicts(path, **options))
    return on_spark


@pytest.mark.parametrize("seed", range(6))
def test_files_are_read_in_ranges_and_evaluated_as_locally(
    spark: SparkSession, tmp_path: Path, plan: Plans, seed: int
) -> None:
    random = Random(seed)
    records = [each for at in range(8) for each in _of_queries(labelled_by_several(random), at)]
    if seed % 3 == 1:  # the rubric comes last
        records.append(records.pop(0))
    if seed % 3 == 2:
        random.shuffle(records)
    found = same_as_local(write(tmp_path / "verdicts.jsonl", records), spark)
    assert isinstance(found, dict)
    assert "executors read the files directly, in 6 ranges" in plan()
    assert "Spark reads the rows" not in plan()


def _of_queries(records: Records, at: int) -> Records:
    """Records of queries that others have not, all by one author."""
    others = [RUBRIC] if at == 0 else []
    calls = [each for each in records if each.get("record") == "call"]
    return (
        others
        + [{**each, "query": f"{at}-{each['query']}", "by": "model"} for each in records if "query" in each]
        + [{**each, "query": "0-q1"} for each in calls]
    )


def test_later_records_replace_earlier_ones_anywhere_in_the_file(
    spark: SparkSession, tmp_path: Path, plan: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [label(f"q{at}", label="incorrect", note="x" * at) for at in range(200)]
    path = write(tmp_path / "verdicts.jsonl", [*first, *(label(f"q{at}") for at in range(0, 200, 40))])
    found = same_as_local(path, spark)
    assert found["means"] == {"Correctness": 5 / 200}
    corrected = write(tmp_path / "corrected.jsonl", [*first, *(label(f"q{at}") for at in range(200))])
    assert same_as_local(corrected, spark)["means"] == {"Correctness": 1.0}
    assert "Spark reads the rows" not in plan()
    monkeypatch.setattr(verdict_ranges, "LARGE", 100)
    with pytest.raises(karat.KaratError, match="rows have no order"):
        evaluate_verdicts(corrected, session=spark)
    assert f"{corrected} turned out not to be grouped by query" in plan()


def test_a_last_line_that_was_cut_short_is_left_out_with_its_number(spark: SparkSession, tmp_path: Path) -> None:
    records = [label(f"q{at // 3}", item=f"c{at}", type="claim", task="support", against="context", label="full")
               for at in range(60)]  # fmt: skip
    for end in (json.dumps(label("q19"))[:-9], json.dumps(label("q0"))[:50], "{", '{"record": "ca\n\n  \n'):
        found = same_as_local(write(tmp_path / "verdicts.jsonl", records, end), spark)
        assert "verdicts.jsonl:61: the last line is cut short" in str(found)


@pytest.mark.parametrize(
    "wrong",
    [
        "garbage",
        '{"record": "verdict", "query": "q1", "item"',
        '{"record": "verdict", "query": "q30", "item": "answer", "task": "correctness", "label": "right"}',
        '{"record": "verdict", "query": ["q"], "item": "answer", "task": "correctness", "label": "correct"}',
        '{"record": "verdict", "item": "answer", "task": "correctness", "label": "correct"}',
        '{"record": "verdict", "query": "q1", "query": "q2", "item": "answer", "task": "correctness"}',
        '{"record": "call", "query": "q1"}',
        '{"record": "judgment", "query": "q1"}',
        '{"record": "task", "name": "tone", "scale": 3}',
        '{"record": "file", "version": 2}',
        '["q1"]',
        '{"some": "thing"}',
        '\ud800{"query": "\xff"}',
    ],
)
@pytest.mark.parametrize("line", [1, 33])
def test_an_error_has_the_line_in_the_whole_file(spark: SparkSession, tmp_path: Path, wrong: str, line: int) -> None:
    lines = [json.dumps(label(f"q{at}")).encode() for at in range(60)]
    lines.insert(line, wrong.encode("latin-1", "replace"))
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = same_as_local(path, spark)
    assert isinstance(found, str)


def test_queries_are_found_however_they_are_written(spark: SparkSession, tmp_path: Path) -> None:
    lines = [json.dumps(label(f"frage-ä-{at // 4}", item="answer"), ensure_ascii=at % 2 == 0) for at in range(40)]
    lines += [json.dumps(label(at // 2, by="model")) for at in range(20)] + ["", "   "]
    lines += [json.dumps({"label": "correct", "task": "correctness", "item": "answer", "query": "7", "by": "model"})]
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert len(same_as_local(path, spark)["queries"]) == 20


def test_the_error_of_a_call_that_names_a_query_is_found(spark: SparkSession, tmp_path: Path) -> None:
    failed = [
        label(f"q{at}", label=None, state="failed", task="support", against="context", call=f"k{at}")
        for at in range(30)
    ]
    calls = [
        {"record": "call", "query": f"q{at}", "key": f"k{at}", "state": "failed", "error": "no reply"}
        for at in range(30)
    ]
    path = write(tmp_path / "verdicts.jsonl", [*failed, *calls, *(label(f"q{at}") for at in range(30))])
    found = same_as_local(path, spark)
    assert "no reply" in str(found)


def test_a_compressed_file_is_one_range_and_a_folder_has_those_of_its_files(
    spark: SparkSession, tmp_path: Path, plan: Plans
) -> None:
    records = [label(f"q{at}", label="incorrect" if at % 3 else "correct") for at in range(60)]
    path = write(tmp_path / "verdicts.jsonl", records)
    packed = tmp_path / "verdicts.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    local = same_as_local(packed, spark)
    assert "executors read the files directly, in 1 range" in plan()
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder / "b.jsonl", records[30:])
    write(folder / "a.jsonl", [label("q59", label="correct"), *records[:30]])
    (folder / "_SUCCESS").touch()
    assert outcome(lambda: evaluate_verdicts(folder, session=spark))["values"] == local["values"]
    write(folder / "c.jsonl", [label("q60"), label("q61", label="right")])
    with pytest.raises(karat.KaratError) as error:
        evaluate_verdicts(folder, session=spark)
    assert str(error.value.place) == f"{folder / 'c.jsonl'}:2"


def test_a_file_without_verdicts_is_the_local_error(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    for content in ("", "\n\n", '{"record": "file", "version": 1}\n'):
        path.write_text(content)
        assert isinstance(same_as_local(path, spark), str)
