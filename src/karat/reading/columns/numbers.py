"""The numbers in the cells of a column, for saved scores and for the numbers of a log."""

from __future__ import annotations

import math
import re
from numbers import Real
from typing import Any

LARGEST = 1e300
"""the sum of larger values may be infinite"""
LEAVE_EMPTY = "Leave the cell empty if the query has no value; numbers are written as 1234.5."
"""a hint about values that are not numbers"""
_ROW_NUMBERS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")  # how pandas writes the row numbers of a data frame
_NULLS = ("", "nan", "na", "n/a", "null", "none", "<na>")
_MISSING = ("NAType", "NaTType")  # what pandas has for null
_BOOLEANS = ("bool", "bool_")  # NumPy's
_TRUTH_VALUES = {"true": 1.0, "false": 0.0}
_LONGEST = 400  # characters of a number


def are_row_numbers(name: str) -> bool:
    """Whether a column of this name contains the row numbers of a data frame."""
    return _ROW_NUMBERS.fullmatch(name) is not None


def number_of(value: Any, truth_values: bool = True) -> float | None:
    """The number in a cell, NaN if it is empty, and None if it is not a number.

    With `truth_values`, true counts as 1, and false as 0.

    >>> number_of(" 0.5 "), number_of("N/A"), number_of("true"), number_of("true", truth_values=False)
    (0.5, nan, 1.0, None)
    """
    if value is None or type(value).__name__ in _MISSING:
        return math.nan
    if isinstance(value, str):
        return _number_of_text(value, truth_values)
    is_truth_value = isinstance(value, bool) or type(value).__name__ in _BOOLEANS
    if truth_values if is_truth_value else isinstance(value, Real) or type(value).__name__ == "Decimal":
        try:
            return float(value)
        except OverflowError:  # an integer beyond the range of floats
            return math.inf
        except ValueError:  # a signalling NaN
            return math.nan
    return None


def _number_of_text(text: str, truth_values: bool) -> float | None:
    if len(text) > _LONGEST:
        return None
    word = text.strip().casefold()
    if word in _NULLS:
        return math.nan
    if word in _TRUTH_VALUES:
        return _TRUTH_VALUES[word] if truth_values else None
    try:
        return None if "_" in word else float(word)  # 2024_01 is a number in Python only
    except ValueError:
        return None


def too_large(number: float) -> str | None:
    """What is wrong with a number that cannot be a score."""
    if abs(number) <= LARGEST or number != number:
        return None
    return "is not a finite number" if math.isinf(number) else "is too large to be a score"
