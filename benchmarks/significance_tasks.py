"""The tasks on whether a difference is chance: the paired randomisation tests of karat, ranx and scipy.

The scores are made, and each has tested a hundred of them, before the clock starts. karat's test is called by itself:
karat.compare makes intervals too, which the peers do not. The peers take too long for many permutations: they make
some, and their time, which grows evenly with them, is scaled to all.
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
"""Permutations that a peer makes."""
SAME = 30
"""Percent of the queries that both systems have the same score for."""
BATCH = 1_000
"""Permutations that scipy holds in memory at once: more do not make it faster."""
STANDARD_ERRORS = 5

# No type of numpy's: the tasks that time an import have this module loaded, too.
Scores = Any
"""An array: of each query, by one system."""
Test = Callable[[Scores, Scores, int], float]


def prepared(library: str, kind: str, size: Size) -> Callable[[], Means]:
    """The work of a task, ready to be clocked."""
    test = LIBRARIES[library]()
    array = importlib.import_module("numpy").array
    control, treatment = map(array, data(size))
    permutations = made(library, kind)
    # More than so few that karat would count all signs.
    test(control[:100], treatment[:100], 100)
    return lambda: {"p": test(control, treatment, permutations)}


def made(library: str, kind: str) -> int:
    """How many permutations a library makes."""
    asked = int(kind.rpartition(" ")[2])
    return min(asked, MOST.get(library, asked))


def scale(library: str, kind: str) -> float:
    """How many times longer the task would take with all permutations."""
    return int(kind.rpartition(" ")[2]) / made(library, kind)


def chance(kind: str, peer: str) -> float:
    """How far apart the p-values of karat and a peer may be, as each draws signs of its own: five standard errors.

    The scores are such that p is 0.05, so a test of one side, which finds 0.025, is still told apart.
    """
    # scipy doubles the p-value of one side, which varies more than that of both.
    of_peer = 4 * variance(0.025) if peer == "scipy" else variance(0.05)
    return STANDARD_ERRORS * math.sqrt(variance(0.05) / made("karat", kind) + of_peer / made(peer, kind))


def variance(share: float) -> float:
    return share * (1 - share)


def karat() -> Test:
    randomization: Any = importlib.import_module("karat.stats").randomization

    def test(control: Scores, treatment: Scores, permutations: int) -> float:
        return float(randomization((treatment - control)[:, None], permutations)[0])

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
    """Scores from 0 to 1 of two systems, whose means differ so much that p is 0.05."""
    source = random.Random(SEED)
    pairs = []
    for _ in range(size.queries):
        score = source.random()
        other = score if source.randrange(100) < SAME else min(max(score + source.gauss(0, 0.2), 0.0), 1.0)
        pairs.append((score, other))
    # Under random signs the sum of the differences is nearly normal: 5% of the sums are beyond 1.96 deviations.
    # Queries exchange their two scores until the sum is there.
    missing = 1.96 * math.sqrt(sum((other - score) ** 2 for score, other in pairs))
    missing -= sum(other - score for score, other in pairs)
    for query, (score, other) in enumerate(pairs):
        nearer = missing + 2 * (other - score)
        if abs(nearer) < abs(missing):
            pairs[query], missing = (other, score), nearer
    return [score for score, _ in pairs], [other for _, other in pairs]
