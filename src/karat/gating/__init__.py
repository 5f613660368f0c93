"""Gates: check scores against rules, and against the scores of a baseline."""

from karat.gating.gate import gate
from karat.gating.outcomes import Gate, Outcome, WorstQuery
from karat.gating.rules import Rule

__all__ = ["Gate", "Outcome", "Rule", "WorstQuery", "gate"]
