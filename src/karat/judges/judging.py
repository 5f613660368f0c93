"""A language model as a judge: what it is asked and how, what it may cost, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from karat.arguments import as_count, as_number, check_path, check_switch, check_text
from karat.errors import KaratError, enumeration, plural, require, shown
from karat.judges.asking import Asker, carry_out
from karat.judges.assignments import RELEVANCE, Assignment
from karat.judges.budget import CallBudget, Usage, read_prices
from karat.judges.estimates import Estimate, cost_text, estimate
from karat.judges.journal import MemoryJournal, VerdictFile
from karat.judges.model import MODEL_HINT, RecordedModel, language_model, model_name
from karat.judges.prompts import load_prompts
from karat.judges.requests import LanguageModel, ModelSettings
from karat.labels.responses import Response
from karat.output.progress import progress_bar

if TYPE_CHECKING:
    from karat.labels.reading import VerdictRecords
    from karat.labels.selection import Selected
    from karat.registry.selection import Measures
    from karat.scores import Scores

_LONGEST_TIMEOUT = 24 * 60 * 60
_RANGES = {"concurrency": (1, 1000), "samples": (1, 1000), "seed": (0, 2**63 - 1), "max_tokens": (1, 10**9)}


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
        from karat.labels.reading import read_verdict_records
        from karat.labels.selection import select

        if self.task == RELEVANCE:
            hint = "Evaluate runs with them: evaluate(truth, run, verdicts=...)."
            raise KaratError("these are labels of documents, not of answers", place=self.path, hint=hint)
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
        from karat.labels.reading import read_verdict_records
        from karat.labels.selection import select

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

    def _task_scores(self, selected: Selected, system: str | None) -> Scores | None:
        """The scores on those measures of the task that can be computed; None if there are none."""
        from karat.evaluation.verdicts import score_verdicts
        from karat.labels.missing import task_measures
        from karat.registry.selection import select_measures

        names = task_measures(selected.facts, self.task)
        if not names:
            return None
        return score_verdicts(selected, select_measures(names, subjects=("verdicts",)), "bounds", system or "")

    def __str__(self) -> str:
        return usage_text(self.usage)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A language model as a judge: who is asked, how, and what it may cost. `judge` explains the options."""

    model: Any = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = 8
    timeout: float = 60.0
    samples: int = 1
    temperature: float = 0.0
    seed: int = 42
    max_tokens: int = 2048
    prompts: str | os.PathLike[str] | None = None
    price_in: float | None = None
    price_out: float | None = None
    max_calls: int | None = None
    max_tokens_total: int | None = None
    max_cost: float | None = None
    replay: bool = False
    retry_failed: bool = False

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            if as_count(getattr(self, name), least, most) is None:
                what = f"{name}={shown(getattr(self, name))} is not a whole number from {least} to {most:,}"
                raise KaratError(what)
        temperature = as_number(self.temperature)
        is_valid = temperature is not None and 0 <= temperature <= 2
        require(is_valid, f"temperature={shown(self.temperature)} is not a number from 0 to 2")
        timeout = as_number(self.timeout)
        is_valid = timeout is not None and 0 < timeout <= _LONGEST_TIMEOUT
        require(is_valid, f"timeout={shown(self.timeout)} is not a number of seconds above 0, up to a day")
        self.prompts is None or check_path(self.prompts, "prompts")
        for name in ("replay", "retry_failed"):
            check_switch(name, getattr(self, name))
        check_text("api_key_env", self.api_key_env)
        self.base_url is None or check_text("base_url", self.base_url)
        self._budget()  # which checks the limits and the prices
        both = self.replay and self.retry_failed
        require(not both, "a replay asks nothing, so that failed calls cannot be made again", "Leave one of them out.")

    def judge(self, assignment: Assignment, path: str) -> Judging:
        """Ask for all labels that are not in the file yet."""
        require(self.replay or self.model is not None, "no model is given", MODEL_HINT)
        prompts = load_prompts(self.prompts)
        with ExitStack() as stack:
            journal = stack.enter_context(VerdictFile(path, replay=self.replay, retry_failed=self.retry_failed))
            model = RecordedModel(self._replayed_name(journal)) if self.replay else self._language_model()
            stack.callback(model.close)
            plans = assignment.plans(journal, prompts, model.name, self.samples)
            asker = Asker(
                model,
                self._settings(model.name),
                journal,
                concurrency=self.concurrency,
                timeout=self.timeout,
                budget=self._budget(),
            )
            show = stack.enter_context(progress_bar("queries"))
            report = show and (lambda ended, usage: show(ended, len(plans), progress_text(usage)))
            usage = carry_out(plans, asker, report)
            notes = [*journal.notes, *assignment.notes, *plans.notes, *asker.notes, *self._notes()]
        about = assignment.task, model.name, assignment.systems
        return Judging(path, *about, usage, tuple(dict.fromkeys(notes)), assignment.responses)

    def estimate(self, assignment: Assignment, path: str | None) -> Estimate:
        """How many calls are needed, and what they may cost; nothing is asked."""
        with ExitStack() as stack:
            journal: VerdictFile | MemoryJournal = MemoryJournal()
            name = "" if self.model is None else model_name(self.model)
            if path is not None and os.path.exists(path):
                file = VerdictFile(path, read_only=True, retry_failed=self.retry_failed)
                journal = stack.enter_context(file)
                name = name or (file.models[0] if len(file.models) == 1 else "")
            plans = assignment.plans(journal, load_prompts(self.prompts), name, self.samples)
            notes = [*journal.notes, *assignment.notes, *plans.notes]
            return estimate(plans, journal, self._settings(name), self._budget().prices, notes)

    def _language_model(self) -> LanguageModel:
        return language_model(self.model, base_url=self.base_url, api_key_env=self.api_key_env, timeout=self.timeout)

    def _settings(self, name: str) -> ModelSettings:
        return ModelSettings(name, float(self.temperature), int(self.seed), int(self.max_tokens))

    def _budget(self) -> CallBudget:
        return CallBudget(
            max_calls=self.max_calls,
            max_tokens=self.max_tokens_total,
            max_cost=self.max_cost,
            prices=read_prices(self.price_in, self.price_out),
        )

    def _replayed_name(self, journal: VerdictFile) -> str:
        """The model whose replies are read from a file: the given one, or the only one."""
        if self.model is not None:
            return model_name(self.model)
        if len(journal.models) == 1:
            return journal.models[0]
        if not journal.models:
            hint = "Judge without replay first."
            raise KaratError("the file has no replies of a model", place=journal.path, hint=hint)
        hint = f"Name the model whose replies are wanted: {enumeration(journal.models, 'or')}."
        raise KaratError("the file has replies of several models", place=journal.path, hint=hint)

    def _notes(self) -> list[str]:
        notes = []
        if self.samples > 1 and not self.temperature:
            notes.append(f"{self.samples} samples with temperature 0 may all be the same")
        limits = [name for name in ("max_tokens_total", "max_cost") if getattr(self, name) is not None]
        if limits and not self.replay and not isinstance(self.model, str):
            what = "max_tokens is not passed to a chat generator or a function"
            notes.append(f"{what}, whose replies may be longer and exceed {enumeration(limits, 'and')}")
        return notes


