"""EvaluationRunResult: lossless reports, comparisons of aligned rows, Scores, and errors."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat import Document, EvaluationRunResult, KaratError
from karat.dataclasses import ByteStream

INPUTS: dict[str, list[Any]] = {
    "question": ["Capital of France?", "Capital of Peru?", "Capital of Chad?"],
    "contexts": [[Document("Paris is it.")], [], [Document("N'Djamena", meta={"page": 7}), Document("Chad")]],
    "answer": ["Paris", "Cusco", "N'Djamena"],
}
RESULTS: dict[str, dict[str, Any]] = {
    "exact": {"score": 2 / 3, "individual_scores": [1, 0, 1]},
    "faith": {"score": 0.625, "individual_scores": [1.0, None, 0.25], "results": [{"statements": []}] * 3},
}


def result(individual: list[Any] | None = None, *, score: Any = None, name: str = "mine", **inputs: Any) -> Any:
    """A run with one metric `m`, whose score is the mean."""
    individual = [0.5] * len(next(iter(inputs.values()))) if individual is None else individual
    mean = math.fsum(individual) / len(individual) if score is None else score
    return EvaluationRunResult(name, inputs, {"m": {"score": mean, "individual_scores": individual}})


@pytest.fixture
def run() -> EvaluationRunResult:
    return EvaluationRunResult("mine", INPUTS, RESULTS)


def shuffled(inputs: dict[str, list[Any]], order: list[int]) -> dict[str, list[Any]]:
    return {name: [values[at] for at in order] for name, values in inputs.items()}


def compare(one: Any, other: Any, *arguments: Any, **options: Any) -> dict[str, list[Any]]:
    report = one.comparative_detailed_report(other, *arguments, **options)
    assert isinstance(report, dict)
    return report


def read(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


# Reports of one run


def test_the_aggregated_report_has_the_score_of_each_metric(run: EvaluationRunResult) -> None:
    assert run.aggregated_report() == {"metrics": ["exact", "faith"], "score": [2 / 3, 0.625]}


def test_the_detailed_report_has_the_inputs_and_then_the_individual_scores(run: EvaluationRunResult) -> None:
    report = run.detailed_report()
    assert report == {**INPUTS, "exact": [1, 0, 1], "faith": [1.0, None, 0.25]}
    assert list(report) == ["question", "contexts", "answer", "exact", "faith"]


def test_other_fields_of_a_result_are_kept(run: EvaluationRunResult) -> None:
    assert run.results["faith"]["results"] == [{"statements": []}] * 3


def test_data_frames_have_the_columns_of_the_report(run: EvaluationRunResult) -> None:
    frame = run.detailed_report("df")
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["question", "contexts", "answer", "exact", "faith"]
    assert frame["contexts"].tolist() == INPUTS["contexts"]
    assert frame["faith"].isna().tolist() == [False, True, False]
    frame = run.aggregated_report(output_format="df")
    assert isinstance(frame, pd.DataFrame)
    assert frame["score"].tolist() == [2 / 3, 0.625]


def test_without_pandas_a_data_frame_is_a_clear_error(
    run: EvaluationRunResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(KaratError, match=r"pandas is not installed\. pip install pandas"):
        run.detailed_report("df")


def test_pandas_is_loaded_only_for_a_data_frame() -> None:
    code = "import sys; from karat.evaluation import EvaluationRunResult, evaluate; print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"False"


def test_changing_the_given_lists_or_a_report_does_not_change_the_result() -> None:
    inputs: dict[str, list[str]] = {"q": ["a", "b"]}
    individual = [1.0, 0.0]
    outer: dict[str, dict[str, Any]] = {"m": {"score": 0.5, "individual_scores": individual}}
    run = EvaluationRunResult("mine", inputs, outer)
    before = {"q": ["a", "b"], "m": [1.0, 0.0]}
    report = run.detailed_report()
    assert isinstance(report, dict)
    inputs["q"].clear()
    individual.clear()
    for column in report.values():
        column.clear()
    inputs["x"] = []
    outer["n"] = {}
    assert run.detailed_report() == before
    assert run.aggregated_report() == {"metrics": ["m"], "score": [0.5]}


def test_the_inputs_and_results_are_not_modified(run: EvaluationRunResult) -> None:
    documents = [Document("a"), Document("b", id="7")]
    inputs = {"q": ["x", "y"], "docs": [documents, []]}
    run, other = (result([1, 0.5], name=name, **inputs) for name in ("one", "two"))
    compare(run, other)
    run.scores()
    assert inputs == {"q": ["x", "y"], "docs": [documents, []]}
    assert documents == [Document("a"), Document("b", id="7")]
    assert run.inputs["docs"][0] is documents


def test_scores_of_other_number_types_become_python_numbers() -> None:
    cases: list[tuple[list[Any], list[Any]]] = [
        ([True, False], [1, 0]),
        ([np.bool_(True), np.int64(0)], [1, 0]),
        ([np.float64(0.5), 1], [0.5, 1.0]),
        ([Fraction(1, 2), None], [0.5, None]),
    ]
    for given_scores, plain in cases:
        report = result(given_scores, score=0.5, q=["a", "b"]).detailed_report()
        assert report["m"] == plain
        assert list(map(type, report["m"])) == list(map(type, plain))


def test_a_document_in_a_csv_file_is_written_with_its_embedding(tmp_path: Path) -> None:
    documents = [Document("a", embedding=[0.5], blob=ByteStream(b"x"))]
    result = EvaluationRunResult("run", {"doc": documents}, {"m": {"score": 1, "individual_scores": [1]}})
    result.detailed_report("csv", csv_file=tmp_path / "report.csv")
    with (tmp_path / "report.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    blob: dict[str, Any] = {"data": [120], "meta": {}, "mime_type": None}
    assert json.loads(row["doc"]) == {"content": "a", "embedding": [0.5], "blob": blob}


def test_the_repr_shows_control_characters_as_escapes() -> None:
    result = EvaluationRunResult("a\x1b[2J", {"q": [1]}, {"m\x1b[2J\n": {"score": 1, "individual_scores": [1]}})
    assert repr(result) == r"<EvaluationRunResult 'a\x1b[2J' of 1 row: m\x1b[2J\n=1.0000>"


def test_the_repr_shows_name_rows_and_scores(run: EvaluationRunResult) -> None:
    assert repr(run) == "<EvaluationRunResult 'mine' of 3 rows: exact=0.6667, faith=0.6250>"
    assert repr(EvaluationRunResult("x", {"q": [1]}, {})) == "<EvaluationRunResult 'x' of 1 row: no metrics>"
    assert "m=null" in repr(result([None], score=math.nan, q=[1]))


# Invalid results


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({}, "No inputs provided"),
        (None, "None is not a mapping"),
        ([["a"]], "is not a mapping"),
        ({"q": "ab"}, "input 'q' is not a list: 'ab'"),
        ({"q": None}, "not a list: None"),
        ({"q": {"a": 1}}, "not a list"),
        ({1: ["a"]}, "the input name 1 is not a string"),
        (
            {"q": ["a", "b"], "docs": ["c"]},
            "Lengths of the inputs should be the same: 'q' has 2 rows, 'docs' has 1 row",
        ),
    ],
)
def test_inputs_that_are_not_lists_of_the_same_length_are_an_error(inputs: Any, complaint: str) -> None:
    with pytest.raises(KaratError, match=complaint) as caught:
        EvaluationRunResult("mine", inputs, {})
    assert str(caught.value.place) == "run 'mine'"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("given_result", "complaint"),
    [
        (0.5, "0.5 is not a result"),
        (None, "None is not a result"),
        ({"individual_scores": [1, 0]}, "Aggregate score missing"),
        ({"score": 0.5}, "Individual scores missing"),
        (
            {"score": 0.5, "individual_scores": [1]},
            r"Length of individual scores \(1\) should be the same as the inputs \(2 rows\)",
        ),
        (
            {"score": 0.5, "individual_scores": [1, 0, 1]},
            r"Length of individual scores \(3\) should be the same as the inputs \(2 rows\)",
        ),
        ({"score": 0.5, "individual_scores": "10"}, "not a list: '10'"),
        ({"score": 0.5, "individual_scores": None}, "not a list: None"),
        ({"score": 0.5, "individual_scores": [1, "0"]}, r"individual_scores\[1\] is '0'"),
        ({"score": 0.5, "individual_scores": [[1], 0]}, r"individual_scores\[0\] is \[1\]"),
        ({"score": 0.5, "individual_scores": [1, math.inf]}, "not a finite number"),
        ({"score": 0.5, "individual_scores": [1, 10**400]}, "not a finite number"),
        ({"score": "0.5", "individual_scores": [1, 0]}, "the score '0.5'"),
        ({"score": None, "individual_scores": [1, 0]}, "the score None"),
        ({"score": None, "individual_scores": [1, None]}, "the score None"),
        ({"score": math.nan, "individual_scores": [1, 0]}, "the score nan"),
        ({"score": -math.inf, "individual_scores": [1, 0]}, "the score -inf"),
    ],
)
def test_an_invalid_result_is_an_error(given_result: Any, complaint: str) -> None:
    with pytest.raises(KaratError, match=complaint) as caught:
        EvaluationRunResult("mine", {"q": ["a", "b"]}, {"m": given_result})
    assert str(caught.value.place) == "run 'mine', result 'm'"
    assert caught.value.hint


def test_names_that_are_not_strings_and_results_that_are_not_a_mapping_are_errors() -> None:
    individual = {"score": 1, "individual_scores": [1]}
    for name, results, complaint in [
        (7, {}, "run_name=7 is not a string"),
        ("mine", [individual], "is not a mapping"),
        ("mine", {7: individual}, "name of the metric is not a string"),
        ("mine", {"q": individual}, "an input has the same name"),
    ]:
        with pytest.raises(KaratError, match=complaint):
            EvaluationRunResult(name, {"q": ["a"]}, results)  # type: ignore[arg-type]


def test_a_score_may_be_null_if_no_individual_score_is_known() -> None:
    for score in (None, math.nan):
        run = EvaluationRunResult("x", {"q": ["a"]}, {"m": {"score": score, "individual_scores": [None]}})
        assert run.scores().findings == ()
        assert run.scores().means == {"m": None}


def test_a_run_may_have_no_rows_and_no_metrics() -> None:
    run = EvaluationRunResult("x", {"q": []}, {})
    assert run.detailed_report() == {"q": []}
    assert run.aggregated_report() == {"metrics": [], "score": []}
    assert run.scores().queries == ()


# Files


def test_a_report_can_be_read_back_from_its_file(run: EvaluationRunResult, tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    assert run.detailed_report("csv", str(path)) == f"Data successfully written to {path}"
    header, first, second, third = read(path)
    assert header == ["question", "contexts", "answer", "exact", "faith"]
    assert (first[0], first[2:]) == ("Capital of France?", ["Paris", "1", "1.0"])
    assert second == ["Capital of Peru?", "[]", "Cusco", "0", ""]
    assert [Document.from_dict(each) for each in json.loads(third[1])] == INPUTS["contexts"][2]
    assert json.loads(first[1]) == [{"content": "Paris is it."}]
    assert run.aggregated_report("csv", path) == f"Data successfully written to {path}"
    assert read(path) == [["metrics", "score"], ["exact", repr(2 / 3)], ["faith", "0.625"]]


@dataclass
class Foreign:
    content: str
    blob: bytes | None = None


def test_cells_are_unchanged_text_exact_numbers_and_json_for_nested_values(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    cells = {
        'a,"b"\r\n': 'a,"b"\r\n',
        0.1 + 0.2: "0.30000000000000004",
        np.float64(0.1): "0.1",
        None: "",
        True: "True",
        date(2024, 5, 1): "2024-05-01",
    }
    parts = [{"a": (1, np.float32(0.5)), 7: {date(2024, 5, 1)}}, np.array([1, 2]), Foreign("x" * 500), loop]
    path = tmp_path / "report.csv"
    result(q=[*cells, *parts]).detailed_report("csv", path)
    written = [row[0] for row in read(path)[1:]]
    assert written[: len(cells)] == list(cells.values())
    assert json.loads(written[-4]) == {"a": [1, 0.5], "7": "{datetime.date(2024, 5, 1)}"}
    assert written[-3:] == ["[1, 2]", json.dumps({"content": "x" * 500}), "[[...]]"]


def test_a_lone_surrogate_is_written_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    result(q=["a\ud800b"], docs=[[Document("\udfff")]]).detailed_report("csv", path)
    text, documents, _ = read(path)[1]
    assert text == r"a\ud800b"
    assert json.loads(documents) == [{"content": "\udfff"}]


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=8,
    )
)
def test_any_text_and_any_number_survive_a_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float]]
) -> None:
    path = tmp_path_factory.mktemp("reports") / "report.csv"
    texts, numbers = map(list, zip(*rows, strict=True))
    result(numbers, score=0, q=texts).detailed_report("csv", path)
    assert [(text, float(number)) for text, number in read(path)[1:]] == rows


def test_a_write_that_fails_is_an_error_and_leaves_the_old_file(run: EvaluationRunResult, tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "report.csv", tmp_path):
        with pytest.raises(KaratError, match="cannot be written") as caught:
            run.detailed_report("csv", path)
        assert str(caught.value.place) == str(path)
    old = tmp_path / "report.csv"
    old.write_text("old")

    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="no text"):
        result(q=[Unprintable()]).detailed_report("csv", old)
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


def test_csv_needs_a_file_and_the_formats_are_json_csv_and_df(run: EvaluationRunResult) -> None:
    other = result(name="other", **INPUTS)
    reports: list[Any] = [
        run.aggregated_report,
        run.detailed_report,
        lambda **options: run.comparative_detailed_report(other, **options),
    ]
    for report in reports:
        for csv_file in (None, "", 7):
            with pytest.raises(KaratError, match=r"is not a path. Pass csv_file="):
                report(output_format="csv", csv_file=csv_file)
        with pytest.raises(KaratError, match=r"unknown output_format 'CSVs'. Did you mean csv\? Choose"):
            report(output_format="CSVs")
        with pytest.raises(KaratError, match=r"unknown output_format None\. Choose json"):
            report(output_format=None)


# Comparisons


def test_a_comparison_names_scores_by_run_and_shows_shared_inputs_once() -> None:
    one = result([1.0, 0.0], name="one", q=["a", "b"], docs=[["x"], ["y"]])
    two = result([0.5, 0.25], name="two", q=["a", "b"], docs=[["x"], ["y"]])
    report = compare(one, two)
    assert report == {"q": ["a", "b"], "docs": [["x"], ["y"]], "one_m": [1.0, 0.0], "two_m": [0.5, 0.25]}
    assert list(report) == ["q", "docs", "one_m", "two_m"]


def test_keep_columns_are_shown_for_both_runs() -> None:
    one = result([1, 0], name="one", q=["a", "b"], answer=["x", "y"])
    two = result([0, 1], name="two", q=["a", "b"], answer=["z", "y"])
    report = compare(one, two, ["answer"])
    assert report == {
        "q": ["a", "b"],
        "one_answer": ["x", "y"],
        "one_m": [1, 0],
        "two_answer": ["z", "y"],
        "two_m": [0, 1],
    }
    assert list(report) == ["q", "one_answer", "one_m", "two_answer", "two_m"]
    one, two = (result(name=name, q=["a"]) for name in ("one", "two"))
    assert compare(one, two, ["q"]) == {"one_q": ["a"], "one_m": [0.5], "two_q": ["a"], "two_m": [0.5]}


def test_columns_that_are_in_one_run_only_have_the_run_in_their_name() -> None:
    one = result(name="one", q=["a", "b"], lang=["en", "en"])
    two = result(name="two", q=["a", "b"], time=[7, 9])
    report = compare(one, two)
    assert (report["one_lang"], report["two_time"]) == (["en", "en"], [7, 9])
    assert not {"lang", "time", "two_lang", "one_time"} & set(report)


def test_a_comparison_can_be_a_file_or_a_data_frame(tmp_path: Path) -> None:
    one, two = (result([1, 0], name=name, q=["a", "b"]) for name in ("one", "two"))
    path = tmp_path / "both.csv"
    assert one.comparative_detailed_report(two, output_format="csv", csv_file=path).endswith("both.csv")
    assert read(path) == [["q", "one_m", "two_m"], ["a", "1", "1"], ["b", "0", "0"]]
    frame = one.comparative_detailed_report(two, None, "df")
    assert frame.columns.tolist() == ["q", "one_m", "two_m"]


class Unhashable:
    """Equal by its contents, like a pydantic model."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]


