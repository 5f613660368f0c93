"""Order, ties and duplicates: from ground truth and a run to Judged."""

from karat.ranking.kernel import Observations, RankingRules, judge, judge_document_lists

__all__ = ["Observations", "RankingRules", "judge", "judge_document_lists"]
