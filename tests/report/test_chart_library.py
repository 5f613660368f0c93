"""The cache of the chart library."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from karat.report.chart_library import chart_library


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
    monkeypatch.setattr("karat.report.chart_library.version", lambda _: "99.0")
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


def plant(path: Path, script: bytes = b"planted") -> None:
    """A library with a valid digest, as someone else may have written it."""
    path.write_bytes(hashlib.sha256(script).hexdigest().encode() + b"\n" + script)


only_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no owners and modes of this kind")


@only_posix
@pytest.mark.parametrize("part", ["folder", "file"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_a_cache_that_others_can_write_to_is_not_used(bundled: list[str], tmp_path: Path, part: str, mode: int) -> None:
    assert library_of_a_new_process() == "library of 1"
    (path,) = (tmp_path / "karat").iterdir()
    plant(path)
    opened = path.parent if part == "folder" else path
    opened.chmod(opened.stat().st_mode | mode)
    assert library_of_a_new_process() == "library of 2"
    if part == "folder":  # nothing is written to it
        assert b"planted" in path.read_bytes()
        assert library_of_a_new_process() == "library of 3"
    else:  # the file is replaced by a private one
        assert library_of_a_new_process() == "library of 2"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@only_posix
@pytest.mark.parametrize("part", ["folder", "file"])
def test_a_cache_that_is_a_link_is_not_used(bundled: list[str], tmp_path: Path, part: str) -> None:
    library_of_a_new_process()
    (path,) = (tmp_path / "karat").iterdir()
    other = tmp_path / "elsewhere"
    (path.parent if part == "folder" else path).rename(other)
    plant(other / path.name if part == "folder" else other)
    (path.parent if part == "folder" else path).symlink_to(other)
    assert library_of_a_new_process() == "library of 2"
    assert b"planted" in (other / path.name if part == "folder" else other).read_bytes()


@only_posix
def test_a_cache_of_another_user_is_not_used(
    bundled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library_of_a_new_process()
    (path,) = (tmp_path / "karat").iterdir()
    before = path.read_bytes()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert library_of_a_new_process() == "library of 2"
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


@only_posix
def test_a_cached_library_is_private_whatever_the_umask(bundled: list[str], tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        library_of_a_new_process()
    finally:
        os.umask(before)
    (path,) = (tmp_path / "karat").iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
    assert library_of_a_new_process() == f"library of {len(bundled)}" == "library of 1"


@only_posix
def test_a_pipe_in_the_cache_does_not_stop_a_report(bundled: list[str], tmp_path: Path) -> None:
    library_of_a_new_process()
    (path,) = (tmp_path / "karat").iterdir()
    path.unlink()
    os.mkfifo(path, 0o600)
    assert library_of_a_new_process() == f"library of {len(bundled)}" == "library of 2"


def _no_home() -> Path:
    raise RuntimeError
