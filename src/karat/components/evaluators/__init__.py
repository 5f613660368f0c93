"""Evaluators with the interface of Haystack: each computes a measure on lists of documents or answers."""

from karat.components.evaluators.answer_exact_match import AnswerExactMatchEvaluator
from karat.components.evaluators.answer_f1 import AnswerF1Evaluator
from karat.components.evaluators.answer_measure import AnswerMeasureEvaluator
from karat.components.evaluators.context_relevance import ContextRelevanceEvaluator
from karat.components.evaluators.document_map import DocumentMAPEvaluator
from karat.components.evaluators.document_measure import DocumentMeasureEvaluator
from karat.components.evaluators.document_mrr import DocumentMRREvaluator
from karat.components.evaluators.document_ndcg import DocumentNDCGEvaluator
from karat.components.evaluators.document_recall import DocumentRecallEvaluator
from karat.components.evaluators.faithfulness import FaithfulnessEvaluator
from karat.components.evaluators.llm_evaluator import LLMEvaluator
from karat.components.evaluators.sas_evaluator import SASEvaluator

__all__ = [
    "AnswerExactMatchEvaluator",
    "AnswerF1Evaluator",
    "AnswerMeasureEvaluator",
    "ContextRelevanceEvaluator",
    "DocumentMAPEvaluator",
    "DocumentMRREvaluator",
    "DocumentMeasureEvaluator",
    "DocumentNDCGEvaluator",
    "DocumentRecallEvaluator",
    "FaithfulnessEvaluator",
    "LLMEvaluator",
    "SASEvaluator",
]
