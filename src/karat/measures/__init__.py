"""The retrieval measures, one file per family, with the answer measures the way from a name to a measure.

The order of the imports is the order in which `karat measures` lists them.
"""

# ruff: isort: skip_file
from karat.measures.precision import IPrec, P, Rprec, relative_P
from karat.measures.recall import F, R, RecallAll, Success
from karat.measures.average import AP, GMAP, Bpref, infAP
from karat.measures.gain import DCG, nDCG
from karat.measures.users import ERR, RBP, RR, RBPResidual
from karat.measures.sets import SetAP, SetF, SetP, SetR
from karat.measures.counts import Hits, NumQ, NumRel, NumRelRet, NumRet
from karat.measures.counts import judged_share as Judged
from karat.measures.counts import unjudged_share as Unjudged
from karat.measures.spans import SpanIoU, SpanPrecision, SpanRecall
from karat.answers import EM, SAS, Contains, RougeL, TokenF1, TokenPrecision, TokenRecall
from karat.measure import Measure
from karat.registry import definitions, known, register
from karat.registry import lookup as parse

__all__ = [
    "AP",
    "DCG",
    "EM",
    "ERR",
    "GMAP",
    "RBP",
    "RR",
    "SAS",
    "Bpref",
    "Contains",
    "F",
    "Hits",
    "IPrec",
    "Judged",
    "Measure",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "R",
    "RBPResidual",
    "RecallAll",
    "RougeL",
    "Rprec",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "SpanIoU",
    "SpanPrecision",
    "SpanRecall",
    "Success",
    "TokenF1",
    "TokenPrecision",
    "TokenRecall",
    "Unjudged",
    "definitions",
    "infAP",
    "known",
    "nDCG",
    "parse",
    "register",
    "relative_P",
]
