"""judge() and estimate_judging(): have answers or documents judged by a language model, in a verdict file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from karat.errors import KaratError, Place, enumeration, plural
from karat.errors.arguments import check_path
from karat.grounding.judges.asking import carry_out, open_asker
from karat.grounding.judges.assignments import Assignment, make_assignment
from karat.grounding.judges.budget import Usage
from karat.grounding.judges.estimates import Estimate, estimate
from karat.grounding.judges.examples import judge_prompts
from karat.grounding.judges.options import JudgeArguments, JudgeOptions, judge_options
from karat.grounding.responses.responses import Response
from karat.options import RELEVANCE
from karat.output.progress import progress_bar

if TYPE_CHECKING:
    from karat.grounding.labels.selection import SelectedLabels
    from karat.grounding.verdict_file.reading import VerdictRecords
    from karat.registry.selection import Measures
    from karat.scores import Scores


def judge(source: Any, *runs: Any, verdicts: str | os.PathLike[str], **options: Unpack[JudgeArguments]) -> Judging:
    """Have answers or documents judged by a language model, which adds labels to the verdict file `verdicts`.

    `source` are results, with further results of other systems in `runs`; `task` says what is asked, one task or a list
    of them, and so does a `rubric` of your own (`{"name": ..., "question": ..., "scale": {label: number}}`, or a JSON
    file). Claims and nuggets that several tasks need are extracted once. With `task="relevance"`, `source` is ground
    truth, `runs` are runs, and the unjudged documents in their top `depth` (10) are graded, with all judged ones of
    `overlap` (0) queries. `truth` and `answers` are gold answers and answers that are not in the results, joined by id
    or by the text of the question. `queries` and `corpus` are the texts of what is known by id only; `system` is the
    name of the system; `fields`, `records` and `input_format` say how results are read, and `order="score"` sorts
    their documents by score.

    `model` is the name of a model (of OpenAI, or of the server at `base_url`; the key is in the environment variable
    `api_key_env`, OPENAI_API_KEY), a Haystack chat generator, or a function that takes messages and returns a text. The
    last two have settings of their own: `temperature` (0.0), `seed` (42) and `max_tokens` (2048) are not passed to
    them. At most `concurrency` (8) requests are under way at a time, each for at most `timeout` (60.0) seconds.
    Everything is asked `samples` (1) times. `prompts` is a folder with prompts of your own. `examples` are verdict
    files with labels by people, a few of which the prompts show. Texts that do not fit into the context window of the
    model, or make a request longer than about `max_input_tokens`, are divided.

    Replies are written to the file before they count. If the same call is made again, nothing that is in the file is
    asked again, except failures: those without a reply, and with `retry_failed` all. With `replay`, everything must be
    in the file. `max_calls`, `max_tokens_total` and `max_cost`, with the prices of a million tokens (`price_in`,
    `price_out`), are not exceeded.

    >>> import json, tempfile
    >>> def model(messages):
    ...     return json.dumps({"label": 3, "why": "It is the answer."})
    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     judging = judge(results, task="context", model=model, verdicts=f"{folder}/verdicts.jsonl")
    ...     judging.scores().means
    {'ContextRelevance': 1.0, 'ContextPrecision': 1.0}
    """
    checked = judge_options(options)
    path = check_path(verdicts, "verdicts")
    return carry_out_assignment(make_assignment([source, *runs], checked), checked, path)


def estimate_judging(
    source: Any, *runs: Any, verdicts: str | os.PathLike[str] | None = None, **options: Unpack[JudgeArguments]
) -> Estimate:
    """About how many calls `judge` would make with the same arguments, and how many tokens; nothing is asked.

    With prices of a million tokens, it says what that costs. Replies that are in `verdicts` already cost nothing.

    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> estimate_judging(results, task="context").calls
    1
    """
    checked = judge_options(options)
    path = None if verdicts is None else check_path(verdicts, "verdicts")
    return estimate(make_assignment([source, *runs], checked), checked, path)


@dataclass(frozen=True)
class Judging:
    """What a judge has done: its labels are in the verdict file `path`, by this `author`.

    >>> import json, tempfile
    >>> results = [{"query": "How hard is gold?", "retrieved": ["Gold is soft."], "answer": "Not very."}]
    >>> def model(messages):
    ...     return json.dumps({"label": 3, "why": "It is the answer."})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     judging = judge(results, task="context", model=model, verdicts=f"{folder}/verdicts.jsonl")
    >>> judging.author, judging.tasks
    ('model', ('context',))
    """

    path: str
    tasks: tuple[str, ...]
    """recipes, the names of rubrics, or `relevance`"""
    author: str
    systems: tuple[str | None, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    responses: Sequence[Response] = field(default=(), repr=False, compare=False)
    """the answers that were judged"""

    def scores(self, measures: Measures | None = None, *, system: str | None = None) -> Scores:
        """The scores of a system by all labels of this author; `system` is needed if there are several.

        The measures are those of the tasks, if none are given.
        """
        from karat.evaluation import evaluate_verdicts
        from karat.grounding.labels.selection import labelled_name, select
        from karat.grounding.verdict_file.reading import read_verdict_records

        if RELEVANCE in self.tasks:
            hint = "Evaluate runs with them: evaluate(truth, run, verdicts=...)."
            raise KaratError("these are labels of documents, not of answers", place=Place(self.path), hint=hint)
        if system is None and len(self.systems) == 1:
            system = self.systems[0]
        records = read_verdict_records(self.path)
        labelled = labelled_name(records, system, self._answers_of(system))
        if measures is None and (scores := self._task_scores(select(records, labelled, self.author), system)):
            return scores
        return evaluate_verdicts(records, measures, system=labelled, author=self.author, name=system or "")

    def task_scores(self) -> dict[str | None, Scores]:
        """The scores of the judged answers of all systems, on the measures of the tasks.

        Systems that have no label of any task are left out.
        """
        from karat.grounding.labels.selection import labelled_name, select
        from karat.grounding.verdict_file.reading import read_verdict_records

        records = read_verdict_records(self.path)
        by_system = {}
        for system in self.systems:
            answers = self._answers_of(system)
            if not self._has_labels(records, labelled_name(records, system, answers)):
                continue
            if scores := self._task_scores(select(records, system, self.author, answers), system):
                by_system[system] = scores
        return by_system

    def _answers_of(self, system: str | None) -> list[Response]:
        return [response for response in self.responses if response.system == system]

    def _has_labels(self, records: VerdictRecords, system: str | None) -> bool:
        labels = records.labels
        about = labels.system.where(lambda name: name is None or name == system)
        mine = about & labels.by.where(lambda name: name == self.author) & ~records.about_documents()
        return bool(mine.any()) and (system is None or system in records.systems)

    def _task_scores(self, selected: SelectedLabels, system: str | None) -> Scores | None:
        """The scores on those measures of the tasks that can be computed; None if there are none."""
        from karat.evaluation.verdicts import score_verdicts
        from karat.grounding.labels.missing import task_measures
        from karat.registry.selection import select_measures

        names = [name for task in self.tasks for name in task_measures(selected.facts, task)]
        if not names:
            return None
        return score_verdicts(selected, select_measures(names, subjects=("verdicts",)), "bounds", system or "")

    def remarks(self, scores: Mapping[str, Scores]) -> list[str]:
        """What stands below these scores, by the name of the system: tasks without a measure, and what was odd."""
        from karat.grounding.labels.missing import measures_of

        unscored: dict[tuple[str, ...], list[str]] = {}
        for task in self.tasks:
            measures = [] if task == RELEVANCE else measures_of(task)
            having = {name for name, each in scores.items() if not measures or any(one in each for one in measures)}
            if without := tuple(name or "the answers" for name in self.systems if (name or "") not in having):
                unscored.setdefault(without, []).append(task)
        notes = []
        for systems, tasks in unscored.items():
            names = f"{'task' if len(tasks) == 1 else 'tasks'} {enumeration(tasks, 'and')}"
            what = f"no measure of the {names} can be computed for {enumeration(systems, 'and')}"
            notes.append(f"{what}: there are no labels")
        said = {finding.message for each in scores.values() for finding in each.findings}
        return [f"note: {note}." for note in (*notes, *self.notes) if note not in said]

    def __str__(self) -> str:
        return str(self.usage)

    def _repr_html_(self) -> str:
        """For a notebook: the scores, what was asked and what it cost, and notes."""
        from karat.scores.summary import ShownScores

        tables, remarks = [], [f"note: {note}." for note in self.notes]
        if RELEVANCE not in self.tasks:
            try:
                scores = {name or "": of_system for name, of_system in self.task_scores().items()}
            except KaratError as error:  # the file was changed or removed since
                remarks.append(f"no scores: {error}")
            else:
                remarks = self.remarks(scores)
                tables = ShownScores(scores).tables() if scores else []
        return "".join(table.html() for table in (*tables, self.usage.table(remarks)))


def carry_out_assignment(assignment: Assignment, options: JudgeOptions, path: str) -> Judging:
    """Ask for all labels that are not in the verdict file yet."""
    prompts, notes_on_examples = judge_prompts(assignment, options)
    with open_asker(options, path) as asker, progress_bar("queries") as bar:
        plans = assignment.all_plans(asker.journal, prompts, asker.model.name, options.samples, options.seed)
        report = bar and (lambda ended, usage: bar(ended, len(plans), usage.short_text))
        usage = carry_out(plans, asker, report)
    notes = [
        *asker.journal.notes,
        *assignment.notes,
        *notes_on_examples,
        *plans.notes,
        *asker.notes,
        *_notes(options, usage),
    ]
    about = assignment.tasks, asker.model.name, assignment.systems
    return Judging(path, *about, usage, tuple(dict.fromkeys(notes)), assignment.responses)


def _notes(options: JudgeOptions, usage: Usage) -> list[str]:
    """What may surprise about the options, and about what was asked."""
    notes = []
    if usage.too_long:
        were, their = ("was", "its") if usage.too_long == 1 else ("were", "their")
        notes.append(f"{plural(usage.too_long, 'request')} {were} too long, so {their} texts were divided")
    if options.samples > 1 and not options.temperature:
        notes.append(f"{options.samples} samples with temperature 0 differ in the order of texts at most")
    limits = {"max_tokens_total": options.max_tokens_total, "max_cost": options.max_cost}
    names = [name for name, limit in limits.items() if limit is not None]
    if names and not options.replay and not isinstance(options.model, str):
        what = "max_tokens is not passed to a chat generator or a function"
        notes.append(f"{what}, whose replies may be longer and exceed {enumeration(names, 'and')}")
    return notes
