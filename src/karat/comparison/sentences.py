"""What a comparison says, in words."""

from __future__ import annotations

import math

from karat.combining import higher_is_better
from karat.comparison.power import POWER, Power
from karat.comparison.result import Comparison, Row

_NOTHING = 1e-9
CORRECTED = {"holm": "Holm-corrected", "bonferroni": "Bonferroni-corrected", "bh": "Benjamini-Hochberg-corrected"}


def said(comparison: Comparison, row: Row) -> str:
    """One comparison in a sentence or two.

    Where no difference can be shown it says so, and which one so many queries could have shown.
    """
    power = comparison.powers[row.measure, row.system, row.baseline or ""]
    parts = [_outcome(comparison, row, power)]
    if not comparison.significant(row) and power.smallest is not None:
        # Not "could show": a smaller one may well be found, but less often than that.
        smallest = number(power.smallest)
        parts.append(f"The smallest difference that {power.queries:,} queries show with power {POWER} is {smallest}")
    if comparison.method.detect is not None:
        parts.append(_needed(comparison.method.detect, power))
    return ". ".join(parts)


def _outcome(comparison: Comparison, row: Row, power: Power) -> str:
    difference = row.difference
    if difference is None:
        return f"{row.system} and {row.baseline} have no query with a value of {row.measure} in common"
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


def _why(comparison: Comparison, row: Row, power: Power) -> str:
    """What stands in the way of a test, where something does."""
    if power.queries == 1:
        return "; one query says nothing about others"
    if row.p is None:
        return "; all differ by the same, so that nothing tells how they spread"
    if comparison.method.test in ("randomization", "wilcoxon") and power.least_p >= comparison.method.alpha:
        some = "1 differs" if power.differing == 1 else f"{power.differing} differ"
        return f"; only {some}, and p cannot be below {power.least_p:g}"
    return ""


def _sure(comparison: Comparison, row: Row, power: Power) -> str:
    correction = "Tukey's HSD" if comparison.method.test == "tukey" else CORRECTED.get(comparison.method.correction)
    queries = f"{power.queries:,} quer{'y' if power.queries == 1 else 'ies'}"
    p = [] if row.p_corrected is None else [p_text(row.p_corrected, True), *([correction] if correction else [])]
    return ", ".join([*p, queries])


def p_text(p: float, named: bool = False) -> str:
    """A p-value as people read it.

    >>> p_text(0.00041), p_text(0.00001, named=True), p_text(0.25, named=True)
    ('0.0004', 'p < 0.0001', 'p = 0.2500')
    """
    small = p < 0.0001
    return f"{'p ' if named else ''}{'< ' if small else '= ' if named else ''}{0.0001 if small else p:.4f}"


def number(value: float) -> str:
    """A difference with three digits, and more where it is small.

    >>> number(0.0412), number(0.00123), number(12.5)
    ('0.041', '0.0012', '12.500')
    """
    digits = 3 if abs(value) < _NOTHING or abs(value) >= 0.01 else 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{digits}f}"


def _size(row: Row) -> str:
    """How much the better one is better, with its interval."""
    ends = [abs(row.difference or 0.0)]
    if row.difference_low is not None and row.difference_high is not None:
        sign = math.copysign(1, row.difference or 0.0)
        ends += sorted((sign * row.difference_low, sign * row.difference_high))
    return _with_interval(ends, "")


def _signed(row: Row) -> str:
    ends = [row.difference or 0.0]
    if row.difference_low is not None and row.difference_high is not None:
        ends += [row.difference_low, row.difference_high]
    return _with_interval(ends, "+")


def _with_interval(ends: list[float], sign: str) -> str:
    digits = len(number(ends[0]).partition(".")[2])
    first, *interval = (f"{end:{sign if at == 0 else ''}.{digits}f}" for at, end in enumerate(ends))
    return f"{first} [{', '.join(interval)}]" if interval else first


def _needed(difference: float, power: Power) -> str:
    needed = power.needed(difference)
    if needed is None:
        why = "nothing tells how they spread" if power.spread == 0 or power.queries < 2 else "it is not of a mean"
        return f"How many queries would show {number(difference)} cannot be told: {why}"
    return f"To show a difference of {number(difference)}, {needed:,} queries are needed with power {POWER}"
