"""`karat answers`: the scores of predicted answers."""

from __future__ import annotations

from typing import Any, get_args

import click

from karat.cli import options as opt
from karat.cli.parser import EVALUATED, OUTPUT, Command
from karat.options import Missing


@click.command("answers", cls=Command, example="karat answers gold.json predictions.json -m EM -m F1 --ci")
@opt.file_argument(
    "truth",
    "TRUTH",
    'Gold answers: JSON such as {"q1": "one", "q2": ["one", "or another"]}, a SQuAD data set, JSON lines, CSV or TSV.'
    " Plain or compressed; - is standard input.",
    required=True,
)
@opt.file_argument(
    "predictions",
    "PREDICTIONS...",
    'Predicted answers: JSON such as {"q1": "answer"}, or any format above.',
    repeatable=True,
)
@opt.choice_option(
    "missing",
    get_args(Missing),
    "zero",
    "Score questions without a predicted answer as 0, or skip them.",
    group=EVALUATED,
)
@opt.measure_option("F1 or 'EM(normalize=true)'")
@opt.intervals
@opt.output_options(opt.FORMATS, ".csv, .md, .tex, ..., or .json and .parquet for the scores of every question")
@opt.per_query
@opt.option(
    "--explain",
    group=OUTPUT,
    metavar="QUERY",
    help="Compare the answer to one question with each of its gold answers.",
)
@opt.sort
@opt.digits
@opt.names
@opt.safe_csv
@opt.field_option("the files: query=id, gold_answers=labels, answer=output")
def command(
    truth: str,
    predictions: tuple[str, ...],
    measures: tuple[str, ...],
    sort: str | None,
    fields: tuple[str, ...],
    missing: Missing,
    **values: Any,
) -> None:
    """Evaluate predicted answers against gold answers. Several files of predictions are shown in one table."""
    from karat.cli.inputs import parse_fields
    from karat.cli.output import Output, check_sort, print_scores
    from karat.cli.settings import with_findings, with_static_model
    from karat.errors import KaratError
    from karat.evaluation import DEFAULT_ANSWER_MEASURES, evaluate_answers, select_measures
    from karat.reading.pairs.paths import run_names
    from karat.reading.records.answers import read_gold_answers
    from karat.registry.selection import listed_measures
    from karat.scores import SystemScores

    if not predictions:
        hint = "Add a file of predicted answers. Results that contain both are evaluated by `karat evaluate`."
        raise KaratError("gold answers without predicted answers cannot be evaluated", place=truth, hint=hint)
    chosen, findings = with_static_model([str(name) for name in listed_measures(measures or DEFAULT_ANSWER_MEASURES)])
    select_measures(chosen, subjects=("answers",))
    output = Output.of(values)
    field_names = parse_fields(fields)
    golds = read_gold_answers(truth, field_names)
    by_name = dict(zip(run_names(predictions), predictions, strict=True))
    scores = {
        name: evaluate_answers(golds, path, chosen, missing=missing, fields=field_names, name=name)
        for name, path in by_name.items()
    }
    systems = SystemScores(with_findings(scores, findings))
    check_sort(sort, systems)
    print_scores(systems if sort is None else systems.sorted(sort), output)
