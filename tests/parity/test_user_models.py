"""RBP agrees with cwl-eval, and ERR with gdeval.pl (through ir-measures)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from karat import evaluate
from tests.parity.peers import err, rbp, rbp_residual

documents = st.sampled_from([f"d{number}" for number in range(15)])
scores = st.dictionaries(documents, st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=15)
grades = st.dictionaries(documents, st.integers(0, 4), min_size=1, max_size=10)


@settings(max_examples=100)
@given(grades=grades, run=scores, p=st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_rbp_agrees_with_cwl_eval_with_grades_divided_by_the_highest(
    grades: dict[str, int], run: dict[str, float], p: float
) -> None:
    largest = max(1, *grades.values())
    gains = {"q": {doc: grade / largest for doc, grade in grades.items()}}
    ours = evaluate({"q": grades}, {"q": run}, [f"RBP(p={p})"])[f"RBP(p={p})"]
    assert ours == pytest.approx(rbp(gains, {"q": run}, p)["q"], abs=1e-9)


@settings(max_examples=50)
@given(grades=grades, run=scores, p=st.sampled_from([0.5, 0.8, 0.95]))
def test_binary_rbp_agrees_with_cwl_eval(grades: dict[str, int], run: dict[str, float], p: float) -> None:
    gains = {"q": {doc: float(grade >= 2) for doc, grade in grades.items()}}
    name = f"RBP(p={p}, rel=2)"
    assert evaluate({"q": grades}, {"q": run}, [name])[name] == pytest.approx(rbp(gains, {"q": run}, p)["q"], abs=1e-9)


@settings(max_examples=50)
@given(grades=grades, run=scores, p=st.sampled_from([0.5, 0.8, 0.95]))
def test_the_residual_agrees_with_cwl_eval_if_any_document_is_unjudged(
    grades: dict[str, int], run: dict[str, float], p: float
) -> None:
    if run.keys() <= grades.keys():
        return  # karat follows trec_eval, which then ignores the ranks below the last one
    largest = max(1, *grades.values())
    gains = {"q": {doc: grade / largest for doc, grade in grades.items()}}
    name = f"RBPResidual(p={p})"
    expected = rbp_residual(gains, {"q": run}, p)["q"]
    assert evaluate({"q": grades}, {"q": run}, [name])[name] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30)
@given(
    truth=st.dictionaries(st.sampled_from(["a", "b", "c"]), grades, min_size=1),
    run=st.dictionaries(st.sampled_from(["a", "b", "c"]), scores, min_size=1),
    k=st.sampled_from([1, 3, 20]),
)
def test_err_agrees_with_gdeval(truth: dict[str, dict[str, int]], run: dict[str, dict[str, float]], k: int) -> None:
    assume(truth.keys() & run.keys())  # karat refuses a run that shares no query with the ground truth
    ours = evaluate(truth, run, [f"ERR@{k}"]).per_query
    for query, value in err(truth, run, k).items():
        assert ours[query][f"ERR@{k}"] == pytest.approx(value, abs=1e-5)
