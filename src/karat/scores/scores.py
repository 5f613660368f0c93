"""Scores: a value per query and measure, with means and confidence intervals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from karat.data.caching import cached_property
from karat.data.judged import Floats, Ints
from karat.errors import KaratError, Message, Parameter, did_you_mean, plural, safe_line, shown
from karat.errors.arguments import as_count, check_mapping, check_names, check_text
from karat.measures import Measure
from karat.options import Names, check_level, check_random
from karat.output.files import write_text
from karat.registry.selection import Measures, measure_list
from karat.scores.bounds import Bounds, bounds_of_rows
from karat.scores.columns import (
    checked_columns,
    checked_rows,
    find_column,
    listed_columns,
    registered_direction,
    renamed_columns,
    with_names,
)
from karat.scores.combining import CombinedValues, combined_column, without_interval
from karat.scores.corrections import ValuesByPeople, corrections_of_rows
from karat.scores.exports import Exports, Rows, document, nullable, query_rows, to_pandas, to_polars
from karat.scores.finding import Finding, hint_about_documents
from karat.scores.intervals import CombinedValue, intervals
from karat.scores.sample_variance import SampleVariance, variances_of_rows
from karat.stats import RESAMPLES, SEED

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from karat.analysis.evidence import Evidence
    from karat.analysis.explain import Explanation
    from karat.analysis.label_evidence import LabelEvidence
    from karat.analysis.slices import Slices
    from karat.data.answers import Answers
    from karat.reading.bytes.file_objects import FileSource
    from karat.scores.corrected import CorrectedScores
    from karat.scores.fingerprint import Fingerprint


@dataclass(frozen=True, eq=False)
class Scores(CombinedValues, Exports):
    """A table with a row per query and a column per measure, named by the measure's canonical name.

    NaN means null: the query has no value for this measure. Nulls are left out of the mean, counted and shown.
    `evidence`, `answers`, `verdicts` and `questions` (the texts of queries, if results contain them) are the data that
    the scores were computed from; `without_evidence()` releases them. `fingerprint` identifies the ground truth and the
    options; scores that karat did not compute have none. `label_bounds` are those of measures of verdicts with unknown
    labels, `sample_variances` tell how much a judge's samples differ, and `corrections` are values of people that
    correct a model's. `asked` maps the names that measures were asked for by to their columns; they can be looked up by
    these names, and by any other spelling.

    >>> from karat import evaluate
    >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, ["RR", "P@1"])
    >>> scores["RR"]
    0.75
    >>> scores.per_query["r"]
    {'RR': 0.5, 'P@1': 0.0}
    >>> scores["mrr"], scores.value_of("r", "recip_rank")
    (0.75, 0.5)
    """

    queries: tuple[str, ...]
    values: Mapping[str, Floats]
    findings: tuple[Finding, ...] = ()
    name: str = ""
    evidence: Evidence | None = field(default=None, repr=False)
    answers: Answers | None = field(default=None, repr=False)
    fingerprint: Fingerprint | None = field(default=None, repr=False)
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)
    lower_is_better: frozenset[str] = frozenset()
    questions: Mapping[str, str] = field(default_factory=dict, repr=False)
    verdicts: LabelEvidence | None = field(default=None, repr=False)
    label_bounds: Mapping[str, Bounds] = field(default_factory=dict, repr=False)
    sample_variances: Mapping[str, SampleVariance] = field(default_factory=dict, repr=False)
    corrections: Mapping[str, ValuesByPeople] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle or copy: the scores without the run data."""
        without = self.without_evidence()
        return {name: getattr(without, name) for name in self.__dataclass_fields__}

    def __post_init__(self) -> None:
        values = checked_columns(self.queries, self.values)
        lower = frozenset(check_names("lower_is_better", self.lower_is_better, ["latency"]))
        is_list = isinstance(self.findings, tuple | list)
        if not is_list or not all(isinstance(each, Finding) for each in self.findings):
            raise KaratError([Parameter("findings", self.findings), " is not a tuple of findings"])
        check_text("name", self.name)
        check_mapping("asked", self.asked, {"map": "AP"})
        for name, value in (("queries", tuple(self.queries)), ("values", values), ("lower_is_better", lower)):
            object.__setattr__(self, name, value)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the columns, in the order given to the evaluation."""
        return tuple(self.values)

    def combined(self, measure: str | Measure) -> float | None:
        """The value over all queries, as `scores[measure]`, but None if no query has a value."""
        name = self.column_name(measure)
        return combined_column(name, self.values[name])

    @cached_property
    def per_query(self) -> dict[str, dict[str, float | None]]:
        """The values of each query by the names of the columns; None is null."""
        columns = [nullable(column) for column in self.values.values()]
        rows = zip(*columns, strict=True) if columns else [()] * len(self.queries)
        return {query: dict(zip(self.values, row, strict=True)) for query, row in zip(self.queries, rows, strict=True)}

    def value_of(self, query: str, measure: str | Measure) -> float | None:
        """The value of a query, by any name of the measure; None is null."""
        column = self.column_name(measure)
        if query not in self.per_query:
            hint = did_you_mean(query, self.queries)
            raise KaratError(f"these scores have no query {shown(query)}", hint=hint or None)
        return self.per_query[query][column]

    def column_name(self, measure: str | Measure) -> str:
        """The name of a measure's column, from any name of the measure."""
        try:
            return find_column(measure, self.values, self.asked)
        except KaratError as error:
            error.add_hint(hint_about_documents(self.findings))
            raise

    def column(self, measure: str | Measure) -> Floats:
        """A measure's value for each query, in the order of `queries`; NaN is null."""
        return self.values[self.column_name(measure)]

    @cached_property
    def by_id(self) -> Ints:
        """The positions of the queries in the order of their ids.

        Queries are resampled in this order, so that results do not depend on the order of the input.
        """
        return np.array(sorted(range(len(self.queries)), key=self.queries.__getitem__), np.int64)

    def higher_is_better(self, measure: str | Measure) -> bool:
        """Whether higher values of a measure are better; assumed of columns that neither karat nor the user knows."""
        name = self.column_name(measure)
        return name not in self.lower_is_better and registered_direction(name)

    def nulls(self, measure: str | Measure) -> int:
        """The number of queries without a value."""
        return int(np.isnan(self.column(measure)).sum())

    def interval(
        self, measure: str | Measure, level: float = 0.95, *, resamples: int = RESAMPLES, seed: int = SEED
    ) -> tuple[float, float]:
        """The confidence interval of the value over all queries.

        It is computed from the mean, the variance and the range of the values. If the measure has no range, as DCG and
        columns that karat does not know, the queries are resampled (BCa bootstrap); for more than 10,000 queries, the
        limit of this interval is computed without resampling.

        >>> from karat import evaluate
        >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}, "s": {"c": 1}}, {"q": ["a"], "r": ["b"], "s": ["c"]}, "RR")
        >>> [round(end, 4) for end in scores.interval("RR")]
        [0.1395, 1.0]
        """
        name = self.column_name(measure)
        interval = self.intervals(level, resamples=resamples, seed=seed, measures=[name])[name]
        if interval is None:
            raise without_interval(name, self.combined(name))
        return interval

    def intervals(
        self,
        level: float = 0.95,
        *,
        resamples: int = RESAMPLES,
        seed: int = SEED,
        measures: Sequence[str | Measure] | None = None,
    ) -> dict[str, tuple[float, float] | None]:
        """The confidence interval of each measure, None if there is none; faster than one at a time.

        There is none if fewer than two queries have a value, or if the measure has no range and all values are equal.
        """
        level, resamples = check_level(level), check_random("resamples", resamples)
        seed = check_random("seed", seed)
        names = list(self.values) if measures is None else list(map(self.column_name, measure_list(measures)))
        members = [CombinedValue.of(name, self.values[name][self.by_id]) for name in names]
        return dict(zip(names, intervals(members, level, resamples, seed), strict=True))

    def explain(self, query: str, k: int = 20, *, queries: Any = None, corpus: Any = None) -> Explanation:
        """Explain the scores of a query: the documents at the first k ranks, all hits, and the golds they matched.

        For answers: their scores for each gold answer. `queries` and `corpus` are texts, as in `evaluate`, to show.

        >>> from karat import evaluate
        >>> scores = evaluate({"q": ["Gold is soft.", "Iron rusts."]}, {"q": ["is soft", "blue"]}, "R", match="chunk")
        >>> print(scores.explain("q"))
        rank   retrieved   gold            grade   reason
        ────────────────────────────────────────────────────────
        1      is soft     Gold is soft.   1       contained
        2      blue
        –                  Iron rusts.     1       not retrieved
        query q: R 0.5000
        2 retrieved, matched by chunk
        """
        from karat.analysis.explain import explain

        ranks = as_count(k)
        if ranks is None:
            hint: Message = ["Pass a whole number, for example ", Parameter("k", 20), "."]
            raise KaratError([Parameter("k", k), " is not a number of ranks"], hint=hint)
        return explain(self, query, ranks, queries, corpus)

    def bounds(self, measure: str | Measure, max_grade: float | None = None) -> Bounds:
        """The lowest and the highest value that a measure could have if the unjudged documents were judged.

        Each unjudged document that was retrieved may have any grade from 0 to `max_grade`, by default the largest grade
        in the ground truth. For measures of verdicts: the values whatever the unknown labels are.

        >>> from karat import evaluate
        >>> evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, "RR").bounds("RR").mean
        (0.5, 1.0)
        """
        from karat.analysis.bounds import bounds

        return bounds(self, measure, max_grade)

    def slices(
        self,
        by: Any,
        bins: int | Sequence[float] | None = None,
        *,
        queries: Any = None,
        level: float = 0.95,
    ) -> Slices:
        """The scores of each group of queries, to see where a system is weak.

        `by` is `"length"` (the number of words of the query; `queries` are the texts, by default the questions of
        results: `{id: text}`, a file, records or a data frame), `"relevant"` (the number of relevant documents), or any
        property of queries: a mapping or a function of query ids, a pandas Series with query ids as its index, or a
        list with one value per query. Numbers are grouped into ranges; `bins` is their number, or their edges.

        >>> from karat import evaluate
        >>> scores = evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["a"], "r": ["x", "b"]}, "RR")
        >>> {group: of_group["RR"] for group, of_group in scores.slices({"q": "easy", "r": "hard"}).groups.items()}
        {'easy': 1.0, 'hard': 0.5}
        """
        from karat.analysis.slices import slices

        return slices(self, by, bins, queries, level)

    def only(self, measures: Measures) -> Scores:
        """The scores of some of the measures."""
        names = dict.fromkeys(map(self.column_name, listed_columns(measures, {self.name: self})))
        asked = {name: column for name, column in self.asked.items() if column in names}
        values = {name: self.values[name] for name in names}
        return replace(self, values=values, asked=asked, **renamed_columns(self, {name: name for name in names}))

    def take(self, rows: Sequence[int] | Ints) -> Scores:
        """The scores of some of the queries, given by their positions in `queries`, in this order."""
        places = checked_rows(rows, len(self.queries))
        queries = tuple(self.queries[place] for place in places.tolist())
        values = {name: column[places] for name, column in self.values.items()}
        bounds = bounds_of_rows(self.label_bounds, places, queries)
        return replace(
            self,
            queries=queries,
            values=values,
            label_bounds=bounds,
            sample_variances=variances_of_rows(self.sample_variances, places),
            corrections=corrections_of_rows(self.corrections, places),
        )

    def corrected(self, level: float = 0.95, *, width: float | None = None) -> CorrectedScores:
        """The means of a model's values, corrected by the values of people for a random sample of the queries.

        `correct=True` of an evaluation reads both; otherwise, there are none.
        """
        from karat.scores.corrected import corrected

        return corrected({self.name: self}, level, width)

    def without_evidence(self) -> Scores:
        """The scores without the data they were computed from."""
        fingerprint = None if self.fingerprint is None else self.fingerprint.computed()
        return replace(self, evidence=None, answers=None, verdicts=None, questions={}, fingerprint=fingerprint)

    def to_arrow(self, *, names: Names = "canonical") -> pa.Table:
        """The table as an Arrow table, with the findings and the fingerprint in its metadata.

        In this and all other formats, the columns have the canonical names of the measures, or those that were asked
        for (`names="asked"`).
        """
        return self._arrow(names)

    def to_pandas(self, *, names: Names = "canonical") -> pd.DataFrame:
        """The table as a pandas data frame."""
        return to_pandas(self._rows(names).arrow())

    def to_polars(self, *, names: Names = "canonical") -> pl.DataFrame:
        """The table as a polars data frame."""
        return to_polars(self._rows(names).arrow())

    def to_dict(self, *, names: Names = "canonical") -> dict[str, Any]:
        """`{"name", "means", "queries": [{"query", measure: value, ...}], "findings", "fingerprint"}`, and more."""
        return document(with_names(self, names))

    def to_csv(
        self,
        path: str | os.PathLike[str] | None = None,
        delimiter: str = ",",
        *,
        names: Names = "canonical",
        safe: bool = False,
    ) -> str:
        """The table as CSV, with all digits, also written to a file if a path is given.

        With `safe=True`, an apostrophe stands before texts that a spreadsheet would run as a formula, such as `=1+1`.
        `load` removes it.
        """
        return write_text(self._rows(names).csv(delimiter, safe=safe), path)

    @classmethod
    def load(cls, path: FileSource, *, lower_is_better: Iterable[str] = ()) -> Scores:
        """Read the scores of a system, saved by karat or computed elsewhere, from a file or an open file.

        The file is JSON, JSON lines, CSV, TSV, Parquet or Feather, whatever its name is, and may be compressed or
        remote; or it is a folder that an evaluation on Spark has written (`per_query_path=`). `lower_is_better` names
        columns such as a latency.
        """
        from karat.scores.loading import load_scores

        return load_scores(path, lower_is_better)

    def _by_system(self) -> Mapping[str, Scores]:
        return {self.name: self}

    def _rows(self, names: Names = "canonical") -> Rows:
        return query_rows({self.name: with_names(self, names)}, named=False)

    def __repr__(self) -> str:
        return safe_line(f"<Scores of {plural(len(self.queries), 'query')}: {self._means_in_a_line()}>")
