"""The gradings of unjudged documents that give the lowest and the highest value of a measure.

A grading assigns to each unjudged document that was retrieved a grade from 0 to the highest one. The definition of a
measure says (`unjudged`) how a higher grade affects its value, and this leaves few gradings that can give the lowest or
the highest value. In all of them but one, each document has either the grade 0 or the highest grade, and is then called
relevant:

- `monotone`: a higher grade never lowers the value. None of the documents relevant, and all of them.
- `monotone_above_cutoff`: it lowers the value only below the cut-off. All of the documents above the cut-off relevant,
  and all of those below.
- `monotone_after_first`: only the first relevant document may lower the value. None, the lowest document, and all.
- `normalized`: a relevant document also adds to what is to be found. For each m, the m topmost documents relevant give
  the highest value of all gradings with m relevant documents, and the m lowest documents the lowest. Documents below
  the cut-off can only lower the value: none is relevant at the highest value, and all of them are at the lowest.

The exception is the highest value of a measure of the last two kinds that reads grades: a grade in between may be
better than both others, because the highest grade also raises what the value is divided by. The definition of such a
measure has a function that finds these grades (`best_grades`). The lowest value needs no other grades: nDCG is
quasi-concave in the gains of the documents, so it is lowest where each of them is 0 or the highest; and RBP is lowest
either without any more grades, or if they raise the highest grade of the query as far as possible, at the lowest rank.

The measure itself computes the value of each of these gradings, as a query of a hypothetical Judged. A `normalized`
measure has about 2u of them, with up to u relevant documents each. If it has an `estimate`, which computes the values
of all of them at once, up to rounding, only the gradings with the lowest and the highest estimates are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.judged import Bools, Floats, Ints, Judged, ranges
from karat.measures.unjudged import Gradings
from karat.registry import Measure
from karat.registry.measure import BestGrades, Function
from karat.stats import Progress

# Ranks, over all gradings, that are computed at a time.
_ROWS = 1 << 18
# The most gradings of a query that are computed if their estimates differ only by rounding.
_MOST = 4


def lowest_and_highest(
    measure: Measure, judged: Judged, value: Floats, unjudged: Ints, max_grade: float, progress: Progress | None
) -> tuple[Floats, Floats]:
    """The lowest and the highest value of each query, from its value and its number of unjudged documents.

    `progress` is called with the number of queries done, and of all queries.
    """
    low, high = value.copy(), value.copy()
    done = int((unjudged == 0).sum())

    def report(more: int) -> None:
        if progress is not None:
            progress(done + more, len(unjudged))

    for some in _blocks(judged.retrieved, np.flatnonzero(unjudged)):
        search = _Search(measure, _Block.of(judged, some, max_grade), low[some], high[some], report)
        search.run()
        low[some], high[some] = search.low, search.high
        report(len(some))
        done += len(some)
    return low, high


def _blocks(depth: Ints, queries: Ints) -> Iterator[Ints]:
    """Queries of about the same depth: as many at a time as have `_ROWS` ranks."""
    queries = queries[np.argsort(depth[queries], kind="stable")]
    start = 0
    while start < len(queries):
        # The last query of a block is the deepest.
        ranks = depth[queries[start : start + _ROWS]] * np.arange(1, min(_ROWS, len(queries) - start) + 1)
        stop = start + max(1, int(np.searchsorted(ranks, _ROWS, "right")))
        yield queries[start:stop]
        start = stop


@dataclass(frozen=True, eq=False)
class _Block:
    """Some queries: a row for each hit of a judged document and for each unjudged rank, in rank order.

    Documents with a negative grade (in the pool, but not judged) count as unjudged. `number` counts the unjudged ranks
    of a query from the top; in rows of judged documents, it is the number of the judged document. `grades` are those of
    the judged documents, best first, as in the ideal ranking. `unjudged` marks the unjudged ranks: a row per query, a
    column per rank.
    """

    queries: tuple[str, ...]
    retrieved: Ints
    unjudged: Bools
    rank: Ints
    is_new: Bools
    number: Ints
    offsets: Ints
    grades: Floats
    grade_offsets: Ints
    max_grade: float

    @classmethod
    def of(cls, judged: Judged, queries: Ints, max_grade: float) -> _Block:
        """These queries of a Judged."""
        golds = judged.golds[queries]
        grade = judged.gold_grade[ranges(judged.gold_offsets[queries], golds)]
        owner = np.repeat(np.arange(len(queries)), golds)
        order = np.lexsort((-grade, owner))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - (np.cumsum(golds) - golds)[owner]
        known_golds = np.bincount(owner[grade >= 0], minlength=len(queries))

        first = np.searchsorted(judged.hit_query, queries)
        hits = np.searchsorted(judged.hit_query, queries, "right") - first
        hit = ranges(first, hits)
        owner = np.repeat(np.arange(len(queries)), hits)[judged.hit_grade[hit] >= 0]
        hit = hit[judged.hit_grade[hit] >= 0]
        gold = place[judged.hit_gold[hit] - (judged.gold_offsets[queries] - (np.cumsum(golds) - golds))[owner]]

        retrieved = judged.retrieved[queries]
        shape = len(queries), int(retrieved.max())
        times = np.bincount(owner * shape[1] + judged.hit_rank[hit] - 1, minlength=shape[0] * shape[1]).reshape(shape)
        unjudged = (times == 0) & (np.arange(shape[1]) < retrieved[:, None])
        times += unjudged
        cell = np.repeat(np.arange(times.size), times.ravel())
        is_new = unjudged.ravel()[cell]
        number = (np.cumsum(unjudged, axis=1) - 1).ravel()[cell]
        number[~is_new] = gold
        return cls(
            queries=tuple(judged.queries[query] for query in queries.tolist()),
            retrieved=retrieved,
            unjudged=unjudged,
            rank=cell % shape[1] + 1,
            is_new=is_new,
            number=number,
            offsets=np.r_[0, np.cumsum(times.sum(axis=1))],
            grades=grade[order][grade[order] >= 0],
            grade_offsets=np.r_[0, np.cumsum(known_golds)],
            max_grade=max_grade,
        )

    def judged(self, query: Ints, start: Ints, stop: Ints, new_grades: Floats | None = None) -> Judged:
        """Gradings as queries: of each query, the unjudged documents from `start` to before `stop` are relevant.

        They have the highest grade, or `new_grades`, one after the other, and become new golds, before the other golds.
        """
        row, rows = self._rows(query, start, stop)
        golds = np.diff(self.grade_offsets)[query]
        offsets = np.r_[0, np.cumsum(stop - start + golds)]
        grades = np.full(offsets[-1], self.max_grade)
        if new_grades is not None:
            grades[ranges(offsets[:-1], stop - start)] = new_grades
        grades[ranges(offsets[1:] - golds, golds)] = self.grades[ranges(self.grade_offsets[query], golds)]
        grading = np.repeat(np.arange(len(query)), rows)
        gold = self.number[row] + np.repeat(offsets[:-1] - start, rows)
        known = np.flatnonzero(~self.is_new[row])
        gold[known] += stop[grading[known]]
        return Judged.from_hits(
            queries=tuple(self.queries[at] for at in query.tolist()),
            in_run=np.ones(len(query), bool),
            retrieved=self.retrieved[query],
            hit_query=grading,
            hit_rank=self.rank[row],
            hit_gold=gold,
            gold_grade=grades,
            gold_offsets=offsets,
        )

    def _rows(self, query: Ints, start: Ints, stop: Ints) -> tuple[Ints, Ints]:
        """The rows of gradings, and how many each has.

        They are all rows from the first to the last unjudged document that is relevant, and those of judged documents
        above and below.
        """
        first_new = np.r_[0, np.cumsum(self.unjudged.sum(axis=1))]
        first_known = self.offsets - first_new
        top = self.offsets[query]
        start, stop = np.where(start < stop, (start, stop), 0)
        begin = np.where(start < stop, self._new[np.minimum(first_new[query] + start, first_new[-1] - 1)], top)
        end = np.where(start < stop, self._new[first_new[query] + stop - 1] + 1, top)
        below = first_known[query] + (end - top - stop)
        first = np.stack([first_known[query], first_known[-1] + begin, below], axis=1)
        lengths = np.stack([begin - top - start, end - begin, first_known[query + 1] - below], axis=1)
        row = self._known_then_all[ranges(first.ravel(), lengths.ravel())]
        return row, lengths.sum(axis=1)

    @cached_property
    def _new(self) -> Ints:
        """The rows of unjudged documents."""
        return np.flatnonzero(self.is_new)

    @cached_property
    def _known_then_all(self) -> Ints:
        """The rows of judged documents, then all rows."""
        return np.concatenate([np.flatnonzero(~self.is_new), np.arange(len(self.is_new))])


class _Search:
    """The search for the lowest and the highest value of each query of a block, starting from its value."""

    def __init__(self, measure: Measure, block: _Block, low: Floats, high: Floats, report: Callable[[int], None]):
        self.measure, self.block, self.low, self.high, self.report = measure, block, low, high, report
        self.unjudged = block.unjudged.sum(axis=1)
        self.within = block.unjudged[:, : measure.cutoff].sum(axis=1)
        self.sizes = np.diff(block.offsets) + np.diff(block.grade_offsets)

    def run(self) -> None:
        """Compute the gradings that can give the lowest or the highest value."""
        effect, definition = self.measure.unjudged, self.measure.definition
        best_grades = definition.best_grades if effect != "monotone" else None
        query = np.arange(len(self.unjudged))
        none = np.zeros_like(query)
        if effect == "normalized" and definition.estimate is not None:
            self._compute(query, none, self.unjudged)
            self._compute_estimated(definition.estimate, topmost=False)
            if best_grades is None:
                self._compute_estimated(definition.estimate, topmost=True)
        elif effect == "normalized":
            self._compute_all()
        elif effect == "monotone_above_cutoff":
            self._compute(query, none, self.within)
            self._compute(query, self.within, self.unjudged)
        else:
            if effect == "monotone_after_first":
                self._compute(query, self.unjudged - 1, self.unjudged)
            if best_grades is None:
                self._compute(query, none, self.unjudged)
        if best_grades is not None:
            self._compute_best(best_grades)

    def _compute_all(self) -> None:
        """Compute, for each m, the gradings with the m topmost and with the m lowest documents."""
        topmost, lowest = np.minimum(self.within, self.unjudged - 1), np.minimum(self.within + 1, self.unjudged)
        for some in _slices(self.sizes * (topmost + lowest)):
            query = np.arange(some.start, some.stop)
            above, below = np.repeat(query, topmost[some]), np.repeat(query, lowest[some])
            stop = ranges(np.ones_like(query), topmost[some])
            start = ranges(np.zeros_like(query), lowest[some])
            self._compute(above, np.zeros_like(above), stop)
            self._compute(below, start, self.unjudged[below])
            self.report(some.stop)

    def _compute_estimated(self, estimate: Function, topmost: bool) -> None:
        """Compute the gradings whose estimate is the highest, or the lowest, and those that differ only by rounding."""
        known = self.high if topmost else self.low
        query = self._undecided(topmost)
        if not len(query):
            return
        gradings = self._gradings(query, topmost)
        gain = (estimate(gradings, **dict(self.measure.settings)) - known[query, None]) * (1 if topmost else -1)
        # These two are known.
        gain[(gradings.relevant == 0) | (gradings.relevant == self.unjudged[query, None])] = -np.inf
        first = np.argmax(gain, axis=1)
        best = np.take_along_axis(gain, first[:, None], axis=1)
        summands = len(gradings.rank) + int(np.diff(self.block.grade_offsets).max(initial=0))
        rounding = 8 * summands * np.finfo(float).eps * (np.abs(known[query, None]) + np.maximum(best, 0))
        chosen = (gain != best) & (gain >= np.maximum(best, 0) - rounding)
        for each in np.flatnonzero(chosen.sum(axis=1) > _MOST).tolist():
            chosen[each, np.argsort(gain[each])[:-_MOST]] = False
        chosen[np.arange(len(query)), first] = best[:, 0] >= -rounding[:, 0]
        row, column = np.nonzero(chosen)
        relevant = gradings.relevant[row, column]
        end = self.unjudged[query[row]]
        start, stop = (np.zeros_like(relevant), relevant) if topmost else (end - relevant, end)
        self._compute(query[row], start, stop)

    def _compute_best(self, best_grades: BestGrades) -> None:
        """Compute the grading with the highest value."""
        query = self._undecided(topmost=True)
        if len(query):
            graded, grades = best_grades(self._gradings(query, topmost=True), **dict(self.measure.settings))
            self._compute(query, np.zeros_like(graded), graded, grades)

    def _undecided(self, topmost: bool) -> Ints:
        """The queries whose highest, or lowest, value may lie beyond the known one."""
        rel = self.measure.get("rel")
        if isinstance(rel, int | float) and self.block.max_grade < rel:
            return np.zeros(0, np.int64)
        lowest, highest = self.measure.definition.bounds
        return np.flatnonzero(self.high != highest if topmost else self.low != lowest)

    def _gradings(self, query: Ints, topmost: bool) -> Gradings:
        none = np.zeros_like(query)
        return Gradings(
            self.block.judged(query, none, none),
            np.pad(self.block.unjudged[query, : self.measure.cutoff], ((0, 0), (0, 1))),
            (self.unjudged - self.within)[query],
            self.block.max_grade,
            topmost,
        )

    def _compute(self, query: Ints, start: Ints, stop: Ints, grades: Floats | None = None) -> None:
        """Compute gradings, some at a time; `grades` are those of the documents, the highest one by default."""
        offsets = np.r_[0, np.cumsum(stop - start)]
        for some in _slices(self.sizes[query]):
            new_grades = None if grades is None else grades[offsets[some.start] : offsets[some.stop]]
            values = self.measure.compute(self.block.judged(query[some], start[some], stop[some], new_grades))
            np.fmin.at(self.low, query[some], values)
            np.fmax.at(self.high, query[some], values)


def _slices(sizes: Ints) -> Iterator[slice]:
    """Divide into parts whose sizes add up to at most `_ROWS`; a larger size is a part of its own."""
    total = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        stop = int(np.searchsorted(total, (total[start - 1] if start else 0) + _ROWS, "right"))
        stop = max(start + 1, stop)
        yield slice(start, stop)
        start = stop
