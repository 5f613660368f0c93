"""Bounds over unjudged documents, checked against all gradings; and the cases without bounds."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import karat.analysis.bounds
import karat.analysis.gradings
from karat import KaratError, Scores, evaluate, evaluate_answers, evaluate_results, register
from karat.analysis.bounds import bounds
from karat.data.judged import Floats, Judged
from karat.measures import Measure, definitions, parse

MEASURES = """
    P@1 P@3 P(rel=2)@5 P@20 Rprec Rprec(rel=2) relative_P@2 relative_P(rel=2)@4 relative_P@20
    IPrec@0 IPrec@0.3 IPrec@0.5 IPrec@1 IPrec(rel=2)@0.4
    R R@1 R@3 R(rel=2)@4 R(rel=3) Success Success@2 Success(rel=3)@4 RecallAll RecallAll@3 RecallAll(rel=2)@5
    F F@2 F(beta=2)@4 F(beta=0.5,rel=2) F@20
    AP AP@1 AP@4 AP(rel=2) AP(rel=2)@3 AP(norm=min)@3 AP(norm=min) AP(norm=found) AP(norm=found)@3
    AP(norm=found,credit=rank) AP(norm=found,credit=rank)@4 GMAP GMAP@3 GMAP(rel=2)
    DCG DCG@3 DCG(gain=exp) DCG(discount=jk)@4 DCG(credit=rank) DCG(rel=2)@5 DCG(rel=-1)
    nDCG nDCG@1 nDCG@3 nDCG@20 nDCG(gain=exp)@4 nDCG(discount=jk) nDCG(discount=jk)@5 nDCG(rel=2)@4 nDCG(rel=-1)
    nDCG(ideal=retrieved) nDCG(ideal=retrieved)@3 nDCG(ideal=retrieved,credit=rank)@4 nDCG(gain=exp,ideal=retrieved)
    RR RR@2 RR(rel=2) ERR ERR@3 ERR(max_grade=5) RBP RBP@3 RBP(p=0.5)@4 RBP(rel=1) RBP(rel=2)@5
    SetP SetP(rel=2) SetP@3 SetP(relative=true)@3 SetR SetR(rel=2) SetR@3 SetF SetF(beta=2) SetF(rel=2)
    SetAP SetAP(rel=2) Hits Hits@3 Hits(rel=2) NumRelRet NumRelRet@4 NumRet NumRet(rel=2) NumRel NumRel(rel=2) NumQ
""".split()
WITH_BEST_GRADES = [
    f"{name}{cutoff}"
    for name in (
        *(f"nDCG(gain={gain},discount={discount},ideal={ideal})"
          for gain in ("linear", "exp") for discount in ("log2", "jk") for ideal in ("truth", "retrieved")),
        "nDCG(ideal=retrieved,credit=rank)", "nDCG(rel=2)", "RBP", "RBP(p=0.5)",
    )
    for cutoff in ("", "@1", "@2", "@3", "@5")
]  # fmt: skip
SEARCHED = """
    Rprec IPrec@0.2 IPrec(rel=2)@0.5 IPrec@1 relative_P@9 R@9 RecallAll@9 F@9 RBP RBP@9
    AP AP(rel=2)@20 AP(norm=min)@20 AP(norm=found) nDCG nDCG(gain=exp)@20 nDCG(discount=jk) nDCG(ideal=retrieved)@20
