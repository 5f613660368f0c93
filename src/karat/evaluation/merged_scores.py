"""One table of scores of the documents, the answers, the labels and the numbers of a log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.scores import Scores
from karat.scores.bounds import Bounds, bounds_of_rows
from karat.scores.corrections import ValuesByPeople, corrections_of_rows
from karat.scores.fingerprint import merged_fingerprint
from karat.scores.sample_variance import SampleVariance, variances_of_rows


def merged_scores(parts: Sequence[Scores], queries: Sequence[str], measures: Sequence[str], name: str) -> Scores:
    """One table of scores from several, with null for a query that a part does not have.

    Rows are in the order of `queries`, columns in the order of `measures`.
    """
    if len(parts) == 1:
        return parts[0]
    scored = {query for part in parts for query in part.queries}
    rows = [query for query in queries if query in scored]
    values = {}
    label_bounds: dict[str, Bounds] = {}
    sample_variances: dict[str, SampleVariance] = {}
    corrections: dict[str, ValuesByPeople] = {}
    for part in parts:
        row_of = {query: row for row, query in enumerate(part.queries)}
        taken = np.array([row_of.get(query, -1) for query in rows], np.int64)
        label_bounds |= bounds_of_rows(part.label_bounds, taken, tuple(rows))
        sample_variances |= variances_of_rows(part.sample_variances, taken)
        corrections |= corrections_of_rows(part.corrections, taken)
        values.update({column: np.append(numbers, np.nan)[taken] for column, numbers in part.values.items()})
    return Scores(
        tuple(rows),
        {measure: values[measure] for measure in measures},
        tuple(finding for part in parts for finding in part.findings),
        name,
        next((part.evidence for part in parts if part.evidence), None),
        next((part.answers for part in parts if part.answers), None),
        merged_fingerprint([part.fingerprint for part in parts]),
        {asked: column for part in parts for asked, column in part.asked.items()},
        verdicts=next((part.verdicts for part in parts if part.verdicts), None),
        label_bounds=label_bounds,
        sample_variances=sample_variances,
        corrections=corrections,
    )
