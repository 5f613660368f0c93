"""What is missing for Spark is named, with the way to install it."""

from __future__ import annotations

import re
import sys

import pytest

from karat import KaratError
from karat.engines.spark.session import check_installed
from karat.errors.installing import pip_install


@pytest.mark.parametrize("missing", ["pandas", "pyspark"])
def test_without_pyspark_or_pandas_an_error_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(KaratError, match=rf"^Spark cannot be used: .*\. Run: {re.escape(pip_install('spark'))}$"):
        check_installed()
