"""Properties of every measure: a new one is tested as soon as it is registered."""

from __future__ import annotations

import ast
import inspect
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.measures import Measure, definitions, parse
from karat.registry.measure import build_measure
from karat.registry.parameters import REQUIRED
from tests.invariants.collections import QUERIES, judged_of
from tests.reference import Query, reference

# Each measure with its defaults, and with other values of each parameter.
NAMES = """
    P@1 P@3 P(rel=2)@5 P@100
    R R@2 R(rel=2)@3 F F@3 F(beta=2)@3 F(rel=0.5) Success Success@1 Success(rel=2)@4 RecallAll RecallAll@3
    RR RR@2 RR(rel=3) AP AP@3 AP(rel=2) AP(norm=min)@2 AP(norm=found)@4 AP(norm=found,credit=rank)
    AP(norm=found,credit=rank)@3 GMAP GMAP@3
    nDCG nDCG@1 nDCG@3 nDCG(gain=exp)@5 nDCG(discount=jk) nDCG(discount=jk,gain=exp)@4 nDCG(rel=2)
    nDCG(ideal=retrieved)@3 nDCG(ideal=retrieved,credit=rank) nDCG(ideal=retrieved,credit=rank,discount=jk)@2
    nDCG(gains={1:3,2:1})@3 nDCG(gains={0:0.5,2:0,3:-1},rel=0.5) DCG(gains={0:2,1:5})
    DCG DCG@3 DCG(gain=exp) DCG(discount=jk)@4 DCG(credit=rank) DCG(rel=1.5)
    Rprec Rprec(rel=2) relative_P@3 relative_P(rel=2)@1 Bpref Bpref(rel=2) infAP infAP(rel=2) infAP(rel=-1)
    IPrec@0 IPrec@0.25 IPrec@0.5 IPrec@1 IPrec(rel=2)@0.1 IPrec(rounding=trec_eval_9)@0.7
    IPrecAvg IPrecAvg(rel=2) IPrecAvg(points={0.25,0.5}) IPrecAvg(rounding=trec_eval_9) Rprec(mult=0.3)
    Rprec(mult=2.5,rel=2) Rprec(mult=0) GMBpref GMBpref(rel=2) YAAP YAAP(rel=2) binG binG(rel=2)
    G G(gains={1:3,2:9}) G(gains={2:0.5}) nDCG_rel nDCG_rel(gains={1:3,2:1}) RnDCG RnDCG(rel=2)
    RnDCG(gains={1:0.25,2:0.25}) Utility Utility(rel=2,rel_ret=2,nonrel_ret=-0.5,rel_not_ret=-1)
    Utility(nonrel_not_ret=0.5,collection=100) NumNonrelRet NumNonrelRet(rel=2) NumNonrelRet(rel=-1)
    RBP RBP(p=0.5)@3 RBP(rel=1) RBP(p=0.95,rel=2) RBPResidual RBPResidual(p=0.5)
    ERR ERR@2 ERR(max_grade=5)
    SetP SetP(rel=2) SetP(relative=true) SetP@2 SetP(relative=true)@3 SetR SetR(rel=0) SetR@2 SetF SetF(beta=0.5)
    SetAP SetAP(rel=2)
    Judged Judged@3 Unjudged@3 Unjudged@20 NumRet NumRel NumRel(rel=2) NumRelRet NumRelRet@2 Hits Hits@3 NumQ
    P(judged_only=true)@3 AP(judged_only=true) nDCG(judged_only=true)@3 RBP(judged_only=true) SetP(judged_only=true)
    F(judged_only=true)@2 NumRet(judged_only=true) AP(norm=found,credit=rank,judged_only=true)
""".split()
MEASURES = [parse(name) for name in dict.fromkeys(NAMES)]

# For one query, Hits is NumRelRet.
REFERENCE_NAMES = {"Hits": "NumRelRet"}

with_each_measure = pytest.mark.parametrize("measure", MEASURES, ids=str)
lists_of_queries = st.lists(QUERIES, min_size=1, max_size=4)


def reference_value(measure: Measure, query: Query) -> float:
    return reference(REFERENCE_NAMES.get(measure.name, measure.name), query, **dict(measure.settings))


def test_every_registered_measure_is_tested() -> None:
    judged = [one for one in definitions() if one.takes == "judged"]
    ours = {one.name for one in judged if one.function.__module__.startswith("karat.")}
    assert ours == {measure.name for measure in MEASURES}


