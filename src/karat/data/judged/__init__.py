"""Judged: the ranks and grades that every retrieval measure is computed from, and the views of them."""

from karat.data.judged.arrays import Bools, Floats, Ints, distinct, place_in_query, ranges, share, stretches
from karat.data.judged.judged import Credit, Judged, Pool
from karat.data.judged.view import View

__all__ = [
    "Bools", "Credit", "Floats", "Ints", "Judged", "Pool", "View", "distinct", "place_in_query", "ranges", "share",
    "stretches",
]  # fmt: skip
