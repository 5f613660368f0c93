"""Ground truth with grades from labels, for documents that it does not judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from karat.data.judged import Ints
from karat.reading.pairs.containers import GradesFromLabels, Truth


def with_labels(truth: Truth, grades: Mapping[str, Mapping[str, float]], by: str, records: Any = None) -> Truth:
    """Ground truth with grades, by query and document id, for documents that it does not judge; `by` gave them.

    Those are documents that it lacks, or that have a negative grade. Grades for other documents, and those of queries
    without ground truth, are not used.
    """
    regraded, from_labels = truth.grades.copy(), np.zeros(len(truth.grades), bool)
    positions: list[int] = []
    docs: list[str] = []
    more_grades: list[float] = []
    for query, by_document in grades.items():
        if query not in truth.positions:
            continue
        position = truth.positions[query]
        rows = truth.index(position)
        for doc, grade in by_document.items():
            row = rows.get(doc)
            if row is None:
                positions.append(position)
                docs.append(doc)
                more_grades.append(grade)
            elif truth.grades[row] < 0:
                regraded[row], from_labels[row] = grade, True
    of_row = np.repeat(np.arange(len(truth.queries)), np.diff(truth.offsets))
    of_row = np.concatenate((of_row, np.array(positions, np.int64)))
    order = np.argsort(of_row, kind="stable")
    new = np.array(more_grades, np.float64)
    scores = truth.scores
    if isinstance(scores, np.ndarray):
        scores = np.concatenate((np.where(from_labels, regraded, scores), new))[order]
    from_labels = np.concatenate((from_labels, np.ones(len(docs), bool)))[order]
    return replace(
        truth,
        offsets=np.searchsorted(of_row[order], np.arange(len(truth.offsets))),
        docs=_reordered(truth.docs, docs, order),
        grades=np.concatenate((regraded, new))[order],
        scores=scores,
        documents=None if truth.documents is None else _reordered(truth.documents, docs, order),
        only_relevant=truth.only_relevant and not from_labels.any(),
        labels=GradesFromLabels(from_labels, by, records),
    )


def _reordered(documents: Sequence[Any], more: list[str], order: Ints) -> Sequence[Any]:
    """Documents and more of them, in another order; a column stays a column."""
    if isinstance(documents, list):
        together = [*documents, *more]
        return [together[at] for at in order.tolist()]
    from karat.reading.pairs import arrays

    column = arrays.concatenate([arrays.text_column(documents), arrays.text_column(more)])
    return arrays.Texts(column.take(arrays.row_indices(order)))
