"""Fields that look like documents, gold or an answer, and are not used, are named in a note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import karat
from karat.cli import demo_data
from karat.grounding.responses.results import read_responses
from karat.reading import shapes
from karat.reading.records.likely_fields import UnusedField, unused_fields
from karat.reading.records.results import read_results

SAMPLES = sorted(path for path in Path(shapes.__file__).parent.iterdir() if path.suffix in (".json", ".jsonl", ".csv"))
DEMO = sorted(Path(demo_data.__file__).parent.glob("*.jsonl"))
RECORD = {"query": "q1", "truth": ["d1"], "retrieved": ["d2", "d1"]}
NAMES = {name: name for name in RECORD}


@pytest.mark.parametrize(
    ("more", "path", "field"),
    [
        ({"documents": ["d7", "d1"]}, "documents", "retrieved"),
        ({"found": [{"text": "Gold is soft."}]}, "found", "retrieved"),
        ({"out": {"hits": [{"page_content": "Gold is soft.", "metadata": {}}]}}, "out.hits", "retrieved"),
        ({"gold_passages": [{"text": "Gold is soft."}]}, "gold_passages", "truth"),
        ({"response": "Soft."}, "response", "answer"),
        ({"reference": "Soft."}, "reference", "gold_answers"),
        ({"out": {"answer": "Soft."}}, "out.answer", "answer"),
    ],
)
def test_a_field_that_is_not_used_is_found_by_its_name_or_by_what_it_contains(
    more: dict[str, Any], path: str, field: str
) -> None:
    assert unused_fields([{**RECORD, **more}], NAMES) == [UnusedField(path, field)]


@pytest.mark.parametrize(
    "more",
    [
        {"documents": ["d1"]},  # a part of what is retrieved
        {"tags": ["soft metals", "a b c"], "latency": 0.5, "comment": "Too long, and wrong."},
        {"history": [{"role": "user", "content": "How soft is it?"}]},
        {"meta": {"model": "x", "usage": {"input": 7, "output": 9}}},
        {"documents": []},
        {"output": None},
        {7: [{"text": "Gold is soft."}]},
    ],
    ids=repr,
)
def test_other_fields_and_copies_are_no_alarm(more: dict[Any, Any]) -> None:
    assert unused_fields([{**RECORD, **more}], NAMES) == []


def test_a_note_says_how_to_read_the_field() -> None:
    note = "the results: the field 'found' looks like retrieved documents, and is not used;"
    use = '--field retrieved=found (in Python fields={"retrieved": "found"}) reads it'
    records = [{**RECORD, "found": [{"id": "d1", "text": "Gold is soft."}]}]
    assert read_results(records).notes == (f"{note} {use}",)
    assert read_results(records, {"retrieved": "found"}).run == {"q1": [{"id": "d1", "text": "Gold is soft."}]}
    assert read_responses(records, needed=()).notes == (f"{note} {use}",)


def test_an_answer_with_a_usual_name_and_without_gold_is_reported() -> None:
    scores = karat.evaluate_results([{**RECORD, "response": "Soft."}])
    [message] = [finding.message for finding in scores.findings if finding.code == "unscored"]
    assert message == "response of 1 query not scored: no line has a field gold_answers"


@pytest.mark.parametrize("path", [*SAMPLES, *DEMO], ids=lambda path: path.name)
def test_the_logs_of_tools_and_the_demo_have_no_unused_fields(path: Path) -> None:
    if path.name not in ("verdicts.jsonl", "corpus.jsonl", "pairs.jsonl"):
        assert not [note for note in read_responses(str(path), needed=()).notes if "not used" in note]
