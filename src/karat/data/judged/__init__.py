"""Judged: the ranks and grades that every retrieval measure is computed from, and the views of them.

For each query, `Judged` records whether the run contains the query, how many documents were retrieved, and the grades
of all judged documents. For each hit (a retrieved document that is judged), it records the query, the rank, the grade
and the judged document. Labels of documents in a verdict file become judged documents before that, so that nothing
else has to know them. With ids, each rank matches at most one judged document. With chunks, or with lists that repeat
a document, the relation is many-to-many, and each measure reads one of three views:

    view      how repeats are credited                                               read by
    raw       every pair of a rank and a judged document counts                      R, RecallAll, Success
    by gold   each rank is credited with one judged document: the one with the       AP, nDCG, DCG, RR, ERR, RBP,
              highest grade that no higher rank was credited with                    SetAP, ...
    by rank   each rank with a judged document counts once, repeats included         P, Judged, `credit=rank`

What several measures read is computed once, when the first of them asks for it: a view, its rows of a grade, their
places, and how many of them are in the top k. So P@5, P@10, R@10 and AP@10 together take little longer than one of
them. These arrays cannot be changed, so a measure cannot change the value of another one.
"""

from karat.data.judged.arrays import Bools, Floats, Ints, distinct, log2, place_in_query, ranges, share, stretches
from karat.data.judged.judged import Credit, Judged, Pool
from karat.data.judged.view import View

__all__ = [
    "Bools", "Credit", "Floats", "Ints", "Judged", "Pool", "View", "distinct", "log2", "place_in_query", "ranges",
    "share", "stretches",
]  # fmt: skip
