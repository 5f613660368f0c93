"""Numbers that a log already has, such as scores of another tool or a latency, are measures by their names."""

import io
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import karat
from karat import KaratError, Scores, evaluate_results
from karat.reading.shapes.scores import ScorePlaces
from karat.testing import assert_scores

GOLD = [
    {"query": "q1", "truth": ["d1"], "retrieved": ["d2", "d1"], "latency": 820, "usage": {"total_tokens": 5}},
    {"query": "q2", "truth": ["d3"], "retrieved": ["d3", "d1"], "latency": 640, "usage": {"total_tokens": 7}},
]
CLAIMS: list[dict[str, Any]] = [
    {"query": "q1", "type": "claim", "task": "support", "against": "context", "item": "c1", "label": "full"},
    {"query": "q2", "type": "claim", "task": "support", "against": "context", "item": "c1", "label": "none"},
]


def log(**columns: list[Any]) -> list[dict[str, Any]]:
    """Records with an answer and these fields."""
    rows = zip(*columns.values(), strict=True)
    return [
        {"query": f"q{at}", "answer": "Soft.", **dict(zip(columns, row, strict=True))} for at, row in enumerate(rows, 1)
    ]


def notes(scores: Scores) -> str:
    return " ".join(map(str, scores.findings))


def test_numbers_are_shown_after_karats_own_measures() -> None:
    scores = evaluate_results(GOLD)
    assert scores.measures[0].startswith("nDCG")
    assert scores.measures[-1] == "latency"
    assert scores["latency"] == 730
    assert scores.column("latency").tolist() == [820, 640]


def test_a_number_and_a_path_are_selected_by_name_in_the_order_of_names() -> None:
    scores = evaluate_results(GOLD, ["usage.total_tokens", "RR", "latency"])
    assert scores.means == {"usage.total_tokens": 6.0, "RR": 0.75, "latency": 730.0}


def test_names_of_measures_and_of_numbers_may_be_in_one_text() -> None:
    assert evaluate_results(GOLD, "RR latency").measures == ("RR", "latency")


def test_numbers_need_neither_gold_nor_labels() -> None:
    scores = evaluate_results(log(latency=[3, 4]))
    assert scores.means == {"latency": 3.5}
    assert "answer of 2 queries not scored" in notes(scores)
    assert evaluate_results(log(latency=[3, 4]), "latency").means == {"latency": 3.5}


def test_what_is_plainly_an_id_a_position_a_seed_or_a_time_is_shown_only_if_it_is_asked_for() -> None:
    columns: dict[str, list[Any]] = {
        "id": [7, 3], "testIdx": [0, 0], "user_id": [5, 5], "seed": [1, 9], "created_at": [3, 4], "line": [1, 1],
        "timestamp": [2.5, 9.0], "request_time": [1794997898126, 1794997898127], "latencyMs": [3, 4],
        "Unnamed: 0": [0, 1], "total_time": [0.5, 0.25],
    }  # fmt: skip
    assert evaluate_results(log(**columns)).measures == ("latencyMs", "total_time")
    assert evaluate_results(log(**columns), ["seed", "created_at"]).means == {"seed": 5.0, "created_at": 3.5}


def test_whole_numbers_with_a_constant_step_count_records() -> None:
    columns: dict[str, list[Any]] = {"n": [5, 10, 15, 20, 25], "ratio": [0.1, 0.2, 0.3, 0.4, 0.5], "same": [1] * 5}
    scores = evaluate_results(log(**columns))
    assert scores.measures == ("ratio", "same")
    assert "the log has 1 more number, which can be selected with -m NAME (measures= in Python): n" in notes(scores)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1, 2, 3, 4, 5], "The log has 1 number, which can be selected with -m NAME"),
        ([1, math.inf, 3], "The field latency is not a number in all records and is not shown"),
    ],
)
def test_an_error_about_missing_fields_says_which_numbers_are_there_but_not_used(values: Any, reason: str) -> None:
    with pytest.raises(KaratError, match="no field") as caught:
        evaluate_results(log(latency=values))
    assert reason in str(caught.value)


def test_a_text_with_an_underscore_is_not_a_number() -> None:
    assert evaluate_results(log(latency=[3, 4], month=["2024_01", "2024_02"])).measures == ("latency",)
    with pytest.raises(KaratError, match="'1_000' is not a number"):
        evaluate_results(log(latency=["1_000", "2"]), "latency")


def test_numbers_with_signs_are_an_error_that_says_how_numbers_are_written() -> None:
    for text in ("1,234", "50%", "$3"):
        with pytest.raises(KaratError, match=r"is not a number.*numbers are written as 1234\.5"):
            evaluate_results(log(latency=[text, "2"]), "latency")


