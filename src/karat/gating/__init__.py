"""Gates: whether scores are good enough, and no worse than before."""

from karat.gating.gate import gate
from karat.gating.outcomes import Gate, Outcome, Worst
from karat.gating.rules import Rule

__all__ = ["Gate", "Outcome", "Rule", "Worst", "gate"]
