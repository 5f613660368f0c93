"""Whatever names and texts contain, what people print neither controls the terminal nor commands the CI system."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from karat import Document, EvaluationRunResult, KaratError, Pipeline, Scores, compare, evaluate, evaluate_answers
from karat.comparison.gate import github
from karat.comparison.gate.gate import gate_by_rules
from karat.comparison.gate.rules import Rule
from karat.components.evaluators import AnswerExactMatchEvaluator
from karat.errors import printable, shown, without_commands
from karat.output.printable import Printable
from karat.scores.system_scores import SystemScores

FRAGMENTS = [
    "a", "7", " ", ".", "\n", "\r", "\t", "\x00", "\x1b[2J", "\x1b]0;t\x07", "\x9b31m", "\x7f", "\x85", "\u2028",
    "\u202e", "\u2066", "\u200b", "\u200e", "\ufeff", "\xad", "\ud800", "\ufffe", "::error::x", "::add-mask::a",
    "##[error]x", "##vso[task.x]", "##teamcity[x]", "|", "<script>", "&amp;", '"', "'", "\\", "%", "$", "_", "*",
    "`", "{", "}", "[b]", "é", "語", "=1+1", "e\u0301", "👩\u200d🔬",
]  # fmt: skip
hostile = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
names = st.lists(hostile, min_size=4, max_size=4, unique=True)
ids = names.filter(lambda names: not any("\ud800" in name for name in names))  # which ids cannot contain
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def check(text: str) -> None:
    """Assert that a text, which may have lines, is harmless on a terminal and in a log."""
    assert not CONTROL.search(text), ascii(text)
    assert not [line for line in text.split("\n") if line.lstrip().startswith("::")], ascii(text)
    assert not re.search(r"##(vso|teamcity)?\[", text), ascii(text)


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.found.add(tag)


def check_object(value: Any) -> None:
    """Assert that an object is harmless however it is printed."""
    with patch.dict(os.environ, {"GITHUB_ACTIONS": "true"}):
        assert not CONTROL.search(repr(value))
        if "__str__" in {name for kind in type(value).__mro__[:-1] for name in vars(kind)}:
            check(str(value))
    if hasattr(value, "_repr_html_"):
        text = value._repr_html_()
        assert not CONTROL.search(text)
        assert Tags(text).found <= {"table", "thead", "tbody", "tr", "th", "td", "b", "div", "small"}
    if hasattr(value, "__rich__"):
        console = Console(file=io.StringIO(), width=200)
        with console.capture() as page:
            console.print(value)
        check(without_commands(page.get()))
    if isinstance(value, Printable):
        assert not CONTROL.search(value.to_markdown() + value.to_latex())


@st.composite
def evaluated(draw: st.DrawFn) -> tuple[dict[str, Scores], list[str], list[str]]:
    """Two systems with hostile names, queries and documents."""
    queries, documents, systems = draw(ids), draw(ids), draw(names)[:2]
    truth = {query: {documents[0]: 1, documents[1]: 0} for query in queries}
    runs = [{query: {documents[at]: 1.0, documents[2]: 0.5} for query in queries} for at in (0, 1)]
    scores = {
        name: evaluate(truth, run, ["AP", "nDCG@10", "Judged@5"], name=name)
        for name, run in zip(systems, runs, strict=True)
    }
    return scores, queries, systems


def objects(scores: dict[str, Scores], queries: list[str]) -> Iterator[object]:
    yield from scores.values()
    first, second = scores.values()
    yield first.explain(queries[0])
    yield first.bounds("AP")
    yield first.slices({query: query for query in queries})
    yield from first.findings
    yield from (finding.message for finding in first.findings)
    yield SystemScores(scores)
    comparison = compare(scores)
    yield comparison
    yield comparison.slices({query: query for query in queries})
    yield from comparison.sentences
    found = comparison.diff("AP")
    yield found
    yield found[queries[0]]
    yield found.in_full(queries[0])
    rules = [Rule("min", "AP", 0.99), Rule("max-drop", "AP", 0)]
    outcome = gate_by_rules(second, rules, first)
    yield outcome
    yield from (each.sentence for each in outcome.outcomes)
    yield from (each.worst_line() for each in outcome.outcomes if each.worst)
    yield evaluate_answers({queries[0]: queries[1]}, {queries[0]: queries[2]}, "EM").explain(queries[0])


@settings(max_examples=12, deadline=None)
@given(evaluated())
def test_no_object_prints_control_characters_or_commands(case: tuple[dict[str, Scores], list[str], list[str]]) -> None:
    scores, queries, systems = case
    for each in objects(scores, queries):
        check_object(each) if not isinstance(each, str) else check(without_commands(each))
    assert set(compare(scores).to_dict()["systems"]) == set(systems)  # data keep the names as they are


@settings(max_examples=12, deadline=None)
@given(names, hostile)
def test_no_object_that_has_names_of_its_own_prints_control_characters(texts: list[str], text: str) -> None:
    """Scores from files can have any names of measures; components and metrics are named by their users."""
    scores = Scores(("q1", "q2"), {name: np.array([0.5, 1.0]) for name in texts}, name=text)
    pipeline = Pipeline()
    for name in texts:
        with suppress(KaratError):  # a name that is not allowed
            pipeline.add_component(name, AnswerExactMatchEvaluator())
    result = EvaluationRunResult(
        text, {text: texts}, {name: {"score": 0.5, "individual_scores": [0.5] * 4} for name in texts if name != text}
    )
    other = Scores(("q1", "q2"), {name: np.array([0.0, 1.0]) for name in texts}, name=text)
    outcome = gate_by_rules(scores, [Rule("min", texts[0], 0.9)], None, significant=False)
    for each in (
        scores,
        compare({"one": scores, text: other}),
        pipeline,
        result,
        outcome,
        Document(content=text, id=text),
    ):
        check_object(each)
    ET.fromstring(outcome.junit().encode(errors="surrogatepass"))
    with patch.dict(os.environ, {"GITHUB_ACTIONS": "true"}):
        for line in github.workflow_commands(outcome).removesuffix("\n").split("\n"):
            assert re.fullmatch(r"::error title=karat gate::[^\x00-\x1f]*", line)


@given(hostile, hostile, hostile)
def test_an_error_is_one_harmless_line(what: str, place: str, hint: str) -> None:
    with patch.dict(os.environ, {"TF_BUILD": "True"}):
        text = str(KaratError(what, place=place, hint=hint))
    check(text)
    assert "\n" not in text


@given(hostile)
def test_what_is_escaped_stays_readable_and_the_same(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert without_commands(without_commands(text)) == without_commands(text)
    assert without_commands(text).replace(" ", "") == text.replace(" ", "")
    assert not CONTROL.search(shown(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::error::x", ": :error::x"),
        ("a\r  \t::error::x", "a\r  \t: :error::x"),
        ("a\n\n\u00a0::set-output name=x::y", "a\n\n\u00a0: :set-output name=x::y"),
        (":::error::x", ": ::error::x"),
        ("a ::error::x std::vector", "a ::error::x std::vector"),
        ("a ###[add-mask]x", "a ### [add-mask]x"),
        ("a ##vso[task.setvariable]x ##teamcity[x]", "a ## vso[task.setvariable]x ## teamcity[x]"),
        ("## a #[b]", "## a #[b]"),
    ],
)
def test_a_blank_breaks_what_a_ci_system_takes_for_a_command(text: str, expected: str) -> None:
    assert without_commands(text) == expected


def test_texts_are_not_changed_outside_of_ci_systems() -> None:
    with patch.dict(os.environ):
        for name in ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"):
            os.environ.pop(name, None)
        assert str(KaratError("::error::x ##[group]")) == "::error::x ##[group]"
        assert "::error::x" in str(Scores(("q",), {"AP": np.array([1.0])}, name="::error::x"))
