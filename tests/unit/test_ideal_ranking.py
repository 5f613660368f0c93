"""The ideal ranking: the judged documents of each query, best first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.data.judged import Judged

grades = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]) | st.floats(-1e6, 1e6)


@given(st.lists(st.lists(grades, max_size=6), max_size=6))
def test_the_ideal_ranking_sorts_the_grades_of_each_query_in_descending_order(of_queries: list[list[float]]) -> None:
    none = np.empty(0, np.int64)
    judged = Judged.from_hits(
        queries=tuple(map(str, range(len(of_queries)))),
        in_run=np.ones(len(of_queries), bool),
        retrieved=np.zeros(len(of_queries), np.int64),
        hit_query=none,
        hit_rank=none,
        hit_gold=none,
        gold_grade=np.array([grade for each in of_queries for grade in each], np.float64),
        gold_offsets=np.cumsum([0, *map(len, of_queries)]),
    )
    rows = zip(judged.ideal.query.tolist(), judged.ideal.rank.tolist(), judged.ideal.grade.tolist(), strict=True)
    assert list(rows) == [
        (query, rank, grade)
        for query, each in enumerate(of_queries)
        for rank, grade in enumerate(sorted(each, reverse=True), 1)
    ]
