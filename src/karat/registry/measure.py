"""A measure: its definition, its parameters, and how it computes values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from karat.data.caching import cached_property
from karat.errors import KaratError, did_you_mean, plural, require, shown
from karat.errors.arguments import check_text
from karat.registry.names import Value, check_length, format_name
from karat.registry.parameters import JUDGED_ONLY, REQUIRED, MeasureParameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Combine = Literal["mean", "sum", "geometric"]
Takes = Literal["judged", "pool", "spans", "preferences", "answers", "verdicts"]
Subject = Literal["documents", "preferences", "answers", "verdicts"]
_SUBJECTS: dict[Takes, Subject] = {
    "judged": "documents", "pool": "documents", "spans": "documents", "preferences": "preferences",
    "answers": "answers", "verdicts": "verdicts",
}  # fmt: skip
Effect = Literal["monotone", "monotone_above_cutoff", "monotone_after_first", "normalized"]
Function = Callable[..., "NDArray[Any]"]
BestGrades = Callable[..., "tuple[NDArray[np.int64], NDArray[np.float64]]"]
LabelRelation = tuple[str, str, str]
"""What labels are about: their task, their items, and what these are compared with."""

_INPUT: dict[str, str] = {
    "judged": "judged documents",
    "pool": "documents that any query judges",
    "spans": "spans (document, start, end)",
    "preferences": "preferences of judgment groups",
    "answers": "answers",
    "verdicts": "verdicts (labels)",
}


class Data(Protocol):
    """The data that measures read: Judged, Spans, Preferences, Answers or Verdicts."""

    @property
    def kind(self) -> Takes:
        """Which of them it is."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The ids of the queries."""


