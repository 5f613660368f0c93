"""Examples: a few labels by people that the prompt of a judge shows.

The queries of examples are left out wherever labels of the judge are compared with those of people. The others are
still a random sample only if labels do not decide which queries go: whoever takes out those with a rare label leaves
too few of them. So queries are read in an order that follows from their ids, until they have enough labels, and all
that were read are recorded with every call, whether they gave an example or not.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from karat.errors import KaratError, Parameter, enumeration, plural, shown
from karat.grounding.judges.assignments import Assignment
from karat.grounding.judges.budget import count_tokens
from karat.grounding.judges.options import JudgeOptions
from karat.grounding.judges.plan_requests import LabelSubject, label_steps, relevance_request
from karat.grounding.judges.plans import prompt_name, verdict_without_call
from karat.grounding.judges.prompts import EXAMPLES, Example, Examples, LabelKind, Prompt, load_prompts
from karat.grounding.judges.requests import ModelRequest
from karat.grounding.labels.counting import SubjectKey, is_person, label_status
from karat.grounding.labels.recipes import task_of, wanted_labels
from karat.grounding.labels.selection import choose_system, labelled_name, select_labels
from karat.grounding.labels.votes import ChosenLabels, chosen_labels
from karat.grounding.responses.responses import Response, note_on_name
from karat.grounding.verdict_file.reading import VerdictRecords
from karat.grounding.verdict_file.records import Item, items_by_query, text_digest
from karat.grounding.verdict_file.tasks import BUILT_IN, Task
from karat.options import RELEVANCE

MOST_EXAMPLES = 5
"""of a kind of labels"""
_MOST_QUERIES = 20
"""that are read for them, if most of the labels are the same; but at most a third of all"""
_OTHER_LABELS = 2
"""that are wanted among the examples, besides the most frequent one"""
_HOW_TO_LABEL = "`karat verdicts template` writes a sheet in which people label results."


class JudgePrompts(NamedTuple):
    """The prompts of a judge by name, with examples if there are some, and notes on these."""

    prompts: Mapping[str, Prompt]
    notes: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A label by people that can become an example."""

    subject: LabelSubject
    label: str
    request: Callable[[], ModelRequest]
    """makes the request for the label, without examples"""


@dataclass
class _Found:
    """The candidates of a task, and how many labels by people cannot be examples."""

    candidates: list[_Candidate] = field(default_factory=list)
    kinds: dict[LabelKind, None] = field(default_factory=dict)
    """of all labels that the task asks for"""
    divided: int = 0
    """about which people are divided"""
    changed: int = 0
    """given for other texts"""
    without_text: int = 0
    notes: list[str] = field(default_factory=list)


def judge_prompts(assignment: Assignment, options: JudgeOptions) -> JudgePrompts:
    """The prompts that a judge uses; with labels by people for examples, a task without any is an error."""
    prompts, records = load_prompts(options.prompts), assignment.people
    if records is None:
        return JudgePrompts(prompts)
    people = tuple(sorted(filter(is_person, records.labels.by.counts())))
    if not people:
        raise KaratError("no label is by a person, so there are no examples", place=records.name, hint=_HOW_TO_LABEL)
    candidates: dict[LabelKind, dict[SubjectKey, _Candidate]] = {}
    divided, notes, kinds = 0, dict[str, None](), dict[LabelKind, None]()
    for name in assignment.tasks:
        task = assignment.rubrics.get(name) or BUILT_IN[task_of(name)]
        task.check_same_scale(records.tasks.get(task.name), records.name)
        of_task = _of_documents if name == RELEVANCE else _of_answers
        found = of_task(name, task, prompts[prompt_name(task)], assignment, records, people)
        if not found.candidates:
            raise _no_examples(name, task, found, records, people)
        divided += found.divided
        notes |= dict.fromkeys(found.notes)
        kinds |= found.kinds
        for candidate in found.candidates:
            candidates.setdefault(candidate.subject.kind, {})[_key(candidate.subject)] = candidate
    chosen = {}
    for kind, by_key in candidates.items():
        chosen[kind] = _chosen(by_key.values(), prompts[EXAMPLES])
        name = prompt_name(next(iter(by_key.values())).subject.task)
        prompts[name] = prompts[name]._replace(examples={**prompts[name].examples, kind: chosen[kind]})
        _check_room(prompts[name].about(kind), options.max_input_tokens)
    return JudgePrompts(prompts, (*notes, *_notes(chosen, kinds, divided)))


