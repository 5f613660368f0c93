"""Where a retrieved text is in the gold text that it matches."""

from __future__ import annotations

from collections.abc import Callable

from karat.matching.containment import ContainmentComparer
from karat.matching.matchers import Matcher
from karat.matching.similarity import FuzzyComparer

Locator = Callable[[str, str], tuple[int, int] | None]
"""A function of a retrieved text and of the gold text that it matches."""


def locator(match: Matcher) -> Locator | None:
    """A function that returns the offsets of a retrieved text in a gold text as given; None if there is none.

    >>> from karat.matching.matchers import matcher_of
    >>> locator(matcher_of("chunk(normalize=all)"))("is SOFT", "Gold, they say,  is  soft!")
    (17, 25)
    """
    comparer = match.comparer()
    return comparer.location if isinstance(comparer, ContainmentComparer | FuzzyComparer) else None
