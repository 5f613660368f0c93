"""Responses are read record by record, and what depends on all records is decided before the first one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.grounding.responses.results import read_responses

WORDS = ("d1", "d2", "soft", "Gold is soft.")
RECORDS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "retrieved": st.lists(st.sampled_from(WORDS), max_size=2, unique=True),
            "answer": st.none() | st.sampled_from(("Yes.", "", "No [1].")),
            "gold_answers": st.lists(st.sampled_from(("Yes", "No")), max_size=2, unique=True),
            "text": st.sampled_from(("Is it soft?", "", "text")),
        },
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=60)
@given(RECORDS, st.booleans())
def test_what_depends_on_all_records_is_decided_before_the_first_response(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], are_questions: bool
) -> None:
    lines = [{"query": f"Is {at} soft?" if are_questions else f"q{at}", **each} for at, each in enumerate(records)]
    file = tmp_path_factory.getbasetemp() / "results.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    found = read_responses(file, needed=()).responses
    strings = [text for each in lines for text in each.get("retrieved", ())]
    are_ids = bool(strings) and all(" " not in text for text in strings)
    has_answers = any(each.get("answer") is not None for each in lines)
    assert [(each.query, each.answer, each.gold_answers) for each in found] == [
        (each["query"], (each.get("answer") or "") if has_answers else None, _gold(each)) for each in lines
    ]
    assert [each.question for each in found] == [
        each["query"] if are_questions else each.get("text") or each["query"] for each in lines
    ]
    assert [[passage.id if are_ids else passage.text for passage in each.passages] for each in found] == [
        each.get("retrieved", []) for each in lines
    ]
    assert [each.passages and each.passages[0].text is None for each in found if each.passages] == [
        are_ids for each in found if each.passages
    ]


def _gold(record: dict[str, Any]) -> tuple[str, ...] | None:
    return tuple(record["gold_answers"]) or ("",) if "gold_answers" in record else None


def test_the_first_error_is_the_one_of_the_first_field(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    lines = [
        {"query": "q1", "answer": 1, "gold_answers": ["a"], "retrieved": []},
        {"query": "q2", "answer": "a", "gold_answers": 2, "retrieved": []},
        {"query": "q3", "answer": "a", "gold_answers": ["a"], "retrieved": 3},
    ]
    for at, field in enumerate(("retrieved", "gold_answers", "answer")):
        file.write_text("\n".join(map(json.dumps, lines[: 3 - at])))
        with pytest.raises(KaratError) as error:
            read_responses(file)
        assert str(error.value.place) == f"{file}:{3 - at}, {field}"


def test_a_query_that_comes_twice_names_both_places(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text("\n".join(json.dumps({"query": query, "answer": "Yes."}) for query in ("q1", "q2", "q3", "q2")))
    with pytest.raises(KaratError, match=r"'q2' was already in .*results.jsonl:2") as error:
        read_responses(file)
    assert str(error.value.place) == f"{file}:4"
