"""Fixtures of all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import karat.measures  # noqa: F401  # registers all measures before any test
from tests.restored_registry import restored_registry

# Otherwise Haystack writes a configuration into the home directory and sends telemetry.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

# A shell starts background jobs with Ctrl-C ignored, and the commands that tests start would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` has five minutes. `make fuzz` tries more examples, with other seeds.
settings.register_profile(
    "karat",
    max_examples=30,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.register_profile("ci", settings.get_profile("karat"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "karat")


@pytest.fixture(autouse=True)
def _restore_registry() -> Iterator[None]:
    """Remove the measures that a test or an example registered."""
    with restored_registry():
        yield


@pytest.fixture(scope="session")
def conformance() -> Path:
    """trec_eval's own test data, which is next to the repository on development machines."""
    folder = Path(__file__).parents[2] / "shared" / "conformance" / "trec_eval"
    if not folder.is_dir():
        pytest.skip("trec_eval's test data is not next to the repository (../shared/conformance)")
    return folder


@pytest.fixture(scope="module")
def tiny_ranges() -> Iterator[None]:
    """Ranges of files may be as small as a byte, or a row group with a row, so that small files have several."""
    from karat.reading.pairs import range_plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(range_plan, "_LEAST_BYTES", 1)
        patch.setattr(range_plan, "_LEAST_ROWS", 1)
        yield
