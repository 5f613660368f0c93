"""The cache of the chart library."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from karat.report.rendering import chart_library


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The snippets that were bundled, with a cache folder that is empty."""
    snippets: list[str] = []

    def bundle(snippet: str) -> str:
        snippets.append(snippet)
        return f"library of {len(snippets)}"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return snippets


def library_of_a_new_process() -> str:
    chart_library.cache_clear()
    try:
        return chart_library()
    finally:
        chart_library.cache_clear()


def test_the_library_is_bundled_once_for_all_processes(bundled: list[str], tmp_path: Path) -> None:
    assert [library_of_a_new_process() for _ in range(2)] == ["library of 1"] * 2
    assert len(bundled) == 1
    (path,) = (tmp_path / "karat").iterdir()
    assert path.name.startswith(f"vega-{version('vl-convert-python')}-")


def test_another_version_of_vl_convert_is_bundled_again(bundled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    library_of_a_new_process()
    monkeypatch.setattr("karat.report.rendering.version", lambda _: "99.0")
    assert library_of_a_new_process() == "library of 2"


@pytest.mark.parametrize("damage", [b"", b"window.vegaEmbed = 1", b"\xff\n\xff"], ids=["empty", "no digest", "bytes"])
def test_a_damaged_cache_is_replaced(bundled: list[str], tmp_path: Path, damage: bytes) -> None:
    library_of_a_new_process()
    (path,) = (tmp_path / "karat").iterdir()
    path.write_bytes(damage)
    assert [library_of_a_new_process() for _ in range(2)] == ["library of 2"] * 2


@pytest.mark.parametrize("cache", ["file", "folder", "relative", "nowhere"])
def test_a_cache_that_cannot_be_written_is_not_needed(
    bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if cache == "file":
        (tmp_path / "karat").write_text("a file where the folder should be")
    elif cache == "folder":
        library_of_a_new_process()
        (path,) = (tmp_path / "karat").iterdir()
        path.unlink()
        path.mkdir()
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "relative" if cache == "relative" else "")
        monkeypatch.setattr(Path, "home", _no_home)
    before = sorted(tmp_path.rglob("*"))
    assert library_of_a_new_process() == f"library of {len(bundled)}"
    assert sorted(tmp_path.rglob("*")) == before


def _no_home() -> Path:
    raise RuntimeError
