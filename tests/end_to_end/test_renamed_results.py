"""Results that were renamed: their labels are found by the digests of answers and passages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import karat
from karat.errors import KaratError
from tests.end_to_end.in_process import good, mistake, printed, run_here
from tests.judges.commands import KEY, toy_rule
from tests.llm_server import LLMServer

RESULTS: list[dict[str, Any]] = [
    {
        "query": f"q{at}",
        "question": f"How hard is metal {at}?",
        "answer": f"Metal {at} is soft. Iron is {at}.",
        "retrieved": [f"Metal {at} is soft."],
    }
    for at in range(3)
]
NOTE = "note: the labels of system rag are used for renamed: answers and passages are the same."
JUDGE = ("--task", "faithfulness", "-o", "verdicts.jsonl")


def write(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def judged(folder: Path, *files: str) -> tuple[str, int]:
    """What the judge prints about these results, and how many requests it sent."""
    with LLMServer(toy_rule) as server:
        words = ("judge", *files, *JUDGE, "--model", "tester", "--base-url", server.url)
        return printed(run_here(folder, *words, environment={"OPENAI_API_KEY": KEY})), len(server.sent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "rag.jsonl", RESULTS)
    judged(tmp_path, "rag.jsonl")
    return tmp_path


def test_the_labels_of_renamed_results_are_used_by_judges_evaluations_and_reports(folder: Path) -> None:
    (folder / "rag.jsonl").rename(folder / "renamed.jsonl")
    before = (folder / "verdicts.jsonl").read_bytes()
    table = ["measure        renamed", "──────────────────────", "Faithfulness    0.5000", "3 queries", NOTE]
    found = "verdicts.jsonl: 0 calls (6 more were in the file), 0 failed, 0 tokens in, 0 out"
    out, sent = judged(folder, "renamed.jsonl")
    assert (out.splitlines(), sent) == ([*table, found], 0)
    assert good(folder, "judge", "renamed.jsonl", *JUDGE, "--replay").splitlines() == [*table, found]
    assert good(folder, "judge", "renamed.jsonl", *JUDGE, "--estimate").splitlines()[2:4] == [
        "        0             6           0            0",
        NOTE,
    ]
    assert good(folder, "evaluate", "renamed.jsonl", "--verdicts", "verdicts.jsonl").splitlines() == table
    assert (folder / "verdicts.jsonl").read_bytes() == before
    printed(run_here(folder, "report", "renamed.jsonl", "--verdicts", "verdicts.jsonl", "-o", "report.html"))
    assert NOTE.removeprefix("note: ").rstrip(".") in (folder / "report.html").read_text("utf-8")


def test_what_people_have_corrected_counts_under_the_new_name(folder: Path) -> None:
    path = folder / "verdicts.jsonl"
    labels = [json.loads(line) for line in path.read_text("utf-8").splitlines() if '"label":"none"' in line]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({**label, "label": "full"}) + "\n" for label in labels)
    write(folder / "renamed.jsonl", RESULTS)
    assert "Faithfulness    1.0000" in judged(folder, "renamed.jsonl")[0]


def test_in_python_the_scores_of_a_judge_have_the_name_that_was_given(folder: Path) -> None:
    options: dict[str, Any] = {"task": "faithfulness", "replay": True, "verdicts": folder / "verdicts.jsonl"}
    judging = karat.judge(RESULTS, system="renamed", **options)
    assert judging.notes == (NOTE.removeprefix("note: ").rstrip("."),)
    assert [scores.name for scores in (judging.scores(), judging.scores("Faithfulness"))] == ["renamed"] * 2
    assert judging.task_scores()["renamed"]["Faithfulness"] == 0.5


def test_renamed_results_with_more_questions_are_continued(folder: Path) -> None:
    new = {**RESULTS[0], "query": "q9", "question": "How hard is metal 9?", "answer": "Metal 9 is soft."}
    write(folder / "renamed.jsonl", [*RESULTS, new])
    out, sent = judged(folder, "renamed.jsonl")
    assert (NOTE in out.splitlines(), sent) == (True, 2)
    assert {json.loads(line).get("system", "rag") for line in (folder / "verdicts.jsonl").read_text().splitlines()} == {
        "rag"
    }
    write(folder / "some.jsonl", RESULTS[1:])
    assert "Faithfulness   0.5000" in good(folder, "evaluate", "some.jsonl", "--verdicts", "verdicts.jsonl")


@pytest.mark.parametrize(
    "change",
    [{"answer": "Metal 0 is hard."}, {"retrieved": ["Iron is hard."]}, {"retrieved": ["Metal 0 is soft.", "Or not."]}],
    ids=["answer", "passage", "more"],
)
def test_results_of_which_one_answer_or_passage_differs_are_another_system(
    folder: Path, change: dict[str, Any]
) -> None:
    write(folder / "renamed.jsonl", [{**RESULTS[0], **change}, *RESULTS[1:]])
    error = mistake(folder, "evaluate", "renamed.jsonl", "--verdicts", "verdicts.jsonl")
    assert "no verdict is about the system 'renamed'" in error
    out, sent = judged(folder, "renamed.jsonl")
    assert (NOTE in out, sent) == (False, 1 + ("answer" in change))
    assert NOTE not in good(folder, "evaluate", "renamed.jsonl", "--verdicts", "verdicts.jsonl")


def test_if_two_systems_fit_nothing_is_guessed(folder: Path) -> None:
    write(folder / "same.jsonl", RESULTS)
    out, sent = judged(folder, "rag.jsonl", "same.jsonl")  # one of them has its own name, so the other one is another
    assert ("note" in out, sent) == (False, 0)
    write(folder / "renamed.jsonl", RESULTS)
    error = mistake(folder, "evaluate", "renamed.jsonl", "--verdicts", "verdicts.jsonl")
    assert "no verdict is about the system 'renamed'. Systems: rag, same." in error


def test_two_results_that_fit_one_system_are_not_taken_for_it(folder: Path) -> None:
    for name in ("one", "two"):
        write(folder / f"{name}.jsonl", RESULTS)
    out, sent = judged(folder, "one.jsonl", "two.jsonl")
    assert ("note" in out, sent) == (False, 0)
    assert len(karat.evaluate_verdicts(folder / "verdicts.jsonl", system="two").queries) == 3


def test_a_system_with_labels_of_its_own_has_no_others(folder: Path) -> None:
    path = folder / "verdicts.jsonl"
    label = {"query": "q0", "system": "renamed", "task": "correctness", "item": "answer", "label": "correct"}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"record": "verdict", **label, "by": "tester"}) + "\n")
    write(folder / "renamed.jsonl", RESULTS)
    assert NOTE not in good(folder, "evaluate", "renamed.jsonl", "--verdicts", "verdicts.jsonl", "-m", "Correctness")
    out, sent = judged(folder, "renamed.jsonl")
    assert (NOTE in out, sent) == (False, 0)


def test_labels_without_digests_are_not_taken_for_those_of_another_system() -> None:
    row = {"query": "q0", "system": "rag", "type": "claim", "task": "support", "against": "context"}
    labels = [{**row, "item": "c1", "label": "full"}]
    with pytest.raises(KaratError, match="no verdict is about the system 'renamed'"):
        karat.evaluate_results(RESULTS, "Faithfulness", verdicts=labels, name="renamed")
