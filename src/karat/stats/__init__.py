"""Resampling, significance tests, corrections and power. No other folder imports scipy."""

from karat.stats.agreement import Kappa, kappas, kendall_tau
from karat.stats.bootstrap import (
    MAX_RESAMPLED,
    PERMUTATIONS,
    RESAMPLES,
    ROUNDING,
    SEED,
    Progress,
    abc_interval,
    abc_interval_of_mean,
    bca_interval,
    bootstrap_means,
    standard_error,
)
from karat.stats.bounded_means import bounded_interval
from karat.stats.corrections import corrected
from karat.stats.groups import weak_group
from karat.stats.inversion import Criterion, t_interval
from karat.stats.moments import ExactSum, Moments
from karat.stats.power import effect_size, power_of, queries_needed, smallest_difference, spread_of
from karat.stats.random_signs import MAX_EXACT, Inverted, SystemPairs, randomization
from karat.stats.signed_ranks import rank_sum, wilcoxon
from karat.stats.significance import Tukey, bootstrap_tests, t_test, tukey

__all__ = [
    "MAX_EXACT",
    "MAX_RESAMPLED",
    "PERMUTATIONS",
    "RESAMPLES",
    "ROUNDING",
    "SEED",
    "Criterion",
    "ExactSum",
    "Inverted",
    "Kappa",
    "Moments",
    "Progress",
    "SystemPairs",
    "Tukey",
    "abc_interval",
    "abc_interval_of_mean",
    "bca_interval",
    "bootstrap_means",
    "bootstrap_tests",
    "bounded_interval",
    "corrected",
    "effect_size",
    "kappas",
    "kendall_tau",
    "power_of",
    "queries_needed",
    "randomization",
    "rank_sum",
    "smallest_difference",
    "spread_of",
    "standard_error",
    "t_interval",
    "t_test",
    "tukey",
    "weak_group",
    "wilcoxon",
]
