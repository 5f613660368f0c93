"""compare(): test whether one system is better than another.

Comparisons and gates take `Scores` from any source. Systems are aligned by query id; the differences of each pair of
systems on each measure are all tested with the same random signs, the p-values of each family are corrected, and the
result is written as sentences. Statistical power is computed only from the spread of the differences. The gate checks
scores against rules, and tests drops in the same way.

Systems are compared only if they were evaluated in the same way. `Scores.fingerprint` contains the match, the options,
and a 64-bit digest of each query's ground truth: of the keys and grades of its judged documents, of its gold answers,
or of its gold spans. A measure is checked by the digests of the data it reads, on the compared queries only. Digests
are computed from sorted JSON with BLAKE2b, so they do not depend on the source, the order, the platform or the
version; since they are saved, they must never change. They are computed only when scores are saved, pickled or
compared with scores of another ground truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karat.comparison.compute import compare_with
from karat.comparison.method import Margins, Method, choose_method
from karat.comparison.result import Comparison
from karat.comparison.rows import ComparisonRow
from karat.options import Correction, Family, Test
from karat.reading.bytes.file_objects import FileSource
from karat.registry.selection import Measures
from karat.scores import Scores, StoredScores
from karat.scores.columns import with_lower_is_better
from karat.scores.loading import as_scores
from karat.scores.system_scores import check_systems
from karat.stats import RESAMPLES, SEED

__all__ = ["Comparison", "ComparisonRow", "Method", "choose_method", "compare", "compare_with"]


def compare(
    systems: Mapping[str, Scores | StoredScores | FileSource],
    baseline: str | None = None,
    *,
    measures: Measures | None = None,
    test: Test | str = "randomization",
    correction: Correction | str | None = None,
    family: Family | None = None,
    common_queries: bool = False,
    level: float = 0.95,
    detect: float | None = None,
    equivalence: Margins | None = None,
    permutations: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    force: bool = False,
    lower_is_better: Iterable[str] = (),
) -> Comparison:
    """Compare the Scores of several systems query by query: each system with a baseline, or all pairs.

    Scores may also be in files or folders: `compare({"bm25": "bm25.json", "dense": "s3://bucket/dense/"})`.

    - `measures`: the measures to compare; by default all that the systems have in common.
    - `test`: the significance test: `randomization` (paired; exact if few queries differ), `t`, `wilcoxon` or
      `bootstrap`, all two-sided, or `tukey` (randomized HSD) for many systems at once. Names that other tools use,
      such as `fisher` and `student`, are known too.
    - `correction`: the correction of p-values for multiple comparisons: `holm`, `bonferroni`, `bh` (Benjamini and
      Hochberg) or `none`. The default is `holm`, and `none` for `tukey`, which needs no correction.
    - `family`: which comparisons are corrected together: those of one `measure`, the default, or `all`.
    - `common_queries`: compare only the queries that all systems have; without it, other queries are an error.
    - `level`: the confidence level of the intervals. A corrected p-value below 1 − level is significant. The interval
      of a difference excludes 0 exactly if p, before the correction, is below 1 − level; with `bonferroni` and
      `tukey`, exactly if the corrected p is. With `wilcoxon` and `bootstrap`, it may disagree with p.
    - `detect`: a difference; the result says how many queries are needed to detect it.
    - `equivalence`: a difference that does not matter, for all measures or by measure: `{"nDCG@10": 0.02}`. Two
      one-sided tests at the level 1 − `level` then tell whether the systems are equivalent: whether the difference is
      smaller, in both directions.
    - `permutations`: the number of random permutations of the tests `randomization` and `tukey`; 100,000 by default.
    - `resamples`, `seed`: the number of bootstrap resamples, and the seed of everything random. The intervals of means
      of measures with a range, and those of more than 10,000 queries, are computed without resampling.
    - `force`: compare systems even if they were evaluated against different ground truth, or with another `match` or
      other options, which is an error otherwise.
    - `lower_is_better`: the columns computed elsewhere, such as a latency, in which lower values are better.

    Options that a test does not use are refused.

    >>> from karat import evaluate_runs
    >>> runs = {"one": {f"q{i}": ["x", "a"] for i in range(9)}, "two": {f"q{i}": ["a", "x"] for i in range(9)}}
    >>> comparison = compare(evaluate_runs({f"q{i}": {"a": 1} for i in range(9)}, runs, "RR"))
    >>> comparison.sentences[-1]
    'two is significantly better than one on RR, by 0.500 (p = 0.0039, 9 queries)'
    """
    method = choose_method(
        test, correction, family, permutations=permutations, common_queries=common_queries, level=level, detect=detect,
        equivalence=equivalence, resamples=resamples, seed=seed, force=force,
    )  # fmt: skip
    loaded = {name: as_scores(scores) for name, scores in systems.items()} if isinstance(systems, Mapping) else systems
    check_systems(loaded)
    return compare_with(method, with_lower_is_better(loaded, lower_is_better), baseline, measures)
