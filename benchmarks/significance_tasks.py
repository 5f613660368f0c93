"""Benchmark tasks on significance: the paired randomization tests of karat, ranx and scipy.

Before the clock starts, the scores are created and each library has tested a hundred of them. karat's test is called
directly, because karat.compare also computes intervals, which the peers do not. The peers are too slow for many
permutations: they make fewer, and their time, which grows linearly, is extrapolated.
"""

import importlib
import math
import random
from collections.abc import Callable, Mapping
from typing import Any

from component_tasks import SEED, Means
from sizes import Size

PERMUTED, MORE_PERMUTED = TASKS = ("randomization 100000", "randomization 1000000")
MOST = {"ranx": 100_000, "scipy": 20_000}
"""The largest number of permutations that a peer makes."""
SAME = 30
"""The percentage of queries with the same score for both systems."""
BATCH = 1_000
"""The number of permutations that scipy keeps in memory at once; more do not make it faster."""
STANDARD_ERRORS = 5

# No numpy types: this module is also loaded by the tasks that measure import times.
Scores = Any
"""An array with the score of each query by one system."""
Test = Callable[[Scores, Scores, int], float]


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The function to be timed."""
    test = LIBRARIES[library]()
    array = importlib.import_module("numpy").array
    control, treatment = map(array, data(size))
    permutations = made(library, kind)
    # Enough queries that karat does not enumerate all signs.
    test(control[:100], treatment[:100], 100)
    return lambda: {"p": test(control, treatment, permutations)}


def made(library: str, kind: str) -> int:
    """The number of permutations a library makes."""
    requested = int(kind.rpartition(" ")[2])
    return min(requested, MOST.get(library, requested))


def scale(library: str, kind: str) -> float:
    """The factor from the measured time to the time for all permutations."""
    return int(kind.rpartition(" ")[2]) / made(library, kind)


def chance(kind: str, peer: str) -> float:
    """The largest accepted difference between the p-values of karat and a peer: five standard errors.

    Each library draws its own random signs. The expected p is 0.05, so a one-sided test, which would find 0.025, is
    still detected.
    """
    # scipy doubles a one-sided p-value, which has a larger variance.
    of_peer = 4 * variance(0.025) if peer == "scipy" else variance(0.05)
    return STANDARD_ERRORS * math.sqrt(variance(0.05) / made("karat", kind) + of_peer / made(peer, kind))


def variance(share: float) -> float:
    return share * (1 - share)


def karat() -> Test:
    randomization: Any = importlib.import_module("karat.stats").randomization

    def test(control: Scores, treatment: Scores, permutations: int) -> float:
        return float(randomization([treatment - control], permutations).p[0])

    return test


def ranx() -> Test:
    fisher: Any = importlib.import_module("ranx.statistical_tests").fisher_randomization_test

    def test(control: Scores, treatment: Scores, permutations: int) -> float:
        return float(fisher(control, treatment, permutations)[0])

    return test


def scipy() -> Test:
    permutation_test: Any = importlib.import_module("scipy.stats").permutation_test

    def difference(control: Scores, treatment: Scores, axis: int) -> Any:
        return treatment.mean(axis=axis) - control.mean(axis=axis)

    def test(control: Scores, treatment: Scores, permutations: int) -> float:
        done = permutation_test(
            (control, treatment),
            difference,
            permutation_type="samples",
            vectorized=True,
            n_resamples=permutations,
            batch=BATCH,
            rng=SEED,
        )
        return float(done.pvalue)

    return test


LIBRARIES: Mapping[str, Callable[[], Test]] = {"karat": karat, "ranx": ranx, "scipy": scipy}


def data(size: Size) -> tuple[list[float], list[float]]:
    """Scores from 0 to 1 of two systems, with means that give p = 0.05."""
    source = random.Random(SEED)
    pairs = []
    for _ in range(size.queries):
        score = source.random()
        other = score if source.randrange(100) < SAME else min(max(score + source.gauss(0, 0.2), 0.0), 1.0)
        pairs.append((score, other))
    # Under random signs, the sum of the differences is nearly normal: 5% of the sums are beyond 1.96 standard
    # deviations. Swap the two scores of queries until the sum is there.
    missing = 1.96 * math.sqrt(sum((other - score) ** 2 for score, other in pairs))
    missing -= sum(other - score for score, other in pairs)
    for query, (score, other) in enumerate(pairs):
        nearer = missing + 2 * (other - score)
        if abs(nearer) < abs(missing):
            pairs[query], missing = (other, score), nearer
    return [score for score, _ in pairs], [other for _, other in pairs]
