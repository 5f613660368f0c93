"""Scores: a value per query and measure, its mean and its uncertainty, from whatever origin."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.errors import KaratError, did_you_mean, shown
from karat.judged import Floats, Ints
from karat.measures import Measure, meanings
from karat.options import check_level
from karat.scores.combining import after_mean, before_mean, combination
from karat.scores.finding import Finding
from karat.scores.intervals import CombinedValue, intervals
from karat.stats import RESAMPLES, SEED

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.console import Group

    from karat.analysis.bounds import Bounds
    from karat.analysis.evidence import Evidence
    from karat.analysis.explain import Explanation
    from karat.analysis.slices import Slices
    from karat.answers import Answers


@dataclass(frozen=True, eq=False)
class Scores:
    """One table: a row per query, a column per measure, named by the measure's canonical name.

    A cell may be NaN, which means null: what could not be judged is counted, shown and left out of the mean.
    `evidence` and `answers` are the data that the numbers were computed from; `without_evidence()` releases them.

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "P@1"])
    >>> scores["RR"]
    0.75
    >>> scores.per_query["r"]
    {'RR': 0.5, 'P@1': 0.0}
    """

    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    findings: tuple[Finding, ...] = ()
    name: str = ""
    evidence: Evidence | None = field(default=None, repr=False)
    answers: Answers | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of scores elsewhere: the numbers, and not the run that they are of."""
        return {**self.__dict__, "evidence": None, "answers": None}

    def __post_init__(self) -> None:
        for column in self.values.values():
            column.setflags(write=False)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the columns, in the order asked for."""
        return tuple(self.values)

    def __getitem__(self, measure: str | Measure) -> float:
        """The value over all queries: their mean, or what the measure is combined by."""
        value = self.combined(measure)
        if value is None:
            raise KaratError(f"{self._name(measure)} has no value for any query")
        return value

    def __contains__(self, measure: str | Measure) -> bool:
        try:
            return self._name(measure) in self.values
        except KaratError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def keys(self) -> tuple[str, ...]:
        """The same names: with them, `dict(scores)` is the means by name."""
        return self.measures

    def combined(self, measure: str | Measure) -> float | None:
        """The same, and None where no query has a value."""
        name = self._name(measure)
        values = self._present(name)
        if not len(values):
            return None
        total = math.fsum(before_mean(values, combination(name)))
        return total if combination(name) == "sum" else after_mean(total / len(values), combination(name), len(values))

    @property
    def means(self) -> dict[str, float | None]:
        """The value of each measure over all queries."""
        return {name: self.combined(name) for name in self.values}

    @cached_property
    def per_query(self) -> dict[str, dict[str, float | None]]:
        """The values of each query; None where there is none."""
        columns = {name: _nullable(column) for name, column in self.values.items()}
        return {query: {name: columns[name][at] for name in columns} for at, query in enumerate(self.queries)}

    def column(self, measure: str | Measure) -> Floats:
        """A measure's value for each query, in the order of `queries`; NaN is null."""
        return self.values[self._name(measure)]

    def nulls(self, measure: str | Measure) -> int:
        """How many queries have no value."""
        return int(np.isnan(self.column(measure)).sum())

    def interval(
        self, measure: str | Measure, level: float = 0.95, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> tuple[float, float]:
        """Where the value would be for other queries of this kind: a bootstrap (BCa) confidence interval."""
        name = self._name(measure)
        interval = self.intervals(level, resamples=resamples, seed=seed, measures=[name])[name]
        if interval is None:
            raise KaratError(f"{name} has no value for any query")
        return interval

    def intervals(
        self,
        level: float = 0.95,
        *,
        resamples: int = RESAMPLES,
        seed: int = SEED,
        measures: Sequence[str | Measure] | None = None,
    ) -> dict[str, tuple[float, float] | None]:
        """The interval of each measure; one pass of resampling serves all that have the same queries."""
        check_level(level)
        if resamples < 1:
            raise KaratError(f"{resamples} resamples are too few", hint="Take at least one; 10,000 is the default.")
        names = list(self.values) if measures is None else [self._name(measure) for measure in measures]
        members = [
            CombinedValue(before_mean(self.values[name], combination(name)), combination(name)) for name in names
        ]
        return dict(zip(names, intervals(members, level, resamples, seed), strict=True))

    def explain(self, query: str, k: int = 20) -> Explanation:
        """Rank by rank, what was retrieved for a query, which gold it is, and how: the first k ranks, and all hits.

        Of answers, what each measure says of each gold answer.

        >>> from karat import evaluate
        >>> scores = evaluate({"q": ["Gold is soft.", "Iron rusts."]}, {"q": ["is soft", "blue"]}, "R", match="chunk")
        >>> print(scores.explain("q"))
        rank   retrieved   gold            grade   how
        ────────────────────────────────────────────────────────
        1      is soft     Gold is soft.   1       contained
        2      blue
        –                  Iron rusts.     1       not retrieved
        query q: R 0.5000
        2 retrieved, matched by chunk
        """
        from karat.analysis.explain import explain

        if isinstance(k, bool) or not isinstance(k, int) or k < 0:
            raise KaratError(f"k={shown(k)} is no number of ranks", hint="Give a whole number, as k=20.")
        if self.evidence is None and self.answers is None:
            raise KaratError(
                "these scores are numbers alone, with nothing behind them to explain",
                hint="Evaluate again: scores that were saved, or that evaluators made, do not hold their run.",
            )
        return explain(self, str(query), k)

    def bounds(self, measure: str | Measure, best: float | None = None) -> Bounds:
        """The least and the greatest value that a measure could have, if the unjudged documents were judged.

        Each retrieved document that nobody judged may be non-relevant, or have the best grade of the scale: the
        largest of the truth, unless `best` says another.

        >>> from karat import evaluate
        >>> evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "RR").bounds("RR").mean
        (0.5, 1.0)
        """
        from karat.analysis.bounds import bounds

        return bounds(self, measure, best)

    def slices(
        self,
        by: Any,
        bins: int | Sequence[float] | None = None,
        *,
        texts: Mapping[str, str] | None = None,
        level: float = 0.95,
    ) -> Slices:
        """The scores of each group of queries, to see where a system is weak.

        `by` is `"length"` (words of the query; `texts` has them by id), `"relevant"` (how many documents are), or a
        property of yours: a mapping or a function of query ids, or a value per query. Numbers make ranges; `bins` says
        how many, or where they begin.

        >>> from karat import evaluate
        >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, "RR")
        >>> {group: of_group["RR"] for group, of_group in scores.slices({"q": "easy", "r": "hard"}).groups.items()}
        {'easy': 1.0, 'hard': 0.5}
        """
        from karat.analysis.slices import slices

        return slices(self, by, bins, texts, level)

    def only(self, measures: Sequence[str | Measure]) -> Scores:
        """The same scores, of some measures alone."""
        names = dict.fromkeys(self._name(measure) for measure in measures)
        return replace(self, values={name: self.values[name] for name in names})

    def take(self, rows: Sequence[int] | Ints) -> Scores:
        """The same scores, of some queries, in this order; each by its place in `queries`."""
        places = np.asarray(rows, np.int64)
        queries = tuple(self.queries[place] for place in places.tolist())
        return replace(self, queries=queries, values={name: column[places] for name, column in self.values.items()})

    def without_evidence(self) -> Scores:
        """The same numbers without the evidence behind them."""
        return replace(self, evidence=None, answers=None)

    def to_arrow(self) -> pa.Table:
        """The table in Arrow; what was noticed rides in its metadata."""
        from karat.scores import exports

        return exports.to_arrow(self)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame."""
        from karat.scores import exports

        return exports.to_pandas(self)

    def to_polars(self) -> pl.DataFrame:
        """The table as a polars data frame."""
        from karat.scores import exports

        return exports.to_polars(self)

    def to_dict(self) -> dict[str, Any]:
        """`{"name", "means", "queries": [{"query", measure: value, ...}], "findings"}`."""
        from karat.scores import exports

        return exports.to_dict(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The same as JSON, also written to a file if one is named."""
        from karat.scores import exports

        return exports.to_json(self, path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The table as CSV, values to the last digit, also written to a file if one is named."""
        from karat.scores import exports

        return exports.to_csv(self, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """The table as a Parquet file."""
        from karat.scores import exports

        exports.to_parquet(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scores:
        """Scores from a .json, .csv or .parquet file that was saved from Scores; a CSV holds no findings."""
        from karat.scores import exports

        return exports.load(path)

    def __str__(self) -> str:
        from karat.scores.summary import summary

        return summary({self.name: self}).text().rstrip("\n")

    def __repr__(self) -> str:
        means = ", ".join(f"{name}={'null' if mean is None else f'{mean:.4f}'}" for name, mean in self.means.items())
        return f"<Scores of {len(self.queries)} queries: {means}>"

    def __rich__(self) -> Group:
        from karat.scores.summary import summary

        return summary({self.name: self}).rich()

    def _repr_html_(self) -> str:
        from karat.scores.summary import summary

        return summary({self.name: self}).html()

    def _name(self, measure: str | Measure) -> str:
        """The column of a measure, in whatever spelling it is asked for."""
        text = str(measure)
        if text in self.values:
            return text
        known = [str(meant) for meant in meanings(text)] or [text]
        there = [name for name in known if name in self.values]
        if len(there) > 1:
            raise KaratError(f"{text} is {' and '.join(there)} here", hint=f"Write {' or '.join(there)}.")
        if there:
            return there[0]
        canonical = known[0]
        near = did_you_mean(canonical, self.values)
        has = ", ".join(self.values) or "none"
        raise KaratError(f"these scores have no {shown(canonical)}", hint=f"{near} They have {has}.".strip())

    def _present(self, name: str) -> Floats:
        column = self.values[name]
        return column[~np.isnan(column)]


def _nullable(column: Floats) -> list[float | None]:
    return [None if value != value else value for value in column.tolist()]
