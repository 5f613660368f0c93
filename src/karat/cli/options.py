"""The options that several commands share, each declared once, with the heading under which the help lists it.

A command lists its options in the order of its help: within a heading, those that are used most come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import click

from karat.cli.completion import Complete, complete_group, complete_match, complete_measure, complete_values
from karat.cli.files import ColumnToRead, FileToRead, FileToWrite, FileType
from karat.cli.parser import EVALUATED, MEASURES, OUTPUT, READING, STATISTICS, Argument, GroupedOption
from karat.errors import require
from karat.options import (
    EVALUATION_OPTIONS,
    UNKNOWN_LABELS,
    Format,
    Names,
    Option,
    PlotKind,
    check_choice,
)

Function = TypeVar("Function", bound=Callable[..., Any] | click.Command)

FORMATS: tuple[str, ...] = get_args(Format)
ORDER = "What each list of documents in results is sorted by: score. By default, it keeps its order"


def option(*names: str, group: str, help: str, **attributes: Any) -> Callable[[Function], Function]:  # noqa: A002
    """An option under a heading of the help."""
    return click.option(*names, cls=GroupedOption, group=group, help=help, **attributes)


def file_argument(
    name: str, metavar: str, description: str, *, repeatable: bool = False, required: bool = False
) -> Callable[[Function], Function]:
    """A positional argument that takes a file to read, or several of them."""
    return click.argument(
        name,
        cls=Argument,
        type=FileToRead(),
        metavar=metavar,
        description=description,
        nargs=-1 if repeatable else 1,
        required=required,
    )


def choice_option(
    name: str,
    choices: Sequence[str],
    default: str | None,
    help: str,  # noqa: A002
    *,
    group: str,
    also: Sequence[str] = (),
) -> Callable[[Function], Function]:
    """An option that takes one of several values; `also` are its other names."""

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001  # click passes it
        return None if value is None else check_choice(str(parameter.name), value, tuple(choices))

    return option(
        f"--{name}",
        *also,
        group=group,
        default=default,
        metavar="|".join(choices),
        callback=check,
        show_default=default is not None,
        help=help,
        shell_complete=complete_values(choices),
    )


def file_option(*names: str, kind: FileType, group: str, **attributes: Any) -> Callable[[Function], Function]:
    """An option that takes a file to read or to write."""
    return option(*names, type=kind, metavar="FILE", group=group, **attributes)


def is_given(context: click.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def in_order(*options: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Several options, in this order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(options):
            function = decorator(function)
        return function

    return decorate


def declared_option(
    name: str,
    declared: Option,
    *,
    group: str,
    kind: Any = str,
    complete: Complete | None = None,
    repeatable: bool = False,
) -> Callable[[Any], Any]:
    """An option that the library declares: one of several values, a switch, or a value of this kind, or several."""
    spelling = name.replace("_", "-")
    if declared.choices:
        return choice_option(spelling, declared.choices, declared.default, declared.help, group=group)
    if declared.default is False:
        return option(f"--{spelling}", group=group, is_flag=True, help=declared.help)
    return option(
        f"--{spelling}",
        group=group,
        default=declared.default,
        type=kind,
        multiple=repeatable,
        metavar=declared.metavar,
        help=declared.help,
        show_default=declared.default is not None,
        shell_complete=complete,
    )


evaluation_options = {
    name: declared_option(
        name,
        declared,
        group=MEASURES if name == "rel" else EVALUATED,
        kind=float if name == "rel" else str,
        complete=complete_match if name == "match" else None,
    )
    for name, declared in EVALUATION_OPTIONS.items()
}
"""by their names, in the order of the help"""


def output_options(formats: Sequence[str], suffixes: str, otherwise: str = "a table") -> Callable[[Function], Function]:
    """`-o FILE` and `--format`; FILE is None for standard output, which can also be given as `-`."""
    file = file_option(
        "-o",
        "--output",
        "file",
        kind=FileToWrite(),
        group=OUTPUT,
        help=f"Write to a file instead of standard output: {suffixes}.",
        callback=lambda context, parameter, value: None if value in ("-", "/dev/stdout") else value,  # noqa: ARG005
    )
    by_name = f"Output format. By default, FILE's suffix decides; without FILE, {otherwise}."
    return in_order(file, choice_option("format", formats, None, by_name, group=OUTPUT))


safe_csv = option(
    "--safe-csv",
    group=OUTPUT,
    is_flag=True,
    help="Put an apostrophe before texts in CSV and TSV that a spreadsheet would run as formulas (= + - @).",
)


def number_shown(nouns: str, all_of_them: str) -> Callable[[Function], Function]:
    """The option `-n`: how many lines of a long list are printed; the command gets None for all of them."""

    def check(context: click.Context, parameter: click.Parameter, value: int) -> int | None:  # noqa: ARG001
        hint = f"Use a number of {nouns}; 0 shows {all_of_them}."
        require(value >= 0, f"-n {value} is negative", hint)
        return value or None

    help = f"Number of {nouns} to show; 0 shows {all_of_them}."  # noqa: A001
    return option("-n", group=OUTPUT, default=10, metavar="N", show_default=True, help=help, callback=check)


def plot_options(default: str) -> Callable[[Function], Function]:
    """`--plot FILE` and `--plot-kind KIND`."""
    help = "Write a plot to a file: .svg, .png, .pdf, or .json for Vega-Lite."  # noqa: A001
    about = f"What the plot shows. By default {default}, or slices with --by."
    return in_order(
        file_option("--plot", kind=FileToWrite(), group=OUTPUT, help=help),
        choice_option("plot-kind", get_args(PlotKind), None, about, group=OUTPUT),
    )


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
    repeatable=True,
)


def measure_option(examples: str) -> Callable[[Function], Function]:
    """`-m MEASURE`."""
    return option(
        "-m",
        "--measure",
        "measures",
        group=MEASURES,
        multiple=True,
        metavar="MEASURE",
        help=f"A measure, such as {examples}. Repeatable.",
        shell_complete=complete_measure,
    )


measures = measure_option("nDCG@10 or 'AP(rel=2)'")


def field_option(of_files: str) -> Callable[[Function], Function]:
    """`--field NAME=FIELD`; the command gets it as `fields`."""
    help = f"Read NAME from this field of {of_files}. Repeatable."  # noqa: A001
    return option("--field", "fields", group=READING, multiple=True, metavar="NAME=FIELD", help=help)


fields = in_order(
    field_option("results files, such as retrieved=source_nodes"),
    option(
        "--records",
        group=READING,
        metavar="PATH",
        help="Where the records of results are inside an object, such as run.items, if that is not found out.",
    ),
)
"""`--field` and `--records`"""


def _input_options(of_files: str, the_format: str, of_sides: str) -> Callable[[Function], Function]:
    formats = option(
        "--input-format",
        "formats",
        group=READING,
        multiple=True,
        metavar="FORMAT",
        help=f"{the_format}, if it is not to be detected: trec, csv, tsv, json, jsonl, parquet or feather{of_sides}.",
    )
    columns = option(
        "--column",
        "columns",
        group=READING,
        multiple=True,
        metavar="ROLE=NAME",
        help=f"Read query, doc, grade, score or rank from this column{of_files} Repeatable.",
    )
    help = "The split of a BEIR folder; test by default, or the only one."  # noqa: A001
    return in_order(columns, formats, option("--split", group=READING, metavar="SPLIT", help=help))


input_options = _input_options(
    " of all files that have it, such as doc=docno; or of one side only: truth.doc=docno, run.doc=docno,"
    " queries.text=title, corpus.text=body.",
    "The format of the files",
    "; or the tool that wrote the results, such as ragas; or of one side only: truth=FORMAT, run=FORMAT,"
    " queries=FORMAT, corpus=FORMAT",
)
"""`--column`, `--input-format` and `--split`; the command gets them as `columns`, `formats` and `split`"""
options_of_one_input = _input_options(", such as doc=docno.", "The format of IN", "")
"""the same options for a command that reads one file"""


def _verdict_options(unknown_labels: Option) -> Callable[[Function], Function]:
    """`--verdicts`, `--author` and `--unknown`: labels of the answers in results, or of the documents of runs."""
    verdicts = file_option(
        "--verdicts",
        kind=FileToRead(),
        group=EVALUATED,
        multiple=True,
        help="Labels of the answers in results, for measures such as Faithfulness; or of documents, as grades of those"
        " that the ground truth does not judge. Repeatable.",
    )
    author = option(
        "--author",
        group=EVALUATED,
        metavar="AUTHOR",
        help="Whose labels count, if they are by several authors: human (all people, by majority), human:ann, or a"
        " model.",
    )
    unknown = choice_option(
        "unknown", unknown_labels.choices, unknown_labels.default, unknown_labels.help, group=EVALUATED
    )
    return in_order(verdicts, author, unknown)


by = option(
    "--by",
    group=STATISTICS,
    type=ColumnToRead(),
    metavar="GROUP",
    help="Show groups of queries: by length, by relevant (the number of relevant documents), or by a column of a file,"
    " such as queries.csv:language.",
    shell_complete=complete_group,
)
queries = option(
    "--queries",
    group=EVALUATED,
    multiple=True,
    type=ColumnToRead(),
    metavar="FILE[:COLUMN]",
    help="The texts of the queries, such as queries.jsonl or queries.csv:title; or a BEIR folder. Repeatable.",
)
corpus = option(
    "--corpus",
    group=EVALUATED,
    multiple=True,
    type=ColumnToRead(),
    metavar="FILE[:COLUMN]",
    help="The texts of documents that are known by id, such as corpus.jsonl, collection.tsv or corpus.csv:body; or a"
    " BEIR folder. Repeatable.",
)
report = file_option(
    "--report",
    kind=FileToWrite(),
    group=OUTPUT,
    help="Also write a report: one HTML page with charts and every query. `karat report` has more options.",
)
per_query = option("--per-query", group=OUTPUT, is_flag=True, help="Show the scores of every query.")
names = choice_option(
    "names",
    get_args(Names),
    "canonical",
    "Name measures as karat does (AP), or as they were asked for (map).",
    group=OUTPUT,
)
intervals = option("--ci", group=STATISTICS, is_flag=True, help="Show 95% confidence intervals of the means.")
digits = option("--digits", group=OUTPUT, type=int, metavar="N", help="The number of decimals in tables; 4 by default.")
sort = option("--sort", group=OUTPUT, metavar="MEASURE", help="Show the runs in the order of a measure, best first.")
lower_is_better = option(
    "--lower-is-better",
    group=MEASURES,
    multiple=True,
    metavar="MEASURE",
    help="Lower values of this column, which another tool computed, are better, such as a latency. Repeatable.",
)


def system_options(unknown_labels: Option = UNKNOWN_LABELS, on_spark: str = "") -> Callable[[Function], Function]:
    """The options of an evaluation, as `karat.options` declares them; the labels and texts; and how files are read."""
    match, *others = evaluation_options.values()
    order = option("--order", group=EVALUATED, metavar="ORDER", help=f"{ORDER}{on_spark}.")
    return in_order(match, _verdict_options(unknown_labels), queries, corpus, *others, order, fields, input_options)
