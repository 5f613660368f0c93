"""The action for GitHub: what it runs, and its comment, on a server on this machine that speaks GitHub's protocol."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "gate_action.py"
TOKEN = "token-of-the-job"


class GitHub(ThreadingHTTPServer):
    """The comments of pull request 7, two on a page."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, Any]] = []
        self.writable = True
        self.writes: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.comments]


class Handler(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        page = int(parse_qs(urlsplit(self.path).query)["page"][0])
        self.reply(200, self.server.comments[2 * page - 2 : 2 * page])

    def do_POST(self) -> None:
        comment = {"id": len(self.server.comments) + 1, "user": {"type": "Bot"}, **self.body()}
        self.write("/repos/gold/search/issues/7/comments", comment, self.server.comments.append)

    def do_PATCH(self) -> None:
        at = int(self.path.rpartition("/")[2]) - 1
        comment = {**self.server.comments[at], **self.body()}
        self.write("/repos/gold/search/issues/comments/", comment, lambda it: self.server.comments.__setitem__(at, it))

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def write(self, path: str, comment: dict[str, Any], keep: Any) -> None:
        if not self.server.writable or self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.reply(403, {"message": "Resource not accessible by integration"})
        elif not self.path.startswith(path):
            self.reply(404, {"message": "Not Found"})
        else:
            self.server.writes.append(self.command)
            keep(comment)
            self.reply(200, comment)

    def reply(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the standard library
        pass


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "the truth.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n", "utf-8")
    (tmp_path / "run.trec").write_text("q1 Q0 d1 1 0.9 a\nq2 Q0 d2 1 0.9 a\n", "utf-8")
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}), "utf-8")
    return tmp_path


def act(folder: Path, github: GitHub, arguments: str, **inputs: str) -> subprocess.CompletedProcess[str]:
    variables: Mapping[str, str] = {
        **os.environ,
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": github.url,
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_REPOSITORY": "gold/search",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "KARAT_ARGUMENTS": arguments,
        "KARAT_TOKEN": TOKEN,
        **inputs,
    }
    done = subprocess.run(
        [sys.executable, SCRIPT], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert TOKEN not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


PASSING = "'the truth.qrels' run.trec --min RR=0.5"
FAILING = "'the truth.qrels' run.trec --min RR=0.6"


@pytest.mark.parametrize(("arguments", "status", "verdict"), [(PASSING, 0, "passed"), (FAILING, 1, "failed")])
def test_the_table_is_a_comment_and_the_status_that_of_the_gate(
    folder: Path, github: GitHub, arguments: str, status: int, verdict: str
) -> None:
    done = act(folder, github, arguments)
    assert done.returncode == status, done.stderr
    (body,) = github.bodies()
    table = (folder / "summary.md").read_text("utf-8")
    assert body == f"<!-- karat gate: karat gate -->\n{table}"
    assert f"| **{verdict}** | RR | 0.5000 |" in table


def test_a_later_run_replaces_the_text_of_its_comment_and_of_no_other(folder: Path, github: GitHub) -> None:
    def comment(body: str, kind: str) -> None:
        github.comments.append({"id": len(github.comments) + 1, "body": body, "user": {"type": kind}})

    comment("Looks good.", "User")
    comment("<!-- karat gate: karat gate -->\nI can write this, too.", "User")
    comment("Coverage: 100%", "Bot")
    act(folder, github, FAILING)
    act(folder, github, FAILING, KARAT_NAME="answers")
    before = github.bodies()
    assert len(before) == 5
    act(folder, github, PASSING)
    after = github.bodies()
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, True, False, True]
    assert "| **passed** |" in after[3]
    assert github.writes == ["POST", "POST", "PATCH"]


def test_a_comment_that_may_not_be_written_is_a_notice_and_changes_no_verdict(folder: Path, github: GitHub) -> None:
    github.writable = False
    done = act(folder, github, PASSING)
    assert done.returncode == 0
    (notice,) = [line for line in done.stdout.splitlines() if line.startswith("::notice")]
    assert "the comment could not be written (403 Forbidden)" in notice
    assert "| **passed** |" in (folder / "summary.md").read_text("utf-8")


def test_comments_of_deleted_accounts_are_left_alone(folder: Path, github: GitHub) -> None:
    github.comments.append({"id": 1, "body": "<!-- karat gate: karat gate -->\nold", "user": None})
    assert act(folder, github, PASSING).returncode == 0
    assert github.writes == ["POST"]


def test_there_is_no_comment_without_a_pull_request_or_if_none_is_wanted(folder: Path, github: GitHub) -> None:
    assert act(folder, github, PASSING, KARAT_COMMENT="false").returncode == 0
    (folder / "event.json").write_text(json.dumps({"ref": "refs/heads/main"}), "utf-8")
    assert act(folder, github, PASSING).returncode == 0
    assert not github.comments


def test_rules_that_cannot_be_checked_do_not_leave_an_earlier_verdict_standing(folder: Path, github: GitHub) -> None:
    act(folder, github, PASSING)
    done = act(folder, github, "'the truth.qrels' absent.trec --min RR=0.5")
    assert done.returncode == 2
    assert "absent.trec" in done.stderr
    (body,) = github.bodies()
    assert "the rules could not be checked" in body


@pytest.mark.parametrize(
    ("arguments", "comment", "message"),
    [
        ("'the truth.qrels run.trec", "true", "`arguments` cannot be divided into words: No closing quotation"),
        (PASSING, "yes", "`comment` must be true or false, not yes"),
    ],
)
def test_wrong_inputs_are_an_error_in_one_line(
    folder: Path, github: GitHub, arguments: str, comment: str, message: str
) -> None:
    done = act(folder, github, arguments, KARAT_COMMENT=comment)
    assert (done.returncode, done.stdout) == (2, f"::error title=karat gate::{message}\n")


def test_an_event_that_cannot_be_read_is_a_notice(folder: Path, github: GitHub) -> None:
    (folder / "event.json").write_text("{", "utf-8")
    done = act(folder, github, PASSING)
    assert done.returncode == 0
    assert "::notice title=karat gate::the comment could not be written" in done.stdout


def test_a_long_table_is_cut_and_a_hostile_name_stays_a_name(folder: Path, github: GitHub) -> None:
    rules = " ".join(f"--min P@{k}=0.5" for k in range(1, 1500))
    act(folder, github, f"'the truth.qrels' run.trec {rules}", KARAT_NAME="a ---> <b>\n::error::")
    (body,) = github.bodies()
    assert len(body) < 65_536
    assert body.startswith("<!-- karat gate: a - - -> <b> ::error:: -->\n")
    assert len((folder / "summary.md").read_text("utf-8")) > 65_536
    assert body.endswith(" |\n\nThe rest is in the summary of the job.\n")
