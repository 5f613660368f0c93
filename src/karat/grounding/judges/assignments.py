"""What a judge is to judge: generated answers in results, or documents that ground truth does not judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.errors import KaratError, Message, Parameter, Place, require, shown
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.options import JUDGE_OPTIONS, RELEVANCE, TASKS, JudgeOptions
from karat.grounding.judges.plans import Plans, plans, relevance_plans
from karat.grounding.judges.prompts import Prompt
from karat.grounding.labels.missing import rubric_measure
from karat.grounding.labels.recipes import needed_fields
from karat.grounding.responses.responses import Response
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.tasks import Task, read_task
from karat.options import check_choice
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.pairs.paths import run_names
from karat.reading.texts.texts import read_texts

if TYPE_CHECKING:
    from karat.scores import Scores

_SEED = 42  # by which the queries of an overlap are drawn
_RUBRIC_EXAMPLE = 'For example {"name": "tone", "question": "Is it polite?", "scale": {"rude": 0, "polite": 1}}.'


class Assignment(NamedTuple):
    """What is judged, and in which systems.

    `plans` takes a journal, prompts, the author, the number of samples and the seed.
    """

    task: str
    """a recipe, `relevance`, or the name of a rubric"""
    systems: tuple[str | None, ...]
    plans: Callable[[Journal, Mapping[str, Prompt], str, int, int], Plans]
    notes: tuple[str, ...] = ()
    responses: Sequence[Response] = ()
    """the answers of all systems"""


def make_assignment(
    sources: Sequence[Any], options: JudgeOptions, evaluate: Callable[[], Mapping[str, Scores]] | None = None
) -> Assignment:
    """What is judged in these sources: the answers in results, or the unjudged documents of ground truth and runs.

    `evaluate` returns the scores of the runs, if the sources alone do not say how they are read.
    """
    _check_task(options)
    if options.task != RELEVANCE:
        return _answers_to_judge(sources, options)
    return _documents_to_judge(evaluate() if evaluate else _evaluated_runs(sources, options), options)


def _check_task(options: JudgeOptions) -> None:
    """Reject options that do not fit together: both a task and a rubric, what has no effect, or what is missing."""
    others: tuple[str, ...] = ("depth", "overlap")
    names = [name for name in ("task", "rubric") if getattr(options, name) is not None]
    if options.task == RELEVANCE:
        others = ("rubric", "system", "fields")
    else:
        hint = f"The tasks are {', '.join(TASKS)}."
        require(names, "neither a task nor a rubric is given", f"Name a task, or a rubric of your own. {hint}")
        require(len(names) == 1, "both a task and a rubric are given", "Leave one of them out.")
    for name in others:
        value = getattr(options, name)
        if value != JUDGE_OPTIONS[name].default:
            what = f" has no effect on {f'the task {options.task}' if options.task else 'a rubric'}"
            raise KaratError([Parameter(name, value), what], hint="Leave it out.")
    for name in ("queries", "corpus") if options.task == RELEVANCE else ():
        pass_it: Message = ["Pass ", Parameter(name), ": a file with ids and texts."]
        require(getattr(options, name) is not None, f"a judge reads the texts of the {name}", pass_it)


def _answers_to_judge(sources: Sequence[Any], options: JudgeOptions) -> Assignment:
    """Generated answers: results of one or several systems, which are named after their files."""
    rubric = None if options.rubric is None else read_rubric(options.rubric)
    recipe = rubric.name if rubric else check_choice("task", options.task, TASKS)
    system = options.system
    is_one = system is None or len(sources) == 1
    hint: Message = ["Judge them one after the other, or leave out ", Parameter("system"), "."]
    require(is_one, "one name is given for several systems", hint)
    names = [system] if system is not None else _names(sources)
    read = [
        read_responses(
            source,
            system=name,
            queries=options.queries,
            corpus=options.corpus,
            fields=options.fields,
            needed=needed_fields(recipe),
            format=options.format,
        )
        for name, source in zip(names, sources, strict=True)
    ]
    responses = tuple(chain.from_iterable(each.responses for each in read))
    notes = tuple(dict.fromkeys(chain.from_iterable(each.notes for each in read)))
    systems = tuple(dict.fromkeys(chain.from_iterable(each.systems for each in read)))
    return Assignment(recipe, systems, partial(plans, recipe, responses, rubric=rubric), notes, responses)


def _evaluated_runs(sources: Sequence[Any], options: JudgeOptions) -> Mapping[str, Scores]:
    """The scores of runs by ground truth, which is the first source."""
    from karat.evaluation import evaluate_runs

    truth, *runs = sources
    hint = "Pass the ground truth first, and then runs."
    require(runs, "the unjudged documents are those of runs, and none is given", hint)
    are_files = all(isinstance(run, str | os.PathLike) for run in runs)
    named = runs if are_files else {f"run {at}": run for at, run in enumerate(runs, 1)}
    form = options.format
    return evaluate_runs(truth, named, f"Judged@{options.depth}", truth_format=form, run_format=form)


def _documents_to_judge(systems: Mapping[str, Scores], options: JudgeOptions) -> Assignment:
    """The unjudged documents in the top `depth` of systems, and all judged ones of `overlap` queries."""
    from karat.analysis.documents_to_judge import documents_to_judge

    pairs = tuple(documents_to_judge(systems, options.depth, options.overlap, _SEED).pairs())
    require(pairs, f"all documents in the top {options.depth:,} are judged already", "Nothing has to be asked.")
    questions = read_texts(options.queries, {query for query, _ in pairs}, "queries")
    documents = read_texts(options.corpus, {document for _, document in pairs}, "corpus")
    make = partial(relevance_plans, pairs, questions, documents)
    return Assignment(RELEVANCE, tuple(systems), make, (*questions.notes, *documents.notes))


def read_rubric(source: object) -> Task:
    """A rubric: a mapping with its name, question and scale, or the path of a JSON file with it."""
    place = Place("the rubric")
    if isinstance(source, str | os.PathLike):
        file = InputFile.of(source)
        place, source = Place(file.name), decode_json(file.read_all(), file.name, _RUBRIC_EXAMPLE)
    if not isinstance(source, Mapping):
        raise KaratError(f"{shown(source)} is not a rubric", place=place, hint=_RUBRIC_EXAMPLE)
    rubric = read_task(source, place)
    if rubric.name in TASKS:
        what = f"{rubric.name} is the name of a built-in task"
        raise KaratError(what, place=place, hint="Give the rubric another name.")
    try:
        rubric_measure(rubric.name)
    except KaratError:
        what = f"{shown(rubric.name)} cannot be the name of a rubric, because no measure can be written with it"
        raise KaratError(what, place=place, hint="Give the rubric a name such as politeness.") from None
    require(rubric.question, "the rubric has no question to ask", _RUBRIC_EXAMPLE, place=place)
    return rubric


def _names(sources: Sequence[Any]) -> list[str | None]:
    """The names of systems: those of their files."""
    if all(isinstance(each, str | os.PathLike) for each in sources):
        return [*run_names([os.fspath(each) for each in sources])]
    hint: Message = ["Pass paths of files, or judge them one after the other with ", Parameter("system"), "."]
    require(len(sources) == 1, "several systems have no names", hint)
    return [None]
