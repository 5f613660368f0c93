"""The evaluation of results on Spark: executors read ranges of files with karat's own readers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from karat.engines.spark.measures import portable
from karat.engines.spark.planning import read_without_spark, say_ranges, unreadable
from karat.engines.spark.ranges import ShuffleNeededError, number_of_tasks
from karat.engines.spark.session import spark_session
from karat.engines.spark.verdict_ranges import in_tasks
from karat.errors import KaratError, shown
from karat.errors.arguments import check_switch, check_text
from karat.evaluation.reading import EvaluationOptions
from karat.evaluation.result_ranges import check_arguments, evaluate_ranges
from karat.evaluation.results import LogArguments
from karat.options import Order
from karat.reading.bytes.names import FORMATS
from karat.reading.records.record_ranges import RecordRanges, plan_records
from karat.registry.selection import Measures
from karat.scores import Scores

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def evaluate_results(
    results: str | os.PathLike[str],
    measures: Measures | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    input_format: str | None = None,
    records: str | None = None,
    name: str = "",
    order: Order | None = None,
    lower_is_better: Iterable[str] = (),
    session: SparkSession | None = None,
    progress: bool = False,
    **options: Unpack[EvaluationOptions],
) -> Scores:
    """Evaluate the results of a RAG system on Spark: the scores are those of `karat.evaluate_results`, to the last bit.

    `results` is a path that karat can open without Spark: a file, or a folder or a pattern of files. Executors read
    ranges of JSON lines and Parquet; any other file is read by one of them. The gold is in the records. The queries are
    in the order of the files, and without their questions. `session` and `progress` are those of `evaluate`, the other
    arguments those of `karat.evaluate_results`.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "results.jsonl")
    >>> line = json.dumps({"query": "How hard is gold?", "retrieved": ["Gold is soft."], "gold": ["Gold is soft."]})
    >>> _ = path.write_text(line)
    >>> evaluate_results(path, "RR", session=spark).means
    {'RR': 1.0}
    """
    check_text("name", name)
    show_progress = check_switch("progress", progress)
    arguments = LogArguments(
        input_format=input_format, records=records, order=order, lower_is_better=lower_is_better, options=options
    )
    check_arguments(measures, fields, arguments)
    path = _path(results)
    with spark_session(session) as spark:
        planned = _planned(path, input_format, spark)
        say_ranges(planned.name, planned.ranges)
        return evaluate_ranges(
            planned, partial(in_tasks, spark, show_progress), measures, fields, arguments, name, portable
        )


def _path(results: Any) -> str:
    """The path of results; an error if karat cannot open them."""
    if isinstance(results, str | os.PathLike):
        path = os.fsdecode(results)
        if reason := unreadable(path):
            hint = "Copy the files to where karat can open them, such as a shared disk or s3://bucket/folder."
            raise KaratError(f"results are read by karat itself, and {reason}", hint=hint)
        return path
    hint = "Pass a path, or use karat.evaluate_results."
    if hasattr(results, "sparkSession"):
        hint = "Write it to files, with frame.write.json(path) or frame.write.parquet(path), and pass the path."
    raise KaratError(f"results on Spark are files, and {shown(results)} is not the path of any", hint=hint)


def _planned(path: str, input_format: str | None, session: SparkSession) -> RecordRanges:
    try:
        with read_without_spark(session, path):
            return plan_records(path, number_of_tasks(session), input_format if input_format in FORMATS else None)
    except ShuffleNeededError as reason:
        raise KaratError(str(reason), place=path) from None
