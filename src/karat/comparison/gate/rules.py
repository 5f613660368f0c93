"""The rules of a gate: each limits a measure, and is checked before anything is evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from karat.errors import KaratError, Message, Parameter, Place, require, shown
from karat.errors.arguments import as_number, name_and_number
from karat.measures import meanings, parse
from karat.options import check_grade
from karat.registry import Measure
from karat.registry.names import format_value
from karat.registry.peers import by_name
from karat.registry.registry import several_measures
from karat.registry.selection import select_measures
from karat.scores.combining import combination

Kind = Literal["min", "max", "max-drop", "non-inferior"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_COMPARING = ("max-drop", "non-inferior")
# The options of the comparison with a baseline, and their defaults.
_DROP_OPTIONS: Mapping[str, object] = {
    "significant": False, "test": "randomization", "correction": None, "level": 0.95,
    "common_queries": False, "force": False,
}  # fmt: skip
Limits = Mapping[str, float] | Mapping[Measure, float] | Mapping[str | Measure, float]


@dataclass(frozen=True)
class Rule:
    """A limit for a measure; `origin` is where the rule comes from, for error messages.

    `min` and `max` limit the combined value of all queries. `max-drop` limits how much worse the value may be than
    the baseline's: lower, or higher if lower is better. `non-inferior` requires evidence that it is worse by less than
    the limit.

    >>> Rule("min", "nDCG@10", 60)
    Traceback (most recent call last):
    karat.errors.KaratError: a limit of 60 is out of range: nDCG@10 is between 0 and 1
    """

    kind: Kind
    measure: str
    limit: float
    origin: Place | Parameter | None = field(default=None, compare=False)
    """a place in a file, or the parameter or the option that it is written in"""

    def __post_init__(self) -> None:
        self._require(
            isinstance(self.kind, str) and self.kind in KINDS,
            f"{shown(self.kind)} is not a kind of rule",
            f"Use {', '.join(KINDS)}.",
        )
        self._require(isinstance(self.measure, str), f"{shown(self.measure)} is not the name of a measure")
        limit = as_number(self.limit)
        self._require(
            limit is not None,
            f"{shown(self.limit)} is not a number",
            f"Use a limit such as {example_limit(self.kind)}.",
        )
        self._require(math.isfinite(limit or 0), f"{shown(self.limit)} is not a finite number")
        object.__setattr__(self, "limit", limit)  # a Fraction or a NumPy number becomes a float
        low, high = _range(self.measure)
        if self.kind == "non-inferior":
            hint = "Use the smallest drop that would matter, such as 0.01."
            self._require(self.limit > 0, f"a non-inferior limit of {self.limit:g} is not above 0", hint)
            self.check_testable()
        if self.compares:
            hint = "Use 0 or more: 0.01 allows a value that is 0.01 worse than the baseline's."
            self._require(self.limit >= 0, f"a max-drop of {self.limit:g} is negative", hint)
            of = "max-drop" if self.kind == "max-drop" else "limit"
            out_of_range = f"a {of} of {self.limit:g} is out of range: {self.measure} cannot get worse by more than"
            self._require(self.limit <= high - low, f"{out_of_range} {high - low:g}")
        else:
            span = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
            out_of_range = f"a limit of {self.limit:g} is out of range: {self.measure} is {span}"
            self._require(low <= self.limit <= high, out_of_range)

    @property
    def compares(self) -> bool:
        """Whether the rule compares a value with the baseline's."""
        return self.kind in _COMPARING

    def check_testable(self) -> None:
        """Reject a limit that a drop cannot be tested against: that of a geometric mean, unless it is 0."""
        hint = "Use a mean, such as AP, a min rule, or max-drop without significant."
        what = f"{self.measure} is a geometric mean, which cannot be tested for a drop of {self.limit:g}"
        self._require(not self.limit or combination(self.measure) != "geometric", what, hint)

    def error(self, what: Message, hint: Message | None = None) -> KaratError:
        """An error in this rule, which says where the rule comes from."""
        return self.placed(KaratError(what, hint=hint))

    def placed(self, error: KaratError) -> KaratError:
        """The same error, about this rule."""
        if isinstance(self.origin, Parameter):
            return error.but(what=[self.origin, ": ", *error.parts])
        return error.but(place=self.origin)

    def _require(self, condition: bool, what: str, hint: str | None = None) -> None:
        if not condition:
            raise self.error(what, hint)


def example_limit(kind: Kind) -> float:
    """A limit to show in hints: of the difference from the baseline, or of a value."""
    return 0.01 if kind in _COMPARING else 0.6


def rules_from_limits(
    min: Limits | None = None,  # noqa: A002  # what users write: assert_scores(scores, min=...)
    max: Limits | None = None,  # noqa: A002
    max_drop: Limits | None = None,
    non_inferior: Limits | None = None,
) -> tuple[Rule, ...]:
    """Rules from limits by measure.

    >>> [rule.kind for rule in rules_from_limits(min={"nDCG@10": 0.6}, max_drop={"AP": 0.01})]
    ['min', 'max-drop']
    """
    rules: list[Rule] = []
    for kind, limits in zip(KINDS, (min, max, max_drop, non_inferior), strict=True):
        name = kind.replace("-", "_")
        if limits is not None and not isinstance(limits, Mapping):
            hint: Message = ["Write ", Parameter(name, {"nDCG@10": example_limit(kind)}), "."]
            raise KaratError([Parameter(name, limits), " is not a mapping of measures to limits"], hint=hint)
        for key, limit in (limits or {}).items():
            measure = by_name(key)
            if not isinstance(measure, str | Measure):
                raise KaratError([Parameter(name), f" names {shown(measure)}, which is not a measure"])
            rules += rules_of(kind, str(measure), limit, Parameter(name, {str(measure): limit}))
    return tuple(rules)


