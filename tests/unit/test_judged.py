"""Judged: the order of its hits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.data.judged import Judged

RANKS = st.integers(1, 5) | st.integers(1, 2**62)
HITS = st.lists(st.tuples(st.integers(0, 3), RANKS, st.integers(0, 4)), max_size=12)


@given(HITS)
def test_hits_in_any_order_are_sorted_by_query_rank_and_gold_document(hits: list[tuple[int, int, int]]) -> None:
    """Also if the numbers of a hit have more bits than a number of the processor."""
    query, rank, gold = np.array(hits, np.int64).reshape(-1, 3).T
    grade = np.arange(5.0)
    judged = Judged.from_hits(
        queries=("a", "b", "c", "d"),
        in_run=np.ones(4, bool),
        retrieved=np.full(4, 2**62),
        hit_query=query,
        hit_rank=rank,
        hit_gold=gold,
        gold_grade=grade,
        gold_offsets=np.array([0, 2, 3, 4, 5]),
    )
    rows = zip(judged.hit_query, judged.hit_rank, judged.hit_gold, judged.hit_grade, strict=True)
    assert [*rows] == [(*hit, grade[hit[2]]) for hit in sorted(hits)]
