"""A small local Hugging Face hub, which serves folders as models."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub(models: Mapping[str, Path]) -> Iterator[tuple[str, list[str]]]:
    """The address of the hub, and the paths requested from it."""
    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            asked.append(path)
            answer = _model_info if path.startswith("/api/") else _file
            status, data, headers = answer(models, path)
            self._send(status, data, with_body, headers)

        def _send(self, status: int, data: bytes, with_body: bool, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for header, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(header, value)
            self.end_headers()
            if with_body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


Answer = tuple[int, bytes, dict[str, str]]


def _model_info(models: Mapping[str, Path], path: str) -> Answer:
    """The metadata of a model."""
    name, _, inside = path.removeprefix("/api/models/").partition("/tree/")
    if name not in models or inside:
        return 404, b"{}", {"X-Error-Code": "EntryNotFound" if name in models else "RepoNotFound"}
    files = [each for each in models[name].rglob("*") if each.is_file()]
    siblings = [{"rfilename": str(each.relative_to(models[name]))} for each in files]
    about = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
    return 200, json.dumps(about).encode(), {}


def _file(models: Mapping[str, Path], path: str) -> Answer:
    """A file of a model."""
    name, _, rest = path.removeprefix("/").partition("/resolve/")
    file = models[name] / rest.partition("/")[2] if name in models else None
    if file is None or not file.is_file():
        return 404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
    data = file.read_bytes()
    return 200, data, {"ETag": f'"{sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
