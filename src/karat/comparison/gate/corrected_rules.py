"""Rules that decide by values of a model that people have corrected, for queries that were drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from karat.comparison import Method
from karat.comparison.corrected import corrected_difference
from karat.comparison.gate.outcomes import Outcome, change_text, exceeds, number_text, p_value_text, requirement
from karat.comparison.gate.rules import Rule
from karat.errors import KaratError, Message, Parameter
from karat.scores import Scores
from karat.scores.combining import combination
from karat.scores.corrected import first_line, width_lines
from karat.scores.corrections import CorrectedValue
from karat.scores.summary import notes
from karat.scores.value_texts import cell_text, interval_text
from karat.stats import corrected


def check_corrected(
    rules: Sequence[Rule], run: Scores, baseline: Scores | None, method: Method, significant: bool
) -> list[Outcome]:
    """The outcome of each rule by the corrected values. Tests of one kind of rules are corrected together."""
    outcomes = {rule: _check_value(rule, run, method.level) for rule in rules if not rule.compares}
    if baseline is not None:
        for kind in ("max-drop", "non-inferior"):
            of_kind = [rule for rule in rules if rule.kind == kind]
            outcomes |= _check_drops(of_kind, run, baseline, method, significant or kind == "non-inferior")
    return [outcomes[rule] for rule in rules]


def corrected_notes(rules: Sequence[Rule], run: Scores, baseline: Scores | None, level: float) -> list[str]:
    """Whose values correct whose, how many labels are needed where there are very few, and what was found."""
    systems = {"run": run.only([*dict.fromkeys(rule.measure for rule in rules)])}
    if baseline is not None and (compared := [rule.measure for rule in rules if rule.compares]):
        systems["baseline"] = baseline.only([*dict.fromkeys(compared)])
    decisive = {
        rule.measure + (", difference" if rule.compares else ""): (
            _value(rule, run) if baseline is None or not rule.compares else _difference(rule, run, baseline)
        )
        for rule in rules
    }
    return [first_line(systems, level), *width_lines([*decisive.items()], None, level), *notes(systems)]


def _check_value(rule: Rule, run: Scores, level: float) -> Outcome:
    """The outcome of a `min` or `max` rule."""
    value = _value(rule, run)
    mean = value.mean
    if mean is None:
        raise _without_people(rule)
    low, high = (mean, rule.limit) if rule.kind == "min" else (rule.limit, mean)
    text = number_text(mean, rule.limit, rule.measure)
    return Outcome(rule, not exceeds(high, low), f"{requirement(rule)}; {_basis(value, level)}", mean, text)


def _check_drops(
    rules: Sequence[Rule], run: Scores, baseline: Scores, method: Method, of_limits: bool
) -> dict[Rule, Outcome]:
    """The outcomes of rules of one kind that compare with a baseline, whose p-values are corrected together."""
    differences = [_difference(rule, run, baseline) for rule in rules]
    drops = [_drop(run, rule, difference) for rule, difference in zip(rules, differences, strict=True)]
    ps = [_p(rule, difference, run, of_limits) for rule, difference in zip(rules, differences, strict=True)]
    outcomes = {}
    correction = method.correction if sum(p is not None for p in ps) > 1 else "none"
    of_rules = zip(rules, differences, drops, corrected(ps, method.correction), strict=True)
    for rule, difference, drop, p in of_rules:
        higher = run.higher_is_better(rule.measure)
        is_evidence = p is not None and p < method.alpha
        is_beyond = exceeds(drop, rule.limit)
        # With few labels, p is that of people alone, and may not be about the side on which the corrected drop is.
        is_within = is_evidence and not is_beyond
        passed = is_within if rule.kind == "non-inferior" else not (is_beyond and (is_evidence or not of_limits))
        now, before = _value(rule, run).mean, _value(rule, baseline).mean
        if now is None or before is None:
            raise _without_people(rule)
        tested = "" if p is None else f" ({p_value_text(p, correction, method.alpha, one_sided=of_limits)})"
        text = f"{requirement(rule, cell_text(before, rule.measure), higher_is_better=higher)}: corrected, it"
        change = change_text(rule, drop, higher_is_better=higher)
        text += f" {'is unchanged' if change == 'unchanged' else change}{tested}; {_labelled(difference)}"
        outcomes[rule] = Outcome(rule, passed, text, now, cell_text(now, rule.measure), before, drop, p)
    return outcomes


def _value(rule: Rule, scores: Scores) -> CorrectedValue:
    name = scores.column_name(rule.measure)
    if name not in scores.corrections:
        raise _without_people(rule)
    return _decisive(rule, CorrectedValue.of(name, scores.values[name], scores.corrections[name]))


def _difference(rule: Rule, run: Scores, baseline: Scores) -> CorrectedValue:
    """The difference from the baseline, on the queries that both have."""
    hint = "Use a mean, such as AP, or a min rule."
    what = f"{rule.measure} is a geometric mean, whose drops are not corrected"
    if combination(rule.measure) == "geometric":
        raise rule.error(what, hint)
    before = replace(baseline.only([rule.measure]), name="baseline")
    rows = {query: at for at, query in enumerate(before.queries)}
    common = [query for query in run.queries if query in rows]
    if len(common) < max(len(run.queries), len(before.queries)):
        raise rule.error("run and baseline have different queries", "Evaluate both on the same queries.")
    aligned = before.take([rows[query] for query in common])
    difference = corrected_difference({"run": run, "baseline": aligned}, rule.measure, "run", "baseline")
    if difference is None:
        raise _without_people(rule)
    return _decisive(rule, difference)


def _decisive(rule: Rule, value: CorrectedValue) -> CorrectedValue:
    """The value; an error if people labelled so little that not even an interval can be computed."""
    if value.labelled == 1:
        raise rule.error(f"people labelled 1 query for {rule.measure}, which decides nothing", "Label more of them.")
    return value


def _drop(run: Scores, rule: Rule, difference: CorrectedValue) -> float:
    """How much worse the value is than the baseline's."""
    return -(difference.mean or 0.0) if run.higher_is_better(rule.measure) else difference.mean or 0.0


def _p(rule: Rule, difference: CorrectedValue, run: Scores, of_limits: bool) -> float | None:
    """The p-value: of any difference, of a drop beyond the limit, or of one within it (both one-sided)."""
    if not of_limits:
        return difference.p()
    higher = run.higher_is_better(rule.measure)
    above = difference.p_above(-rule.limit if higher else rule.limit)
    is_claimed_above = higher == (rule.kind == "non-inferior")
    return above if above is None or is_claimed_above else 1 - above


def _basis(value: CorrectedValue, level: float) -> str:
    by_model = cell_text(value.by_model, value.measure)
    ends = interval_text(None, value.interval(level), value.measure).removeprefix("–").strip()
    return f"{f'{ends}, ' if ends else ''}{by_model} by the model; {_labelled(value)}"


def _labelled(value: CorrectedValue) -> str:
    few = ", too few for an interval by both" if value.is_marked else ""
    return f"{value.labelled:,} of {value.total:,} queries labelled by people{few}"


def _without_people(rule: Rule) -> KaratError:
    hint: Message = ["Leave ", Parameter("correct", True), " out, or let people label drawn queries for it."]
    return rule.error(f"{rule.measure} has no values of people that could correct it", hint)
