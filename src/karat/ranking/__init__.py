"""Order, ties and duplicates: from ground truth and a run to Judged."""

from karat.ranking.judgment_groups import judged_by_group, preferences_by_group
from karat.ranking.ranker import (
    BatchRanker,
    Observations,
    RankedBatch,
    RankingRules,
    assemble,
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
    "assemble",
    "judged_by_group",
    "preferences_by_group",
    "rank_document_lists",
    "rank_judged",
    "rank_pool",
    "without_identical_ids",
]