def test_the_code_of_a_measure_is_at_most_ten_lines_long() -> None:
    built_in = [each for each in definitions() if each.function.__module__.startswith("karat.")]
    for definition in built_in:
        (function,) = ast.parse(inspect.getsource(definition.function)).body
        assert isinstance(function, ast.FunctionDef)
        _docstring, first, *_ = function.body
        assert (function.end_lineno or 0) - first.lineno < 10, definition.name


@settings(max_examples=300)
@given(queries=lists_of_queries)
def test_every_measure_agrees_with_its_slow_reference_implementation(queries: list[Query]) -> None:
    judged = judged_of(queries)
    for measure in MEASURES:
        for value, query in zip(measure.compute(judged).tolist(), queries, strict=True):
            assert math.isclose(value, reference_value(measure, query), rel_tol=1e-9, abs_tol=1e-12), measure


@given(queries=lists_of_queries)
def test_every_measure_stays_in_its_range_and_is_never_nan(queries: list[Query]) -> None:
    judged = judged_of(queries)
    for measure in MEASURES:
        low, high = measure.definition.bounds
        values = measure.compute(judged)
        assert np.isfinite(values).all(), measure
        assert (values >= low - 1e-12).all(), measure
        assert (values <= high + 1e-12).all(), measure


@given(queries=lists_of_queries, order=st.randoms(use_true_random=False))
def test_the_value_of_a_query_does_not_depend_on_other_queries_to_the_last_bit(
    queries: list[Query], order: Random
) -> None:
    places = list(range(len(queries)))
    order.shuffle(places)
    together, shuffled = judged_of(queries), judged_of([queries[at] for at in places])
    alone = [judged_of([query]) for query in queries]
    for measure in MEASURES:
        values = [float(measure.compute(judged)[0]) for judged in alone]
        assert measure.compute(together).tolist() == values, measure
        assert measure.compute(shuffled).tolist() == [values[at] for at in places], measure


@given(queries=lists_of_queries)
def test_a_value_does_not_depend_on_the_measures_computed_before_to_the_last_bit(queries: list[Query]) -> None:
    together = judged_of(queries)
    for measure in (*MEASURES, *reversed(MEASURES)):
        assert measure.compute(together).tolist() == measure.compute(judged_of(queries)).tolist(), measure


@given(queries=lists_of_queries, k=st.integers(1, 10), rel=st.sampled_from([0, 1, 2]))
def test_rows_are_counted_and_added_up_to_a_cut_off_as_if_the_others_were_not_there(
    queries: list[Query], k: int, rel: float
) -> None:
    judged = judged_of(queries)
    for view in (judged.by_gold, judged.by_rank, judged.ideal):
        rows = view.graded(rel)
        assert rows.count(k).tolist() == rows.top(k).count().tolist()
        assert rows.sum(rows.precision(), k).tolist() == rows.top(k).sum(rows.top(k).precision()).tolist()


def test_a_measure_cannot_change_what_other_measures_read() -> None:
    judged = judged_of([Query([[0], [], [1]], [1.0, 2.0])])
    hits = judged.by_gold.graded(1)
    shared = (judged.golds, judged.relevant(1), judged.relevant(2), judged.found(1, 1), hits.place(), hits.precision())
    for counts in (*shared, hits.count(), hits.count(1)):
        with pytest.raises(ValueError, match="read-only"):
            counts[0] = 7


@given(query=QUERIES)
def test_selecting_queries_changes_no_value(query: Query) -> None:
    other = Query([[0], []], [1.0, 2.0])
    judged = judged_of([other, query, other])
    chosen = judged.select(np.array([False, True, False]))
    for measure in MEASURES:
        assert measure.compute(chosen).tolist() == measure.compute(judged)[1:2].tolist(), measure


@with_each_measure
def test_without_queries_there_are_no_values(measure: Measure) -> None:
    assert measure.compute(judged_of([])).tolist() == []


@with_each_measure
def test_a_query_without_judged_and_retrieved_documents_scores_0(measure: Measure) -> None:
    (value,) = measure.compute(judged_of([Query([], [])])).tolist()
    assert value == {"NumQ": 1, "Utility(nonrel_not_ret=0.5, collection=100)": 50}.get(str(measure), 0)


BETTER_WHEN_FOUND_EARLIER = """
    P@3 R@3 F@3 Success@2 RecallAll@3 RR AP AP@4 nDCG nDCG@3 nDCG(gain=exp) DCG Rprec relative_P@2 RBP ERR ERR@3
""".split()