""".split()
DECLINING = "Bpref infAP RBPResidual Judged Judged@3 Unjudged@3 SpanRecall SpanIoU@2 EM TokenF1 SAS".split()

Grades = dict[str, float]
Case = tuple[Grades, list[str], list[str]]
"""The truth of a query, the documents retrieved for it, and the unjudged ones among them."""


def all_gradings(case: Case, grades: set[float]) -> list[Grades]:
    """The definition: each unjudged document has any of the grades."""
    truth, _, unjudged = case
    choices = product(sorted(grades), repeat=len(unjudged))
    return [{**truth, **dict(zip(unjudged, choice, strict=True))} for choice in choices]


def assert_exact(cases: list[Case], max_grade: float | None, measures: list[str], **options: Any) -> None:
    scores = evaluate(
        {f"q{at}": truth for at, (truth, _, _) in enumerate(cases)},
        {f"q{at}": run for at, (_, run, _) in enumerate(cases)},
        measures,
        **options,
    )
    existing = {grade for truth, _, _ in cases for grade in truth.values() if grade > 0}
    highest = max_grade or max(existing, default=1.0)
    # Grades of less than 1 are divided by 1 in RBP, so that 1 may be the best grade even if no document has it. No
    # other grade that no document has is better.
    grades = {0.0, min(1.0, highest), 0.7 * highest, highest, *existing}
    gradings = [all_gradings(case, grades) for case in cases]
    truths = {f"q{at}, {number}": truth for at, each in enumerate(gradings) for number, truth in enumerate(each)}
    runs = {f"q{at}, {number}": cases[at][1] for at, each in enumerate(gradings) for number in range(len(each))}
    graded = evaluate(truths, runs, measures, **options)
    starts = np.cumsum([0, *map(len, gradings[:-1])])
    for name in scores:
        found, column = bounds(scores, name, max_grade), graded.column(name)
        assert found.low == pytest.approx(np.minimum.reduceat(column, starts), abs=1e-12), name
        assert found.high == pytest.approx(np.maximum.reduceat(column, starts), abs=1e-12), name
        assert (found.low <= found.value).all()
        assert (found.value <= found.high).all()
        assert found.value.tolist() == scores.column(name).tolist()
        assert found.unknown.tolist() == [len(unjudged) for _, _, unjudged in cases]
        complete = found.unknown == 0
        assert found.low[complete].tolist() == found.value[complete].tolist() == found.high[complete].tolist()


@st.composite
def some_cases(draw: st.DrawFn, unjudged: int) -> list[Case]:
    """Queries whose documents have grades of one scale, of 2 to 4 grades."""
    scale = draw(st.sampled_from([(0, 1, 2, 3), (0, 1, 2), (0, 1, 3), (1, 2, 4), (0, 1), (0, 0.5, 2.5), (0, 0.3, 0.5)]))
    return draw(st.lists(one_case(scale, unjudged), min_size=1, max_size=5))


@st.composite
def one_case(draw: st.DrawFn, scale: tuple[float, ...], most: int) -> Case:
    """A truth, a run that repeats judged documents only, and the unjudged documents in it."""
    kinds = draw(st.lists(st.sampled_from([None, None, -1, *scale]), max_size=8))
    run: list[str] = []
    truth: Grades = {}
    unjudged: list[str] = []
    for at, kind in enumerate(kinds):
        if (kind is not None and kind >= 0) or len(unjudged) < most:
            run.append(f"d{at}")
            if kind is not None:
                truth[f"d{at}"] = kind
            if kind is None or kind < 0:
                unjudged.append(f"d{at}")
    judged = [doc for doc in run if doc not in unjudged]
    if judged and len(run) < 8 and draw(st.booleans()):
        run.insert(draw(st.integers(0, len(run))), draw(st.sampled_from(judged)))
    for at, grade in enumerate(draw(st.lists(st.sampled_from([-1, *scale]), max_size=4))):
        truth[f"u{at}"] = grade
    return truth, run, unjudged


@settings(max_examples=15)
@given(some_cases(unjudged=3), st.sampled_from([None, None, 4]))
def test_bounds_are_the_lowest_and_highest_values_of_all_gradings(cases: list[Case], max_grade: float | None) -> None:
    assert_exact(cases, max_grade, MEASURES)


@settings(max_examples=10)
@given(some_cases(unjudged=4))
def test_bounds_of_every_variant_with_a_best_grade_are_those_of_all_gradings(cases: list[Case]) -> None:
    assert_exact(cases, None, WITH_BEST_GRADES)


def test_a_grade_between_the_lowest_and_the_highest_may_be_the_best() -> None:
    scores = evaluate({"q": {"c": 2, "b": 1, "a": 1}}, {"q": ["c", "d", "b", "e"]}, "nDCG")
    best = evaluate({"q": {"c": 2, "b": 1, "a": 1, "d": 2, "e": 1}}, {"q": ["c", "d", "b", "e"]}, "nDCG")
    assert bounds(scores, "nDCG").high.tolist() == [best["nDCG"]]
    assert best["nDCG"] == pytest.approx(0.9155, abs=5e-5)


def test_a_grade_that_another_query_has_may_be_too_high_to_be_the_best() -> None:
    scores = evaluate({"q": {"a": 1}, "r": {"b": 3}}, {"q": ["a", "x"], "r": ["b"]}, "RBP(p=0.5)")
    assert bounds(scores, "RBP(p=0.5)").per_query["q"] == pytest.approx((0.5 / 3 + 0.25, 0.75))


@st.composite
def one_case_of_chunks(draw: st.DrawFn) -> Case:
    chunks = st.sampled_from(["gold", "soft", "iron", "gold is", "zinc", "lead", "tin", "copper"])
    golds = st.sampled_from(["gold is soft", "soft gold", "iron rusts, gold is", "silver"])
    run = draw(st.lists(chunks, max_size=5))
    truth = draw(st.dictionaries(golds, st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=4))
    unjudged = list(dict.fromkeys(chunk for chunk in run if not any(chunk in gold for gold in truth)))
    once = [chunk for at, chunk in enumerate(run) if chunk not in unjudged or chunk not in run[:at]]
    # "gold" would also be a chunk of "gold is" if that was judged.
    assume(not {"gold", "gold is"} <= {*once} or "gold is" not in unjudged)
    return truth, once, unjudged


@settings(max_examples=10)
@given(st.lists(one_case_of_chunks(), min_size=1, max_size=5))
def test_bounds_are_exact_for_chunks_that_match_several_golds(cases: list[Case]) -> None:
    assert_exact(cases, None, MEASURES, match="chunk(field=id)")


@st.composite
def one_long_case(draw: st.DrawFn) -> Case:
    """A run of stretches of judged and unjudged documents."""
    stretches = st.tuples(st.sampled_from([None, None, -1, 0, 1, 2, 2.5]), st.integers(1, 15))
    run: list[str] = []
    truth: Grades = {}
    for kind, length in draw(st.lists(stretches, min_size=1, max_size=8)):
        for _ in range(length):
            run.append(f"d{len(run)}")
            if kind is not None:
                truth[run[-1]] = kind
    truth |= {f"u{at}": grade for at, grade in enumerate(draw(st.lists(st.sampled_from([0, 1, 2.5]), max_size=9)))}
    return truth, run, []


@settings(max_examples=5)
@given(st.lists(one_long_case(), min_size=12, max_size=16))
def test_bounds_are_those_of_all_topmost_and_all_lowest_documents(cases: list[Case]) -> None:
    scores = scores_of(cases)
    for measure in map(parse, SEARCHED):
        found, exhaustive = bounds(scores, measure), bounds(scores, exhaustively(measure))
        assert found.exact.all()
        assert found.low == pytest.approx(exhaustive.low, rel=1e-11), measure
        assert found.high == pytest.approx(exhaustive.high, rel=1e-11), measure


def scores_of(cases: list[Case]) -> Scores:
    truth = {f"q{at}": truth for at, (truth, _, _) in enumerate(cases)}
    return evaluate(truth, {f"q{at}": run for at, (_, run, _) in enumerate(cases)}, "NumQ")


def exhaustively(measure: Measure) -> Measure:
    """The measure whose values are computed for all numbers of topmost and of lowest documents."""
    definition = replace(measure.definition, unjudged=lambda _: "normalized", normalizer=None)
    return replace(measure, definition=definition)


@settings(max_examples=10)
@given(st.lists(one_long_case(), min_size=4, max_size=8), st.sampled_from([1, 5, 20]), st.sampled_from([2, 4, 9]))
def test_bounds_of_too_many_documents_contain_the_exact_ones(cases: list[Case], most: int, gradings: int) -> None:
    scores = scores_of(cases)
    for measure in map(parse, [*SEARCHED, "nDCG@5", "AP@7"]):
        exact = bounds(scores, measure)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(karat.analysis.gradings, "MOST_DOCUMENTS", most)
            patch.setattr(karat.analysis.gradings, "_MOST_GRADINGS", gradings)
            patch.setattr(karat.analysis.gradings, "MOST_COMBINATIONS", 8 * most)
            found = bounds(scores, measure)
        assert (found.low <= exact.low * (1 + 1e-12)).all(), measure
        assert (found.high * (1 + 1e-12) >= exact.high).all(), measure
        lowest, highest = measure.definition.bounds
        assert (found.low >= lowest).all()
        assert (found.high <= highest).all()
        assert found.low[found.exact] == pytest.approx(exact.low[found.exact], rel=1e-11), measure
        assert found.high[found.exact] == pytest.approx(exact.high[found.exact], rel=1e-11), measure
        assert found.exact[exact.unknown <= 1].all()


@pytest.mark.parametrize("name", ["nDCG", "nDCG@30", "nDCG(ideal=retrieved)", "nDCG(discount=jk,rel=2)"])
@pytest.mark.parametrize("scale", [1.0, 1e305])
def test_bounds_are_exact_if_every_judged_document_has_another_grade(name: str, scale: float) -> None:
    truth = {"q": {f"d{at}": scale * (at * 37 % 101) / 40 for at in range(0, 200, 2)}, "r": {"d5": scale, "u": scale}}
    scores = evaluate(truth, {query: [f"d{at}" for at in range(120)] for query in truth}, "NumQ")
    found, exhaustive = bounds(scores, name), bounds(scores, exhaustively(parse(name)))
    assert found.exact.all()
    assert found.low == pytest.approx(exhaustive.low)
    assert found.high == pytest.approx(exhaustive.high)


def highest_ndcg(truth: Grades, run: list[str], top: float, gain: str, discount: str, k: int) -> float:
    """Dinkelbach's method as in the literature, with all numbers of documents tried in each level of gain."""
    weight = [1 / (math.log2(i + 1) if discount == "log2" else max(1.0, math.log2(i))) for i in range(1, k + 1)]
    gains = {doc: 2**grade - 1 if gain == "exp" else grade for doc, grade in truth.items() if grade > 0}
    found = sum(gains.get(doc, 0.0) * each for doc, each in zip(run, weight, strict=False))
    unjudged = [each for doc, each in zip(run, weight, strict=False) if truth.get(doc, -1) < 0]
    levels = sorted({0.0, *gains.values(), 2**top - 1 if gain == "exp" else top})
    value, best = -1.0, 0.0
    while best > value + 1e-12:
        value, numerator, denominator = best, found, 0.0
        for lower, level in pairwise(levels):
            judged = sum(each >= level for each in gains.values())
            leads = [sum(unjudged[:m]) - value * sum(weight[: m + judged]) for m in range(len(unjudged) + 1)]
            m = max(range(len(leads)), key=leads.__getitem__)
            numerator += (level - lower) * sum(unjudged[:m])
            denominator += (level - lower) * sum(weight[: m + judged])
        best = max(value, numerator / denominator if denominator else 0.0)
    return best