def _key(subject: LabelSubject) -> SubjectKey:
    """By which labels of people are found: the passages that something is compared with have no order there."""
    against = tuple(sorted(subject.against)) if isinstance(subject.against, tuple) else subject.against
    of_support = against if subject.task.name == "support" else None
    return SubjectKey(subject.item.query, subject.system, subject.task.name, subject.item.id, of_support)


def _of_answers(
    recipe: str, task: Task, prompt: Prompt, assignment: Assignment, records: VerdictRecords, people: tuple[str, ...]
) -> _Found:
    """What people labelled of the results, of what the recipe asks for."""
    found = _Found()
    of_people = records.labels.by.where(is_person)
    queries = {*records.labels.query.take(np.flatnonzero(of_people))}
    for system in assignment.systems:
        of_system = [response for response in assignment.responses if response.system == system]
        name = labelled_name(records, system, of_system)
        if name is not None and records.systems and name not in records.systems:
            continue  # people labelled answers of another system
        found.notes += note_on_name(system, name)
        name = choose_system(records.systems, name, records.name)
        responses = [response for response in of_system if response.query in queries]
        selected = select_labels(records, name, people, responses)
        chosen = chosen_labels(selected.records, people, selected.status, of_documents=False)
        items = items_by_query(selected.known_items)
        for response in responses:
            _add_response(found, recipe, task, prompt, response, items.get(response.query, ()), name, chosen)
    return found


def _add_response(
    found: _Found,
    recipe: str,
    task: Task,
    prompt: Prompt,
    response: Response,
    items: Sequence[Item],
    system: str | None,
    chosen: ChosenLabels,
) -> None:
    """Add what people labelled of a response; `system` is its name in the file."""
    for wanted in wanted_labels(recipe, response, items):
        if recipe == "faithfulness" and wanted.item.type != "claim":
            continue  # a judge is asked about claims, and about sentences only where there are none
        subject = LabelSubject(task, wanted.item, response.system, wanted.against)
        found.kinds[subject.kind] = None
        keys = [_key(subject)._replace(system=name) for name in (system, None)]
        found.divided += any(key in chosen.tied for key in keys)
        found.changed += any(key in chosen.stale for key in keys)
        label = next((chosen.labels[key] for key in keys if key in chosen.labels), None)
        if label is None:
            continue
        if wanted.item.text is None:
            found.without_text += 1
        elif verdict_without_call(subject, response) is None:
            found.candidates.append(_Candidate(subject, label, partial(_request, subject, response, prompt)))


def _request(subject: LabelSubject, response: Response, prompt: Prompt) -> ModelRequest:
    """The request for one label about a response."""
    [request] = next(next(label_steps([subject], subject.task, response, prompt, samples=1, seed=0)))
    return request


def _of_documents(
    _: str, task: Task, prompt: Prompt, assignment: Assignment, records: VerdictRecords, people: tuple[str, ...]
) -> _Found:
    """The documents that people graded, whose texts are known."""
    chosen = chosen_labels(records, people, label_status(records), of_documents=True)
    found = _Found(divided=len(chosen.tied), changed=len(chosen.stale))
    if assignment.texts is None:
        return found
    questions, documents = assignment.texts
    for key, label in chosen.labels.items():
        question, text = questions.get(key.query), documents.get(key.item)
        if question is None or text is None:
            found.without_text += 1
            continue
        item = records.documents[key.query, key.item]
        if item.labelled_digest not in (None, text_digest(text.text)):
            found.changed += 1
            continue
        subject = LabelSubject(task, item, against="question")
        passage = {"id": 1, **({"title": text.title} if text.title else {}), "text": text.text}
        request = partial(relevance_request, subject, question.text, passage, prompt, 0)
        found.candidates.append(_Candidate(subject, label, request))
    return found