@settings(max_examples=300)
@given(query=QUERIES.filter(lambda query: all(len(golds) < 2 for golds in query.ranks)), data=st.data())
def test_swapping_a_better_document_upwards_never_lowers_the_score(query: Query, data: st.DataObject) -> None:
    gains = [max((max(query.grades[gold], 0) for gold in golds), default=0) for golds in query.ranks]
    seen_once = len({gold for golds in query.ranks for gold in golds}) == sum(map(len, query.ranks))
    pairs = [
        (up, down) for down in range(len(gains)) for up in range(down)
        if gains[up] < gains[down] and seen_once
    ]  # fmt: skip
    if not pairs:
        return
    up, down = data.draw(st.sampled_from(pairs))
    better = list(query.ranks)
    better[up], better[down] = better[down], better[up]
    judged = judged_of([query, Query(better, query.grades)])
    for measure in map(parse, BETTER_WHEN_FOUND_EARLIER):
        before, after = measure.compute(judged).tolist()
        assert after >= before - 1e-12, measure


PERFECT = """
    P@1 R R@9 F RR AP AP@9 nDCG nDCG@9 nDCG(gain=exp)@3 Rprec relative_P@2 Bpref SetP SetR SetF SetAP
    Success RecallAll IPrec@1 Judged@5
""".split()


@settings(max_examples=300)
@given(grades=st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=9))
def test_a_perfect_ranking_of_everything_relevant_scores_one(grades: list[float]) -> None:
    ranks = [[gold] for gold in sorted(range(len(grades)), key=lambda gold: -grades[gold])]
    judged = judged_of([Query(ranks, grades)])
    assert {name: parse(name).compute(judged).tolist() for name in PERFECT} == {
        name: pytest.approx([1.0]) for name in PERFECT
    }


EXTREMES = [
    0.0, -0.0, math.ulp(0.0), 1e-200, 1e-9, 0.5, 1 - 1e-16, 1.0, 1 + 1e-9, 2000.0, 1e16, 1e200, 1.7976931348623157e308,
    math.inf, math.nan, 10**400,
]  # fmt: skip
NUMERIC = [
    (definition, parameter)
    for definition in definitions()
    if definition.takes == "judged" and definition.function.__module__.startswith("karat.")
    for parameter in definition.parameters.values()
    if parameter.kind in (int, float)
]


@pytest.mark.parametrize("value", [*EXTREMES, *(-value for value in EXTREMES)], ids=lambda value: str(value)[:20])
@settings(max_examples=10)
@given(queries=lists_of_queries)
def test_an_extreme_parameter_is_an_error_or_gives_values_within_the_bounds(value: float, queries: list[Query]) -> None:
    judged = judged_of(queries)
    for definition, parameter in NUMERIC:
        required = {each.name: 3 if each.kind is int else 0.5 for each in definition.parameters.values()
                    if each.default is REQUIRED}  # fmt: skip
        try:
            measure = build_measure(definition, {**required, parameter.name: value})
            with np.errstate(all="raise", under="ignore"):
                found = measure.compute(judged)
        except KaratError:
            continue
        low, high = definition.bounds
        assert np.isfinite(found).all(), measure
        assert ((low - 1e-9 <= found) & (found <= high + 1e-9)).all(), measure


@given(lists_of_queries, st.sampled_from(["", "@3"]))
def test_f_tends_to_recall_for_a_large_beta_and_to_precision_for_a_small_one(queries: list[Query], at: str) -> None:
    judged = judged_of(queries)
    recall, precision = (parse(name).compute(judged) for name in (f"R{at}", f"P{at}" if at else "SetP"))
    for beta in ("1e200", "1e160", "1.7e308"):
        assert parse(f"F(beta={beta}){at}").compute(judged) == pytest.approx(np.where(precision > 0, recall, 0))
    for beta in ("1e-200", "5e-324"):
        assert parse(f"F(beta={beta}){at}").compute(judged) == pytest.approx(np.where(recall > 0, precision, 0))


@given(st.sampled_from([1e300, 1e308, 2000.0, 1e-300]), st.booleans())
def test_extreme_grades_are_an_error_or_give_values_within_the_bounds(grade: float, found: bool) -> None:
    judged = judged_of([Query([[0], [1]] if found else [[], [1]], [grade, grade])])
    for measure in MEASURES:
        try:
            values = measure.compute(judged)
        except KaratError:
            continue
        low, high = measure.definition.bounds
        assert np.isfinite(values).all(), measure
        assert ((low - 1e-9 <= values) & (values <= high + 1e-9)).all(), measure
