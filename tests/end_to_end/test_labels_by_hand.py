"""From a sheet to scores: each step is the command that the step before it names."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import karat
from karat import KaratError, evaluate_results, evaluate_verdicts, label_agreement
from karat.grounding.labels.recipes import RECIPES
from tests.end_to_end.in_process import printed, run_here
from tests.unit.judges.toy_judge import SmallModel

RESULTS = [
    {
        "query": "q1",
        "question": "Is gold soft?",
        "answer": "It is soft [1][2]. It shines [2].",
        "retrieved": ["Gold is soft.", "Gold shines."],
        "gold_answers": ["Yes, it is soft."],
    },
    {
        "query": "q2",
        "question": "Is it yellow?",
        "answer": "It is yellow [1].",
        "retrieved": ["Gold is yellow.", "So is brass."],
        "gold_answers": ["Yes."],
    },
]
ITEMS: list[dict[str, Any]] = [
    {"record": "task", "name": "politeness", "question": "Is it polite?", "scale": {"rude": 0, "polite": 1}},
    *(
        {"record": "item", "query": query, **item}
        for query in ("q1", "q2")
        for item in (
            {"id": "c1", "type": "claim", "of": "answer", "system": "rag", "text": "It is as the answer says."},
            {"id": "g1", "type": "claim", "of": "gold", "text": "Yes."},
            {"id": "n1", "type": "nugget", "importance": "vital", "text": "It is."},
        )
    ),
]
TASKS = [*((task, False) for task in ("faithfulness", "context", "support", "citations", "correctness",
          "answer_relevance", "abstention")), *((task, True) for task in (*RECIPES, "politeness"))]  # fmt: skip
"""each with the items of a file, or without them"""


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "rag.jsonl", RESULTS)
    write(tmp_path / "items.jsonl", ITEMS)
    return tmp_path


def fill_in(sheet: Path) -> None:
    """Give each row the best label that it allows."""
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        best = row["allowed"].split(" | ")[-2]
        row["label"] = row["label"] or {"refused": "answered"}.get(best, best)
    with open(sheet, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def steps(folder: Path, *words: str) -> list[str]:
    """The commands that the message of a template names."""
    message = printed(run_here(folder, "verdicts", "template", *words))
    return [line.strip() for line in message.splitlines() if line.startswith("  karat ")]


def follow(folder: Path, commands: list[str]) -> str:
    """What the last command prints."""
    for command in commands:
        output = printed(run_here(folder, *shlex.split(command)[1:]))
    return output


@pytest.mark.parametrize(("task", "has_items"), TASKS)
def test_the_commands_that_a_template_names_lead_to_scores(folder: Path, task: str, has_items: bool) -> None:
    items = ("--items", "items.jsonl") if has_items else ()
    commands = steps(folder, "rag.jsonl", "--task", task, *items, "-o", "todo.csv")
    fill_in(folder / "todo.csv")
    table = follow(folder, commands)
    assert "1.0000" in table, table
    assert "unknown" not in table
    measures = [word for word in shlex.split(commands[1]) if word[:1].isupper()]
    assert all(measure in table for measure in measures)


def test_an_abstention_without_gold_answers_says_what_is_missing_instead_of_naming_the_sheet(folder: Path) -> None:
    write(folder / "log.jsonl", [{name: each[name] for name in ("query", "answer", "retrieved")} for each in RESULTS])
    words = ("verdicts", "template", "log.jsonl", "--task", "abstention", "-o", "todo.csv")
    needed = "Gold answers say which questions can be answered: add the field gold_answers to the results"
    message = printed(run_here(folder, *words))
    assert f"note: {needed}" in message
    assert "karat evaluate" not in message
    fill_in(folder / "todo.csv")
    run_here(folder, "verdicts", "import", "todo.csv", "-o", "todo.jsonl")
    error = run_here(folder, "evaluate", "log.jsonl", "--verdicts", "todo.jsonl", "-m", "Abstention").stderr
    assert needed in error
    assert "template" not in error
    write(folder / "log.jsonl", RESULTS)
    again = run_here(folder, "evaluate", "log.jsonl", "--verdicts", "todo.jsonl", "-m", "Abstention")
    assert "Abstention   1.0000" in printed(again)


def test_every_task_of_the_template_is_walked_through() -> None:
    assert {task for task, _ in TASKS} == {*RECIPES, "politeness"}


def test_the_commands_name_the_system_the_fields_and_files_with_blanks(folder: Path) -> None:
    records = [
        {"data": [{**{name: each[name] for name in ("query", "retrieved", "question")}, "said": each["answer"]}]}
        for each in RESULTS[:1]
    ]
    (folder / "my log.json").write_text(json.dumps(records[0]))
    words = ("--field", "answer=said", "--records", "data", "--system", "mine")
    commands = steps(folder, "my log.json", "--task", "faithfulness", *words, "-o", "my sheet.csv")
    fill_in(folder / "my sheet.csv")
    assert "Faithfulness(unit=sentences)   1.0000" in follow(folder, commands)


def test_the_commands_join_the_files_that_the_sheet_was_made_with(folder: Path) -> None:
    for name, fields in (("log", ("retrieved",)), ("answers", ("answer",)), ("gold", ("gold_answers",))):
        write(folder / f"{name}.jsonl", [{each: record[each] for each in ("query", *fields)} for record in RESULTS])
    joins = ("--truth", "gold.jsonl", "--answers", "answers.jsonl")
    for task in ("faithfulness", "abstention"):
        commands = steps(folder, "log.jsonl", "--task", task, *joins, "-o", f"{task}.csv")
        fill_in(folder / f"{task}.csv")
        assert "1.0000" in follow(folder, commands)


def test_labels_of_a_sheet_that_is_named_as_the_results_are_not_added_to_the_results(folder: Path) -> None:
    commands = steps(folder, "rag.jsonl", "--task", "faithfulness", "-o", "rag.csv")
    fill_in(folder / "rag.csv")
    assert "Faithfulness(unit=sentences)   1.0000" in follow(folder, commands)


@pytest.mark.parametrize("task", ["support", "citations"])
def test_a_sheet_about_citations_is_not_written_if_nothing_is_cited(folder: Path, task: str) -> None:
    write(folder / "log.jsonl", [{**each, "answer": "It is."} for each in RESULTS])
    done = run_here(folder, "verdicts", "template", "log.jsonl", "--task", task, "-o", "todo.csv")
    assert done.returncode == 2
    assert "there is nothing to label: no sentence of the answers cites a passage" in done.stderr
    assert not (folder / "todo.csv").exists()


# Faithfulness of sentences, where no claims are labelled


def label(item: str, given: str, **more: Any) -> dict[str, Any]:
    kind = {"c": "claim", "s": "sentence"}[item[0]]
    about = {"query": "q1", "system": "rag", "type": kind, "task": "support", "against": "context"}
    return {**about, "item": item, "label": given, **more}


SENTENCES = [label("s1", "full"), label("s2", "none")]


def test_faithfulness_counts_sentences_if_no_claims_are_labelled_and_its_column_says_so() -> None:
    for measures in ("Faithfulness", "faithfulness", "Faithfulness(unit=sentences)"):
        scores = evaluate_verdicts(SENTENCES, measures)
        assert scores.means == {"Faithfulness(unit=sentences)": 0.5}
        assert scores[measures] == 0.5
    assert evaluate_verdicts(SENTENCES, "Faithfulness(partial=0.5)").measures == (
        "Faithfulness(partial=0.5, unit=sentences)",
    )


def test_a_note_says_that_sentences_are_counted_unless_they_were_asked_for() -> None:
    [note] = [finding.message for finding in evaluate_verdicts(SENTENCES, ["Faithfulness"]).findings]
    assert note == "no claims are labelled, so Faithfulness counts sentences"
    both = evaluate_verdicts([*SENTENCES, label("s3", "contradicts")], ["Faithfulness", "Contradiction"])
    notes = [finding.message for finding in both.findings]
    assert notes == ["no claims are labelled, so Faithfulness and Contradiction count sentences"]
    assert evaluate_verdicts(SENTENCES, ["Faithfulness(unit=sentences)"]).findings == ()


def test_asked_for_twice_it_is_one_column() -> None:
    scores = evaluate_verdicts(SENTENCES, ["Faithfulness(unit=sentences)", "Faithfulness"])
    assert scores.means == {"Faithfulness(unit=sentences)": 0.5}


def test_labels_of_claims_count_as_before_even_if_sentences_are_labelled_too() -> None:
    scores = evaluate_verdicts([*SENTENCES, label("c1", "full")], "Faithfulness")
    assert (scores.means, scores.findings) == ({"Faithfulness": 1.0}, ())


def test_missing_labels_of_sentences_bound_the_mean() -> None:
    unlabelled = {"record": "item", "query": "q2", "system": "rag", "id": "s1", "type": "sentence"}
    scores = evaluate_verdicts([*SENTENCES, unlabelled], "Faithfulness")
    assert scores.bounds("Faithfulness").per_query["q2"] == (0.0, 1.0)


def test_results_have_the_column_in_the_order_that_was_asked_for(folder: Path) -> None:
    labels = [{**each, "query": record["query"]} for record in RESULTS for each in SENTENCES[:1]]
    scores = evaluate_results(str(folder / "rag.jsonl"), ["Faithfulness", "TokenF1"], verdicts=labels, name="rag")
    assert scores.measures == ("Faithfulness(unit=sentences)", "TokenF1")


def test_a_rule_of_a_gate_finds_the_column(folder: Path) -> None:
    commands = steps(folder, "rag.jsonl", "--task", "faithfulness", "-o", "todo.csv")
    fill_in(folder / "todo.csv")
    follow(folder, commands[:1])
    words = ("gate", "rag.jsonl", "--verdicts", "todo.jsonl", "--min", "Faithfulness=0.9")
    assert "passed    Faithfulness(unit=sentences)   1.0000" in printed(run_here(folder, *words))


def test_a_system_with_claims_is_not_compared_with_one_with_sentences(folder: Path) -> None:
    write(folder / "other.jsonl", RESULTS)
    labels = [
        {**each, "query": record["query"], "system": system}
        for record in RESULTS
        for each, system in ((label("s1", "full"), "rag"), (label("c1", "none"), "other"))
    ]
    write(folder / "labels.jsonl", labels)
    words = ("rag.jsonl", "other.jsonl", "--verdicts", "labels.jsonl", "-m", "Faithfulness")
    table = printed(run_here(folder, "evaluate", *words))
    assert "Faithfulness(unit=sentences)" in table
    done = run_here(folder, "compare", *words)
    assert done.returncode == 2
    assert "Faithfulness(unit=sentences)" in done.stderr


def test_without_labels_of_either_the_error_names_the_template() -> None:
    relevance = {"query": "q1", "item": "p1", "type": "passage", "task": "relevance", "label": 1, "rank": 1}
    with pytest.raises(KaratError, match=r"Faithfulness needs labels .* claims .* template results.jsonl --task faith"):
        evaluate_verdicts([relevance], "Faithfulness")


def test_agreement_says_that_people_labelled_sentences_and_a_model_claims() -> None:
    common = [{"query": "q1", "item": "answer", "task": "correctness", "label": "correct", "by": by} for by in
              ("human", "m")]  # fmt: skip
    labels = [*common, *({**each, "by": "human"} for each in SENTENCES), label("c1", "full", by="m")]
    found = label_agreement([{**each, "system": "rag"} for each in labels], measures=["Faithfulness"])
    assert "labels of people suffice for Faithfulness(unit=sentences), those of m for Faithfulness" in str(found)


# Labels of people and of a model about the same things


def judged(folder: Path) -> None:
    results = str(folder / "rag.jsonl")
    karat.judge(results, task="faithfulness", model=SmallModel(10**6), verdicts=folder / "judged.jsonl", system="rag")


def hinted_command(error: str) -> list[str]:
    """The command in the hint of an error, about these results."""
    [command] = [part for part in error.split("`") if part.startswith("karat ")]
    return ["rag.jsonl" if word == "RESULTS" else word for word in shlex.split(command)[1:]]


def test_without_the_items_of_the_model_the_error_names_the_command_that_has_them(folder: Path) -> None:
    judged(folder)
    steps(folder, "rag.jsonl", "--task", "faithfulness", "-o", "alone.csv")
    fill_in(folder / "alone.csv")
    run_here(folder, "verdicts", "import", "alone.csv", "-o", "alone.jsonl")
    error = run_here(folder, "verdicts", "agreement", "judged.jsonl", "alone.jsonl").stderr
    assert "people labelled the sentences of the answer against the passages (faithfulness);" in error
    assert "labelled the claims of the answer against the passages (faithfulness)" in error
    words = hinted_command(error)
    assert words[words.index("--items") + 1] == "judged.jsonl"
    printed(run_here(folder, *words))
    fill_in(folder / "todo.csv")
    run_here(folder, "verdicts", "import", "todo.csv", "-o", "people.jsonl")
    table = printed(run_here(folder, "verdicts", "agreement", "judged.jsonl", "people.jsonl"))
    assert "support" in table
    assert "Faithfulness" in table


def test_with_labels_of_a_model_only_the_error_names_the_same_command(folder: Path) -> None:
    judged(folder)
    error = run_here(folder, "verdicts", "agreement", "judged.jsonl").stderr
    assert "no label is by a person" in error
    printed(run_here(folder, *hinted_command(error)))
    fill_in(folder / "todo.csv")
    run_here(folder, "verdicts", "import", "todo.csv", "-o", "people.jsonl")
    assert run_here(folder, "verdicts", "agreement", "judged.jsonl", "people.jsonl").returncode == 0


@pytest.mark.parametrize(
    ("people", "model", "why"),
    [
        ({"system": "a"}, {"system": "b"}, "people labelled answers of a; m labelled those of b"),
        ({"query": "q1"}, {"query": "q2"}, "people labelled the queries q1; m labelled q2"),
        ({"item": "c1"}, {"item": "c2"}, "about the same answers, but about other items"),
        ({"task": "correctness"}, {"task": "abstention"}, "(correctness); m labelled the answer (abstention)"),
    ],
)  # fmt: skip
def test_the_error_says_in_what_the_labels_differ(people: Any, model: Any, why: str) -> None:
    labels = []
    for by, changes in (("human", people), ("m", model)):
        row = {**label("c1", "full"), "by": by, **changes}
        if "task" in changes:
            value = {"correctness": "correct", "abstention": "answered"}[row["task"]]
            row = {"query": "q1", "item": "answer", "label": value, "by": by, **changes}
        labels.append(row)
    with pytest.raises(KaratError) as caught:
        label_agreement(labels)
    assert why in str(caught.value)
