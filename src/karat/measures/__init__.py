"""All measures, one file per family: of documents, spans, preferences, labels and answers.

`karat measures` lists them in the order of these imports.
"""

# ruff: isort: skip_file
from karat.measures.documents.precision import IPrec, IPrecAvg, P, Rprec, relative_P
from karat.measures.documents.recall import F, R, RecallAll, Success
from karat.measures.documents.average import AP, GMAP, YAAP, Bpref, GMBpref, infAP
from karat.measures.documents.gain import DCG, nDCG
from karat.measures.documents.ideal_gain import G, RnDCG, binG, nDCG_rel
from karat.measures.documents.user_models import ERR, RBP, RR, RBPResidual
from karat.measures.documents.sets import SetAP, SetF, SetP, SetR, Utility
from karat.measures.documents.counts import Hits, NumNonrelRet, NumQ, NumRel, NumRelRet, NumRet
from karat.measures.documents.counts import Hole, JudgedShare, UnjudgedShare
from karat.measures.spans import SpanIoU, SpanPrecision, SpanRecall
from karat.measures.preferences import NumPrefs, NumPrefsFulfilled, PrefBalanced, PrefGroup, PrefPair, PrefSimple
from karat.measures.labels.grounding import ContextPrecision, ContextRecall, ContextRelevance, Contradiction
from karat.measures.labels.grounding import Faithfulness
from karat.measures.labels.nuggets import NuggetCoverage, NuggetRecall
from karat.measures.labels.citations import CitationF1, CitationPrecision, CitationRecall, CitationValid
from karat.measures.labels.citations import SupportPrecision, SupportRecall
from karat.measures.labels.claims import ClaimF1, ClaimPrecision, ClaimRecall, ContextUtilization
from karat.measures.labels.claims import Hallucination, NoiseSensitivity, SelfKnowledge
from karat.measures.labels.rubrics import Abstention, AnswerRelevance, Correctness
from karat.measures.answers import EM, SAS, Contains, RougeL, TokenF1, TokenPrecision, TokenRecall
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
    "YAAP",
    "Abstention",
    "AnswerRelevance",
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
    "Contradiction",
    "Correctness",
    "F",
    "Faithfulness",
    "G",
    "GMBpref",
    "Hallucination",
    "Hits",
    "Hole",
    "IPrec",
    "IPrecAvg",
    "JudgedShare",
    "Measure",
    "NoiseSensitivity",
    "NuggetCoverage",
    "NuggetRecall",
    "NumNonrelRet",
    "NumPrefs",
    "NumPrefsFulfilled",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "PrefBalanced",
    "PrefGroup",
    "PrefPair",
    "PrefSimple",
    "R",
    "RBPResidual",
    "RecallAll",
    "RnDCG",
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
    "Utility",
    "binG",
    "definitions",
    "infAP",
    "meanings",
    "nDCG",
    "nDCG_rel",
    "parse",
    "register",
    "relative_P",
]
