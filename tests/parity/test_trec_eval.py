"""Every measure that trec_eval has agrees with its C code, query by query to 1e-9, on difficult runs."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from karat import evaluate
from karat.measures import parse
from tests.parity.peers import Run, Truth, trec_eval

CUTS = (1, 2, 3, 5, 10, 100)
CUT_MEASURES = ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")
PLAIN = ("map", "ndcg", "recip_rank", "Rprec", "bpref", "infAP", "set_P", "set_recall", "set_F", "set_map",
         "set_relative_P", "num_ret", "num_rel", "num_rel_ret")  # fmt: skip
NAMES = [*PLAIN, *(f"{name}_{k}" for name in CUT_MEASURES for k in CUTS)]
RECALL_POINTS = (0.0, 0.1, 0.2, 0.5, 0.7, 1.0)

# Few scores, so that most documents are tied; all of them exact in trec_eval 9's single precision.
scores = st.sampled_from([-3.0, -0.25, 0.0, 0.5, 1.0, 1.5, 2.0, 1024.0])
grades = st.one_of(st.integers(-2, 4), st.integers(5, 60))
documents = st.one_of(
    st.sampled_from([f"d{number}" for number in range(12)]),
    st.sampled_from(["doc-Ä", "doc-é", "文書", "文書1", "🜚", "ﬁ", "Z", "a", "a1", "A", "~", "10", "9", "09"]),
)
queries = st.sampled_from(["q1", "q2", "q10", "frage-ü", "問"])


@st.composite
def collections(draw: st.DrawFn) -> tuple[Truth, Run]:
    truth = draw(st.dictionaries(queries, st.dictionaries(documents, grades, min_size=1, max_size=14), min_size=1))
    run = draw(st.dictionaries(queries, st.dictionaries(documents, scores, min_size=1, max_size=20), min_size=1))
    assume(truth.keys() & run.keys())  # karat refuses a run that shares no query with the ground truth
    return truth, run


def with_level(name: str, level: int) -> str:
    measure = parse(name)
    parameter = measure.definition.parameters.get("rel")
    return str(measure(rel=level) if parameter is not None and parameter.default == 1 else measure)


@settings(max_examples=40)
@given(collection=collections(), level=st.integers(1, 3))
def test_every_measure_agrees_query_by_query(collection: tuple[Truth, Run], level: int) -> None:
    truth, run = collection
    theirs = trec_eval(truth, run, {*PLAIN, *(f"{name}.{','.join(map(str, CUTS))}" for name in CUT_MEASURES)}, level)
    ours = evaluate(truth, run, NAMES, rel=level).per_query
    assert set(theirs) == truth.keys() & run.keys()
    for query, values in theirs.items():
        for name in NAMES:
            assert ours[query][with_level(name, level)] == pytest.approx(values[name], rel=0, abs=1e-9), (query, name)


@settings(max_examples=40)
@given(collection=collections(), level=st.integers(1, 3))
def test_every_measure_agrees_if_unjudged_documents_are_removed(collection: tuple[Truth, Run], level: int) -> None:
    truth, run = collection
    names = {*PLAIN, *(f"{name}.{','.join(map(str, CUTS))}" for name in CUT_MEASURES)}
    theirs = trec_eval(truth, run, names, level, judged_only=True)
    measures = [parse(with_level(name, level))(judged_only=True) for name in NAMES]
    ours = evaluate(truth, run, measures).per_query
    for query, values in theirs.items():
        for name, measure in zip(NAMES, measures, strict=True):
            assert ours[query][str(measure)] == pytest.approx(values[name], rel=0, abs=1e-9), (query, name)


@settings(max_examples=40)
@given(collection=collections(), gains=st.dictionaries(st.integers(0, 4), st.integers(0, 20)))
def test_ndcg_with_gains_is_that_of_trec_eval_with_the_gains_as_grades(
    collection: tuple[Truth, Run], gains: dict[int, int]
) -> None:
    truth, run = collection
    mapped = {query: {doc: gains.get(grade, grade) for doc, grade in of.items()} for query, of in truth.items()}
    theirs = trec_eval(mapped, run, {"ndcg", "ndcg_cut.1,5"})
    measure = parse("nDCG")(gains=gains)
    ours = evaluate(truth, run, [measure, measure @ 1, measure @ 5])
    for query, values in theirs.items():
        of_query = [column[ours.queries.index(query)] for column in ours.values.values()]
        assert of_query == pytest.approx([values["ndcg"], values["ndcg_cut_1"], values["ndcg_cut_5"]], rel=0, abs=1e-9)


@settings(max_examples=40)
@given(collection=collections(), level=st.integers(1, 3))
def test_interpolated_precision_agrees_if_trec_eval_9_and_10_cut_at_the_same_rank(
    collection: tuple[Truth, Run], level: int
) -> None:
    truth, run = collection
    theirs = trec_eval(truth, run, {"iprec_at_recall." + ",".join(f"{point:.2f}" for point in RECALL_POINTS)}, level)
    ours = evaluate(truth, run, [f"IPrec@{point}" for point in RECALL_POINTS], rel=level).per_query
    for query, values in theirs.items():
        relevant = sum(grade >= level for grade in truth[query].values())
        for point in RECALL_POINTS:
            # 0.7 * 3 + 0.9 is 3 or a little less, depending on how a compiler rounds it.
            wanted = {math.trunc(point * relevant + 0.9 + rounding) for rounding in (-1e-9, 1e-9)}
            if wanted == {math.floor(point * relevant + 0.5)}:
                name = with_level(f"IPrec@{point}", level)
                assert ours[query][name] == pytest.approx(values[f"iprec_at_recall_{point:.2f}"], rel=0, abs=1e-9)


@settings(max_examples=25)
@given(collection=collections())
def test_the_geometric_mean_agrees_over_the_common_queries(collection: tuple[Truth, Run]) -> None:
    truth, run = collection
    logs = [values["gm_map"] for values in trec_eval(truth, run, {"gm_map"}).values()]
    if logs:
        ours = evaluate(truth, run, ["GMAP"], missing="skip")["GMAP"]
        assert ours == pytest.approx(math.exp(math.fsum(logs) / len(logs)), abs=1e-9)


def test_a_long_run_with_heavy_ties_agrees() -> None:
    docs = [f"d{number}" for number in range(3000)]
    truth = {"q": {doc: number % 5 - 1 for number, doc in enumerate(docs) if number % 7 == 0}}
    run = {"q": {doc: float(number * 7919 % 11) for number, doc in enumerate(docs)}}
    theirs = trec_eval(truth, run, {*PLAIN, *(f"{name}.{','.join(map(str, CUTS))}" for name in CUT_MEASURES)})
    ours = evaluate(truth, run, NAMES).per_query["q"]
    for name in NAMES:
        assert ours[str(parse(name))] == pytest.approx(theirs["q"][name], rel=0, abs=1e-9), name
