"""Order, ties and duplicates: from ground truth and a run to Judged."""

from karat.ranking.kernel import (
    BatchRanker,
    Observations,
    RankedBatch,
    RankingRules,
    judge,
    judge_document_lists,
    judge_pool,
    without_identical_ids,
)

__all__ = [
    "BatchRanker",
    "Observations",
    "RankedBatch",
    "RankingRules",
    "judge",
    "judge_document_lists",
    "judge_pool",
    "without_identical_ids",
]
