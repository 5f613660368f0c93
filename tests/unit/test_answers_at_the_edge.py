"""Edge cases of answers: nothing is dropped, guessed, or fails with an error of another library."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from karat import KaratError, evaluate_answers, evaluate_results
from karat.reading.records.answers import read_gold_answers, read_predicted_answers

D: dict[str, Any] = {"query": "q", "truth": ["a"], "retrieved": ["a"]}
A: dict[str, Any] = {"query": "q", "gold_answers": ["x"], "answer": "x"}


def gold_answers(*arguments: Any, **options: Any) -> dict[str, tuple[str, ...] | None]:
    return read_gold_answers(*arguments, **options).by_query


def predicted_answers(*arguments: Any, **options: Any) -> dict[str, str | None]:
    return read_predicted_answers(*arguments, **options).by_query


def test_rouge_l_if_all_gold_answers_are_empty() -> None:
    assert evaluate_answers({"q": ""}, {"q": "dog"})["RougeL"] == 0.0


def test_an_empty_file_of_predictions_is_an_error_like_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("")
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, tmp_path / "said")


def test_standard_input_cannot_be_both_truth_and_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"q": "a"}')))
    with pytest.raises(KaratError):
        evaluate_answers("-", "-")


def test_an_unknown_missing_option_is_rejected_even_if_only_answers_are_evaluated() -> None:
    with pytest.raises(KaratError):
        evaluate_results([A], missing="nope")  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [{**A, "retrieved": ["d"]}, {**A, "truth": ["d"]}, {**D, "gold_answers": "x"}])
def test_answers_that_lack_gold_answers_are_a_finding(record: dict[str, Any]) -> None:
    assert any("unscored" in finding.code for finding in evaluate_results([record]).findings)


@pytest.mark.parametrize("data", ["query,answer,answer\nq,a,b\n"])
def test_two_columns_with_the_same_name_are_an_error(data: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(data)
    with pytest.raises(KaratError):
        gold_answers(tmp_path / "t")


def test_two_arrow_columns_with_the_same_name_are_an_error() -> None:
    with pytest.raises(KaratError):
        gold_answers(pa.table([["q"], ["a"], ["b"]], names=["id", "answer", "answer"]))


def test_the_first_record_may_lack_an_answer() -> None:
    assert predicted_answers([{"id": "q1"}, {"id": "q2", "answer": "x"}], {}) == {"q1": None, "q2": "x"}


def test_the_first_record_may_have_null_inside_an_object() -> None:
    records = [{"id": "q1", "y": {"z": None}}, {"id": "q2", "y": {"z": "a"}}]
    assert gold_answers(records, {"gold_answers": "y.z"}) == {"q1": None, "q2": ("a",)}


def test_f1_is_ambiguous_in_scores_that_have_both_f_and_token_f1() -> None:
    scores = evaluate_results([{**D, **A}], ["F", "TokenF1"])
    with pytest.raises(KaratError):
        scores["F1"]


def test_scores_have_the_given_name_whatever_is_evaluated() -> None:
    assert evaluate_results([A]).name == evaluate_results([D]).name == ""


def test_a_tsv_file_may_start_with_a_blank_line(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("\nquery\tanswer\nq\ta\n")
    assert gold_answers(tmp_path / "t") == {"q": ("a",)}


@pytest.mark.parametrize("fields", ["query", ["query"]])
def test_fields_that_are_not_a_mapping_are_an_error(fields: Any) -> None:
    with pytest.raises(KaratError):
        evaluate_answers([A], [A], fields=fields)


def test_measures_that_are_not_names_are_an_error() -> None:
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, {"q": "a"}, 3)  # type: ignore[arg-type]


def test_answers_nested_too_deeply_are_an_error() -> None:
    deep: Any = "a"
    for _ in range(3000):
        deep = {"text": deep}
    with pytest.raises(KaratError):
        gold_answers({"q": deep})


def test_arrow_columns_with_invalid_utf8_are_an_error() -> None:
    buffers = [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    with pytest.raises(KaratError):
        gold_answers(pa.table({"query": ["q"], "answer": pa.Array.from_buffers(pa.string(), 1, buffers)}))


def test_arrow_dates_beyond_the_range_of_python_are_an_error() -> None:
    with pytest.raises(KaratError):
        gold_answers(pa.table({"query": ["q"], "answer": pa.array([2**62], pa.timestamp("s"))}))


def test_unknown_fields_are_rejected_for_mappings_too() -> None:
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, {"q": "a"}, fields={"querry": "x"})


def test_unscored_answers_are_not_a_finding_if_measures_are_named() -> None:
    assert evaluate_results([{**D, "answer": "x"}], "F1").findings == ()


@pytest.mark.parametrize(
    ("record", "measures", "fields"),
    [(A, "F1, RR", "'truth' and 'retrieved'"), (D, "F1, EM", "'gold_answers' and 'answer'")],
)
def test_the_error_for_a_missing_part_names_its_fields_even_with_an_ambiguous_measure(
    record: Any, measures: str, fields: str
) -> None:
    with pytest.raises(KaratError, match=f"no fields {fields}"):
        evaluate_results([record], measures)


def test_the_error_for_a_lone_surrogate_names_its_place_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"\\ud800": "a"}')
    with pytest.raises(KaratError) as caught:
        gold_answers(tmp_path / "t")
    assert str(tmp_path) in str(caught.value.place)


@pytest.mark.parametrize("source", [{"1": "a", 1: "b"}, pd.Series(["a"])])
def test_every_error_has_a_hint(source: Any) -> None:
    with pytest.raises(KaratError) as caught:
        gold_answers(source)
    assert caught.value.hint


def test_squads_data_set_is_read_from_memory_and_from_a_file() -> None:
    assert gold_answers({"data": [{"paragraphs": [{"qas": [{"id": "1", "answers": []}]}]}]}) == {"1": ("",)}