def test_at_most_six_are_shown_and_a_note_names_the_others() -> None:
    scores = evaluate_results(log(**{f"m{at}": [at, 5.5] for at in range(300)}))
    assert scores.measures == ("m0", "m1", "m2", "m3", "m4", "m5")
    assert "the log has 294 more numbers, which can be selected with -m NAME (measures= in Python): m6, m7" in notes(
        scores
    )
    assert "and 274 others" in notes(scores)
    assert evaluate_results(log(**{f"m{at}": [at, 5.5] for at in range(300)}), "m299").measures == ("m299",)


def test_texts_are_numbers_where_the_whole_column_is() -> None:
    table = io.StringIO(
        "question,answer,latency,comment,cost\nHow?,So.,12,7 of 9,0.5\nWhy?,No.,,good,\nWho?,I.,14,,N/A\n"
    )
    scores = evaluate_results(table)
    assert scores.means == {"latency": 13.0, "cost": 0.5}
    assert scores.per_query["Why?"] == {"latency": None, "cost": None}


@pytest.mark.parametrize("values", [[True, False], ["true", "False"], [np.True_, np.False_]])
def test_true_and_false_are_numbers_only_if_they_are_asked_for(values: list[Any]) -> None:
    assert evaluate_results(log(latency=[1, 2], ok=values)).measures == ("latency",)
    assert evaluate_results(log(latency=[1, 2], ok=values), "ok").means == {"ok": 0.5}


@pytest.mark.parametrize("null", [None, math.nan, "NaN", "", float("nan"), Decimal("sNaN")])
def test_a_query_with_null_has_no_value_and_is_counted(null: Any) -> None:
    scores = evaluate_results(log(latency=[null, 4]), "latency")
    assert scores.queries == ("q1", "q2")
    assert scores.nulls("latency") == 1
    assert scores["latency"] == 4
    assert "1 query without a value for latency (left out): q1" in str(scores)


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(3), Decimal("0.25"), 10**15])
def test_numbers_of_all_types_are_read(value: Any) -> None:
    assert evaluate_results(log(cost=[value, value]))["cost"] == float(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("fast", "'fast' is not a number"),
        (math.inf, "inf is not a finite number"),
        (10**400, "is not a finite number"),
        (1e301, "1e+301 is too large to be a score"),
        ([1], "[1] is not a number"),
        ({"ms": 1}, "is not a number"),
    ],
)
def test_a_field_that_is_a_number_in_some_records_only_is_a_note_and_an_error_if_it_is_asked_for(
    value: Any, problem: str
) -> None:
    records = log(latency=[1, value, 3], cost=[1, 2, 4])
    scores = evaluate_results(records)
    assert scores.measures == ("cost",)
    assert "latency is not a number in all records and is not shown: the results[1], latency: " in notes(scores)
    assert problem in notes(scores)
    with pytest.raises(KaratError) as caught:
        evaluate_results(records, "latency")
    assert str(caught.value.place) == "the results[1], latency"
    assert problem in str(caught.value)
    assert evaluate_results(records, "cost").means == {"cost": 7 / 3}


def test_a_field_that_is_null_everywhere_is_an_error_if_it_is_asked_for() -> None:
    with pytest.raises(KaratError, match="'cost' has no value in any record"):
        evaluate_results(log(cost=[None, None]), "cost")


def test_an_unknown_name_is_an_error_that_names_the_numbers() -> None:
    with pytest.raises(KaratError) as caught:
        evaluate_results(GOLD, "latnecy")
    assert str(caught.value) == (
        "unknown measure 'latnecy'. `karat measures` lists all measures. Did you mean latency?"
        " Numbers in the results: latency."
    )
    with pytest.raises(KaratError, match="unknown measure"):
        evaluate_results(GOLD, "usage.tokens")


@pytest.mark.parametrize("name", ["latency (ms)", "a=b", "größe", "a.b", "a, b", "RR@", "[x]", "x" * 3000])
def test_a_name_may_contain_anything(name: str) -> None:
    records = log(**{name: [1, 2]})
    assert evaluate_results(records)[name] == 1.5
    assert evaluate_results(records, [name]).means == {name: 1.5}
    assert evaluate_results(records, name, lower_is_better=[name]).higher_is_better(name) is False


@pytest.mark.parametrize("name", ["run", "system"])
def test_a_number_with_the_name_of_a_column_of_tables_gets_another_name(name: str, tmp_path: Path) -> None:
    scores = evaluate_results(log(**{name: [1, 2]}), name)
    assert scores.means == {f"{name} (log)": 1.5}
    assert scores[name] == 1.5
    scores.save(tmp_path / "scores.json")
    assert Scores.load(tmp_path / "scores.json")[name] == 1.5


