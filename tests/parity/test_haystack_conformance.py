"""Haystack's own tests of its evaluators pass if its name is replaced by karat's, except for documented differences.

The tests are next to the repository on development machines. Their text is changed and run in a temporary folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "conformance" / "haystack" / "test"
DOCS = Path(__file__).parents[2] / "docs" / "coming-from-haystack.md"

EVALUATORS = [
    "test_answer_exact_match",
    "test_document_map",
    "test_document_mrr",
    "test_document_ndcg",
    "test_document_recall",
]
# They ask a language model, which they replace by a function.
ASKING = ["test_context_relevance_evaluator", "test_faithfulness_evaluator", "test_llm_evaluator"]
# It replaces parts of Haystack with mocks: models of sentence-transformers.
NOT_RUN = ["test_sas_evaluator"]


# What tests of evaluators that ask a model know about the inside of Haystack's evaluators; see the documentation.
ADAPTED = {
    # The default is not a chat generator, so they get the one that they expect.
    r"\b((LLM|Faithfulness|ContextRelevance)Evaluator)\(": r"created(\1, ",
    r"\._chat_generator\b": ".chat_generator",
    # It is called in threads, also by run_async, with the instructions in a message of their own.
    r"haystack\.components\.evaluators\.llm_evaluator\.OpenAIChatGenerator\.run(_async)?": (
        "haystack.components.generators.chat.openai.OpenAIChatGenerator.run"
    ),
    r"async def (chat_generator_run_async)": r"def \1",
    r'\["messages"\]\[0\]': '["messages"][1]',
    # Tokens are counted roughly if the model does not say how many there were.
    r'"meta": None': '"meta": results["meta"]',
    # A question that could not be judged has no score.
    r"math\.isnan\((\w+(\[[^()]+\])*)\)": r"(\1 is None)",
    # The wording of errors and warnings.
    "LLM evaluator expected input parameter": "the input questions is missing",
    "Missing expected keys": "is missing",
    r"1 query\(s\) failed and were excluded from the score\.": "1 question of 2 could not be judged",
}
CREATED = """
def created(kind, **parameters):
    options = {"response_format": {"type": "json_object"}, "seed": 42}
    parameters.setdefault("chat_generator", OpenAIChatGenerator(generation_kwargs=options))
    return kind(**parameters)
"""
# The plugin that runs coroutines is not loaded; and functions that fail are called again at once.
CONFTEST = """
import asyncio, inspect, pytest
from karat.grounding.judges.sending import Clock

assert callable(Clock.wait)
Clock.wait = lambda self, seconds, end: None

@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if inspect.iscoroutinefunction(pyfuncitem.obj):
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
        asyncio.run(pyfuncitem.obj(**arguments))
        return True
"""


def with_karat(text: str) -> str:
    """Programs written for Haystack that import karat instead."""
    return re.sub(r"\bhaystack\b", "karat", text)


def with_components_for_haystack(text: str) -> str:
    """Programs that use Haystack, with karat's evaluators as components."""
    if "OpenAIChatGenerator" in text:
        for pattern, replacement in ADAPTED.items():
            text = re.sub(pattern, replacement, text)
        text += CREATED
    return re.sub(r"\bhaystack\.components\.evaluators(\.[a-z_]+)?", "karat.integrations.haystack", text)


# Each test that fails, with the row of the table in the documentation that explains why.
MAP, FIELD, LISTS = "**MAP**", "invalid `document_comparison_field`", "a list, dict or array in `meta`"
PROMPT, TRACING = "`LLMEvaluator`, prompt", "`LLMEvaluator`, tracing"
IN_BOTH = {
    "test_document_map::test_run_with_unhashable_meta_comparison": LISTS,
    "test_document_ndcg::test_unsupported_comparison_field_raises": FIELD,
}
REPLACEMENTS: dict[Callable[[str], str], tuple[list[str], dict[str, str]]] = {
    with_karat: (
        [*EVALUATORS, "test_document_cleaner", "test_eval_run_result"],
        {
            **IN_BOTH,
            "test_document_map::test_run_with_complex_data": MAP,
            "test_document_map::test_run_with_missed_and_duplicate_relevant_documents[retrieved_documents0]": MAP,
            "test_document_map::test_run_with_missed_and_duplicate_relevant_documents[retrieved_documents1]": MAP,
        },
    ),
    with_components_for_haystack: (
        [*EVALUATORS, *ASKING],
        {
            **IN_BOTH,
            "test_document_map::test_to_dict": "`DocumentMAPEvaluator` inside Haystack",
            "test_llm_evaluator::test_prepare_template": PROMPT,
            "test_llm_evaluator::test_run_traces_chat_generator_token_usage": TRACING,
            "test_llm_evaluator::test_run_async_traces_chat_generator_token_usage": TRACING,
        },
    ),
}


@pytest.fixture(scope="session")
def haystack_tests() -> dict[str, Path]:
    """Haystack's test files by name."""
    if not FOLDER.is_dir():
        pytest.skip("Haystack's tests are not next to the repository (../shared/conformance/haystack)")
    return {path.stem: path for path in FOLDER.rglob("test_*.py")}


@pytest.mark.parametrize("replace", REPLACEMENTS, ids=lambda replace: replace.__name__)
def test_haystacks_tests_pass_except_for_documented_differences(
    replace: Callable[[str], str], haystack_tests: dict[str, Path], tmp_path: Path
) -> None:
    names, differences = REPLACEMENTS[replace]
    for name in names:
        (tmp_path / f"{name}.py").write_text(replace(haystack_tests[name].read_text("utf-8")), "utf-8")
    outcomes = run_tests(tmp_path)
    assert {test.partition("::")[0] for test in outcomes} == set(names)
    assert {test for test, passed in outcomes.items() if not passed} == set(differences)


def test_every_test_file_of_haystack_is_run_or_listed_as_not_run(haystack_tests: dict[str, Path]) -> None:
    run = {name for names, _ in REPLACEMENTS.values() for name in names}
    assert sorted(haystack_tests) == sorted([*run, *NOT_RUN])


@pytest.mark.parametrize(
    "topic", sorted({each for _, differences in REPLACEMENTS.values() for each in differences.values()})
)
def test_every_difference_is_documented(topic: str) -> None:
    assert f"\n| {topic} |" in DOCS.read_text("utf-8")


def run_tests(folder: Path) -> dict[str, bool]:
    """Whether each test in a folder passed, by `file::test`."""
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    report = folder / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}", f"--junitxml={report}"]
    # The plugins of other libraries take longer to load than the tests take to run.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("OPENAI_API_KEY", None)  # with a key, some tests would ask OpenAI
    subprocess.run([sys.executable, "-m", "pytest", *options, folder], cwd=folder, env=environment, capture_output=True)
    cases = [case for case in ElementTree.parse(report).iter("testcase") if case.find("skipped") is None]
    return {f"{case.get('classname', '').partition('.')[0]}::{case.get('name')}": not len(case) for case in cases}
