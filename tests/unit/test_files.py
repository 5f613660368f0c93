"""Files are written completely or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest

from karat import KaratError
from karat.output.files import write_whole


def failing(file: BinaryIO) -> None:
    file.write(b"half")
    raise RuntimeError("in the middle")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old")
    with pytest.raises(RuntimeError):
        write_whole(target, failing)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_new_file_gets_default_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_whole(tmp_path / "new", lambda file: file.write(b"x"))
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644
    (tmp_path / "old").touch(0o600)
    write_whole(tmp_path / "old", lambda file: file.write(b"x"))
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o600


def test_a_link_is_kept_and_the_file_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", lambda file: file.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_missing_folder_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match=r"none/out\.csv: cannot be written: No such file"):
        write_whole(tmp_path / "none" / "out.csv", lambda file: file.write(b"x"))
