"""Values in tables: their texts, with and without intervals."""

from __future__ import annotations

from karat.errors import KaratError, Parameter
from karat.errors.arguments import as_count
from karat.output.tables import DIGITS
from karat.scores.combining import combination

_MAX_DIGITS = 15
_EXACT = 9  # decimals; what is smaller is a rounding error


def cell_text(value: float | None, measure: str, digits: int = DIGITS) -> str:
    """A value in a table: with as many decimals as digits, counts without decimals, a dash for null.

    A value that is not 0, such as a small cost, is not shown as 0.

    >>> cell_text(0.25, "AP"), cell_text(0.00001234, "cost"), cell_text(0.0, "cost"), cell_text(12.0, "NumRet")
    ('0.2500', '1.2e-05', '0.0000', '12')
    """
    if value is None:
        return "–"
    # The ends of an interval of a count may have a rounding error.
    if combination(measure) == "sum" and round(float(value), _EXACT).is_integer():
        return f"{value:,.0f}"
    rounded = round(value, digits) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{rounded:.{digits}f}" if rounded or not round(float(value), _EXACT) else f"{value:.2g}"


def nonzero_text(value: float, measure: str, sign: str = "", digits: int = DIGITS) -> str:
    """A difference: as in `cell_text`, but even the smallest one that is not 0 is not shown as 0.

    >>> nonzero_text(0.25, "AP", "+"), nonzero_text(0.00001234, "AP", "+"), nonzero_text(0.0, "AP", "+")
    ('+0.2500', '+1.2e-05', '0.0000')
    """
    text = cell_text(value, measure, digits)
    text = f"{value:.2g}" if value and not float(text.replace(",", "")) else text
    return f"{sign}{text}" if value > 0 else text


def interval_text(
    value: float | None, interval: tuple[float | None, float | None] | None, measure: str, digits: int = DIGITS
) -> str:
    """A value in a table with its confidence interval, if it has one: `0.4358 [0.3453, 0.5259]`."""
    text = cell_text(value, measure, digits)
    if interval is None or None in interval:
        return text
    low, high = (cell_text(end, measure, digits) for end in interval)
    return f"{text} [{low}, {high}]"


def check_digits(digits: object) -> int:
    """A number of decimals that a table can have."""
    decimals = as_count(digits, 0, _MAX_DIGITS)
    if decimals is None:
        raise KaratError([Parameter("digits", digits), " is not a number of decimals"], hint=f"Use 0 to {_MAX_DIGITS}.")
    return decimals
