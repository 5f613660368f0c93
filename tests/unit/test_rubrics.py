"""Rubrics of the user's own: what their labels mean, for models and people, and the measure that has their name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import karat
from karat.errors import KaratError, Place
from karat.evaluation.verdict_parts import SharedRecords, evaluate_parts
from karat.grounding.judges.assignments import read_rubric
from karat.grounding.responses.results import read_responses
from karat.grounding.sheets.filled import read_filled_sheet
from karat.grounding.sheets.importing import add_to_verdict_file
from karat.grounding.sheets.sheets import sheet_of, write_sheet
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.tasks import read_task
from tests.end_to_end.in_process import run_here
from tests.llm_server import LLMServer

SCALE = {
    "rude": {"value": 0, "means": "it belittles the reader"},
    "neutral": 1,
    "polite": {"value": 2, "means": "it is friendly; größtenteils"},
}
RUBRIC = {"name": "politeness", "question": "Is the answer polite?", "scale": SCALE}
TASK = {"record": "task", **RUBRIC}
RESULTS = [
    {"query": f"q{at}", "question": "Is gold soft?", "retrieved": ["Gold is soft."], "answer": answer}
    for at, answer in enumerate(["Yes, it is.", "Obviously."])
]


def labels(*names: str, task: str = "politeness", **fields: Any) -> list[dict[str, Any]]:
    return [
        {"query": f"q{at}", "item": "answer", "task": task, "label": name, **fields} for at, name in enumerate(names)
    ]


def test_labels_may_be_numbers_or_numbers_with_what_they_mean() -> None:
    task = read_task(RUBRIC, "")
    assert task.scale == {"rude": 0, "neutral": 1, "polite": 2}
    assert task.means == {"rude": "it belittles the reader", "polite": "it is friendly; größtenteils"}
    assert read_task(json.loads(json.dumps(task.record())), "") == task
    short = read_task({"name": "politeness", "scale": {"rude": 0, "polite": {"value": 1}}}, "")
    assert short.record()["scale"] == {"rude": 0, "polite": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"value": 0, "meaning": "x"}, "the label 'rude' of the task 'tone' is {'value': 0, 'meaning': 'x'}"),
        ({"means": "x"}, "the label 'rude' of the task 'tone' is"),
        ({"value": 0, "means": 3}, "the label 'rude' of the task 'tone' is"),
        ({"value": "x"}, "the scale of the task 'tone' is"),
        ({"value": None}, "the scale of the task 'tone' is"),
        ({"value": {"value": 0}}, "the scale of the task 'tone' is"),
        ([0], "the scale of the task 'tone' is"),
    ],
)
def test_a_label_with_a_wrong_description_is_an_error(value: object, message: str) -> None:
    with pytest.raises(KaratError) as error:
        read_task({"name": "tone", "scale": {"rude": value, "polite": 1}}, Place("tone.json"))
    assert str(error.value).startswith(f"tone.json: {message}")


def test_what_labels_mean_is_in_what_a_model_is_asked_and_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"

    def reply(sent: Any) -> Any:
        return {"why": "Obvious.", "label": "rude" if "Obviously" in sent.data["answer"] else "polite"}

    with LLMServer(reply) as server:
        options: Any = {"model": "tester", "base_url": server.url, "api_key_env": None, "verdicts": path}
        judging = karat.judge(RESULTS, rubric=RUBRIC, **options)
        assert server.sent[0].data["rubric"] == {"asks": "Is the answer polite?", "labels": SCALE}
        reworded = {**RUBRIC, "scale": {**SCALE, "neutral": {"value": 1, "means": "neither"}}}
        again = karat.judge(RESULTS, rubric=reworded, **options)
    assert (judging.usage.calls, again.usage.calls) == (2, 2), "other words are another request"
    assert judging.scores()["politeness"] == judging.scores("politeness")["politeness"] == 0.5
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [each["scale"] for each in records if each["record"] == "task"] == [SCALE, reworded["scale"]]


def test_what_labels_mean_is_in_the_sheets_for_people() -> None:
    responses = read_responses(RESULTS).responses
    [row, _] = sheet_of("politeness", responses, tasks={"politeness": read_task(RUBRIC, "")}).rows
    meaning = "rude: it belittles the reader; polite: it is friendly; größtenteils"
    assert row[4] == f"Is the answer polite? {meaning}"
    assert row[5] == "rude | neutral | polite | nothing_to_judge"
    assert json.loads(row[-1])["rubric"]["scale"] == SCALE


def test_what_labels_mean_comes_back_from_a_sheet(tmp_path: Path) -> None:
    sheet = sheet_of("politeness", read_responses(RESULTS).responses, tasks={"politeness": read_task(RUBRIC, "")})
    rows = [[*row[:6], label, *row[7:]] for row, label in zip(sheet.rows, ["Polite", "rude"], strict=True)]
    write_sheet(replace(sheet, rows=rows), tmp_path / "todo.csv")
    add_to_verdict_file(read_filled_sheet(tmp_path / "todo.csv", "ann"), tmp_path / "v.jsonl")
    records = read_verdict_records(tmp_path / "v.jsonl")
    assert records.tasks["politeness"] == read_task(RUBRIC, "")
    assert karat.evaluate_verdicts(records, "politeness")["politeness"] == 0.5


def test_other_words_are_the_same_task_and_other_numbers_are_not() -> None:
    reworded = {**TASK, "question": "Is it polite?", "scale": {"rude": 0, "neutral": 1, "polite": 2}}
    scores = karat.evaluate_verdicts([TASK, *labels("rude", "polite"), reworded])
    assert scores["politeness"] == 0.5
    [note] = [finding.message for finding in scores.findings]
    assert note == (
        "the rubric 'politeness' is described in several ways: the last one is shown, and labels by all of them count"
        " together"
    )
    with pytest.raises(KaratError, match="the task 'politeness' already has another scale"):
        karat.evaluate_verdicts([TASK, *labels("rude"), {**TASK, "scale": {"rude": 0, "neutral": 1, "polite": 3}}])


def test_a_rubric_that_is_described_twice_alike_is_not_noted() -> None:
    assert not karat.evaluate_verdicts([TASK, *labels("rude"), TASK]).findings


def test_the_measure_of_a_rubric_has_its_name_in_python() -> None:
    records = [TASK, *labels("neutral", "polite")]
    expected = karat.evaluate_verdicts(records, "Correctness(task=politeness)")
    for scores in (
        karat.evaluate_verdicts(records),
        karat.evaluate_verdicts(records, "politeness"),
        karat.evaluate_verdicts(records, ["politeness"]),
        karat.evaluate_results(RESULTS, "politeness", verdicts=records),
        karat.evaluate_results(RESULTS, verdicts=records),
    ):
        assert scores["politeness"] == expected["Correctness(task=politeness)"] == 0.75
        assert scores.per_query == expected.per_query


def test_a_misspelled_rubric_is_an_error_that_names_the_rubrics() -> None:
    message = "unknown measure 'politness'. Did you mean politeness?"
    with pytest.raises(KaratError) as error:
        karat.evaluate_verdicts([TASK, *labels("rude")], "politness")
    assert str(error.value) == message
    with pytest.raises(KaratError) as error:
        karat.evaluate_results(RESULTS, ["politness"], verdicts=[TASK, *labels("rude")])
    assert str(error.value) == message
    with pytest.raises(KaratError) as error:
        karat.evaluate_verdicts([TASK, {**TASK, "name": "style"}, *labels("rude")], "politness")
    assert str(error.value) == f"{message} The rubrics are politeness and style."


def test_a_rubric_with_the_name_of_a_measure_is_an_error_where_it_is_asked() -> None:
    for name in ("P", "precision", "ndcg_cut", "TokenF1"):
        with pytest.raises(KaratError, match=f"{name} is the name of a measure, and so cannot be that of a rubric"):
            read_rubric({**RUBRIC, "name": name})
    records = [{**TASK, "name": "RR"}, *labels("rude", "polite", task="RR")]
    assert karat.evaluate_verdicts(records).means == {"Correctness(task=RR)": 0.5}
    with pytest.raises(KaratError, match="RR is the name of a measure, and also of a rubric") as error:
        karat.evaluate_verdicts(records, "RR")
    assert "Write Correctness(task=RR), or give the rubric another name." in str(error.value)


def test_the_measure_of_a_rubric_is_known_where_labels_are_evaluated_in_parts() -> None:
    shared = SharedRecords("the verdicts", has_order=True).reading([TASK])
    parts = [[each] for each in labels("neutral", "polite")]
    scores, _ = evaluate_parts(
        lambda work, wanted=None: [work(parts[at]) for at in wanted or range(2)],
        shared, "politeness", system=None, author=None, unknown="bounds", name="", portable=lambda each: lambda: each,
    )  # fmt: skip
    assert scores["politeness"] == 0.75


def test_agreement_on_a_rubric_is_asked_for_by_its_name() -> None:
    records = [TASK, *labels("neutral", "polite", by="human"), *labels("polite", "polite", by="m")]
    [value] = karat.label_agreement(records, measures="politeness").values
    assert (value.people, value.model) == (0.75, 1.0)


def test_the_measure_of_a_rubric_has_its_name_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "rag.jsonl").write_text("\n".join(map(json.dumps, RESULTS)), "utf-8")
    records = [TASK, *labels("neutral", "polite")]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, records)), "utf-8")
    results = "rag.jsonl", "--verdicts", "v.jsonl"
    done = run_here(tmp_path, "evaluate", *results, "-m", "politeness")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.7500" in done.stdout
    run_here(tmp_path, "evaluate", *results, "-m", "politeness", "-o", "scores.json")
    good = run_here(tmp_path, "gate", *results, "--min", "politeness=0.7")
    assert good.returncode == 0, good.stderr
    assert run_here(tmp_path, "gate", *results, "--min", "politeness=0.8").returncode == 1
    saved = run_here(tmp_path, "gate", "scores.json", "--min", "politeness=0.8")
    assert saved.returncode == 1, saved.stderr
    wrong = run_here(tmp_path, "evaluate", *results, "-m", "politness")
    assert wrong.returncode == 2
    assert wrong.stderr == ("karat: unknown measure 'politness'. Did you mean politeness?\n")
    page = run_here(tmp_path, "report", *results, "-m", "politeness", "-o", "report.html")
    assert page.returncode == 0, page.stderr
