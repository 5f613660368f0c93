"""Plans: everything that a language model is asked about a question and the answers of all systems to it.

Claims and nuggets are extracted first, unless the verdict file has them: people may have corrected them. If the answer
has changed since, its claims are extracted again. Then the labels that a recipe asks for are requested, of people and
models alike (`labels/recipes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from karat.errors import KaratError, did_you_mean, plural, shown
from karat.grounding.judges.compared_texts import ComparedTexts
from karat.grounding.judges.extractions import MOST_PASSAGES, ClaimExtraction, NuggetExtraction, nugget_passages
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.plan_requests import LabelSubject, label_steps, nothing_in, relevance_request
from karat.grounding.judges.prompts import Prompt
from karat.grounding.judges.question_items import READ_PASSAGES, READ_SENTENCES, QuestionItems, gold_answers
from karat.grounding.judges.requests import Plan, Record, RequestOutcome
from karat.grounding.judges.steps import Steps, if_known, together
from karat.grounding.labels.recipes import RECIPES, task_of, wanted_labels
from karat.grounding.responses.responses import Response, has_text, name_in_files, note_on_name
from karat.grounding.verdict_file.columns import Against
from karat.grounding.verdict_file.records import Item, text_digest
from karat.grounding.verdict_file.tasks import BUILT_IN, NOTHING_TO_JUDGE, Task
from karat.reading.texts.texts import FoundTexts

_OF_CLAIMS = ("faithfulness", "claims")
_OF_NUGGETS = ("nuggets", "coverage")
_OF_EACH_PASSAGE = ("context", "coverage", "claims")
_RUBRIC = "rubric"
"""takes the place of the recipe for a rubric of the user's own"""
_READ_GOLD = ("claims", "correctness", "abstention", *_OF_NUGGETS, _RUBRIC)


@dataclass(frozen=True)
class Plans:
    """One plan per question, made when it is needed; how many there are; and notes on what cannot be asked."""

    number: int
    notes: tuple[str, ...]
    make: Callable[[], Iterator[Plan]]

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[Plan]:
        return self.make()


def plans(
    recipe: str,
    responses: Iterable[Response],
    known: Journal,
    prompts: Mapping[str, Prompt],
    by: str,
    samples: int = 1,
    seed: int = 42,
    *,
    rubric: Task | None = None,
) -> Plans:
    """The plans for a recipe, or for a rubric of the user's own if there is one.

    `by` is the author of verdicts that need no call, such as that an empty answer has no claims. The order of texts in
    all samples but the first follows from the `seed`.
    """
    if rubric is None and recipe not in RECIPES:
        hint = f"{did_you_mean(recipe, RECIPES)} The tasks are {', '.join(RECIPES)}.".strip()
        raise KaratError(f"{shown(recipe)} is not a task for a judge", hint=hint)
    recipe, task = (_RUBRIC, rubric) if rubric else (recipe, BUILT_IN[task_of(recipe)])
    responses, renamed = _with_known_names(tuple(responses), known)
    questions = _by_question(recipe, responses)
    planner = _Planner(recipe, task, known, prompts, by, samples, seed)
    return Plans(len(questions), (*renamed, *_notes(recipe, questions)), lambda: map(planner.plan, questions))


def _with_known_names(responses: Sequence[Response], known: Journal) -> tuple[Sequence[Response], list[str]]:
    """Responses with the names that their systems have in the verdict file, and notes on these.

    A name that another one of the systems has, or would have, too, is not given.
    """
    by_system: dict[str | None, list[Response]] = {}
    for response in responses:
        by_system.setdefault(response.system, []).append(response)
    names = {system: name_in_files(known, system, of_system) for system, of_system in by_system.items()}
    uses = Counter(names.values())
    names = {system: name if uses[name] == 1 else system for system, name in names.items()}
    notes = [note for system, name in names.items() for note in note_on_name(system, name)]
    if not notes:
        return responses, notes
    return [replace(response, system=names[response.system]) for response in responses], notes


