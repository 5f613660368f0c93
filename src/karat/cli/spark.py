"""`--engine spark`: the scores of runs that Spark reads and evaluates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, get_args

from karat.cli import options as opt
from karat.cli.parser import EVALUATED, OUTPUT
from karat.errors import KaratError, require
from karat.options import Engine

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.settings import Settings
    from karat.scores import Scores
    from karat.scores.stored_scores import ShownStoredScores

_LOCALLY = "Evaluate the run without --engine spark, or leave {} out."
# What these options show is not in the scores, and documents stay on the executors.
_OF_DOCUMENTS = ("explain", "bounds", "report", "fields", "records", "by")
_OF_SPARK = ("master", "per_query_path", "verbose")
# What these options show is computed from the scores of every query.
_OF_QUERIES = ("per_query", "by", "plot")


engine_options = opt.in_order(
    opt.choice_option(
        "engine",
        get_args(Engine),
        "local",
        "Evaluate in this process, or on Spark, whose executors then read the files.",
        group=EVALUATED,
    ),
    opt.option(
        "--master",
        group=EVALUATED,
        metavar="URL",
        help="The cluster of --engine spark. By default, that of spark-submit or of Spark's configuration, or this"
        " machine: local[*].",
    ),
    opt.option(
        "--per-query-path",
        group=OUTPUT,
        metavar="FOLDER",
        help="With --engine spark: write the scores of every query to this new folder, from the executors.",
    ),
    opt.option(
        "--verbose", "-v", group=OUTPUT, is_flag=True, help="With --engine spark: say how each run is read, and why."
    ),
)


def check_engine(values: Mapping[str, Any]) -> None:
    """Reject options that do not fit the engine."""
    if values["engine"] == "spark":
        for option in _OF_DOCUMENTS:
            if values[option] if option != "by" else values[option] == "relevant":
                name = {"fields": "--field", "by": "--by relevant"}.get(option, f"--{option}")
                what = f"{name} needs documents in this process, and on Spark they stay in the executors"
                raise KaratError(what, hint=_LOCALLY.format(name))
        for option in ("corpus", "verdicts", "lower_is_better", "gold", "answers"):
            name = "--truth" if option == "gold" else _spelled(option)
            require(not values[option], f"{name} is not supported on Spark", _LOCALLY.format(name))
        if values["per_query_path"] is not None:
            _check_stored(values)
        return
    for option in _OF_SPARK:
        name = _spelled(option)
        require(
            values[option] in (None, False),
            f"{name} is an option of Spark",
            f"Add --engine spark, or leave {name} out.",
        )


def _check_stored(values: Mapping[str, Any]) -> None:
    """Reject what needs the scores of every query in this process."""
    for option in (each for each in _OF_QUERIES if values[each]):
        what = f"{_spelled(option)} needs the scores of every query, and with --per-query-path they stay in the folder"
        raise KaratError(what, hint=f"Leave {_spelled(option)} out. `karat compare` and `karat gate` read the folder.")
    what = "with --per-query-path, measures are named as karat names them"
    require(values["names"] == "canonical", what, "Leave --names out.")
    require(values["sort"] is None, "--sort orders several runs, and --per-query-path takes one", "Leave --sort out.")


def _spelled(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def scores_on_spark(
    paths: Sequence[str], inputs: Inputs, settings: Settings, values: Mapping[str, Any]
) -> dict[str, Scores]:
    """The scores of each run, which are evaluated one after the other against the ground truth, the first path."""
    from karat.engines import spark

    with _evaluating(paths, inputs, settings, values) as (truth, runs, arguments):
        return {name: spark.evaluate(truth, run, name=name, **arguments) for name, run in runs.items()}


def store_on_spark(
    paths: Sequence[str], inputs: Inputs, settings: Settings, values: Mapping[str, Any], level: float | None
) -> ShownStoredScores:
    """The scores of one run, whose values per query are written to the folder of `--per-query-path`."""
    from karat.engines import spark
    from karat.scores.stored_scores import ShownStoredScores

    hint = "Evaluate one run after the other, each with a folder of its own."
    require(len(paths) < 3, "--per-query-path takes one run", hint)
    with _evaluating(paths, inputs, settings, values) as (truth, runs, arguments):
        ((name, run),) = runs.items()
        stored = spark.evaluate(truth, run, name=name, per_query_path=values["per_query_path"], **arguments)
        return ShownStoredScores(stored, level)


@contextmanager
def _evaluating(
    paths: Sequence[str], inputs: Inputs, settings: Settings, values: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, str], Any]]:
    """The ground truth, the runs by name, and the other arguments of evaluations in a session of Spark."""
    from karat.engines.spark.session import spark_session
    from karat.evaluation import DEFAULT_MEASURES, select_measures
    from karat.reading.pairs.data_sets import is_data_set, qrels_of_split
    from karat.reading.pairs.paths import run_names

    measures = settings.names() or DEFAULT_MEASURES
    select_measures(measures)  # an unknown one is an error before Spark is started
    truth, *runs = paths
    _check_runs(truth, runs)
    require("-" not in paths, "standard input cannot be read by Spark", "Save it as a file.")
    if inputs.split is not None or is_data_set(truth):
        truth = qrels_of_split(truth, inputs.split)
    arguments: Any = {**settings.options, "measures": measures, "order": values["order"], "progress": True}
    arguments |= {f"{side}_columns": inputs.columns.get(side) for side in ("truth", "run")}
    arguments |= {f"{side}_format": inputs.formats.get(side) for side in ("truth", "run")}
    with spark_session(master=values["master"]) as session, _shown_plan(wanted=values["verbose"]):
        yield truth, dict(zip(run_names(runs), runs, strict=True)), {**arguments, "session": session}


def _check_runs(truth: str, runs: Sequence[str]) -> None:
    """An error if no run was named. Results and labels need none, but this command does not evaluate them on Spark."""
    if runs:
        return
    from karat.reading.bytes.input_file import InputFile
    from karat.reading.contents.contents import content_of

    content = content_of(InputFile(truth)) if os.path.isfile(truth) else "documents"
    if content == "verdicts":
        hint = "Leave --engine spark out; in Python, karat.engines.spark.evaluate_verdicts evaluates them on Spark."
        raise KaratError("labels are not evaluated on Spark by this command", place=truth, hint=hint)
    if content == "results":
        hint = "Leave --engine spark out; in Python, karat.engines.spark.evaluate_results evaluates them on Spark."
        raise KaratError("results are not evaluated on Spark by this command", place=truth, hint=hint)
    hint = "Add a run after it. Results, which contain their ground truth, are evaluated without --engine spark."
    raise KaratError("this is read as ground truth, but no run was given", place=truth, hint=hint)


@contextmanager
def _shown_plan(*, wanted: bool) -> Iterator[None]:
    """Show how runs are read."""
    import logging

    from karat.engines.spark.planning import PLAN

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("karat: %(message)s"))
    before = PLAN.level
    if wanted:
        PLAN.setLevel(logging.INFO)
        PLAN.addHandler(handler)
    try:
        yield
    finally:
        PLAN.removeHandler(handler)
        PLAN.setLevel(before)
