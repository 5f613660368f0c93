"""The options that several commands share, each said once."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.options import Correction, Duplicates, Missing, Queries, Test, Ties
from karat.options import Format as OutputFormat

Truth = Annotated[
    str,
    typer.Argument(
        metavar="TRUTH",
        help="TREC qrels; or results of RAG, one JSON object a line, which need no RUN. Plain or gzip; - is"
        " standard input.",
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option("-m", "--measure", metavar="MEASURE", help="A measure, such as nDCG@10 or 'AP(rel=2)'; repeatable."),
]
Match = Annotated[
    str,
    typer.Option(
        metavar="MATCH",
        help="What counts as a hit: id, content, meta.NAME, prefix, chunk, fuzzy, overlap, with parameters as in"
        " 'fuzzy(threshold=85)' or 'content(normalize=case+space)'.",
    ),
]
Fields = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="NAME=THEIRS", help="What results call a field: retrieved=source_nodes."),
]
Explain = Annotated[str | None, typer.Option(metavar="QUERY", help="Show what stands behind the scores of one query.")]
PerQuery = Annotated[bool, typer.Option("--per-query", help="Show every query.")]
Format = Annotated[
    OutputFormat | None,
    typer.Option("--output", help="The format; without it, a table, or what the name of FILE says."),
]
File = Annotated[
    str | None,
    typer.Option("-o", metavar="FILE", help="Write to a file: .csv, .json, .md, ... (.parquet holds every query)."),
]
Intervals = Annotated[bool, typer.Option("--ci", help="Show 95% confidence intervals (bootstrap).")]
MissingQueries = Annotated[
    Missing, typer.Option("--missing", help="Score queries that a run lacks 0, or leave them out.")
]
TieOrder = Annotated[
    Ties,
    typer.Option("--ties", help="The order of equal scores: by id as trec_eval, as given, relevant first or last."),
]
Repeats = Annotated[
    Duplicates,
    typer.Option("--duplicates", help="A document twice in a query: an error, or keep the one ranked first."),
]
IdenticalIds = Annotated[
    bool, typer.Option("--ignore-identical-ids", help="Leave out documents that have the id of their query.")
]
Relevant = Annotated[
    float | None, typer.Option("--rel", metavar="N", help="The grade from which a document is relevant [default: 1].")
]
TruthOrScores = Annotated[
    str,
    typer.Argument(
        metavar="TRUTH",
        help="TREC qrels; or the first of the systems, if they are results of RAG (one JSON object a line) or saved"
        " scores.",
    ),
]
ReportFile = Annotated[
    str | None, typer.Option("-o", metavar="FILE", help="Write to a file: .md, .tex, .json, .csv, .tsv, .txt, ...")
]
TestName = Annotated[
    Test, typer.Option("--test", help="How likely it is by chance; tukey is for many systems at once.")
]
CorrectionName = Annotated[Correction, typer.Option("--correction", help="Correct p for several comparisons.")]
SameQueries = Annotated[
    Queries, typer.Option("--queries", help="Systems have the same queries, or those in common are compared.")
]
Level = Annotated[
    float, typer.Option("--level", metavar="L", help="Of the confidence intervals; p below 1 - L is significant.")
]
