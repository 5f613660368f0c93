"""look(): the facts about a log, as attributes, found by the functions that an evaluation uses."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import karat
from karat import KaratError
from karat.reading import shapes

FOLDER = Path(shapes.__file__).parent
TEXT = "Gold is soft. It melts at 1064 °C."
RECORD = {"query": "q1", "question": "How soft?", "truth": ["d1"], "retrieved": ["d1"], "answer": "Soft.", "tag": "x"}


def test_the_facts_are_attributes() -> None:
    found = karat.look(FOLDER / "ragas.jsonl")
    assert (found.tool, found.what, found.counts) == ("ragas", "a log of ragas", {"record": 3})
    assert found.can_be_evaluated
    assert {each.field: each.path for each in found.read} == {
        "query": "user_input",
        "truth": "reference_contexts",
        "retrieved": "retrieved_contexts",
        "gold_answers": "reference",
        "answer": "response",
    }
    assert found.matches is not None
    assert found.matches.best is not None
    assert found.matches.share(found.matches.best) == 1
    assert next(group.task for group in found.measures if group.needs == "labels") == "faithfulness"
    assert "karat judge" in found.commands["what labels cost"]


def test_printed_it_is_the_screen_also_in_a_notebook() -> None:
    found = karat.look([RECORD])
    assert str(found).startswith("the results: results, 1 record\nread as     from        example\n")
    assert "<table>" in found._repr_html_()
    assert json.loads(found.to_json())["unused"] == ["tag"]


def test_records_in_memory_get_calls_instead_of_commands() -> None:
    found = karat.look(pd.DataFrame([{**RECORD, "gold": ["d1"]}]), fields={"truth": "gold"})
    assert found.commands["to evaluate it"] == "karat.evaluate_results(log, fields={'truth': 'gold'})"
    assert "karat.estimate_judging(log, fields={'truth': 'gold'}, task=['faith" in found.commands["what labels cost"]


@pytest.mark.parametrize(
    ("record", "needs"),
    [
        (RECORD, {"nDCG@5": "", "TokenF1": "gold answers", "Faithfulness": "labels", "Correctness": None}),
        ({**RECORD, "gold_answers": ["Soft"]}, {"TokenF1": "", "Correctness": "labels"}),
        (
            {"query": "q", "retrieved": ["d"]},
            {"nDCG@5": "gold documents", "ContextPrecision": "labels", "TokenF1": None},
        ),
        ({"query": "q", "answer": "a"}, {"TokenF1": "gold answers", "AnswerRelevance": "labels", "Faithfulness": None}),
        ({"query": "q", "truth": ["d"]}, {"nDCG@5": None, "Faithfulness": None}),
    ],
)
def test_measures_are_listed_with_what_they_need(record: dict[str, Any], needs: dict[str, str | None]) -> None:
    groups = karat.look([record]).measures
    for measure, need in needs.items():
        assert next((group.needs for group in groups if measure in group.measures), None) == need


def test_the_match_that_finds_gold_documents_is_in_the_command_unless_ids_do() -> None:
    chunks = {**RECORD, "truth": [TEXT], "retrieved": ["It melts at"]}
    assert karat.look([chunks]).commands["to evaluate it"] == "karat.evaluate_results(log, match='chunk')"
    assert karat.look([RECORD]).commands["to evaluate it"] == "karat.evaluate_results(log)"
    both = {**RECORD, "truth": ["d1", "d2"], "retrieved": ["d1", "d2#1"]}
    found = karat.look([both])
    assert found.commands["to evaluate it"] == "karat.evaluate_results(log)"
    assert "prefix(separator=#)   'd2'            'd2#1'            100%" in str(found)


def test_gold_that_is_elsewhere_is_joined(tmp_path: Path) -> None:
    log = [{"query": "q1", "retrieved": ["d1"]}]
    assert not karat.look(log).can_be_evaluated
    found = karat.look(log, truth={"q1": ["d1"]})
    assert found.can_be_evaluated
    assert "truth='...'" in found.commands["to evaluate it"]
    (tmp_path / "gold.json").write_text(json.dumps({"q1": {"d1": 1}}))
    (tmp_path / "log.jsonl").write_text(json.dumps(log[0]))
    found = karat.look(tmp_path / "log.jsonl", truth=tmp_path / "gold.json")
    assert found.commands["to evaluate it"].endswith(f"log.jsonl --truth {tmp_path / 'gold.json'}")


def test_one_gold_answer_is_shown_as_a_text_and_several_as_a_list() -> None:
    log = [{"query": "q1", "answer": "Soft."}]
    for golds, example in ((["soft"], "'soft'"), (["soft", "weak"], "['soft', 'weak']")):
        read = {field.field: field.example for field in karat.look(log, truth={"q1": golds}).read}
        assert read["gold_answers"] == example


def test_numbers_of_a_log_are_measures() -> None:
    [_, numbers, *_] = karat.look([{**RECORD, "latency": 0.5}, {**RECORD, "query": "q2", "latency": 0.25}]).measures
    assert numbers.measures == ("latency",)


def test_what_an_evaluation_notes_is_noted() -> None:
    found = karat.look([RECORD, {**RECORD, "query": "q2", "truth": []}])
    assert any("with empty ground truth" in note for note in found.notes)


def test_ground_truth_and_a_run_in_memory() -> None:
    found = karat.look({"q1": {"d1": 2}}, {"q1": {"d1#3": 0.5}})
    assert found.counts == {"query": 1, "judged document": 1, "retrieved document": 1}
    assert found.commands["to evaluate it"] == "karat.evaluate(truth, run, match='prefix(separator=#)')"
    assert [each.example for each in found.read] == ["'q1'", "'d1'", "2", "'q1'", "'d1#3'", "0.5"]
    listed = karat.look({"q1": ["d1"]}, {"q1": [{"id": "d1", "content": "Gold"}]})
    assert listed.can_be_evaluated


def test_queries_that_are_not_in_the_ground_truth_are_the_error_of_an_evaluation() -> None:
    found = karat.look({"q1": {"d1": 2}}, {"other": {"d1": 0.5}})
    assert not found.can_be_evaluated
    with pytest.raises(KaratError, match="no query is in both"):
        karat.evaluate({"q1": {"d1": 2}}, {"other": {"d1": 0.5}})
    assert "no query is in both" in str(found.error)


def test_a_line_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "r.trec").write_text("q1 Q0 d1 1 abc x\n")
    with pytest.raises(KaratError, match="abc"):
        karat.look(tmp_path / "t.qrels", tmp_path / "r.trec")


def test_values_that_are_wrong_are_the_last_section() -> None:
    found = karat.look([{"query": "q1", "truth": [1.5], "retrieved": ["d1"]}])
    assert found.error is not None
    assert str(found).splitlines()[-1].strip() in " ".join(str(found.error).split())


def test_a_parquet_log_is_read(tmp_path: Path) -> None:
    pd.DataFrame([RECORD]).to_parquet(tmp_path / "log.parquet")
    found = karat.look(tmp_path / "log.parquet")
    assert found.can_be_evaluated
    assert found.read[1].example == "1 document: 'd1'"
