"""Errors on their way from other processes."""

from __future__ import annotations

import copy
import pickle

import pytest

from karat.errors import KaratError, KaratTypeError
from karat.labels.filled_sheets import SheetError


@pytest.mark.parametrize(
    "error",
    [
        KaratError("score 'abc' is not a number", place="run.trec:7", hint="Scores are numbers."),
        KaratTypeError("5 is not a text"),
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
