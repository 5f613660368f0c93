"""What all unit tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulated_windows import simulate_windows


@pytest.fixture(scope="module", autouse=True)
def without_pictures() -> Iterator[None]:
    """Comparisons are shown without the picture of their differences, which takes long; tests/report tests it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.report.plots.pictures.find_spec", {}.get)
        yield


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on Windows."""
    simulate_windows(monkeypatch)
    return tmp_path
