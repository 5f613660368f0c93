"""Where the records of a tool have scores: the table `scores` of a shape.

- `numbers`: the path of each number, by the name that it gets.
- `inside`: the paths of lists, or of objects, with an entry for each score.
- `name`: where an entry of a list has the name of the score; in an object, the name is the key.
- `value`: where an entry has the number, unless the entry is the number itself. The first path that leads to something.
- `words`: the numbers that words stand for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.errors import Place
from karat.reading.records.paths import Record, field_value


@dataclass(frozen=True)
class ScorePlaces:
    """Where the records of a tool have scores."""

    numbers: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()
    name: str = "name"
    value: tuple[str, ...] = ("score", "value")
    words: Mapping[str, float] = field(default_factory=dict)

    def values(self, record: Record, place: Place | str = "") -> dict[str, Any]:
        """The scores of a record by name, which may also be something else than numbers.

        >>> places = ScorePlaces(inside=("metricsData",), numbers={"tokens": "usage.total"})
        >>> places.values({"metricsData": [{"name": "Bias", "score": 0.5}], "usage": {"total": 20}})
        {'Bias': 0.5, 'tokens': 20}
        """
        entries = [entry for path in self.inside for entry in self._entries(field_value(record, path, place))]
        scores = {name: self._value(entry, place) for name, entry in entries if isinstance(name, str) and name}
        return scores | {
            name: value
            for name, path in self.numbers.items()
            if (value := field_value(record, path, place)) is not None
        }

    def _entries(self, scores: Any) -> Iterator[tuple[Any, Any]]:
        if isinstance(scores, Mapping):
            yield from scores.items()
        elif isinstance(scores, list):
            yield from ((field_value(entry, self.name), entry) for entry in scores if isinstance(entry, Mapping))

    def _value(self, entry: Any, place: Place | str) -> Any:
        if isinstance(entry, Mapping):
            values = (field_value(entry, path, place) for path in self.value)
            entry = next((value for value in values if value is not None), None)
        return self.words.get(entry, entry) if isinstance(entry, str) else entry
