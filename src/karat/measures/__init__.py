"""All measures: retrieval measures, one file per family, and the answer measures of `karat.answers`.

`karat measures` lists them in the order of these imports.
"""

# ruff: isort: skip_file
from karat.measures.precision import P, Rprec, relative_P
from karat.measures.interpolation import IPrec
from karat.measures.recall import F, R, RecallAll, Success
from karat.measures.average import AP, GMAP, Bpref, infAP
from karat.measures.gain import DCG, nDCG
from karat.measures.user_models import ERR, RBP, RR, RBPResidual
from karat.measures.sets import SetAP, SetF, SetP, SetR
from karat.measures.counts import Hits, NumQ, NumRel, NumRelRet, NumRet
from karat.measures.counts import JudgedShare, UnjudgedShare
from karat.measures.spans import SpanIoU, SpanPrecision, SpanRecall
from karat.answers import EM, SAS, Contains, RougeL, TokenF1, TokenPrecision, TokenRecall
from karat.registry import Measure, definitions, meanings, parse, register

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
    "JudgedShare",
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
    "UnjudgedShare",
    "definitions",
    "infAP",
    "meanings",
    "nDCG",
    "parse",
    "register",
    "relative_P",
]
