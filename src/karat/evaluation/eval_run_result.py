"""The result of an evaluation run: inputs and scores by row, reported alone, beside another run, or as Scores."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from karat.documents.document import Document
from karat.documents.ids import identifier
from karat.errors import KaratError, did_you_mean, shown
from karat.evaluation.row_alignment import align_rows, check_columns
from karat.output.files import written
from karat.output.tables import delimited
from karat.scores import Finding, Scores

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["json", "csv", "df"]
Columns: TypeAlias = dict[str, list[Any]]
Report: TypeAlias = "Columns | pd.DataFrame | str"

_TOLERANCE = 1e-9


class EvaluationRunResult:
    """What went into an evaluation run, a list per column, and what its evaluators returned, by metric.

    A result has a `score` and `individual_scores`, one for each row; None or NaN is one that could not be judged.
    Reports come as a dictionary of columns (`json`), a pandas data frame (`df`), or are written to `csv_file` (`csv`).

    >>> inputs = {"question": ["Capital of France?", "Capital of Peru?"]}
    >>> run = EvaluationRunResult("bm25", inputs, {"MRR": {"score": 0.75, "individual_scores": [1.0, 0.5]}})
    >>> run
    <EvaluationRunResult 'bm25' of 2 rows: MRR=0.7500>
    >>> run.aggregated_report()
    {'metrics': ['MRR'], 'score': [0.75]}
    >>> swapped = {"question": inputs["question"][::-1]}
    >>> other = EvaluationRunResult("dense", swapped, {"MRR": {"score": 0.6, "individual_scores": [1.0, 0.2]}})
    >>> run.comparative_detailed_report(other)["dense_MRR"]
    [0.2, 1.0]
    """

    def __init__(
        self, run_name: str, inputs: Mapping[str, Sequence[Any]], results: Mapping[str, Mapping[str, Any]]
    ) -> None:
        if not isinstance(run_name, str):
            raise KaratError(f"the name of a run is text, not {shown(run_name)}", hint='Name it: "bm25".')
        where = f"run {shown(run_name)}"
        self.run_name = run_name
        self.inputs = _checked_inputs(inputs, where)
        if not isinstance(results, Mapping):
            raise KaratError(
                f"{shown(results)} are no results", where=where, hint='Give them by metric: {"MRR": {"score": ...}}.'
            )
        self.results = {
            metric: _checked_result(metric, result, self.inputs, f"{where}, result {shown(metric)}")
            for metric, result in results.items()
        }

    def aggregated_report(
        self, output_format: Format = "json", csv_file: str | os.PathLike[str] | None = None
    ) -> Report:
        """The score of each metric: `{"metrics": [...], "score": [...]}`."""
        scores = [result["score"] for result in self.results.values()]
        return _output({"metrics": list(self.results), "score": scores}, output_format, csv_file)

    def detailed_report(self, output_format: Format = "json", csv_file: str | os.PathLike[str] | None = None) -> Report:
        """The inputs and the individual scores of each metric, a list for each column."""
        return _output(self._columns(), output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: EvaluationRunResult,
        keep_columns: Sequence[str] | None = None,
        output_format: Format = "json",
        csv_file: str | os.PathLike[str] | None = None,
        *,
        on: Sequence[str] | None = None,
    ) -> Report:
        """The individual scores of both runs, row by row, each column of scores named `{run_name}_{metric}`.

        Rows are aligned by what the inputs hold, and are in the order of this run.

        - `keep_columns`: input columns to show of each run, as `{run_name}_{column}`. So is every column that differs
          between the runs, or that only one of them has.
        - `on`: the input columns that identify a row; by default all that hold the same values in both runs and are
          not in `keep_columns`. Rows that are equal in them are paired in order of occurrence.
        """
        if not isinstance(other, EvaluationRunResult):
            raise KaratError(f"{shown(other)} is no EvaluationRunResult", hint="Compare with the result of a run.")
        if self.run_name == other.run_name:
            raise KaratError(
                f"both runs are named {shown(self.run_name)}",
                hint="Give each its own run_name: their columns are told apart by it.",
            )
        kept = check_columns(keep_columns or (), {**self.inputs, **other.inputs}, "keep_columns")
        aligned = align_rows(self, other, kept, on)
        mine = [
            (name if name in aligned.same else f"{self.run_name}_{name}", values)
            for name, values in self._columns().items()
        ]
        theirs = [
            (f"{other.run_name}_{name}", [values[row] for row in aligned.rows])
            for name, values in other._columns().items()
            if name not in aligned.same
        ]
        return _output(_told_apart([*mine, *theirs]), output_format, csv_file)

    def scores(self, query: str | None = None) -> Scores:
        """The individual scores as Scores: a column per metric, a row per input row, with means and intervals.

        Queries are named by the input column `query`; by default the first that holds a text of its own for each row,
        else by position. A score that its individual scores do not make is a finding.
        """
        columns = {metric: result["individual_scores"] for metric, result in self.results.items()}
        # As floats, None is NaN.
        values = {metric: np.array(column, np.float64) for metric, column in columns.items()}
        scores = Scores(self._queries(query), values, name=self.run_name)
        found = (_finding(metric, result["score"], scores) for metric, result in self.results.items())
        return replace(scores, findings=tuple(finding for finding in found if finding))

    def __repr__(self) -> str:
        rows = _rows(self.inputs)
        of = f"{rows:,} row{'' if rows == 1 else 's'}"
        scores = ((metric, result["score"]) for metric, result in self.results.items())
        told = ", ".join(f"{metric}={'null' if _is_null(score) else f'{score:.4f}'}" for metric, score in scores)
        return f"<EvaluationRunResult {shown(self.run_name)} of {of}: {told or 'no metrics'}>"

    def _columns(self) -> Columns:
        inputs = {name: list(values) for name, values in self.inputs.items()}
        return inputs | {metric: list(result["individual_scores"]) for metric, result in self.results.items()}

    def _queries(self, query: str | None) -> tuple[str, ...]:
        if query is None:
            texts = (column for column in self.inputs.values() if all(isinstance(value, str) for value in column))
            unique = (column for column in texts if len(set(column)) == len(column))
            return tuple(next(unique, map(str, range(_rows(self.inputs)))))
        (name,) = check_columns([query], self.inputs, "query")
        where = f"run {shown(self.run_name)}, input {shown(name)}"
        ids = tuple(identifier(value, f"{where}, row {row}") for row, value in enumerate(self.inputs[name]))
        twice = next((each for each, count in Counter(ids).items() if count > 1), None)
        if twice is not None:
            hint = "Name a column that has a value of its own for each row, or leave query out."
            raise KaratError(f"{shown(twice)} comes twice", where=where, hint=hint)
        return ids


def _checked_inputs(inputs: Mapping[str, Sequence[Any]], where: str) -> Columns:
    wrong = partial(KaratError, where=where)
    if not isinstance(inputs, Mapping) or not inputs:
        what = "there are no inputs" if isinstance(inputs, Mapping) else f"{shown(inputs)} are no inputs"
        raise wrong(what, hint='Give a list for each column: {"question": [...]}.')
    for name, values in inputs.items():
        if not isinstance(name, str):
            raise wrong(f"an input is named {shown(name)}, which is not text", hint="Name it with a text.")
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise wrong(f"input {shown(name)} is not a list: {shown(values)}", hint="Give a value for each row.")
    if len({len(values) for values in inputs.values()}) > 1:
        lengths = ", ".join(f"{shown(name)} has {len(values):,}" for name, values in inputs.items())
        raise wrong(f"the inputs are of different length: {lengths}", hint="Give a value for each row to each.")
    return {name: list(values) for name, values in inputs.items()}


def _checked_result(metric: str, result: Mapping[str, Any], inputs: Columns, where: str) -> dict[str, Any]:
    wrong = partial(KaratError, where=where)
    if not isinstance(metric, str) or metric in inputs:
        why = "an input has this name too" if isinstance(metric, str) else "the name of a metric is text"
        raise wrong(why, hint="Name the metric otherwise.")
    if not isinstance(result, Mapping):
        raise wrong(f"it is {shown(result)}", hint='A result is {"score": ..., "individual_scores": [...]}.')
    for field in ("score", "individual_scores"):
        if field not in result:
            raise wrong(f"it has no {field}", hint='A result is {"score": ..., "individual_scores": [...]}.')
    each = _checked_scores(result["individual_scores"], _rows(inputs), where)
    score = result["score"]
    if _is_null(score) and all(map(_is_null, each)):
        return {**result, "individual_scores": each}  # there is nothing to be the mean of
    if _is_null(score) or not _is_number(score):
        raise wrong(f"its score is {shown(score)}, which is no finite number", hint="Give the mean.")
    return {**result, "score": _plain([score])[0], "individual_scores": each}


def _checked_scores(scores: object, rows: int, where: str) -> list[float | None]:
    wrong = partial(KaratError, where=where, hint="Give a score for each row, None for what could not be judged.")
    if not isinstance(scores, Sequence) or isinstance(scores, str | bytes):
        raise wrong(f"its individual_scores are not a list: {shown(scores)}")
    if len(scores) != rows:
        raise wrong(f"it has {len(scores):,} individual_scores for {rows:,} rows of inputs")
    for row, score in enumerate(scores):
        if score is not None and not _is_number(score):
            raise wrong(f"individual_scores[{row}] is {shown(score)}, which is no finite number")
    return _plain(scores)


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, Real) and value != value)


def _is_number(value: object) -> bool:
    """Whether it can be a score: no infinity, and no whole number that is one as a float; NaN is for null."""
    try:
        return isinstance(value, Real | np.bool_) and not math.isinf(value)
    except OverflowError:
        return False


def _plain(scores: Sequence[Any]) -> list[float | None]:
    """The scores in Python's own numbers: whole ones where all are, and None as it is."""
    whole = all(score is None or isinstance(score, Integral | np.bool_) for score in scores)
    return [None if score is None else int(score) if whole else float(score) for score in scores]


