"""`karat judge`: labels by a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from karat.cli import options as opt
from karat.cli.completion import complete_values
from karat.cli.files import FileToExtend, FileToRead
from karat.cli.parser import Command
from karat.errors import KaratError, enumeration, printable, require
from karat.options import EVALUATION_OPTIONS, Recipe

if TYPE_CHECKING:
    from karat.cli.systems import Evaluation
    from karat.judges.assignments import Assignment
    from karat.judges.judging import Judge, Judging
    from karat.scores import Scores

_RELEVANCE = "relevance"
_TASKS: tuple[str, ...] = (*get_args(Recipe), _RELEVANCE)
_ABOUT_DOCUMENTS = ("depth", "overlap", "split", "ties", "duplicates", "ignore_identical_ids")
_ABOUT_ANSWERS = ("system", "rubric", "fields")


def _setting(name: str, kind: type, metavar: str, help: str, default: Any = None) -> Callable[..., Any]:  # noqa: A002
    """An option that is an argument of `karat.judge`."""
    return click.option(
        f"--{name}", type=kind, metavar=metavar, default=default, show_default=default is not None, help=help
    )


@click.command("judge", cls=Command)
@opt.file_argument(
    "truth",
    "RESULTS",
    "Generated answers: results with the fields query, answer and retrieved, as far as the task is about them, or a"
    " submission to TREC RAG. With --task relevance: ground truth.",
    required=True,
)
@opt.file_argument(
    "runs", "MORE...", "Results of more systems. With --task relevance: runs, whose documents are judged.", several=True
)
@click.option(
    "--task",
    metavar="TASK",
    help=f"What is judged: {', '.join(_TASKS)} (of unjudged documents).",
    shell_complete=complete_values(_TASKS),
)
@opt.file_option(
    "--rubric",
    kind=FileToRead(),
    help='A rubric of your own instead of --task, as JSON: {"name": ..., "question": ..., "scale": {label: number}}.',
)
@click.option("--model", metavar="NAME", help="The model that judges.")
@opt.file_option(
    "-o",
    "--output",
    "file",
    kind=FileToExtend(),
    help="The verdict file that labels are added to, such as verdicts.jsonl. What is in it is not asked again.",
)
@click.option("--estimate", is_flag=True, help="Only estimate how many calls and tokens it takes; nothing is asked.")
@click.option("--replay", is_flag=True, help="Ask nothing: every reply must be in the verdict file. Needs no key.")
@click.option("--retry-failed", is_flag=True, help="Ask again where the reply could not be understood.")
@_setting("base-url", str, "URL", "The server, if it is not OpenAI's: any that speaks its chat protocol.")
@_setting(
    "api-key-env", str, "VARIABLE", "The environment variable that contains the key of the server.", "OPENAI_API_KEY"
)
@_setting("samples", int, "N", "Ask everything N times, to see how much the judge varies.", 1)
@_setting("max-calls", int, "N", "Stop before more than N requests are sent.")
@_setting("max-tokens-total", int, "N", "Stop before more than N tokens may be used.")
@_setting("max-cost", float, "COST", "Stop before more than this may be spent. Needs both prices.")
@_setting("price-in", float, "PRICE", "The price of a million input tokens.")
@_setting("price-out", float, "PRICE", "The price of a million output tokens.")
@_setting("concurrency", int, "N", "How many requests are sent at a time at first; it adapts to the server.", 8)
@_setting("timeout", float, "SECONDS", "The longest time to wait for a reply.", 60.0)
@_setting("temperature", float, "T", "The temperature of the model.", 0.0)
@_setting("seed", int, "N", "The seed of the model.", 42)
@_setting("max-tokens", int, "N", "The longest reply, in tokens.", 2048)
@click.option(
    "--prompts",
    type=FileToRead(),
    metavar="FOLDER",
    help="A folder with prompts of your own, such as support.txt, instead of karat's.",
)
@_setting("depth", int, "K", "With --task relevance: judge the unjudged documents in the top K of a run.", 10)
@_setting(
    "overlap", int, "N", "With --task relevance: also judge all judged documents of N queries, for comparison.", 0
)
@click.option("--system", metavar="NAME", help="The name of the system. By default, the name of the file.")
@opt.queries
@opt.corpus
@opt.fields
@opt.input_options
@opt.ranking_options
@click.pass_context
def command(
    context: click.Context,
    /,
    truth: str,
    runs: tuple[str, ...],
    task: str | None,
    file: str | None,
    estimate: bool,
    **given: Any,
) -> None:
    """Have answers, or unjudged documents, judged by a language model.

    Its labels are added to a verdict file. If the command is interrupted, run it again: what was asked is not asked
    again.
    """
    from karat.cli.terminal import print_table

    _check_options(context, task)
    judge = _judge(given, estimate)
    if file is None and not estimate:
        raise KaratError("-o is missing", hint="Name the verdict file that labels are added to: -o verdicts.jsonl")
    files = [truth, *runs]
    evaluation = _evaluation(given) if task == _RELEVANCE else None
    assignment = _assignment(files, task, evaluation, given)
    if estimate:
        print_table(judge.estimate(assignment, file).table())
        return
    try:
        judging = judge.judge(assignment, str(file))
    except KaratError as error:
        raise KaratError(_with_options(error.what), place=error.place, hint=_with_options(error.hint or "")) from None
    _print_scores(judging, files, evaluation)
    _print_end(judging)


def _with_options(text: str) -> str:
    """A message with the names of options, such as --base-url, instead of those of arguments."""
    from dataclasses import fields

    from karat.judges.judging import Judge

    names = [field.name for field in fields(Judge) if "_" in field.name]
    text = re.sub(rf"\b({'|'.join(names)})=", r"\1 ", text)
    return re.sub(rf"\b({'|'.join(names)})\b", lambda found: f"--{found[1].replace('_', '-')}", text)


def _check_options(context: click.Context, task: str | None) -> None:
    """Reject options that have no effect."""
    others = _ABOUT_ANSWERS if task == _RELEVANCE else _ABOUT_DOCUMENTS
    names = {each.name: max(each.opts, key=len) for each in context.command.params}
    for name in filter(lambda name: opt.is_given(context, name), others):
        what = f"{names[name]} has no effect on --task {task}" if task else f"{names[name]} needs --task {_RELEVANCE}"
        raise KaratError(what, hint="Leave it out.")


def _judge(given: Mapping[str, Any], estimate: bool) -> Judge:
    from dataclasses import fields

    from karat.judges.judging import Judge

    is_needed = not given["replay"] and not estimate
    if not (given["model"] or "").strip() and (is_needed or given["model"] is not None):
        hint = "Use --model NAME, with --base-url URL if it is not OpenAI's; --replay to ask nothing; or --estimate."
        raise KaratError("no model is given", hint=hint)
    return Judge(**{field.name: given[field.name] for field in fields(Judge)})


def _evaluation(given: Mapping[str, Any]) -> Evaluation:
    """How the runs are read whose documents are judged."""
    from karat.cli.inputs import parse_inputs
    from karat.cli.systems import Evaluation

    require(given["depth"] > 0, f"--depth {given['depth']} is not a whole number of 1 or more")
    options = {name: given.get(name, option.default) for name, option in EVALUATION_OPTIONS.items()}
    inputs = parse_inputs(given["formats"], given["columns"], given["split"])
    return Evaluation((f"Judged@{given['depth']}",), options, inputs=inputs)


def _assignment(
    files: Sequence[str], task: str | None, evaluation: Evaluation | None, given: Mapping[str, Any]
) -> Assignment:
    from karat.cli.inputs import check_texts, parse_fields, parse_inputs
    from karat.judges.assignments import answers_to_judge, documents_to_judge, read_rubric

    inputs = parse_inputs(given["formats"], given["columns"], given["split"])
    texts: Any = {}
    for name in ("queries", "corpus"):
        texts[name] = inputs.texts(name, given[name]) or None
        check_texts(texts[name] or (), name)
    if evaluation is not None:
        from karat.cli.systems import SystemFiles

        for name, found in texts.items():
            hint = f"--{name} FILE contains their texts."
            require(found, f"a judge reads the texts of the {name}", hint)
        systems = SystemFiles(files, evaluation).load()
        return documents_to_judge(systems, depth=given["depth"], overlap=given["overlap"], **texts)
    if sides := inputs.columns.keys() & {"truth", "run"}:
        what = f"--column names a column of {' and '.join(sorted(sides, reverse=True))}, and these are results"
        raise KaratError(what, hint="Use --field, or queries.text= and corpus.text= for texts.")
    rubric = None if given["rubric"] is None else read_rubric(given["rubric"])
    form = inputs.formats.get("truth")
    return answers_to_judge(
        files, task, rubric, system=given["system"], fields=parse_fields(given["fields"]), format=form, **texts
    )


def _print_scores(judging: Judging, files: Sequence[str], evaluation: Evaluation | None) -> None:
    """The scores of all systems by the labels of the judge."""
    from dataclasses import replace

    from karat.cli.output import Output, print_scores
    from karat.cli.terminal import print_text

    scores: Mapping[str, Scores] = {}
    if evaluation is None:
        scores = {name or "": of_system for name, of_system in judging.task_scores().items()}
    elif judging.usage.done:
        from karat.cli.label_options import LabelOptions
        from karat.cli.systems import SystemFiles
        from karat.evaluation import DEFAULT_MEASURES

        labels = LabelOptions((judging.path,), judging.by)
        measures = (*map(str, DEFAULT_MEASURES), *evaluation.measures)
        scores = SystemFiles(files, replace(evaluation, measures=measures, labels=labels)).load()
    if scores:
        print_scores(scores, Output.of({"format": None, "file": None}))
    if without := [name or "the system" for name in judging.systems if (name or "") not in scores]:
        has = "has" if len(without) == 1 else "have"
        what = f"{enumeration(without, 'and')} {has} no labels of this task, so no measure can be computed"
        print_text(printable(f"note: {what}.") + "\n")


def _print_end(judging: Judging) -> None:
    from karat.cli.terminal import print_text

    print_text("".join(f"note: {printable(_with_options(note))}.\n" for note in judging.notes))
    print_text(f"{printable(judging.path)}: {judging}\n")
