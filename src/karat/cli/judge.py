"""`karat judge`: labels by a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

from karat.cli import options as opt
from karat.cli.completion import complete_values
from karat.cli.files import FileToExtend, FileToRead
from karat.cli.joined_options import joined_options
from karat.cli.parser import OUTPUT, Command
from karat.errors import KaratError, Message, Parameter, printable
from karat.grounding.judges.options import JUDGE_OPTIONS, TASKS, JudgeOptions
from karat.options import EVALUATION_OPTIONS, RELEVANCE

if TYPE_CHECKING:
    from karat.cli.inputs import Inputs
    from karat.cli.settings import Settings
    from karat.grounding.judges.judge import Judging
    from karat.scores import Scores

ABOUT_DOCUMENTS = ("split", "ties", "duplicates", "ignore_identical_ids")
_OF_MANY_COMMANDS = ("queries", "corpus", "truth", "answers", "fields", "records", "input_format")
"""options of a judge that other commands have, too"""


def judge_option(name: str) -> Callable[[Any], Any]:
    """An option of a judge, as `JudgeOptions` declares it; the groups of the command say where the help lists it."""
    declared, hint = JUDGE_OPTIONS[name], get_type_hints(JudgeOptions)[name]
    is_file = declared.metavar in ("FILE", "FOLDER")
    number = next((kind for kind in (int, float) if kind in (hint, *get_args(hint))), str)
    complete = complete_values(TASKS) if name == "task" else None
    repeatable = name in ("task", "examples")
    kind = FileToRead() if is_file else number
    return opt.declared_option(name, declared, group=OUTPUT, kind=kind, complete=complete, repeatable=repeatable)


@click.command(
    "judge",
    cls=Command,
    example="karat judge generated.jsonl --task support --model gpt-5-mini --estimate",
    groups={
        "What is judged": (
            "task", "rubric", "system", "gold", "answers", "queries", "corpus", "order", "depth", "overlap",
            "ties", "duplicates", "ignore_identical_ids",
        ),
        "The model": (
            "model", "base_url", "api_key_env", "prompts", "examples", "samples", "temperature", "seed", "max_tokens",
            "max_input_tokens",
        ),
        "Limits": (
            "max_calls", "max_tokens_total", "max_cost", "price_in", "price_out", "concurrency", "timeout",
        ),
        OUTPUT: ("estimate", "replay", "retry_failed"),
    },
)  # fmt: skip
@opt.file_argument(
    "truth",
    "RESULTS",
    "Generated answers: results with the fields query, answer and retrieved, as far as the task is about them, or a"
    " submission to TREC RAG. With --task relevance: ground truth.",
    required=True,
)
@opt.file_argument(
    "runs",
    "MORE...",
    "Results of more systems. With --task relevance: runs, whose documents are judged.",
    repeatable=True,
)
@opt.file_option(
    "-o",
    "--verdicts",
    kind=FileToExtend(),
    group=OUTPUT,
    help="The verdict file that labels are added to, such as verdicts.jsonl. What is in it is not asked again.",
)
@click.option("--estimate", is_flag=True, help="Only estimate how many calls and tokens it takes; nothing is asked.")
@opt.in_order(*map(judge_option, (name for name in JUDGE_OPTIONS if name not in _OF_MANY_COMMANDS)))
@joined_options
@opt.queries
@opt.corpus
@opt.fields
@opt.input_options
@opt.in_order(*(opt.evaluation_options[name] for name in ("ties", "duplicates", "ignore_identical_ids")))
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    runs: tuple[str, ...],
    verdicts: str | None,
    estimate: bool,
    **values: Any,
) -> int:
    """Have answers, or unjudged documents, judged by a language model.

    Its labels are added to a verdict file. If the command is interrupted, run it again: what was asked is not asked
    again. The exit status is 1 if all calls failed or the server gives no replies, and 2 after a mistake.
    """
    from karat.cli.inputs import parse_inputs, parse_inputs_of_results
    from karat.cli.output import Output, print_scores
    from karat.cli.terminal import print_table, print_text
    from karat.grounding.judges.assignments import make_assignment
    from karat.grounding.judges.estimates import estimate as estimated
    from karat.grounding.judges.judge import carry_out_assignment

    for name in ABOUT_DOCUMENTS if RELEVANCE not in values["task"] else ():
        if opt.is_given(context, name):
            what: Message = [Parameter(name), " needs ", Parameter("task", RELEVANCE)]
            raise KaratError(what, hint="Leave it out.")
    is_asked = not values["replay"] and not estimate
    if not (values["model"] or "").strip() and (is_asked or values["model"] is not None):
        hint = "Use --model NAME, with --base-url URL if it is not OpenAI's; --replay to ask nothing; or --estimate."
        raise KaratError("no model is given", hint=hint)
    if verdicts is None and not estimate:
        missing: Message = ["Name the verdict file that labels are added to: ", Parameter("verdicts", "verdicts.jsonl")]
        raise KaratError([Parameter("verdicts"), " is missing"], hint=missing)
    parse = parse_inputs if RELEVANCE in values["task"] else parse_inputs_of_results
    files, inputs = [truth, *runs], parse(values)
    options = _options(values, inputs)
    settings = judging_settings(values) if options.is_about_documents else None
    evaluate = partial(evaluated_runs, files, inputs, settings) if settings else None
    assignment = make_assignment(files, options, evaluate)
    if estimate:
        print_table(estimated(assignment, options, verdicts).table())
        return 0
    judging = carry_out_assignment(assignment, options, str(verdicts))
    scores = _scores(judging, files, inputs, settings)
    if scores:
        print_scores(scores, Output())
    lines = [*judging.remarks(scores), f"{judging.path}: {judging}"]
    print_text("".join(f"{printable(line)}\n" for line in lines))
    return int(judging.usage.is_failure)


def _options(values: Mapping[str, Any], inputs: Inputs) -> JudgeOptions:
    """The options of the judge; those that many commands have are read as they do."""
    from karat.cli.inputs import check_texts, parse_fields

    texts: Any = {}
    for name in ("queries", "corpus"):
        texts[name] = inputs.texts(name, values[name]) or None
        check_texts(texts[name] or (), name)
    form = inputs.formats.get("truth") if RELEVANCE not in values["task"] else None
    others = {name: values[name] for name in JUDGE_OPTIONS if name not in (*_OF_MANY_COMMANDS, "examples")}
    reading: Any = {
        "truth": values["gold"],
        "answers": values["answers"],
        "fields": parse_fields(values["fields"]) or None,
        "records": values["records"],
        "input_format": form,
        "examples": [*values["examples"]] or None,
    }
    return JudgeOptions(**others, **texts, **reading)


def judging_settings(values: Mapping[str, Any]) -> Settings:
    """How the runs are evaluated whose documents are judged."""
    from karat.cli.settings import Settings

    options = {name: values.get(name, option.default) for name, option in EVALUATION_OPTIONS.items()}
    return Settings((f"Judged@{values['depth']}",), options)


def evaluated_runs(files: Sequence[str], inputs: Inputs, settings: Settings) -> Mapping[str, Scores]:
    """The scores of runs, whose files are read as the command line says."""
    from karat.cli.systems import SystemFiles

    return SystemFiles(files, inputs, settings).load()


def _scores(judging: Judging, files: Sequence[str], inputs: Inputs, settings: Settings | None) -> Mapping[str, Scores]:
    """The scores of all systems by the labels of the judge."""
    from dataclasses import replace

    if settings is None:
        return {name or "": of_system for name, of_system in judging.task_scores().items()}
    if not judging.usage.done:
        return {}
    from karat.evaluation import DEFAULT_MEASURES

    inputs = replace(inputs, verdicts=(judging.path,), author=judging.author)
    measures = (*map(str, DEFAULT_MEASURES), *settings.measures)
    return evaluated_runs(files, inputs, replace(settings, measures=measures))