def test_the_query_and_documents_are_not_numbers() -> None:
    records = [{"query": 7, "truth": ["a"], "retrieved": ["a"], "cost": 2}]
    assert evaluate_results(records).measures[-1] == "cost"
    assert "query" not in evaluate_results(records).measures
    others = [{"qid": "q1", "truth": ["a"], "docs": ["a"], "retrieved": 1, "cost": 2}]
    fields = {"retrieved": "docs", "query": "qid"}
    assert evaluate_results(others, ["RR", "retrieved"], fields=fields).means == {"RR": 1.0, "retrieved": 1.0}


def test_a_registered_measure_counts_if_it_can_be_computed_and_a_note_says_which_one_it_was() -> None:
    records = log(faithfulness=[0.25, 0.75])
    without = evaluate_results(records, "faithfulness")
    assert without.means == {"faithfulness": 0.5}
    assert "faithfulness is the number in the log; karat's Faithfulness needs labels" in notes(without)
    labels = evaluate_results(records, "faithfulness", verdicts=CLAIMS)
    assert labels.means == {"Faithfulness": 0.5}
    assert labels.column("faithfulness").tolist() == [1, 0]
    assert "faithfulness is karat's Faithfulness; the number in the log is faithfulness (log)" in notes(labels)


def test_labels_of_another_task_do_not_suffice_for_a_registered_measure() -> None:
    other = [{"query": "q1", "type": "answer", "task": "answer_relevance", "item": "answer", "label": "fully"}]
    records = log(faithfulness=[0.25, 0.75])
    scores = evaluate_results(records, ["AnswerRelevance", "faithfulness"], verdicts=other)
    assert scores["faithfulness"] == 0.5
    assert scores.measures == ("AnswerRelevance", "faithfulness")


def test_both_are_shown_under_names_that_cannot_be_confused() -> None:
    records = log(faithfulness=[0.25, 0.5])
    for measures in (None, ["faithfulness", "faithfulness (log)"]):
        scores = evaluate_results(records, measures, verdicts=CLAIMS)
        assert scores.measures == ("Faithfulness", "faithfulness (log)")
        assert scores["faithfulness"] == 0.5
        assert scores["faithfulness (log)"] == 0.375


def test_a_number_with_the_canonical_name_of_a_measure_never_has_its_column() -> None:
    scores = evaluate_results(log(Faithfulness=[0.25, 0.75]))
    assert scores.measures == ("Faithfulness (log)",)
    assert scores["Faithfulness"] == 0.5
    assert evaluate_results(log(RR=[1, 2]), "RR").means == {"RR (log)": 1.5}


def test_a_measure_of_documents_is_the_number_of_the_log_only_without_gold() -> None:
    assert evaluate_results(log(recall=[0.5, 0.25]), "recall").means == {"recall": 0.375}
    scores = evaluate_results([{**record, "recall": 0.5} for record in GOLD], "recall")
    assert scores.means == {"R": 1.0}
    with pytest.raises(KaratError, match="no field"):
        evaluate_results(log(recall=[0.5, 0.25]), ["recall", "RR"])


def test_a_measure_that_needs_labels_is_refused_if_the_log_has_no_number_of_its_name() -> None:
    with pytest.raises(KaratError, match="Faithfulness is computed from labels of answers, and there are none"):
        evaluate_results(log(faithfulness=[1, 0]), "Faithfulness")


def test_lower_is_better_is_kept_when_scores_are_saved(tmp_path: Path) -> None:
    scores = evaluate_results(GOLD, lower_is_better=["latency"])
    assert not scores.higher_is_better("latency")
    scores.save(tmp_path / "scores.json")
    saved = Scores.load(tmp_path / "scores.json")
    assert not saved.higher_is_better("latency")
    assert saved.means == scores.means
    assert saved.fingerprint is not None
    for names, problem in ((["latnecy"], "is not a measure of the scores"), (["RR"], "higher values of this measure")):
        with pytest.raises(KaratError, match=problem):
            evaluate_results(GOLD, lower_is_better=names)


def test_numbers_can_be_compared_gated_and_asserted() -> None:
    slow, fast = evaluate_results(GOLD, "latency"), evaluate_results([{**r, "latency": 9} for r in GOLD], "latency")
    comparison = karat.compare({"slow": slow, "fast": fast}, lower_is_better=["latency"])
    assert "latency" in str(comparison)
    assert assert_scores(fast, max={"latency": 10}).passed
    with pytest.raises(AssertionError):
        assert_scores(slow, max={"latency": 10})
    assert karat.gate(fast, max_drop={"latency": 0}, baseline=slow, lower_is_better=["latency"]).passed


