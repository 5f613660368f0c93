"""karat.compat.pytrec_eval and arguments of all kinds: what pytrec_eval accepts, and the types of its exceptions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import karat.compat.pytrec_eval as ours
from karat import KaratError
from tests.parity.peers import in_pytrec_eval

QREL, RUN = {"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 1.0, "d3": 2.0}}
# What differs from the evaluation of RUN against QREL.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "names as a list": {"measures": ["map", "P_5", "map"]},
    "one name as a text": {"measures": "map"},
    "no measures": {"measures": set()},
    "unknown measure": {"measures": {"politeness"}},
    "measure of trec_eval 10": {"measures": {"rbp"}},
    "measures of preferences": {"measures": {"prefs"}},
    "no parameter after the underscore": {"measures": {"P_"}},
    "name that is a number": {"measures": {5}},
    "no names": {"measures": None},
    "no ground truth": {"query_relevance": None},
    "ground truth as a list": {"query_relevance": [QREL]},
    "empty ground truth": {"query_relevance": {}},
    "grades that cannot be changed": {"query_relevance": {"q1": MappingProxyType({"d1": 1})}},
    "list of relevant documents": {"query_relevance": {"q1": ["d1"]}},
    "query that is a number": {"query_relevance": {1: {"d1": 1}}},
    "document that is a number": {"query_relevance": {"q1": {1: 1}}},
    "grade that is a fraction": {"query_relevance": {"q1": {"d1": 0.5}}},
    "grade that is a float": {"query_relevance": {"q1": {"d1": 1.0}}},
    "grade that is a text": {"query_relevance": {"q1": {"d1": "1"}}},
    "grade that is missing": {"query_relevance": {"q1": {"d1": None}}},
    "grade that is true": {"query_relevance": {"q1": {"d1": True}}},
    "level 0": {"relevance_level": 0},
    "level that is a float": {"relevance_level": 1.0},
    "level of NumPy": {"relevance_level": np.int64(2)},
    "flag that is a number": {"judged_docs_only_flag": 1},
    "flag that is missing": {"judged_docs_only_flag": None},
    "empty run": {"scores": {}},
    "no run": {"scores": None},
    "run as a list": {"scores": [RUN]},
    "run that cannot be changed": {"scores": MappingProxyType(RUN)},
    "run of other queries": {"scores": {"q2": {"d1": 1.0}}},
    "list of retrieved documents": {"scores": {"q1": ["d1"]}},
    "retrieved document that is a number": {"scores": {"q1": {1: 1.0}}},
    "query of the run that is a number": {"scores": {1: {"d1": 1.0}}},
    "score that is a text": {"scores": {"q1": {"d1": "1"}}},
    "score that is missing": {"scores": {"q1": {"d1": None}}},
    "wrong score of another query": {"scores": {"q1": {"d1": 1.0}, "q2": {"d1": "x"}}},
    "whole and infinite scores": {"scores": {"q1": {"d1": 1, "d2": math.inf, "d3": -math.inf}}},
    "scores beyond float32": {"scores": {"q1": {"d1": 1e300, "d2": 1e301, "d0": 1e-300, "d": 0.0}}},
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "lines of a run": lambda module: module.parse_run(
        ["q1 Q0 d1 1 0.5 t\n", "q2\tQ0 d1 1 -1e3 t", " q1 Q0 d2 9 nan t "]
    ),
    "lines of qrels": lambda module: module.parse_qrel(["q1 0 d1 1\n", "  q1\t0\td2\t-1 ", "q2 0 d1 0"]),
    "query that is not in the lines": lambda module: module.parse_qrel(["q1 0 d1 1"])["q2"],
    "no lines": lambda module: module.parse_run([]),
    "document listed twice in a run": lambda module: module.parse_run(["q1 Q0 d1 1 0.5 t"] * 2),
    "document listed twice in qrels": lambda module: module.parse_qrel(["q1 0 d1 1"] * 2),
    "empty line": lambda module: module.parse_run(["q1 Q0 d1 1 0.5 t", ""]),
    "comment": lambda module: module.parse_qrel(["# a comment"]),
    "five columns": lambda module: module.parse_run(["q1 Q0 d1 1 0.5"]),
    "score in a line that is not a number": lambda module: module.parse_run(["q1 Q0 d1 1 abc t"]),
    "grade in a line that is a fraction": lambda module: module.parse_qrel(["q1 0 d1 1.0"]),
    "None in place of lines": lambda module: module.parse_run(None),
    "mean": lambda module: module.compute_aggregated_measure("map", [0.1, 0.2, 0.7]),
    "sum": lambda module: module.compute_aggregated_measure("num_ret", [5.0, 1.0]),
    "geometric mean": lambda module: module.compute_aggregated_measure("gm_map", [-0.5, -1.25]),
    "mean of an array": lambda module: module.compute_aggregated_measure("P_5", np.array([0.2, 0.7])),
    "name of a mean that is a number": lambda module: module.compute_aggregated_measure(3, [1.0]),
}


def evaluation(arguments: dict[str, Any]) -> Callable[[Any], Any]:
    """The evaluation of a run, twice with the same evaluator."""

    def work(module: Any) -> Any:
        given = {"query_relevance": QREL, "measures": {"map", "P.1,2", "num_ret"}, "scores": RUN, **arguments}
        scores = given.pop("scores")
        evaluator = module.RelevanceEvaluator(**given)
        return evaluator.evaluate(scores=scores), evaluator.evaluate(scores)

    return work


@pytest.mark.parametrize("name", [*ARGUMENTS, *CALLS])
def test_a_call_returns_the_same_or_raises_an_exception_of_the_same_type(name: str) -> None:
    call = CALLS[name] if name in CALLS else evaluation(ARGUMENTS[name])
    other = in_pytrec_eval(call)
    if isinstance(other, type):
        # Releases of pytrec_eval differ in what they raise for ground truth that is not a mapping.
        with pytest.raises((other, TypeError) if other is AttributeError else other) as caught:
            call(ours)
        assert isinstance(caught.value, KaratError)
    else:
        mine = call(ours)
        assert isinstance(other, type(mine))  # older releases of pytrec_eval return means as numbers of NumPy
        assert json.dumps(mine) == json.dumps(other)


def test_a_query_without_judgments_is_left_out_as_in_newer_releases() -> None:
    evaluator = ours.RelevanceEvaluator({"q1": {}, "q2": {"d1": 1}}, {"map"})
    assert evaluator.evaluate({"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}) == {"q2": {"map": 1.0}}


@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint16, np.bool_, np.float64, np.float32])
def test_grades_may_be_numbers_of_numpy(kind: Callable[[int], Any]) -> None:
    qrel: Any = {"q1": {"d1": kind(1), "d2": kind(0)}}
    assert ours.RelevanceEvaluator(qrel, {"map"}).evaluate(RUN) == {"q1": {"map": 0.5}}


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int64, np.int32])
def test_scores_may_be_numbers_of_numpy(kind: Callable[[int], Any]) -> None:
    run = {"q1": {"d1": kind(1), "d3": kind(2)}}
    assert ours.RelevanceEvaluator(QREL, {"map"}).evaluate(run) == {"q1": {"map": 0.5}}


def test_the_level_and_the_flag_may_be_numbers_of_numpy() -> None:
    evaluator = ours.RelevanceEvaluator(QREL, {"map"}, np.int8(1), judged_docs_only_flag=np.bool_(True))  # type: ignore[arg-type]
    assert evaluator.evaluate(RUN) == {"q1": {"map": 1.0}}


def test_a_grade_of_numpy_that_is_a_fraction_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"q1, document d1: grade .*0\.5.* is not a whole number"):
        evaluation({"query_relevance": {"q1": {"d1": np.float64(0.5)}}})(ours)


def test_a_score_that_is_not_a_number_is_an_error_where_trec_eval_has_an_arbitrary_order() -> None:
    with pytest.raises(KaratError, match="query q1, document d3: score nan is not a number"):
        ours.RelevanceEvaluator(QREL, {"map"}).evaluate({"q1": {"d1": 1.0, "d3": math.nan}})


@pytest.mark.parametrize("name", ["P_0", "ndcg_cut_0.5", "ndcg_5", "G.2", "iprec_at_recall_2", "utility_1,2"])
def test_parameters_that_end_the_process_of_trec_eval_or_mean_nothing_are_an_error(name: str) -> None:
    with pytest.raises(KaratError):
        ours.RelevanceEvaluator(QREL, {name})


def test_a_query_without_retrieved_documents_has_its_relevant_ones_and_no_other_values() -> None:
    measures = {"num_rel", "num_ret", "map", "gm_map", "runid", "relstring"}
    values = ours.RelevanceEvaluator({"q1": {"d1": 1}}, measures).evaluate({"q1": {}})["q1"]
    assert values.pop("gm_map") == math.log(0.00001)
    assert values == {"runid": 0, "num_ret": 0, "num_rel": 1, "map": 0, "relstring": 0}


def test_a_query_without_judged_documents_and_one_with_negative_grades_have_no_relevant_ones() -> None:
    evaluator = ours.RelevanceEvaluator({"q1": {}, "q2": {"d1": -1}}, {"all_trec"})
    for values in evaluator.evaluate({"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}).values():
        counts = {"num_q", "num_ret", "gm_map", "gm_bpref", "utility"}
        assert {name for name, value in values.items() if value} == counts


def test_ground_truth_may_be_any_mapping_of_dictionaries_as_in_newer_releases() -> None:
    assert ours.RelevanceEvaluator(MappingProxyType(QREL), {"map"}).evaluate(RUN) == {"q1": {"map": 0.5}}


def test_ground_truth_that_changes_later_does_not_change_the_values() -> None:
    qrel = {"q1": {"d1": 1}}
    evaluator = ours.RelevanceEvaluator(qrel, {"map"})
    qrel["q1"]["d3"] = 1
    qrel["q2"] = {"d1": 1}
    assert evaluator.evaluate({**RUN, "q2": {"d1": 1.0}}) == {"q1": {"map": 0.5}}


def test_means_of_any_values_are_computed() -> None:
    assert ours.compute_aggregated_measure("map", {"q1": 0.5, "q2": 1.0}.values()) == 0.75
    assert ours.compute_aggregated_measure("map", (value for value in (0.5, 1.0))) == 0.75


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda module: module.parse_run([b"q1 Q0 d1 1 0.5 t"]), "line 1 of the run: b'q1 Q0 d1 1 0.5 t' is not text"),
        (lambda module: module.parse_qrel(5), "the ground truth: 5 is not an open file"),
        (lambda module: module.RelevanceEvaluator(QREL, list), "is not a set of names"),
        (lambda module: module.RelevanceEvaluator(QREL, "map"), "'map' is not a set of names"),
        (lambda module: module.RelevanceEvaluator(QREL, [["map"]]), "['map'] is not the name of a measure"),
        (lambda module: module.compute_aggregated_measure(None, [1.0]), "None is not the name of a measure"),
        *(
            (
                lambda module, values=values: module.compute_aggregated_measure("gm_map", values),
                "is not a list of numbers",
            )
            for values in (None, 1.0, "0.5", ["0.5"], [None], [[1.0], [1.0, 2.0]], [[1.0]], np.array(1.0), [1j])
        ),
    ],
)
def test_arguments_of_the_wrong_type_are_an_error_that_says_so(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        call(ours)
    assert isinstance(caught.value, KaratError)