@settings(max_examples=5)
@given(st.lists(one_long_case(), min_size=6, max_size=8))
@pytest.mark.parametrize("k", [20, 200])
@pytest.mark.parametrize(("gain", "discount"), [("linear", "log2"), ("exp", "log2"), ("linear", "jk"), ("exp", "jk")])
def test_highest_ndcg_of_long_runs_is_that_of_a_plain_search(
    gain: str, discount: str, k: int, cases: list[Case]
) -> None:
    truth = {f"q{at}": truth for at, (truth, _, _) in enumerate(cases)}
    scores = evaluate(truth, {f"q{at}": run for at, (_, run, _) in enumerate(cases)}, "NumQ")
    found = bounds(scores, f"nDCG(gain={gain},discount={discount})@{k}", 3)
    expected = [highest_ndcg(truth, run, 3, gain, discount, k) for truth, run, _ in cases]
    assert found.high.tolist() == pytest.approx(expected, abs=1e-9)


def test_unjudged_documents_that_cannot_reach_the_threshold_change_nothing() -> None:
    scores = evaluate({"q": {"a": 1, "b": 0}}, {"q": ["x", "a", "y", "b"]}, "NumQ")
    for name in ("AP(rel=2)", "nDCG(rel=2)", "Rprec(rel=2)", "IPrec(rel=2)@0.5", "R(rel=2)@2"):
        assert bounds(scores, name).per_query == {"q": (0.0, 0.0)}


