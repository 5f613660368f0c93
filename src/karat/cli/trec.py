"""`karat trec`: trec_eval's command line and its output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from karat.cli import options as opt
from karat.cli.parser import EVALUATED, MEASURES, OUTPUT, READING, Command
from karat.errors import Parameter, require

LARGEST = 2**31 - 1
FORMATS = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
Check = Callable[[click.Context, click.Parameter, int | None], int | None]


def between(low: int, high: int) -> Check:
    """A check of the value of an option."""

    def check(_: click.Context, option: click.Parameter, value: int | None) -> int | None:
        is_valid = value is None or low <= value <= high
        require(is_valid, [Parameter(str(option.name), value), f" is not a whole number from {low} to {high}"])
        return value

    return check


@click.command("trec", cls=Command, example="karat trec -q -m official -m ndcg_cut.10,20 truth.qrels runs/bm25.trec")
@opt.file_argument("truth", "QRELS", "Ground truth: TREC qrels or preferences, plain or compressed.", required=True)
@opt.file_argument("run", "RUN", "A TREC run, plain or compressed; - is standard input.", required=True)
@opt.option(
    "-m",
    "--measure",
    "measures",
    group=MEASURES,
    multiple=True,
    metavar="MEASURE[.PARAMETERS]",
    help="A measure of trec_eval, such as map, P.5,10 or ndcg.1=3,2=9; or official (the default), all_trec or set; with"
    " -R, also qrels_jg, prefs or all_prefs. Repeatable.",
)
@opt.choice_option(
    "Rel_info_format",
    FORMATS,
    FORMATS[0],
    "The format of the ground truth: qrels, qrels of several judgment groups, preferences, or qrels as preferences.",
    group=READING,
    also=("-R", "judgments"),
)
@opt.option(
    "-l",
    "--level_for_rel",
    "level",
    group=MEASURES,
    type=int,
    callback=between(0, LARGEST),
    default=1,
    show_default=True,
    metavar="LEVEL",
    help="The lowest grade that counts as relevant.",
)
@opt.option(
    "-N",
    "--Number_docs_in_coll",
    "collection",
    group=MEASURES,
    type=int,
    callback=between(0, 2**53),
    default=0,
    metavar="NUM",
    help="The number of documents in the collection, for utility.",
)
@opt.option(
    "-c",
    "--complete_rel_info_wanted",
    "complete",
    group=EVALUATED,
    is_flag=True,
    help="Score queries 0 that are missing from the run.",
)
@opt.option(
    "-M",
    "--Max_retrieved_per_topic",
    "depth",
    group=EVALUATED,
    type=int,
    callback=between(1, LARGEST),
    metavar="MAX",
    help="Evaluate only the first MAX documents of each query.",
)
@opt.option(
    "-J",
    "--Judged_docs_only",
    "judged_only",
    group=EVALUATED,
    is_flag=True,
    help="Remove unjudged documents from the run first.",
)
@opt.option("-q", "--query_eval_wanted", "per_query", group=OUTPUT, is_flag=True, help="Print each query too.")
@opt.option(
    "-n", "--nosummary", "no_summary", group=OUTPUT, is_flag=True, help="Do not print the summary of all queries."
)
@opt.choice_option("trec-eval", ("9", "10"), "10", "The version of trec_eval whose rules hold.", group=EVALUATED)
def command(truth: str, run: str, measures: tuple[str, ...], no_summary: bool, trec_eval: str, **values: Any) -> None:
    """Print what trec_eval prints, in a fraction of the time."""
    from karat.cli.terminal import print_data
    from karat.compat.trec_eval import TrecOptions, run_trec_eval
    from karat.output.progress import progress_bar

    options = TrecOptions(
        measures=measures or TrecOptions.measures,
        summary=not no_summary,
        version=9 if trec_eval == "9" else 10,
        **values,
    )
    with progress_bar("bytes") as progress:
        output = run_trec_eval(truth, run, options, progress)
    print_data(output.text, "tsv")
    if output.error is not None:
        raise output.error
