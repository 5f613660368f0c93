"""The result of a comparison in words."""

from __future__ import annotations

import math

from karat.comparison.method import Method
from karat.comparison.power import POWER, Power
from karat.comparison.result import Comparison
from karat.comparison.rows import ComparisonRow
from karat.errors import plural
from karat.scores.combining import known_range

CORRECTED = {"holm": "Holm-corrected", "bonferroni": "Bonferroni-corrected", "bh": "Benjamini-Hochberg-corrected"}

# The share of the largest number beside it that a difference, or the end of an interval, may have by rounding alone.
_ROUNDING = 1e-9
_AT_POWER = f"at statistical power {POWER}"


def sentence_for(comparison: Comparison, row: ComparisonRow, scope: str = "") -> str:
    """The result of one comparison, on the queries that `scope` names, such as ` for language=de`.

    If the difference is not significant, a second sentence gives the minimum detectable difference. If a margin was
    given, the next one says whether the systems are equivalent; if `detect` was given, the last one gives the number of
    queries that it needs.
    """
    power = comparison.powers[row.key]
    parts = [result_text(comparison, row, scope)]
    if not comparison.significant(row) and power.nonzero:
        parts += _detectable(comparison, row.measure, power)
    if row.margin is not None and row.difference is not None:
        parts.append(_equivalence(comparison, row, scope))
    if comparison.method.detect is not None:
        parts.append(queries_needed_text(comparison.method.detect, row.measure, power))
    return ". ".join(parts)


def correction_text(method: Method, comparisons: int) -> str:
    """The name of the correction, such as `Holm-corrected`; an empty string if nothing was corrected."""
    if method.test == "tukey":
        return "Tukey's HSD"
    return CORRECTED.get(method.correction, "") if comparisons > 1 else ""


def result_text(comparison: Comparison, row: ComparisonRow, scope: str = "") -> str:
    """The first sentence of `sentence_for`: the difference, and whether it is significant."""
    power = comparison.powers[row.key]
    system, baseline, measure = row.system, row.baseline, f"{row.measure}{scope}"
    if row.difference is None:
        systems = "all systems" if comparison.method.test == "tukey" else f"both {system} and {baseline}"
        return f"no query has a value for {measure} in {systems}"
    if not power.nonzero:
        queries = {1: "the only query", 2: "both queries"}.get(power.queries, f"all {power.queries:,} queries")
        return f"{system} and {baseline} have the same {measure} on {queries}"
    details = _test_details(comparison, row, power)
    if comparison.significant(row):
        better, worse = (system, baseline) if row.is_improvement else (baseline, system)
        details += _disagreement(comparison, row, power)
        return f"{better} is significantly better than {worse} on {measure}, by {_difference(row)} ({details})"
    details += obstacle(comparison, row, power) or _disagreement(comparison, row, power)
    between = f"between {system} and {baseline} on {measure}"
    if row.p_corrected is None:
        return f"the difference {between} cannot be tested: {_difference(row, signed=True)} ({details})"
    return f"no significant difference {between}: {_difference(row, signed=True)} ({details})"


