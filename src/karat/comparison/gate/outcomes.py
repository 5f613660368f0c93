"""The result of a gate: the outcome of each rule, all of them together, and how they are worded.

Limits and values have as many digits as are needed to tell them apart.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from karat.comparison.gate.rules import Rule
from karat.comparison.sentences import CORRECTED, p_text
from karat.errors import plural, printable
from karat.options import Correction
from karat.output.files import write_text
from karat.output.printable import Tabular
from karat.output.tables import DIGITS, Cell, Mark, Table
from karat.scores.value_texts import cell_text, nonzero_text
from karat.stats import ROUNDING

_HEADER = ("verdict", "measure", "score", "rule")
NAME = "karat gate"
"""how CI systems call a gate"""
_LONGEST_QUERY = 40
_DIGITS = (4, 6, 8, 10, 12)
# XML cannot contain these two characters, and `printable` does not escape them.
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True)
class WorstQuery:
    """A query that contributes most to a failed rule: its value, and the baseline's if the rule compares with it."""

    query: str
    value: float
    baseline: float | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule of a gate.

    `value_text` is the value as it is printed, `drop` is how much worse the value is than the baseline's, and `p` is
    the p-value, corrected for the number of rules of this kind: of a drop beyond the limit for `max-drop` with
    `significant`, of any difference without it, and of a smaller drop than the limit for `non-inferior`. `explanation`
    states the limit and what was found, in words.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> [outcome] = karat.gate(scores, min={"RR": 0.6}).outcomes
    >>> outcome.passed, outcome.value, outcome.sentence
    (False, 0.5, 'RR is 0.5000, but must be at least 0.6000')
    """

    rule: Rule
    passed: bool
    explanation: str
    value: float | None
    value_text: str
    baseline: float | None = None
    drop: float | None = None
    p: float | None = None
    worst: tuple[WorstQuery, ...] = ()

    @property
    def verdict(self) -> str:
        return "passed" if self.passed else "failed"

    @property
    def sentence(self) -> str:
        """The measure, its value and the explanation in one line."""
        value = "has no value" if self.value is None else f"is {self.value_text}"
        return printable(
            f"{self.rule.measure} {value}{'; rule: ' if self.passed else ', but must be '}{self.explanation}"
        )

    def worst_line(self) -> str:
        """The queries that contributed most to the failure, in one line."""
        name = self.rule.measure
        queries = []
        for worst in self.worst:
            before = f"{cell_text(worst.baseline, name)} → " if self.rule.compares else ""
            query = worst.query if len(worst.query) <= _LONGEST_QUERY else f"{worst.query[: _LONGEST_QUERY - 1]}…"
            queries.append(f"{query} ({before}{cell_text(worst.value, name)})")
        what = {"min": "lowest scores", "max": "highest scores"}.get(self.rule.kind, "largest losses")
        return printable(f"{name}, {what}: {', '.join(queries)}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.rule.kind,
            "measure": self.rule.measure,
            "limit": float(self.rule.limit),
            "passed": self.passed,
            "value": self.value,
            "baseline": self.baseline,
            "drop": self.drop,
            "p": self.p,
            "explanation": self.explanation,
            "worst": [asdict(query) for query in self.worst],
        }


@dataclass(frozen=True)
class Gate(Tabular):
    """The result of `gate`: the outcome of each rule, and notes. It prints as a table.

    `origin` names the file that the rules come from, if any.

    >>> import karat
    >>> scores = karat.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR"])
    >>> result = karat.gate(scores, min={"RR": 0.4}, max={"RR": 0.9})
    >>> result.passed, result.verdict
    (True, 'gate passed: 2 rules')
    """

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    origin: str = ""

    @property
    def contents(self) -> str:
        """How many rules there are."""
        return plural(len(self.outcomes), "rule")

    @property
    def passed(self) -> bool:
        """Whether all rules passed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes of the rules that failed."""
        return tuple(outcome for outcome in self.outcomes if not outcome.passed)

    @property
    def verdict(self) -> str:
        """The result in one line: `gate passed: 3 rules` or `gate failed: 1 of 3 rules`."""
        rules = plural(len(self.outcomes), "rule")
        return f"gate failed: {len(self.failed)} of {rules}" if self.failed else f"gate passed: {rules}"

    def table(self, *, digits: int = DIGITS) -> Table:  # noqa: ARG002  # each value shows why its rule passed or failed
        """A row per rule, followed by the worst queries, the notes and the verdict."""
        worst = [outcome.worst_line() for outcome in self.failed if outcome.worst]
        return Table(
            _HEADER,
            tuple(map(_row, self.outcomes)),
            (*worst, *self.notes),
            labels=len(_HEADER),
            sentences=(self.verdict,),
            title=f"rules from {self.origin}" if self.origin else "",
            style=_mark(self.passed).style,
        )

    def to_markdown(self, path: str | os.PathLike[str] | None = None, *, digits: int = DIGITS) -> str:  # noqa: ARG002
        """The table in Markdown, with the verdict as its title; also written to `path` if given."""
        origin = printable(self.origin).replace("`", "'")
        rules_from = f"rules from `{origin}`\n\n" if origin else ""
        table = replace(self.table(), title="").markdown()
        return write_text(f"### karat: {self.verdict}\n\n{rules_from}{table}", path)

    def to_dict(self) -> dict[str, Any]:
        """`{"passed", "rules": [{"kind", "measure", "limit", "passed", "value", ...}], "notes", "origin"}`."""
        return {
            "passed": self.passed,
            "rules": [outcome.to_dict() for outcome in self.outcomes],
            "notes": list(self.notes),
            "origin": self.origin,
        }

    def junit(self) -> str:
        """The outcomes as JUnit XML, with a test case per rule, for Jenkins, GitLab and others."""
        from xml.etree import ElementTree as ET

        counts = {"tests": str(len(self.outcomes)), "failures": str(len(self.failed)), "errors": "0", "skipped": "0"}
        root = ET.Element("testsuites", {"name": NAME, **counts})
        suite = ET.SubElement(root, "testsuite", {"name": NAME, **counts})
        for outcome in self.outcomes:
            name = _for_xml(f"{outcome.rule.kind} {outcome.rule.measure}")
            case = ET.SubElement(suite, "testcase", {"classname": NAME, "name": name})
            sentence = _for_xml(outcome.sentence)
            if outcome.passed:
                ET.SubElement(case, "system-out").text = sentence
            else:
                failure = ET.SubElement(case, "failure", {"message": sentence, "type": outcome.rule.kind})
                failure.text = _for_xml(outcome.worst_line()) if outcome.worst else sentence
        ET.indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _row(outcome: Outcome) -> tuple[Cell, ...]:
    verdict = Cell(outcome.verdict, _mark(outcome.passed))
    return verdict, Cell(outcome.rule.measure), Cell(outcome.value_text), Cell(outcome.explanation)


def _mark(passed: bool) -> Mark:
    """The text of a verdict says whether it passed, so that it needs no symbol besides its colour."""
    return Mark("", "", "bold green" if passed else "bold red")


def _for_xml(text: str) -> str:
    return _NOT_IN_XML.sub(lambda match: ascii(match[0])[1:-1], printable(text))


def exceeds(value: float, limit: float) -> bool:
    """Whether a value is above a limit by more than a rounding error.

    >>> exceeds(0.31 - 0.3, 0.01), exceeds(0.0101, 0.01)
    (False, True)
    """
    return value - limit > ROUNDING * max(1.0, abs(value))


def number_text(value: float, limit: float, measure: str) -> str:
    """A value with as many digits as show on which side of a limit it is.

    >>> number_text(0.59996, 0.6, "AP"), number_text(0.59, 0.6, "AP")
    ('0.599960', '0.5900')
    """
    side = _side(value, limit)
    for digits in _DIGITS:
        text = f"{value:.{digits}f}"
        if _side(float(text), limit) == side:
            return cell_text(value, measure) if digits == _DIGITS[0] else text
    return repr(float(value))


def limit_text(rule: Rule) -> str:
    """The limit of a rule with four digits, or with all if it has more."""
    text = cell_text(rule.limit, rule.measure)
    return text if float(text.replace(",", "")) == rule.limit else repr(float(rule.limit))


def requirement(rule: Rule, baseline: str = "the baseline", *, higher_is_better: bool = True) -> str:
    """What a rule requires of a value.

    >>> drop = Rule("max-drop", "Unjudged@10", 0.01)
    >>> requirement(Rule("min", "AP", 0.3)), requirement(drop, "0.2000", higher_is_better=False)
    ('at least 0.3000', 'at most 0.0100 above 0.2000')
    >>> requirement(Rule("non-inferior", "AP", 0.01))
    'shown to be less than 0.0100 below the baseline'
    """
    if not rule.compares:
        return f"at {'least' if rule.kind == 'min' else 'most'} {limit_text(rule)}"
    side = "below" if higher_is_better else "above"
    if rule.kind == "non-inferior":
        return f"shown to be less than {limit_text(rule)} {side} {baseline}"
    return f"at most {limit_text(rule)} {side} {baseline}" if rule.limit else f"not {side} {baseline}"


def change_text(rule: Rule, drop: float, *, higher_is_better: bool) -> str:
    """How a value changed from the baseline's.

    >>> rule = Rule("max-drop", "AP", 0.01)
    >>> change_text(rule, 0.03, higher_is_better=True), change_text(rule, 0.00003, higher_is_better=False)
    ('fell by 0.0300', 'rose by 3e-05')
    """
    if not (exceeds(drop, 0) or exceeds(-drop, 0)):
        return "unchanged"
    fell = (drop > 0) == higher_is_better
    size = number_text(drop, rule.limit, rule.measure)
    if drop < 0 or not float(size.replace(",", "")):
        size = nonzero_text(abs(drop), rule.measure)
    return f"{'fell' if fell else 'rose'} by {size}"


def p_value_text(p: float, correction: Correction, alpha: float, *, one_sided: bool = False) -> str:
    """A p-value, its kind and its correction.

    >>> p_value_text(0.0031, "holm", 0.05), p_value_text(1e-9, "none", 0.05, one_sided=True)
    ('p = 0.0031, Holm-corrected', 'p < 0.0001, one-sided')
    """
    kinds = ["one-sided" if one_sided else "", CORRECTED.get(correction, "")]
    return ", ".join(filter(None, [p_text(p, alpha, named=True), *kinds]))


def _side(value: float, limit: float) -> int:
    """1 above the limit, -1 below, 0 at the limit within a rounding error."""
    return int(exceeds(value, limit)) - int(exceeds(limit, value))
