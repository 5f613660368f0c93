"""Order, ties and duplicates: from ground truth and a run to Judged."""

from karat.ranking.ranker import (
    BatchRanker,
    Observations,
    RankedBatch,
    RankingRules,
    rank_document_lists,
    rank_judged,
    rank_pool,
    without_identical_ids,
)

__all__ = [
    "BatchRanker",
    "Observations",
    "RankedBatch",
    "RankingRules",
    "rank_document_lists",
    "rank_judged",
    "rank_pool",
    "without_identical_ids",
]
