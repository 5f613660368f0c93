"""GradingBlock: some queries, and any gradings of their unjudged documents as a hypothetical Judged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from karat.data.judged import Bools, Floats, Ints, Judged, ranges


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
