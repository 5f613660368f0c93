"""`karat gate`: whether a system is good enough, and no worse than before."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from karat.cli import options as opt
from karat.cli.terminal import say

if TYPE_CHECKING:
    from karat.cli.output import Request
    from karat.gating.config import Config
    from karat.gating.outcomes import Gate
    from karat.gating.rules import Rule
    from karat.scores import Finding

GateOutput = Literal["table", "json", "markdown"]


def command(
    context: typer.Context,
    truth: Annotated[
        str,
        typer.Argument(
            metavar="TRUTH",
            help="TREC qrels; or, without RUN, results of RAG (one JSON object a line) or saved scores. - is standard"
            " input.",
        ),
    ],
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The TREC run, or its saved scores.")] = None,
    least: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="MEASURE=LIMIT", help="At least this, as nDCG@10=0.6; repeatable."),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="MEASURE=LIMIT", help="At most this, as Unjudged@10=0.2; repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--max-drop", metavar="MEASURE=LIMIT", help="At most so much worse than the baseline; repeatable."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What was before: a run for the same truth, results, or saved scores."),
    ] = None,
    significant: Annotated[
        bool,
        typer.Option("--significant/--no-significant", help="Fail on a drop only where the test confirms it."),
    ] = False,
    test: opt.TestName = "randomization",
    correction: opt.CorrectionName = "holm",
    level: Annotated[float, typer.Option(metavar="L", help="A p below 1 - L confirms a drop.")] = 0.95,
    queries: opt.SameQueries = "same",
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Rules and options: [gate] of a karat.toml, or [tool.karat.gate] of a pyproject.toml; without it,"
            " those of this folder. The command line wins.",
        ),
    ] = None,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write JUnit XML, a test case per rule.")
    ] = None,
    match: opt.Match = "id",
    fields: opt.Fields = None,
    output: Annotated[
        GateOutput | None,
        typer.Option("--output", help="The format; without it, a table, or what the name of FILE says."),
    ] = None,
    file: Annotated[str | None, typer.Option("-o", metavar="FILE", help="Write to a file: .txt, .json or .md.")] = None,
    missing: opt.MissingQueries = "zero",
    ties: opt.TieOrder = "trec",
    duplicates: opt.Repeats = "error",
    ignore_identical_ids: opt.IdenticalIds = False,
    rel: opt.Relevant = None,
) -> None:
    """Hold a system against rules: exit status 0 if it passes, 1 if it fails, 2 if something is wrong."""
    from karat.cli.output import Request
    from karat.gating.config import find, read
    from karat.gating.rules import KINDS, rule_of

    in_file = read(config) if config is not None else find()
    by_kind = zip(KINDS, (least, most, drop), strict=True)
    given = [rule_of(kind, text) for kind, texts in by_kind for text in texts or ()]
    asked: dict[str, Any] = {
        "significant": significant, "test": test, "correction": correction, "level": level, "queries": queries,
        "match": match, "missing": missing, "ties": ties, "duplicates": duplicates,
        "ignore_identical_ids": ignore_identical_ids, "rel": rel,
    }  # fmt: skip
    if in_file is not None:
        asked |= {name: value for name, value in in_file.options.items() if not _is_given(context, name)}
    evaluation = ("match", "missing", "ties", "duplicates", "ignore_identical_ids", "rel", "fields")
    asked["strict"] = any(_is_given(context, name) for name in evaluation)
    if in_file is not None and not fields:
        asked["says_fields"] = f"{in_file.file}: {in_file.table}.field"
    named = [f"{role}={name}" for role, name in asked.pop("field", {}).items()]
    request = Request(output, None if file == "-" else file)
    read_too = (in_file.file, in_file.baseline) if in_file else ()
    _refuse(request, junit, [path for path in (truth, run, baseline, *read_too) if path is not None])
    found = _judged(
        [truth, *([] if run is None else [run])],
        baseline,
        given,
        in_file,
        fields or named,
        asked,
    )
    _deliver(found, request, junit)
    raise typer.Exit(0 if found.passed else 1)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line, and is not its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse(request: Request, junit: str | None, inputs: list[str]) -> None:
    """Say what cannot be done before any work is done."""
    from karat.cli.output import Request, refuse, refuse_two_inputs
    from karat.errors import KaratError

    refuse_two_inputs(inputs)
    if junit is not None and request.file is not None and os.path.realpath(junit) == os.path.realpath(request.file):
        raise KaratError("--junit and -o are the same file", where=junit, hint="Write to two files.")
    if request.file is not None and request.output is None and request.file.lower().endswith(".xml"):
        raise KaratError("JUnit XML has an option of its own", where=request.file, hint="Write --junit instead of -o.")
    refuse(request, inputs)
    if request.form not in get_args(GateOutput):
        hint = f"Take {', '.join(get_args(GateOutput))}."
        raise KaratError(f"there is no {request.form} of a gate", where=request.file, hint=hint)
    if junit is not None:
        refuse(Request("table", junit), inputs)


def _judged(
    paths: list[str],
    baseline: str | None,
    given: list[Rule],
    in_file: Config | None,
    fields: list[str],
    asked: dict[str, Any],
) -> Gate:
    """The gate's outcome: rules and options are checked before anything is evaluated."""
    from karat.cli.models import noted, with_static_model
    from karat.cli.systems import How, is_saved, load
    from karat.comparison import Method
    from karat.gating.gate import gate
    from karat.gating.rules import joined, refuse_unknown_measures, refuse_unusable, with_threshold
    from karat.matching.matchers import matcher_of
    from karat.scores import Scores

    rel = asked.pop("rel")
    testing: Any = {name: asked.pop(name) for name in ("significant", "test", "correction", "level", "queries")}
    rules = joined(with_threshold(in_file.rules if in_file else (), rel), with_threshold(given, rel))
    before = _baseline(baseline, in_file, rules)
    refuse_unusable(rules, before is not None)
    Method(**{name: value for name, value in testing.items() if name != "significant"})
    matcher_of(asked["match"])
    names: list[str] = []
    findings: list[Finding] = []
    if not is_saved(paths[0]):
        refuse_unknown_measures(rules)
        names, findings = with_static_model([rule.measure for rule in rules])
        rules = tuple(replace(rule, measure=name) for rule, name in zip(rules, names, strict=True))
    # Saved scores need no more than the measures of the drops; what is evaluated has all of them.
    kept = Scores.load(before) if before is not None and is_saved(before) else None
    new = [] if before is None or kept is not None else [before]
    # The names of the measures hold the threshold already.
    systems = load([*paths, *new], How(names, fields=tuple(fields), saved=True, **asked))
    run, *others = (scores.without_evidence() for scores in noted(systems, findings).values())
    _refuse_shape(paths, len(others), len(new))
    found = gate(run, rules, next(iter(others), None) if kept is None else kept, **testing)
    return replace(found, origin=_origin(in_file, given))


