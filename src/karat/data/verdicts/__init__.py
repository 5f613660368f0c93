"""Verdicts: labels about generated answers, the data that measures of groundedness are computed from."""

from karat.data.verdicts.citations import Citations
from karat.data.verdicts.labels import (
    AGAINST,
    SETS,
    Against,
    ItemSet,
    Labels,
    PassagePairs,
    Relation,
    both,
    either,
    harmonic_mean,
    known_share,
)
from karat.data.verdicts.verdicts import Verdicts

__all__ = [
    "AGAINST", "SETS", "Against", "Citations", "ItemSet", "Labels", "PassagePairs", "Relation", "Verdicts",
    "both", "either", "harmonic_mean", "known_share",
]  # fmt: skip
