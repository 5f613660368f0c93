"""Verdicts: labels about generated answers, the data that measures of groundedness are computed from."""

from karat.data.verdicts.labels import Labels, PassagePairs, both, either, harmonic_mean, known_share
from karat.data.verdicts.left_out import without_items
from karat.data.verdicts.verdicts import AGAINST, SETS, Against, Citations, ItemSet, Relation, Verdicts

__all__ = [
    "AGAINST", "SETS", "Against", "Citations", "ItemSet", "Labels", "PassagePairs", "Relation", "Verdicts",
    "both", "either", "harmonic_mean", "known_share", "without_items",
]  # fmt: skip
