"""`--engine spark`: the scores of runs that Spark reads and evaluates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from karat.cli.options import Function, choice_option
from karat.errors import KaratError, require
from karat.options import Engine

if TYPE_CHECKING:
    from karat.cli.systems import Evaluation
    from karat.scores import Scores

_LOCALLY = "Evaluate the run without --engine spark, or leave {} out."
# What these options show is not in the scores, and documents stay on the executors.
_OF_DOCUMENTS = ("explain", "bounds", "report", "fields")


def engine_options(function: Function) -> Function:
    """`--engine`, and the options of an evaluation on Spark: `--master` and `--order`."""
    engine = choice_option(
        "engine", get_args(Engine), "local", "Evaluate in this process, or on Spark, which then reads the files."
    )
    master = click.option(
        "--master", metavar="URL", help="The cluster of --engine spark. By default local[*], which is this machine."
    )
    order = click.option(
        "--order", metavar="COLUMN", help="With --engine spark: the column that gives the order of a run's rows."
    )
    return engine(master(order(function)))


def check_engine(given: Mapping[str, Any]) -> None:
    """Reject options that do not fit the engine."""
    if given["engine"] == "spark":
        for option in _OF_DOCUMENTS:
            if given[option]:
                name = "--field" if option == "fields" else f"--{option}"
                what = f"{name} needs documents in this process, and on Spark they stay in the executors"
                raise KaratError(what, hint=_LOCALLY.format(name))
        for option in ("corpus", "verdicts"):
            require(not given[option], f"--{option} is not supported on Spark", _LOCALLY.format(f"--{option}"))
        return
    for name in ("master", "order"):
        require(given[name] is None, f"--{name} is an option of Spark", f"Add --engine spark, or leave --{name} out.")


def scores_on_spark(paths: Sequence[str], evaluation: Evaluation, given: Mapping[str, Any]) -> dict[str, Scores]:
    """The scores of each run, which are evaluated one after the other against the ground truth, the first path."""
    from karat.engines import spark
    from karat.engines.spark.session import spark_session
    from karat.evaluation import DEFAULT_MEASURES, select_measures
    from karat.sources.beir import is_data_set, qrels_of_split
    from karat.sources.run_files import run_names

    measures = evaluation.names() or DEFAULT_MEASURES
    select_measures(measures)  # an unknown one is an error before Spark is started
    inputs = evaluation.inputs
    truth, *runs = paths
    hint = "Add a run after it. Results, which contain their ground truth, are evaluated without --engine spark."
    require(runs, "this is read as ground truth, but no run was given", hint, where=truth)
    require("-" not in paths, "standard input cannot be read by Spark", "Save it as a file.")
    if inputs.split is not None or is_data_set(truth):
        truth = qrels_of_split(truth, inputs.split)
    arguments: Any = dict(evaluation.options)
    arguments |= {f"{side}_columns": inputs.columns.get(side) for side in ("truth", "run")}
    arguments |= {f"{side}_format": inputs.formats.get(side) for side in ("truth", "run")}
    with spark_session(master=given["master"]) as session:
        return {
            name: spark.evaluate(
                truth, run, measures, order=given["order"], session=session,
                progress=True, name=name, **arguments,
            )
            for name, run in zip(run_names(runs), runs, strict=True)
        }  # fmt: skip
