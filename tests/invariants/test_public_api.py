"""What the public names promise: they change only on purpose, and each shows how it is used."""

from __future__ import annotations

import inspect
from pathlib import Path

import list_api
import pytest
from public_api import MODULES, public_names

from tests.typing import program

# Those of Haystack's components are in the evaluators that they are made of.
CALLABLE = {
    (module, name.name): name.value
    for module in MODULES
    for name in public_names(module)
    if inspect.isfunction(name.value) or (inspect.isclass(name.value) and name.value.__module__.startswith("karat."))
}


def test_a_public_name_or_its_signature_changes_only_together_with_the_page_that_lists_it() -> None:
    assert list_api.FILE.read_text("utf-8") == list_api.page(), (
        "run scripts/list_api.py, and say in CHANGELOG.md what changed"
    )


@pytest.mark.parametrize(("module", "name"), sorted(CALLABLE))
def test_every_public_function_and_class_has_an_example(module: str, name: str) -> None:
    assert "\n>>> " in (inspect.getdoc(CALLABLE[module, name]) or ""), f"{module}.{name} does not show how it is used"


def test_the_program_that_pyright_checks_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(tmp_path) == 0, capsys.readouterr().out
