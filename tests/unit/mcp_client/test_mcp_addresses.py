"""Addresses at which there is no server, or one that does not do its part."""

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from mcp_hosting import Host

from shellward.config.schema import McpServer

pytestmark = pytest.mark.slow


GZIP = b"\x1f\x8b"


class Answers(BaseHTTPRequestHandler):
    """Answers every request with a status and a text, and notes its headers."""

    def do_POST(self) -> None:
        self.server.seen.append(dict(self.headers))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, kind, body = self.server.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if body.startswith(GZIP):
            self.send_header("Content-Encoding", "gzip")
        if status in {302, 307}:
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST  # noqa: N815  # named so by http.server

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(nothing_leaks: None) -> Iterator[ThreadingHTTPServer]:
    del nothing_leaks
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.seen = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        (401, "application/json", b'{"error": "no"}'),
        (404, "text/plain", b"not here"),
        (500, "text/html", b"<html>"),
        (200, "text/html", b"<html>Welcome</html>"),
        (200, "application/json", b"not json"),
        (200, "text/event-stream", b"data: nothing\n\n"),
        (202, "text/plain", b""),
        (307, "text/plain", b""),
    ],
    ids=lambda answer: f"{answer[0]}-{answer[1]}",
)
def test_what_is_no_server(
    host: Host, web: ThreadingHTTPServer, answer: tuple[int, str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ITS_TOKEN", "t0ken")
    web.answer = answer
    url = f"http://127.0.0.1:{web.server_port}/mcp"
    began = time.monotonic()
    host.connect(web=McpServer(url=url, headers={"Authorization": "Bearer ${ITS_TOKEN}"}, connect_timeout=20))
    status = host.status("web")
    assert (status.state, status.tools) == ("failed", ())
    assert status.reason
    assert (f"it said: HTTP {answer[0]} " in status.reason) == (answer[0] >= 400)
    assert time.monotonic() - began < 60
    assert {each["Authorization"] for each in web.seen} == {"Bearer t0ken"}


def test_what_is_small_only_until_it_is_read(host: Host, web: ThreadingHTTPServer) -> None:
    """A few KB that would become 64 MB: nobody asked for that, and nobody takes it."""
    web.answer = (200, "application/json", gzip.compress(b"[" * (64 << 20), 1))
    tracemalloc.start()
    try:
        host.connect(web=McpServer(url=f"http://127.0.0.1:{web.server_port}/mcp", connect_timeout=20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert host.status("web").state == "failed"
    assert peak < 32 << 20
    assert {each["accept-encoding"] for each in web.seen} == {"identity"}


def test_an_address_that_says_nothing(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        began = time.monotonic()
        host.connect(mute=McpServer(url=f"http://127.0.0.1:{mute.getsockname()[1]}/mcp", connect_timeout=1))
        assert host.status("mute").reason == "did not answer within 1 s"
        assert time.monotonic() - began < 30
