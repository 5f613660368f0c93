"""The parameters that many measures share, each with its help and its limits, said once."""

from __future__ import annotations

from typing import Annotated

from karat.judged import Credit as _Credit
from karat.parameters import Help

K = Annotated[int, Help("cut-off: only the first k ranks count", low=1, high=2**31 - 1)]
Rel = Annotated[float, Help("the grade from which a document is relevant")]
Persistence = Annotated[float, Help("how likely the reader goes on to the next rank", low=0, high=1, exclusive=True)]
Beta = Annotated[float, Help("how many times as important recall is as precision", low=0, exclusive=True)]
Credit = Annotated[
    _Credit, Help("who is paid when documents repeat: each gold once, or each rank that holds anything relevant")
]

TREC_EVAL = "trec_eval, github.com/usnistgov/trec_eval"