def relevance_plans(
    pairs: Iterable[tuple[str, str]],
    queries: FoundTexts,
    corpus: FoundTexts,
    known: Journal,
    prompts: Mapping[str, Prompt],
    by: str,  # noqa: ARG001  # all verdicts need a call
    samples: int = 1,
    seed: int = 42,  # noqa: ARG001  # a request is about one document
) -> Plans:
    """The plans that ask for the relevance of documents to queries, given as pairs of ids."""
    by_query: dict[str, list[str]] = {}
    without = 0
    for query, document in pairs:
        if query in queries and document in corpus:
            by_query.setdefault(query, []).append(document)
        else:
            without += 1
    notes = [f"{plural(without, 'document')} not judged: the text of the query or the document is unknown"]

    def plan(query: str) -> Plan:
        names = by_query[query]
        items = [Item(query, name, "document", digest=text_digest(corpus[name].text)) for name in names]
        known.write(None, [item.record() for item in items])
        requests = []
        for item in items:
            document = corpus[item.id]
            passage = {"id": 1, **({"title": document.title} if document.title else {}), "text": document.text}
            about = LabelSubject(BUILT_IN["relevance"], item, against="question"), queries[query].text, passage
            requests += [relevance_request(*about, prompts["relevance"], sample) for sample in range(samples)]
        yield requests

    return Plans(len(by_query), tuple(notes if without else ()), lambda: map(plan, by_query))


def _by_question(recipe: str, responses: Iterable[Response]) -> list[Sequence[Response]]:
    """The responses of all systems to each question."""
    questions: dict[str, tuple[Response, ...]] = {}  # most have one response, and tuples are smaller than lists
    for response in responses:
        others = questions.get(response.query, ())
        if any(other.system == response.system for other in others):
            what = f"query {shown(response.query)} has two answers of the system {shown(response.system)}"
            raise KaratError(what, hint="Give each system a name of its own.")
        _check_texts(recipe, response)
        questions[response.query] = (*others, response)
    return [_with_gold(same) if recipe in _READ_GOLD else same for same in questions.values()]


def _notes(recipe: str, questions: Sequence[Sequence[Response]]) -> tuple[str, ...]:
    """What cannot be asked, or rests on less than it should, without gold answers."""
    if recipe not in ("claims", "correctness", *_OF_NUGGETS):
        return ()
    without = [same for same in questions if gold_answers(same) is None]
    if not without:
        return ()
    have = _have(len(without))
    if recipe == "claims":
        if len(without) == len(questions):
            hint = "Add gold_answers to the results, or judge the task faithfulness, which needs none."
            raise KaratError("the results have no gold answers to compare claims with", hint=hint)
        return (f"{have} no gold answers: claims are compared with passages only",)
    if recipe == "correctness":
        return (f"{have} no gold answers: whether an answer is correct rests on what the model knows",)
    neither = sum(not any(each.passages for each in same) for same in without)
    from_passages = (
        f"{_have(len(without) - neither)} no gold answers: nuggets are extracted from the first {MOST_PASSAGES}"
        " passages that systems retrieved, so what none of them found does not count as missing"
    )
    from_nothing = f"{_have(neither)} neither gold answers nor passages, from which nuggets could be extracted"
    return (*([from_passages] if len(without) > neither else []), *([from_nothing] if neither else []))


def _have(queries: int) -> str:
    return f"{plural(queries, 'query')} {'has' if queries == 1 else 'have'}"


def _check_texts(recipe: str, response: Response) -> None:
    """Raise an error if a passage that the model has to see has no text."""
    if recipe in READ_SENTENCES:
        for sentence in response.sentences:
            response.compared_passages(sentence.cites)
    elif recipe in READ_PASSAGES:
        response.compared_passages("context")


def _with_gold(responses: Sequence[Response]) -> list[Response]:
    """The answers to a question, all with its gold answers, which may be in the results of one system only."""
    gold = gold_answers(responses)
    for response in responses:
        if response.gold_answers is not None and sorted(response.gold_answers) != sorted(gold or ()):
            system = f"the system {shown(response.system)}"
            what = f"query {shown(response.query)} has other gold answers for {system} than for others"
            raise KaratError(what, hint="Give all systems the same gold answers, or judge them into separate files.")
    return [each if each.gold_answers == gold else replace(each, gold_answers=gold) for each in responses]


