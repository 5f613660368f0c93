"""Predicted answers in ranges of files: wherever they end, the scores, findings and errors are those of the files."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import karat
from karat.evaluation.answer_parts import AnswerPlan, AnswerReports, RangeOfAnswers, read_range, rest, scores_of_parts
from karat.evaluation.facts import AnswerFacts
from karat.reading.records.answers import read_gold_answers
from karat.reading.records.record_ranges import plan_records
from karat.registry.selection import DEFAULT_ANSWER_MEASURES, select_measures

pytestmark = pytest.mark.usefixtures("tiny_ranges")

GOLDS: Mapping[str, Any] = {f"q{at}": ["gold", f"a ring {at}"] for at in range(30)} | {"none": None, "empty": ""}


def in_ranges(
    golds: Any, path: Path, ranges: int, fields: Mapping[str, str] | None = None, missing: Any = "zero"
) -> karat.Scores:
    """An engine that reads one range after the other."""
    truth = read_gold_answers(golds, fields)
    planned = plan_records(str(path), ranges)
    measures = select_measures(DEFAULT_ANSWER_MEASURES, subjects=("answers",))
    plan = AnswerPlan(measures, missing, fields, planned.form)

    def read(number: int, choice: Any = None) -> RangeOfAnswers:
        found = read_range(lambda _: truth.by_query, planned.ranges[number], plan, choice)
        sent: RangeOfAnswers = pickle.loads(pickle.dumps(found))
        return sent

    results = [read(number) for number in range(len(planned.ranges))]
    reports = AnswerReports(planned, fields, [each.report for each in results])
    choice = reports.choice()
    for number in reports.others(choice):
        results[number] = read(number, choice)
    reports = replace(reports, reports=[each.report for each in results])
    reports.check(truth.by_query, choice)
    parts = [part for part in (*(each.part for each in results), rest(truth.by_query, reports.reports, plan)) if part]
    assert len(parts) == len(results) + 1
    queries = [query for part in parts for query in part.queries]
    values = {str(each): np.concatenate([part.values[str(each)] for part in parts]) for each in measures}
    digests = [digest for part in parts for digest in part.digests]
    facts = AnswerFacts.merged(part.facts for part in parts)
    notes = (*truth.notes, *reports.notes(choice))
    return scores_of_parts(queries, values, digests, facts, plan, planned.name, notes, "")


def outcome(compute: Callable[[], karat.Scores]) -> Any:
    """Values, findings and digests, or the whole error."""
    try:
        scores = compute()
    except karat.KaratError as error:
        return str(error)
    assert scores.fingerprint is not None
    return (
        sorted(scores.per_query.items()),
        scores.means,
        scores.findings,
        scores.fingerprint.to_dict(sorted(scores.queries)),
    )


def same_in_ranges(path: Path, golds: Any = GOLDS, **options: Any) -> Any:
    """What the local engine returns, and so do ranges."""
    whole = outcome(lambda: karat.evaluate_answers(golds, path, **options))
    for number in (1, 5, 60):
        assert outcome(partial(in_ranges, golds, path, number, **options)) == whole
    return whole


def write(path: Path, records: Sequence[Any], line_end: str = "\n") -> Path:
    lines = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=len(each) % 2 == 0) for each in records]
    path.write_text(line_end.join(lines), newline="")
    return path


@pytest.mark.parametrize("seed", range(25))
def test_ranges_have_the_scores_findings_and_errors_of_the_whole_file(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    names = [("query", "answer"), ("id", "prediction"), ("question_id", "output")][seed % 3]
    queries = random.sample([*GOLDS, *map(str, range(9)), "größe"], 25)
    answers = [random.choice(["gold", "a ring", "", None, "née", "x" * 80]) for _ in queries]
    records: list[Any] = [dict(zip(names, each, strict=True)) for each in zip(queries, answers, strict=True)]
    for record in records:
        if record[names[0]].isdigit() and random.random() < 0.5:
            record[names[0]] = int(record[names[0]])
    if seed % 4 == 1:  # another name, in one or several records
        other = random.choice(["answer", "response", "generated_answer"])
        for at in random.sample(range(25), random.choice([1, 5])):
            records[at][other] = random.choice(["gold", None])
    if seed % 5 == 2:
        wrong: list[Any] = [
            records[0], {names[0]: "new"}, {names[1]: "x"}, {names[0]: "q1", names[1]: 7}, {names[0]: 1.5}, "{", "[1]",
            "", "   ", '{"id": 1, "id": 2}', {names[0]: "\ud800", names[1]: "x"},
        ]  # fmt: skip
        for each in random.sample(wrong, random.choice([1, 2])):
            records.insert(random.randrange(len(records) + 1), each)
    path = write(tmp_path / "answers.jsonl", records, random.choice(["\n", "\r\n", "\n\n"]))
    same_in_ranges(path, missing=random.choice(["zero", "skip"]))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("second", [2, 28, 30])
def test_a_question_in_two_rows_is_an_error_that_names_both(tmp_path: Path, first: int, second: int) -> None:
    records: list[Any] = [{"query": f"q{at}", "answer": "gold"} for at in range(30)]
    records.insert(second, {"query": f"q{first}", "answer": 3})
    found = same_in_ranges(write(tmp_path / "answers.jsonl", ["", *records]))
    assert f"answers.jsonl:{2 + second}: question 'q{first}' was already in" in found
    assert f"answers.jsonl:{2 + first}." in found
    table = pa.table({"query": [each["query"] for each in records], "answer": ["x"] * 31})
    pq.write_table(table, tmp_path / "answers.parquet", row_group_size=4)
    assert "row" in same_in_ranges(tmp_path / "answers.parquet")


@pytest.mark.parametrize(
    "records",
    [
        [{"query": f"q{at}", "prediction": "gold"} for at in range(29)] + [{"query": "q29", "answer": "ring"}],
        [{"id": f"q{at}", "answer": None} for at in range(29)] + [{"id": "q29", "output": "ring", "answer": None}],
        [{"query": f"q{at}", "answer": None} for at in range(30)],
        [{"query": f"q{at}", "text": "x"} for at in range(30)],
        ["", "", "", *[{"reply": "x", "key": at} for at in range(30)]],
        [{"text": "x"}] + [{"query": f"q{at}", "answer": "x"} for at in range(30)],
        [{f"q{at}": "gold"} for at in range(30)],
        [{"meta": {"id": f"q{at}"}, "answer": "gold"} for at in range(30)],
    ],
)
def test_the_fields_are_those_that_all_records_decide_on(tmp_path: Path, records: Sequence[Any]) -> None:
    path = write(tmp_path / "answers.jsonl", records)
    same_in_ranges(path)
    same_in_ranges(path, golds={"q1": "gold"}, fields={"query": "meta.id"})
    same_in_ranges(path, fields={"answer": "text"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("answers.json", '{"q1": "gold", "q2": "a ring 2"}'),
        ("answers.json", '[{"query": "q1", "answer": "gold"}, {"query": "q1", "answer": "x"}]'),
        ("answers.json", json.dumps(["gold"] * 32)),
        ("answers.json", json.dumps(["gold"] * 3)),
        ("answers.json", '{"query": {"0": "q1", "1": "q2"}, "answer": {"0": "gold", "1": "x"}}'),
        ("answers.csv", 'id,answer\nq1,"gold\nring"\n\nq2,\nother,x\n'),
        ("answers.csv", "id,answer\nq1,gold,x\n"),
        ("answers.tsv", "query\toutput\nq1\tgold\n"),
        ("answers.jsonl", '{"query": "q1", "answer": "gold"}'),
        ("answers.jsonl", '{"q1": "gold", \n "q2": "x"}'),
        ("answers.jsonl", '{"query": "q1", "answer"\n{"query": "q2", "answer": "x"}'),
        ("answers.jsonl", '[{"query": "q1"}]\n{"query": "q2", "answer": "x"}'),
        ("answers.jsonl", '{"query": "q1", "answer": "x"}\n{"query": "q2", "answer": "y"} {}'),
        ("answers.jsonl", ""),
        ("answers.jsonl", " \n\n"),
        ("answers.jsonl", '\ufeff{"query": "q1", "answer": "x"}\n{"query": "q2", "answer": "y"}'),
        ("answers.txt", "q1 Q0 d1 1 2.0 tag\n"),
    ],
)
def test_files_that_are_not_divided_are_read_as_locally(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    same_in_ranges(path)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    for at in range(3):
        columns = {"id": [5 * at + row for row in range(5)], "prediction": ["gold", None, "", "é", "ring"]}
        pq.write_table(pa.table(columns), tmp_path / f"{at}.parquet", row_group_size=2)
    golds = {str(at): "gold" for at in range(4, 20)}
    assert len(same_in_ranges(tmp_path, golds)[0]) == 16
    pq.write_table(pa.table({"id": [7], "prediction": ["x"]}), tmp_path / "3.parquet")
    assert "question '7' was already in" in same_in_ranges(tmp_path, golds)


def test_a_file_that_is_written_meanwhile_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.jsonl", [{"query": f"q{at}", "answer": "gold"} for at in range(30)])
    planned = plan_records(str(path), 3)
    path.write_text(path.read_text() + "\n")
    measures = select_measures("EM", subjects=("answers",))
    with pytest.raises(karat.KaratError, match="the file was changed while it was evaluated"):
        read_range(lambda _: GOLDS, planned.ranges[0], AnswerPlan(measures, "zero", None, planned.form))
