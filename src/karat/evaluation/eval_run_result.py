"""The result of an evaluation run: inputs and scores by row, as reports, comparisons with another run, or Scores."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from karat.documents.document import Document
from karat.errors import KaratError, KaratTypeError, Parameter, Place, did_you_mean, plural, require, safe_line, shown
from karat.output.delimited import delimited
from karat.output.files import write_text
from karat.scores import Finding, Scores

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["json", "csv", "df"]
Columns: TypeAlias = dict[str, list[Any]]
Report: TypeAlias = "Columns | pd.DataFrame | str"

_TOLERANCE = 1e-9
_RESULT = '{"score": ..., "individual_scores": [...]}'


class EvaluationRunResult:
    """The inputs of an evaluation run, one list per column, and the results of its evaluators, by metric.

    A result has a `score` and `individual_scores`, one per row; None or NaN marks a row that could not be judged. A
    report is a dictionary of columns (`json`), a pandas data frame (`df`), or is written to `csv_file` (`csv`).

    >>> inputs = {"question": ["Capital of France?", "Capital of Peru?"]}
    >>> run = EvaluationRunResult("bm25", inputs, {"MRR": {"score": 0.75, "individual_scores": [1.0, 0.5]}})
    >>> run
    <EvaluationRunResult 'bm25' of 2 rows: MRR=0.7500>
    >>> run.aggregated_report()
    {'metrics': ['MRR'], 'score': [0.75]}
    >>> other = EvaluationRunResult("dense", inputs, {"MRR": {"score": 0.6, "individual_scores": [0.2, 1.0]}})
    >>> run.comparative_detailed_report(other)["dense_MRR"]
    [0.2, 1.0]
    """

    def __init__(
        self, run_name: str, inputs: Mapping[str, Sequence[Any]], results: Mapping[str, Mapping[str, Any]]
    ) -> None:
        name = Parameter("run_name", run_name)
        require(isinstance(run_name, str), [name, " is not a string"], 'Use a name such as "bm25".')
        self.run_name = run_name
        place = self._place
        self.inputs = _checked_inputs(inputs, place)
        if not isinstance(results, Mapping):
            hint = f'Pass results by metric: {{"MRR": {_RESULT}}}.'
            raise KaratError(f"{shown(results)} is not a mapping of results", place=place, hint=hint)
        self.results = {
            metric: _checked_result(metric, result, self.inputs, place.inside(f"result {shown(metric)}"))
            for metric, result in results.items()
        }

    def aggregated_report(
        self, output_format: Format = "json", csv_file: str | os.PathLike[str] | None = None
    ) -> Report:
        """The score of each metric: `{"metrics": [...], "score": [...]}`."""
        scores = [result["score"] for result in self.results.values()]
        return _report({"metrics": list(self.results), "score": scores}, output_format, csv_file)

    def detailed_report(self, output_format: Format = "json", csv_file: str | os.PathLike[str] | None = None) -> Report:
        """The inputs and the individual scores of each metric, one list per column."""
        return _report(self._columns(), output_format, csv_file)

    def comparative_detailed_report(
        self,
        other: EvaluationRunResult,
        keep_columns: Sequence[str] | None = None,
        output_format: Format = "json",
        csv_file: str | os.PathLike[str] | None = None,
    ) -> Report:
        """The individual scores of both runs, row by row, in columns named `{run_name}_{metric}`.

        Both runs have the same rows in the same order: an input with other values in the other run is an error, unless
        it is one of the `keep_columns`, which are shown for each run as `{run_name}_{column}`. Inputs that only one run
        has are always shown this way.
        """
        if not isinstance(other, EvaluationRunResult):
            what = f"{shown(other)} is not an EvaluationRunResult"
            raise KaratTypeError(what, hint="Compare with the result of a run.")
        require(
            self.run_name != other.run_name,
            f"both runs are named {shown(self.run_name)}",
            "Give each run its own run_name, which is part of the column names.",
        )
        kept = _checked_columns(keep_columns or (), {**self.inputs, **other.inputs})
        same = [name for name in self.inputs if name in other.inputs and name not in kept]
        self._check_rows(other, same or [name for name in self.inputs if name in other.inputs])
        mine = [(name if name in same else f"{self.run_name}_{name}", each) for name, each in self._columns().items()]
        theirs = [(f"{other.run_name}_{name}", each) for name, each in other._columns().items() if name not in same]
        return _report(_unique_columns([*mine, *theirs]), output_format, csv_file)

    def scores(self) -> Scores:
        """The individual scores as Scores, with a column per metric and a row per input row.

        Queries are named by the first input with a different text in each row; without one, they are numbered. A score
        that is not the mean of its individual scores is a finding.
        """
        columns = {metric: result["individual_scores"] for metric, result in self.results.items()}
        # NumPy converts None to NaN.
        values = {metric: np.array(column, np.float64) for metric, column in columns.items()}
        texts = (column for column in self.inputs.values() if all(isinstance(value, str) for value in column))
        unique = (column for column in texts if len(set(column)) == len(column))
        queries = tuple(next(unique, map(str, range(_row_count(self.inputs)))))
        scores = Scores(queries, values, name=self.run_name)
        findings = (_different_score(metric, result["score"], scores) for metric, result in self.results.items())
        return replace(scores, findings=tuple(finding for finding in findings if finding))

    def __repr__(self) -> str:
        rows = plural(_row_count(self.inputs), "row")
        scores = ((metric, result["score"]) for metric, result in self.results.items())
        texts = ", ".join(f"{metric}={'null' if _is_null(score) else f'{score:.4f}'}" for metric, score in scores)
        return safe_line(f"<EvaluationRunResult {shown(self.run_name)} of {rows}: {texts or 'no metrics'}>")

    @property
    def _place(self) -> Place:
        return Place(f"run {shown(self.run_name)}")

    def _check_rows(self, other: EvaluationRunResult, columns: Sequence[str]) -> None:
        """Raise an error unless both runs have the same rows, judging by these columns."""
        rows = plural(_row_count(other.inputs), "row")
        hint = f"Run {shown(other.run_name)} has {rows}. Compare runs of the same rows, in the same order."
        require(
            _row_count(self.inputs) == _row_count(other.inputs), "the runs differ in length", hint, place=self._place
        )
        hint = "Give both runs an input that identifies a row."
        require(columns, f"no input is also one of run {shown(other.run_name)}", hint, place=self._place)
        for name in columns:
            for row, (mine, theirs) in enumerate(zip(self.inputs[name], other.inputs[name], strict=True)):
                if not _is_equal(mine, theirs):
                    raise KaratError(
                        f"{shown(mine, 40)} is {shown(theirs, 40)} in run {shown(other.run_name)}",
                        place=self._place._replace(row=row, column=name),
                        hint="Put the rows of both runs in the same order. To show an input that differs for both runs,"
                        " list it in keep_columns.",
                    )

    def _columns(self) -> Columns:
        inputs = {name: list(values) for name, values in self.inputs.items()}
        return inputs | {metric: list(result["individual_scores"]) for metric, result in self.results.items()}


def _checked_inputs(inputs: Mapping[str, Sequence[Any]], place: Place) -> Columns:
    hint = 'Pass one list per column, with a value for each row: {"question": [...]}.'
    error = partial(KaratError, place=place, hint=hint)
    if not isinstance(inputs, Mapping):
        raise error(f"{shown(inputs)} is not a mapping of inputs")
    for name, values in inputs.items():
        if not isinstance(name, str):
            raise error(f"the input name {shown(name)} is not a string")
        if not _is_list(values):
            raise error(f"input {shown(name)} is not a list: {shown(values)}")
    lengths = {name: len(values) for name, values in inputs.items()}
    if len(set(lengths.values())) != 1:
        texts = ", ".join(f"{shown(name)} has {plural(length, 'row')}" for name, length in lengths.items())
        raise error(f"Lengths of the inputs should be the same: {texts}" if inputs else "No inputs provided")
    return {name: list(values) for name, values in inputs.items()}


def _checked_result(metric: str, result: Mapping[str, Any], inputs: Columns, place: Place) -> dict[str, Any]:
    require(isinstance(metric, str), "the name of the metric is not a string", "Use a string.", place=place)
    require(metric not in inputs, "an input has the same name", "Rename the metric.", place=place)
    if not isinstance(result, Mapping):
        raise KaratError(f"{shown(result)} is not a result", place=place, hint=f"A result is {_RESULT}.")
    for field, what in (("score", "Aggregate score missing"), ("individual_scores", "Individual scores missing")):
        require(field in result, what, f"A result is {_RESULT}.", place=place)
    scores = _checked_scores(result["individual_scores"], _row_count(inputs), place)
    score = result["score"]
    if _is_null(score) and all(map(_is_null, scores)):
        return {**result, "individual_scores": scores}  # without any score, the mean is null too
    is_score = _is_number(score) and not _is_null(score)
    require(is_score, f"the score {shown(score)} is not a finite number", "Pass the mean.", place=place)
    return {**result, "score": _plain([score])[0], "individual_scores": scores}


def _checked_scores(scores: Any, rows: int, place: Place) -> list[float | None]:
    error = partial(
        KaratError, place=place, hint="Pass one score per row, and None for a row that could not be judged."
    )
    if not _is_list(scores):
        raise error(f"individual_scores is not a list: {shown(scores)}")
    if len(scores) != rows:
        raise error(
            f"Length of individual scores ({len(scores):,}) should be the same as the inputs ({plural(rows, 'row')})"
        )
    for row, score in enumerate(scores):
        if score is not None and not _is_number(score):
            raise error(f"individual_scores[{row}] is {shown(score)}, which is not a finite number")
    return _plain(scores)


def _checked_columns(columns: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """The columns to keep, or an error if one of them is unknown."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise KaratError(
            [Parameter("keep_columns", columns), " is not a list of columns"], hint="Write keep_columns=[...]."
        )
    names = tuple(columns)
    for name in names:
        if not isinstance(name, str) or name not in known:
            hint = f"{did_you_mean(name, known)} Choose from {', '.join(known)}.".strip()
            raise KaratError([Parameter("keep_columns"), f": unknown input column {shown(name)}"], hint=hint)
    return names


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two inputs are the same: NaN is the same as NaN, and arrays are compared by their values."""
    with suppress(Exception):  # arrays have no single truth value, and an object may do anything
        if one == other:
            return True
    return repr(_cell(one)) == repr(_cell(other))


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, Real) and value != value)


def _is_number(value: object) -> bool:
    """Whether a value can be a score: finite, also if converted to a float, or NaN, which stands for null."""
    try:
        return isinstance(value, Real | np.bool_) and not math.isinf(value)
    except OverflowError:
        return False


def _plain(scores: Sequence[Any]) -> list[float | None]:
    """The scores as Python numbers: integers if all of them are, otherwise floats; None stays None."""
    whole = all(score is None or isinstance(score, Integral | np.bool_) for score in scores)
    return [None if score is None else int(score) if whole else float(score) for score in scores]


def _row_count(inputs: Columns) -> int:
    return len(next(iter(inputs.values())))


def _different_score(metric: str, score: float | None, scores: Scores) -> Finding | None:
    """A finding if a score differs from the one that Scores computes, which is the mean for most measures."""
    computed = scores.combined(metric)
    if computed is None and _is_null(score):
        return None
    close = partial(math.isclose, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    if computed is not None and score is not None and close(score, computed):
        return None
    actual = "it has no individual scores" if computed is None else f"its individual scores give {computed!r}"
    message = f"{metric} was given the score {score!r}, but {actual}"
    return Finding("score-is-not-the-mean", message, 1, "Tables show the score computed from the individual scores.")


def _unique_columns(columns: Sequence[tuple[str, list[Any]]]) -> Columns:
    report: Columns = {}
    for name, values in columns:
        require(name not in report, f"the report has two columns named {shown(name)}", "Rename a run or a column.")
        report[name] = values
    return report


def _report(columns: Columns, output_format: Format, csv_file: str | os.PathLike[str] | None) -> Report:
    formats = get_args(Format)
    if not isinstance(output_format, str) or output_format not in formats:
        hint = f"{did_you_mean(output_format, formats)} Choose json, csv or df.".strip()
        raise KaratError(f"unknown output_format {shown(output_format)}", hint=hint)
    if output_format == "json":
        return columns
    if output_format == "df":
        try:
            import pandas as pd
        except ImportError:
            raise KaratError("pandas is not installed", hint="pip install pandas") from None
        return pd.DataFrame(columns)
    if not isinstance(csv_file, str | os.PathLike) or not os.fspath(csv_file):
        raise KaratError([Parameter("csv_file", csv_file), " is not a path"], hint='Pass csv_file="report.csv".')
    text = delimited(list(columns), zip(*(map(_cell, values) for values in columns.values()), strict=True), ",")
    write_text(text, csv_file)
    return f"Data successfully written to {csv_file}"


def _cell(value: object) -> object:
    try:
        plain = _jsonable(value)
        return json.dumps(plain, ensure_ascii=False) if isinstance(plain, list | dict) else plain
    except RecursionError:  # the value contains itself
        return str(value)


def _jsonable(value: Any) -> Any:
    """A value as JSON: a document, of karat or Haystack, by its fields that are not None; unknown objects as text."""
    if isinstance(value, Document):
        parts = {"id": value.given_id, "content": value.content, "meta": value.meta or None, "score": value.score}
        value = {name: part for name, part in parts.items() if part is not None} | value.attachments()
    elif is_dataclass(value) and not isinstance(value, type):
        value = {field.name: part for field in fields(value) if (part := getattr(value, field.name)) is not None}
    if isinstance(value, Mapping):
        return {str(name): _jsonable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(each) for each in value]
    if value is None or type(value) in (str, bool, int, float):
        return value
    return _jsonable(value.tolist()) if isinstance(value, np.generic | np.ndarray) else str(value)
