"""What the first values of a field show, which decides how the field is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple, Self

_CHECKED = 1000  # values


class FirstValues(NamedTuple):
    """How many values a field has, of the first ones, and which of them is the first of another kind than expected."""

    number: int = 0
    other: int | None = None

    @classmethod
    def of(cls, values: Iterable[Any], is_expected: Callable[[Any], bool]) -> Self:
        """What some values show."""
        first = list(islice(values, _CHECKED))
        return cls(len(first), next((at for at, value in enumerate(first) if not is_expected(value)), None))

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """What the values of all parts show, in their order.

        >>> FirstValues.merged([FirstValues(900), FirstValues(500, other=200), FirstValues(3)])
        FirstValues(number=1000, other=None)
        """
        number = 0
        for part in parts:
            if part.other is not None and number + part.other < _CHECKED:
                return cls(min(number + part.number, _CHECKED), number + part.other)
            number = min(number + part.number, _CHECKED)
        return cls(number)

    @property
    def are_expected(self) -> bool:
        """Whether there are values, and all are of the expected kind."""
        return self.number > 0 and self.other is None
