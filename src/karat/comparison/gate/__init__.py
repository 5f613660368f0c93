"""Gates: check scores against rules, and against the scores of a baseline."""

from karat.comparison.gate.gate import gate, gate_by_rules
from karat.comparison.gate.outcomes import Gate, Outcome, WorstQuery
from karat.comparison.gate.rules import Rule

__all__ = ["Gate", "Outcome", "Rule", "WorstQuery", "gate", "gate_by_rules"]
