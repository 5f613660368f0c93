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
from karat.cli.correction_options import correct
from karat.cli.files import FileToRead, FileToWrite, check_files, split_system, split_texts
from karat.cli.joined_options import joined_options
from karat.cli.parser import EVALUATED, MEASURES, OUTPUT, READING, STATISTICS, Command
from karat.options import EVALUATION_OPTIONS, GATE_UNKNOWN_LABELS, GateOptions

if TYPE_CHECKING:
    from karat.cli.output import Output
    from karat.cli.settings import Settings
    from karat.comparison.gate.config import Config, Options
    from karat.comparison.gate.outcomes import Gate
    from karat.comparison.gate.rules import Rule

_FORMATS = ("table", "json", "markdown")


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
@joined_options
@opt.lower_is_better
@opt.option(
    "--significant/--no-significant",
    group=STATISTICS,
    default=False,
    show_default=True,
    help="Fail on a drop only if it is significantly larger than its limit.",
)
@correct
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
    **values: Any,
) -> int:
    """Check a system against rules. The exit status is 0 if it passes, 1 if it fails, and 2 after an error."""
    from karat.cli.gated_systems import load_systems
    from karat.cli.inputs import Inputs
    from karat.cli.settings import Settings
    from karat.comparison.gate.config import find_config, read_config
    from karat.comparison.gate.rules import KINDS, parse_rules

    config_file = read_config(config) if config is not None else find_config()
    rules = [rule for kind in KINDS for text in values.pop(kind.replace("-", "_")) for rule in parse_rules(kind, text)]
    of_results = ("fields", "records", "order", "verdicts", "answers")
    strict = any(opt.is_given(context, name) for name in (*EVALUATION_OPTIONS, *of_results))
    field_option, set_in_file = "--field", dict[str, Any]()
    if config_file is not None:
        in_config = _option_values(config_file.options, has_truth=run is not None)
        if "fields" in in_config and not values["fields"]:
            field_option = f"{config_file.file}: {config_file.table}.field"
        set_in_file = {name: value for name, value in in_config.items() if not opt.is_given(context, name)}
        values |= set_in_file
        values |= _unused_texts(context, values)
    _check_files(context, config_file, values)
    output = _output(values)
    test_options = {name: values[name] for name in GateOptions.__annotations__}
    # What is lower is better applies to the scores of the run only, after they are loaded.
    settings = Settings.of(values, lower_is_better=(), rejects_unused_options=strict)
    inputs = Inputs.of(values, accepts_saved=True, field_option=field_option)
    paths = [truth] if run is None else [truth, run]
    with nullcontext() if config_file is None else config_file.naming_keys(set_in_file):
        all_rules = _with_rules_of_file(rules, config_file, settings.options["rel"])
        baseline = _baseline(baseline, config_file, all_rules)
        _check_options(all_rules, baseline, settings, test_options)
        lower = () if run is not None else test_options["lower_is_better"]
        systems = load_systems(paths, baseline, all_rules, inputs, settings, lower)
        gate = systems.check(test_options)
        if output.report is not None:
            systems.save_report(output, test_options)
    if config_file is not None and config_file.rules:
        origin = f"{config_file.file} and the command line" if rules else config_file.file
        gate = replace(gate, origin=origin)
    _print_gate(gate, output, junit)
    return 0 if gate.passed else 1


