"""What differs on Windows, simulated: files that are open, locks and paths."""

from __future__ import annotations

import errno
import ntpath
import os
import time
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from karat import KaratError, check, cli
from karat.cli.files import split_column, split_texts
from karat.comparison.gate.config import read_config
from karat.engines.spark import files as spark_files
from karat.errors.arguments import is_remote
from karat.grounding.judges.journal import Journal
from karat.grounding.sheets.filled import FilledSheet
from karat.grounding.sheets.importing import add_to_verdict_file
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.output import files
from karat.output.appended_file import AppendedFile
from karat.output.files import check_writable, remove_drafts, write_text, write_whole
from karat.reading.bytes.input_file import InputFile
from karat.reading.bytes.remote import local_path, path_in_uri
from karat.reading.pairs.paths import run_names
from tests.end_to_end.in_process import run_here

RUN = "q Q0 a 1 1 t\n"


def drafts(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".part"))


# Files that are open cannot be replaced or removed.


def test_new_and_old_files_are_written_whole(windows: Path) -> None:
    for text in ("first", "second"):
        write_text(text, windows / "out.csv")
        assert (windows / "out.csv").read_text() == text
    assert os.listdir(windows) == ["out.csv"]


def test_a_file_that_another_program_reads_is_replaced_once_it_is_closed(
    windows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (windows / "out.csv").write_text("old")
    with open(windows / "out.csv") as reader:
        monkeypatch.setattr(time, "sleep", lambda _: reader.close())
        write_text("new", windows / "out.csv")
    assert (windows / "out.csv").read_text() == "new"


def test_a_file_that_stays_open_elsewhere_is_left_as_it_was_and_the_error_says_why(
    windows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", {}.get)
    (windows / "out.csv").write_text("old")
    with open(windows / "out.csv"), pytest.raises(KaratError) as caught:
        write_text("new", windows / "out.csv")
    assert caught.value.what == "cannot be written: another program may have this file open"
    assert (windows / "out.csv").read_text() == "old"
    assert drafts(windows) == []


def test_a_failed_write_leaves_no_draft(windows: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_whole(windows / "out.csv", lambda _: 1 / 0)
    assert os.listdir(windows) == []


def test_the_draft_of_a_killed_writer_is_removed_after_an_hour_and_no_other(windows: Path) -> None:
    old, young, in_use = (windows / f".karat-{digit * 16}.part" for digit in "abc")
    for draft in (old, young, in_use):
        draft.touch()
    for draft in (old, in_use):
        os.utime(draft, (0, 0))
    with open(in_use, "rb"):
        write_text("x", windows / "out.csv")
    assert drafts(windows) == [young.name, in_use.name]


def test_a_draft_that_is_open_is_removed_when_a_signal_ends_the_process(windows: Path) -> None:
    draft, _ = files._create_draft(windows, 0o666)
    remove_drafts()
    files._open_drafts.pop(draft)
    assert os.listdir(windows) == []


def test_a_device_is_written_to_although_it_is_in_no_folder(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "realpath", lambda path: rf"\\.\{path}")
    assert files.target_of("NUL") == Path("NUL")
    monkeypatch.setattr(files, "target_of", lambda _: Path(os.devnull))
    monkeypatch.setattr(os, "access", lambda *_: False)
    check_writable("NUL")
    write_text("x", "NUL")


def test_a_folder_in_the_place_of_a_file_is_recognized(windows: Path) -> None:
    for read in (lambda folder: InputFile(str(folder)).read_all(), read_config):
        with pytest.raises(KaratError, match="this is a folder, not a file"):
            read(windows)
    with pytest.raises(KaratError, match=os.strerror(errno.EISDIR)):
        AppendedFile(str(windows))


# Verdict files are locked.


VERDICT = {
    "record": "verdict", "query": "q1", "system": "a", "task": "support", "item": "c1", "against": "context",
    "label": "full", "by": "human",
}  # fmt: skip


def test_a_verdict_file_has_one_writer(windows: Path) -> None:
    path = windows / "verdicts.jsonl"
    with Journal(path) as file:
        file.write(None, [VERDICT])
        with pytest.raises(KaratError, match="another process is writing to this file"), Journal(path):
            pass
        with pytest.raises(KaratError, match="another process is writing to this file"):
            add_to_verdict_file(FilledSheet("sheet.csv", verdicts=[VERDICT]), path)
    with Journal(path) as file:
        file.write(None, [{**VERDICT, "label": "none"}])
    assert list(read_verdict_records(path).labels.label) == ["full", "none"]


def test_labels_are_added_to_a_verdict_file_that_exists(windows: Path) -> None:
    path = windows / "verdicts.jsonl"
    for label in ("full", "none"):
        assert add_to_verdict_file(FilledSheet("sheet.csv", verdicts=[{**VERDICT, "label": label}]), path).labels == 1
    assert list(read_verdict_records(path).labels.label) == ["full", "none"]
    assert os.listdir(windows) == ["verdicts.jsonl"]


def test_a_new_verdict_file_without_labels_is_removed(windows: Path) -> None:
    with Journal(windows / "verdicts.jsonl"):
        pass
    assert os.listdir(windows) == []


def test_a_file_that_has_the_byte_of_the_lock_is_not_locked(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_LOCKED_BYTE", 2)
    (windows / "large.jsonl").write_text("123")
    with open(windows / "large.jsonl") as file:
        assert files.lock(file.fileno()) is None


def test_the_hint_on_a_changed_verdict_file_has_no_command_of_another_system(windows: Path) -> None:
    file = AppendedFile(str(windows / "verdicts.jsonl"))
    file.append(b"{}\n")
    with open(windows / "verdicts.jsonl", "ab") as other:
        other.write(b"{}\n")
    with pytest.raises(KaratError, match="add that to its end, and run the same again"):
        file.append(b"{}\n")
    file.close()


# Paths have drives, backslashes, and letters whose case does not count.


def test_a_drive_is_neither_the_scheme_of_a_uri_nor_a_file_with_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    assert not any(map(is_remote, (r"C:\data\run.trec", "C:/data/run.trec", r"\\server\share\run.trec")))
    assert split_texts(r"C:\data\queries.csv") == (r"C:\data\queries.csv", None)
    assert split_column(r"C:\data\queries.csv:text") == (r"C:\data\queries.csv", "text")
    assert split_column("queries.csv:text") == ("queries.csv", "text")


def test_a_uri_of_a_file_leads_to_its_drive(windows: Path) -> None:
    assert local_path("file:///C:/my%20data/run.trec") == "C:/my data/run.trec"
    assert path_in_uri("/data/run.trec") == "/data/run.trec"
    assert path_in_uri("//server/share/run.trec") == "//server/share/run.trec"


def test_systems_are_named_after_files_behind_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karat.reading.bytes.names.PurePath", PureWindowsPath)
    assert run_names([r"C:\runs\bm25.trec", r"C:\runs\dense.trec.gz"]) == ["bm25", "dense"]
    assert run_names([r"a\run.txt", r"b\run.txt"]) == ["a/run", "b/run"]


def test_two_outputs_whose_names_differ_in_case_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "truth.qrels").write_text("q 0 a 1\n")
    (tmp_path / "run.trec").write_text(RUN)
    monkeypatch.setattr(os.path, "normcase", ntpath.normcase)
    words = ["gate", "truth.qrels", "run.trec", "--min", "AP=0.1", "--junit", "OUT.xml", "-o", "out.xml"]
    assert "name the same file" in run_here(tmp_path, *words).stderr


def test_github_gets_places_with_slashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "truth.qrels").write_text("q 0 a 1\nq 0 a 1\n")
    monkeypatch.chdir(tmp_path)
    checked = check("eval/truth.qrels")
    monkeypatch.setattr(os.path, "normpath", ntpath.normpath)
    monkeypatch.setattr("karat.evaluation.check.checked.PurePath", PureWindowsPath)
    assert "file=eval/truth.qrels," in checked.to_github()


def test_spark_gets_uris_of_files_and_karat_their_paths(windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark_files._uri(r"C:\data\run [1].parquet") == "file:/C:/data/run [1].parquet"
    monkeypatch.setattr(os.path, "isfile", "C:/data/run.parquet".__eq__)
    for uri in ("file:///C:/data/run.parquet", "file:/C:/data/run.parquet"):
        assert spark_files._on_disk(uri) == "C:/data/run.parquet"


def test_what_a_pattern_stands_for_is_left_to_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr(cli.program, "main", lambda **options: called.update(options))
    run_here(tmp_path, "evaluate", "truth.qrels", "runs/*.parquet")
    assert called["windows_expand_args"] is False
