"""The examples in docs/ that need Spark run, and print what is shown below them."""

from __future__ import annotations

from pathlib import Path

import pytest
from paste_outputs import pasted
from paste_spark_outputs import PAGES_ON_SPARK


@pytest.mark.parametrize("page", PAGES_ON_SPARK, ids=lambda page: page.name)
def test_the_examples_on_a_page_print_what_is_shown_below_them(page: Path) -> None:
    shown = page.read_text("utf-8")
    assert shown == pasted(page, on_spark=True), "run scripts/paste_spark_outputs.py to update the outputs"
