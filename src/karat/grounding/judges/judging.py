"""What a judge does: it asks for all labels of an assignment that are missing; and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from karat.errors import KaratError, Place, enumeration
from karat.grounding.judges.asking import carry_out, open_asker
from karat.grounding.judges.assignments import Assignment
from karat.grounding.judges.budget import Usage
from karat.grounding.judges.options import RELEVANCE, JudgeOptions
from karat.grounding.judges.prompts import load_prompts
from karat.grounding.responses.responses import Response
from karat.output.progress import progress_bar

if TYPE_CHECKING:
    from karat.grounding.labels.selection import SelectedLabels
    from karat.grounding.verdict_file.reading import VerdictRecords
    from karat.registry.selection import Measures
    from karat.scores import Scores


@dataclass(frozen=True)
class Judging:
    """What a judge has done: its labels are in the verdict file `path`, `by` this author."""

    path: str
    task: str
    by: str
    systems: tuple[str | None, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    responses: Sequence[Response] = field(default=(), repr=False, compare=False)
    """the answers that were judged"""

    def scores(self, measures: Measures | None = None, *, system: str | None = None) -> Scores:
        """The scores of a system by all labels of this author; `system` is needed if there are several.

        The measures are those of the task, if none are given.
        """
        from karat.evaluation import evaluate_verdicts
        from karat.grounding.labels.selection import select
        from karat.grounding.verdict_file.reading import read_verdict_records

        if self.task == RELEVANCE:
            hint = "Evaluate runs with them: evaluate(truth, run, verdicts=...)."
            raise KaratError("these are labels of documents, not of answers", place=Place(self.path), hint=hint)
        if system is None and len(self.systems) == 1:
            system = self.systems[0]
        if measures is None:
            selected = select(read_verdict_records(self.path), system, self.by)
            if found := self._task_scores(selected, system):
                return found
        return evaluate_verdicts(self.path, measures, system=system, by=self.by, name=system or "")

    def task_scores(self) -> dict[str | None, Scores]:
        """The scores of the judged answers of all systems, on the measures of the task.

        Systems that have no label of the task are left out.
        """
        from karat.grounding.labels.selection import select
        from karat.grounding.verdict_file.reading import read_verdict_records

        records = read_verdict_records(self.path)
        scores = {}
        for system in filter(partial(self._has_labels, records), self.systems):
            answers = [each for each in self.responses if each.system == system]
            if found := self._task_scores(select(records, system, self.by, answers), system):
                scores[system] = found
        return scores

    def _has_labels(self, records: VerdictRecords, system: str | None) -> bool:
        labels = records.labels
        about = labels.system.where(lambda each: each is None or each == system)
        mine = about & labels.by.where(lambda each: each == self.by) & ~records.about_documents()
        return bool(mine.any()) and (system is None or system in records.systems)

    def _task_scores(self, selected: SelectedLabels, system: str | None) -> Scores | None:
        """The scores on those measures of the task that can be computed; None if there are none."""
        from karat.evaluation.verdicts import score_verdicts
        from karat.grounding.labels.missing import task_measures
        from karat.registry.selection import select_measures

        names = task_measures(selected.facts, self.task)
        if not names:
            return None
        return score_verdicts(selected, select_measures(names, subjects=("verdicts",)), "bounds", system or "")

    def __str__(self) -> str:
        return str(self.usage)


def carry_out_assignment(assignment: Assignment, options: JudgeOptions, path: str) -> Judging:
    """Ask for all labels that are not in the verdict file yet."""
    prompts = load_prompts(options.prompts)
    with open_asker(options, path) as asker, progress_bar("queries") as bar:
        plans = assignment.plans(asker.journal, prompts, asker.model.name, options.samples)
        report = bar and (lambda ended, usage: bar(ended, len(plans), usage.short_text))
        usage = carry_out(plans, asker, report)
    notes = [*asker.journal.notes, *assignment.notes, *plans.notes, *asker.notes, *_notes(options)]
    about = assignment.task, asker.model.name, assignment.systems
    return Judging(path, *about, usage, tuple(dict.fromkeys(notes)), assignment.responses)


def _notes(options: JudgeOptions) -> list[str]:
    """What may surprise about the options."""
    notes = []
    if options.samples > 1 and not options.temperature:
        notes.append(f"{options.samples} samples with temperature 0 may all be the same")
    limits = {"max_tokens_total": options.max_tokens_total, "max_cost": options.max_cost}
    given = [name for name, limit in limits.items() if limit is not None]
    if given and not options.replay and not isinstance(options.model, str):
        what = "max_tokens is not passed to a chat generator or a function"
        notes.append(f"{what}, whose replies may be longer and exceed {enumeration(given, 'and')}")
    return notes
