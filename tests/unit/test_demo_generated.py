"""The generated answers of the demo data set agree with its questions, passages and runs."""

from __future__ import annotations

import json
import re

import pytest

from karat import demo

RESULTS = {line["query"]: line for line in map(json.loads, demo.GENERATED.read_text("utf-8").splitlines())}
POINT_TO_NO_PASSAGE = {"q20": [7], "q50": [6]}  # on purpose


def test_each_question_has_an_answer_and_its_gold_answers() -> None:
    assert [(line["query"], line["question"], line["gold_answers"]) for line in RESULTS.values()] == [
        (question["query"], question["text"], question["gold_answers"]) for question in demo.questions()
    ]
    assert all(line["answer"].strip() for line in RESULTS.values())


def test_passages_are_the_first_ones_of_a_run_whole() -> None:
    content = {passage["id"]: passage["content"] for passage in demo.corpus()}
    runs: dict[str, dict[str, list[str]]] = {}
    for system, path in demo.runs().items():
        for line in path.read_text("utf-8").splitlines():
            query, _, passage, *_ = line.split()
            runs.setdefault(system, {}).setdefault(query, []).append(passage)
    for query, line in RESULTS.items():
        ids = [passage["id"] for passage in line["retrieved"]]
        assert ids in [runs[system][query][: len(ids)] for system in ("bm25", "bm25-rm3")]
        assert len(ids) in (4, 5)
        assert [passage["content"] for passage in line["retrieved"]] == [content[name] for name in ids]


@pytest.mark.parametrize("query", RESULTS)
def test_citations_point_to_passages_except_two(query: str) -> None:
    cited = {
        int(number) for group in re.findall(r"\[([^]]*)\]", RESULTS[query]["answer"]) for number in group.split(",")
    }
    wrong = cited - set(range(1, len(RESULTS[query]["retrieved"]) + 1))
    assert sorted(wrong) == POINT_TO_NO_PASSAGE.get(query, [])
