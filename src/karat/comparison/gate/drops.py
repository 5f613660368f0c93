"""The outcomes of rules that compare with a baseline: `max-drop`, tested or not, and `non-inferior`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from karat.comparison import Comparison, Method
from karat.comparison.compute import FEW_DIFFERING, strictest
from karat.comparison.differences import Pair, values_of
from karat.comparison.gate.outcomes import Outcome, WorstQuery, change_text, exceeds, p_value_text, requirement
from karat.comparison.gate.rules import Rule
from karat.comparison.margins import Claim, one_sided_tests
from karat.comparison.power import Power
from karat.comparison.sentences import p_text
from karat.errors import plural
from karat.registry.combining import before_mean
from karat.scores import Scores
from karat.scores.combining import combination
from karat.scores.value_texts import cell_text
from karat.stats import corrected

WORST_QUERIES = 5
# How the drops of all queries are the same, if that leaves no variance to test with.
_SAME_DROPS = {
    "mean": " on every query",
    "sum": ", by the same amount on every query",
    "geometric": ", by the same factor on every query",
}


@dataclass(frozen=True)
class _Test:
    """The test of a rule: its p-value, corrected or not, and its power at the level of the strictest rule."""

    p: float | None
    p_corrected: float | None
    power: Power
    one_sided: bool

    def is_evidence(self, rule: Rule, method: Method) -> bool:
        """Whether there is evidence for what the rule looks for: a drop beyond its limit, or one within it."""
        if self.p_corrected is None:
            # Without variance there is no test. A drop of all queries by the same amount is blocked all the same, but
            # nothing is shown to be non-inferior without a test.
            return rule.kind == "max-drop" and self.power.queries > 1
        return self.p_corrected < method.alpha


def check_drops(rules: Sequence[Rule], comparison: Comparison, significant: bool) -> list[Outcome]:
    """The outcome of each rule. The comparison, of `run` with `baseline`, is not corrected yet."""
    tests: dict[Rule, _Test] = {}
    for kind in ("max-drop", "non-inferior"):
        of_kind = [rule for rule in rules if rule.kind == kind]
        of_limits = significant or kind == "non-inferior"
        tests.update(zip(of_kind, _tests(of_kind, comparison, one_sided=of_limits), strict=True))
    return [_check(rule, comparison, tests[rule]) for rule in rules]


def few_differences(outcomes: Sequence[Outcome], comparison: Comparison) -> list[str]:
    """Notes on `non-inferior` rules that pass although few queries differ, so that rare losses may be missing."""
    passed = [outcome.rule.measure for outcome in outcomes if outcome.rule.kind == "non-inferior" and outcome.passed]
    powers = {name: comparison.power(name) for name in passed}
    return [
        f"note: {name}: {_differing(power)} from the baseline; rare large losses may be missing."
        for name, power in powers.items()
        if power.nonzero < FEW_DIFFERING
    ]


def _differing(power: Power) -> str:
    queries = plural(power.nonzero, "query") if power.nonzero else "no query"
    return f"{queries} of {power.queries:,} {'differ' if power.nonzero > 1 else 'differs'}"


def _tests(rules: Sequence[Rule], comparison: Comparison, *, one_sided: bool) -> list[_Test]:
    """The tests of all rules of a kind, corrected together: two-sided tests of the difference, or of the limits."""
    method = comparison.method
    powers = [comparison.power(rule.measure) for rule in rules]
    ps = [comparison.row(rule.measure).p for rule in rules]
    if one_sided and rules:
        tests = one_sided_tests([_claim(rule, comparison) for rule in rules], method)
        ps = [test.p for test in tests]
        powers = [replace(power, nonzero=test.nonzero) for power, test in zip(powers, tests, strict=True)]
    tested = max(1, sum(p is not None for p in ps))
    return [
        _Test(p, p_corrected, _at_level(power, method, tested, one_sided), one_sided)
        for p, p_corrected, power in zip(ps, corrected(ps, method.correction), powers, strict=True)
    ]


def _at_level(power: Power, method: Method, tested: int, one_sided: bool) -> Power:
    """The power at the level of the strictest of several tests; that of a one-sided test is doubled."""
    power = power if method.correction == "none" else strictest(power, method, tested)
    return replace(power, alpha=2 * power.alpha, p_threshold=2 * power.p_threshold) if one_sided else power


def _claim(rule: Rule, comparison: Comparison) -> Claim:
    """What evidence is needed for: that a drop is larger than a limit, or smaller in a `non-inferior` rule."""
    names = list(comparison.systems)
    pair = Pair(values_of(comparison.systems, rule.measure), names.index("run"), names.index("baseline"))
    higher = pair.values.higher_is_better
    return Claim(pair, -rule.limit if higher else rule.limit, above=higher == (rule.kind == "non-inferior"))


def _check(rule: Rule, comparison: Comparison, test: _Test) -> Outcome:
    name = rule.measure
    run, baseline = _paired(comparison, name)
    value, before, higher = run.combined(name), baseline.combined(name), run.higher_is_better(name)
    if value is None or before is None:
        explanation = f"{requirement(rule, higher_is_better=higher)}: no query has a value in both runs"
        return Outcome(rule, False, explanation, None, "–")
    sign = 1 if higher else -1
    drop = sign * (before - value)
    is_certain = not test.one_sided or test.is_evidence(rule, comparison.method)
    needs_p = True
    if rule.kind == "max-drop":
        too_large = exceeds(drop, rule.limit)
        passed, in_doubt = not (too_large and is_certain), too_large and not is_certain
        needs_p = too_large or not test.one_sided  # a drop within the limit passes whatever its test finds
    else:
        smaller = exceeds(rule.limit, drop)
        passed, in_doubt = smaller and is_certain, smaller and not is_certain
    change = change_text(rule, drop, higher_is_better=higher)
    if needs_p:
        change += _significance(rule, comparison.method, test, in_doubt)
    explanation = f"{requirement(rule, cell_text(before, name), higher_is_better=higher)}: {change}"
    worst = () if passed else _largest_losses(run, baseline, name, sign)
    return Outcome(rule, passed, explanation, value, cell_text(value, name), before, drop, test.p_corrected, worst)


def _paired(comparison: Comparison, name: str) -> tuple[Scores, Scores]:
    """The run and the baseline on one measure, for the queries with a value in both."""
    run, baseline = (comparison.systems[system].only([name]) for system in ("run", "baseline"))
    kept = np.flatnonzero(~(np.isnan(run.values[name]) | np.isnan(baseline.values[name])))
    return run.take(kept), baseline.take(kept)


def _significance(rule: Rule, method: Method, test: _Test, in_doubt: bool) -> str:
    """The p-value of a change; if a rule is decided by the lack of evidence, also that, and why there is none."""
    more = "significant"
    if rule.kind == "max-drop":
        more = "significantly more" if rule.limit else "significantly"
    doubt = f", not {more}" if in_doubt else ""
    if in_doubt and test.power.queries == 1:
        return f"{doubt}: one query is not enough for a test"
    if test.p_corrected is None and in_doubt:
        return ", not shown: all differences are equal, so this test is undefined; use the randomization test"
    if test.p_corrected is None:
        decides = rule.kind == "max-drop" and test.one_sided and test.power.queries > 1
        return _SAME_DROPS[combination(rule.measure)] if decides else ""
    correction = method.correction if test.power.comparisons > 1 else "none"
    p_value = p_value_text(test.p_corrected, correction, method.alpha, one_sided=test.one_sided)
    if in_doubt:
        return f"{doubt} ({p_value}{_reason(rule, method, test)})"
    return f"{f', {more}' if rule.kind == 'max-drop' and test.one_sided else ''} ({p_value})"


def _reason(rule: Rule, method: Method, test: _Test) -> str:
    """Why there is no evidence; an empty string if there is nothing to say but p."""
    power = test.power
    if method.test == "wilcoxon" and test.p is not None and test.p > 0.5:
        return "; the ranks, which this test compares, disagree with the mean"
    if rule.kind == "non-inferior" and (needed := _queries_needed(rule, power)) is not None:
        return f"; if both are equally good, about {needed:,} queries are needed"
    if power.minimum_p < power.p_threshold:
        return ""
    differ = "query differs" if power.nonzero == 1 else "queries differ"
    few = f"only {power.nonzero} {differ}{' from the limit' if rule.limit else ''}"
    least = p_text(power.minimum_p / 2, method.alpha)
    is_corrected = 2 * method.alpha != power.p_threshold
    rules = f" before the correction over {power.comparisons:,} rules" if is_corrected else ""
    return f"; {few}, so p cannot be below {least}{rules}"


def _queries_needed(rule: Rule, power: Power) -> int | None:
    """How many queries probably show that a system as good as the baseline is not worse by the limit; None if fewer."""
    needed = power.queries_needed(rule.limit) if power.alpha < 1 else None
    return needed if needed is not None and needed > power.queries else None


def _largest_losses(run: Scores, baseline: Scores, name: str, sign: int) -> tuple[WorstQuery, ...]:
    """The queries that lost most, largest losses first."""
    now, before = run.column(name), baseline.column(name)
    # As they are averaged: a value that falls to 0 has a large effect on a geometric mean.
    change = sign * (before_mean(now, combination(name)) - before_mean(before, combination(name)))
    lost = [at for at in np.argsort(change, kind="stable").tolist() if change[at] < 0]
    return tuple(WorstQuery(run.queries[at], float(now[at]), float(before[at])) for at in lost[:WORST_QUERIES])
