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
# They replace parts of Haystack with mocks: models of sentence-transformers, and generators of language models.
NOT_RUN = [
    "test_context_relevance_evaluator",
    "test_faithfulness_evaluator",
    "test_llm_evaluator",
    "test_sas_evaluator",
]


def with_karat(text: str) -> str:
    """Programs written for Haystack that import karat instead."""
    return re.sub(r"\bhaystack\b", "karat", text)


def with_components_for_haystack(text: str) -> str:
    """Programs that use Haystack, with karat's evaluators as components."""
    return re.sub(r"\bhaystack\.components\.evaluators(\.[a-z_]+)?", "karat.integrations.haystack", text)


# Each test that fails, with the row of the table in the documentation that explains why.
MAP, FIELD, LISTS = "**MAP**", "invalid `document_comparison_field`", "a list, dict or array in `meta`"
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
        EVALUATORS,
        {**IN_BOTH, "test_document_map::test_to_dict": "`DocumentMAPEvaluator` inside Haystack"},
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
    assert sorted(haystack_tests) == sorted([*REPLACEMENTS[with_karat][0], *NOT_RUN])


@pytest.mark.parametrize(
    "topic", sorted({each for _, differences in REPLACEMENTS.values() for each in differences.values()})
)
def test_every_difference_is_documented(topic: str) -> None:
    assert f"\n| {topic} |" in DOCS.read_text("utf-8")


def run_tests(folder: Path) -> dict[str, bool]:
    """Whether each test in a folder passed, by `file::test`."""
    report = folder / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}", f"--junitxml={report}"]
    # The plugins of other libraries take longer to load than the tests take to run.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run([sys.executable, "-m", "pytest", *options, folder], cwd=folder, env=environment, capture_output=True)
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname', '').partition('.')[0]}::{case.get('name')}": not len(case) for case in cases}
