"""What many measures share, said once: parameters with their help and limits, and what unjudged documents may do."""

from __future__ import annotations

from typing import Annotated

from karat.judged import Credit as _Credit
from karat.registry import Effect, Help, Measure

K = Annotated[int, Help("cut-off: only the first k ranks count", low=1, high=2**31 - 1)]
Rel = Annotated[float, Help("the grade from which a document is relevant")]
Persistence = Annotated[float, Help("how likely the reader goes on to the next rank", low=0, high=1, exclusive=True)]
Beta = Annotated[float, Help("how many times as important recall is as precision", low=0, exclusive=True)]
Credit = Annotated[
    _Credit, Help("who is paid when documents repeat: each gold once, or each rank that holds anything relevant")
]

TREC_EVAL = "trec_eval, github.com/usnistgov/trec_eval"


def monotone(measure: Measure) -> Effect | None:
    """One more relevant document never lowers the value; a threshold of 0 makes all judged ones relevant."""
    rel = measure.get("rel")
    return None if isinstance(rel, int | float) and rel <= 0 else "monotone"


def normalised(measure: Measure) -> Effect | None:
    """One more relevant document is one more to find as well; a threshold of 0 makes all judged ones relevant."""
    return monotone(measure) and "normalised"


def normalised_by_a_cutoff(measure: Measure) -> Effect | None:
    """Without a cut-off, every relevant document that was retrieved is found, and one more never lowers the value."""
    return monotone(measure) if measure.cutoff is None else normalised(measure)
