"""Scores: a value per query and measure, with means, confidence intervals, findings and exports."""

from karat.scores.finding import Finding
from karat.scores.scores import Scores
from karat.scores.stored_scores import StoredScores
from karat.scores.system_scores import SystemScores

__all__ = ["Finding", "Scores", "StoredScores", "SystemScores"]
