"""The verdict file as a journal: nothing that was written is lost, and nothing is asked twice."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.errors import KaratError
from karat.grounding.judges.journal import Journal
from karat.grounding.judges.known_records import KnownCall
from karat.grounding.judges.requests import ModelRequest, ReadReply
from karat.grounding.sheets.filled import FilledSheet
from karat.grounding.sheets.importing import add_to_verdict_file
from karat.grounding.verdict_file.reading import read_verdict_records
from karat.grounding.verdict_file.records import record_line, text_digest
from tests.platforms import on_posix


def call(key: str, reply: str | None = "{}", state: str = "done", **more: Any) -> dict[str, Any]:
    return {"record": "call", "key": key, "model": "m", "reply": reply, "state": state, "verdicts": 1, **more}


def item(name: str = "c1", text: str = "Gold is soft.", query: str = "q1", system: str | None = "a") -> dict[str, Any]:
    owner = {"query": query, "system": system} if system else {"query": query}
    of = {"id": name, "type": "claim", "of": "answer", "text": text, "digest": text_digest(text)}
    return {"record": "item", **owner, **of}


def verdict(name: str = "c1", label: str | None = "full", system: str = "a", **more: Any) -> dict[str, Any]:
    about = {"query": "q1", "system": system, "task": "support", "item": name, "against": "context"}
    return {"record": "verdict", **about, "label": label, "by": "m", **more}


def known(journal: Journal, key: str) -> KnownCall:
    call = journal.known(key)
    assert call is not None
    return call


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", {}.get)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.jsonl"


@pytest.fixture(params=["file", "memory"])
def journal(request: pytest.FixtureRequest, path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield Journal()
    else:
        with Journal(path) as file:
            yield file


def test_a_written_call_is_known(journal: Journal) -> None:
    journal.write(call("k1"), [item(), verdict()])
    assert known(journal, "k1").reply == "{}"
    assert journal.known("k2") is None


def test_items_are_found_by_query_and_system_as_they_are_now(journal: Journal) -> None:
    journal.write(None, [item("c1"), item("c2"), item("n1", system=None), item("c1", query="q2")])
    journal.write(call("k1"), [item("c1", "Gold melts.")])
    assert [(each.id, each.text) for each in journal.items("q1", "a").values()] == [
        ("c1", "Gold melts."),
        ("c2", "Gold is soft."),
    ]
    assert [each.id for each in journal.items("q1", None).values()] == ["n1"]
    assert journal.items("q1", "b") == {}


def test_a_failure_with_a_reply_is_known_and_one_without_is_not(journal: Journal) -> None:
    journal.write(call("understood", state="failed"), [])
    journal.write(call("no-reply", None, "failed"), [])
    assert journal.known("understood") is not None
    assert journal.known("no-reply") is None


def test_the_file_has_the_records_of_a_call_before_the_call(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [item(), verdict()])
    assert [(each["record"], each.get("call")) for each in lines(path)] == [
        ("file", None),
        ("item", "k1"),
        ("verdict", "k1"),
        ("call", None),
    ]
    assert list(read_verdict_records(path).labels.call) == ["k1"]


def test_everything_is_known_after_the_file_was_opened_again(path: Path) -> None:
    with Journal(path) as file:
        file.write(None, [item("n1", system=None)])
        file.write(call("k1", "first"), [item("c1"), item("c2"), verdict()])
        file.write(call("k2", "second"), [])
    before = path.read_bytes()
    with Journal(path) as file:
        assert [known(file, key).reply for key in ("k1", "k2")] == ["first", "second"]
        assert [each.id for each in file.items("q1", "a").values()] == ["c1", "c2"]
        assert [each.id for each in file.items("q1", None).values()] == ["n1"]
        assert file.models == ["m"]
        file.write(None, [item("n1", system=None)])
        file.reuse("k1", [item("c1"), item("c2"), verdict()])
    assert path.read_bytes() == before


def test_calls_that_failed_are_made_again_if_that_is_wanted(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", "?", "failed"), [verdict(label=None, state="failed")])
    with Journal(path, retry_failed=True) as file:
        assert file.known("k1") is None
        file.write(call("k1", "{}"), [verdict()])
        assert known(file, "k1").state == "done"
    with Journal(path) as file:
        assert known(file, "k1").reply == "{}"
    assert list(read_verdict_records(path).labels.label) == [None, "full"]


def test_a_failure_does_not_replace_a_reply(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", "{}"), [])
        file.write(call("k1", None, "failed"), [])
        assert known(file, "k1").reply == "{}"


def test_the_reply_about_two_systems_is_written_for_both(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", tokens_in=7), [verdict(system="a")])
        for _ in range(2):
            file.reuse("k1", [verdict(system="b")])
    labels = read_verdict_records(path).labels
    assert list(zip(labels.system, labels.call, strict=True)) == [("a", "k1"), ("b", "k1")]
    assert [each.get("tokens_in") for each in lines(path) if each["record"] == "call"] == [7, None]
    with Journal(path) as file:
        assert known(file, "k1").tokens_in == 7


@pytest.mark.parametrize("reply", ["?", None])
def test_a_reply_after_a_failure_is_written_for_both_systems(path: Path, reply: str | None) -> None:
    with Journal(path) as file:
        file.write(call("k1", reply, "failed"), [verdict(label=None, state="failed")])
        file.reuse("k1", [verdict(label=None, state="failed", system="b")])
    with Journal(path, retry_failed=True) as file:
        file.write(call("k1"), [verdict()])
        for _ in range(2):
            file.reuse("k1", [verdict(system="b")])
    labels = read_verdict_records(path).labels
    assert list(zip(labels.system, labels.label, strict=True))[2:] == [("a", "full"), ("b", "full")]


def test_a_reply_about_the_same_texts_is_written_for_items_with_other_ids(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [verdict("c1"), verdict("c2")])
        for _ in range(2):
            file.reuse("k1", [verdict("c1"), verdict("c9")])
    assert list(read_verdict_records(path).labels.item) == ["c1", "c2", "c1", "c9"]


def test_every_label_of_a_reply_is_the_last_one_after_it_was_used_again(path: Path) -> None:
    with Journal(path) as file:
        file.write(None, [verdict(name, "none") for name in ("c1", "c2")])
        file.write(call("k1"), [verdict("c1"), verdict("c2")])
        file.write(call("k2"), [verdict("c2", "partial")])
        for _ in range(2):
            file.reuse("k1", [verdict("c1"), verdict("c2")])
        file.write(None, [verdict(name, "none") for name in ("c1", "c2")])
    assert list(read_verdict_records(path).labels.label) == [
        *["none", "none"], *["full", "full"], "partial", *["full", "full"], *["none", "none"],
    ]  # fmt: skip


def test_an_answer_that_changed_and_changed_back_has_its_labels_again(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [item("c1", "old"), item("c2")])
        file.write(call("k2"), [item("c1", "new")])
        file.reuse("k1", [item("c1", "old"), item("c2")])
        assert [each.text for each in file.items("q1", "a").values()] == ["old", "Gold is soft."]


def test_records_without_a_call_are_written_once(path: Path) -> None:
    task = {"record": "task", "name": "tone", "question": "", "scale": {"rude": 0, "kind": 1}}
    nothing = verdict("answer", None, state="nothing_to_judge")
    for _ in range(2):
        with Journal(path) as file:
            file.write(None, [task, item(), nothing])
            file.write(None, [task, item(), nothing])
    assert [each["record"] for each in lines(path)] == ["file", "task", "item", "verdict"]
    with Journal(path) as file:
        file.write(None, [item(text="Gold melts."), {**nothing, "why": "empty"}])
    assert [each["record"] for each in lines(path)][4:] == ["item", "verdict"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("written") / "verdicts.jsonl"
    with Journal(path) as file:
        file.write(None, [item("answer-é")])
        for at in range(3):
            file.write(call(f"k{at}", "reply"), [item(f"c{at}-1"), item(f"c{at}-2"), verdict(f"c{at}-1")])
    return path.read_bytes()


@given(st.data())
def test_a_file_cut_at_any_byte_has_whole_calls_only_and_can_be_continued(written: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(written)))
    junk = data.draw(st.sampled_from([b"", b"", b"\0" * 40]))
    with _temporary(written[:cut] + junk) as path:
        for _ in range(2):
            with Journal(path) as file:
                file.write(None, [item("answer-é")])
                for at in range(3):
                    if file.known(f"k{at}") is None:
                        assert [
                            each.id for each in file.items("q1", "a").values() if each.id.startswith(f"c{at}")
                        ] == []
                        file.write(call(f"k{at}", "reply"), [item(f"c{at}-1"), item(f"c{at}-2"), verdict(f"c{at}-1")])
        assert path.read_bytes().removesuffix(b"\n") == written.removesuffix(b"\n")


@contextmanager
def _temporary(content: bytes) -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "verdicts.jsonl")
        path.write_bytes(content)
        yield path


def test_what_was_removed_is_said_and_kept_in_a_file_beside_it(path: Path, written: bytes) -> None:
    kept = path.with_name("verdicts.jsonl.removed")
    path.write_bytes(written[:-20])
    with Journal(path) as file:
        what = "4 lines of an unfinished call were removed from the end, and are kept in"
        assert file.notes == [f"{path}: {what} {kept}"]
    assert path.read_bytes() + kept.read_bytes() == written[:-20] + b"\n"
    path.write_bytes(written + b'{"rec')
    with Journal(path) as file:
        what = "1 line of an unfinished call was removed from the end, and is kept in"
        assert file.notes == [f"{path}: {what} {kept}"]
    assert kept.read_bytes().splitlines()[3:] == [written[:-20].splitlines()[-1], b'{"rec']
    assert path.read_bytes() == written


def test_labels_whose_calls_somebody_removed_stay(path: Path) -> None:
    kept = b"".join(record_line(verdict(call=key)) for key in ("k1", "k2"))
    path.write_bytes(kept)
    with Journal(path) as file:
        assert not file.notes
        file.write(call("k2"), [verdict()])
    assert path.read_bytes().startswith(kept)


def test_items_whose_calls_somebody_removed_are_known(path: Path) -> None:
    path.write_bytes(b"".join(record_line({**item(key), "call": key}) for key in ("k1", "k2")))
    with Journal(path) as file:
        assert [each.id for each in file.items("q1", "a").values()] == ["k1", "k2"]


def test_a_reply_that_was_being_used_again_when_a_crash_came_is_used_again(path: Path) -> None:
    first, second = ({**item(name, system="b"), "digest": text_digest("Gold is soft.")} for name in ("c1", "c2"))
    with Journal(path) as file:
        file.write(call("k1"), [item("c1"), item("c2")])
        before = path.read_bytes()
        file.reuse("k1", [first, second])
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b'"c2"', len(before))])
    with Journal(path) as file:
        assert file.items("q1", "b") == {}
        file.reuse("k1", [first, second])
    assert path.read_bytes() == whole


@pytest.mark.parametrize("after", [[], [item("c2")], [{**item("c2"), "call": "k2"}, call("k2")]])
def test_a_line_that_somebody_copied_to_correct_it_counts(path: Path, after: list[dict[str, Any]]) -> None:
    corrected = {**item(text="Gold is yellow."), "digest": text_digest("Gold is soft."), "call": "k1"}
    with Journal(path) as file:
        file.write(call("k1"), [item(), verdict()])
    with path.open("ab") as end:
        end.writelines(map(record_line, [corrected, *after]))
    before = path.read_bytes()
    with Journal(path) as file:
        assert not file.notes
        assert file.items("q1", "a")["c1"].text == "Gold is yellow."
        file.write(call("k3"), [])
    assert path.read_bytes().startswith(before)


def test_a_label_of_a_person_that_names_the_call_stays(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [verdict()])
    with path.open("ab") as end:
        end.write(record_line(verdict(label="none", by="human:Ada", call="k1")))
    with Journal(path) as file:
        assert not file.notes
    assert list(read_verdict_records(path).labels.by) == ["m", "human:Ada"]


@pytest.mark.parametrize("end", ["\r\n", "\n", ""])
def test_files_from_elsewhere_are_continued(path: Path, end: str) -> None:
    records = [{"record": "file", "version": 1}, item(query="7") | {"query": 7}, call("k1")]
    path.write_bytes(b"\xef\xbb\xbf" + (end or "\n").join(json.dumps(each) for each in records).encode() + end.encode())
    with Journal(path) as file:
        assert file.known("k1") is not None
        assert [each.id for each in file.items("7", "a").values()] == ["c1"]
        file.write(call("k2"), [item(), verdict()])
    assert [each.key for each in read_verdict_records(path).calls] == ["k1", "k2"]


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_becomes_a_verdict_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with Journal(path) as file:
        file.write(call("k1"), [item(), verdict()])
    assert list(read_verdict_records(path).labels.label) == ["full"]


def test_a_file_that_nothing_was_written_to_is_not_left_behind(path: Path) -> None:
    with Journal(path):
        pass
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"record": "file", "version": 2}\n', "version 2 of the verdict file"),
        (b'{"query": "q1", "answer": "x"}\n', "not a record of a verdict file"),
        (b'{"name": "tone", "scale": {"a": 0, "b": 1}}\n', "may not be a verdict file"),
        (b'{"record": "banana"}\n', "not a kind of record"),
        (b"[1, 2]\n", "is not an object"),
        (b"q1 0 d1 1\n", "not JSON"),
        (b"q1 0 d1 1", "not JSON"),
        (b'{"record":"file","version":1}\n{"record":\n{"record":"item"}\n', ":2: not JSON"),
        (b'{"record":"file","version":1}\n{"record":\n', ":2: not JSON"),
        (gzip.compress(b'{"record":"file","version":1}\n', mtime=0), "not compressed"),
        (b"\x89PNG\r\n\x1a\n", "an image"),
    ],
    ids="version results rubric kind list trec short middle last gzip image".split(),
)
@pytest.mark.parametrize("replay", [False, True])
def test_what_is_not_a_verdict_file_is_refused_and_left_alone(
    path: Path, content: bytes, message: str, replay: bool
) -> None:
    path.write_bytes(content)
    with pytest.raises(KaratError, match=message), Journal(path, replay=replay):
        pass
    assert path.read_bytes() == content


@pytest.mark.parametrize("replay", [False, True])
@on_posix
def test_what_is_not_a_local_file_is_refused(tmp_path: Path, replay: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (str(tmp_path), "folder|directory"),
        (str(tmp_path / "pipe"), "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("s3://bucket/verdicts.jsonl", "remote"),
        (str(tmp_path / "missing" / "verdicts.jsonl"), "[Nn]o such file"),
        ("", "empty"),
    ):
        with pytest.raises(KaratError, match=message), Journal(path, replay=replay):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process holds a lock")
def test_a_second_writer_is_refused_with_the_process(path: Path) -> None:
    with Journal(path), pytest.raises(KaratError, match="this process is writing to this file"), Journal(path):
        pass
    with _locked_elsewhere(path) as process:
        with pytest.raises(KaratError, match=f"process {process} is writing"), Journal(path):
            pass
        with Journal(path, replay=True):
            pass


def test_labels_are_not_imported_into_a_file_that_is_written_to(path: Path) -> None:
    sheet = FilledSheet("sheet.csv", verdicts=[verdict() | {"by": "human"}])
    with Journal(path) as file:
        file.write(call("k1"), [item()])
        with pytest.raises(KaratError, match="is writing to this file"):
            add_to_verdict_file(sheet, path)
        file.write(call("k2"), [verdict()])
    assert add_to_verdict_file(sheet, path).labels == 1
    with Journal(path) as file:
        assert file.known("k2") is not None


@contextmanager
def _locked_elsewhere(path: Path) -> Iterator[int]:
    code = "import sys\nfrom karat.grounding.judges.journal import Journal\n"
    code += "with Journal(sys.argv[1]):\n print(flush=True)\n input()"
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@on_posix
def test_a_full_disk_is_an_error_and_leaves_whole_calls(path: Path) -> None:
    import resource  # which Windows does not have

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal(path) as file:
        file.write(call("k1"), [item(), verdict()])
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, limits[1]))
        try:
            for key in ("k2", "k3"):
                with pytest.raises(KaratError, match=r"cannot be written: File too large.*run the same command again"):
                    file.write(call(key), [verdict()])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        with pytest.raises(KaratError, match="File too large"):
            file.write(call("k4"), [])
        assert file.known("k2") is None
    assert [each.key for each in read_verdict_records(path).calls] == ["k1"]
    with Journal(path) as file:
        assert not file.notes
        file.write(call("k2"), [verdict()])
        assert file.known("k2") is not None


def test_short_writes_are_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:7]))
    with Journal(path) as file:
        file.write(call("k1"), [item(), verdict()])
    assert len(lines(path)) == 4


def test_an_interruption_while_writing_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def interrupted(handle: int, data: bytes) -> int:
        write(handle, data[:7])
        raise KeyboardInterrupt

    with Journal(path) as file:
        file.write(call("k1"), [verdict()])
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                file.write(call("k2"), [verdict("c2")])
        file.write(call("k3"), [verdict("c3")])  # a reply that had arrived, as it is written before the end
        assert file.known("k3") is not None
    assert [each.get("item") or each.get("key") for each in lines(path)] == [None, "c1", "k1", "c3", "k3"]


def test_a_replay_writes_nothing_and_needs_every_call(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [verdict()])
        file.write(call("k2", None, "failed"), [verdict("c2", None, state="failed")])
    path.chmod(0o444)
    before = path.read_bytes()
    request = ModelRequest("support/1", (), {}, ReadReply, failed=(verdict(),))
    with Journal(path, replay=True) as file:
        assert file.known("k1") is not None
        assert file.known("k2") is not None
        file.reuse("k1", [verdict()])
    message = "2 of 3 calls are not in the file; the first is support/1 about query q1, system a"
    with pytest.raises(KaratError, match=message), Journal(path, replay=True) as file:
        assert [file.known(key, request) is not None for key in ("k1", "k3", "k4")] == [True, False, False]
    assert path.read_bytes() == before


@pytest.mark.parametrize("other", ["item", "label"])
def test_a_replay_needs_what_follows_from_the_replies_too(path: Path, other: str) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [verdict()])
    with pytest.raises(KaratError, match="but not all labels and items"), Journal(path, replay=True) as file:
        file.write(None, [item("c9")]) if other == "item" else file.reuse("k1", [verdict(system="b")])


def test_a_file_that_is_only_read_need_not_be_complete(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", None, "failed"), [])
        with Journal(path, read_only=True) as reader:
            assert [reader.known(key) for key in ("k1", "k2")] == [None, None]
            reader.write(call("k2"), [verdict()])
        assert file.known("k2") is None


def test_an_outdated_item_is_gone_until_it_is_written_again(journal: Journal) -> None:
    removed = {**item("c1"), "text": None, "removed": True, "outdated": True}
    journal.write(call("k1"), [item("c1"), item("c2")])
    journal.write(None, [removed])
    assert [each.id for each in journal.items("q1", "a").values()] == ["c2"]
    journal.write(None, [removed])
    journal.reuse("k1", [item("c1"), item("c2")])
    assert {each.id for each in journal.items("q1", "a").values()} == {"c1", "c2"}


REMOVED = {**item("c1"), "removed": True}
MINIMAL = {name: REMOVED[name] for name in ("record", "query", "system", "id", "type", "removed")}


@pytest.mark.parametrize("removed", [{**REMOVED, "call": "k1"}, REMOVED, MINIMAL], ids=["copied", "without", "minimal"])
def test_an_item_that_somebody_removed_does_not_return_with_the_reply(path: Path, removed: dict[str, Any]) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [item("c1")])
    with path.open("ab") as end:
        end.write(record_line(removed))
    before = path.read_bytes()
    with Journal(path) as file:
        assert [each.get("removed") for each in file.reuse("k1", [item("c1")])] == [True]
        assert file.items("q1", "a") == {}
    assert path.read_bytes() == before
    with Journal(path) as file:  # another answer has another claim with this id
        file.write(call("k2"), [item("c1", "Iron is hard.")])
        assert file.items("q1", "a")["c1"].text == "Iron is hard."


def test_a_corrected_item_returns_when_its_answer_changes_back(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1"), [item("c1"), item("c2")])
    with path.open("ab") as end:
        end.write(record_line({**item("c1", "Gold is yellow."), "digest": None, "call": "k1"}))
    with Journal(path) as file:
        outdated = [{**item(name), "text": None, "removed": True, "outdated": True} for name in ("c1", "c2")]
        file.write(None, outdated)
        assert file.reuse("k1", [item("c1"), item("c2")])[0]["text"] == "Gold is yellow."
        assert {each.text for each in file.items("q1", "a").values()} == {"Gold is yellow.", "Gold is soft."}


def test_a_corrected_label_counts_for_the_texts_that_it_is_about(path: Path) -> None:
    corrected = verdict(label="none", digest="d1", call="k1")
    with Journal(path) as file:
        file.write(call("k1"), [verdict(digest="d1"), verdict("c2")])
    with path.open("ab") as end:
        end.write(record_line(corrected))
    with Journal(path) as file:
        assert file.reuse("k1", [verdict(digest="d1"), verdict("c2")]) == [corrected, verdict("c2")]
        assert file.write(call("k2"), [verdict(digest="d1")]) == [corrected]
        assert file.write(call("k3"), [verdict(digest="d2")]) == [verdict(digest="d2")]
    assert list(read_verdict_records(path).labels.label) == ["full", "full", "none", "full"]


@pytest.mark.parametrize("reply", ["?", None])
def test_a_call_that_failed_is_not_made_again_for_labels_that_somebody_gave(path: Path, reply: str | None) -> None:
    failed = verdict(label=None, state="failed")
    request = ModelRequest("support/1", (), {}, ReadReply, failed=(failed,))
    with Journal(path) as file:
        file.write(call("k1", reply, "failed"), [failed])
    with Journal(path, retry_failed=True) as file:
        assert file.known("k1", request) is None
    with path.open("ab") as end:
        end.write(record_line(verdict(call="k1")))
    with Journal(path, retry_failed=True) as file:
        assert file.known("k1", request) is not None


def test_a_crash_while_a_call_is_written_again_leaves_nothing_of_it(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", "?", "failed"), [verdict("answer", None, state="failed")])
        before = path.read_bytes()
    with Journal(path, retry_failed=True) as file:
        file.write(call("k1"), [item("c1"), item("c2")])
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b'"c2"')])
    with Journal(path) as file:
        assert file.items("q1", "a") == {}
    assert path.read_bytes() == before


def test_another_error_is_not_hidden_by_missing_calls(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(ZeroDivisionError), Journal(path, replay=True) as file:
        assert file.known("k1") or 1 / 0


@given(st.data())
def test_a_file_with_any_values_is_read_or_refused(data: st.DataObject) -> None:
    records = [{"record": "file", "version": 1}, item(), verdict(call="k1"), call("k1"), item(query="q2"), call("k2")]
    record = records[data.draw(st.integers(1, 5))]
    values = st.sampled_from([None, 7, 1e400, "", "k1", "\ud800", [], {}, ["k1"], {"k1": [1]}, True])
    record[data.draw(st.sampled_from([*record]))] = data.draw(values)
    with _temporary(b"".join(map(record_line, records))) as path, suppress(KaratError), Journal(path) as file:
        file.write(None, [item(), item("c2")])
        file.reuse("k1", [verdict()])
        assert file.known("k3") is None
        file.write(call("k3"), [verdict()])
        assert file.known("k3") is not None


def test_a_question_takes_a_kilobyte_of_memory(path: Path) -> None:
    n = 500
    with Journal(path) as file:
        for at in range(n):
            query, text = f"q{at}", "Gold is a soft and yellow metal, which melts at a thousand degrees."
            passages = [{**item(f"p{rank}", text * 20, query), "type": "passage", "rank": rank} for rank in range(1, 4)]
            file.write(None, [{**each, "of": None} for each in passages])
            file.write(call(f"claims of {at}", text * 3), [item(f"c{rank}", text, query) for rank in range(3)])
            labels = [{**verdict(f"c{rank}"), "query": query} for rank in range(3)]
            file.write(call(f"labels of {at}", text * 3), labels)
    tracemalloc.start()
    with Journal(path, read_only=True) as file:
        assert tracemalloc.get_traced_memory()[0] < 1200 * n
        tracemalloc.stop()
        assert [each.text for each in file.items("q7", "a").values()][:4] == [*[text * 20] * 3, text]


def test_texts_that_utf_8_cannot_encode_come_back(path: Path) -> None:
    with Journal(path) as file:
        file.write(call("k1", "a lone surrogate \ud800, NUL \0, line end \n"), [])
    with Journal(path) as file:
        assert known(file, "k1").reply == "a lone surrogate \ud800, NUL \0, line end \n"
