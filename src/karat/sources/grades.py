"""The grades of gold documents that are given as documents: their scores."""

from __future__ import annotations

import math
from collections.abc import Collection

from karat.documents.fields import DocumentLike, document_scores
from karat.errors import KaratError


def grades_by_key(
    keys: list[str | None], documents: Collection[DocumentLike], where: str
) -> dict[str | None, float] | None:
    """The grade of each gold document of a query, which is its score; None if they have no scores.

    Of a document that is listed twice the larger one counts.
    """
    given = document_scores(documents, where)
    missing = given.count(None)
    if missing == len(given):
        return None
    if missing:
        raise KaratError(
            f"{len(given) - missing} of {len(given)} gold documents have a score",
            where=where,
            hint="Of a query's gold documents all have a score, or none.",
        )
    grades: dict[str | None, float] = {}
    for key, score in zip(keys, given, strict=True):
        try:
            grade = float(score or 0.0)
        except OverflowError:
            grade = math.inf
        if not 0 <= grade < math.inf:
            raise KaratError(
                f"a gold document has the score {grade:g}", where=where, hint="Its score is its grade: 0 or more."
            )
        grades[key] = max(grade, grades.get(key, grade))
    return grades