def _chosen(candidates: Iterable[_Candidate], introduction: Prompt) -> Examples:
    """A few of the candidates, with as many of each label as there are."""
    by_query: dict[str, list[_Candidate]] = {}
    for candidate in candidates:
        by_query.setdefault(candidate.subject.item.query, []).append(candidate)
    most = max(MOST_EXAMPLES, min(_MOST_QUERIES, len(by_query) // 3))
    queries: list[str] = []
    read: list[_Candidate] = []
    for query in sorted(by_query, key=_digest):
        labels = Counter(candidate.label for candidate in read)
        has_others = len(read) - max(labels.values(), default=0) >= _OTHER_LABELS
        if len(queries) >= (MOST_EXAMPLES if has_others else most):
            break
        queries.append(query)
        read += sorted(by_query[query], key=lambda candidate: _digest(repr(_key(candidate.subject))))
    examples = tuple(_example(read[at]) for at in sorted(_balanced(read)))
    return Examples(examples, tuple(queries), introduction)


def _balanced(read: Sequence[_Candidate]) -> list[int]:
    """Positions of a few candidates: in turn one of each label, from the query that has the fewest so far."""
    left: dict[str, list[int]] = {}
    for at, candidate in enumerate(read):
        left.setdefault(candidate.label, []).append(at)
    uses: dict[str, int] = {}
    chosen: list[int] = []
    while any(left.values()):
        for label in (label for label in read[0].subject.task.scale if left.get(label)):
            if len(chosen) == MOST_EXAMPLES:
                return chosen
            at = min(left[label], key=lambda at: (uses.get(read[at].subject.item.query, 0), at))
            left[label].remove(at)
            chosen.append(at)
            query = read[at].subject.item.query
            uses[query] = uses.get(query, 0) + 1
    return chosen


def _example(candidate: _Candidate) -> Example:
    """A label as it is shown. A rubric is not repeated: it is that of the request."""
    message: dict[str, Any] = json.loads(candidate.request().messages[-1]["content"])
    message.pop("rubric", None)
    return Example(message, candidate.subject.reply(candidate.label))


def _digest(text: str) -> str:
    return hashlib.sha256(f"example\t{text}".encode(errors="surrogatepass")).hexdigest()


def _check_room(prompt: Prompt, limit: int | None) -> None:
    """Raise an error if the examples leave no room for the texts of a request."""
    tokens = sum(count_tokens(message["content"]) for message in prompt.messages({}))
    if limit is not None and limit < 2 * tokens:
        what = f" is too small for the prompt {prompt.id}, which has about {tokens:,} tokens with its examples"
        hint = f"Allow {2 * tokens:,} or more, or judge without examples."
        raise KaratError([Parameter("max_input_tokens", limit), what], hint=hint)


def _notes(chosen: Mapping[LabelKind, Examples], kinds: Iterable[LabelKind], divided: int) -> Iterator[str]:
    """What the prompts show, and what may surprise about it."""
    number = sum(len(examples.examples) for examples in chosen.values())
    queries = {query for examples in chosen.values() for query in examples.queries}
    are, they = ("is an example", "it was") if number == 1 else ("are examples", "they were")
    what = (
        f"{plural(number, 'label')} by people {are} in the prompts; {they} chosen from {plural(len(queries), 'query')}"
    )
    yield f"{what}, which agreement with people and corrections by them leave out"
    for kind, examples in chosen.items():
        labels = {_label_in(example.reply) for example in examples.examples}
        if len(labels) == 1:
            only = shown(labels.pop())
            yield f"all examples of {_in_words(kind)} have the label {only}: these queries have no other one"
    if without := [_in_words(kind) for kind in kinds if kind not in chosen]:
        yield f"no examples of {enumeration(without, 'or')}, which people did not label"
    if divided:
        yield f"{plural(divided, 'label')} not used as examples: people are divided"


def _in_words(kind: LabelKind) -> str:
    compared = [] if kind.compared == "nothing" else [f"compared with the {kind.compared}"]
    return f"{kind.task} ({', '.join([kind.type, *compared])})"


def _label_in(reply: Mapping[str, Any]) -> str | int:
    label: str | int = reply["labels"][0]["label"] if "labels" in reply else reply["label"]
    return label


def _no_examples(name: str, task: Task, found: _Found, records: VerdictRecords, people: tuple[str, ...]) -> KaratError:
    """The error if no label by people can be an example for a task."""
    of_people = np.flatnonzero(records.labels.by.where(frozenset(people).__contains__))
    counts = records.labels.task.take(of_people).counts()
    what, hint = f"no label by people can be an example for the task {shown(name)}", ""
    if not counts.get(task.name):
        labelled = enumeration(
            [f"{each} ({plural(number, 'label')})" for each, number in sorted(counts.items())], "and"
        )
        why = f"they labelled {labelled}"
    elif found.divided:
        why = "people are divided about every item that they labelled"
    elif found.without_text:
        why = "the texts that they labelled are not known"
        hint = "Judge the results that people labelled, or give the file that has the texts, too."
    elif found.changed:
        why = "the texts that they labelled are not those of the results"
        hint = "Judge the results that people labelled."
    else:
        why = "what they labelled is not what the judge is asked about, or not in the results"
        hint = "Judge the results that people labelled, and let them label the items of the judge: "
        hint += "`karat verdicts template RESULTS --task TASK --items VERDICTS`."
    return KaratError(
        f"{what}: {why}", place=records.name, hint=hint or "Leave the examples out, or judge another task."
    )
