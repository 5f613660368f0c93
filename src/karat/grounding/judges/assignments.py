"""What a judge is to judge: generated answers in results, or documents that ground truth does not judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.errors import KaratError, Message, Parameter, Place, enumeration, require, shown
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.options import JUDGE_OPTIONS, TASKS, JudgeOptions
from karat.grounding.judges.plans import Plans, plans, relevance_plans
from karat.grounding.judges.prompts import Prompt
from karat.grounding.judges.requests import ModelRequest, Plan, RequestOutcome
from karat.grounding.labels.missing import check_rubric_name
from karat.grounding.labels.recipes import needed_fields
from karat.grounding.responses.responses import Response
from karat.grounding.responses.results import read_responses
from karat.grounding.verdict_file.reading import VerdictRecords, read_verdict_records
from karat.grounding.verdict_file.tasks import Task, read_task
from karat.options import RELEVANCE
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.json_decoding import decode_json
from karat.reading.contents.contents import content_of
from karat.reading.pairs.paths import run_names
from karat.reading.records.joining import JoinedSources
from karat.reading.records.result_fields import names_by_field
from karat.reading.texts.texts import FoundTexts, read_texts

if TYPE_CHECKING:
    from karat.scores import Scores

_SEED = 42  # by which the queries of an overlap are drawn
_RUBRIC_EXAMPLE = 'For example {"name": "tone", "question": "Is it polite?", "scale": {"rude": 0, "polite": 1}}.'


MakePlans = Callable[[Journal, Mapping[str, Prompt], str, int, int], Plans]
"""takes what is known, prompts, the author of verdicts that need no call, the number of samples, and the seed"""


class Assignment(NamedTuple):
    """What is judged, and in which systems."""

    plans: Mapping[str, MakePlans]
    """by task: a recipe, `relevance`, or the name of a rubric"""
    systems: tuple[str | None, ...]
    notes: tuple[str, ...] = ()
    responses: Sequence[Response] = ()
    """the answers of all systems"""
    rubrics: Mapping[str, Task] = MappingProxyType({})
    """by name"""
    texts: tuple[FoundTexts, FoundTexts] | None = None
    """those of queries and documents, if documents are judged"""
    people: VerdictRecords | None = None
    """labels by people, some of which are examples for the judge"""

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is asked."""
        return tuple(self.plans)

    def all_plans(self, known: Journal, prompts: Mapping[str, Prompt], by: str, samples: int, seed: int) -> Plans:
        """One plan per question, with everything that is asked about it: one task after the other."""
        of_tasks = [make(known, prompts, by, samples, seed) for make in self.plans.values()]
        if len(of_tasks) == 1:
            return of_tasks[0]
        notes = tuple(dict.fromkeys(chain.from_iterable(plans.notes for plans in of_tasks)))
        return Plans(len(of_tasks[0]), notes, lambda: map(_in_turn, zip(*of_tasks, strict=True)))


def _in_turn(plans: Iterable[Plan]) -> Plan:
    """Plans about the same question, one after the other. What an earlier one has asked is not asked again.

    That is true of failures, too, which the verdict file forgets.
    """
    known: dict[tuple[str, int, str], RequestOutcome] = {}

    def key(request: ModelRequest) -> tuple[str, int, str]:
        return request.prompt, request.sample, request.messages[-1]["content"]

    def before(request: ModelRequest) -> RequestOutcome | None:
        outcome = known.get(key(request))
        return outcome if outcome is not None and outcome.request == request else None

    for plan in plans:
        outcomes: list[RequestOutcome] | None = None
        while True:
            try:
                requests = next(plan) if outcomes is None else plan.send(outcomes)
            except StopIteration:
                break
            by_place = {place: outcome for place, request in enumerate(requests) if (outcome := before(request))}
            new = [place for place in range(len(requests)) if place not in by_place]
            if new:
                by_place |= zip(new, (yield [requests[place] for place in new]), strict=True)
            outcomes = [by_place[place] for place in range(len(requests))]
            known |= {key(outcome.request): outcome for outcome in outcomes}


def make_assignment(
    sources: Sequence[Any], options: JudgeOptions, evaluate: Callable[[], Mapping[str, Scores]] | None = None
) -> Assignment:
    """What is judged in these sources: the answers in results, or the unjudged documents of ground truth and runs.

    `evaluate` returns the scores of the runs, if the sources alone do not say how they are read.
    """
    _check_tasks(options)
    people = None if options.examples is None else read_verdict_records(options.examples)
    if not options.is_about_documents:
        return _answers_to_judge(sources, options)._replace(people=people)
    _reject_results(sources if evaluate else sources[:1], options)  # in Python, results can be read as a run
    for name in ("truth", "answers"):
        what: Message = [Parameter(name), " is about answers, and documents are judged"]
        require(getattr(options, name) is None, what, "Leave it out.")
    for name in ("queries", "corpus"):
        hint: Message = ["Pass ", Parameter(name), ": a file with ids and texts."]
        require(getattr(options, name) is not None, f"a judge reads the texts of the {name}", hint)
    return _documents_to_judge(evaluate() if evaluate else _evaluated_runs(sources, options), options, people)


def _reject_results(sources: Sequence[Any], options: JudgeOptions) -> None:
    """Reject results in the place of ground truth or a run: another task is about the passages in them."""
    for source in sources:
        if _is_results(source, options.fields):
            what = "these are results, and the documents that are judged are those of ground truth and runs"
            hint: Message = ["To judge the passages in results, use ", Parameter("task", "context"), "."]
            place = InputFile.of(source).name if isinstance(source, str | os.PathLike) else "the results"
            raise KaratError(what, place=place, hint=hint)


