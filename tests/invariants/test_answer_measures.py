"""What every answer measure must hold, whatever it measures: a new one is tested the moment it is registered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from karat.answers import Answers
from karat.measures import Measure, definitions, parse

# Each measure as it comes, and with each of its parameters turned.
NAMES = """
    EM EM(normalize=true) EM(normalize=neutral)
    TokenF1 TokenF1(normalize=neutral) TokenF1(normalize=false)
    TokenPrecision TokenPrecision(normalize=neutral) TokenPrecision(normalize=false)
    TokenRecall TokenRecall(normalize=neutral) TokenRecall(normalize=false)
    Contains Contains(normalize=neutral) Contains(normalize=false)
    RougeL SAS(model=wordllama)
""".split()
MEASURES = [parse(name, "answers") for name in NAMES]
# Those of one file are put to the test together: what takes time is to think of questions.
FILES = {
    file: [each for each in MEASURES if each.definition.function.__module__ == f"karat.answers.{file}"]
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
    return Answers(queries, [golds for golds, _ in questions], [said for _, said in questions])


def values_of(measure: Measure, questions: Sequence[Question]) -> list[float]:
    values: list[float] = measure.compute(answers_of(questions)).tolist()
    return values


def margin(measure: Measure) -> float:
    """How far apart two values may be that should be the same: what counts words is exact, a model is not."""
    return 1e-4 if measure.name == "SAS" else 0.0


def test_every_registered_answer_measure_is_put_to_the_test() -> None:
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


# Half as many lists as elsewhere: each is of up to six questions, and all of them are also measured alone.
@with_each_file
@settings(max_examples=50)
@given(questions=LISTS, order=st.randoms(use_true_random=False))
@example(questions=WORDLESS, order=Random(1))
@example(questions=[(["a cat"], "the cat"), (["–the cat–"], "–cat–"), (["\0"], "\0")], order=Random(1))
def test_a_question_scores_the_same_to_the_last_bit_whatever_questions_stand_beside_it(
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
@given(golds=st.lists(ANSWERS, max_size=3), more=ANSWERS, said=ANSWERS, at=st.integers(0, 3))
@example(golds=[], more="", said="cat", at=0)
def test_another_gold_answer_never_lowers_the_score(
    measures: list[Measure], golds: list[str], more: str, said: str, at: int
) -> None:
    with_more = [*golds[:at], more, *golds[at:]]
    for measure in measures:
        before, after, alone = values_of(measure, [(golds, said), (with_more, said), ([more], said)])
        assert after >= before - margin(measure), measure
        # ... and with it the score is the better of the two, not just any.
        assert after == pytest.approx(max(before, alone), abs=margin(measure), rel=0), measure


@with_each_file
@given(golds=st.lists(ANSWERS, max_size=3), said=ANSWERS, at=st.integers(0, 3))
@example(golds=[""], said="cat " * 70, at=0)
def test_a_gold_answer_word_for_word_scores_1(measures: list[Measure], golds: list[str], said: str, at: int) -> None:
    for measure in measures:
        (value,) = values_of(measure, [([*golds[:at], said, *golds[at:]], said)])
        assert value == (pytest.approx(1, abs=1e-6) if measure.name == "SAS" else 1), measure


@with_each_measure
def test_another_answer_scores_less_than_1(measure: Measure) -> None:
    other, empty = values_of(measure, [(["the red cat"], "two blue dogs"), (["cat"], "")])
    assert other < 0.9
    assert empty == 0


@with_each_measure
def test_no_questions_have_no_values(measure: Measure) -> None:
    values = measure.compute(answers_of([]))
    assert values.shape == (0,)
    assert values.dtype == np.float64


@with_each_file
@given(golds=st.lists(ANSWERS, max_size=3), beside=QUESTIONS)
@example(golds=[], beside=(["cat " * 70], ""))
def test_no_predicted_answer_scores_0(measures: list[Measure], golds: list[str], beside: Question) -> None:
    for measure in measures:
        assert values_of(measure, [(golds, None)]) == [0], measure
        values = values_of(measure, [(["cat"], "cat"), (golds, None), (["cat"], "cat"), beside])
        assert values[:3] == pytest.approx([1, 0, 1], abs=1e-6), measure


@with_each_file
@given(said=ANSWERS)
def test_where_no_gold_answer_is_known_nothing_scores(measures: list[Measure], said: str) -> None:
    for measure in measures:
        assert values_of(measure, [([], said)]) == [0], measure
        assert values_of(measure, [(["cat"], "cat"), ([], said)]) == pytest.approx([1, 0], abs=1e-6), measure


@with_each_measure
def test_it_leaves_the_answers_as_they_were_and_gives_the_same_again(measure: Measure) -> None:
    answers = answers_of([(["the cat", "a dog"], "Cat."), ([], "x"), (["x"], None)])
    first = measure.compute(answers)
    assert (answers.golds, answers.predicted) == ([["the cat", "a dog"], [], ["x"]], ["Cat.", "x", None])
    kept = first.tolist()
    first += 1  # what is handed out is the caller's own
    assert measure.compute(answers).tolist() == kept
