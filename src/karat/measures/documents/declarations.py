"""What many measures declare: their parameters, with help and limits, and the effect of unjudged documents.

The effect is how the value changes if unjudged documents are relevant, for `scores.bounds`.
"""

from __future__ import annotations

from typing import Annotated

from karat.data.judged import Credit as _Credit
from karat.registry import Effect, Help, Measure

K = Annotated[int, Help("cut-off: only the first k ranks count", low=1, high=2**31 - 1)]
Rel = Annotated[float, Help("the lowest grade that counts as relevant", is_threshold=True)]
Persistence = Annotated[
    float, Help("the probability that the reader goes on to the next rank", low=0, high=1, exclusive=True)
]
Beta = Annotated[float, Help("the weight of recall relative to precision", low=0)]
Credit = Annotated[
    _Credit, Help("how repeated documents are credited: each gold document once, or every rank with a relevant one")
]

TREC_EVAL = "trec_eval, github.com/usnistgov/trec_eval"


def monotone(measure: Measure) -> Effect | None:
    """One more relevant document never lowers the value. Not certain for rel <= 0, which makes grade 0 relevant."""
    rel = measure.get("rel")
    return None if isinstance(rel, int | float) and rel <= 0 else "monotone"


def monotone_above_cutoff(measure: Measure) -> Effect | None:
    """Only a relevant document below the cut-off, which is one more to find, lowers the value."""
    return monotone(measure) and ("monotone" if measure.cutoff is None else "monotone_above_cutoff")


def normalized(measure: Measure) -> Effect | None:
    """One more relevant document is also one more to find, which may lower the value."""
    return monotone(measure) and "normalized"