@dataclass(frozen=True)
class _Planner:
    """Makes the plans for a recipe."""

    recipe: str
    task: Task
    known: Journal
    prompts: Mapping[str, Prompt]
    by: str
    samples: int
    seed: int

    def plan(self, responses: Sequence[Response]) -> Plan:
        """Everything that is asked about the answers of all systems to one question."""
        items = QuestionItems(self.recipe, responses, self.known)
        self.known.write(None, [*self._records_without_calls(items), *items.records])
        extracted = yield from together(self._extractions(items))
        items.add_extracted(outcome for outcome in extracted if outcome)
        steps: list[Steps[None]] = []
        records = []
        prompt = self.prompts[prompt_name(self.task)]
        for response in responses:
            unknown = []
            for subject in self._subjects(response, items.of(response)):
                verdict = verdict_without_call(subject, response)
                if verdict is None:
                    unknown.append(subject)
                else:
                    records += [self._signed(verdict, sample) for sample in range(self.samples)]
            steps += label_steps(unknown, self.task, response, prompt, self.samples, self.seed)
        self.known.write(None, records)
        yield from together(steps)

    def _signed(self, record: Record, sample: int = 0) -> Record:
        return {**record, "by": self.by, **({"sample": sample} if sample else {})}

    def _records_without_calls(self, items: QuestionItems) -> Iterator[Record]:
        """What is certain without asking: the rubric, empty answers, and whether the question has an answer."""
        if self.recipe == _RUBRIC:
            yield self.task.record()
        for response in items.responses:
            if self.recipe in _OF_CLAIMS and not has_text(response.answer):
                yield self._signed(nothing_in(items.answers[response.system]))
            if self.recipe in _OF_EACH_PASSAGE and not response.passages:
                digest = response.digest_of("context")
                context = Item(response.query, "context", "answer", response.system, digest=digest)
                yield self._signed(nothing_in(context))
        if items.gold is not None:
            is_unanswerable = not (items.gold.text or "").strip()
            if self.recipe == "claims" and is_unanswerable:
                yield self._signed(nothing_in(items.gold))
            if self.recipe in _OF_NUGGETS and is_unanswerable and not items.nuggets:
                digest = items.gold.current_digest
                yield self._signed(nothing_in(Item(items.gold.query, "question", "answer", digest=digest)))
            if self.recipe == "abstention":
                label = "refused" if is_unanswerable else "answered"
                verdict = LabelSubject(self.task, items.gold).verdict(label=label)
                yield from (self._signed(verdict, sample) for sample in range(self.samples))

    def _extractions(self, items: QuestionItems) -> Iterator[Steps[RequestOutcome | None]]:
        """The requests for claims and nuggets; if these are known, so may be the calls that gave them."""
        first = items.responses[0]
        for response in items.responses if self.recipe in _OF_CLAIMS else ():
            if response.answer is not None and has_text(response.answer):
                answer, texts = items.answers[response.system], ComparedTexts("answer", (response.answer,))
                about = response.question, answer, texts, items.ids(response)
                steps = ClaimExtraction(*about, self.prompts["claims"]).steps()
                yield if_known(steps) if items.claims_of(response) else steps
        gold = ComparedTexts("gold_answers", tuple(filter(str.strip, gold_answers(items.responses) or ())))
        if self.recipe == "claims" and items.gold is not None and gold.texts:
            about = first.question, items.gold, gold, items.ids()
            steps = ClaimExtraction(*about, self.prompts["claims"]).steps()
            yield if_known(steps) if items.gold_claims else steps
        if self.recipe in _OF_NUGGETS:
            texts = nugget_passages(items.responses) if items.gold is None else gold
            if texts.texts:
                digest = None if items.gold is None else items.gold.current_digest
                of_question = first.question, first.query, texts, items.ids()
                steps = NuggetExtraction(*of_question, self.prompts, digest).steps()
                yield if_known(steps) if items.nuggets else steps

    def _subjects(self, response: Response, items: Sequence[Item]) -> Iterator[LabelSubject]:
        """What the recipe asks labels about."""
        for label in wanted_labels(self.recipe, response, items):
            if label.item.text is not None and (label.against != "gold" or response.gold_answers is not None):
                digest = label.against_digest(response)
                yield LabelSubject(self.task, label.item, response.system, label.against, digest)


def prompt_name(task: Task) -> str:
    """The name of the prompt that asks for labels of a task: all rubrics have the same."""
    return task.name if task.name in BUILT_IN else _RUBRIC


def verdict_without_call(subject: LabelSubject, response: Response) -> Record | None:
    """The verdict about an empty text, or one that is compared with nothing; None if a model has to be asked."""
    if subject.task.name == "relevance" and not has_text(subject.item.text):
        return subject.verdict(state=NOTHING_TO_JUDGE)
    if subject.task.name == "answer_relevance" and not has_text(subject.item.text):
        return subject.verdict(label="no", why="The answer is empty.")
    if subject.task.name == "support" and not _has_evidence(response, subject.against):
        return subject.verdict(label="none", why="The text to compare it with is empty.")
    return None


def _has_evidence(response: Response, against: Against) -> bool:
    """Whether there is any text that an item can be compared with."""
    if against in ("answer", "gold"):
        return any(map(has_text, [response.answer] if against == "answer" else response.gold_answers or ()))
    return any(has_text(each.text) for each in response.compared_passages(against))