@pytest.mark.parametrize("name", ["nDCG(gain=exp)", "DCG(gain=exp)@5", "nDCG(gain=exp)@5", "nDCG(ideal=retrieved)"])
def test_grades_that_are_too_large_together_are_an_error(name: str) -> None:
    grade = 1023 if "exp" in name else 1.7e308
    run = {"q": [f"d{at}" for at in range(30)]}
    evaluate({"q": {"d0": grade}}, run, name)
    with pytest.raises(KaratError, match=re.escape(f"the largest grade, {grade:g}, is too large")):
        bounds(evaluate({"q": {"d0": grade}}, run, name), name)


@pytest.mark.parametrize("measure", ["AP", "RR"])
def test_progress_counts_the_queries(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []

    @contextmanager
    def recorded(unit: str) -> Iterator[Callable[[int, int], None]]:
        assert unit == "queries"
        yield lambda done, total: calls.append((done, total))

    scores = evaluate(
        {f"q{at}": {"a": 1} for at in range(9)}, {f"q{at}": ["x", "a"][at % 2 :] for at in range(9)}, "RR"
    )
    monkeypatch.setattr(karat.analysis.bounds, "progress_bar", recorded)
    monkeypatch.setattr(karat.analysis.gradings, "_ROWS", 4)
    bounds(scores, measure)
    assert len(calls) > 2
    assert calls == sorted(calls)
    assert calls[-1] == (9, 9)


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_bounds_do_not_depend_on_how_many_gradings_are_computed_at_once(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth: dict[str, Grades] = {f"q{at}": {f"d{at}": 1, "d7": 2, "u": 3} for at in range(6)}
    run = {f"q{at}": [f"d{doc}" for doc in range(2 * at)] for at in range(6)}
    scores = evaluate(truth, run, "AP")
    for name in ("AP", "nDCG@3", "RR", "RBP"):
        at_once = bounds(scores, name).to_dict()
        with monkeypatch.context() as patch:
            patch.setattr(karat.analysis.gradings, "_ROWS", rows)
            assert bounds(scores, name).to_dict() == at_once


@pytest.mark.parametrize("name", ["AP", "AP(norm=found)@500", "nDCG", "nDCG@10", "Rprec", "IPrec@0.5", "R@50", "RBP"])
def test_few_gradings_are_computed_for_a_long_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    truth: Grades = {"d3": 1, "u": 1, **{f"d{at}": at % 3 for at in range(0, 1000, 7)}}
    scores = evaluate({"q": truth}, {"q": [f"d{at}" for at in range(1000)]}, "P@1")
    computed = 0
    compute = Measure.compute

    def counted(self: Measure, data: Any) -> Floats:
        nonlocal computed
        computed += len(data.queries)
        return compute(self, data)

    monkeypatch.setattr(Measure, "compute", counted)
    bounds(scores, name)
    assert computed <= 40


def test_every_measure_with_bounds_is_tested_against_all_gradings() -> None:
    with_bounds = {each.name for each in definitions() if each.unjudged(Measure(each.name, definition=each))}
    assert with_bounds == {parse(name).name for name in MEASURES}


@pytest.mark.parametrize("name", DECLINING)
def test_a_measure_without_bounds_is_an_error_that_lists_the_measures_with_bounds(name: str) -> None:
    with pytest.raises(KaratError, match=r"(has|have) no bounds.* Measures with bounds: P, .*nDCG"):
        bounds(evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, "P@1"), name)


def test_a_registered_measure_has_bounds_only_if_it_declares_the_effect_of_unjudged_documents() -> None:
    def first(judged: Judged) -> Floats:
        return (judged.found(1, 1) > 0).astype(float)

    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "RR")
    with pytest.raises(KaratError, match="Undeclared has no bounds"):
        bounds(scores, register(name="Undeclared")(first))
    assert bounds(scores, register(name="Declared", unjudged=lambda _: "monotone")(first)).mean == (0.0, 1.0)


