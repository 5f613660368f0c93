"""What all unit tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def without_pictures() -> Iterator[None]:
    """Comparisons are shown without the picture of their differences, which takes long; tests/report tests it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("karat.report.plots.pictures.find_spec", {}.get)
        yield
