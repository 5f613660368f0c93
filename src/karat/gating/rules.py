"""What a gate demands: rules, each with a measure and a limit, checked before anything is evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal, get_args

from karat.errors import KaratError, shown
from karat.measures import meanings, parse
from karat.registry import Measure
from karat.registry.names import format_value
from karat.registry.selection import select_measures

Kind = Literal["min", "max", "max-drop"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Limits = Mapping[str, float] | Mapping[Measure, float] | Mapping[str | Measure, float]


@dataclass(frozen=True)
class Rule:
    """A measure and its limit; `where` is the place that says so, for messages.

    `min` and `max` limit the value over all queries. `max-drop` limits how much worse it may be than a baseline's:
    lower, or higher where lower is better.

    >>> Rule("min", "nDCG@10", 60)
    Traceback (most recent call last):
    karat.errors.KaratError: a limit of 60 is out of range: nDCG@10 goes from 0 to 1. Give a number from 0 to 1.
    """

    kind: Kind
    measure: str
    limit: float
    where: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise self.error(f"{shown(self.kind)} is no kind of rule", f"There are {', '.join(KINDS)}.")
        if not isinstance(self.measure, str):
            raise self.error(f"{shown(self.measure)} is no measure", "Measures are names, such as nDCG@10.")
        if isinstance(self.limit, bool) or not isinstance(self.limit, Real):
            raise self.error(f"{shown(self.limit)} is not a number", "A limit is a number, such as 0.6.")
        if not _is_finite(self.limit):
            raise self.error(f"{shown(self.limit)} is no limit", "A limit is a finite number, such as 0.6.")
        if self.kind == "max-drop" and self.limit < 0:
            hint = "Give 0 or more: 0.01 lets it be 0.01 worse than the baseline."
            raise self.error(f"a drop of {self.limit:g} is no drop", hint)
        low, high = _bounds(self.measure)
        if self.kind == "max-drop" and self.limit > high - low:
            hint = f"Give a number from 0 to {high - low:g}."
            raise self.error(f"no drop is larger than {high - low:g}: {self.measure} goes {_span(low, high)}", hint)
        if self.kind != "max-drop" and not low <= self.limit <= high:
            hint = f"Give a number {_span(low, high)}."
            raise self.error(f"a limit of {self.limit:g} is out of range: {self.measure} goes {_span(low, high)}", hint)
        object.__setattr__(self, "limit", float(self.limit))  # also of a fraction, or of NumPy's

    def error(self, what: str, hint: str | None = None) -> KaratError:
        """A mistake in this rule, with its place."""
        return KaratError(what, where=self.where or None, hint=hint)


def rules_of(
    min: Limits | None = None,  # noqa: A002  # what users write: assert_scores(scores, min=...)
    max: Limits | None = None,  # noqa: A002
    max_drop: Limits | None = None,
) -> tuple[Rule, ...]:
    """Rules from limits by measure.

    >>> [rule.kind for rule in rules_of(min={"nDCG@10": 0.6}, max_drop={"AP": 0.01})]
    ['min', 'max-drop']
    """
    rules: list[Rule] = []
    for kind, name, limits in zip(KINDS, ("min", "max", "max_drop"), (min, max, max_drop), strict=True):
        if limits is not None and not isinstance(limits, Mapping):
            raise KaratError(f"{shown(limits)} are no limits", where=name, hint='Give them as {"nDCG@10": 0.6}.')
        rules += [Rule(kind, str(each), limit, f"{name}[{str(each)!r}]") for each, limit in (limits or {}).items()]
    return tuple(rules)


def rule_of(kind: Kind, text: str) -> Rule:
    """A rule as the command line writes it.

    >>> rule_of("max-drop", "AP(rel=2)=0.01")
    Rule(kind='max-drop', measure='AP(rel=2)', limit=0.01, where="--max-drop 'AP(rel=2)=0.01'")
    """
    where = f"--{kind} {shown(text)}"
    measure, equals, number = (part.strip() for part in text.rpartition("="))
    if not (measure and equals and number):
        raise KaratError("this is not MEASURE=LIMIT", where=where, hint=f"Write --{kind} nDCG@10=0.6.")
    try:
        limit = float(number)
    except ValueError:
        hint = f"Write --{kind} MEASURE=LIMIT, as --{kind} nDCG@10=0.6."
        raise KaratError(f"{shown(number)} is not a number", where=where, hint=hint) from None
    return Rule(kind, measure, limit, where)


def joined(first: Sequence[Rule], later: Sequence[Rule]) -> tuple[Rule, ...]:
    """Both, where a later rule takes the place of one of the same kind and measure.

    >>> [rule.limit for rule in joined([Rule("min", "AP", 0.1), Rule("min", "RR", 0.2)], [Rule("min", "map", 0.3)])]
    [0.3, 0.2]
    """
    refuse_repeats(first)
    refuse_repeats(later)
    rules = {_subject(rule): rule for rule in first}
    return tuple((rules | {_subject(rule): rule for rule in later}).values())


def refuse_repeats(rules: Iterable[Rule]) -> None:
    """Two limits of one kind for one measure: one of them is a slip of the pen."""
    seen: dict[tuple[str, ...], Rule] = {}
    for rule in rules:
        other = seen.setdefault(_subject(rule), rule)
        if other is not rule:
            also = "" if other.measure == rule.measure else f": {other.measure} and {rule.measure} are the same"
            limits = " and ".join(dict.fromkeys((format_value(float(other.limit)), format_value(float(rule.limit)))))
            what = f"{rule.measure} has a {rule.kind} of {limits}, twice{also}"
            raise rule.error(what, "Leave one of them out.")


def refuse_unusable(rules: Sequence[Rule], has_baseline: bool) -> None:
    """Rules that cannot be judged by: none at all, or a drop from nothing."""
    if not rules:
        raise KaratError(
            "there are no rules",
            hint="Give --min nDCG@10=0.6, or min={...} in Python, or write them in karat.toml under [gate.min].",
        )
    refuse_repeats(rules)
    for rule in rules:
        if rule.kind == "max-drop" and not has_baseline:
            hint = "Give the run before, or its saved scores, as the baseline."
            raise rule.error(f"a drop of {rule.measure} is from a baseline, and there is none", hint)


def refuse_unknown_measures(rules: Iterable[Rule]) -> None:
    """Measures that nobody could compute."""
    for rule in rules:
        try:
            meanings(rule.measure) or parse(rule.measure)
        except KaratError as error:
            raise rule.error(error.what, error.hint) from None


def with_threshold(rules: Iterable[Rule], rel: float | None) -> tuple[Rule, ...]:
    """The same rules, for measures that have this threshold of relevance where they name none.

    >>> [rule.measure for rule in with_threshold([Rule("min", "AP", 0.1), Rule("min", "AP(rel=1)", 0.1)], 2)]
    ['AP(rel=2)', 'AP']
    """
    if rel is None:
        return tuple(rules)
    return tuple(replace(rule, measure=_with_threshold(rule, rel)) for rule in rules)


def _with_threshold(rule: Rule, rel: float) -> str:
    if not meanings(rule.measure):
        return rule.measure  # a column of saved scores, or a mistake that is told when it is looked for
    try:
        (measure,) = select_measures([rule.measure], rel, ("documents", "answers"))
    except KaratError as error:
        raise rule.error(error.what, error.hint) from None
    return str(measure)


def _subject(rule: Rule) -> tuple[str, ...]:
    """What a rule is of, however its measure is spelled."""
    return (rule.kind, *([str(meant) for meant in meanings(rule.measure)] or [rule.measure]))


def _bounds(measure: str) -> tuple[float, float]:
    """Where the values of a measure lie; anywhere, if it is not registered here."""
    known = [meant.definition.bounds for meant in meanings(measure)]
    if not known:
        return -math.inf, math.inf
    return min(low for low, _ in known), max(high for _, high in known)


def _span(low: float, high: float) -> str:
    return f"from {low:g} to {high:g}" if math.isfinite(high) else f"from {low:g} on"


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond all floats
        return False