def _is_results(source: Any, fields: Mapping[str, str] | None) -> bool:
    """Whether a file begins as results do, or records have answers; standard input can be read only once."""
    if isinstance(source, str | os.PathLike):
        file = InputFile.of(source)
        with suppress(KaratError):  # whoever reads it knows how
            return file.path != "-" and content_of(file, None, fields) == "results"
        return False
    first = source[0] if isinstance(source, list | tuple) and source else None
    names = [name for name in first if isinstance(name, str)] if isinstance(first, Mapping) else []
    return bool(names_by_field(names, fields)["answer"])


def _check_tasks(options: JudgeOptions) -> None:
    """Reject options that do not fit together: no task, tasks about different things, and what has no effect."""
    others: tuple[str, ...] = ("depth", "overlap")
    if options.is_about_documents:
        others = ("rubric", "system", "fields", "records", "order")
        if about_answers := [task for task in options.tasks if task != RELEVANCE]:
            are = "is" if len(about_answers) == 1 else "are"
            what = f"the task {RELEVANCE} is about documents of runs, and {enumeration(about_answers, 'and')} {are}"
            hint = f"Judge the task {RELEVANCE} by itself. Its labels may be in the same file."
            raise KaratError(f"{what} about results", hint=hint)
    elif not options.tasks and options.rubric is None:
        hint = f"Name a task, or a rubric of your own. The tasks are {', '.join(TASKS)}."
        raise KaratError("neither a task nor a rubric is given", hint=hint)
    for name in others:
        value = getattr(options, name)
        if value != JUDGE_OPTIONS[name].default:
            tasks = f"the {'task' if len(options.tasks) == 1 else 'tasks'} {enumeration(options.tasks, 'and')}"
            what = f" has no effect on {tasks if options.tasks else 'a rubric'}"
            raise KaratError([Parameter(name, value), what], hint="Leave it out.")


def _answers_to_judge(sources: Sequence[Any], options: JudgeOptions) -> Assignment:
    """Generated answers: results of one or several systems, which are named after their files."""
    rubrics = [] if options.rubric is None else [read_rubric(options.rubric)]
    tasks = (*options.tasks, *(rubric.name for rubric in rubrics))
    needed = dict.fromkeys(chain.from_iterable(map(needed_fields, tasks)))
    system = options.system
    is_one = system is None or len(sources) == 1
    hint: Message = ["Judge them one after the other, or leave out ", Parameter("system"), "."]
    require(is_one, "one name is given for several systems", hint)
    names = [system] if system is not None else _names(sources)
    joins = JoinedSources.of(options.truth, options.answers, options.fields)
    read = [
        read_responses(
            source,
            system=name,
            queries=options.queries,
            corpus=options.corpus,
            fields=options.fields,
            needed=tuple(needed),
            format=options.input_format,
            records=options.records,
            order=options.order,
            joins=joins,
        )
        for name, source in zip(names, sources, strict=True)
    ]
    responses = tuple(chain.from_iterable(each.responses for each in read))
    notes = tuple(dict.fromkeys(chain.from_iterable(each.notes for each in read)))
    systems = tuple(dict.fromkeys(chain.from_iterable(each.systems for each in read)))
    make: dict[str, MakePlans] = {recipe: partial(plans, recipe, responses) for recipe in options.tasks}
    make |= {rubric.name: partial(plans, rubric.name, responses, rubric=rubric) for rubric in rubrics}
    return Assignment(make, systems, notes, responses, {rubric.name: rubric for rubric in rubrics})


def _evaluated_runs(sources: Sequence[Any], options: JudgeOptions) -> Mapping[str, Scores]:
    """The scores of runs by ground truth, which is the first source."""
    from karat.evaluation import evaluate_runs

    truth, *runs = sources
    hint = "Pass the ground truth first, and then runs."
    require(runs, "the unjudged documents are those of runs, and none is given", hint)
    are_files = all(isinstance(run, str | os.PathLike) for run in runs)
    named = runs if are_files else {f"run {at}": run for at, run in enumerate(runs, 1)}
    form = options.input_format
    return evaluate_runs(truth, named, f"Judged@{options.depth}", truth_format=form, run_format=form)


def _documents_to_judge(
    systems: Mapping[str, Scores], options: JudgeOptions, people: VerdictRecords | None
) -> Assignment:
    """The unjudged documents in the top `depth` of systems, and all judged ones of `overlap` queries."""
    from karat.analysis.documents_to_judge import documents_to_judge

    pairs = tuple(documents_to_judge(systems, options.depth, options.overlap, _SEED).pairs())
    require(pairs, f"all documents in the top {options.depth:,} are judged already", "Nothing has to be asked.")
    judged, graded = {*pairs}, {*(people.documents if people else ())}
    wanted, of_pairs = ([{*ids} for ids in zip(*each, strict=True)] for each in (judged | graded, judged))
    texts = read_texts(options.queries, wanted[0], "queries"), read_texts(options.corpus, wanted[1], "corpus")
    make = partial(relevance_plans, pairs, *texts)
    notes = [note for found, ids in zip(texts, of_pairs, strict=True) for note in found.notes_on(ids)]
    return Assignment({RELEVANCE: make}, tuple(systems), tuple(notes), texts=texts, people=people)


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
    check_rubric_name(rubric.name, place)
    require(rubric.question, "the rubric has no question to ask", _RUBRIC_EXAMPLE, place=place)
    return rubric


def _names(sources: Sequence[Any]) -> list[str | None]:
    """The names of systems: those of their files."""
    if all(isinstance(each, str | os.PathLike) for each in sources):
        return [*run_names([os.fspath(each) for each in sources])]
    hint: Message = ["Pass paths of files, or judge them one after the other with ", Parameter("system"), "."]
    require(len(sources) == 1, "several systems have no names", hint)
    return [None]