def rules_of(kind: Kind, measure: str, limit: float, origin: Place | Parameter | None = None) -> list[Rule]:
    """The rule for a measure, or one for each measure of a list of cut-offs.

    >>> [rule.measure for rule in rules_of("min", "nDCG@1,5", 0.3)]
    ['nDCG@1', 'nDCG@5']
    """
    names = several_measures(measure) if isinstance(measure, str) else []
    return [Rule(kind, name, limit, origin) for name in names or [measure]]


def parse_rules(kind: Kind, text: str) -> list[Rule]:
    """A rule as it is written on the command line, or several for a list of cut-offs.

    >>> [(rule.measure, rule.limit) for rule in parse_rules("max-drop", "AP(rel=2)=0.01")]
    [('AP(rel=2)', 0.01)]
    """
    name = kind.replace("-", "_")
    example = Parameter(name, f"nDCG@10={example_limit(kind)}")
    hint: Message = ["Write a measure and a limit, for example ", example, "."]
    return rules_of(kind, *name_and_number(name, text, hint), Parameter(name, text))


def merge_rules(first: Sequence[Rule], later: Sequence[Rule]) -> tuple[Rule, ...]:
    """All rules; a later rule replaces an earlier one of the same kind and measure.

    >>> first = [Rule("min", "AP", 0.1), Rule("min", "RR", 0.2)]
    >>> [rule.limit for rule in merge_rules(first, [Rule("min", "map", 0.3)])]
    [0.3, 0.2]
    """
    check_unique(first)
    check_unique(later)
    rules = {_kind_and_measure(rule): rule for rule in first}
    return tuple((rules | {_kind_and_measure(rule): rule for rule in later}).values())


def need_baseline(rules: Iterable[Rule]) -> bool:
    """Whether a rule compares with a baseline."""
    return any(rule.compares for rule in rules)


def check_unique(rules: Iterable[Rule]) -> None:
    """Reject two rules of the same kind for the same measure, in any spelling."""
    seen: dict[tuple[str, ...], Rule] = {}
    for rule in rules:
        other = seen.setdefault(_kind_and_measure(rule), rule)
        if other is not rule:
            limits = " and ".join(format_value(float(limit)) for limit in (other.limit, rule.limit))
            is_same = other.measure == rule.measure
            same = "" if is_same else f" ({other.measure} and {rule.measure} are the same measure)"
            raise rule.error(f"{rule.measure} has two {rule.kind} limits, {limits}{same}", "Remove one of them.")


def check_rules(rules: Sequence[Rule], has_baseline: bool) -> None:
    """Reject a gate without rules, repeated rules, and a comparison without a baseline."""
    if not rules:
        example = Parameter("min", {"nDCG@10": example_limit("min")})
        raise KaratError("there are no rules", hint=["Add ", example, ", or [gate.min] in karat.toml."])
    check_unique(rules)
    for rule in rules:
        if rule.compares and not has_baseline:
            hint = "Use the previous run, or its saved scores, as the baseline."
            raise rule.error(f"a {rule.kind} rule for {rule.measure} needs a baseline", hint)


def check_drop_options(rules: Iterable[Rule], options: Mapping[str, Any]) -> None:
    """Reject options of the comparison with a baseline that no rule uses, and drops that cannot be tested."""
    rules = list(rules)
    drops = [rule for rule in rules if rule.kind == "max-drop"]
    for name, default in _DROP_OPTIONS.items():
        if not (drops if name == "significant" else need_baseline(rules)):
            hint: Message = ["Add a max-drop rule and a baseline, or leave ", Parameter(name), " out."]
            kinds = "max-drop" if name == "significant" else "max-drop or non-inferior"
            what: Message = [Parameter(name), f" has no effect without a {kinds} rule"]
            require(options.get(name, default) == default, what, hint)
    for rule in drops if options["significant"] else ():
        rule.check_testable()


def check_measures(rules: Iterable[Rule]) -> None:
    """Reject rules whose measure is unknown."""
    for rule in rules:
        try:
            if not meanings(rule.measure):
                parse(rule.measure)
        except KaratError as error:
            raise rule.placed(error) from None


def with_relevance_threshold(rules: Iterable[Rule], rel: float | None) -> tuple[Rule, ...]:
    """The rules with `rel` set in the measures that do not set it themselves.

    >>> rules = [Rule("min", "AP", 0.1), Rule("min", "AP(rel=1)", 0.1)]
    >>> [rule.measure for rule in with_relevance_threshold(rules, 2)]
    ['AP(rel=2)', 'AP']
    """
    grade = check_grade(rel)
    if grade is None:
        return tuple(rules)
    return tuple(replace(rule, measure=_with_relevance_threshold(rule, grade)) for rule in rules)


def _with_relevance_threshold(rule: Rule, rel: float) -> str:
    if not meanings(rule.measure):
        return rule.measure  # a column of saved scores, or an unknown measure, which is reported later
    try:
        (measure,) = select_measures([rule.measure], rel, ("documents", "answers", "verdicts"))
    except KaratError as error:
        raise rule.placed(error) from None
    return str(measure)


def _kind_and_measure(rule: Rule) -> tuple[str, ...]:
    """The kind of a rule and its measure, which is the same for all spellings of the measure."""
    return (rule.kind, *([str(measure) for measure in meanings(rule.measure)] or [rule.measure]))


def _range(measure: str) -> tuple[float, float]:
    """The smallest and the largest value of a measure; infinite if it is unknown."""
    known = [meaning.definition.bounds for meaning in meanings(measure)]
    if not known:
        return -math.inf, math.inf
    return min(low for low, _ in known), max(high for _, high in known)
