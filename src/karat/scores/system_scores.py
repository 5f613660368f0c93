"""SystemScores: the scores of several systems, by name."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from karat.errors import KaratError, did_you_mean, require, safe_line, shown
from karat.errors.arguments import check_switch
from karat.measures import Measure
from karat.options import Names
from karat.output.files import write_text
from karat.registry.selection import Measures
from karat.scores.columns import all_measures, listed_columns
from karat.scores.exports import Exports, Rows, document, mean_rows, query_rows, to_pandas, to_polars
from karat.scores.scores import Scores

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from karat.comparison import Comparison
    from karat.reading.bytes.file_objects import FileSource


@dataclass(frozen=True, eq=False, repr=False)
class SystemScores(Exports, Mapping[str, Scores]):
    """The scores of several systems: a mapping by name, and a table with a row per system.

    >>> from karat import evaluate_runs
    >>> runs = {"good": {"q": ["a"], "r": ["b"]}, "bad": {"q": ["x", "a"], "r": ["b"]}}
    >>> systems = evaluate_runs({"q": {"a": 1, "x": 0}, "r": {"b": 1}}, runs, ["RR", "P@1"])
    >>> systems["bad"]["RR"]
    0.75
    >>> print(systems)
    run        RR       P@1
    ────────────────────────
    good   1.0000*   1.0000*
    bad    0.7500    0.5000
    * best in its column
    2 queries
    """

    systems: Mapping[str, Scores]

    def __post_init__(self) -> None:
        check_systems(self.systems)
        require(self.systems, "there are no systems", 'Pass scores by name: {"bm25": scores}.')
        object.__setattr__(self, "systems", dict(self.systems))

    def __getitem__(self, name: str) -> Scores:
        """The scores of the system with this name."""
        if not isinstance(name, str) or name not in self.systems:
            near = did_you_mean(name, self.systems)
            raise KeyError(f"no system {shown(name)}. {near} The systems are {', '.join(self.systems)}.")
        return self.systems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of all measures that a system has a value of."""
        return all_measures(self.systems)

    @property
    def means(self) -> dict[str, dict[str, float | None]]:
        """The values of each system over all queries."""
        return {name: scores.means for name, scores in self.systems.items()}

    def only(self, measures: Measures) -> SystemScores:
        """The scores of some of the measures."""
        listed = listed_columns(measures, self.systems)
        return SystemScores({name: scores.only(listed) for name, scores in self.systems.items()})

    def sorted(self, measure: str | Measure) -> SystemScores:
        """The systems in the order of a measure, best first; those without a value last.

        >>> from karat import evaluate_runs
        >>> runs = {"bad": {"q": ["x", "a"]}, "good": {"q": ["a"]}}
        >>> list(evaluate_runs({"q": {"a": 1}}, runs, ["RR", "P@5"]).sorted("RR"))
        ['good', 'bad']
        """
        having = [scores for scores in self.systems.values() if measure in scores]
        sign = -1 if all(each.higher_is_better(measure) for each in having or self.systems.values()) else 1

        def place(scores: Scores) -> float:
            value = scores.combined(measure) if scores in having else None
            return math.inf if value is None else sign * value

        return SystemScores(dict(sorted(self.systems.items(), key=lambda system: place(system[1]))))

    def without_evidence(self) -> SystemScores:
        """The scores without the data they were computed from."""
        return SystemScores({name: scores.without_evidence() for name, scores in self.systems.items()})

    def compare(self, baseline: str | None = None, **options: Any) -> Comparison:
        """Compare the systems query by query: each with a baseline, or all pairs. The options are those of `compare`.

        >>> from karat import evaluate_runs
        >>> runs = {"one": {f"q{i}": ["x", "a"] for i in range(9)}, "two": {f"q{i}": ["a", "x"] for i in range(9)}}
        >>> comparison = evaluate_runs({f"q{i}": {"a": 1} for i in range(9)}, runs, "RR").compare("one")
        >>> comparison.row("RR").difference
        0.5
        """
        from karat.comparison import compare

        return compare(self, baseline, **options)

    def records(self) -> list[dict[str, object]]:
        """A record per system."""
        return mean_rows(self.systems).records()

    def to_arrow(self, *, per_query: bool = False, names: Names = "canonical") -> pa.Table:
        """An Arrow table with a row per system, or per system and query: `run`, `query`, and the measures."""
        return self._arrow(names) if check_switch("per_query", per_query) else mean_rows(self._named(names)).arrow()

    def to_pandas(self, *, per_query: bool = False, names: Names = "canonical") -> pd.DataFrame:
        """A pandas data frame with a row per system, or per system and query: `run`, `query`, and the measures."""
        return to_pandas(self.to_arrow(per_query=per_query, names=names))

    def to_polars(self, *, per_query: bool = False, names: Names = "canonical") -> pl.DataFrame:
        """A polars data frame with a row per system, or per system and query: `run`, `query`, and the measures."""
        return to_polars(self.to_arrow(per_query=per_query, names=names))

    def to_csv(
        self,
        path: str | os.PathLike[str] | None = None,
        delimiter: str = ",",
        *,
        per_query: bool = False,
        names: Names = "canonical",
        safe: bool = False,
    ) -> str:
        """CSV with a line per system, or per system and query, with all digits; also written to a file if given.

        `load` reads the values per query, which `save` writes, but not those per system. With `safe=True`, an
        apostrophe stands before texts that a spreadsheet would run as a formula, such as `=1+1`; `load` removes it.
        """
        rows = self._rows(names) if check_switch("per_query", per_query) else mean_rows(self._named(names))
        return write_text(rows.csv(delimiter, safe=safe), path)

    def to_dict(self, *, names: Names = "canonical") -> dict[str, Any]:
        """`{"runs": {name: {"name", "means", "queries": [...], "findings", "fingerprint"}}}`."""
        return {"runs": {name: document(scores) for name, scores in self._named(names).items()}}

    @classmethod
    def load(cls, path: FileSource, *, lower_is_better: Iterable[str] = ()) -> SystemScores:
        """Read the scores of one or several systems from a file or an open file, as `Scores.load` does.

        A system without a name in the file is named after the file. `lower_is_better` names columns such as a latency.
        """
        from karat.scores.loading import load_systems

        return SystemScores(load_systems(path, lower_is_better))

    def __repr__(self) -> str:
        return safe_line(f"<SystemScores of {', '.join(self.systems)}: {', '.join(self.measures)}>")

    def _by_system(self) -> Mapping[str, Scores]:
        return self.systems

    def _rows(self, names: Names = "canonical") -> Rows:
        return query_rows(self._named(names), named=True)


def check_systems(systems: object) -> None:
    """Check that this is a mapping of system names to scores."""
    hint = 'Pass scores by name: {"bm25": scores, "dense": scores}.'
    if not isinstance(systems, Mapping):
        raise KaratError(f"{shown(systems)} is not a mapping of system names to scores", hint=hint)
    for name, scores in systems.items():
        require(isinstance(name, str), f"{shown(name)} is not a system name", hint)
        if not isinstance(scores, Scores):
            hint = f"Evaluate first, or use Scores.load. {hint}"
            raise KaratError(f"{shown(scores)} is not a Scores object", place=name, hint=hint)
