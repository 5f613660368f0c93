"""`karat compare`: is one system really better than another?"""

from __future__ import annotations

from typing import Any

import click

from karat.cli import comparison_options as comparing
from karat.cli import options as opt
from karat.cli.correction_options import check_correction, correction_options
from karat.cli.joined_options import joined_options
from karat.cli.parser import Command


@click.command("compare", cls=Command, example="karat compare truth.qrels runs/*.trec --baseline bm25 -m nDCG@10 -m AP")
@opt.truth_or_system
@opt.systems
@opt.measures
@opt.system_options()
@joined_options
@opt.lower_is_better
@comparing.baseline("all pairs of runs are compared")
@opt.by
@correction_options
@comparing.comparison_options
@opt.output_options(opt.FORMATS, ".md, .tex, .json, .csv, .tsv, .txt and others")
@opt.report
@opt.sort
@opt.digits
@opt.plot_options("differences (intervals of more than 6 pairs of systems)")
@opt.safe_csv
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    runs: tuple[str, ...],
    baseline: str | None,
    sort: str | None,
    **values: Any,
) -> None:
    """Compare systems query by query: differences, confidence intervals and significance tests."""
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output, check_sort
    from karat.cli.settings import Settings
    from karat.cli.systems import SystemFiles
    from karat.comparison import compare_with
    from karat.errors import KaratError, require

    check_correction(values)
    output = Output.of(values, is_scores=False)
    method = comparing.method_of(values)
    settings = Settings.of(values)
    inputs = Inputs.of(values, accepts_saved=True)
    files = SystemFiles([truth, *runs], inputs, settings)
    if baseline is not None:
        baseline = files.name(baseline)
    systems = files.load()
    settings.check_groups(systems, inputs)
    # The number of relevant documents is part of the evidence, and questions are released with it.
    if settings.by not in ("relevant", "length") and not output.needs_run_data:
        systems = {name: scores.without_evidence() for name, scores in systems.items()}
    test = method.test if opt.is_given(context, "test") else None  # corrected differences have a test of their own
    others = {"--by": settings.by, "--detect": method.detect, "--equivalence": method.equivalence, "--test": test}
    for other, value in others.items():
        what = f"--correct and {other} cannot be combined"
        require(not inputs.correct or value is None, what, "Leave one of them out.")
    if len(systems) < 2:
        raise KaratError(
            "a comparison needs at least two systems", hint="Add another one: karat compare TRUTH RUN RUN."
        )
    check_sort(sort, systems)
    comparison = compare_with(method, systems, baseline, sort=sort)
    output.save_plot("differences", comparison.systems, inputs, settings, comparison)
    output.save_report(comparison, files)
    if inputs.correct:
        output.print(comparison.corrected(values["width"]))
    elif settings.by is None:
        output.print(comparison)
    else:
        texts = inputs.query_texts(settings.by, comparison.queries)
        output.print(comparison.slices(settings.by, queries=texts))
