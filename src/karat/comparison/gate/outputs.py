"""The outcomes of a gate as a table, Markdown, JUnit XML, and GitHub workflow commands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from xml.etree import ElementTree as ET

from karat.comparison.gate.outcomes import Gate, Outcome
from karat.errors import printable
from karat.output.tables import Cell, Mark, Table

_HEADER = ("verdict", "measure", "score", "rule")
_NAME = "karat gate"
_SUMMARY = "GITHUB_STEP_SUMMARY"
# XML cannot contain these two characters, and `printable` does not escape them.
_NOT_IN_XML = re.compile("[\ufffe\uffff]")


def table(gate: Gate) -> Table:
    """A row per rule, followed by the worst queries of the failed rules, the notes and the verdict."""
    worst = [outcome.worst_line() for outcome in gate.failed if outcome.worst]
    return Table(
        _HEADER,
        tuple(map(_row, gate.outcomes)),
        (*worst, *gate.notes),
        labels=len(_HEADER),
        sentences=(gate.verdict,),
        title=f"rules from {gate.origin}" if gate.origin else "",
        style=_mark(gate.passed).style,
    )


def markdown(gate: Gate) -> str:
    """The table in Markdown, with the verdict as its title."""
    origin = printable(gate.origin).replace("`", "'")
    rules_from = f"rules from `{origin}`\n\n" if origin else ""
    return f"### karat: {gate.verdict}\n\n{rules_from}{replace(table(gate), title='').markdown()}"


def junit(gate: Gate) -> str:
    """JUnit XML with a test case per rule, for Jenkins, GitLab and others."""
    counts = {"tests": str(len(gate.outcomes)), "failures": str(len(gate.failed)), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": _NAME, **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _NAME, **counts})
    for outcome in gate.outcomes:
        name = _for_xml(f"{outcome.rule.kind} {outcome.rule.measure}")
        case = ET.SubElement(suite, "testcase", {"classname": _NAME, "name": name})
        sentence = _for_xml(outcome.sentence)
        if outcome.passed:
            ET.SubElement(case, "system-out").text = sentence
        else:
            failure = ET.SubElement(case, "failure", {"message": sentence, "type": outcome.rule.kind})
            failure.text = _for_xml(outcome.worst_line()) if outcome.worst else sentence
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def in_github(environment: Mapping[str, str]) -> bool:
    """Whether this runs in a step of GitHub Actions."""
    return environment.get("GITHUB_ACTIONS") == "true"


def commands(gate: Gate) -> str:
    """A workflow command per failed rule, which GitHub shows as an annotation."""
    title = _for_property(_NAME)
    return "".join(f"::error title={title}::{_for_data(outcome.sentence)}\n" for outcome in gate.failed)


def step_summary(environment: Mapping[str, str]) -> dict[str, str]:
    """The file to which a step of GitHub Actions appends its summary, by the name of the variable that names it."""
    path = environment.get(_SUMMARY) if in_github(environment) else None
    return {_SUMMARY: path} if path else {}


def append_summary(gate: Gate, environment: Mapping[str, str]) -> str | None:
    """Append the table to GitHub's step summary; if that fails, return a note, since it must not fail the gate."""
    for path in step_summary(environment).values():
        try:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{markdown(gate)}\n")
        except OSError as error:
            return f"note: cannot write the step summary: {printable(f'{path}: {error.strerror or error}')}"
    return None


def _row(outcome: Outcome) -> tuple[Cell, ...]:
    verdict = Cell(outcome.verdict, _mark(outcome.passed))
    return verdict, Cell(outcome.rule.measure), Cell(outcome.value_text), Cell(outcome.explanation)


def _mark(passed: bool) -> Mark:
    """The text of a verdict says whether it passed, so that it needs no symbol besides its colour."""
    return Mark("", "", "bold green" if passed else "bold red")


def _for_xml(text: str) -> str:
    return _NOT_IN_XML.sub(lambda found: ascii(found[0])[1:-1], printable(text))


def _for_data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _for_property(text: str) -> str:
    return _for_data(text).replace(":", "%3A").replace(",", "%2C")