def anything() -> dict[str, list[Any]]:
    return {
        "anything": [
            "a", 1, 1.5, math.nan, None, b"a", ["a"], [Document("a", meta={"b": [1]})], [Document("a", score=math.nan)],
            {"a": math.nan, 1: "x"}, {"a", "b"}, np.arange(5000), np.arange(5000) * (np.arange(5000) != 2500),
            Unhashable("a"), Unhashable("b"), Foreign("a"), date(2024, 5, 1), Fraction(1, 3), np.float64(0.25), int,
        ]
    }  # fmt: skip


def test_inputs_of_any_type_are_the_same_if_their_contents_are() -> None:
    size = len(anything()["anything"])
    one, two = (result([*range(size)], name=name, **anything()) for name in ("one", "two"))
    assert list(compare(one, two)) == ["anything", "one_m", "two_m"]
    for at in range(size - 1):
        order = [*range(size)]
        order[at], order[at + 1] = at + 1, at
        with pytest.raises(KaratError, match=f"run 'one', column anything, row {at}: "):
            compare(one, result(name="two", **shuffled(anything(), order)))


@pytest.mark.parametrize(
    ("mine", "theirs", "options", "complaint"),
    [
        ({"q": ["a", "b"]}, {"q": ["b", "a"]}, {}, "run 'one', column q, row 0: 'a' is 'b' in run 'two'. Put the rows"),
        ({"q": ["a", "b"]}, {"q": ["b", "a"]}, {"keep_columns": ["q"]}, "run 'one', column q, row 0: 'a' is 'b'"),
        ({"q": ["a"], "p": [1]}, {"q": ["a"], "p": [2]}, {}, "column p, row 0: 1 is 2 .* list it in keep_columns"),
        ({"q": ["a"]}, {"p": ["a"]}, {}, "run 'one': no input is also one of run 'two'"),
        ({"q": ["a", "b"]}, {"q": ["a"]}, {}, "run 'one': the runs differ in length. Run 'two' has 1 row."),
        ({"q": ["x" * 99]}, {"q": ["b"]}, {}, "'xxx[x]*… is 'b'"),
        ({"q": ["a"]}, {"q": ["a"]}, {"keep_columns": 7}, "keep_columns=7 is not a list of columns"),
        ({"query": ["a"]}, {"query": ["a"]}, {"keep_columns": ["qury"]}, "'qury'.*Did you mean query"),
        ({"q": ["a"]}, {"q": ["a"]}, {"keep_columns": ["m"]}, "keep_columns: unknown input column 'm'"),
        ({"q": ["a"]}, {"q": ["a"]}, {"keep_columns": [["q"]]}, "keep_columns: unknown"),
    ],
)
def test_runs_of_other_rows_or_in_another_order_are_an_error(
    mine: Mapping[str, Any], theirs: Mapping[str, Any], options: Any, complaint: str
) -> None:
    with pytest.raises(KaratError, match=complaint) as caught:
        compare(result(name="one", **mine), result(name="two", **theirs), **options)
    assert caught.value.hint


