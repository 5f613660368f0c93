"""What is computed, on its way to executors, which do not know measures that were registered on the driver only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from karat.evaluation.documents import EvaluationPlan
from karat.evaluation.reading import CorpusMatcher, ReadingOptions
from karat.matching.matcher import Matcher
from karat.registry import Measure
from karat.registry.measure import Definition
from karat.registry.names import Value
from karat.registry.registry import add_definition


@dataclass(frozen=True)
class PortablePlan:
    """What is computed from documents, for executors."""

    measures: Sequence[Callable[[], Measure]]
    settings: Mapping[str, Any]
    matcher: Matcher
    inputs: ReadingOptions

    @classmethod
    def of(cls, plan: EvaluationPlan, inputs: ReadingOptions) -> PortablePlan:
        """A plan, with what executors have to know about the sources."""
        return cls([portable(each) for each in plan.measures], plan.settings, plan.matching.matcher, inputs)

    def received(self) -> EvaluationPlan:
        """The plan, in an executor."""
        measures = {measure(): () for measure in self.measures}
        return EvaluationPlan(measures, self.settings, CorpusMatcher(self.matcher), self.inputs)


def portable(measure: Measure) -> Callable[[], Measure]:
    """A function that returns the measure in any process: one of karat's by its name, any other with its function."""
    definition = measure.definition
    if definition.function.__module__.partition(".")[0] == "karat":
        return partial(_known, measure)
    parts = {each.name: getattr(definition, each.name) for each in fields(definition)}
    parts |= {name: dict(parts[name]) for name in ("parameters", "synonyms")}  # a view of a dict cannot be pickled
    return partial(_registered, parts, measure.settings)


def _known(measure: Measure) -> Measure:
    return measure


def _registered(parts: Mapping[str, Any], settings: tuple[tuple[str, Value], ...]) -> Measure:
    """The measure, which is then known by its name, too. Its parameters are not read from the function again.

    The types that annotations name are not sent along with the function.
    """
    definition = Definition(**parts)
    add_definition(definition)
    return Measure(definition.name, settings, definition=definition)
