#!/usr/bin/env python3
"""What the action in action.yml does: run `karat gate`, and show its table in a comment of the pull request.

The exit status is that of `karat gate`. There is one comment for each `KARAT_NAME`, and later runs replace its text. A
comment that cannot be written, for example because the token of a fork may only read, is a notice and not an error: the
table is in the summary of the job, too. Needs nothing but karat.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any

LONGEST_COMMENT = 60_000  # GitHub allows 65,536 characters
NOT_CHECKED = "### karat: the rules could not be checked\n\nThe log of the job says why.\n"
TIMEOUT = 30  # seconds, for each request


def main(environment: Mapping[str, str]) -> int:
    try:
        arguments = shlex.split(environment.get("KARAT_ARGUMENTS", ""))
    except ValueError as error:
        return mistake(f"`arguments` cannot be divided into words: {error}")
    wanted = environment.get("KARAT_COMMENT", "true")
    if wanted not in ("true", "false"):
        return mistake(f"`comment` must be true or false, not {one_line(wanted)}")
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.md")
        # The rules of a pull request may be anybody's: what reads them gets no token.
        variables = {name: value for name, value in environment.items() if name != "KARAT_TOKEN"}
        variables["GITHUB_STEP_SUMMARY"] = str(summary)
        variables.setdefault("PYTHONIOENCODING", "utf-8")  # that of the log, also on Windows
        status = subprocess.run(
            [sys.executable, "-m", "karat", "gate", *arguments], env=variables, check=False
        ).returncode
        table = summary.read_text("utf-8") if summary.is_file() else ""
    if table and (of_job := environment.get("GITHUB_STEP_SUMMARY")):
        with open(of_job, "a", encoding="utf-8", newline="\n") as file:
            file.write(table)
    if wanted == "true":
        try:
            if number := pull_request(environment):
                name = environment.get("KARAT_NAME", "karat gate")
                Comments(environment, number).show(name, table or NOT_CHECKED)
        except (OSError, ValueError, HTTPException) as error:
            reason = f"{error.code} {error.reason}" if isinstance(error, urllib.error.HTTPError) else str(error)
            what = f"the comment could not be written ({one_line(reason)}); the result is in the log of the job"
            say(f"::notice title=karat gate::{what}. A comment needs the permission `pull-requests: write`.")
    return status


def mistake(message: str) -> int:
    """Say what is wrong with the inputs of the action; the exit status."""
    say(f"::error title=karat gate::{message}")
    return 2


def say(command: str) -> None:
    """Print a command to GitHub in the encoding of the log: that of Python may lack characters on Windows."""
    sys.stdout.buffer.write(f"{command}\n".encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def pull_request(environment: Mapping[str, str]) -> int | None:
    """The number of the pull request that the workflow runs for, if it does."""
    path = environment.get("GITHUB_EVENT_PATH")
    if not path or not Path(path).is_file():
        return None
    event = json.loads(Path(path).read_text("utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    return number if isinstance(number, int) else None


class Comments:
    """The comments of a pull request."""

    def __init__(self, environment: Mapping[str, str], number: int) -> None:
        api = environment.get("GITHUB_API_URL", "https://api.github.com")
        self.repository = f"{api}/repos/{environment['GITHUB_REPOSITORY']}/issues"
        self.url = f"{self.repository}/{number}/comments"
        self.token = environment.get("KARAT_TOKEN", "")

    def show(self, name: str, table: str) -> None:
        """Replace the text of the comment with this name, or write one."""
        marker = f"<!-- karat gate: {re.sub('-(?=-)', '- ', one_line(name))} -->"
        body = f"{marker}\n{shortened(table)}"
        for comment in self:
            # A comment by a person is left alone, even if it quotes this one.
            if str(comment.get("body", "")).startswith(marker) and (comment.get("user") or {}).get("type") == "Bot":
                self.send("PATCH", f"{self.repository}/comments/{int(comment['id'])}", body)
                return
        self.send("POST", self.url, body)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        page = 1
        while comments := self.send("GET", f"{self.url}?per_page=100&page={page}"):
            yield from comments
            page += 1

    def send(self, method: str, url: str, body: str | None = None) -> Any:
        data = None if body is None else json.dumps({"body": body}).encode()
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "User-Agent": "karat",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
            return json.load(reply)


def shortened(table: str) -> str:
    """A table that fits into a comment, cut after a line."""
    if len(table) <= LONGEST_COMMENT:
        return table
    lines = table[:LONGEST_COMMENT].rpartition("\n")[0]
    return f"{lines}\n\nThe rest is in the summary of the job.\n"


def one_line(text: str) -> str:
    """Without line breaks, which would end a command to GitHub Actions."""
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main(os.environ))
