"""Names of measures in scores: the canonical names of the columns, and the names that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from karat.errors import KaratError
from karat.options import Names, check_choice

if TYPE_CHECKING:
    from karat.measures import Measure
    from karat.scores.scores import Scores


class QueryValues(dict[str, float | None]):
    """The values of a query by the names of the columns; every other name of a measure finds its value too."""

    __slots__ = ("_column",)

    def __init__(self, values: Iterable[tuple[str, float | None]], column: Callable[[str | Measure], str]) -> None:
        super().__init__(values)
        self._column = column

    def __missing__(self, measure: Any) -> float | None:
        try:
            column = self._column(measure)
        except KaratError as error:
            raise KeyError(measure) from error
        if column == measure:  # it was deleted
            raise KeyError(measure)
        return self[column]

    def __contains__(self, measure: object) -> bool:
        try:
            self[measure]  # type: ignore[index]  # __missing__ takes any object
        except KeyError:
            return False
        return True

    def get(self, measure: Any, default: Any = None) -> Any:
        """The value of a measure, by any of its names."""
        try:
            return self[measure]
        except KeyError:
            return default

    def __reduce__(self) -> tuple[type[dict[str, float | None]], tuple[dict[str, float | None]]]:
        """Pickle and copy the values as a dict, without the scores that know the other names."""
        return dict, (dict(self),)


def with_names(scores: Scores, names: Names) -> Scores:
    """The scores to export: with the canonical names, or with the first name that each measure was asked for by.

    They have no run data, because asked names alone do not identify a measure: with `rel=2`, `P@5` is `P(rel=2)@5`.
    """
    check_choice("names", names, get_args(Names))
    if names == "canonical":
        return scores
    first: dict[str, str] = {}
    for asked, column in scores.asked.items():
        first.setdefault(column, asked)
    values = {first.get(column, column): numbers for column, numbers in scores.values.items()}
    return replace(scores.without_evidence(), values=values)