def progress_text(usage: Usage) -> str:
    """What was asked so far, short enough for a progress bar.

    >>> progress_text(Usage(calls=24, known=388, done=409, failed=3, tokens_in=120_000, tokens_out=9_000, cost=0.31))
    '24 calls, 3 failed, 129,000 tokens, cost 0.31'
    """
    cost = "" if usage.cost is None else f", cost {cost_text(usage.cost)}"
    tokens = f"{usage.tokens_in + usage.tokens_out:,} tokens"
    return f"{plural(usage.calls, 'call')}, {usage.failed:,} failed, {tokens}{cost}"


def usage_text(usage: Usage) -> str:
    """What was asked, in a line.

    >>> usage_text(Usage(calls=24, known=388, done=409, failed=3, tokens_in=120_000, tokens_out=9_000, cost=0.31))
    '24 calls (388 more were in the file), 3 failed, 120,000 tokens in, 9,000 out, cost 0.31'
    """
    known = f" ({usage.known:,} more {'was' if usage.known == 1 else 'were'} in the file)" if usage.known else ""
    not_asked = f", {usage.not_asked:,} not asked" if usage.not_asked else ""
    tokens = f"{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
    cost = "" if usage.cost is None else f", cost {cost_text(usage.cost)}"
    return f"{plural(usage.calls, 'call')}{known}, {usage.failed:,} failed{not_asked}, {tokens}{cost}"
