"""The gradings of unjudged documents that give the lowest and the highest value of a measure.

A grading assigns to each unjudged document that was retrieved a grade from 0 to the highest one. The definition of a
measure says (`unjudged`) how a higher grade affects its value. The docstring of `karat.analysis` lists the gradings
that this leaves for the lowest and the highest value, and how their number is limited. In all of them but those of
`best_grades`, each document has either the grade 0 or the highest grade, and is then called relevant.

The lowest value needs no other grades: nDCG is quasi-concave in the gains of the documents, so it is lowest where each
of them is 0 or the highest; and RBP is lowest either without any more grades, or if they raise the highest grade of the
query as far as possible, at the lowest rank.

The measure itself computes the value of each of these gradings, as a query of a hypothetical Judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Bools, Floats, Ints, Judged, ranges
from karat.registry import Measure
from karat.registry.measure import BestGrades
from karat.stats import ROUNDING, Progress

# The most unjudged documents of a query, above the cut-off, for which all gradings may be computed.
MOST_DOCUMENTS = 128
# The most gradings that are computed for the lowest, and for the highest, value of a query with more of them.
_MOST_GRADINGS = 16
# The most different grades of a query, times its unjudged documents, for which the best grades are searched for.
MOST_COMBINATIONS = 1 << 16
# Ranks, over all gradings, that are computed at a time.
_ROWS = 1 << 18


def lowest_and_highest(
    measure: Measure, judged: Judged, value: Floats, unjudged: Ints, max_grade: float, progress: Progress | None
) -> tuple[Floats, Floats, Bools]:
    """The lowest and the highest value of each query, and whether both are exact.

    They are found from its value and its number of unjudged documents. `progress` is called with the number of queries
    done, and of all queries.
    """
    low, high, exact = value.copy(), value.copy(), np.ones(len(value), bool)
    done = int((unjudged == 0).sum())
    for some in _blocks(judged.retrieved, np.flatnonzero(unjudged)):
        search = _Search(measure, GradingBlock.of(judged, some, max_grade), low[some], high[some])
        search.run()
        low[some], high[some], exact[some] = search.low, search.high, search.exact
        done += len(some)
        if progress is not None:
            progress(done, len(unjudged))
    return low, high, exact


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


class _Search:
    """The search for the lowest and the highest value of each query of a block, starting from its value."""

    def __init__(self, measure: Measure, block: GradingBlock, low: Floats, high: Floats):
        self.measure, self.block, self.low, self.high = measure, block, low, high
        self.exact = np.ones(len(low), bool)
        self.unjudged = block.unjudged.sum(axis=1)
        self.within = block.unjudged[:, : measure.cutoff].sum(axis=1)
        self.sizes = np.diff(block.offsets) + np.diff(block.grade_offsets)
        self.of_all = np.full((3, len(low)), np.nan)

    def run(self) -> None:
        """Compute the gradings that can give the lowest or the highest value."""
        effect, definition = self.measure.unjudged, self.measure.definition
        query = np.arange(len(self.unjudged))
        none = np.zeros_like(query)
        if effect == "monotone":
            self._compute(query, none, self.unjudged)
            return
        if effect == "monotone_above_cutoff":
            self._compute(query, none, self.within)
            self._compute(query, self.within, self.unjudged)
            return
        if effect == "normalized":
            self._divide(topmost=False)
        else:
            self._compute(query, self.unjudged - 1, self.unjudged)
        if definition.best_grades is not None:
            self._compute_best(definition.best_grades)
        elif definition.graded:
            self._set_outer(self._undecided(topmost=True), definition.bounds[1], topmost=True)
        elif effect == "normalized":
            self._divide(topmost=True)
        else:
            self._compute(query, none, self.unjudged)

    def _divide(self, topmost: bool) -> None:
        """Find the highest value with the m topmost documents, or the lowest with the m lowest, for all m.

        Documents below the cut-off are relevant in all gradings for the lowest value. Of stretches of m, only those are
        divided whose limit is beyond the best value that is known.
        """
        lowest, highest = self.measure.definition.bounds
        query = self._undecided(topmost)
        if self.measure.definition.normalizer is None:
            many = self.within[query] > MOST_DOCUMENTS
            self._set_outer(query[many], highest if topmost else lowest, topmost)
            query = query[~many]
        ends = np.stack([self._graded(query, np.zeros_like(query), topmost), self._last(query, topmost)])
        most = np.where(self.within > MOST_DOCUMENTS, _MOST_GRADINGS, np.inf)
        if topmost:
            most[query[self._needed(query, ends) > most[query]]] = 0
        computed = np.full(len(most), len(ends))
        while len(query):
            # The dividend at one end, divided by the normalizer at the other end.
            dividend, normalizer = ends[1 if topmost else 0, 1], ends[0 if topmost else 1, 2]
            limit = np.full(len(query), highest if topmost else lowest)
            np.divide(dividend, normalizer, out=limit, where=normalizer > 0)
            limit = np.clip(limit, lowest, highest)
            known = self.high[query] * (1 + ROUNDING) if topmost else self.low[query] * (1 - ROUNDING)
            is_open = (ends[1, 0] - ends[0, 0] > 1) & (limit > known if topmost else limit < known)
            query, ends, limit = query[is_open], ends[..., is_open], limit[is_open]
            computed += np.bincount(query, minlength=len(computed))
            too_many = (computed > most)[query]
            self._set_outer(query[too_many], limit[too_many], topmost)
            query, ends = query[~too_many], ends[..., ~too_many]
            # One more relevant document matters less, the more there are: so the middle is the geometric mean.
            middle = self._graded(query, np.sqrt((ends[0, 0] + 1) * ends[1, 0]).astype(np.int64), topmost)
            ends = np.concatenate([np.stack([ends[0], middle]), np.stack([middle, ends[1]])], axis=-1)
            query = np.r_[query, query]

    def _needed(self, query: Ints, ends: Floats) -> Floats:
        """About how many gradings it takes until the limits of highest values are below the range of the measure.

        That is, until the normalizers at the ends of a stretch differ by less than the range and the best known value.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            room = self.measure.definition.bounds[1] / self.high[query]
            needed: Floats = np.log(ends[1, 2] / ends[0, 2]) / np.log(room)
        return needed

    def _graded(self, query: Ints, m: Ints, topmost: bool) -> Floats:
        """m, and the dividend and the normalizer of the grading with the m topmost, or the m lowest, documents."""
        start, stop = (np.zeros_like(m), m) if topmost else (self.within[query] - m, self.unjudged[query])
        value, normalizer = self._compute(query, start, stop)
        return np.stack([m.astype(float), value * normalizer, normalizer])

    def _last(self, query: Ints, topmost: bool) -> Floats:
        """What `_graded` returns for all documents, which is computed once: above the cut-off, all are the topmost."""
        if topmost and (self.within < self.unjudged).any():
            return self._graded(query, self.within[query], topmost)
        new = query[np.isnan(self.of_all[0, query])]
        self.of_all[:, new] = self._graded(new, self.within[new], topmost=False)
        return self.of_all[:, query]

    def _compute_best(self, best_grades: BestGrades) -> None:
        """Compute the grading with the highest value."""
        query = self._undecided(topmost=True)
        if self.measure.unjudged == "normalized":
            few = self.block.levels[query] * self.within[query] <= MOST_COMBINATIONS
            self._set_outer(query[~few], self.measure.definition.bounds[1], topmost=True)
            query = query[few]
        if len(query):
            none = np.zeros_like(query)
            unjudged = self.block.unjudged[query, : self.measure.cutoff]
            judged = self.block.judged(query, none, none)
            graded, grades = best_grades(judged, unjudged, self.block.max_grade, **dict(self.measure.settings))
            self._compute(query, none, graded, grades)

    def _undecided(self, topmost: bool) -> Ints:
        """The queries whose highest, or lowest, value may lie beyond the known one."""
        rel = self.measure.get("rel")
        if isinstance(rel, int | float) and self.block.max_grade < rel:
            return np.zeros(0, np.int64)
        lowest, highest = self.measure.definition.bounds
        return np.flatnonzero(self.high != highest if topmost else self.low != lowest)

    def _set_outer(self, query: Ints, limit: Floats | float, topmost: bool) -> None:
        """Note that the values of some queries lie within a limit, which they may not reach."""
        if topmost:
            np.maximum.at(self.high, query, limit)
        else:
            np.minimum.at(self.low, query, limit)
        self.exact[query] = False

    def _compute(self, query: Ints, start: Ints, stop: Ints, grades: Floats | None = None) -> tuple[Floats, Floats]:
        """Compute gradings, some at a time: their values, and the normalizers of these, or 0 if they are not known.

        `grades` are those of the documents, the highest one by default.
        """
        normalize, settings = self.measure.definition.normalizer, dict(self.measure.settings)
        values, normalizers = np.empty(len(query)), np.zeros(len(query))
        offsets = np.r_[0, np.cumsum(stop - start)]
        for some in _slices(self.sizes[query]):
            new_grades = None if grades is None else grades[offsets[some.start] : offsets[some.stop]]
            judged = self.block.judged(query[some], start[some], stop[some], new_grades)
            values[some] = self.measure.compute(judged)
            if normalize is not None:
                normalizers[some] = normalize(judged, **settings)
        np.fmin.at(self.low, query, values)
        np.fmax.at(self.high, query, values)
        return values, normalizers


def _slices(sizes: Ints) -> Iterator[slice]:
    """Divide into parts whose sizes add up to at most `_ROWS`; a larger size is a part of its own."""
    total = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        stop = int(np.searchsorted(total, (total[start - 1] if start else 0) + _ROWS, "right"))
        stop = max(start + 1, stop)
        yield slice(start, stop)
        start = stop


@dataclass(frozen=True, eq=False)
class GradingBlock:
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
    def of(cls, judged: Judged, queries: Ints, max_grade: float) -> GradingBlock:
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
    def levels(self) -> Ints:
        """How many different grades the judged documents of each query have."""
        query = np.repeat(np.arange(len(self.queries)), np.diff(self.grade_offsets))
        first = np.r_[True, (self.grades[1:] != self.grades[:-1]) | (query[1:] != query[:-1])][: len(query)]
        return np.bincount(query[first], minlength=len(self.queries))

    @cached_property
    def _new(self) -> Ints:
        """The rows of unjudged documents."""
        return np.flatnonzero(self.is_new)

    @cached_property
    def _known_then_all(self) -> Ints:
        """The rows of judged documents, then all rows."""
        return np.concatenate([np.flatnonzero(~self.is_new), np.arange(len(self.is_new))])