@pytest.mark.parametrize("effect", ["normalized", "monotone_after_first"])
def test_a_graded_measure_without_its_best_grades_is_as_high_as_it_can_be(effect: Any) -> None:
    def scaled(judged: Judged) -> Floats:
        return judged.by_gold.sum(judged.by_gold.grade / judged.gold_grade.max(initial=1)) / 2

    scores = evaluate({"q": {"a": 1, "b": 3}}, {"q": ["x", "a"]}, "RR")
    found = bounds(scores, register(name="Scaled", graded=True, unjudged=lambda _: effect)(scaled))
    assert found.per_query == {"q": (1 / 6, 1.0)}
    assert not found.exact.any()


def test_outer_bounds_are_marked_in_tables_and_in_json() -> None:
    run = ["x", "a", *(f"d{at}" for at in range(200))]
    found = bounds(evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": run, "r": ["a", "b"]}, "AP"), "AP")
    first, second, combined = str(found).splitlines()[2:5]
    assert "0.0" in first
    assert first.count("~") == combined.count("~") == 2
    assert "~" not in second
    assert str(found).splitlines()[5:] == [
        "~ outer bound: the possible range may be narrower, but not wider",
        "AP if the 202 unjudged documents were graded from 0 to 1",
    ]
    document = found.to_dict()
    assert [row["exact"] for row in document["queries"]] == [False, True]
    assert document["exact"] is False


@pytest.mark.parametrize("unjudged", [128, 129])
def test_beyond_128_documents_the_bounds_of_a_measure_without_a_normalizer_are_its_range(unjudged: int) -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a", *(f"d{at}" for at in range(unjudged - 1))]}, "RR")
    found = bounds(scores, exhaustively(parse("AP")))
    assert found.exact.tolist() == [unjudged == 128]
    assert (found.per_query["q"] == (0.0, 1.0)) is (unjudged > 128)


def test_a_wrong_effect_of_unjudged_documents_is_refused() -> None:
    def first(judged: Judged) -> Floats:
        return (judged.found(1, 1) > 0).astype(float)

    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "RR")
    declare: Any = register
    typo = declare(name="Typo", unjudged=lambda _: "monoton")(first)
    with pytest.raises(KaratError, match=r"Typo: unjudged='monoton' is not one of monotone, .* Did you mean monotone"):
        bounds(scores, typo)
    for option in ("unjudged", "conflict", "normalizer", "best_grades"):
        with pytest.raises(KaratError, match=rf"{option}='monotone' is not a function\. Pass a function"):
            declare(name="Text", **{option: "monotone"})(first)


