"""Files are written completely or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO
from unittest.mock import patch

import pytest

from karat import KaratError
from karat.output.files import check_writable, write_whole
from tests.platforms import on_posix


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


@on_posix
def test_a_new_file_gets_default_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        # Setting the umask, even for a moment, would change the files that other threads create.
        with patch("os.umask", side_effect=AssertionError):
            write_whole(tmp_path / "new", lambda file: file.write(b"x"))
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
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


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch(0o640)
    os.chown(tmp_path / "theirs", 1234, 5678)
    write_whole(tmp_path / "theirs", lambda file: file.write(b"x"))
    status = (tmp_path / "theirs").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 5678, 0o640)


@on_posix
def test_what_is_written_over_a_private_file_is_private_from_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o600)
    modes = []
    write_whole(tmp_path / "old", lambda file: modes.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode)))
    assert modes == [0o600]


@pytest.mark.parametrize("protected", ["folder", "folder/kept"])
def test_what_is_protected_against_writing_is_not_replaced(protected: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/kept").write_text("old")
    with patch("os.access", lambda path, _: Path(path) != tmp_path / protected):  # what it says if not run by root
        with pytest.raises(KaratError, match="kept: cannot be written: Permission denied"):
            check_writable(tmp_path / "folder/kept")
        with pytest.raises(KaratError, match="kept: cannot be written: Permission denied"):
            write_whole(tmp_path / "folder/kept", lambda file: file.write(b"x"))
    assert (tmp_path / "folder/kept").read_text() == "old"


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "語" * 85, "🏅" * 63])
def test_a_name_may_be_as_long_as_the_file_system_allows(name: str, tmp_path: Path) -> None:
    for _ in range(2):
        write_whole(tmp_path / name, lambda file: file.write(b"x"))
    assert os.listdir(tmp_path) == [name]


KILLED = """
import os, sys
from karat.output.files import write_whole

def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), 9)

write_whole(sys.argv[1], write)
"""


def drafts(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".part")]


@on_posix
def test_the_draft_of_a_killed_writer_is_removed_by_the_next_but_not_that_of_a_living_one(tmp_path: Path) -> None:
    others = [".karat-mine.part", "karat-0123456789abcdef.part", ".out.csv.part"]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / ".karat-0123456789abcdef.part").symlink_to("target")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out.csv")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        write_whole(tmp_path / "out.csv", lambda file: file.write(b"x"))
        assert len(drafts(tmp_path)) == len(others) + 2
        writer.communicate()
    assert len(drafts(tmp_path)) == len(others) + 2
    write_whole(tmp_path / "out.csv", lambda file: file.write(b"x"))
    assert sorted(drafts(tmp_path)) == sorted([*others, ".karat-0123456789abcdef.part"])


def test_writers_in_several_threads_do_not_remove_each_others_drafts(tmp_path: Path) -> None:
    def write(at: int) -> None:
        write_whole(tmp_path / f"out{at % 3}", lambda file: file.write(b"%d" % at * 1000))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(200)))
    assert sorted(os.listdir(tmp_path)) == ["out0", "out1", "out2"]
    for file in tmp_path.iterdir():
        text = file.read_text()
        assert text == text[: len(text) // 1000] * 1000


@on_posix
def test_a_full_disk_is_an_error_and_leaves_no_draft(tmp_path: Path) -> None:
    with pytest.raises(KaratError, match="/dev/full: cannot be written: No space left"):
        write_whole("/dev/full", lambda file: file.write(b"x"))


@on_posix
def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit((tmp_path / "pipe").read_bytes)
        write_whole(tmp_path / "pipe", lambda file: file.write(b"x"))
        assert reader.result() == b"x"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_file_that_is_already_open_is_continued_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n")
    program = f"from karat.output.files import write_text; print('1'); write_text('2\\n', '{name}'); print('3')"
    with open(tmp_path / "log", "a") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, check=True)
    assert (tmp_path / "log").read_text() == "before\n1\n2\n3\n"
