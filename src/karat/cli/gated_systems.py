"""The system that `karat gate` checks, and its baseline: their scores, the outcome of each rule, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from karat.cli.files import split_system
from karat.cli.inputs import Inputs
from karat.cli.saved_systems import saved_system
from karat.cli.settings import Settings, with_findings, with_static_model
from karat.cli.systems import SystemFiles
from karat.comparison import Method, choose_method
from karat.comparison.gate.gate import for_drops, gate_by_rules
from karat.comparison.gate.outcomes import Gate
from karat.comparison.gate.rules import Rule, check_measures
from karat.errors import KaratError
from karat.errors.credentials import without_credentials
from karat.reading.bytes.input_file import InputFile
from karat.reading.contents.contents import content_of, is_saved_scores
from karat.scores import Finding, Scores
from karat.scores.columns import with_lower_is_better

if TYPE_CHECKING:
    from karat.cli.output import Output

_NOT_OF_TESTS = ("significant", "lower_is_better", "unknown", "correct")
"""options of a gate that are not those of a comparison"""


def method_of_drops(test_options: Mapping[str, Any]) -> Method:
    """The method of a comparison that the options of a gate ask for."""
    return choose_method(**{name: value for name, value in test_options.items() if name not in _NOT_OF_TESTS})


@dataclass(frozen=True)
class GatedSystems:
    """The system that is checked, and its baseline, if a rule needs one."""

    files: SystemFiles
    rules: tuple[Rule, ...]
    """by the names of the measures that are computed"""
    scores: dict[str, Scores]
    """of the system, and of a baseline that is evaluated with it, by name"""
    saved: Mapping[str, Scores]
    """of a baseline that is saved, by its file"""

    def check(self, test_options: Mapping[str, Any]) -> Gate:
        """The outcome of each rule."""
        run, *others = (scores.without_evidence() for scores in self.scores.values())
        return gate_by_rules(run, self.rules, next(iter([*self.saved.values(), *others]), None), **test_options)

    def save_report(self, output: Output, test_options: Mapping[str, Any]) -> None:
        """Write the report, in which the baseline comes first."""
        from karat.report import subject_of_systems

        baseline_first = {**self.saved, **dict(reversed(self.scores.items()))}
        systems = with_lower_is_better(baseline_first, test_options["lower_is_better"])
        baseline = next(iter(systems)) if len(systems) > 1 else None
        subject = subject_of_systems(systems, baseline, for_drops(method_of_drops(test_options)))
        output.save_report(subject, self.files, also_read=list(self.saved))


def load_systems(
    paths: Sequence[str],
    baseline: str | None,
    rules: tuple[Rule, ...],
    inputs: Inputs,
    settings: Settings,
    numbers: Sequence[str],
) -> GatedSystems:
    """The scores that the rules are about: those of runs are computed; `numbers` of a log are read, too."""
    # Each file is opened once: one of them may be standard input.
    opened = {path: InputFile(split_system(path)[0]) for path in (*paths, *([] if baseline is None else [baseline]))}
    names: list[str] = []
    findings: list[Finding] = []
    form = inputs.formats.get("run")
    # Results may come after gold, which may be a table that could also be saved scores.
    is_log = len(paths) > 1 and content_of(opened[paths[-1]], form, inputs.fields) == "results"
    if is_log or not is_saved_scores(opened[paths[0]], inputs.formats.get("truth")):
        # Verdicts may have rubrics, and results numbers, whose names are those of measures.
        is_run = len(paths) > 1 and not is_log and not is_saved_scores(opened[paths[-1]], form)
        if is_run and not inputs.verdicts:
            check_measures(rules)
        names, findings = with_static_model([rule.measure for rule in rules])
        rules = tuple(replace(rule, measure=name) for rule, name in zip(rules, names, strict=True))
        names = list(dict.fromkeys([*names, *numbers]))
    # A saved baseline needs to have only the measures that are compared with it, so it is not loaded with the others.
    saved: dict[str, Scores] = {}
    if baseline is not None and is_saved_scores(opened[baseline], inputs.formats.get("run")):
        saved[without_credentials(baseline)] = saved_system(baseline, opened[baseline])
    evaluated = [baseline] if baseline is not None and not saved else []
    # The names of the measures already contain the threshold.
    settings = replace(settings, measures=names, options={**settings.options, "rel": None})
    files = SystemFiles([*paths, *evaluated], inputs, settings, opened)
    files.require_one_per_file()
    scores = with_findings(files.load(), findings)
    _check_number(paths, len(scores) - 1, len(evaluated), files.hint_about_documents)
    return GatedSystems(files, rules, scores, saved)


def _check_number(paths: Sequence[str], others: int, expected: int, more: str) -> None:
    """Check that ground truth comes with a run, and that results and saved scores do not."""
    if others < expected:
        hint = "Add a run after it, or name a results file or saved scores."
        raise KaratError("this file is read as ground truth, but no run was given", place=paths[0], hint=hint)
    if others > expected:
        hint = f"To compare with this file, use --baseline. {more}".strip()
        raise KaratError("results and saved scores take no RUN: a gate checks one system", place=paths[1], hint=hint)