def _rows(inputs: Columns) -> int:
    return len(next(iter(inputs.values())))


def _finding(metric: str, score: float | None, scores: Scores) -> Finding | None:
    """A score that is not what Scores shows: the mean, but for measures known to be combined otherwise."""
    made = scores.combined(metric)
    if made is None and _is_null(score):
        return None
    if made is not None and score is not None and math.isclose(score, made, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return None
    told = "there are no individual scores to make it" if made is None else f"its individual scores make {made!r}"
    message = f"{metric} was given with the score {score!r}, but {told}"
    return Finding("score-is-not-the-mean", message, 1, "What is shown here is made from the individual scores.")


def _told_apart(columns: Sequence[tuple[str, list[Any]]]) -> Columns:
    report: Columns = {}
    for name, values in columns:
        if name in report:
            hint = "Name one of the runs otherwise, or the column."
            raise KaratError(f"two columns of the comparison would be named {shown(name)}", hint=hint)
        report[name] = values
    return report


def _output(columns: Columns, output_format: Format, csv_file: str | os.PathLike[str] | None) -> Report:
    if output_format == "json":
        return columns
    if output_format == "df":
        try:
            import pandas as pd
        except ImportError:
            raise KaratError("pandas is not installed", hint="pip install pandas") from None
        return pd.DataFrame(columns)
    if output_format != "csv":
        hint = f"{did_you_mean(str(output_format), get_args(Format))} Choose json, csv or df.".strip()
        raise KaratError(f"there is no output_format {shown(output_format)}", hint=hint)
    if not csv_file or not isinstance(csv_file, str | os.PathLike):
        raise KaratError(f"csv_file={shown(csv_file)} is no path to write to", hint='Write csv_file="report.csv".')
    text = delimited(list(columns), zip(*(map(_cell, values) for values in columns.values()), strict=True), ",")
    # Half of a surrogate pair is no text in UTF-8: it is written as its escape.
    written(text, csv_file)
    return f"Data successfully written to {csv_file}"


def _cell(value: object) -> object:
    try:
        plain = _jsonable(value)
        return json.dumps(plain, ensure_ascii=False) if isinstance(plain, list | dict) else plain
    except RecursionError:  # it holds itself
        return str(value)


def _jsonable(value: Any) -> Any:
    """What a value is in JSON: a document, ours or Haystack's, by the fields that it has, the unknown as text."""
    if isinstance(value, Document):
        given = {"id": value.given_id, "content": value.content, "meta": value.meta or None, "score": value.score}
        value = {name: each for name, each in given.items() if each is not None}
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: each for field in fields(value) if (each := getattr(value, field.name)) is not None}
    if isinstance(value, Mapping):
        return {str(name): _jsonable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    if value is None or type(value) in (str, bool, int, float):
        return value
    return _jsonable(value.tolist()) if isinstance(value, np.generic | np.ndarray) else str(value)
