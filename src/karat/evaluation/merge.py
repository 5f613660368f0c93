"""Documents and answers of one system side by side, in one table of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from karat.scores import Scores


def beside(parts: Sequence[Scores], queries: Sequence[str], measures: Sequence[str], name: str) -> Scores:
    """Scores of one system, of its documents and of its answers, in one table; null where a query has no value."""
    if len(parts) == 1:
        return parts[0]
    known = [set(part.queries) for part in parts]
    rows = [query for query in queries if any(query in there for there in known)]
    values = {}
    for part in parts:
        at = {query: row for row, query in enumerate(part.queries)}
        taken = np.array([at.get(query, len(at)) for query in rows], np.int64)
        values.update({column: np.append(numbers, np.nan)[taken] for column, numbers in part.values.items()})
    return Scores(
        tuple(rows),
        {measure: values[measure] for measure in measures},
        tuple(finding for part in parts for finding in part.findings),
        name,
        next((part.evidence for part in parts if part.evidence), None),
        next((part.answers for part in parts if part.answers), None),
    )
