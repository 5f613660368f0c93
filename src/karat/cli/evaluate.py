"""`karat evaluate`: the scores of one or several runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from karat.cli import options as opt
from karat.cli.correction_options import LEVEL, check_correction, correction_options
from karat.cli.joined_options import joined_options
from karat.cli.parser import OUTPUT, STATISTICS, Command
from karat.cli.spark import check_engine, engine_options

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.settings import Settings
    from karat.output.printable import BySystem
    from karat.scores import Scores


@click.command("evaluate", cls=Command, example='karat evaluate truth.qrels runs/*.trec -m nDCG@10 -m "AP(rel=2)" --ci')
@opt.file_argument(
    "truth",
    "TRUTH",
    "Ground truth: TREC, CSV, TSV, JSON, JSON lines, Parquet, Feather, or a BEIR folder. Or RAG results, which need no"
    " RUN. Plain or compressed; - is standard input.",
    required=True,
)
@opt.file_argument(
    "runs",
    "RUN...",
    "Runs, in the same formats, or results, which the ground truth is joined to. After a results file: more of them.",
    repeatable=True,
)
@opt.measures
@opt.system_options(on_spark=". With --engine spark: the column that gives the order of a run's rows")
@joined_options
@opt.lower_is_better
@opt.intervals
@opt.by
@correction_options
@opt.option(
    "--bounds",
    group=STATISTICS,
    is_flag=True,
    help="Show the lowest and highest possible scores if unjudged documents were judged, and missing labels known.",
)
@opt.output_options(opt.FORMATS, ".csv, .md, .tex, ..., or .json and .parquet for the scores of every query")
@opt.per_query
@opt.option(
    "--explain",
    group=OUTPUT,
    metavar="QUERY",
    help="Show which documents of a query were hits, rank by rank; its answer, and the labels of the answer.",
)
@opt.report
@opt.sort
@opt.digits
@opt.plot_options("intervals")
@opt.names
@opt.safe_csv
@engine_options
def command(truth: str, runs: tuple[str, ...], sort: str | None, bounds: bool, **values: Any) -> None:
    """Evaluate runs against ground truth. Several runs are shown in one table."""
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output, check_sort, print_scores
    from karat.cli.settings import Settings
    from karat.cli.spark import scores_on_spark, store_on_spark
    from karat.cli.systems import SystemFiles
    from karat.matching.matchers import matcher_of
    from karat.scores import SystemScores

    matcher_of(values["match"])
    _check_views(bounds, values)
    check_correction(values)
    check_engine({**values, "bounds": bounds, "sort": sort})
    is_stored = values["per_query_path"] is not None
    output = Output.of(values, is_scores=not (bounds or values["by"] or is_stored))
    settings = Settings.of(values)
    inputs = Inputs.of(values)
    if is_stored:
        output.print(store_on_spark([truth, *runs], inputs, settings, values, output.level))
        return
    if values["engine"] == "spark":
        files = None
        systems = SystemScores(scores_on_spark([truth, *runs], inputs, settings, values))
    else:
        files = SystemFiles([truth, *runs], inputs, settings)
        systems = SystemScores(files.load())
    settings.check_groups(systems, inputs)
    check_sort(sort, systems)
    scores = systems if sort is None else systems.sorted(sort)
    output.save_plot("bounds" if bounds else "intervals", scores, inputs, settings)
    if files is not None:
        output.save_report(scores, files)
    if bounds:
        from karat.cli.bounds import bounds_of

        output.print(bounds_of(scores, output.per_query))
    elif inputs.correct:
        from karat.scores.corrected import corrected

        means = corrected(scores, LEVEL, values["width"])
        if output.saves_scores:  # with the values of people, so that compare and gate can correct them later
            print_scores(scores, output)
            output = Output()
        output.print(means)
    elif settings.by is not None:
        output.print(_slices(scores, inputs, settings))
    else:
        print_scores(scores, output, inputs.queries or None, inputs.corpus_to_show(values["match"]))


def _slices(systems: Mapping[str, Scores], inputs: Inputs, settings: Settings) -> BySystem:
    """The scores of each group of queries, for each system."""
    from karat.analysis.texts import questions_of
    from karat.output.printable import BySystem

    texts = inputs.query_texts(settings.by, (query for scores in systems.values() for query in scores.queries))
    questions = questions_of(systems.values())
    named = {name: replace(scores, questions=questions) for name, scores in systems.items()}
    return BySystem({name: scores.slices(settings.by, queries=texts) for name, scores in named.items()})


def _check_views(bounds: bool, values: Mapping[str, Any]) -> None:
    """Reject options that each show something else."""
    from karat.errors import KaratError

    by, per_query, is_explained = values["by"] is not None, values["per_query"], values["explain"] is not None
    views = {"--bounds": bounds, "--by": by, "--explain": is_explained, "--ci": values["ci"] and not by}
    views["--correct"] = values["correct"]
    chosen = [option for option, is_given in views.items() if is_given]
    if (bounds or by or values["correct"]) and (len(chosen) > 1 or ((by or values["correct"]) and per_query)):
        both = " and ".join([*chosen, *(["--per-query"] if len(chosen) == 1 else [])])
        raise KaratError(f"{both} cannot be combined", hint="Leave one of them out.")
    other = chosen[0] if bounds or by or values["correct"] or is_explained else "--report" if values["report"] else None
    if values["names"] == "asked" and other is not None:
        raise KaratError(f"--names and {other} cannot be combined", hint="Leave one of them out.")