def test_queries_where_a_measure_is_null_are_left_out_of_the_mean() -> None:
    def known(judged: Judged) -> Floats:
        return np.where(judged.relevant(1) > 0, judged.found(None, 1), np.nan)

    measure = register(name="Known", unjudged=lambda _: "monotone")(known)
    found = bounds(evaluate({"q": {"a": 1}, "r": {"b": 0}}, {"q": ["a", "x"], "r": ["b"]}, "RR"), measure)
    assert found.mean == (1.0, 2.0)
    assert found.to_dict()["queries"][1] == {
        "query": "r",
        "value": None,
        "low": None,
        "high": None,
        "unjudged": 0,
        "exact": True,
    }
    assert str(found).splitlines()[3].split() == ["r", "–", "–", "–", "0"]


@pytest.mark.parametrize("name", ["P(rel=0)@3", "AP(rel=0)", "R(rel=-1)@2", "RBP(rel=0)", "NumRel(rel=0)"])
def test_a_threshold_that_every_judged_document_reaches_has_no_bounds(name: str) -> None:
    with pytest.raises(KaratError, match=r"every judged document reaches this threshold.* Use a rel above 0"):
        bounds(evaluate({"q": {"a": 1}}, {"q": ["a", "x"]}, "RR"), name)


def test_a_relevant_document_that_is_found_late_lowers_average_precision() -> None:
    found = bounds(evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y"]}, "AP"), "AP")
    assert found.per_query["q"] == pytest.approx(((1 + 2 / 3) / 2, 1.0))


def test_documents_below_the_cutoff_lower_recall() -> None:
    found = bounds(evaluate({"q": {"a": 1}}, {"q": ["a", "x", "y", "z"]}, "R@2"), "R@2")
    assert found.per_query == {"q": (1 / 3, 1.0)}
    assert found.unknown.tolist() == [3]


@pytest.mark.parametrize(
    ("name", "mean"), [("GMAP", (0.00001**0.5, 1.0)), ("NumRelRet", (1.0, 2.0)), ("P@1", (0.5, 1.0))]
)
def test_bounds_of_queries_are_combined_as_the_measure_defines(name: str, mean: tuple[float, float]) -> None:
    scores = evaluate({"q": {"a": 1}, "r": {"b": 0}}, {"q": ["a"], "r": ["x"]}, name)
    assert bounds(scores, name).mean == pytest.approx(mean)
    assert bounds(scores, name).to_dict()["value"] == scores[name]


def test_missing_and_empty_queries_have_no_unjudged_documents() -> None:
    truth = {"q": {"a": 1}, "r": {"b": 1}, "s": {"c": 1}}
    run: dict[str, list[str]] = {"s": ["x"], "q": []}
    found = bounds(evaluate(truth, run, "RR"), "RR")
    assert found.per_query == {"q": (0.0, 0.0), "r": (0.0, 0.0), "s": (0.0, 1.0)}
    skipped = bounds(evaluate(truth, run, "RR", missing="skip"), "RR")
    assert skipped.queries == ("q", "s")
    assert skipped.mean == (0.0, 0.5)


def test_a_skipped_query_is_left_out_but_its_grades_count_for_the_highest_grade() -> None:
    scores = evaluate({"q": {"a": 5}, "r": {"b": 1}}, {"r": ["b", "x"]}, "DCG", missing="skip")
    assert bounds(scores, "DCG").max_grade == 5
    assert bounds(scores, "DCG").mean == (1.0, 1 + 5 / np.log2(3))


def test_queries_with_answers_only_are_left_out() -> None:
    records = [
        {"query": "a", "truth": ["1"], "retrieved": ["x", "1"], "gold_answers": ["y"], "answer": "y"},
        {"query": "b", "gold_answers": ["y"], "answer": "n"},
    ]
    scores = evaluate_results(records, ["RR", "EM"])
    assert scores.queries == ("a", "b")
    assert bounds(scores, "RR").per_query == {"a": (0.5, 1.0)}


def test_only_graded_measures_use_the_scores_of_listed_golds() -> None:
    truth = {"q": [{"id": "a", "score": 3}, {"id": "b", "score": 0.5}]}
    scores = evaluate(truth, {"q": ["x", "a", "b"]}, ["R", "DCG"])
    assert (bounds(scores, "R").max_grade, bounds(scores, "DCG").max_grade) == (1, 3)
    assert bounds(scores, "DCG").value[0] == scores["DCG"]
    assert bounds(scores, "R").per_query == {"q": (1.0, 1.0)}


def test_invalid_scores_of_golds_are_an_error_for_graded_measures_only() -> None:
    scores = evaluate({"q": [{"id": "a", "score": 3}, {"id": "b"}]}, {"q": ["x", "a"]}, "RR")
    assert bounds(scores, "RR").mean == (0.5, 1.0)
    with pytest.raises(KaratError, match="1 of 2 gold documents has no score"):
        bounds(scores, "nDCG")


@pytest.mark.parametrize("grade", [0, -1, math.nan, math.inf, True, "3"])
def test_an_invalid_highest_grade_is_an_error(grade: Any) -> None:
    with pytest.raises(KaratError, match="is not the grade of a relevant document"):
        bounds(evaluate({"q": {"a": 1}}, {"q": ["x"]}, "P@1"), "P@1", grade)


def test_a_highest_grade_below_a_grade_in_the_truth_is_an_error() -> None:
    with pytest.raises(
        KaratError, match=r"max_grade=2 is below the largest grade in the ground truth, 3\. Use 3 or more"
    ):
        bounds(evaluate({"q": {"a": 3}}, {"q": ["x"]}, "P@1"), "P@1", 2)


def test_the_highest_grade_may_be_a_numpy_number() -> None:
    four: Any = np.int64(4)
    assert bounds(evaluate({"q": {"a": 1}}, {"q": ["x"]}, "DCG"), "DCG", four).mean == (0.0, 4.0)


def test_the_highest_grade_is_1_for_a_truth_without_relevant_documents() -> None:
    assert bounds(evaluate({"q": {"a": 0, "b": -1}}, {"q": ["b"]}, "P@1"), "P@1").mean == (0.0, 1.0)


def test_a_highest_grade_above_the_scale_of_err_is_an_error() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["x"]}, "ERR")
    with pytest.raises(KaratError, match=r"query q: ERR: grade 5 is above max_grade=4"):
        bounds(scores, "ERR", 5)


