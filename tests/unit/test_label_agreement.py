"""How far a model agrees with people: kappa by its definition, documents and answers, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import karat
from karat.analysis.label_agreement import LabelAgreement
from karat.errors import KaratError
from karat.stats import Coefficient, kappas
from tests.random_verdicts import Record


def _kappa_by_definition(first: list[int], second: list[int], weight: Any) -> float | None:
    """1 - the mean weight of pairs over that of all combinations of the labels of one and of the other."""
    observed = sum(weight(a, b) for a, b in zip(first, second, strict=True)) / len(first)
    by_chance = sum(weight(a, b) for a in first for b in second) / len(first) ** 2
    return None if by_chance == 0 else 1 - observed / by_chance


_PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(_PAIRS)
def test_kappa_is_that_of_its_definition(pairs: list[tuple[int, int, int]]) -> None:
    query, first, second = (np.array(column) for column in zip(*pairs, strict=True))
    numbers = np.array([0.0, 1.0, 2.0, 5.0])
    plain, weighted = kappas(query, first, second, numbers)
    for found, weight in ((plain, lambda a, b: a != b), (weighted, lambda a, b: (numbers[a] - numbers[b]) ** 2)):
        expected = _kappa_by_definition(first.tolist(), second.tolist(), weight)
        assert found.value == (None if expected is None else pytest.approx(expected, abs=1e-12))
        if found.interval is not None:
            low, high = found.interval
            assert low <= high <= 1 + 1e-12


@pytest.mark.parametrize(
    ("first", "second", "plain", "weighted"),
    [
        # Computed with cohen_kappa_score of scikit-learn 1.7, labels=[0, 1, 2, 3].
        ([0, 1, 2, 3, 3, 2, 1, 0, 0, 2, 3, 1], [0, 1, 2, 3, 2, 2, 1, 1, 0, 3, 3, 0], 5 / 9, 13 / 15),
        ([0, 0, 2, 2, 1], [0, 2, 2, 2, 2], 1 / 3, 4 / 9),
        ([0, 1, 0, 1], [1, 0, 1, 0], -1.0, -1.0),
    ],
    ids=["four labels", "three labels", "always the other"],
)  # fmt: skip
def test_kappa_is_that_of_scikit_learn(first: list[int], second: list[int], plain: float, weighted: float) -> None:
    query, scale = np.arange(len(first)) // 2, np.arange(4.0)
    found = kappas(query, np.array(first), np.array(second), scale)
    assert [each.value for each in found] == [pytest.approx(plain, abs=1e-12), pytest.approx(weighted, abs=1e-12)]


def test_the_interval_of_kappa_has_its_level_and_narrows_with_more_queries() -> None:
    random = np.random.default_rng(7)

    def sample(queries: int) -> Coefficient:
        first = random.integers(0, 2, queries * 3)
        second = np.where(random.random(queries * 3) < 0.8, first, 1 - first)  # kappa is 0.6
        return kappas(np.arange(queries * 3) // 3, first, second, np.arange(2.0))[0]

    few = [sample(25).interval or (1.0, 0.0) for _ in range(20)]
    assert sum(low <= 0.6 <= high for low, high in few) >= 17
    low, high = sample(400).interval or (0.0, 1.0)
    assert low < 0.6 < high
    assert high - low < min(above - below for below, above in few)


def test_kappa_without_an_interval() -> None:
    same, one, scale = np.zeros(3, np.int64), np.array([0, 0, 1]), np.arange(2.0)
    assert kappas(np.arange(3), same, same, scale)[0] == Coefficient(None, None)
    assert kappas(same, one, one, scale)[0] == Coefficient(1.0, None)  # one query
    four = np.array([0, 1, 0, 1])
    assert kappas(np.arange(4), four, four, scale)[0] == Coefficient(1.0, None)  # all labels agree
    assert kappas(np.arange(3), one, one, scale)[0] == Coefficient(1.0, None)  # undefined without the last query


def _grade(query: str, name: str, label: int | None, by: str = "model", **more: Any) -> Record:
    state = {"state": "failed"} if label is None else {}
    about = {"query": query, "item": name, "type": "document", "task": "relevance"}
    return {**about, "label": label, "by": by, **state, **more}


def _claim(query: str, name: str, label: str | None, by: str, system: str = "rag") -> Record:
    state = {"state": "failed"} if label is None else {}
    about = {"query": query, "system": system, "item": name, "type": "claim", "task": "support", "against": "context"}
    return {**about, "label": label, "by": by, **state}


TRUTH = {"q1": {"a": 3, "b": 0, "c": -1}, "q2": {"a": 1, "b": 0}, "q3": {"a": 1}}
GRADES = [
    _grade("q1", "a", 2), _grade("q1", "b", 0), _grade("q1", "c", 3), _grade("q1", "x", 1),
    _grade("q2", "a", 1), _grade("q2", "b", None), _grade("q9", "a", 1),
]  # fmt: skip
RUNS = {"one": {"q1": ["a", "b"], "q2": ["b", "a"]}, "two": {"q1": ["b", "a"]}, "three": {"q1": ["x", "b"]}}


def test_ground_truth_is_what_people_say_about_documents() -> None:
    (found,) = karat.label_agreement(GRADES, TRUTH).tasks
    assert (found.by, found.name, found.pairs, found.queries, found.failed) == (
        "model",
        "relevance of documents",
        3,
        2,
        1,
    )
    assert found.scale == ("0", "1", "2", "3")
    assert found.confusion == ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0))
    assert found.equal == pytest.approx(2 / 3)


def test_people_in_the_file_judge_documents_too_and_ground_truth_prevails() -> None:
    people = [_grade("q1", "x", 1, "human:ann"), _grade("q1", "a", 0, "human:ann"), _grade("q1", "x", 2, "human:ben")]
    (found,) = karat.label_agreement(GRADES + people).tasks
    assert (found.pairs, found.tied, found.confusion[0]) == (1, 1, (0, 0, 1, 0))
    (found,) = karat.label_agreement(GRADES + people[:2], TRUTH).tasks
    assert (found.pairs, found.tied) == (4, 0)
    assert found.confusion == ((1, 0, 0, 0), (0, 2, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0))


def test_measures_of_runs_are_computed_over_queries_that_both_judged_whole() -> None:
    found = karat.label_agreement(GRADES, TRUTH, RUNS, ["DCG@2"])
    by_people, by_model = (karat.evaluate_runs({"q1": grades}, RUNS, "DCG@2") for grades in ({"a": 3}, {"a": 2}))
    assert [(each.system, each.queries, each.people, each.model) for each in found.values] == [
        (system, 1, by_people[system]["DCG@2"], by_model[system]["DCG@2"]) for system in RUNS
    ]
    [order] = found.orders("model")
    assert (order.measure, order.systems, order.tau.value, order.tau_ap.value) == ("DCG@2", 3, 1, 1)
    assert found.notes == ("no values for 1 query of which model graded only some of the judged documents",)
    without = karat.label_agreement(GRADES[:1], TRUTH, RUNS)
    assert without.values == ()
    assert "graded all judged documents of no query" in without.notes[-1]


def test_measures_of_answers_are_computed_over_queries_that_both_labelled() -> None:
    labels = [_claim(query, "c1", "full", by) for query in ("q1", "q2", "q3") for by in ("human:ann", "human:ben")]
    labels += [
        _claim("q1", "c1", "none", "model"),
        _claim("q2", "c1", "full", "model"),
        _claim("q3", "c1", None, "model"),
    ]
    labels += [_claim("q1", "c9", "full", "human:ann", "other")]
    found = karat.label_agreement(labels)
    assert [(each.name, each.pairs, each.failed) for each in found.tasks] == [("support", 2, 1)]
    (value,) = found.values
    assert (value.system, value.measure, value.queries) == ("rag", "Faithfulness", 2)
    assert (value.people, value.model, value.difference) == (1.0, 0.5, -0.5)
    with pytest.raises(KaratError, match="Correctness needs labels of the task correctness"):
        karat.label_agreement(labels, measures="Correctness")


def test_why_answers_have_no_values_is_a_note() -> None:
    passage = {"record": "item", "query": "q1", "system": "rag", "type": "passage", "rank": 1}
    labels = [_claim("q1", "c1", "full", by) for by in ("human", "model")]
    found = karat.label_agreement([{**passage, "id": "p1"}, {**passage, "id": "p2"}, *labels])
    assert found.values == ()
    assert found.notes == (
        "no values of measures for rag: the passages 'p1' and 'p2' of query 'q1' have the same rank",
    )


def test_each_model_has_a_block_and_one_without_common_labels_a_note() -> None:
    labels = [*GRADES, _grade("q1", "a", 3, "other"), _grade("q8", "a", 3, "third")]
    found = karat.label_agreement(labels, TRUTH)
    assert [each.by for each in found.tasks] == ["model", "other"]
    assert found.notes == ("third labelled nothing that people did",)
    assert [table.header[0] for table in found.tables()] == ["model", "people", "model", "people"]


def test_a_label_that_all_have_in_common_leaves_kappa_undefined_in_words() -> None:
    found = karat.label_agreement([_grade("q2", "a", 1), _grade("q3", "a", 1)], TRUTH)
    text = str(found)
    assert text.splitlines()[2].split() == [
        "model",
        "relevance",
        "of",
        "documents",
        "2",
        "2",
        "1.0000",
        "undefined",
        "undefined",
    ]
    assert "undefined: people and the model gave all of them the same label (relevance of documents)" in text
    assert "nan" not in text.lower().split()
    assert found.to_dict()["tasks"][0]["kappa"] is None


def test_ground_truth_with_two_grades_is_named_as_a_reason_of_disagreement() -> None:
    note = "the ground truth has no grade above 1, so a 2 or 3 by model is never equal"
    assert karat.label_agreement(GRADES, {"q1": {"a": 1, "b": 0}}).notes == (note,)
    assert karat.label_agreement(GRADES, {"q2": {"a": 1}}).notes == ()


def test_two_labels_have_no_weighted_kappa() -> None:
    row = {"query": "q", "system": "rag", "task": "abstention", "item": "answer"}
    people, model = ({**row, "label": label, "by": by} for label, by in (("refused", "human"), ("answered", "model")))
    (found,) = karat.label_agreement([people, model]).tasks
    assert found.weighted_kappa is None
    assert found.kappa.value == 0.0


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (GRADES, {}, "no label is by a person. Add the ground truth"),
        ([_grade("q1", "a", 1, "human")], {}, "no label is by a model. The labels of people are by human"),
        (GRADES, {"truth": {"q7": {"a": 1}}}, "labelled nothing in common. `karat judge TRUTH"),
        (GRADES, {"truth": {"q1": {"a": 4}}}, "document 'a' of query 'q1' has the grade 4, and labels .* are 0 to 3"),
        (GRADES, {"truth": {"q1": {"a": 0.5}}}, "has the grade 0.5, .* map the grades to 0, 1, 2 and 3"),
        (GRADES, {"runs": RUNS}, "runs need ground truth"),
        (GRADES, {"truth": TRUTH, "measures": "AP"}, "measures of documents need runs"),
        (GRADES, {"truth": TRUTH, "measures": "TokenF1"}, "TokenF1 measures answers, not documents and verdicts"),
    ],
    ids=["no people", "no model", "nothing", "grade 4", "grade 0.5", "no truth", "no runs", "answers"],
)
def test_what_cannot_be_compared_is_an_error(labels: list[Record], options: Any, message: str) -> None:
    with pytest.raises(KaratError, match=message):
        karat.label_agreement(labels, **options)


def test_the_agreement_in_json_has_everything() -> None:
    document = karat.label_agreement(GRADES, TRUTH, RUNS, "RR").to_dict()
    (task,) = document["tasks"]
    assert task["confusion"][0] == [1, 0, 0, 0]
    assert {"kappa_low", "weighted_kappa_high", "failed", "tied"} <= task.keys()
    assert document["values"][0].keys() >= {"by", "measure", "system", "people", "model", "difference"}
    [order] = document["orders"]["model"]
    assert {name: order[name] for name in ("measure", "systems", "tau", "tau_ap")} == {
        "measure": "RR", "systems": 3, "tau": 1.0, "tau_ap": 1.0,
    }  # fmt: skip
    assert isinstance(karat.label_agreement(GRADES, TRUTH), LabelAgreement)


def _correctness(query: str, label: str, by: str, system: str = "s") -> Record:
    what = {"query": query, "system": system, "task": "correctness", "item": "answer"}
    return {**what, "label": label, "by": by}


def test_several_people_are_compared_with_each_other() -> None:
    pairs = [("correct", "correct"), ("incorrect", "incorrect"), ("correct", "partial"), ("partial", "partial")]
    records = [
        _correctness(f"q{at}", label, f"human:{name}")
        for at, pair in enumerate(pairs)
        for name, label in zip(("ann", "bo"), pair, strict=True)
    ]
    alone = [_correctness("q9", "correct", "human:ann"), *(_correctness(f"q{at}", "correct", "m") for at in range(10))]
    found = karat.label_agreement([*records, *alone])
    [people] = found.people
    assert (people.task, people.people, people.items) == ("correctness", 2, 4)
    labels = [{"incorrect": 0, "partial": 0.5, "correct": 1}[label] for pair in pairs for label in pair]
    distances = [(a - b) ** 2 for at, a in enumerate(labels) for b in labels[at + 1 :]]
    expected = 1 - (0.25 / 4) / (sum(distances) / len(distances))
    assert people.weighted_alpha is not None
    assert people.weighted_alpha.value == pytest.approx(expected)
    assert "Krippendorff's alpha" in str(found)
    assert found.to_dict()["people"][0]["items"] == 4


def test_a_model_that_favours_a_system_is_named() -> None:
    random = np.random.default_rng(4)
    right = random.random((60, 2)) < 0.5
    records = []
    for at, row in enumerate(right):
        for system, is_correct in zip(("old", "new"), row.tolist(), strict=True):
            favoured = is_correct or (system == "new" and at % 2 == 0)
            for by, value in (("human", is_correct), ("m", favoured)):
                records.append(_correctness(f"q{at}", "correct" if value else "incorrect", by, system))
    found = karat.label_agreement(records)
    new = next(each for each in found.favours("m") if each.system == "new")
    assert new.more > 0.15
    assert new.p is not None
    assert new.p < 0.01
    assert "the model rates new 0.3167 higher than others on Correctness" in str(found)
    assert "the model rates old" not in str(found)
    value = next(each for each in found.values if each.system == "old")
    assert value.difference == 0
    assert found.orders("m") == []


def test_a_model_that_is_as_lenient_with_all_systems_favours_none() -> None:
    records = [
        _correctness(f"q{at}", label, by, system)
        for at in range(40)
        for system in ("old", "new")
        for by, label in (("human", "incorrect" if at % 3 else "correct"), ("m", "correct"))
    ]
    found = karat.label_agreement(records)
    assert all(favour.more == 0 for favour in found.favours("m"))
    assert "the model rates" not in str(found)
    low, high = found.values[0].interval or (0, 0)
    assert 0 < low < found.values[0].difference < high < 1


def test_queries_from_which_examples_for_a_model_were_chosen_are_left_out() -> None:
    call = {"record": "call", "key": "k1", "model": "gpt", "examples": ["q1", "q2"]}
    queries = {"q1": "correct", "q2": "correct", "q3": "incorrect", "q4": "correct"}
    people = [_correctness(query, label, "human") for query, label in queries.items()]
    models = [_correctness(query, "correct", by) for query in queries for by in ("gpt", "claude")]
    agreement = karat.label_agreement([*people, *models, call], measures=["Correctness"])
    tasks = {each.by: (each.pairs, each.equal) for each in agreement.tasks}
    assert tasks == {"gpt": (2, 0.5), "claude": (4, 0.75)}
    assert {each.by: each.queries for each in agreement.values} == {"gpt": 2, "claude": 4}
    assert agreement.notes == ("2 queries left out, from which the examples for gpt were chosen",)


def test_documents_of_the_queries_of_examples_are_left_out() -> None:
    call = {"record": "call", "key": "k1", "model": "model", "examples": ["q1"]}
    labels = [_grade("q1", "d1", 2), _grade("q2", "d1", 1), call]
    runs = {"run": {"q1": ["d1"], "q2": ["d1"]}}
    agreement = karat.label_agreement(labels, {"q1": {"d1": 2}, "q2": {"d1": 2}}, runs, "P@1")
    assert [each.pairs for each in agreement.tasks] == [1]
    assert [(each.queries, each.people, each.model) for each in agreement.values] == [(1, 1, 1)]


def test_if_people_labelled_only_queries_of_examples_the_error_says_so() -> None:
    labels = [_correctness("q1", "correct", by) for by in ("human", "gpt")]
    call = {"record": "call", "key": "k1", "model": "gpt", "examples": ["q1"]}
    with pytest.raises(
        KaratError, match="nothing in common but queries from which examples for the models were chosen"
    ):
        karat.label_agreement([*labels, call])
