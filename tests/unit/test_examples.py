"""Every example in a docstring runs and prints what the docstring shows."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import karat
from karat.data.preferences import Preferences
from karat.measures import definitions
from karat.registry.measure import Definition

NAMES = {
    "evaluate": karat.evaluate,
    "evaluate_answers": karat.evaluate_answers,
    "evaluate_verdicts": karat.evaluate_verdicts,
}
MODULES = ["karat", *sorted(module.name for module in pkgutil.walk_packages(karat.__path__, "karat."))]
ON_SPARK = "karat.engines.spark"  # tests/spark runs their examples


def has_examples(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return ">>> " in Path(spec.origin).read_text("utf-8")


def test_every_module_can_be_imported() -> None:
    for name in MODULES:
        importlib.import_module(name)


@pytest.mark.parametrize("name", [name for name in MODULES if has_examples(name) and not name.startswith(ON_SPARK)])
def test_the_examples_of_a_module_print_what_their_docstring_shows(name: str) -> None:
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, globs={**vars(module), **NAMES}):
        result = doctest.DocTestRunner().run(test)
        assert result.failed == 0, test.name


@pytest.mark.parametrize("definition", definitions(), ids=lambda definition: definition.name)
def test_every_measure_has_documentation_with_an_example(definition: Definition) -> None:
    assert definition.summary
    assert definition.formula
    assert definition.reference
    names: dict[str, object] = dict(NAMES)
    if definition.takes == "preferences":
        names = {"Preferences": Preferences, definition.name: getattr(karat.measures, definition.name)}
    test = doctest.DocTestParser().get_doctest(definition.example, names, definition.name, None, None)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0
