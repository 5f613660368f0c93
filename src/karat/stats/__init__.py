"""Resampling, significance tests, corrections and power, with numpy alone.

The randomization test is exact if at most 38 queries differ. It counts all of up to 2^38 ways to choose the signs
without listing them: the queries are split into two halves with 2^19 sums each. For each sum of one half, a binary
search in the sorted sums of the other half counts the totals that reach the observed difference. If all differences
are multiples of a unit, such as 0.1 for P@10, the sign patterns with each sum are counted instead, which takes hardly
any time. All other exact tests of a measure list at most 2^25 sums together, as many as 64 tests of 38 differences;
beyond that, the tests with the most differences are not exact.

Otherwise, random signs are drawn by the byte: a table contains the 256 possible sums of eight queries, so a million
permutations of 7,000 queries take 875 million look-ups. If each pair of many systems is compared, the random sums of
the systems are computed, and subtracted for each pair. The tolerance for rounding, which is the same everywhere, is
far above the rounding error of these sums. If it might not be, because systems hardly differ, the differences
themselves are added up.

The interval of a difference is the inverted test: all shifts of the differences that it does not reject. At a shift
below the mean, a sign pattern reaches the observed sum exactly if the mean of the differences that it swaps, or that
of the others, is at most the shift. So p is monotone on both sides of the mean, and no search is needed: the ends are
order statistics of the means of subsets. The sum of the signs of a pattern, which all pairs share, and the sum under
these signs, which the test needs anyway, give both means. Up to 16 queries, all subsets are listed. Beyond that, the
random signs of the test are used; of their means, only those are kept whose rank is near that of an end. If p is
exact, it decides on which side of 0 an end lies.

The confidence interval of a mean of values with a range is computed from their number, mean and variance; `registry`
has the range of each measure. All other intervals are BCa bootstrap intervals: the queries are resampled 10,000 times.
With more than 10,000 queries this would take minutes, and its limit is computed instead: the ABC interval (DiCiccio
and Efron 1992), which has the same corrections for bias and skewness, from the third moment of the values. Where one
method replaces the other, the limit lies within the spread of resampled intervals of 20 seeds; a test checks this. If
the skewness divided by 6 √n is above 0.02, as for a measure that is 0 for almost all queries, the queries are
resampled all the same. The test for a weak group of queries has the same limits: beyond them, and if each group has
1,000 queries or more, the sums of permuted groups are drawn from a normal distribution.
"""

from karat.stats.agreement import Coefficient, alphas, kappas, order_agreement
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
from karat.stats.corrected_means import CorrectedMean
from karat.stats.groups import weak_group
from karat.stats.inversion import Criterion, t_interval
from karat.stats.moments import ExactSum, Moments
from karat.stats.power import effect_size, power_of, queries_needed, smallest_difference, spread_of
from karat.stats.random_signs import MAX_EXACT, Inverted, SystemPairs, randomization
from karat.stats.significance import Tukey, bootstrap_tests, corrected, rank_sum, t_test, tukey, wilcoxon

__all__ = [
    "MAX_EXACT",
    "MAX_RESAMPLED",
    "PERMUTATIONS",
    "RESAMPLES",
    "ROUNDING",
    "SEED",
    "Coefficient",
    "CorrectedMean",
    "Criterion",
    "ExactSum",
    "Inverted",
    "Moments",
    "Progress",
    "SystemPairs",
    "Tukey",
    "abc_interval",
    "abc_interval_of_mean",
    "alphas",
    "bca_interval",
    "bootstrap_means",
    "bootstrap_tests",
    "bounded_interval",
    "corrected",
    "effect_size",
    "kappas",
    "order_agreement",
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
