"""Nuggets: the facts that a good answer contains, and how many of them the answer and the passages have."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from karat.data.judged import Floats
from karat.data.verdicts import Relation, Verdicts, known_share
from karat.measures.documents.declarations import K
from karat.measures.documents.recall import R
from karat.registry import Help, register

Kind = Annotated[
    Literal["all", "vital", "weighted"],
    Help("which nuggets count: all, only vital ones, or all, of which those that are not vital count half"),
]
Partial = Annotated[float, Help("how much a nugget counts that the answer contains in part", low=0, high=1)]

_OKAY = 0.5
_TREC_RAG = "Pradeep et al. (2025), The Great Nugget Recall: Automating Fact Extraction and RAG Evaluation, SIGIR"
_FRESHSTACK = "Thakur et al. (2025), FreshStack: Building Realistic Benchmarks for Evaluating Retrieval"


@register(
    formula="NuggetRecall = Σ w(n) · support(n) / Σ w(n) over the nuggets n; w is 1, or for kind=weighted ½ if n is"
    " not vital; support is 1, `partial` or 0",
    reference=_TREC_RAG,
    takes="verdicts",
    aliases=("nugget_recall",),
    labels=lambda _: {Relation("support", "nuggets", "answer"): 1},
)
def NuggetRecall(verdicts: Verdicts, *, kind: Kind = "all", partial: Partial = 0) -> Floats:
    """Nugget recall: the share of the question's nuggets that the answer contains.

    `NuggetRecall(kind=vital)` is the main measure of TREC RAG 2024, strict vital recall. Null for a question without
    nuggets that count.

    >>> row = {"query": "q", "type": "nugget", "task": "support", "against": "answer"}
    >>> labels = [
    ...     {**row, "item": "n1", "importance": "vital", "label": "full"},
    ...     {**row, "item": "n2", "importance": "okay", "label": "partial"},
    ... ]
    >>> evaluate_verdicts(labels, ["NuggetRecall", "NuggetRecall(kind=weighted, partial=0.5)"]).means
    {'NuggetRecall': 0.5, 'NuggetRecall(kind=weighted, partial=0.5)': 0.8333333333333334}
    """
    labels = verdicts.support("nuggets", "answer").with_partial(partial)
    weights = np.where(verdicts.vital, 1.0, {"all": 1.0, "vital": 0.0, "weighted": _OKAY}[kind])
    counted = weights > 0
    labels, weights = labels.where(counted), weights[counted]
    return known_share(labels.sum(weights), labels.with_values(weights).sum())


@register(
    formula="NuggetCoverage@k = nuggets that a passage in the top k supports in full / nuggets",
    reference=_FRESHSTACK,
    takes="verdicts",
    aliases=("nugget_coverage", "nugget_coverage_"),
    labels=lambda _: {Relation("support", "nuggets", "passage"): 1},
)
def NuggetCoverage(verdicts: Verdicts, *, k: K | None = None) -> Floats:
    """Nugget coverage: the share of the question's nuggets that are in the first k passages.

    It is the recall of the passages with nuggets as gold documents.

    >>> row = {"query": "q", "type": "nugget", "task": "support"}
    >>> labels = [{**row, "item": "n1", "against": ["p1"], "label": "full"}]
    >>> labels += [{**row, "item": "n2", "against": ["p1"], "label": "none"}]
    >>> labels += [{"query": "q", "id": "p1", "type": "passage", "rank": 1}]
    >>> evaluate_verdicts(labels, "NuggetCoverage@10")["NuggetCoverage@10"]
    0.5
    """
    pairs = verdicts.pairs("support", "nuggets").top(k).full()
    values = R(k=k).compute(verdicts.retrieval(pairs))
    return np.where(np.isnan(pairs.best().mean()), np.nan, values)
