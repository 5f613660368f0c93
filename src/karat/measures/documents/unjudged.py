"""The effect of unjudged documents: how the value of a measure changes if they are relevant, for `scores.bounds`."""

from __future__ import annotations

from karat.registry import Effect, Measure


def monotone(measure: Measure) -> Effect | None:
    """One more relevant document never lowers the value. Not certain for rel <= 0, which makes grade 0 relevant."""
    rel = measure.get("rel")
    return None if isinstance(rel, int | float) and rel <= 0 else "monotone"


def monotone_above_cutoff(measure: Measure) -> Effect | None:
    """Only a relevant document below the cut-off, which is one more to find, lowers the value."""
    return monotone(measure) and ("monotone" if measure.cutoff is None else "monotone_above_cutoff")


def normalized(measure: Measure) -> Effect | None:
    """One more relevant document is also one more to find, which may lower the value."""
    return monotone(measure) and "normalized"