def test_a_query_without_gold_keeps_its_numbers() -> None:
    scores = evaluate_results([*GOLD, {"query": "q3", "retrieved": ["d1"], "latency": 100}])
    assert scores["latency"] == 520
    assert scores.value_of("q3", "RR") is None
    assert scores["RR"] == 0.75
    assert scores.bounds("RR").queries == ("q1", "q2")


def test_bounds_are_those_of_documents_and_labels() -> None:
    scores = evaluate_results(log(faithfulness=[0.25, 0.75], latency=[1, 2]))
    with pytest.raises(KaratError, match="faithfulness is a number of the log, and has no bounds"):
        scores.bounds("faithfulness")
    with pytest.raises(KaratError, match="latency"):
        scores.bounds("latency")


def test_saved_scores_with_texts_are_read_by_the_same_rule(tmp_path: Path) -> None:
    file = tmp_path / "ragas.csv"
    file.write_text(
        "user_input,retrieved_contexts,response,faithfulness\n"
        "How soft?,\"['Gold is soft.']\",Soft.,0.5\nRust?,['Iron rusts.'],No.,\n"
    )
    saved, read = Scores.load(file), evaluate_results(str(file))
    assert saved.means == read.means == {"faithfulness": 0.5}
    assert "columns without numbers are ignored: retrieved_contexts, response" in notes(saved)


@pytest.mark.parametrize(
    ("places", "record", "scores"),
    [
        ({"inside": ("metricsData",)}, {"metricsData": [{"name": "Bias", "score": 0.5}]}, {"Bias": 0.5}),
        ({"inside": ("namedScores",)}, {"namedScores": {"tone": 1, "x": None}}, {"tone": 1, "x": None}),
        (
            {"inside": ("s",), "value": ("value",), "words": {"C": 1}},
            {"s": {"includes": {"value": "C"}}},
            {"includes": 1},
        ),
        ({"inside": ("f",), "value": ("avg",)}, {"f": {"helpful": {"n": 2, "avg": 0.5}}}, {"helpful": 0.5}),
        ({"numbers": {"tokens": "usage.total"}}, {"usage": {"total": 9}}, {"tokens": 9}),
        ({"inside": ("a", "b")}, {"a": "text", "b": [1, {"score": 2}, {"name": 3, "score": 1}]}, {}),
    ],
)
def test_a_shape_says_where_scores_are(places: dict[str, Any], record: dict[str, Any], scores: dict[str, Any]) -> None:
    assert ScorePlaces(**places).values(record) == scores


def test_the_scores_of_tools_are_measures() -> None:
    case = {"input": "How?", "actualOutput": "So.", "metricsData": [{"name": "Answer Relevancy", "score": 0.75}]}
    assert evaluate_results([{"testCases": [case]}]).means == {"Answer Relevancy": 0.75}
    trace = {
        "info": {
            "trace_id": "t1", "execution_duration_ms": 4,
            "assessments": [{"assessment_name": "grounded", "feedback": {"value": "yes"}}],
        },
        "data": {
            "spans": [
                {
                    "span_id": "a", "parent_span_id": None,
                    "attributes": {"mlflow.spanInputs": '{"question": "How?"}', "mlflow.spanOutputs": '"So."'},
                }
            ]
        },
    }  # fmt: skip
    assert evaluate_results([trace]).means == {"grounded": 1.0, "execution_duration_ms": 4.0}
    run = {
        "id": "r1", "trace_id": "t1", "run_type": "chain", "parent_run_id": None, "inputs": {"question": "How?"},
        "outputs": {"answer": "So."}, "feedback_stats": {"helpful": {"n": 1, "avg": 0.5}}, "total_tokens": 12,
    }  # fmt: skip
    assert evaluate_results([run]).means == {"helpful": 0.5, "total_tokens": 12.0}


def test_two_numbers_never_share_a_column() -> None:
    scores = evaluate_results(log(**{"RR": [1, 2], "RR (log)": [3, 4]}))
    assert scores.means == {"RR (log)": 1.5, "RR (log) (log)": 3.5}


def test_numbers_of_frames_and_parquet_files_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["a", "b"], "answer": ["x", "y"], "cost": [1.5, None], "n": [3, 5]})
    frame.to_parquet(tmp_path / "log.parquet")
    for source in (frame, tmp_path / "log.parquet"):
        scores = evaluate_results(source)
        assert scores.means == {"cost": 1.5, "n": 4.0}
        assert scores.nulls("cost") == 1


def test_a_small_cost_is_not_shown_as_0() -> None:
    records = [{"query": f"q{at}", "answer": "soft", "cost": 0.00003} for at in range(3)]
    assert "3e-05" in str(evaluate_results(records, "cost"))