def test_only_runs_with_different_names_can_be_compared(run: EvaluationRunResult) -> None:
    with pytest.raises(KaratError, match="both runs are named 'mine'"):
        compare(run, EvaluationRunResult("mine", INPUTS, RESULTS))
    for other in (None, {"run_name": "x"}, run.scores()):
        with pytest.raises(TypeError, match="is not an EvaluationRunResult"):
            compare(run, other)


def test_two_columns_with_the_same_name_are_an_error() -> None:
    metric = {"score": 1, "individual_scores": [1]}
    one = EvaluationRunResult("a", {"q": ["x"]}, {"b_c": metric})
    two = EvaluationRunResult("a_b", {"q": ["x"]}, {"c": metric})
    with pytest.raises(KaratError, match="two columns named 'a_b_c'"):
        compare(one, two)
    clash = {"b_m": ["x"]}
    with pytest.raises(KaratError, match="two columns named 'b_m'"):
        compare(result(name="a", **clash), result(name="b", **clash))


# Scores


def test_scores_have_a_column_per_metric_and_null_for_rows_that_could_not_be_judged(run: EvaluationRunResult) -> None:
    scores = run.scores()
    assert (scores.name, scores.measures, scores.findings) == ("mine", ("exact", "faith"), ())
    assert scores.queries == tuple(INPUTS["question"])
    assert scores.nulls("faith") == 1
    assert scores["faith"] == 0.625
    assert scores.per_query["Capital of Peru?"] == {"exact": 0, "faith": None}


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=1))
def test_the_means_of_scores_are_exact(individual: list[float | None]) -> None:
    known = [value for value in individual if value is not None]
    mean = math.fsum(known) / len(known) if known else None
    run = EvaluationRunResult("x", {"q": individual}, {"m": {"score": mean, "individual_scores": individual}})
    assert run.scores().means == {"m": mean}
    assert run.scores().findings == ()


