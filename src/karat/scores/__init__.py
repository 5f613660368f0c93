"""Scores: a value per query and measure, its mean, its uncertainty, and what was noticed on the way."""

from karat.scores.finding import Finding
from karat.scores.scores import Scores

__all__ = ["Finding", "Scores"]
