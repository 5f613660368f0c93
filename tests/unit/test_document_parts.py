"""Runs in ranges of files: whatever the ranges are, the scores, findings and errors are those of the whole run."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import karat
from karat import KaratError, Scores
from karat.evaluation.document_parts import (
    PartResult,
    RangeResult,
    judge_range,
    judge_rest,
    queries_in_several,
    queries_of_range,
    scores_of_parts,
)
from karat.evaluation.documents import EvaluationPlan
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.matching.matchers import matcher_of
from karat.options import complete_options
from karat.reading.bytes.file_ranges import FileVersion, text_ranges
from karat.reading.bytes.input_file import InputFile
from karat.reading.pairs import range_plan
from karat.reading.pairs.any_source import read_run, read_truth
from karat.reading.pairs.files import Reading
from karat.reading.pairs.range_plan import plan_ranges
from karat.reading.pairs.range_runs import NotGroupedError, RangeRun
from karat.reading.pairs.tables import TableRun
from karat.registry.selection import select_measures

pytestmark = pytest.mark.usefixtures("tiny_ranges")

MEASURES = ["AP", "nDCG@3", "RR", "R@2", "Judged@5"]
FORMATS = ("trec", "csv", "tsv", "jsonl", "lists.jsonl", "parquet")
Row = tuple[str, str, float]


class _Known:
    """Ground truth that was read."""

    name, empty_error = "the ground truth", None

    def __init__(self, notes: tuple[Any, ...]) -> None:
        self.notes = notes


def evaluate_in_ranges(truth: Path | str, run: Path | str, ranges: int, **options: Any) -> Scores | None:
    """An engine that evaluates one range after the other; None if the file is not grouped by query."""
    settings = complete_options(options)
    measures = select_measures(MEASURES, settings["rel"])
    inputs = ReadingOptions()
    plan = EvaluationPlan(measures, settings, CorpusMatcher(matcher_of("id")), inputs)
    judgments, planned = read_truth(truth), plan_ranges(os.fspath(run), Reading("score"), ranges)

    def judged(apart: frozenset[str]) -> list[RangeResult]:
        return [judge_range(judgments, at, plan, apart=apart) for at in planned.ranges]

    try:
        results = judged(frozenset())
        several = queries_in_several([each.report for each in results])
        if several:
            results = judged(several)
    except NotGroupedError:
        return None
    done = [query for each in results for query in each.report.queries]
    rest = judge_rest(judgments, done, [each.loose for each in results], plan, planned.name, planned.locate)
    parts = [*(each.part for each in results), rest]
    queries, values, digests, facts = _joined(parts)
    return scores_of_parts(queries, values, digests, facts, plan, (_Known(judgments.notes), planned), "")


def _joined(parts: Sequence[PartResult]) -> tuple[Any, ...]:
    queries = tuple(query for part in parts for query in part.queries)
    order = sorted(range(len(queries)), key=queries.__getitem__)
    values = {name: np.concatenate([part.values[name] for part in parts])[order] for name in parts[0].values}
    digests = {"judged": [each for part in parts for each in part.digests["judged"]]}
    in_order = {kind: [texts[at] for at in order] for kind, texts in digests.items()}
    return tuple(queries[at] for at in order), values, in_order, [part.facts for part in parts]


def write_run(folder: Path, rows: Sequence[Row], form: str, rows_per_group: int = 2) -> Path:
    path = folder / f"run.{form}"
    if form == "trec":
        path.write_text("".join(f"{query} Q0 {doc} 1 {score!r} tag\n" for query, doc, score in rows))
    elif form in ("csv", "tsv"):
        separator = "," if form == "csv" else "\t"
        lines = [separator.join(map(str, row)) for row in [("query", "doc", "score"), *rows]]
        path.write_text("\n".join(lines))
    elif form == "jsonl":
        names = ("query", "doc", "score")
        path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows) + "\n")
    elif form == "lists.jsonl":
        by_query: dict[str, dict[str, float]] = {}
        for query, doc, score in rows:
            by_query.setdefault(query, {})[doc] = score
        path.write_text("".join(json.dumps({"query": q, "docs": d}) + "\n" for q, d in by_query.items()))
    else:
        columns = dict(zip(("query", "doc", "score"), zip(*rows, strict=True), strict=True))
        pq.write_table(pa.table({name: list(each) for name, each in columns.items()}), path, rows_per_group)
    return path


def outcome(compute: Any) -> Any:
    try:
        scores = compute()
    except KaratError as error:
        return str(error)
    if scores is None:
        return None
    rows = scores.by_id
    return (
        [scores.queries[row] for row in rows],
        {name: column[rows].tobytes() for name, column in scores.values.items()},
        [str(each) for each in scores.findings],
        scores.fingerprint.to_dict(sorted(scores.queries)),
    )


QUERIES = ("q1", "q2", "q3", "q4", "q5", "q6")
DOCS = ("a", "b", "c", "d")
runs = st.lists(
    st.tuples(st.sampled_from(QUERIES), st.sampled_from(DOCS), st.sampled_from([0.5, 1.0, 2.0])),
    min_size=1,
    max_size=20,
    unique_by=lambda row: row[:2],
)


def write_truth(folder: Path) -> Path:
    truth = folder / "qrels"
    judged = [("q1", "a", 1), ("q1", "b", 0), ("q2", "c", 2), ("q3", "a", 0), ("q4", "d", 1), ("q5", "x", 1)]
    truth.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in judged))
    return truth


@given(
    runs,
    st.sampled_from(FORMATS),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([{}, {"missing": "skip"}, {"ties": "input"}]),
)
def test_any_ranges_of_any_format_give_the_scores_findings_and_errors_of_the_whole_run(
    rows: list[Row], form: str, ranges: int, grouped: bool, options: dict[str, Any]
) -> None:
    if grouped:
        rows = sorted(rows, key=lambda row: row[0])
    with TemporaryDirectory() as name:
        folder = Path(name)
        truth, run = write_truth(folder), write_run(folder, rows, form)
        found = outcome(lambda: evaluate_in_ranges(truth, run, ranges, **options))
        if found is None and not grouped:
            return  # it is not grouped by query
        assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES, **options))


@pytest.mark.parametrize(
    ("form", "row", "message"),
    [
        ("trec", "q3 Q0 a 1 nan tag", "run.trec:6: "),
        ("csv", "q3,a,x", "run.csv:7: "),
        ("jsonl", '{"query": "q3", "doc": "a", "score": "x"}', "run.jsonl:6"),
        ("jsonl", '{"query"', "run.jsonl:6: "),
        ("jsonl", "\ufeff{}", "run.jsonl:6"),
        ("lists.jsonl", '{"query": "q3", "docs": 5}', "run.lists.jsonl:6: "),
    ],
)
def test_an_error_in_a_range_names_the_line_of_the_file(tmp_path: Path, form: str, row: str, message: str) -> None:
    rows = [(f"q{at}", "a", 1.0) for at in range(1, 10)]
    run = write_run(tmp_path, rows, form)
    lines = run.read_text().splitlines()
    at = 6 if form == "csv" else 5
    run.write_text("\n".join([*lines[:at], row, *lines[at:]]) + "\n")
    truth = write_truth(tmp_path)
    found = outcome(lambda: evaluate_in_ranges(truth, run, 4))
    assert message in found
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl", "parquet"])
def test_a_document_that_is_listed_twice_in_two_ranges_is_an_error_that_names_both_places(
    tmp_path: Path, form: str
) -> None:
    rows = [("q1", doc, 1.0) for doc in "abcdefgha"]
    run, truth = write_run(tmp_path, rows, form), write_truth(tmp_path)
    found = outcome(lambda: evaluate_in_ranges(truth, run, 4))
    assert "document a is listed twice for query q1" in found
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


def test_a_file_that_is_written_after_it_was_divided_is_an_error(tmp_path: Path) -> None:
    run = write_run(tmp_path, [("q1", "a", 1.0), ("q2", "b", 1.0)], "trec")
    (at, *_) = plan_ranges(os.fspath(run), Reading("score"), 2).ranges
    run.write_text(run.read_text() + "q3 Q0 a 1 1 tag\n")
    plan = EvaluationPlan(select_measures(MEASURES), complete_options({}), CorpusMatcher(matcher_of("id")))
    with pytest.raises(KaratError, match=r"run\.trec: the file was changed while it was evaluated"):
        judge_range(read_truth(write_truth(tmp_path)), at, plan)


def test_a_value_with_a_line_break_is_an_error_where_a_file_is_divided_in_it(tmp_path: Path) -> None:
    run, truth = tmp_path / "run.csv", write_truth(tmp_path)
    run.write_text('query,doc,score\nq1,"a\nb\nc\nd\ne\nf",1\nq2,c,1\n')
    found = outcome(lambda: evaluate_in_ranges(truth, run, 9))
    assert "run.csv:2: a value in quotation marks has a line break, or is not closed" in found


def test_files_of_a_folder_are_divided_one_by_one_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for at, text in enumerate(["q1 Q0 a 1 2 t\n", "", "q1 Q0 b 2 1 t\nq2 Q0 c 1 1 t\n"]):
        (folder / f"part-{at}.trec").write_text(text)
    (folder / "_SUCCESS").touch()
    whole = tmp_path / "run.trec"
    whole.write_text("".join(path.read_text() for path in sorted(folder.glob("part*"))))
    truth = write_truth(tmp_path)
    in_parts, at_once = (outcome(lambda path=path: evaluate_in_ranges(truth, path, 3)) for path in (folder, whole))
    assert in_parts == at_once == outcome(lambda: karat.evaluate(truth, whole, MEASURES))


@pytest.mark.parametrize("ranges", [1, 4, 9])
def test_a_quotation_mark_within_a_value_is_part_of_it_in_any_range(tmp_path: Path, ranges: int) -> None:
    run, truth = tmp_path / "run.csv", write_truth(tmp_path)
    run.write_text('query,doc,score\nq1,5" b,2\nq1,a,1\nq2,c,1\nq3,"a",2\nq3,6" b,1\nq4,d,1\n')
    found = outcome(lambda: evaluate_in_ranges(truth, run, ranges))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


@pytest.mark.parametrize("start", [b"\xff\xfe", b"PK\x05\x06", b"\x1f\x8b", b"<html>"])
def test_only_the_start_of_a_file_says_what_it_is(tmp_path: Path, start: bytes) -> None:
    run, truth = tmp_path / "run.jsonl", write_truth(tmp_path)
    line = b'{"query": "q1", "doc": "a", "score": 1}\n'
    run.write_bytes(line + start + b" \n" + line.replace(b"a", b"b"))
    found = outcome(lambda: evaluate_in_ranges(truth, run, len(run.read_bytes())))
    assert "run.jsonl:2: not " in found
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


def test_a_wrong_row_is_named_by_its_line_though_an_earlier_range_has_to_know_of_all_formulas(tmp_path: Path) -> None:
    run, truth = tmp_path / "run.csv", write_truth(tmp_path)
    run.write_text("query,doc,score\nq1,a,1\nq2,b,1\nq3,'=c,1\nq4,d,1\nq5,e\n")
    found = outcome(lambda: evaluate_in_ranges(truth, run, 5))
    assert "run.csv:6: the row has 2 columns" in found
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("trec", "parquet", "part-2.parquet: this is Parquet, and {}/part-1.trec is TREC"),
        ("parquet", "trec", "part-2.trec: this is TREC, and {}/part-1.parquet is Parquet"),
        ("csv", "jsonl", "part-2.jsonl: this is JSON lines, and {}/part-1.csv is CSV"),
        ("lists.jsonl", "jsonl", "part-2.jsonl: the columns differ from those of {}/part-1.lists.jsonl"),
    ],
)
def test_files_of_several_formats_are_not_one_run(tmp_path: Path, first: str, second: str, message: str) -> None:
    folder, truth = tmp_path / "run", write_truth(tmp_path)
    folder.mkdir()
    for at, form in enumerate((first, second), 1):
        write_run(tmp_path, [(f"q{at}", "a", 1.0)], form).rename(folder / f"part-{at}.{form}")
    assert message.format(folder) in outcome(lambda: evaluate_in_ranges(truth, folder, 3))


def test_files_with_ranks_and_files_with_scores_are_not_one_run(tmp_path: Path) -> None:
    folder, truth = tmp_path / "run", write_truth(tmp_path)
    folder.mkdir()
    (folder / "1.csv").write_text("query,doc,score\nq1,a,3\n")
    (folder / "2.csv").write_text("query,doc,rank\nq1,b,1\n")
    found = outcome(lambda: evaluate_in_ranges(truth, folder, 3))
    assert f"2.csv: the columns differ from those of {folder}/1.csv" in found


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("of_truth", ["trec", "csv", "jsonl", "parquet"])
def test_a_range_needs_the_ground_truth_of_its_queries_only(tmp_path: Path, form: str, of_truth: str) -> None:
    judged = [("q1", "a", 1.0), ("q2", "c", 2.0), ("q2", "a", 0.0), ("q4", "a", 1.0), ("q3", "x", 1.0)]
    table = write_run(tmp_path, judged, of_truth).rename(tmp_path / f"truth.{of_truth}")
    columns = {"grade": "score"} if of_truth != "trec" else None
    if of_truth == "trec":
        table.write_text("".join(f"{query} 0 {doc} {int(grade)}\n" for query, doc, grade in judged))
    run = write_run(tmp_path, [(f"q{at}", doc, 1.0) for at in (0, 2, 3, 7, 4) for doc in ("a", "c")], form)
    plan = EvaluationPlan(select_measures(MEASURES), complete_options({}), CorpusMatcher(matcher_of("id")))
    for at in plan_ranges(os.fspath(run), Reading("score"), 4).ranges:
        queries = queries_of_range(at, plan)
        some, every = (read_truth(table, columns=columns, queries=each) for each in (queries, None))
        assert {*some.queries} == queries & {*every.queries}
        assert repr(judge_range(some, at, plan).part) == repr(judge_range(every, at, plan).part)


def test_a_range_without_a_line_needs_no_ground_truth(tmp_path: Path) -> None:
    run = write_run(tmp_path, [("q1", "a" * 60, 1.0), ("q2", "a", 1.0)], "jsonl")
    plan = EvaluationPlan(select_measures(MEASURES), complete_options({}), CorpusMatcher(matcher_of("id")))
    queries = [queries_of_range(at, plan) for at in plan_ranges(os.fspath(run), Reading("score"), 9).ranges]
    assert frozenset() in queries
    assert frozenset().union(*queries) == {"q1", "q2"}


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl", "lists.jsonl"])
@pytest.mark.parametrize(
    "nothing",
    [gzip.compress(b"", mtime=0), gzip.compress(b"\n", mtime=0), b"\n \n", b"\xef\xbb\xbf"],
    ids=["compressed", "compressed line", "lines", "mark"],
)
def test_a_part_with_only_white_space_is_left_out_like_an_empty_one(tmp_path: Path, form: str, nothing: bytes) -> None:
    run = write_run(tmp_path, [("q1", "a", 1.0), ("q2", "c", 1.0)], form)
    folder = tmp_path / "folder"
    folder.mkdir()
    part = run.rename(folder / f"part-1.{form}")
    local = outcome(lambda: karat.evaluate(write_truth(tmp_path), part, MEASURES))
    for number in (0, 2):
        (folder / f"part-{number}.{form}").write_bytes(nothing)
    assert outcome(lambda: evaluate_in_ranges(tmp_path / "qrels", folder, 4)) == local


def test_the_start_of_a_range_is_found_without_keeping_a_long_line(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * 20_000_000 + b"\nend\n")
    tracemalloc.start()
    try:
        ranges = text_ranges(str(path), FileVersion.of(str(path)), 5_000_000)
        assert [InputFile(str(path), at.bounds).first_offset() for at in ranges] == [
            0,
            *[20_000_001] * (len(ranges) - 1),
        ]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_small_file_is_one_range(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_plan, "_LEAST_BYTES", 1 << 18)
    monkeypatch.setattr(range_plan, "_LEAST_ROWS", 1 << 13)
    rows = [(f"q{at:05}", "a", 1.0) for at in range(9_000)]
    for form, ranges in (("trec", 1), ("jsonl", 2), ("parquet", 2)):
        run = write_run(tmp_path, rows, form, 1_000)
        assert len(plan_ranges(os.fspath(run), Reading("score"), 1_000).ranges) == ranges


def test_the_ranges_of_all_files_are_as_many_as_are_wanted(tmp_path: Path) -> None:
    rows = [(f"q{at:03}", "a", 1.0) for at in range(100)]
    folder = tmp_path / "run"
    folder.mkdir()
    for at in range(8):
        write_run(tmp_path, rows, "parquet", 1).rename(folder / f"{at}.parquet")
    assert len(plan_ranges(os.fspath(folder), Reading("score"), 16).ranges) == 16


def test_rows_in_any_order_are_not_kept_to_be_put_together(tmp_path: Path) -> None:
    rows = [(f"q{at % 6}", f"d{at}", 1.0) for at in range(60)]
    run, truth = write_run(tmp_path, rows, "trec"), write_truth(tmp_path)
    plan = EvaluationPlan(select_measures(MEASURES), complete_options({}), CorpusMatcher(matcher_of("id")))
    at, _ = plan_ranges(os.fspath(run), Reading("score"), 2).ranges
    with pytest.raises(NotGroupedError):
        judge_range(read_truth(truth), at, plan)


def test_more_loose_rows_than_fit_into_memory_are_not_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, truth = write_run(tmp_path, [("q1", f"d{at}", 1.0) for at in range(60)], "trec"), write_truth(tmp_path)
    assert evaluate_in_ranges(truth, run, 3) is not None
    monkeypatch.setattr("karat.evaluation.document_parts._MOST_LOOSE", 50)
    assert evaluate_in_ranges(truth, run, 3) is None


@pytest.mark.parametrize("form", ["trec.gz", "feather", "json"])
def test_a_file_that_cannot_be_divided_need_not_be_grouped_by_query(tmp_path: Path, form: str) -> None:
    rows = [(f"q{at % 6}", f"{'abc'[at % 3]}{at}", 1.0) for at in range(60)]
    run, truth = tmp_path / f"run.{form}", write_truth(tmp_path)
    if form == "trec.gz":
        run.write_bytes(gzip.compress(write_run(tmp_path, rows, "trec").read_bytes()))
    elif form == "json":
        names = ("query", "doc", "score")
        run.write_text(json.dumps([dict(zip(names, row, strict=True)) for row in rows]))
    else:
        feather.write_feather(pq.read_table(write_run(tmp_path, rows, "parquet")), run)
    found = outcome(lambda: evaluate_in_ranges(truth, run, 3))
    assert found == outcome(lambda: karat.evaluate(truth, run, MEASURES))


def test_a_file_that_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:
    path = write_truth(tmp_path) / "run.trec"
    with pytest.raises(KaratError, match=r"qrels/run\.trec: cannot be read: Not a directory"):
        FileVersion.of(os.fspath(path))


def test_a_batch_that_is_read_late_adds_no_rows_to_another_reading_of_the_range(tmp_path: Path) -> None:
    rows = [(f"q{at // 10 % 4}", f"d{at}", 1.0) for at in range(80)]
    file = InputFile(os.fspath(write_run(tmp_path, rows, "parquet", 10)))
    whole = read_run(file, read_truth(write_truth(tmp_path)))
    assert isinstance(whole, TableRun)
    run = RangeRun(whole, is_whole_file=True)
    late = list(run.batches())
    for load in run.grouped_batches():
        load()
    loose = len(run.loose)
    for load in late:
        load()
    assert len(run.loose) == loose


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl", "parquet"])
def test_a_document_that_is_listed_in_two_files_is_an_error_with_both_places(tmp_path: Path, form: str) -> None:
    folder, truth = tmp_path / "run", write_truth(tmp_path)
    folder.mkdir()
    for at in (1, 2):
        write_run(tmp_path, [("q1", "a", 1.0), ("q1", f"d{at}", 1.0)], form).rename(folder / f"{at}.{form}")
    found = outcome(lambda: evaluate_in_ranges(truth, folder, 2))
    first = {"parquet": ", row 0", "csv": ":2"}.get(form, ":1")
    places = [f"{folder}/{at}.{form}{first}" for at in (1, 2)]
    assert found.startswith(f"{' and '.join(places)}: document a is listed twice for query q1.")
