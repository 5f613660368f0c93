"""`karat verdicts template --next N`: the labels that narrow the possible scores the most come first."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from karat import KaratError, evaluate_verdicts
from karat.evaluation.next_labels import next_labels
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.reading import read_verdict_records
from tests.end_to_end.in_process import run_here

# q1 has one sentence that cites a passage, q2 has two, and q3 has four.
ANSWERS = {"q1": "A [1].", "q2": "A [1]. B [2].", "q3": "A [1]. B [2]. C [1]. D [2]."}
PASSAGES = [{"id": "p1", "content": "One."}, {"id": "p2", "content": "Two."}]
RESULTS = [{"query": query, "retrieved": PASSAGES, "answer": answer} for query, answer in ANSWERS.items()]


def label(query: str, sentence: int, passage: int, value: str = "full", by: str = "human") -> dict[str, Any]:
    what = {"record": "verdict", "query": query, "system": "rag", "task": "support", "item": f"s{sentence}"}
    return {**what, "against": [f"p{passage}"], "label": value, "by": by}


def wanted(
    number: int, labels: Iterable[dict[str, Any]] = (), recipe: str = "support", measures: list[str] | None = None
) -> dict[str, list[str]]:
    responses = read_responses(RESULTS, system="rag").responses
    records = read_verdict_records([*labels]) if labels else None
    found = next_labels(recipe, responses, records, number, measures)
    return {query: [each.subject.item for each in of_query] for query, of_query in found.wanted.items()}


def test_without_labels_the_queries_that_need_fewest_come_first() -> None:
    assert wanted(3) == {"q1": ["s1"], "q2": ["s1", "s2"]}


def test_a_query_that_is_nearly_done_can_change_little_and_comes_last() -> None:
    nearly_done = [label("q3", 1, 1), label("q3", 2, 2), label("q3", 3, 1)]
    assert [*wanted(4, nearly_done).items()] == [("q1", ["s1"]), ("q2", ["s1", "s2"]), ("q3", ["s4"])]


def test_the_labels_can_be_chosen_for_one_measure() -> None:
    # Sentences that cite nothing count in recall only: there, the citation of q5 can change little.
    answers = {"q1": "A [1].", "q4": "A [1]. B [2].", "q5": "A [1]. B. C. D."}
    results = [{"query": query, "retrieved": PASSAGES, "answer": answer} for query, answer in answers.items()]
    responses, records = read_responses(results, system="rag").responses, read_verdict_records([label("q1", 1, 1)])
    by_measure = [
        [*next_labels("support", responses, records, 3, measure).wanted]
        for measure in ("SupportPrecision", "SupportRecall", None)
    ]
    assert by_measure == [["q5", "q4"], ["q4", "q5"], ["q5", "q4"]]


@pytest.mark.parametrize("name", ["Correctness", "NuggetRecall"])
def test_a_measure_that_the_labels_are_not_for_cannot_be_narrowed(name: str) -> None:
    with pytest.raises(KaratError, match=f"labels of the task support do not suffice for {name}"):
        wanted(1, measures=[name])


def test_what_people_have_labelled_is_not_asked_again_and_labels_of_a_model_do_not_count() -> None:
    assert "q1" not in wanted(10, [label("q1", 1, 1)])
    assert "q1" in wanted(10, [label("q1", 1, 1, by="gpt"), label("q2", 1, 1)])


def test_what_people_are_divided_about_is_asked_again() -> None:
    divided = [label("q1", 1, 1, "full", "human:ann"), label("q1", 1, 1, "none", "human:bo")]
    assert wanted(1, divided) == {"q1": ["s1"]}


def test_each_label_narrows_what_the_mean_could_be() -> None:
    labels = [label("q1", 1, 1)]
    widths = []
    for _ in range(6):
        bounds = evaluate_verdicts([*labels, *declared(labels)], ["SupportPrecision"], system="rag").label_bounds
        low, high = bounds["SupportPrecision"].mean if bounds else (0.0, 0.0)
        widths.append((high or 0.0) - (low or 0.0))
        [(query, [item])] = wanted(1, labels).items()
        labels.append(label(query, int(item[1:]), 1 if item in ("s1", "s3") else 2))
    assert widths == sorted(widths, reverse=True)
    with pytest.raises(KaratError, match="people have given all labels that could change a measure"):
        wanted(1, labels)


def declared(labels: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sentences and passages, which results have and a verdict file lists."""
    items: list[dict[str, Any]] = []
    for query, answer in ANSWERS.items():
        count = answer.count(".")
        about = {"record": "item", "query": query, "system": "rag"}
        items += [{**about, "id": f"p{rank}", "type": "passage", "rank": rank} for rank in (1, 2)]
        items += [
            {**about, "id": f"s{at}", "type": "sentence", "cites": [f"p{1 if at in (1, 3) else 2}"]}
            for at in range(1, count + 1)
        ]
    return items


@pytest.mark.parametrize("number", [0, -1])
def test_a_number_of_labels_is_at_least_1(number: int) -> None:
    with pytest.raises(KaratError, match=f"number={number} is not a number of labels"):
        wanted(number)


def test_the_sheet_has_these_labels_and_no_mark_of_a_sample(tmp_path: Path) -> None:
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RESULTS))
    (tmp_path / "people.jsonl").write_text(json.dumps(label("q1", 1, 1)) + "\n")
    words = ("verdicts", "template", "rag.jsonl", "--task", "support", "--items", "people.jsonl", "--next", "2")
    done = run_here(tmp_path, *words, "-o", "sheet.csv")
    assert (done.returncode, done.stderr) == (0, "wrote sheet.csv: 2 labels to give, about 1 query\n")
    with open(tmp_path / "sheet.csv", encoding="utf-8-sig", newline="") as file:
        records = [json.loads(row["record"]) for row in csv.DictReader(file)]
    assert [(record["query"], record["item"]["id"]) for record in records] == [("q2", "s1"), ("q2", "s2")]
    assert not any("sample" in record for record in records)


def test_a_random_sample_cannot_be_chosen_by_need(tmp_path: Path) -> None:
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RESULTS))
    words = ("verdicts", "template", "rag.jsonl", "--task", "support", "--next", "2", "--sample", "2", "-o", "s.csv")
    done = run_here(tmp_path, *words)
    assert done.returncode == 2
    assert "labels that are chosen by need are not a random sample" in done.stderr
