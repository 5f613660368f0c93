"""The texts of a gate: limits and values, with as many digits as are needed to tell them apart."""

from __future__ import annotations

from karat.comparison.gate.rules import Rule
from karat.comparison.sentences import CORRECTED, p_text
from karat.options import Correction
from karat.scores.summary import cell_text, nonzero_text
from karat.stats import ROUNDING

_DIGITS = (4, 6, 8, 10, 12)


def exceeds(value: float, limit: float) -> bool:
    """Whether a value is above a limit by more than a rounding error.

    >>> exceeds(0.31 - 0.3, 0.01), exceeds(0.0101, 0.01)
    (False, True)
    """
    return value - limit > ROUNDING * max(1.0, abs(value))


def number_text(value: float, limit: float, measure: str) -> str:
    """A value with as many digits as show on which side of a limit it is.

    >>> number_text(0.59996, 0.6, "AP"), number_text(0.59, 0.6, "AP")
    ('0.599960', '0.5900')
    """
    side = _side(value, limit)
    for digits in _DIGITS:
        text = f"{value:.{digits}f}"
        if _side(float(text), limit) == side:
            return cell_text(value, measure) if digits == _DIGITS[0] else text
    return repr(float(value))


def limit_text(rule: Rule) -> str:
    """The limit of a rule with four digits, or with all if it has more."""
    text = cell_text(rule.limit, rule.measure)
    return text if float(text.replace(",", "")) == rule.limit else repr(float(rule.limit))


def requirement(rule: Rule, baseline: str = "the baseline", *, higher_is_better: bool = True) -> str:
    """What a rule requires of a value.

    >>> drop = Rule("max-drop", "Unjudged@10", 0.01)
    >>> requirement(Rule("min", "AP", 0.3)), requirement(drop, "0.2000", higher_is_better=False)
    ('at least 0.3000', 'at most 0.0100 above 0.2000')
    >>> requirement(Rule("non-inferior", "AP", 0.01))
    'shown to be less than 0.0100 below the baseline'
    """
    if not rule.compares:
        return f"at {'least' if rule.kind == 'min' else 'most'} {limit_text(rule)}"
    side = "below" if higher_is_better else "above"
    if rule.kind == "non-inferior":
        return f"shown to be less than {limit_text(rule)} {side} {baseline}"
    return f"at most {limit_text(rule)} {side} {baseline}" if rule.limit else f"not {side} {baseline}"


def change_text(rule: Rule, drop: float, *, higher_is_better: bool) -> str:
    """How a value changed from the baseline's.

    >>> rule = Rule("max-drop", "AP", 0.01)
    >>> change_text(rule, 0.03, higher_is_better=True), change_text(rule, 0.00003, higher_is_better=False)
    ('fell by 0.0300', 'rose by 3e-05')
    """
    if not (exceeds(drop, 0) or exceeds(-drop, 0)):
        return "unchanged"
    fell = (drop > 0) == higher_is_better
    size = number_text(drop, rule.limit, rule.measure)
    if drop < 0 or not float(size.replace(",", "")):
        size = nonzero_text(abs(drop), rule.measure)
    return f"{'fell' if fell else 'rose'} by {size}"


def p_value_text(p: float, correction: Correction, alpha: float, *, one_sided: bool = False) -> str:
    """A p-value, its kind and its correction.

    >>> p_value_text(0.0031, "holm", 0.05), p_value_text(1e-9, "none", 0.05, one_sided=True)
    ('p = 0.0031, Holm-corrected', 'p < 0.0001, one-sided')
    """
    kinds = ["one-sided" if one_sided else "", CORRECTED.get(correction, "")]
    return ", ".join(filter(None, [p_text(p, alpha, named=True), *kinds]))


def _side(value: float, limit: float) -> int:
    """1 above the limit, -1 below, 0 at the limit within a rounding error."""
    return int(exceeds(value, limit)) - int(exceeds(limit, value))
