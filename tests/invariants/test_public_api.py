"""What the public names promise: they change only on purpose, and each shows how it is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import list_api
import pytest
from public_api import MODULES, members, public_names

import karat
from tests.typing import program

# Those of Haystack's components are in the evaluators that they are made of.
CALLABLE = {
    (module, name.name): name.value
    for module in MODULES
    for name in public_names(module)
    if inspect.isfunction(name.value) or (inspect.isclass(name.value) and name.value.__module__.startswith("karat."))
}
CLASSES = {
    name
    for path in Path(karat.__path__[0]).rglob("*.py")
    for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)
}
NOT_NAMED = {
    **dict.fromkeys(("Table", "Cell"), "how a result is printed"),
    **dict.fromkeys(("QueryDiff", "QueryInFull", "Favour", "OrderOfSystems"), "rows, which to_dict() has"),
    **dict.fromkeys(("Citations", "Judged", "Labels", "PassagePairs"), "arrays that measures of labels read"),
    **dict.fromkeys(("CorrectedScores", "CorrectedDifferences"), "printed, or read with records()"),
    "Line": "a line of GitHub's annotations",
    "StoredScores": "of Spark, which is not there where examples run",
}


def test_a_public_name_or_its_signature_changes_only_together_with_the_page_that_lists_it() -> None:
    assert list_api.FILE.read_text("utf-8") == list_api.page(), (
        "run scripts/list_api.py, and say in CHANGELOG.md what changed"
    )


@pytest.mark.parametrize(("module", "name"), sorted(CALLABLE))
def test_every_public_function_and_class_has_an_example(module: str, name: str) -> None:
    assert "\n>>> " in (inspect.getdoc(CALLABLE[module, name]) or ""), f"{module}.{name} does not show how it is used"


def test_what_a_public_function_or_method_returns_is_public_so_that_a_program_can_name_it() -> None:
    public = {*NOT_NAMED, *(name.name for module in MODULES for name in public_names(module))}
    for module in MODULES:
        for name in public_names(module):
            if inspect.isfunction(name.value):
                assert classes_of_karat(name.value) <= public, f"{module}.{name.name}"
            for member in members(name.value) if inspect.isclass(name.value) else ():
                if inspect.isfunction(member.value):
                    assert classes_of_karat(member.value) <= public, f"{module}.{name.name}.{member.name}"


def classes_of_karat(function: Callable[..., object]) -> set[str]:
    """The names of karat's classes in what a function returns."""
    names = set(re.findall(r"[A-Z]\w+", str(inspect.signature(function).return_annotation)))
    return names & CLASSES


def test_the_program_that_pyright_checks_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(tmp_path) == 0, capsys.readouterr().out
