"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("karat", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("karat"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "karat")


@pytest.fixture(scope="session")
def conformance() -> Path:
    """trec_eval's own test data, which stands beside the repository where it is developed."""
    folder = Path(__file__).parents[2] / "shared" / "conformance" / "trec_eval"
    if not folder.is_dir():
        pytest.skip("trec_eval's test data is not beside the repository (../shared/conformance)")
    return folder