REPEATING: list[tuple[Mapping[str, Any], Any, str]] = [
    ({"q": ["x", "a", "x"]}, "id", "x"),
    ({"q": ["pool", "a", "pool"]}, "id", "pool"),
    ({"q": {"X": 3.0, "a": 2.0, "x": 1.0}}, "id(normalize=case)", "x"),
    ({"q": ["pool::1", "a::1", "pool::2"]}, "prefix", "pool"),
    ({"q": {"pool::1": 3.0, "pool::2": 1.0}}, "prefix", "pool"),
    ({"q": ["x", "a", "x"]}, lambda one, other: one == other, "'x'"),
    ({"q": ["a", "x", "a", "x"]}, "chunk(field=id)", "x"),
]


@pytest.mark.parametrize(("run", "match", "document"), REPEATING)
def test_an_unjudged_document_at_several_ranks_is_an_error_that_names_it(
    run: Mapping[str, Any], match: Any, document: str
) -> None:
    scores = evaluate({"p": {"a": 1}, "q": {"a": 1, "pool": -1}}, {"p": ["x"], **run}, "RR", match=match)
    with pytest.raises(KaratError, match=rf"the run, query q: the unjudged document {document} is at several ranks"):
        bounds(scores, "RR")


def test_the_run_is_read_once_to_find_repeats(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("q Q0 x 1 3 t\nq Q0 A 2 2 t\n")
    scores = evaluate({"q": {"a": 1}}, run, "RR", match="id(normalize=case)")
    assert bounds(scores, "RR").per_query == {"q": (0.5, 1.0)}
    run.unlink()
    assert bounds(scores, "P@1").per_query == {"q": (0.0, 1.0)}


def test_chunks_of_a_judged_document_may_also_match_an_unjudged_one() -> None:
    scores = evaluate({"q": {"a": 1, "a::b": -1}}, {"q": ["x", "a::b::1", "a::b::2"]}, "RR", match="prefix")
    assert bounds(scores, "RR").per_query == {"q": (0.5, 1.0)}


def test_grading_a_document_of_the_pool_does_not_add_a_gold() -> None:
    def golds(judged: Judged) -> Floats:
        return np.diff(judged.gold_offsets).astype(float)

    measure = register(name="Golds", unjudged=lambda _: "monotone")(golds)
    assert bounds(evaluate({"q": {"a": 1, "pool": -1}}, {"q": ["pool"]}, "RR"), measure).mean == (2.0, 2.0)


def test_judged_documents_and_documents_without_a_key_may_repeat() -> None:
    without_key: list[dict[str, Any]] = [{"id": "1"}, {"id": "2", "meta": {"source": ""}}]
    gold = {"id": "3", "meta": {"source": "a"}}
    scores = evaluate({"q": ["a"]}, {"q": [*without_key, gold, gold]}, "P@4", match="meta.source(gold=id)")
    found = bounds(scores, "P@4")
    assert found.unknown.tolist() == [2]
    assert found.per_query == {"q": (0.5, 1.0)}


def test_repeats_in_queries_without_truth_and_of_ignored_documents_are_allowed() -> None:
    scores = evaluate(
        {"q": {"a": 1}}, {"other": ["x", "x"], "q": ["q", "a", "q", "y"]}, "AP", ignore_identical_ids=True
    )
    assert bounds(scores, "AP").per_query == {"q": (1.0, 1.0)}
    assert bounds(scores, "AP").unknown.tolist() == [1]


def test_duplicates_in_a_run_file_count_once(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("q Q0 x 1 3 t\nq Q0 a 2 2 t\nq Q0 x 3 1 t\n")
    scores = evaluate({"q": {"a": 1}}, run, "RR", duplicates="first")
    assert bounds(scores, "RR").per_query == {"q": (0.5, 1.0)}
    folded = evaluate({"q": {"a": 1}}, run, "RR", duplicates="first", match="id(normalize=case)")
    assert bounds(folded, "RR").per_query == {"q": (0.5, 1.0)}


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_ties_broken_by_grade_have_no_bounds(ties: Any) -> None:
    with pytest.raises(KaratError, match=rf"bounds are not defined for ties='{ties}'"):
        bounds(evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "x": 1.0}}, "RR", ties=ties), "RR")