def test_query_ids_are_the_first_column_of_unique_texts_or_else_row_numbers() -> None:
    inputs: dict[str, Any] = {"n": [1, 2], "same": ["x", "x"], "mixed": ["a", 1], "q": ["b", "a"], "later": ["c", "d"]}
    assert result(**inputs).scores().queries == ("b", "a")
    assert result(n=[1, 2], same=["x", "x"]).scores().queries == ("0", "1")


@pytest.mark.parametrize(
    ("score", "individual", "told"),
    [
        (0.9, [1.0, 0.5], "m was given the score 0.9, but its individual scores give 0.75"),
        (0.5, [1.0, None], "score 0.5, but its individual scores give 1.0"),
        (0.0, [None, math.nan], "score 0.0, but it has no individual scores"),
    ],
)
def test_a_score_that_is_not_the_mean_is_a_finding(score: float, individual: list[Any], told: str) -> None:
    run = result(individual, score=score, q=["a", "b"])
    (finding,) = run.scores().findings
    assert (finding.code, finding.count) == ("score-is-not-the-mean", 1)
    assert told in finding.message
    assert run.aggregated_report() == {"metrics": ["m"], "score": [score]}
    assert result([0.1] * 3, score=sum([0.1] * 3) / 3, q=["a", "b", "c"]).scores().findings == ()


def test_the_score_of_a_metric_named_like_a_summed_measure_must_be_the_sum() -> None:
    for score, codes in [(5, []), (2.5, ["score-is-not-the-mean"])]:
        each = {"NumRet": {"score": score, "individual_scores": [2, 3]}}
        scores = EvaluationRunResult("x", {"q": ["a", "b"]}, each).scores()
        assert scores["NumRet"] == 5
        assert [finding.code for finding in scores.findings] == codes
