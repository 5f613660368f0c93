"""Order, ties and duplicates: a truth and a run become Judged."""

from karat.ranking.kernel import Observations, Rules, judge, judge_document_lists

__all__ = ["Observations", "Rules", "judge", "judge_document_lists"]