def _baseline(baseline: str | None, in_file: Config | None, rules: Sequence[Rule]) -> str | None:
    """The file of the baseline, where a rule asks for one."""
    from karat.errors import KaratError

    if any(rule.kind == "max-drop" for rule in rules):
        if baseline is None and in_file is not None and in_file.baseline is not None:
            if not os.path.exists(in_file.baseline):
                hint = "Save it with `karat evaluate ... -o FILE`; the path is seen from the file that says it."
                where = f"{in_file.file}: {in_file.table}.baseline"
                raise KaratError(f"there is no file {in_file.baseline}", where=where, hint=hint)
            return in_file.baseline
        return baseline
    if baseline is not None:
        hint = "Add one, as --max-drop nDCG@10=0.01, or leave it out."
        raise KaratError("no rule is about a drop from the baseline", where=f"--baseline {baseline}", hint=hint)
    return None


def _refuse_shape(paths: list[str], others: int, wanted: int) -> None:
    """A truth needs a run; results and saved scores are the run themselves."""
    from karat.errors import KaratError

    if others < wanted:
        hint = "Name a run after it; or give a file of results, one JSON object a line, or saved scores."
        raise KaratError("a truth alone cannot be evaluated", where=paths[0], hint=hint)
    if others > wanted:
        hint = "Give it as --baseline, if that is what it is."
        raise KaratError("results and saved scores need no RUN: a gate is for one system", where=paths[1], hint=hint)


def _origin(in_file: Config | None, given: Sequence[Rule]) -> str:
    if in_file is None or not in_file.rules:
        return ""
    return f"{in_file.file} and the command line" if given else in_file.file


def _deliver(found: Gate, request: Request, junit: str | None) -> None:
    """Print the outcomes or write them to a file, for people and for the system that runs this."""
    from karat.cli.output import put
    from karat.gating import outputs
    from karat.output.files import written

    if junit is not None:
        written(found.junit(), junit)
    in_github = outputs.in_github(os.environ)
    if in_github and (note := outputs.append_summary(found, os.environ)):
        sys.stderr.write(f"{note}\n")
    text = _rendered(found, request)
    with suppress(SystemExit):  # nobody reads on, and the exit status still says how it went
        put(outputs.without_commands(text, request.form) if in_github and request.file is None else text, request)
        if in_github and (request.file is not None or request.form == "table"):
            say(outputs.commands(found))
    if in_github and request.file is None and request.form != "table":
        # GitHub reads both, and whoever asked for JSON reads standard output.
        sys.stderr.write(outputs.commands(found))


def _rendered(found: Gate, request: Request) -> str:
    from karat.gating import outputs

    if request.form == "json":
        return json.dumps(found.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    if request.form == "markdown":
        return outputs.markdown(found)
    if request.file is None and sys.stdout.isatty():
        from rich.console import Console

        console = Console()
        if not console.is_dumb_terminal:
            with console.capture() as page:
                console.print(found)
            return page.get()
    return outputs.text(found)
