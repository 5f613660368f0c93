"""What an evaluation returns, or its error, in a form that can be compared to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from karat import KaratError, Scores


def outcome(compute: Callable[[], Scores]) -> Any:
    """Everything about scores, with the queries in the order of their ids; or an error, without its place."""
    try:
        scores = compute()
    except KaratError as error:
        return error.what, error.hint
    rows = scores.by_id
    assert scores.fingerprint is not None
    return {
        "queries": [scores.queries[row] for row in rows],
        "values": {name: column[rows].tobytes() for name, column in scores.values.items()},
        "means": scores.means,
        "intervals": scores.intervals(),
        "bounds": {
            name: [getattr(each, side)[rows].tobytes() for side in ("value", "low", "high", "exact", "nullable")]
            for name, each in scores.label_bounds.items()
        },
        "variances": {name: each.take(rows).within.tobytes() for name, each in scores.sample_variances.items()},
        "findings": scores.findings,
        "fingerprint": scores.fingerprint.to_dict(sorted(scores.queries)),
        "asked": scores.asked,
        "name": scores.name,
    }
