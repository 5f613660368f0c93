"""Answers at the edge: where the easy way would drop something, guess, or fail with an error of somebody else's."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from karat import KaratError, evaluate, evaluate_answers, evaluate_results
from karat.sources.answers import read_gold_answers, read_predicted_answers

D: dict[str, Any] = {"query": "q", "truth": ["a"], "retrieved": ["a"]}
A: dict[str, Any] = {"query": "q", "gold_answers": ["x"], "answer": "x"}


def test_rouge_of_questions_that_all_have_an_empty_gold_answer() -> None:
    assert evaluate_answers({"q": ""}, {"q": "dog"})["RougeL"] == 0.0


def test_an_empty_file_of_predictions_is_an_error_as_an_empty_run_is(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("")
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, tmp_path / "said")


def test_standard_input_cannot_be_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"q": "a"}')))
    with pytest.raises(KaratError):
        evaluate_answers("-", "-")


def test_an_unknown_missing_is_refused_where_only_answers_are_measured() -> None:
    with pytest.raises(KaratError):
        evaluate_results([A], missing="nope")  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [{**A, "retrieved": ["d"]}, {**A, "truth": ["d"]}, {**D, "gold_answers": "x"}])
def test_the_half_of_a_part_that_is_not_measured_is_noticed(record: dict[str, Any]) -> None:
    assert any("unscored" in finding.code for finding in evaluate_results([record]).findings)


@pytest.mark.parametrize("data", ["query,answer,answer\nq,a,b\n"])
def test_a_column_twice_is_an_error(data: str, tmp_path: Path) -> None:
    (tmp_path / "t").write_text(data)
    with pytest.raises(KaratError):
        read_gold_answers(tmp_path / "t")


def test_a_column_twice_in_arrow_is_an_error() -> None:
    with pytest.raises(KaratError):
        read_gold_answers(pa.table([["q"], ["a"], ["b"]], names=["id", "answer", "answer"]))


def test_a_first_record_without_an_answer_is_like_any_other_without() -> None:
    assert read_predicted_answers([{"id": "q1"}, {"id": "q2", "answer": "x"}], {}) == {"q1": None, "q2": "x"}


def test_a_first_record_with_null_inside_of_an_object() -> None:
    records = [{"id": "q1", "y": {"z": None}}, {"id": "q2", "y": {"z": "a"}}]
    assert read_gold_answers(records, {"gold_answers": "y.z"}) == {"q1": None, "q2": ("a",)}


def test_scores_with_f_and_token_f1_do_not_guess_what_f1_is() -> None:
    scores = evaluate_results([{**D, **A}], ["F", "TokenF1"])
    with pytest.raises(KaratError):
        scores["F1"]


def test_the_name_of_scores_is_the_one_given_whatever_is_measured() -> None:
    assert evaluate_results([A]).name == evaluate_results([D]).name == ""


def test_a_tsv_after_a_blank_line_is_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("\nquery\tanswer\nq\ta\n")
    assert read_gold_answers(tmp_path / "t") == {"q": ("a",)}


@pytest.mark.parametrize("fields", ["query", ["query"]])
def test_fields_that_are_no_mapping(fields: Any) -> None:
    with pytest.raises(KaratError):
        evaluate_answers([A], [A], fields=fields)


def test_measures_that_are_no_names() -> None:
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, {"q": "a"}, 3)  # type: ignore[arg-type]


def test_answers_nested_in_text_without_end() -> None:
    deep: Any = "a"
    for _ in range(3000):
        deep = {"text": deep}
    with pytest.raises(KaratError):
        read_gold_answers({"q": deep})


def test_arrow_with_bytes_that_are_no_text() -> None:
    buffers = [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    with pytest.raises(KaratError):
        read_gold_answers(pa.table({"query": ["q"], "answer": pa.Array.from_buffers(pa.string(), 1, buffers)}))


def test_arrow_with_dates_beyond_pythons() -> None:
    with pytest.raises(KaratError):
        read_gold_answers(pa.table({"query": ["q"], "answer": pa.array([2**62], pa.timestamp("s"))}))


def test_unknown_fields_are_refused_for_mappings_too() -> None:
    with pytest.raises(KaratError):
        evaluate_answers({"q": "a"}, {"q": "a"}, fields={"querry": "x"})


def test_precision_without_a_cutoff_asks_for_one() -> None:
    with pytest.raises(KaratError, match="P@"):
        evaluate({"q": ["a"]}, {"q": ["a"]}, "precision")


def test_unscored_answers_are_not_noticed_where_a_measure_is_named() -> None:
    assert evaluate_results([{**D, "answer": "x"}], "F1").findings == ()


@pytest.mark.parametrize(("record", "measures", "field"), [(A, "F1, RR", "truth"), (D, "F1, EM", "gold_answers")])
def test_a_missing_part_is_named_by_its_field_beside_f1_too(record: Any, measures: str, field: str) -> None:
    with pytest.raises(KaratError, match=f"no line has a field '{field}'"):
        evaluate_results([record], measures)


def test_half_a_character_in_a_file_is_placed_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('{"\\ud800": "a"}')
    with pytest.raises(KaratError) as caught:
        read_gold_answers(tmp_path / "t")
    assert str(tmp_path) in (caught.value.where or "")


@pytest.mark.parametrize("source", [{"1": "a", 1: "b"}, pd.Series(["a"])])
def test_every_error_has_a_mend(source: Any) -> None:
    with pytest.raises(KaratError) as caught:
        read_gold_answers(source)
    assert caught.value.hint


def test_squads_data_set_is_read_from_memory_as_from_a_file() -> None:
    assert read_gold_answers({"data": [{"paragraphs": [{"qas": [{"id": "1", "answers": []}]}]}]}) == {"1": ("",)}
