"""Results that are read in ranges, one after the other, are those that are read as a whole."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.evaluation.reading import EvaluationOptions
from karat.evaluation.result_ranges import evaluate_ranges
from karat.evaluation.results import LogArguments
from karat.reading import shapes
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.names import FORMATS
from karat.reading.records.record_ranges import plan_records
from tests.random_logs import random_log

pytestmark = pytest.mark.usefixtures("tiny_ranges")

MEASURES = [
    ["nDCG@10", "EM"],
    ["latency"],
    ["R@5", "latency"],
    ["TokenF1", "cost"],
    ["AP", "RR"],
    ["F1"],
    "Faithfulness",
]
SAMPLES = sorted(file for file in Path(shapes.__file__).parent.iterdir() if file.suffix in (".json", ".jsonl", ".csv"))
DEMO = Path(karat.__file__).parent / "cli" / "demo_data"


class Tasks:
    """Calls a function with each input in this process, and counts the inputs; what is sent is pickled."""

    def __init__(self) -> None:
        self.inputs: list[int] = []

    def __call__(self, work: Callable[[Any], Any], inputs: Sequence[Any]) -> list[Any]:
        self.inputs.append(len(inputs))
        return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(each))))) for each in inputs]


def in_ranges(
    path: Path, ranges: int, measures: Any = None, fields: Any = None, tasks: Tasks | None = None, **options: Any
) -> karat.Scores:
    names = ("input_format", "records", "order", "lower_is_better")
    given: dict[str, Any] = {name: options.pop(name) for name in names if name in options}
    arguments = LogArguments(**given, options=cast("EvaluationOptions", options))
    form = arguments.input_format
    planned = plan_records(str(path), ranges, form if form in FORMATS else None)
    return evaluate_ranges(planned, tasks or Tasks(), measures, fields, arguments, "", lambda measure: lambda: measure)


def outcome(compute: Callable[[], karat.Scores]) -> Any:
    """Everything about scores, or an error with its place and hint."""
    try:
        scores = compute()
    except karat.KaratError as error:
        return str(error)
    assert scores.fingerprint is not None
    return {
        "queries": scores.queries,
        "values": {name: column.tobytes() for name, column in scores.values.items()},
        "findings": scores.findings,
        "fingerprint": scores.fingerprint.to_dict(scores.queries),
        "asked": scores.asked,
        "lower is better": scores.lower_is_better,
    }


def same_as_whole(path: Path, ranges: int = 3, measures: Any = None, **options: Any) -> Any:
    found = outcome(lambda: in_ranges(path, ranges, measures, **options))
    assert found == outcome(lambda: karat.evaluate_results(path, measures, **options))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_logs_have_the_scores_and_notes_of_the_whole_file(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "log.jsonl"
    path.write_text(random_log(random))
    options: dict[str, Any] = {"order": "score"} if seed % 5 == 1 else {}
    options |= {"missing": "skip"} if seed % 4 == 1 else {}
    options |= {"match": random.choice(["content", "chunk", "id"])} if seed % 3 == 1 else {}
    measures = random.choice([None, None, *MEASURES])
    same_as_whole(path, random.choice([1, 2, 3, 7, 20]), measures, **options)


@pytest.mark.parametrize("seed", range(60, 120))
def test_logs_with_faults_have_the_error_of_the_whole_file(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "log.jsonl"
    path.write_text(random_log(random, with_faults=True))
    same_as_whole(path, random.choice([2, 3, 7, 20]), random.choice([None, "EM", ["nDCG@10", "latency"]]))


@pytest.mark.parametrize(
    "path", [DEMO / "generated.jsonl", DEMO / "results.jsonl", *SAMPLES], ids=lambda path: path.name
)
def test_logs_of_tools_are_read_in_ranges(path: Path) -> None:
    for ranges in (1, 2, 5):
        same_as_whole(path, ranges)


def test_each_record_is_read_once_if_all_ranges_decide_alike(tmp_path: Path) -> None:
    record = {"question": "?", "contexts": ["d1", "d2"], "ground_truth": ["d2"], "latency": 0.5}
    lines = [json.dumps({**record, "id": f"q{at}", "latency": at * at}) for at in range(40)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    tasks = Tasks()
    scores = in_ranges(path, 4, tasks=tasks)
    assert tasks.inputs == [4]
    assert scores["latency"] == sum(at * at for at in range(40)) / 40


def test_only_ranges_that_decide_otherwise_are_read_again(tmp_path: Path) -> None:
    """The canonical name of a field is in the last record only."""
    lines = [json.dumps({"query": f"q{at}", "truth": ["a"], "docs": ["a"]}) for at in range(40)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, json.dumps({"query": "q40", "truth": ["b"], "retrieved": ["b"]})]))
    tasks = Tasks()
    scores = in_ranges(path, 4, "RR", tasks=tasks)
    assert tasks.inputs[0] == 4
    assert {*tasks.inputs[1:]} == {3}
    assert scores["RR"] == 1 / 41
    same_as_whole(path, 4, "RR")


def test_a_query_in_two_ranges_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"query": f"q{at}", "truth": ["a"], "retrieved": ["a"]}) for at in range(40)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines[:3], "", *lines[3:], lines[5]]))
    assert f"{path}:42: query 'q5' was already in {path}:7." in same_as_whole(path, 4)


def test_a_number_that_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    record = {"truth": ["a"], "retrieved": ["a"]}
    lines = [json.dumps({"query": f"q{at}", **record, "latency": at * at}) for at in range(40)]
    lines[33] = json.dumps({"query": "q33", **record, "latency": [3]})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    assert f"{path}:34, latency" in str(same_as_whole(path, 5)["findings"])
    assert f"{path}:34, latency" in same_as_whole(path, 5, "latency")


def test_answers_that_cannot_be_read_are_left_out_in_all_ranges(tmp_path: Path) -> None:
    record = {"truth": ["a"], "retrieved": ["a"], "gold_answers": "x", "answer": "x"}
    lines = [json.dumps({"query": f"q{at}", **record}) for at in range(40)]
    lines[33] = json.dumps({"query": "q33", **record, "answer": {"text": "x"}})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    found = same_as_whole(path, 5)
    assert set(found["values"]) == {"nDCG@5", "P@5", "R@5", "AP", "RR"}
    assert f"{path}:34" in str(found["findings"])


def test_files_that_cannot_be_divided_are_read_in_one_range(tmp_path: Path) -> None:
    records = [{"query": f"q{at}", "truth": ["a", "b"], "retrieved": ["b", f"x\n{at}"]} for at in range(30)]
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    array = tmp_path / "log.json"
    array.write_text(json.dumps({"run": {"items": records}}))
    for path in (packed, array):
        assert len(plan_records(str(path), 5).ranges) == 1
        assert same_as_whole(path, 5)["values"]
    same_as_whole(array, 5, records="run.items")


def test_row_groups_of_parquet_are_ranges(tmp_path: Path) -> None:
    records = [{"query": f"q{at}", "truth": ["a", "b"], "retrieved": ["b", "x"], "cost": at * 0.5} for at in range(30)]
    path = tmp_path / "log.parquet"
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=7)
    assert len(plan_records(str(path), 5).ranges) == 5
    same_as_whole(path, 5)
    records[20]["query"] = "q3"
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=7)
    assert "row 20: query 'q3' was already in" in same_as_whole(path, 5)


def test_all_files_of_a_folder_are_one_log(tmp_path: Path) -> None:
    lines = [json.dumps({"query": f"q{at}", "truth": ["a"], "retrieved": ["x", "a"]}) for at in range(20)]
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text("\n".join(lines[:15]))
    (folder / "b.jsonl").write_text("\n".join(lines[15:]))
    (folder / "c.jsonl").write_text("")
    scores = in_ranges(folder, 3)
    assert scores.queries == tuple(f"q{at}" for at in range(20))
    (folder / "c.jsonl").write_text(f"\n{lines[2]}\n")
    with pytest.raises(karat.KaratError) as error:
        in_ranges(folder, 3)
    assert str(error.value).startswith(f"{folder / 'c.jsonl'}:2: query 'q2' was already in {folder / 'a.jsonl'}:3.")


def test_a_file_that_changes_between_readings_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps({"query": f"q{at}", "truth": ["a"], "retrieved": ["a"]}) for at in range(20)))
    planned = plan_records(str(path), 3)

    def changing(work: Callable[[Any], Any], inputs: Sequence[FileRange]) -> list[Any]:
        path.write_text(path.read_text() + "\n")
        return [work(each) for each in inputs]

    with pytest.raises(karat.KaratError, match="the file was changed while it was evaluated"):
        evaluate_ranges(planned, changing, "RR", None, LogArguments(), "", lambda measure: lambda: measure)
