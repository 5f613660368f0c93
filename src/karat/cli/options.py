"""The options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import click

from karat.cli.completion import complete_file, complete_group, complete_match, complete_measure, complete_values
from karat.cli.files import ColumnToRead, FileToRead, FileToWrite, FileType
from karat.cli.parser import Argument
from karat.options import (
    EVALUATION_OPTIONS,
    GATE_UNKNOWN_LABELS,
    UNKNOWN_LABELS,
    Correction,
    Family,
    Format,
    Names,
    Option,
    PlotKind,
    Test,
    check_choice,
)

Function = TypeVar("Function", bound=Callable[..., Any] | click.Command)

FORMATS: tuple[str, ...] = get_args(Format)


def file_argument(
    name: str, metavar: str, description: str, *, several: bool = False, required: bool = False
) -> Callable[[Function], Function]:
    """A positional argument that takes a file to read, or several of them."""
    return click.argument(
        name,
        cls=Argument,
        type=FileToRead(),
        metavar=metavar,
        description=description,
        nargs=-1 if several else 1,
        required=required,
    )


def choice_option(name: str, choices: Sequence[str], default: str | None, help: str) -> Callable[[Function], Function]:  # noqa: A002
    """An option that takes one of several values."""

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
        return None if value is None else check_choice(f"--{name}", value, tuple(choices))

    return click.option(
        f"--{name}",
        default=default,
        metavar="|".join(choices),
        callback=check,
        show_default=default is not None,
        help=help,
        shell_complete=complete_values(choices),
    )


def file_option(
    *names: str,
    kind: FileType,
    help: str,  # noqa: A002
    **attributes: Any,
) -> Callable[[Function], Function]:
    """An option that takes a file to read or to write."""
    return click.option(*names, type=kind, metavar="FILE", help=help, **attributes)


def is_given(context: click.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def evaluation_options(function: Function) -> Function:
    """The options of an evaluation, as `karat.options` declares them: the command gets them as keyword arguments."""
    for name, option in reversed(list(EVALUATION_OPTIONS.items())):
        function = _evaluation_option(name.replace("_", "-"), option)(function)
    return function


def ranking_options(function: Function) -> Function:
    """The options of an evaluation that change which documents are in the top of a run."""
    for name in ("ignore_identical_ids", "duplicates", "ties"):
        function = _evaluation_option(name.replace("_", "-"), EVALUATION_OPTIONS[name])(function)
    return function


def _evaluation_option(name: str, option: Option) -> Callable[[Function], Function]:
    if option.choices:
        return choice_option(name, option.choices, option.default, option.help)
    if option.default is False:
        return click.option(f"--{name}", is_flag=True, help=option.help)
    return click.option(
        f"--{name}",
        default=option.default,
        type=float if option.default is None else str,
        metavar=option.metavar,
        help=option.help,
        show_default=option.default is not None,
        shell_complete=complete_match if name == "match" else None,
    )


safe_csv = click.option(
    "--safe-csv",
    is_flag=True,
    help="Put an apostrophe before texts in CSV and TSV that a spreadsheet would run as formulas (= + - @).",
)


def output_options(formats: Sequence[str], suffixes: str) -> Callable[[Function], Function]:
    """`-o FILE` and `--format`; FILE is None for standard output, which can also be given as `-`."""

    def decorate(function: Function) -> Function:
        if "csv" in formats:
            function = safe_csv(function)
        by_name = "Output format. By default, FILE's suffix decides; without FILE, a table."
        function = choice_option("format", formats, None, by_name)(function)
        return file_option(
            "-o",
            "--output",
            "file",
            kind=FileToWrite(),
            help=f"Write to a file instead of standard output: {suffixes}.",
            callback=lambda context, parameter, value: None if value in ("-", "/dev/stdout") else value,  # noqa: ARG005
        )(function)

    return decorate


def plot_options(default: str) -> Callable[[Function], Function]:
    """`--plot FILE` and `--plot-kind KIND`."""

    def decorate(function: Function) -> Function:
        about = f"What the plot shows. By default {default}, or slices with --by."
        function = choice_option("plot-kind", get_args(PlotKind), None, about)(function)
        help = "Write a plot to a file: .svg, .png, .pdf, or .json for Vega-Lite."  # noqa: A001
        return file_option("--plot", kind=FileToWrite(), help=help)(function)

    return decorate


def baseline(by_default: str) -> Callable[[Function], Function]:
    """The option that names one of the systems of a comparison."""
    return click.option(
        "--baseline",
        metavar="RUN",
        help=f"The run that the others are compared with. By default, {by_default}.",
        shell_complete=complete_file,
    )


def comparison_options(function: Function) -> Function:
    """How systems are compared; the command gets them by the names in `COMPARISON_OPTIONS`."""
    for option in reversed(COMPARISON_OPTIONS.values()):
        function = option(function)
    return function


truth_or_system = file_argument(
    "truth",
    "TRUTH",
    "Ground truth, in any format. Leave it out if the systems are results or saved scores.",
    required=True,
)
systems = file_argument(
    "runs",
    "RUN...",
    "The systems: runs, results, or saved scores, of one or several systems; runs.json:bm25 is one of several.",
    several=True,
)
measures = click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="A measure, such as nDCG@10 or 'AP(rel=2)'. Repeatable.",
    shell_complete=complete_measure,
)
fields = click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=FIELD",
    help="Read NAME from this field of results files, such as retrieved=source_nodes. Repeatable.",
)


def input_options(function: Function) -> Function:
    """`--input-format`, `--column` and `--split`; the command gets them as `formats`, `columns` and `split`."""
    return _input_options(
        " of all files that have it, such as doc=docno; or of one side only: truth.doc=docno, run.doc=docno,"
        " queries.text=title, corpus.text=body.",
        "The format of the files",
        "; or of one side only: truth=FORMAT, run=FORMAT, queries=FORMAT, corpus=FORMAT",
    )(function)


def options_of_one_input(function: Function) -> Function:
    """The same options for a command that reads one file."""
    return _input_options(", such as doc=docno.", "The format of IN", "")(function)


def _input_options(of_files: str, the_format: str, of_sides: str) -> Callable[[Function], Function]:
    split = click.option(
        "--split", metavar="SPLIT", help="The split of a BEIR folder; test by default, or the only one."
    )
    columns = click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        help=f"Read query, doc, grade, score or rank from this column{of_files} Repeatable.",
    )
    formats = click.option(
        "--input-format",
        "formats",
        multiple=True,
        metavar="FORMAT",
        help=f"{the_format}, if it is not to be detected: trec, csv, tsv, json, jsonl, parquet or feather{of_sides}.",
    )
    return lambda function: formats(columns(split(function)))


def verdict_options(function: Function, unknown_labels: Option = UNKNOWN_LABELS) -> Function:
    """`--verdicts`, `--author` and `--unknown`: labels of the answers in results, or of the documents of runs."""
    verdicts = file_option(
        "--verdicts",
        kind=FileToRead(),
        multiple=True,
        help="Labels of the answers in results, for measures such as Faithfulness; or of documents, as grades of those"
        " that the ground truth does not judge. Repeatable.",
    )
    author = click.option(
        "--author",
        metavar="AUTHOR",
        help="Whose labels count, if they are by several authors: human (all people, by majority), human:ann, or a"
        " model.",
    )
    unknown = choice_option("unknown", unknown_labels.choices, unknown_labels.default, unknown_labels.help)
    return verdicts(author(unknown(function)))


def gate_verdict_options(function: Function) -> Function:
    """The same options, where `--unknown worst` decides by the worst value that missing labels allow."""
    return verdict_options(function, GATE_UNKNOWN_LABELS)


by = click.option(
    "--by",
    type=ColumnToRead(),
    metavar="GROUP",
    help="Show groups of queries: by length, by relevant (the number of relevant documents), or by a column of a file,"
    " such as queries.csv:language.",
    shell_complete=complete_group,
)
queries = click.option(
    "--queries",
    multiple=True,
    type=ColumnToRead(),
    metavar="FILE[:COLUMN]",
    help="The texts of the queries, such as queries.jsonl or queries.csv:title; or a BEIR folder. Repeatable.",
)
corpus = click.option(
    "--corpus",
    multiple=True,
    type=ColumnToRead(),
    metavar="FILE[:COLUMN]",
    help="The texts of documents that are known by id, such as corpus.jsonl, collection.tsv or corpus.csv:body; or a"
    " BEIR folder. Repeatable.",
)
report = file_option(
    "--report",
    kind=FileToWrite(),
    help="Also write a report: one HTML page with charts and every query. `karat report` has more options.",
)
per_query = click.option("--per-query", is_flag=True, help="Show the scores of every query.")
names = choice_option(
    "names", get_args(Names), "canonical", "Name measures as karat does (AP), or as they were asked for (map)."
)
intervals = click.option("--ci", is_flag=True, help="Show 95% confidence intervals of the means.")
digits = click.option("--digits", type=int, metavar="N", help="The number of decimals in tables; 4 by default.")
sort = click.option("--sort", metavar="MEASURE", help="Show the runs in the order of a measure, best first.")
test = choice_option("test", get_args(Test), "randomization", "Significance test. Use tukey for many systems.")
correction = choice_option(
    "correction",
    get_args(Correction),
    None,
    "Correction of p for multiple comparisons. By default holm, but none for tukey, which needs no correction.",
)
lower_is_better = click.option(
    "--lower-is-better",
    multiple=True,
    metavar="MEASURE",
    help="Lower values of this column, which another tool computed, are better, such as a latency. Repeatable.",
)
force = click.option(
    "--force",
    is_flag=True,
    help="Compare systems even if they were evaluated against different ground truth or with different options.",
)
common_queries = click.option(
    "--common-queries",
    is_flag=True,
    help="Compare only the queries that all systems have; without it, other queries are an error.",
)
COMPARISON_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "test": test,
    "correction": correction,
    "family": choice_option(
        "family",
        get_args(Family),
        None,
        "Correct p over the comparisons of each measure (the default), or over all comparisons.",
    ),
    "level": click.option(
        "--level",
        default=0.95,
        metavar="LEVEL",
        show_default=True,
        help="Confidence level of the intervals. A difference is significant if p is below 1 - LEVEL.",
    ),
    "detect": click.option(
        "--detect", type=float, metavar="D", help="Estimate how many queries it takes to detect a difference D."
    ),
    "equivalence": click.option(
        "--equivalence",
        multiple=True,
        metavar="[MEASURE=]D",
        help="Test whether systems are equivalent: whether their difference is smaller than D, in both directions."
        " Repeatable, with a measure.",
    ),
    "permutations": click.option(
        "--permutations",
        type=int,
        metavar="N",
        help="Number of random permutations of the tests randomization, if an exact test would take too long, and"
        " tukey.  [default: 100000]",
    ),
    "common_queries": common_queries,
    "force": force,
}
"""the options of a comparison by the names that `choose_method` gives them"""
