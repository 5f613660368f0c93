"""What is missing for Spark is named, with the way to install it."""

from __future__ import annotations

import sys

import pytest

from karat import KaratError
from karat.engines.spark.session import check_installed


@pytest.mark.parametrize("missing", ["pandas", "pyspark"])
def test_without_pyspark_or_pandas_an_error_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(KaratError, match=r"^Spark cannot be used: .*\. Run: pip install 'karat\[spark\]'$"):
        check_installed()
