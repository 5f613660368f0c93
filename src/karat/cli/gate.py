"""`karat gate`: whether a system is good enough, and no worse than before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from karat.cli import comparison_options as comparing
from karat.cli import options as opt
from karat.cli.completion import complete_rule
from karat.cli.files import FileToRead, FileToWrite, check_files, split_system, split_texts
from karat.cli.parser import EVALUATED, MEASURES, OUTPUT, READING, STATISTICS, Command
from karat.options import EVALUATION_OPTIONS, GATE_UNKNOWN_LABELS, GateOptions

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.output import Output
    from karat.cli.settings import Settings
    from karat.comparison.gate.config import Config, Options
    from karat.comparison.gate.outcomes import Gate
    from karat.comparison.gate.rules import Rule
    from karat.scores import Finding

_FORMATS = ("table", "json", "markdown")
_NOT_OF_TESTS = ("significant", "lower_is_better", "unknown")


def _rule_option(name: str, help: str) -> Callable[[opt.Function], opt.Function]:  # noqa: A002
    return opt.option(
        name,
        group=MEASURES,
        multiple=True,
        metavar="MEASURE=LIMIT",
        help=f"{help} Repeatable.",
        shell_complete=complete_rule,
    )


@click.command(
    "gate",
    cls=Command,
    example="karat gate truth.qrels runs/bm25-rm3.trec --min nDCG@10=0.5 --min AP=0.4",
)
@opt.file_argument(
    "truth",
    "TRUTH",
    "Ground truth, in any format. Or, without RUN: RAG results or saved scores. - is standard input.",
    required=True,
)
@opt.file_argument("run", "RUN", "A run, or its saved scores; runs.json:bm25 is one of several in a file.")
@opt.file_option(
    "--baseline",
    kind=FileToRead(),
    group=EVALUATED,
    help="The system to compare with: a run for the same TRUTH, results, or saved scores.",
)
@_rule_option("--min", "The lowest score that passes, such as nDCG@10=0.6.")
@_rule_option("--max", "The highest score that passes, such as Unjudged@10=0.2.")
@_rule_option("--max-drop", "How much worse than the baseline a score may be, such as AP=0.01.")
@_rule_option(
    "--non-inferior",
    "A drop that would matter, such as AP=0.02: pass only if a test shows that the score is worse by less.",
)
@opt.file_option(
    "--config",
    kind=FileToRead(),
    group=READING,
    help="Read rules and options from [gate] of a karat.toml, or [tool.karat.gate] of a pyproject.toml. By default,"
    " those of the current folder are read. Options on the command line take precedence.",
)
@opt.system_options(GATE_UNKNOWN_LABELS)
@opt.lower_is_better
@opt.option(
    "--significant/--no-significant",
    group=STATISTICS,
    default=False,
    show_default=True,
    help="Fail on a drop only if it is significantly larger than its limit.",
)
@comparing.level("With --significant and --non-inferior: a one-sided test is significant if p is below 1 - LEVEL.")
@comparing.test
@comparing.correction
@comparing.common_queries
@comparing.force
@opt.output_options(_FORMATS, ".txt, .json or .md")
@opt.file_option("--junit", kind=FileToWrite(), group=OUTPUT, help="Also write JUnit XML with a test case per rule.")
@opt.report
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    run: str | None,
    baseline: str | None,
    config: str | None,
    junit: str | None,
    **given: Any,
) -> int:
    """Check a system against rules. The exit status is 0 if it passes, 1 if it fails, and 2 after an error."""
    from karat.cli.inputs import Inputs
    from karat.cli.report import check_report_file
    from karat.cli.settings import Settings
    from karat.comparison.gate.config import find_config, read_config
    from karat.comparison.gate.rules import KINDS, parse_rules

    in_file = read_config(config) if config is not None else find_config()
    rules = [rule for kind in KINDS for text in given.pop(kind.replace("-", "_")) for rule in parse_rules(kind, text)]
    strict = any(opt.is_given(context, name) for name in (*EVALUATION_OPTIONS, "fields", "verdicts"))
    field_option, set_in_file = "--field", dict[str, Any]()
    if in_file is not None:
        in_config = _as_given(in_file.options)
        if "fields" in in_config and not given["fields"]:
            field_option = f"{in_file.file}: {in_file.table}.field"
        set_in_file = {name: value for name, value in in_config.items() if not opt.is_given(context, name)}
        given |= set_in_file
        given |= _texts_in_use(context, given)
    _check_files(context, in_file, given)
    output = _output(given)
    test_options = {name: given[name] for name in GateOptions.__annotations__}
    # What is lower is better applies to the scores of the run only, after they are loaded.
    settings = Settings.of(given, lower_is_better=(), rejects_unused_options=strict)
    check_report_file(output)
    inputs = Inputs.of(given, accepts_saved=True, field_option=field_option)
    paths = [truth] if run is None else [truth, run]
    with nullcontext() if in_file is None else in_file.naming_keys(set_in_file):
        gate = _checked(paths, baseline, rules, in_file, inputs, settings, output, test_options)
    _print_gate(gate, output, junit)
    return 0 if gate.passed else 1


def _texts_in_use(context: click.Context, given: Mapping[str, Any]) -> dict[str, Any]:
    """The texts of a configuration file, which may be there for a report that is not written each time."""
    from karat.matching.matchers import matcher_of

    unused = [] if given["report"] is not None else ["queries"]
    if unused and matcher_of(given["match"]).field != "content":
        unused.append("corpus")
    return {name: () for name in unused if not opt.is_given(context, name)}


def _check_files(context: click.Context, in_file: Config | None, given: Mapping[str, Any]) -> None:
    """Reject outputs that are inputs or cannot be written, also those that a configuration file names."""
    from karat.comparison.gate.github import step_summary
    from karat.errors import require

    read, written = [], dict(step_summary(os.environ))
    if in_file is not None:
        read = [in_file.file, *([in_file.baseline] if in_file.baseline is not None else [])]
        read += [split_texts(each)[0] for name in ("queries", "corpus") for each in given[name]]
        read += given["verdicts"]
        if given["report"] is not None and not opt.is_given(context, "report"):
            written[f"{in_file.file}: {in_file.table}.report"] = given["report"]
    check_files(context, read, written)
    hint = "Add --report FILE, or leave --queries out."
    require(given["report"] is not None or not given["queries"], "--queries is only used for a report", hint)


def _as_given(options: Options) -> dict[str, Any]:
    """The options of a configuration file as they are given on a command line."""
    given: dict[str, Any] = dict(options)
    for key, name in {"field": "fields", "input_format": "formats", "column": "columns"}.items():
        if key in given:
            value = given.pop(key)
            given[name] = (value,) if isinstance(value, str) else tuple(f"{of}={each}" for of, each in value.items())
    return given


def _output(given: Mapping[str, Any]) -> Output:
    """Where and how the outcome is printed; a format that a gate cannot be written in is an error before any work."""
    from karat.cli.output import Output
    from karat.errors import KaratError

    file = given["file"]
    if file is not None and given["format"] is None and file.lower().endswith(".xml"):
        raise KaratError("-o does not write JUnit XML", place=file, hint="Use --junit instead of -o.")
    output = Output.of(given)
    if output.format not in _FORMATS:
        hint = f"Use {', '.join(_FORMATS)}."
        raise KaratError(f"a gate cannot be written as {output.format}", place=file, hint=hint)
    return output


def _checked(
    paths: Sequence[str],
    baseline: str | None,
    given: Sequence[Rule],
    in_file: Config | None,
    inputs: Inputs,
    settings: Settings,
    output: Output,
    test_options: Mapping[str, Any],
) -> Gate:
    """The outcome of each rule. Rules and options are checked before anything is evaluated."""
    from karat.cli.report import save_report
    from karat.cli.settings import with_findings, with_static_model
    from karat.cli.systems import SystemFiles, saved_system
    from karat.comparison import choose_method
    from karat.comparison.gate.gate import for_drops, gate
    from karat.comparison.gate.rules import (
        check_drop_options,
        check_measures,
        check_rules,
        merge_rules,
        with_relevance_threshold,
    )
    from karat.matching.matchers import matcher_of
    from karat.reading.bytes.input_file import InputFile
    from karat.reading.contents.contents import is_saved_scores
    from karat.scores.columns import with_lower_is_better

    rel = settings.options["rel"]
    rules = merge_rules(
        with_relevance_threshold(in_file.rules if in_file else (), rel), with_relevance_threshold(given, rel)
    )
    before = _baseline(baseline, in_file, rules)
    check_rules(rules, before is not None)
    method = choose_method(**{name: value for name, value in test_options.items() if name not in _NOT_OF_TESTS})
    check_drop_options(rules, test_options)
    matcher_of(settings.options["match"])
    names: list[str] = []
    findings: list[Finding] = []
    # Each file is opened once: one of them may be standard input.
    opened = {path: InputFile(split_system(path)[0]) for path in (*paths, *([] if before is None else [before]))}
    formats = inputs.formats
    if not is_saved_scores(opened[paths[0]], formats.get("truth")):
        if not is_saved_scores(opened[paths[-1]], formats.get("run")):
            check_measures(rules)
        names, findings = with_static_model([rule.measure for rule in rules])
        rules = tuple(replace(rule, measure=name) for rule, name in zip(rules, names, strict=True))
    # A saved baseline needs to have only the measures that are compared with it, so it is not loaded with the others.
    saved = None
    if before is not None and is_saved_scores(opened[before], formats.get("run")):
        saved = saved_system(before, opened[before])
    evaluated = [] if before is None or saved is not None else [before]
    # The names of the measures already contain the threshold.
    settings = replace(settings, measures=names, options={**settings.options, "rel": None})
    files = SystemFiles([*paths, *evaluated], inputs, settings, opened)
    files.require_one_per_file()
    systems = files.load()
    systems = with_findings(systems, findings)
    run, *others = (scores.without_evidence() for scores in systems.values())
    _check_inputs(paths, len(others), len(evaluated), files.hint_about_documents)
    lower = test_options["lower_is_better"]
    run = with_lower_is_better({"": run}, lower)[""]
    before_scores = next(iter(others), None) if saved is None else saved
    outcome = gate(run, rules, before_scores, **{**test_options, "lower_is_better": ()})
    if output.report is not None:
        from karat.report import compared

        baselines = {} if saved is None or before is None else {before: saved}
        reported = with_lower_is_better({**baselines, **dict(reversed(systems.items()))}, lower)
        subject = compared(reported, next(iter(reported)) if len(reported) > 1 else None, for_drops(method))
        save_report(output, subject, files, list(baselines))
    return replace(outcome, origin=_origin(in_file, given))


def _baseline(baseline: str | None, in_file: Config | None, rules: Sequence[Rule]) -> str | None:
    """The file of the baseline, if a rule needs one."""
    from karat.comparison.gate.rules import need_baseline
    from karat.errors import KaratError
    from karat.errors.arguments import is_remote

    if need_baseline(rules):
        if baseline is None and in_file is not None and in_file.baseline is not None:
            file = split_system(in_file.baseline)[0]
            if not is_remote(file) and not os.path.exists(file):
                hint = "Save it with `karat evaluate ... -o FILE`. The path is relative to the configuration file."
                place = in_file.place.inside("baseline")
                raise KaratError(f"no such file: {in_file.baseline}", place=place, hint=hint)
            return in_file.baseline
        return baseline
    if baseline is not None:
        from karat.errors import Parameter

        hint = "Add a rule such as --max-drop nDCG@10=0.01, or leave it out."
        raise KaratError([Parameter("baseline", baseline), " is not used by any rule"], hint=hint)
    return None


def _check_inputs(paths: Sequence[str], others: int, expected: int, more: str) -> None:
    """Check that ground truth comes with a run, and that results and saved scores do not."""
    from karat.errors import KaratError

    if others < expected:
        hint = "Add a run after it, or name a results file or saved scores."
        raise KaratError("this file is read as ground truth, but no run was given", place=paths[0], hint=hint)
    if others > expected:
        hint = f"To compare with this file, use --baseline. {more}".strip()
        raise KaratError("results and saved scores take no RUN: a gate checks one system", place=paths[1], hint=hint)


def _origin(in_file: Config | None, given: Sequence[Rule]) -> str:
    if in_file is None or not in_file.rules:
        return ""
    return f"{in_file.file} and the command line" if given else in_file.file


def _print_gate(gate: Gate, output: Output, junit: str | None) -> None:
    """Print the outcomes or write them to files; on GitHub, also as annotations and a job summary."""
    from karat.cli.terminal import print_commands, print_error
    from karat.comparison.gate import github
    from karat.output.files import write_text

    if junit is not None:
        write_text(gate.junit(), junit)
    if note := github.append_summary(gate, os.environ):
        print_error(f"{note}\n")
    with suppress(SystemExit):  # raised if nobody reads standard output; the exit status still tells the outcome
        output.print(gate)
    if github.in_github(os.environ):
        with suppress(SystemExit):
            # Standard output may be a document in JSON or Markdown.
            print_commands(github.workflow_commands(gate), to_error=output.file is None and output.format != "table")