@dataclass(frozen=True)
class Definition:
    """Everything about a measure that does not depend on the values of its parameters.

    >>> import karat
    >>> definition = karat.parse("nDCG@10").definition
    >>> definition.name, definition.bounds, definition.higher_is_better
    ('nDCG', (0.0, 1.0), True)
    """

    name: str
    function: Function
    parameters: Mapping[str, MeasureParameter]
    at: str | None = None
    formula: str = ""
    reference: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    combine: Combine = "mean"
    graded: bool = False
    takes: Takes = "judged"
    aliases: tuple[str, ...] = ()
    synonyms: Mapping[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict)
    example_at: str = "10"
    conflict: Callable[[Measure], str | None] = lambda _: None
    unjudged: Callable[[Measure], Effect | None] = lambda _: None
    normalizer: Function | None = None
    best_grades: BestGrades | None = None
    labels: Callable[[Measure], Mapping[LabelRelation, int]] | None = None

    @property
    def subject(self) -> Subject:
        """What the measure evaluates: documents, preferences among them, answers, or verdicts about them."""
        return _SUBJECTS[self.takes]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def details(self) -> str:
        """The docstring between its first line and its example."""
        rest = (inspect.getdoc(self.function) or "").partition("\n")[2]
        return rest.partition(">>>")[0].strip()

    @property
    def example(self) -> str:
        """The example in the docstring, which is run as a test."""
        doc = inspect.getdoc(self.function) or ""
        start = doc.find(">>>")
        return doc[start:].strip() if start >= 0 else ""


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters set. `str(measure)` is its name, and `parse` turns the name into the measure.

    >>> from karat.measures import AP, parse
    >>> str(AP(rel=2) @ 100), parse("AP(rel=2)@100") == AP(rel=2) @ 100
    ('AP(rel=2)@100', True)
    """

    name: str
    settings: tuple[tuple[str, Value], ...] = ()
    definition: Definition = field(compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        valid = isinstance(self.name, str) and isinstance(self.definition, Definition)
        valid = valid and isinstance(self.settings, tuple) and all(map(_is_setting, self.settings))
        require(valid, "a measure is created by its name", 'Write karat.parse("nDCG@10").')

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        at = self.definition.at
        cutoff = self._values.get(at) if at else None
        return format_name(
            self.name, [(key, value) for key, value in self.settings if key != at or cutoff is None], cutoff
        )

    @cached_property
    def _values(self) -> dict[str, Value]:
        return dict(self.settings)

    def __repr__(self) -> str:
        return f"Measure({str(self)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy a measure by its name and the module that registers it."""
        from karat.registry.registry import unpickle_measure

        return unpickle_measure, (self.name, self.settings, self.definition.function.__module__)

    def __call__(self, **settings: object) -> Measure:
        """The same measure with these parameters set."""
        return build_measure(self.definition, {**dict(self.settings), **settings})

    def __matmul__(self, cutoff: float) -> Measure:
        """The same measure with a cut-off: `nDCG @ 10`."""
        if self.definition.at is None:
            raise KaratError(f"{self.name} takes no cut-off")
        return self(**{self.definition.at: cutoff})

    @property
    def needs_labels(self) -> bool:
        """Whether the measure is computed from labels of answers; one of verdicts may need only their citations."""
        declared = self.definition.labels
        return self.definition.takes == "verdicts" and (declared is None or bool(declared(self)))

    @property
    def cutoff(self) -> int | None:
        """The rank of the cut-off, or None if the measure reads all ranks."""
        k = self._values.get("k")
        return k if isinstance(k, int) else None

    def get(self, parameter: str) -> Value:
        """The value of a parameter, set or default; None if the measure does not have this parameter."""
        return self._with_defaults.get(check_text("parameter", parameter))

    @cached_property
    def _with_defaults(self) -> dict[str, Value]:
        known = self.definition.parameters.values()
        return {each.name: None if each.default is REQUIRED else each.default for each in known} | self._values

    @property
    def unjudged(self) -> Effect | None:
        """How the value changes if an unjudged document is relevant; None if that is not certain."""
        return None if self.get(JUDGED_ONLY.name) else self.definition.unjudged(self)

    def check(self) -> Measure:
        """This measure, or an error if a required parameter is missing or parameters conflict."""
        _ = self._arguments
        return self

    @cached_property
    def _arguments(self) -> Mapping[str, Any]:
        """The settings, once they are known to be complete and without conflict."""
        for parameter in self.definition.parameters.values():
            if parameter.default is REQUIRED and parameter.name not in self._values:
                at = parameter.name == self.definition.at
                example = f"{self.name}@{self.definition.example_at}" if at else f"{parameter.name}=..."
                raise KaratError(f"{self.name} needs {'a cut-off' if at else parameter.name}", hint=f"Write {example}.")
        conflict = self.definition.conflict(self)
        require(not conflict, f"{self}: {conflict}")
        return self._values

    def compute(self, data: Data) -> NDArray[np.float64]:
        """One value per query; NaN for a value that is null."""
        import numpy as np

        takes = self.definition.takes
        kind = getattr(data, "kind", None)
        if takes != kind:
            what = _INPUT[kind] if isinstance(kind, str) and kind in _INPUT else shown(data)
            raise KaratError(f"{self.name} reads {_INPUT[takes]}, but was given {what}")
        settings = dict(self._arguments)
        is_set = JUDGED_ONLY.name in settings and self.definition.parameters.get(JUDGED_ONLY.name) == JUDGED_ONLY
        if is_set and settings.pop(JUDGED_ONLY.name):
            data = data.judged_only  # type: ignore[attr-defined]  # only measures of a Judged have this parameter
        values = np.asarray(self.definition.function(data, **settings), np.float64)
        if values.shape != (len(data.queries),):
            what = f"{self} returned an array of shape {values.shape} for {plural(len(data.queries), 'query')}"
            raise KaratError(what, hint="A measure must return one value per query.")
        return values


def _is_setting(pair: object) -> bool:
    """Whether this is the name of a parameter and its value."""
    is_pair = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
    return is_pair and isinstance(pair[1], str | int | float | tuple | None)  # type: ignore[index]  # just checked


def build_measure(definition: Definition, settings: Mapping[str, object]) -> Measure:
    """A measure with these settings: checked, converted, without defaults, in the order of declaration."""
    values: dict[str, Value] = {}
    for key, value in settings.items():
        if key == "cutoff" and definition.at and key not in definition.parameters:
            key = definition.at
        if key in definition.synonyms and key not in definition.parameters:
            choices = definition.synonyms[key]
            if not isinstance(value, str) or value not in choices:
                what = f"{definition.name}: {key}={shown(value)} is not one of {', '.join(choices)}"
                raise KaratError(what)
            key, value = choices[value]
        parameter = definition.parameters.get(key)
        if parameter is None:
            takes = ", ".join(definition.parameters) or "no parameters"
            near = did_you_mean(key, definition.parameters)
            what = f"{definition.name} has no parameter {shown(key)}"
            raise KaratError(what, hint=f"{near} It takes {takes}.".strip())
        values[key] = parameter.value(value, definition.name)
    ordered = tuple(
        (key, values[key]) for key, parameter in definition.parameters.items()
        if key in values and values[key] != parameter.default
    )  # fmt: skip
    measure = Measure(definition.name, ordered, definition=definition)
    check_length(str(measure))
    return measure
