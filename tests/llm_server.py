"""A server on this machine that speaks the OpenAI chat protocol: it replies by a rule, or misbehaves as it is told to.

    with LLMServer(lambda sent: {"statements": ["a"], "statement_scores": [1]}) as server:
        ...  # base_url=server.url
    assert server.sent[0].data == {"question": "Who?"}

The rule is called with each request, in threads, and returns the content of the reply (a text, or anything else, which
becomes JSON) or a Response. Responses in `first` are sent before the rule is asked, one per request.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Sent:
    """A request as the server received it; header names are in lower case."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def data(self) -> Any:
        """The first message of the user, decoded."""
        return json.loads(next(m["content"] for m in self.body["messages"] if m["role"] == "user"))

    @property
    def prompt(self) -> str:
        """The first message."""
        return str(self.body["messages"][0]["content"])


@dataclass(frozen=True)
class Response:
    """What the server sends: after `delay` seconds, a byte every `pause` seconds, and only `cut` bytes of the body.

    If `hang_up`, the connection is closed without a response. If there is `more`, the body has no end: it goes on with
    it until the client goes away.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    cut: int | None = None
    hang_up: bool = False
    more: bytes = b""


Rule = Callable[[Sent], Any]


def reply(content: Any, **options: Any) -> Response:
    """A chat completion with this content, with the options of `completion`."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    return completion({"role": "assistant", "content": text}, **options)


def completion(
    message: Mapping[str, Any], *, tokens: tuple[int, int] | None = (100, 10), finish: str = "stop", **options: Any
) -> Response:
    """A chat completion with this message; without `tokens`, it does not say how many there were.

    The message may have a refusal, or a content in parts. Further options are those of a Response.
    """
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "tester",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if tokens:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return Response(json.dumps(body).encode(), **options)


def error(status: int, message: str = "", code: str | None = None, param: str | None = None, **more: Any) -> Response:
    """An error as the protocol words it."""
    about = {"message": message, "type": "error", "param": param, "code": code}
    return Response(json.dumps({"error": about}).encode(), status=status, **more)


class LLMServer:
    """The server, which runs within a `with` statement."""

    def __init__(
        self, rule: Rule | None = None, *, first: Iterable[Any] = (), delay: float = 0.0, wait_for: int = 0
    ) -> None:
        """A response takes `delay` seconds; the first ones wait until `wait_for` requests are here at the same time."""
        self.rule: Rule = rule or (lambda _: {})
        self.sent: list[Sent] = []
        self.most_at_once = 0
        """how many requests were answered at the same time, at most"""
        self.endless_bytes = 0
        """how many bytes of endless bodies were sent"""
        self.first = list(first)
        self._delay = delay
        self._now = 0
        self._lock = threading.Lock()
        self._wait_for = wait_for
        self._enough = threading.Event()
        self._closing = threading.Event()

    @property
    def url(self) -> str:
        """What to pass as `base_url`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"llm": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()  # so that responses with a delay end now
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def is_closing(self) -> bool:
        """Whether the server has ended."""
        return self._closing.is_set()

    def wait(self, seconds: float) -> None:
        """Wait, but not after the end of the server."""
        if seconds:
            self._closing.wait(seconds)

    def respond(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Response:
        """What to send for a request, after the time that it takes."""
        with self._lock:
            sent = Sent(len(self.sent), path, headers, body)
            self.sent.append(sent)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            if self._now >= self._wait_for:
                self._enough.set()
            scripted = (self.first.pop(0),) if self.first else ()
        try:
            answer = scripted[0] if scripted else self.rule(sent)
            response = answer if isinstance(answer, Response) else reply(answer)
            self._enough.wait(10)
            self.wait(response.delay or self._delay)
            return response
        finally:
            with self._lock:
                self._now -= 1


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: object) -> None:
        """A client that goes away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    llm: LLMServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.llm.respond(self.path, headers, body)
        if response.hang_up:
            self._close()
            return
        self.send_response(response.status)
        for name, value in {"Content-Type": "application/json", **response.headers}.items():
            self.send_header(name, value)
        if response.more:
            self._send_without_end(response)
            return
        self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        content = response.body[: response.cut]
        for at in range(len(content)) if response.pause else ():
            self.llm.wait(response.pause)
            self.wfile.write(content[at : at + 1])
        if not response.pause:
            self.wfile.write(content)
        if len(content) < len(response.body):
            self._close()

    def _send_without_end(self, response: Response) -> None:
        self.close_connection = True
        self.end_headers()
        part = response.body
        while not self.llm.is_closing:
            self.wfile.write(part)  # an error when the client has gone, which ends this thread
            self.llm.endless_bytes += len(part)
            self.llm.wait(response.pause)
            part = response.more

    def _close(self) -> None:
        """Close the connection now, as a server that crashes does."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
