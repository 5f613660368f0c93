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
from karat.measures.counts import Hole, JudgedShare, UnjudgedShare
from karat.measures.spans import SpanIoU, SpanPrecision, SpanRecall
from karat.measures.grounding import ContextPrecision, ContextRecall, ContextRelevance, Faithfulness
from karat.measures.nuggets import NuggetCoverage, NuggetRecall
from karat.measures.citations import CitationF1, CitationPrecision, CitationRecall, CitationValid
from karat.measures.citations import SupportPrecision, SupportRecall
from karat.measures.claims import ClaimF1, ClaimPrecision, ClaimRecall, ContextUtilization
from karat.measures.claims import Hallucination, NoiseSensitivity, SelfKnowledge
from karat.measures.rubrics import Abstention, Correctness
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
    "Abstention",
    "Bpref",
    "CitationF1",
    "CitationPrecision",
    "CitationRecall",
    "CitationValid",
    "ClaimF1",
    "ClaimPrecision",
    "ClaimRecall",
    "Contains",
    "ContextPrecision",
    "ContextRecall",
    "ContextRelevance",
    "ContextUtilization",
    "Correctness",
    "F",
    "Faithfulness",
    "Hallucination",
    "Hits",
    "Hole",
    "IPrec",
    "JudgedShare",
    "Measure",
    "NoiseSensitivity",
    "NuggetCoverage",
    "NuggetRecall",
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
    "SelfKnowledge",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "SpanIoU",
    "SpanPrecision",
    "SpanRecall",
    "Success",
    "SupportPrecision",
    "SupportRecall",
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
