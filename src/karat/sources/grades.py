"""The grades of gold documents that are given as objects with scores."""

from __future__ import annotations

import math
from collections.abc import Collection

from karat.documents.fields import DocumentLike, document_scores
from karat.errors import KaratError, Place


def grades_by_key(
    keys: list[str | None], documents: Collection[DocumentLike], place: Place | str
) -> dict[str | None, float] | None:
    """The grades of a query's gold documents: their scores, or None if no document has a score.

    If a document is listed twice, its larger score is used.
    """
    given = document_scores(documents, place)
    missing = given.count(None)
    if missing == len(given):
        return None
    if missing:
        raise KaratError(
            f"{missing} of {len(given)} gold documents {'has' if missing == 1 else 'have'} no score",
            place=place,
            hint="Give a score to all gold documents of a query, or to none.",
        )
    grades: dict[str | None, float] = {}
    for key, score in zip(keys, given, strict=True):
        try:
            grade = float(score or 0.0)
        except OverflowError:
            grade = math.inf
        if not 0 <= grade < math.inf:
            raise KaratError(
                f"a gold document has the score {grade:g}",
                place=place,
                hint="The score of a gold document is its grade: 0 or more.",
            )
        grades[key] = max(grade, grades.get(key, grade))
    return grades