def _test_details(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """The p-value, its correction and the number of queries."""
    queries = plural(power.queries, "query")
    if row.p_corrected is None:
        return queries
    p = p_text(row.p_corrected, comparison.method.alpha, named=True)
    return ", ".join(filter(None, [p, correction_text(comparison.method, power.comparisons), queries]))


def obstacle(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """Why no difference of any size could be significant; an empty string if one could be."""
    if power.queries == 1:
        return "; one query is not enough for a test"
    if row.p is None or row.p_corrected is None:
        return "; all differences are equal, so their variance cannot be estimated"
    alpha = comparison.method.alpha
    if power.ranks_disagree and row.p_corrected < alpha:
        return "; the ranks, which this test compares, and the mean disagree on which system is better"
    corrected = "" if power.p_threshold == alpha else f" before the correction over {power.comparisons:,} comparisons"
    drawn, least = _random_draws(comparison, power)
    if least >= power.p_threshold:
        return f"; with {drawn}, p cannot be below {p_text(least, alpha)}{corrected}"
    if power.minimum_p >= power.p_threshold:
        differ = "query differs" if power.nonzero == 1 else "queries differ"
        return f"; only {power.nonzero} {differ}, so p cannot be below {p_text(power.minimum_p, alpha)}{corrected}"
    return ""


def _disagreement(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """Why the interval and the test do not agree on whether there is a difference; an empty string if they do."""
    if row.difference_low is None or row.difference_high is None or row.p is None:
        return ""
    low, high = without_rounding([row.difference_low, row.difference_high])
    excludes = low > 0 or high < 0
    if excludes == comparison.significant(row):
        return ""
    verb = "excludes" if excludes else "contains"
    if excludes and power.comparisons > 1 and row.p < comparison.method.alpha:
        why = f"it, unlike p, is not corrected over {power.comparisons:,} comparisons"
    elif row.difference_interval != "bca":
        return ""  # the end of the interval is 0 up to rounding
    elif comparison.method.test == "wilcoxon":
        why = "it is for the mean, whereas this test compares ranks"
    else:
        why = "it is computed by another method, the BCa bootstrap"
    return f"; the interval {verb} 0 because {why}"


def _random_draws(comparison: Comparison, power: Power) -> tuple[str, float]:
    """The number of random draws of the test, and the smallest p-value that they allow; 0 if nothing is drawn."""
    method = comparison.method
    if method.test == "bootstrap":
        return plural(method.resamples, "resample"), 1 / (method.resamples + 1)
    if method.test == "tukey" or (method.test == "randomization" and not power.exact):
        return plural(method.permutations, "permutation"), 1 / (method.permutations + 1)
    return "", 0.0


def _detectable(comparison: Comparison, measure: str, power: Power) -> list[str]:
    """A sentence on the minimum detectable difference, if it can be estimated."""
    if _random_draws(comparison, power)[1] >= power.p_threshold:
        return []
    queries = plural(power.queries, "query")
    smallest = power.minimum_detectable_difference
    if smallest is None:
        too_few = power.spread and power.queries > 1
        return [f"{queries} are too few for this test to find a significant difference"] if too_few else []
    if _is_impossible(smallest, measure):
        return [f"{queries} are too few to detect any possible difference in {measure} {_AT_POWER}"]
    # Smaller differences may be found too, but with less power.
    return [f"The minimum detectable difference with {queries} is {difference_text(smallest)} {_AT_POWER}"]


def _equivalence(comparison: Comparison, row: ComparisonRow, scope: str) -> str:
    """Whether two systems are shown to be equivalent."""
    p, power = row.p_equivalent_corrected, comparison.powers[row.key]
    within = f"within ±{row.margin:g}"
    if p is None or power.queries == 1:
        why = "one query is not enough for a test" if power.queries == 1 else "all differences are equal"
        return f"Equivalence {within} cannot be tested: {why}"
    details = [p_text(p, comparison.method.alpha, named=True), correction_text(comparison.method, power.comparisons)]
    tested = ", ".join(filter(None, details))
    if comparison.equivalent(row):
        return f"{row.system} and {row.baseline} are equivalent on {row.measure}{scope} {within} ({tested})"
    return f"They are not shown to be equivalent {within} ({tested})"


def queries_needed_text(difference: float, measure: str, power: Power) -> str:
    """How many queries it takes to detect a difference, or why that is not known."""
    if _is_impossible(difference, measure):
        return f"A difference in {measure} cannot be as large as {difference:g}"
    needed = power.queries_needed(difference)
    if needed is not None:
        return f"Detecting a difference of {difference:g} takes {plural(needed, 'query')} {_AT_POWER}"
    if power.spread:
        return f"No number of queries can detect a difference of {difference:g}"
    no_variance = power.spread == 0 or power.queries < 2
    why = (
        "the variance of the differences cannot be estimated" if no_variance else f"{measure} is not an arithmetic mean"
    )
    return f"The number of queries needed to detect a difference of {difference:g} is unknown: {why}"


def _is_impossible(difference: float, measure: str) -> bool:
    known = known_range(measure)
    return known is not None and difference > known[1] - known[0]


def p_text(p: float, alpha: float, named: bool = False) -> str:
    """A p-value with four digits, or with as many as show on which side of alpha it is.

    >>> p_text(0.00041, 0.05), p_text(0.00001, 0.05, named=True), p_text(0.049981, 0.05), p_text(0.00001, 0.00002)
    ('0.0004', 'p < 0.0001', '0.04998', '1e-05')
    """
    if p < 0.0001 <= alpha:
        return f"{'p ' if named else ''}< 0.0001"
    texts = (f"{p:.{digits}{'f' if p >= 0.0001 else 'g'}}" for digits in range(4, 17))
    text = next((text for text in texts if p == alpha or float(text) != alpha), repr(p))
    return f"p = {text}" if named else text


def difference_text(value: float) -> str:
    """A difference with three digits, and with more if it is small.

    >>> difference_text(0.0412), difference_text(0.00123), difference_text(12.5), difference_text(0.00000412)
    ('0.041', '0.0012', '12.500', '4.1e-06')
    """
    if not value or abs(value) >= 0.01:
        return f"{value:.3f}"
    return f"{value:.2g}" if abs(value) < 0.0001 else f"{value:.{1 - math.floor(math.log10(abs(value)))}f}"


def without_rounding(numbers: list[float]) -> list[float]:
    """A difference and the ends of its interval, with 0 for those that are not 0 by rounding alone."""
    rounding = _ROUNDING * max(map(abs, numbers), default=0.0)
    return [0.0 if abs(number) <= rounding else number for number in numbers]


def _difference(row: ComparisonRow, *, signed: bool = False) -> str:
    """The difference with its interval: with its sign, or as its size."""
    ends = (row.difference_low, row.difference_high)
    interval = None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
    return interval_of_difference(row.difference or 0.0, interval, signed=signed)


def interval_of_difference(value: float, interval: tuple[float, float] | None, *, signed: bool) -> str:
    """A difference with its interval: with its sign, or as its size.

    >>> interval_of_difference(-0.0412, (-0.08, 0.0024), signed=False)
    '0.041 [-0.002, 0.080]'
    """
    direction = 1.0 if signed else math.copysign(1, value)
    numbers = [direction * value, *sorted(direction * end for end in interval or ())]
    # Numbers have as many digits as the largest one needs, but only 0 is shown as 0, since it matters whether an
    # interval contains it.
    largest = max(map(abs, numbers))
    digits = len(difference_text(largest).partition(".")[2]) if largest >= 0.0001 else 3
    values = without_rounding(numbers)
    texts = [f"{value:.2g}" if value and not round(value, digits) else f"{value:.{digits}f}" for value in values]
    first = f"+{texts[0]}" if signed and values[0] > 0 else texts[0]
    return f"{first} [{', '.join(texts[1:])}]" if texts[1:] else first
