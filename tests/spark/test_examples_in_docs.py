"""The examples in docs/ and in docstrings that need Spark run, and print what is shown below them."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from paste_outputs import pasted
from paste_spark_outputs import PAGES_ON_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("page", PAGES_ON_SPARK, ids=lambda page: page.name)
def test_the_examples_on_a_page_print_what_is_shown_below_them(page: Path) -> None:
    shown = page.read_text("utf-8")
    assert shown == pasted(page, on_spark=True), "run scripts/paste_spark_outputs.py to update the outputs"


@pytest.mark.parametrize("name", ["", ".answers", ".results", ".verdicts"])
def test_the_example_in_a_docstring_prints_what_it_shows(name: str, spark: SparkSession) -> None:
    module = import_module(f"karat.engines.spark{name}")
    tests = doctest.DocTestFinder(exclude_empty=True).find(module, globs={**vars(module), "spark": spark})
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.attempted for result in results)
    assert not sum(result.failed for result in results)
