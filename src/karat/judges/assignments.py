"""What a judge is to judge: generated answers in results, or documents that ground truth does not judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from karat.errors import KaratError, require, shown
from karat.files.input_file import InputFile
from karat.json_decoding import decode_json
from karat.judges.journal import Journal
from karat.judges.plans import Plans, plans, relevance_plans
from karat.judges.prompts import Prompt
from karat.labels.missing import rubric_measure
from karat.labels.recipes import RECIPES, needed_fields
from karat.labels.responses import Response
from karat.labels.results import read_responses
from karat.labels.tasks import Task, read_task
from karat.options import check_choice
from karat.sources.run_files import run_names
from karat.sources.texts import read_texts

if TYPE_CHECKING:
    from karat.scores import Scores

RELEVANCE = "relevance"
TASKS = (*RECIPES, RELEVANCE)
_RUBRIC_EXAMPLE = 'For example {"name": "tone", "question": "Is it polite?", "scale": {"rude": 0, "polite": 1}}.'


class Assignment(NamedTuple):
    """What is judged, and in which systems. `plans` takes a journal, prompts, the author and the number of samples."""

    task: str
    """a recipe, `relevance`, or the name of a rubric"""
    systems: tuple[str | None, ...]
    plans: Callable[[Journal, Mapping[str, Prompt], str, int], Plans]
    notes: tuple[str, ...] = ()
    responses: Sequence[Response] = ()
    """the answers of all systems"""


def answers_to_judge(
    sources: Sequence[Any],
    task: str | None,
    rubric: Task | None,
    *,
    system: str | None = None,
    queries: Any = None,
    corpus: Any = None,
    fields: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
) -> Assignment:
    """Generated answers: results of one or several systems, which are named after their files."""
    given = [each for each, is_given in (("task", task), ("rubric", rubric)) if is_given is not None]
    hint = f"The tasks are {', '.join(TASKS)}."
    require(given, "neither a task nor a rubric is given", f"Name a task, or a rubric of your own. {hint}")
    require(len(given) == 1, "both a task and a rubric are given", "Leave one of them out.")
    recipe = rubric.name if rubric else check_choice("task", task, TASKS)
    is_one = system is None or len(sources) == 1
    require(is_one, "one name is given for several systems", "Judge them one after the other, or leave out system.")
    names = [system] if system is not None else _names(sources)
    options: Any = {"queries": queries, "corpus": corpus, "fields": fields, "format": format}
    needed = needed_fields(recipe)
    read = [
        read_responses(source, system=name, needed=needed, **options)
        for name, source in zip(names, sources, strict=True)
    ]
    responses = tuple(chain.from_iterable(each.responses for each in read))

    def make(journal: Journal, prompts: Mapping[str, Prompt], by: str, samples: int) -> Plans:
        return plans(recipe, responses, journal, prompts, by=by, samples=samples, rubric=rubric)

    notes = tuple(dict.fromkeys(chain.from_iterable(each.notes for each in read)))
    systems = tuple(dict.fromkeys(chain.from_iterable(each.systems for each in read)))
    return Assignment(recipe, systems, make, notes, responses)


def documents_to_judge(
    systems: Mapping[str, Scores], *, depth: int = 10, overlap: int = 0, seed: int = 42, queries: Any, corpus: Any
) -> Assignment:
    """The unjudged documents in the top `depth` of systems, and all judged ones of `overlap` queries."""
    from karat.analysis import documents_to_judge as found

    missing = " and ".join(name for name, given in (("queries", queries), ("corpus", corpus)) if given is None)
    what = "a judge reads the texts of queries and of documents, and not all are given"
    require(not missing, what, f"Pass {missing}: files with ids and texts.")
    pairs = tuple(found.documents_to_judge(systems, depth, overlap, seed).pairs())
    require(pairs, f"all documents in the top {depth:,} are judged already", "Nothing has to be asked.")
    questions = read_texts(queries, {query for query, _ in pairs}, "queries")
    documents = read_texts(corpus, {document for _, document in pairs}, "corpus")

    def make(journal: Journal, prompts: Mapping[str, Prompt], by: str, samples: int) -> Plans:  # noqa: ARG001
        return relevance_plans(pairs, questions, documents, journal, prompts, samples=samples)

    return Assignment(RELEVANCE, tuple(systems), make, (*questions.notes, *documents.notes))


def read_rubric(given: object) -> Task:
    """A rubric: a mapping with its name, question and scale, or the path of a JSON file with it."""
    place = "the rubric"
    if isinstance(given, str | os.PathLike):
        file = InputFile.of(given)
        place, given = file.name, decode_json(file.read_all(), file.name, _RUBRIC_EXAMPLE)
    if isinstance(given, Task):
        return given
    if not isinstance(given, Mapping):
        raise KaratError(f"{shown(given)} is not a rubric", place=place, hint=_RUBRIC_EXAMPLE)
    rubric = read_task(given, place)
    is_recipe = rubric.name in TASKS
    require(
        not is_recipe, f"{rubric.name} is the name of a built-in task", "Give the rubric another name.", place=place
    )
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
    hint = "Pass paths of files, or judge them one after the other with system=."
    require(len(sources) == 1, "several systems have no names", hint)
    return [None]
