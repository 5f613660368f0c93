"""Random truths and rankings: ids one to one, chunks many to many, ties, negative and fractional grades."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from karat.data.judged import Judged
from tests.reference import Query

GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])


@st.composite
def queries_of_ids(draw: st.DrawFn) -> Query:
    """Queries with at most one judged document per rank, each at one rank only."""
    grades = draw(st.lists(GRADES, max_size=8))
    found = draw(st.permutations(range(len(grades))))[: draw(st.integers(0, len(grades)))]
    ranks: list[list[int]] = [[gold] for gold in found] + [[]] * draw(st.integers(0, 8))
    return Query(draw(st.permutations(ranks)), grades)


@st.composite
def queries_of_chunks(draw: st.DrawFn) -> Query:
    """Queries with several judged documents per rank, and judged documents at several ranks."""
    grades = draw(st.lists(GRADES, max_size=5))
    golds = st.lists(st.sampled_from(range(len(grades))), max_size=3, unique=True) if grades else st.just([])
    return Query(draw(st.lists(golds, max_size=8)), grades)


QUERIES = st.one_of(queries_of_ids(), queries_of_chunks())


def judged_of(queries: list[Query]) -> Judged:
    """The same queries as Judged."""
    hits = sorted(
        (at, rank, gold)
        for at, query in enumerate(queries)
        for rank, golds in enumerate(query.ranks, 1)
        for gold in golds
    )
    offsets = np.concatenate(([0], np.cumsum([len(query.grades) for query in queries], dtype=np.int64)))
    grades = np.array([grade for query in queries for grade in query.grades], np.float64)
    hit_gold = np.array([offsets[at] + gold for at, _, gold in hits], np.int64)
    return Judged(
        queries=tuple(f"q{at}" for at in range(len(queries))),
        in_run=np.ones(len(queries), bool),
        retrieved=np.array([len(query.ranks) for query in queries], np.int64),
        hit_query=np.array([at for at, _, _ in hits], np.int64),
        hit_rank=np.array([rank for _, rank, _ in hits], np.int64),
        hit_grade=grades[hit_gold],
        hit_gold=hit_gold,
        gold_grade=grades,
        gold_offsets=offsets,
    )
