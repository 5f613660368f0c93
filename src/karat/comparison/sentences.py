"""The result of a comparison in words."""

from __future__ import annotations

import math

from karat.comparison.power import POWER, Power
from karat.comparison.result import Comparison, ComparisonRow
from karat.errors import plural
from karat.scores.combining import known_range
from karat.stats import MAX_EXACT

CORRECTED = {"holm": "Holm-corrected", "bonferroni": "Bonferroni-corrected", "bh": "Benjamini-Hochberg-corrected"}

_NEGLIGIBLE = 1e-9
_AT_POWER = f"at statistical power {POWER}"


def sentence_for(comparison: Comparison, row: ComparisonRow) -> str:
    """The result of one comparison.

    If the difference is not significant, a second sentence gives the minimum detectable difference. If `detect` was
    given, the last one gives the number of queries that it needs.
    """
    power = comparison.powers[row.measure, row.system, row.baseline or ""]
    parts = [_result(comparison, row, power)]
    if not comparison.significant(row) and power.nonzero:
        parts += _detectable(comparison, row.measure, power)
    if comparison.method.detect is not None:
        parts.append(_queries_needed(comparison.method.detect, row.measure, power))
    return ". ".join(parts)


def _result(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    system, baseline, measure = row.system, row.baseline, row.measure
    if row.difference is None:
        where = "all systems" if comparison.method.test == "tukey" else f"both {system} and {baseline}"
        return f"no query has a value for {measure} in {where}"
    if not power.nonzero:
        where = {1: "the only query", 2: "both queries"}.get(power.queries, f"all {power.queries:,} queries")
        return f"{system} and {baseline} have the same {measure} on {where}"
    if comparison.significant(row):
        better, worse = (system, baseline) if row.is_improvement else (baseline, system)
        details = _test_details(comparison, row, power)
        return f"{better} is significantly better than {worse} on {measure}, by {_size(row)} ({details})"
    details = _test_details(comparison, row, power) + _obstacle(comparison, row, power)
    return f"no significant difference between {system} and {baseline} on {measure}: {_signed(row)} ({details})"


def _test_details(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """The p-value, its correction and the number of queries."""
    queries = plural(power.queries, "query")
    if row.p_corrected is None:
        return queries
    correction = "Tukey's HSD" if comparison.method.test == "tukey" else CORRECTED.get(comparison.method.correction)
    p = p_text(row.p_corrected, comparison.method.alpha, named=True)
    return ", ".join([p, *([correction] if correction else []), queries])


def _obstacle(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """Why no difference of any size could be significant; an empty string if one could be."""
    if power.queries == 1:
        return "; one query is not enough for a test"
    if row.p is None or row.p_corrected is None:
        return "; all differences are equal, so their variance cannot be estimated"
    alpha = comparison.method.alpha
    if power.ranks_disagree and row.p_corrected < alpha:
        return "; the ranks, which this test compares, and the mean disagree on which system is better"
    p = "p" if power.p_threshold == alpha else "the uncorrected p"
    drawn, least = _random_draws(comparison, power)
    if least >= power.p_threshold:
        return f"; with {drawn}, {p} cannot be below {p_text(least, alpha)}"
    if power.minimum_p >= power.p_threshold:
        differ = "query differs" if power.nonzero == 1 else "queries differ"
        return f"; only {power.nonzero} {differ}, so {p} cannot be below {p_text(power.minimum_p, alpha)}"
    return ""


def _random_draws(comparison: Comparison, power: Power) -> tuple[str, float]:
    """The number of random draws of the test, and the smallest p-value that they allow; 0 if nothing is drawn."""
    method = comparison.method
    if method.test == "bootstrap":
        return plural(method.resamples, "resample"), 1 / (method.resamples + 1)
    if method.test == "tukey" or (method.test == "randomization" and power.nonzero > MAX_EXACT):
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


def _queries_needed(difference: float, measure: str, power: Power) -> str:
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

    >>> p_text(0.00041, 0.05), p_text(0.00001, 0.05, named=True), p_text(0.049981, 0.05)
    ('0.0004', 'p < 0.0001', '0.04998')
    """
    small = p < 0.0001
    texts = (f"{0.0001 if small else p:.{digits}f}" for digits in range(4, 17))
    text = next((text for text in texts if small or p == alpha or float(text) != alpha), f"{p:.16f}")
    return f"{'p ' if named else ''}{'< ' if small else '= ' if named else ''}{text}"


def difference_text(value: float) -> str:
    """A difference with three digits, and with more if it is small.

    >>> difference_text(0.0412), difference_text(0.00123), difference_text(12.5)
    ('0.041', '0.0012', '12.500')
    """
    digits = 3 if abs(value) < _NEGLIGIBLE or abs(value) >= 0.01 else 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}f}"


def _size(row: ComparisonRow) -> str:
    """The absolute difference, with its interval."""
    ends = [abs(row.difference or 0.0)]
    if row.difference_low is not None and row.difference_high is not None:
        sign = math.copysign(1, row.difference or 0.0)
        ends += sorted((sign * row.difference_low, sign * row.difference_high))
    return _with_interval(ends, "")


def _signed(row: ComparisonRow) -> str:
    """The difference with its sign, and its interval."""
    ends = [row.difference or 0.0]
    if row.difference_low is not None and row.difference_high is not None:
        ends += [row.difference_low, row.difference_high]
    return _with_interval(ends, "+")


def _with_interval(ends: list[float], sign: str) -> str:
    # All numbers have as many digits as the largest one needs, and a zero has no minus sign.
    digits = len(difference_text(max(ends, key=abs)).partition(".")[2])
    rounded = (round(end, digits) + 0.0 for end in ends)
    first, *interval = (f"{end:{sign if at == 0 else ''}.{digits}f}" for at, end in enumerate(rounded))
    return f"{first} [{', '.join(interval)}]" if interval else first
