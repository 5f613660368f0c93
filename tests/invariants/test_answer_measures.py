"""Properties of every answer measure: a new one is tested as soon as it is registered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat.data.answers import Answers
from karat.measures import Measure, definitions, parse

# Each measure with its defaults, and with other values of each parameter.
NAMES = """
    EM EM(normalize=true) EM(normalize=neutral)
    TokenF1 TokenF1(normalize=neutral) TokenF1(normalize=false)
    TokenPrecision TokenPrecision(normalize=neutral) TokenPrecision(normalize=false)
    TokenRecall TokenRecall(normalize=neutral) TokenRecall(normalize=false)
    Contains Contains(normalize=neutral) Contains(normalize=false)
    RougeL SAS(model=wordllama)
""".split()
MEASURES = [parse(name, "answers") for name in NAMES]
# The measures of one file are tested together, because generating questions takes most of the time.
FILES = {
    file: [each for each in MEASURES if each.definition.function.__module__ == f"karat.measures.answers.{file}"]
    for file in ("overlap", "rouge", "similarity")
}

Question = tuple[list[str], str | None]

WORDS = ["the", "a", "cat", "Cat", "dog.", "5", "15", "–", "?!", "Straße", "東京", "👍", "\0", "é", "_", "don't"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join) | st.text(max_size=8)
LONG_TEXTS = st.integers(0, 99).map(lambda seed: " ".join(Random(seed).choices(WORDS, k=45 + seed)))
ANSWERS = TEXTS | TEXTS | TEXTS | LONG_TEXTS
QUESTIONS = st.tuples(st.lists(ANSWERS, max_size=3), st.none() | ANSWERS)
LISTS = st.lists(QUESTIONS, min_size=1, max_size=6)

with_each_measure = pytest.mark.parametrize("measure", MEASURES, ids=str)
with_each_file = pytest.mark.parametrize("measures", FILES.values(), ids=FILES)
# PairedWords looks words up in an empty array if no gold answer of a batch has any.
WORDLESS: list[Question] = [([""], "cat")]


def answers_of(questions: Sequence[Question]) -> Answers:
    queries = tuple(map(str, range(len(questions))))
    return Answers(queries, [golds for golds, _ in questions], [predicted for _, predicted in questions])


def values_of(measure: Measure, questions: Sequence[Question]) -> list[float]:
    values: list[float] = measure.compute(answers_of(questions)).tolist()
    return values


def margin(measure: Measure) -> float:
    """How much two values that should be equal may differ: counts of words are exact, models are not."""
    return 1e-4 if measure.name == "SAS" else 0.0


def test_every_registered_answer_measure_is_tested() -> None:
    ours = [one for one in definitions() if one.takes == "answers" and one.function.__module__.startswith("karat.")]
    assert {one.name for one in ours} == {measure.name for measure in MEASURES}
    assert [each for measures in FILES.values() for each in measures] == MEASURES
    choices = {(one.name, choice) for one in ours for each in one.parameters.values() for choice in each.choices}
    assert choices == {(each.name, each.get("normalize")) for each in MEASURES if each.get("normalize")}


@with_each_file
@given(questions=LISTS)
@example(questions=WORDLESS)
def test_it_stays_between_0_and_1_and_is_never_nan(measures: list[Measure], questions: list[Question]) -> None:
    answers = answers_of(questions)
    for measure in measures:
        assert measure.definition.bounds == (0, 1)
        values = measure.compute(answers)
        assert values.shape == (len(questions),)
        assert np.isfinite(values).all(), measure
        assert (values >= 0).all(), measure
        assert (values <= 1).all(), measure


# Half as many lists as in other tests: each has up to six questions, which are also evaluated one by one.
@with_each_file
@settings(max_examples=50)
@given(questions=LISTS, order=st.randoms(use_true_random=False))
@example(questions=WORDLESS, order=Random(1))
@example(questions=[(["a cat"], "the cat"), (["–the cat–"], "–cat–"), (["\0"], "\0")], order=Random(1))
def test_the_value_of_a_question_does_not_depend_on_other_questions_to_the_last_bit(
    measures: list[Measure], questions: list[Question], order: Random
) -> None:
    places = list(range(len(questions)))
    order.shuffle(places)
    for measure in measures:
        alone = [values_of(measure, [question])[0] for question in questions]
        together = values_of(measure, questions)
        shuffled = values_of(measure, [questions[at] for at in places])
        assert together == pytest.approx(alone, abs=margin(measure), rel=0), measure
        assert shuffled == pytest.approx([alone[at] for at in places], abs=margin(measure), rel=0), measure


@with_each_file
@given(golds=st.lists(ANSWERS, max_size=3), more=ANSWERS, predicted=ANSWERS, at=st.integers(0, 3))
@example(golds=[], more="", predicted="cat", at=0)
def test_another_gold_answer_never_lowers_the_score(
    measures: list[Measure], golds: list[str], more: str, predicted: str, at: int
) -> None:
    with_more = [*golds[:at], more, *golds[at:]]
    for measure in measures:
        before, after, alone = values_of(measure, [(golds, predicted), (with_more, predicted), ([more], predicted)])
        assert after >= before - margin(measure), measure
        # ... and the score with both is the better of the two.
        assert after == pytest.approx(max(before, alone), abs=margin(measure), rel=0), measure


@with_each_file
@given(golds=st.lists(ANSWERS, max_size=3), predicted=ANSWERS, at=st.integers(0, 3))
@example(golds=[""], predicted="cat " * 70, at=0)
def test_an_answer_equal_to_a_gold_answer_scores_1(
    measures: list[Measure], golds: list[str], predicted: str, at: int
) -> None:
    for measure in measures:
        (value,) = values_of(measure, [([*golds[:at], predicted, *golds[at:]], predicted)])
        assert value == (pytest.approx(1, abs=1e-6) if measure.name == "SAS" else 1), measure


@with_each_measure
def test_a_different_answer_scores_less_than_1(measure: Measure) -> None:
    other, empty = values_of(measure, [(["the red cat"], "two blue dogs"), (["cat"], "")])
    assert other < 0.9
    assert empty == 0


@with_each_measure
def test_without_questions_there_are_no_values(measure: Measure) -> None:
    values = measure.compute(answers_of([]))
    assert values.shape == (0,)
    assert values.dtype == np.float64


@with_each_file
@given(golds=st.lists(ANSWERS, max_size=3), beside=QUESTIONS)
@example(golds=[], beside=(["cat " * 70], ""))
def test_a_question_without_a_predicted_answer_scores_0(
    measures: list[Measure], golds: list[str], beside: Question
) -> None:
    for measure in measures:
        assert values_of(measure, [(golds, None)]) == [0], measure
        values = values_of(measure, [(["cat"], "cat"), (golds, None), (["cat"], "cat"), beside])
        assert values[:3] == pytest.approx([1, 0, 1], abs=1e-6), measure


@with_each_file
@given(predicted=ANSWERS)
def test_a_question_without_a_gold_answer_scores_0(measures: list[Measure], predicted: str) -> None:
    for measure in measures:
        assert values_of(measure, [([], predicted)]) == [0], measure
        assert values_of(measure, [(["cat"], "cat"), ([], predicted)]) == pytest.approx([1, 0], abs=1e-6), measure


@with_each_measure
def test_computing_does_not_change_the_answers_and_is_repeatable(measure: Measure) -> None:
    answers = answers_of([(["the cat", "a dog"], "Cat."), ([], "x"), (["x"], None)])
    first = measure.compute(answers)
    assert (answers.golds, answers.predicted) == ([["the cat", "a dog"], [], ["x"]], ["Cat.", "x", None])
    kept = first.tolist()
    first += 1  # changing a returned array must not change later values
    assert measure.compute(answers).tolist() == kept
