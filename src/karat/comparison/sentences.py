"""What a comparison says, in words."""

from __future__ import annotations

import math

from karat.comparison.power import POWER, Power
from karat.comparison.result import Comparison, ComparisonRow
from karat.scores.combining import higher_is_better, known_range
from karat.stats import MAX_EXACT

_NOTHING = 1e-9
CORRECTED = {"holm": "Holm-corrected", "bonferroni": "Bonferroni-corrected", "bh": "Benjamini-Hochberg-corrected"}


def said(comparison: Comparison, row: ComparisonRow) -> str:
    """One comparison in a sentence or two.

    Where no difference can be shown it says so, and which one so many queries could have shown.
    """
    power = comparison.powers[row.measure, row.system, row.baseline or ""]
    parts = [_outcome(comparison, row, power)]
    if not comparison.significant(row) and power.differing:
        parts += _could(comparison, row.measure, power)
    if comparison.method.detect is not None:
        parts.append(_needed(comparison.method.detect, row.measure, power))
    return ". ".join(parts)


def _could(comparison: Comparison, measure: str, power: Power) -> list[str]:
    """What so many queries could have shown, if that can be told."""
    if _least_drawn(comparison, power) >= power.reach:
        return []
    if power.smallest is None:
        few = power.spread and power.queries > 1
        return [f"{power.queries:,} queries are too few for this test to show anything"] if few else []
    known = known_range(measure)
    if known is not None and power.smallest > known[1] - known[0]:
        return [f"No difference of {measure} is so large that {power.queries:,} queries show it with power {POWER}"]
    # Not "could show": a smaller one may well be found, but less often than that.
    smallest = number(power.smallest)
    return [f"The smallest difference that {power.queries:,} queries show with power {POWER} is {smallest}"]


def _outcome(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    difference = row.difference
    if difference is None:
        which = "all systems" if comparison.method.test == "tukey" else f"both {row.system} and {row.baseline}"
        return f"no query has a value of {row.measure} in {which}"
    if not power.differing:
        which = "their one query" if power.queries == 1 else f"all {power.queries:,} queries"
        return f"{row.system} and {row.baseline} score the same on {row.measure}, for {which}"
    if comparison.significant(row):
        better = (difference > 0) == higher_is_better(row.measure)
        first, second = (row.system, row.baseline) if better else (row.baseline, row.system)
        return f"{first} beats {second} on {row.measure} by {_size(row)} ({_sure(comparison, row, power)})"
    return (
        f"no difference between {row.system} and {row.baseline} can be shown on {row.measure}: {_signed(row)}"
        f" ({_sure(comparison, row, power)}{_why(comparison, row, power)})"
    )


def _why(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    """What stands in the way of a test, where something does."""
    if power.queries == 1:
        return "; one query says nothing about others"
    if row.p is None or row.p_corrected is None:
        return "; all differ by the same, so that nothing tells how they spread"
    alpha = comparison.method.alpha
    if power.contrary and row.p_corrected < alpha:
        return "; the ranks, which were tested, and the mean do not agree on who is better"
    raw = "p" if power.reach == alpha else "p before the correction"
    drawn = _least_drawn(comparison, power)
    if drawn >= power.reach:
        return f"; so few are drawn at random that {raw} cannot be below {p_text(drawn, alpha)}"
    if power.least_p >= power.reach:
        some = "1 differs" if power.differing == 1 else f"{power.differing} differ"
        return f"; only {some}, and {raw} cannot be below {p_text(power.least_p, alpha)}"
    return ""


def _least_drawn(comparison: Comparison, power: Power) -> float:
    """The smallest p that so many random draws can give; 0 where nothing is drawn."""
    method = comparison.method
    if method.test == "bootstrap":
        return 1 / (method.resamples + 1)
    sampled = method.test == "tukey" or (method.test == "randomization" and power.differing > MAX_EXACT)
    return 1 / (method.permutations + 1) if sampled else 0.0


def _sure(comparison: Comparison, row: ComparisonRow, power: Power) -> str:
    correction = "Tukey's HSD" if comparison.method.test == "tukey" else CORRECTED.get(comparison.method.correction)
    queries = f"{power.queries:,} quer{'y' if power.queries == 1 else 'ies'}"
    p = [] if row.p_corrected is None else [p_text(row.p_corrected, comparison.method.alpha, named=True)]
    p += [correction] if p and correction else []
    return ", ".join([*p, queries])


def p_text(p: float, alpha: float, named: bool = False) -> str:
    """A p-value as people read it, with as many digits as show on which side of alpha it is.

    >>> p_text(0.00041, 0.05), p_text(0.00001, 0.05, named=True), p_text(0.049981, 0.05)
    ('0.0004', 'p < 0.0001', '0.04998')
    """
    small = p < 0.0001
    texts = (f"{0.0001 if small else p:.{digits}f}" for digits in range(4, 17))
    text = next((text for text in texts if small or p == alpha or float(text) != alpha), f"{p:.16f}")
    return f"{'p ' if named else ''}{'< ' if small else '= ' if named else ''}{text}"


def number(value: float) -> str:
    """A difference with three digits, and more where it is small.

    >>> number(0.0412), number(0.00123), number(12.5)
    ('0.041', '0.0012', '12.500')
    """
    digits = 3 if abs(value) < _NOTHING or abs(value) >= 0.01 else 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}f}"


def _size(row: ComparisonRow) -> str:
    """How much the better one is better, with its interval."""
    ends = [abs(row.difference or 0.0)]
    if row.difference_low is not None and row.difference_high is not None:
        sign = math.copysign(1, row.difference or 0.0)
        ends += sorted((sign * row.difference_low, sign * row.difference_high))
    return _with_interval(ends, "")


def _signed(row: ComparisonRow) -> str:
    ends = [row.difference or 0.0]
    if row.difference_low is not None and row.difference_high is not None:
        ends += [row.difference_low, row.difference_high]
    return _with_interval(ends, "+")


def _with_interval(ends: list[float], sign: str) -> str:
    # As many digits as the largest of them needs, and no minus before a zero.
    digits = len(number(max(ends, key=abs)).partition(".")[2])
    rounded = (round(end, digits) + 0.0 for end in ends)
    first, *interval = (f"{end:{sign if at == 0 else ''}.{digits}f}" for at, end in enumerate(rounded))
    return f"{first} [{', '.join(interval)}]" if interval else first


def _needed(difference: float, measure: str, power: Power) -> str:
    known = known_range(measure)
    if known is not None and difference > known[1] - known[0]:
        return f"No difference of {measure} is as large as {difference:g}"
    needed = power.needed(difference)
    if needed is None:
        if power.spread:
            return f"No number of queries shows a difference of {difference:g}"
        spread = power.spread == 0 or power.queries < 2
        why = "nothing tells how they spread" if spread else f"{measure} is not averaged over queries"
        return f"How many queries would show {difference:g} cannot be told: {why}"
    return f"To show a difference of {difference:g}, {needed:,} queries are needed with power {POWER}"