def _unused_texts(context: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """No texts in place of those of a configuration file, which may be there for a report that is not written."""
    from karat.matching.matchers import matcher_of

    unused = [] if values["report"] is not None else ["queries"]
    if unused and matcher_of(values["match"]).field != "content":
        unused.append("corpus")
    return {name: () for name in unused if not opt.is_given(context, name)}


def _check_files(context: click.Context, config: Config | None, values: Mapping[str, Any]) -> None:
    """Reject outputs that are inputs or cannot be written, also those that a configuration file names."""
    from karat.comparison.gate.github import step_summary
    from karat.errors import require

    read, written = [], dict(step_summary(os.environ))
    if config is not None:
        read = [config.file, *([config.baseline] if config.baseline is not None else [])]
        read += [split_texts(text)[0] for name in ("queries", "corpus") for text in values[name]]
        read += values["verdicts"]
        read += [values[name] for name in ("gold", "answers") if values[name] and not opt.is_given(context, name)]
        if values["report"] is not None and not opt.is_given(context, "report"):
            written[f"{config.file}: {config.table}.report"] = values["report"]
    check_files(context, read, written)
    hint = "Add --report FILE, or leave --queries out."
    require(values["report"] is not None or not values["queries"], "--queries is only used for a report", hint)


def _option_values(options: Options, *, has_truth: bool) -> dict[str, Any]:
    """The options of a configuration file as a command line has them, which may name the ground truth itself."""
    values: dict[str, Any] = {("gold" if name == "truth" else name): value for name, value in options.items()}
    if has_truth:
        values.pop("gold", None)
    for key, name in {"field": "fields", "input_format": "formats", "column": "columns"}.items():
        if key in values:
            value = values.pop(key)
            values[name] = (value,) if isinstance(value, str) else tuple(f"{of}={each}" for of, each in value.items())
    return values


def _output(values: Mapping[str, Any]) -> Output:
    """Where and how the outcome is printed; a format that a gate cannot be written in is an error before any work."""
    from karat.cli.output import Output
    from karat.errors import KaratError

    file = values["file"]
    if file is not None and values["format"] is None and file.lower().endswith(".xml"):
        raise KaratError("-o does not write JUnit XML", place=file, hint="Use --junit instead of -o.")
    output = Output.of(values)
    if output.format not in _FORMATS:
        hint = f"Use {', '.join(_FORMATS)}."
        raise KaratError(f"a gate cannot be written as {output.format}", place=file, hint=hint)
    return output


def _with_rules_of_file(rules: Sequence[Rule], config: Config | None, rel: float | None) -> tuple[Rule, ...]:
    """The rules of the configuration file and of the command line, which take precedence."""
    from karat.comparison.gate.rules import merge_rules, with_relevance_threshold

    in_file = with_relevance_threshold(config.rules if config else (), rel)
    return merge_rules(in_file, with_relevance_threshold(rules, rel))


def _baseline(baseline: str | None, config: Config | None, rules: Sequence[Rule]) -> str | None:
    """The file of the baseline, if a rule needs one."""
    from karat.comparison.gate.rules import need_baseline
    from karat.errors import KaratError, Parameter
    from karat.errors.arguments import is_remote

    if not need_baseline(rules):
        if baseline is not None:
            hint = "Add a rule such as --max-drop nDCG@10=0.01, or leave it out."
            raise KaratError([Parameter("baseline", baseline), " is not used by any rule"], hint=hint)
        return None
    if baseline is not None or config is None or config.baseline is None:
        return baseline
    file = split_system(config.baseline)[0]
    if not is_remote(file) and not os.path.exists(file):
        hint = "Save it with `karat evaluate ... -o FILE`. The path is relative to the configuration file."
        place = config.place.inside("baseline")
        raise KaratError(f"no such file: {config.baseline}", place=place, hint=hint)
    return config.baseline


def _check_options(
    rules: Sequence[Rule], baseline: str | None, settings: Settings, test_options: Mapping[str, Any]
) -> None:
    """Reject rules and options that do not fit together, before anything is evaluated."""
    from karat.cli.gated_systems import method_of_drops
    from karat.comparison.gate.rules import check_drop_options, check_rules
    from karat.matching.matchers import matcher_of

    check_rules(rules, baseline is not None)
    method_of_drops(test_options)
    check_drop_options(rules, test_options)
    matcher_of(settings.options["match"])


def _print_gate(gate: Gate, output: Output, junit: str | None) -> None:
    """Print the outcomes or write them to files; on GitHub, also as annotations and a job summary."""
    from karat.cli.output import say_written
    from karat.cli.terminal import print_commands, print_error
    from karat.comparison.gate import github
    from karat.output.files import write_text

    if junit is not None:
        write_text(gate.junit(), junit)
        say_written(junit, gate.contents)
    if note := github.append_summary(gate, os.environ):
        print_error(f"{note}\n")
    with suppress(SystemExit):  # raised if nobody reads standard output; the exit status still tells the outcome
        output.print(gate)
    if github.in_github(os.environ):
        with suppress(SystemExit):
            # Standard output may be a document in JSON or Markdown.
            print_commands(github.workflow_commands(gate), to_error=output.file is None and output.format != "table")
