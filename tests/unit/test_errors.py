"""How errors word places and parameters, and errors on their way from other processes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from karat.errors import KaratError, KaratTypeError, Message, NoSuchFileError, Parameter, Place
from karat.grounding.sheets.filled import SheetError


@pytest.mark.parametrize(
    "error",
    [
        KaratError("score 'abc' is not a number", place="run.trec:7", hint="Scores are numbers."),
        KaratTypeError("5 is not a text"),
        NoSuchFileError("run.trec", "Did you mean ran.trec?"),
        KaratError(
            [Parameter("level", 2.0), " and ", Parameter("test"), " in ", Place("a", row=(1, 2))], place=Place("b")
        ),
        SheetError([KaratError("a", hint="b"), KaratError("c")], "sheet.csv"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_pickled_and_copied_with_all_its_parts(error: KaratError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (str(again), again.args) == (str(error), error.args)
        assert (again.what, again.place, again.hint) == (error.what, error.place, error.hint)
        assert getattr(again, "number", None) == getattr(error, "number", None)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place("the run"), "the run"),
        (Place("run.trec", line=7), "run.trec:7"),
        (Place("run.trec", line=(7, 9)), "run.trec:7 and 9"),
        (Place("the run", row=0), "the run, row 0"),
        (Place("the run", row=(3, 5)), "the run, rows 3 and 5"),
        (Place("the run", row=2, column="score"), "the run, column score, row 2"),
        (Place("the run", query="q1"), "the run, query q1"),
        (Place("the run", query=("q1",)), "the run, query q1"),
        (Place("the run", query=("q1", "q2"), field="rank 3"), "the run, queries q1 and q2, rank 3"),
        (Place("documents").inside("[1]").inside("[2]"), "documents[1][2]"),
        (Place("r.jsonl", line=3).inside("answers").inside("[2]").inside("text"), "r.jsonl:3, answers[2], text"),
        (Place("the run", row=1).of("component x"), "component x, the run, row 1"),
    ],
)
def test_a_place_is_worded_when_it_is_printed(place: Place, text: str) -> None:
    assert str(place) == text


def test_parameters_in_what_and_hint_are_spelled_in_one_way() -> None:
    hint: Message = ["Leave ", Parameter("level"), " out."]
    error = KaratError([Parameter("level", 2.0), " is not between 0 and 1"], hint=hint)
    assert str(error) == "level=2.0 is not between 0 and 1. Leave level out."
    assert error.parameter == "level"
    error.spelling = lambda parameter: f"--{parameter.name}"
    assert str(error) == "--level is not between 0 and 1. Leave --level out."
    assert str(error.but(place="here")) == "here: --level is not between 0 and 1. Leave --level out."


def test_the_same_error_elsewhere_keeps_its_type_and_its_parts() -> None:
    error = KaratTypeError(["bad ", Parameter("n", 3)], hint="Fix it.")
    other = error.but(what=["the baseline: ", *error.parts], place=Place("a", line=1))
    other.add_hint(["Or leave ", Parameter("n"), " out."])
    assert type(other) is KaratTypeError
    assert str(other) == "a:1: the baseline: bad n=3. Fix it. Or leave n out."
    assert str(error) == "bad n=3. Fix it."


def test_places_in_words_and_of_the_error_are_changed_together() -> None:
    error = KaratError(["also in ", Place("a", row=1)], place=Place("a", row=2), hint=["See ", Place("a", row=3), "."])
    changed = error.with_places(lambda place: place._replace(row=None, query=f"q{place.row}"))
    assert str(changed) == "a, query q2: also in a, query q1. See a, query q3."


@pytest.mark.parametrize("value", [5e-324, -(10**5000), b"x", [10**5000], object(), {"a": 1}], ids=range(6))
def test_an_error_can_be_printed_whatever_it_is_created_with(value: Any) -> None:
    for error in (KaratError(value), KaratError("what", place=value), KaratError("what", hint=value)):
        assert str(error)
