"""Ids of queries and documents as text."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from karat.errors import KaratError, Place, shown


def identifier(value: object, place: Place | str) -> str:
    """An id as a string: text stays as it is, a whole number becomes its digits.

    >>> identifier("007", "here"), identifier(7, "here")
    ('007', '7')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        try:
            return str(int(value))
        except ValueError:
            raise KaratError(
                "an id is a number with thousands of digits", place=place, hint="Write it as text."
            ) from None
    hint = "Ids are text or whole numbers; convert yours with str()."
    if isinstance(value, float) and value.is_integer():
        # pandas makes whole numbers decimal if a value is missing; str() would keep the decimals.
        hint = f"Ids are text or whole numbers: write {value:.0f}, and in pandas use astype('Int64')."
    raise KaratError(f"{shown(value)} is not an id", place=place, hint=hint)


def all_text(values: Iterable[object]) -> bool:
    """Whether all values are strings. Joining them is the fastest way to find out."""
    try:
        "".join(values)  # type: ignore[arg-type]  # a TypeError is one of the two answers
    except TypeError:
        return False
    return True


def reject_lone_surrogates(ids: Iterable[str], place: Place | str) -> None:
    """Reject ids with a lone surrogate: they cannot be encoded as UTF-8, so no file or table can contain them."""
    try:
        "".join(ids).encode()
    except UnicodeEncodeError as error:
        raise KaratError(f"an id is not valid Unicode: {error.reason}", place=place, hint="Fix the ids.") from None
