"""The effect of unjudged documents: how the value of a measure changes if they are relevant, for `scores.bounds`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged, View
from karat.registry import Effect, Measure

Numbers = TypeVar("Numbers", Ints, Floats)


def monotone(measure: Measure) -> Effect | None:
    """One more relevant document never lowers the value. Not certain for rel <= 0, which makes grade 0 relevant."""
    rel = measure.get("rel")
    return None if isinstance(rel, int | float) and rel <= 0 else "monotone"


def monotone_above_cutoff(measure: Measure) -> Effect | None:
    """Only a relevant document below the cut-off, which is one more to find, lowers the value."""
    return monotone(measure) and ("monotone" if measure.cutoff is None else "monotone_above_cutoff")


def normalized(measure: Measure) -> Effect | None:
    """One more relevant document is also one more to find, which may lower the value."""
    return monotone(measure) and "normalized"


@dataclass(frozen=True, eq=False)
class Gradings:
    """Gradings of the unjudged documents of some queries: arrays have a row per query and a column per rank.

    In the grading of column i, the unjudged documents at ranks 1 to i are relevant (`topmost`), or those at rank i and
    below. The columns end at the cut-off of the measure; the last one is an empty rank. `judged` contains the queries
    with no unjudged document relevant, `below` is the number of unjudged documents below the columns, and `grade` is
    the grade of those that are relevant, the highest one possible.
    """

    judged: Judged
    unjudged: Bools
    below: Ints
    grade: float
    topmost: bool

    @cached_property
    def rank(self) -> Ints:
        """The rank of each column."""
        return np.arange(1, self.unjudged.shape[1] + 1)

    @cached_property
    def relevant(self) -> Ints:
        """How many unjudged documents are relevant, in each grading."""
        counts = self.running(self.unjudged.astype(np.int64))
        return counts if self.topmost else counts + self.below[:, None]

    def marked(self, view: View) -> Bools:
        """Which ranks have a row in a view."""
        marks = np.zeros(self.unjudged.shape, bool)
        within = view.rank <= len(self.rank)
        marks[view.query[within], view.rank[within] - 1] = True
        return marks

    def running(self, values: Numbers) -> Numbers:
        """The sum, for each grading, of a value of each rank whose unjudged document is relevant."""
        return np.cumsum(values, axis=1) if self.topmost else sum_from(values)


def sum_from(values: Numbers) -> Numbers:
    """The sum of the values at each rank and below."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