def test_scores_without_evidence_have_no_bounds() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["a"]}, "RR")
    for restored in (scores.without_evidence(), pickle.loads(pickle.dumps(scores))):
        with pytest.raises(KaratError, match=r"no run data.*Evaluate again"):
            bounds(restored, "RR")
    with pytest.raises(KaratError, match="these are scores of answers"):
        bounds(evaluate_answers([["y"]], ["y"], "EM"), "RR")


def test_measures_are_found_by_any_spelling_and_need_not_have_been_evaluated() -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "P@1")
    assert bounds(scores, "mrr").measure == "RR"
    assert bounds(scores, parse("nDCG@10")).measure == "nDCG@10"
    with pytest.raises(KaratError, match="Did you mean nDCG"):
        bounds(scores, "nDCQ@10")


def test_bounds_are_printed_with_the_assumed_grades() -> None:
    found = bounds(evaluate({"q": {"a": 2}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["b", "y"]}, "RR"), "RR")
    assert str(found).splitlines() == [
        "query    score   lowest   highest   unjudged",
        "─" * 44,
        "q       0.5000   0.5000    1.0000          1",
        "r       1.0000   1.0000    1.0000          1",
        "all     0.7500   0.7500    1.0000          2",
        "RR if the 2 unjudged documents were graded from 0 to 2",
    ]
    assert repr(found) == "<Bounds of RR over 2 queries: 0.7500 to 1.0000>"
    assert "<td" in found._repr_html_()
    assert found.__rich__().renderables
    assert found.to_dict() == {
        "measure": "RR", "max_grade": 2.0, "value": 0.75, "low": 0.75, "high": 1.0, "unjudged": 2, "exact": True,
        "queries": [
            {"query": "q", "value": 0.5, "low": 0.5, "high": 1.0, "unjudged": 1, "exact": True},
            {"query": "r", "value": 1.0, "low": 1.0, "high": 1.0, "unjudged": 1, "exact": True},
        ],
    }  # fmt: skip


@pytest.mark.parametrize("measure", ["P(judged_only=true)@3", "nDCG(gains={0:1,1:3})", "DCG(gains={1:0})"])
def test_measures_whose_value_may_change_either_way_have_no_bounds(measure: str) -> None:
    scores = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, [measure])
    with pytest.raises(KaratError, match="has no bounds: how unjudged documents affect it is not known"):
        scores.bounds(measure)
