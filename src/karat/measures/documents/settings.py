"""Parameters that many measures share, with help and limits."""

from __future__ import annotations

from typing import Annotated

from karat.data.judged import Credit as _Credit
from karat.registry import Help

K = Annotated[int, Help("cut-off: only the first k ranks count", low=1, high=2**31 - 1)]
Rel = Annotated[float, Help("the lowest grade that counts as relevant")]
Persistence = Annotated[
    float, Help("the probability that the reader goes on to the next rank", low=0, high=1, exclusive=True)
]
Beta = Annotated[float, Help("the weight of recall relative to precision", low=0, exclusive=True)]
Credit = Annotated[
    _Credit, Help("how repeated documents are credited: each gold document once, or every rank with a relevant one")
]

TREC_EVAL = "trec_eval, github.com/usnistgov/trec_eval"
