"""A verdict file that somebody replaces, deletes or changes while a judge writes to it: no reply is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import karat
from karat.errors import KaratError
from karat.grounding.judges.journal import Journal
from tests.judges.commands import KEY, MODEL, judge_words, key_of, results_file, run, toy_rule, written_calls
from tests.llm_server import LLMServer, Sent

QUERIES = 12
HALFWAY = QUERIES


def replace_by_a_copy(path: Path) -> None:
    copy = path.with_suffix(".copy")
    shutil.copyfile(path, copy)
    copy.replace(path)


def replace_by_an_older_version(path: Path) -> None:
    old = path.with_suffix(".old")
    old.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:7]))
    old.replace(path)


def move_the_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def shorten(path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(len(path.read_bytes()) // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def write_an_older_version(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:7]))


def add_a_line(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"record":"item","query":"q0","id":"n1","type":"nugget","text":"Gold is soft."}\n')


WAYS: dict[Callable[[Path], Any], str] = {
    replace_by_a_copy: "the file was replaced by another one while it was being written to",
    replace_by_an_older_version: "the file was replaced by another one while it was being written to",
    Path.unlink: "the file was deleted or moved while it was being written to",
    empty: "the file was shortened by another program while it was being written to",
    write_an_older_version: "the file was shortened by another program while it was being written to",
    add_a_line: "the file was added to by another program while it was being written to",
}


def displacing_rule(path: Path, change: Callable[[Path], Any]) -> Callable[[Sent], Any]:
    def rule(sent: Sent) -> Any:
        if sent.number == HALFWAY:
            change(path)
        return toy_rule(sent)

    return rule


@pytest.mark.parametrize("change", WAYS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("is_new", [True, False], ids=["new", "continued"])
def test_a_judge_stops_at_once_and_keeps_the_replies_that_are_not_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], Any], is_new: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    results, path = results_file(tmp_path, QUERIES), tmp_path / "verdicts.jsonl"
    kept = path.with_name("verdicts.jsonl.kept")
    options: dict[str, Any] = {"task": "faithfulness", "model": MODEL, "verdicts": path, "concurrency": 1}
    if not is_new:
        with LLMServer(toy_rule) as server:
            karat.judge(results, **options, base_url=server.url, max_calls=2)
    with LLMServer(displacing_rule(path, change)) as server:
        with pytest.raises(KaratError) as error:
            karat.judge(results, **options, base_url=server.url)
        assert len(server.sent) == HALFWAY + 1
        assert WAYS[change] in str(error.value)
        assert f"is kept in {kept}." in str(error.value)
        paid = {key_of(each) for each in server.sent}
    in_file = written_calls(path)
    assert paid == (written_calls(kept) | in_file) & paid
    assert not written_calls(kept) & in_file, "a call is in both files"
    with path.open("ab") as file:
        file.write(kept.read_bytes())
    with LLMServer(toy_rule) as server:
        karat.judge(results, **options, base_url=server.url)
        assert not paid & {key_of(each) for each in server.sent}
    assert karat.evaluate_verdicts(path)["Faithfulness"] == pytest.approx((4 + 8 * 0.5) / QUERIES)


def test_a_file_that_is_cut_within_a_line_loses_no_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    results, path = results_file(tmp_path, QUERIES), tmp_path / "verdicts.jsonl"
    with LLMServer(displacing_rule(path, shorten)) as server:
        options: dict[str, Any] = {"model": MODEL, "base_url": server.url, "concurrency": 1}
        with pytest.raises(KaratError, match="shortened by another program"):
            karat.judge(results, task="faithfulness", verdicts=path, **options)
        kept = path.with_name("verdicts.jsonl.kept")
        assert written_calls(path) | written_calls(kept) == {key_of(each) for each in server.sent}
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rfind(b"\n") + 1] + kept.read_bytes())
    with Journal(path) as journal:
        assert not journal.notes


def test_replies_are_kept_in_the_temporary_folder_if_the_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "folder", tmp_path / "temporary"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    for each in (folder, elsewhere):
        each.mkdir()
    results, path = results_file(tmp_path, QUERIES), folder / "verdicts.jsonl"
    with LLMServer(displacing_rule(path, move_the_folder)) as server:
        options: dict[str, Any] = {"model": MODEL, "base_url": server.url, "concurrency": 1}
        with pytest.raises(KaratError, match="deleted or moved"):
            karat.judge(results, task="faithfulness", verdicts=path, **options)
        assert written_calls(elsewhere / "verdicts.jsonl.kept") == {key_of(each) for each in server.sent}


def test_the_command_ends_with_an_error_that_says_how_to_add_what_was_kept(tmp_path: Path) -> None:
    results, path = results_file(tmp_path, QUERIES), tmp_path / "verdicts.jsonl"
    with LLMServer(displacing_rule(path, replace_by_a_copy)) as server:
        done = run(*judge_words(results, path, server.url))
        assert (done.returncode, done.stdout) == (2, "")
        assert f"karat: {path}: {WAYS[replace_by_a_copy]}. What was received" in done.stderr
        assert f"(cat {path}.kept >> {path}), and run the same again." in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert len(server.sent) < 2 * QUERIES


def test_a_file_that_is_replaced_after_the_last_reply_is_noticed_too(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    call = {"record": "call", "key": "k1", "reply": "{}"}
    other = tmp_path / "other"
    other.write_bytes(b"")
    journal = Journal(path).__enter__()
    journal.write(call, [])
    other.replace(path)
    with pytest.raises(KaratError, match="replaced by another one"):
        journal.__exit__(None)
    assert path.read_bytes() == b""
    assert written_calls(path.with_name("verdicts.jsonl.kept")) == {"k1"}
    with Journal(path) as journal:
        journal.write(call, [])
        replace_by_a_copy(path)
    assert written_calls(path) == {"k1"}


def test_a_new_file_that_takes_the_place_of_an_empty_one_is_not_removed(tmp_path: Path) -> None:
    path, other = tmp_path / "verdicts.jsonl", tmp_path / "other"
    other.write_bytes(b"")
    with Journal(path):
        other.replace(path)
    assert path.exists()
