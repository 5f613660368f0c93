"""`karat answers`: the scores of predicted answers."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli import options as opt
from karat.options import Missing


def command(
    truth: Annotated[
        str,
        typer.Argument(
            metavar="TRUTH",
            help='Gold answers: JSON {"q1": "one", "q2": ["one", "or another"]}, SQuAD\'s data set, lines of JSON, CSV'
            " or TSV. Plain or gzip; - is standard input.",
        ),
    ],
    predictions: Annotated[
        list[str] | None,
        typer.Argument(metavar="PREDICTIONS", help='Predicted answers: JSON {"q1": "answer"}, or as above.'),
    ] = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--measure", metavar="MEASURE", help="A measure, such as F1 or 'EM(normalize=true)'; repeatable."
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="NAME=THEIRS",
            help="What the files call a field: query=id, gold_answers=labels, answer=output.",
        ),
    ] = None,
    explain: opt.Explain = None,
    per_query: opt.PerQuery = False,
    output: opt.Format = None,
    file: opt.File = None,
    ci: opt.Intervals = False,
    missing: Annotated[Missing, typer.Option(help="Score questions without an answer 0, or leave them out.")] = "zero",
) -> None:
    """Measure how near predicted answers are to gold ones; several files of predictions make one table."""
    from karat.cli.models import noted, with_static_model
    from karat.cli.output import Request, deliver, refuse, refuse_two_inputs
    from karat.cli.systems import fields_named, run_names
    from karat.errors import KaratError
    from karat.evaluation import DEFAULT_ANSWER_MEASURES, evaluate_answers, select_measures
    from karat.registry.names import split_names
    from karat.sources.answers import read_gold_answers

    if not predictions:
        hint = "Name the file of predicted answers after it. Results that hold both go into `karat evaluate`."
        raise KaratError("gold answers alone cannot be evaluated", where=truth, hint=hint)
    paths = [truth, *predictions]
    refuse_two_inputs(paths)
    names, notes = with_static_model(
        [name for text in measures or DEFAULT_ANSWER_MEASURES for name in split_names(text)]
    )
    chosen = select_measures(names, subjects=("answers",))
    request = Request(output, None if file == "-" else file, per_query, 0.95 if ci else None, explain)
    refuse(request, paths)
    theirs = fields_named(fields or [])
    golds = read_gold_answers(truth, theirs)
    by_name = dict(zip(run_names(predictions), predictions, strict=True))
    scores = {
        name: evaluate_answers(golds, path, chosen, missing=missing, fields=theirs, name=name)
        for name, path in by_name.items()
    }
    deliver(noted(scores, notes), request)
