"""A registry of images with one image in it, on this machine: what Docker's distribution API has for who pulls."""

import gzip
import hashlib
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

_KIND = "application/vnd.docker"


class Registry:
    """Serves an image on a port of its own. A context manager.

    Args:
        archive: an image as ``docker save`` writes it.

    Attributes:
        port: where it listens.
        asked: the paths that it was asked for, oldest first.
    """

    def __init__(self, archive: Path) -> None:
        self.asked: list[str] = []
        self._things: dict[str, tuple[str, bytes]] = {}
        with tarfile.open(archive) as tar:
            (described,) = json.load(_member(tar, "manifest.json"))
            config = self._keep(f"{_KIND}.container.image.v1+json", _member(tar, described["Config"]).read())
            layers = [
                self._keep(f"{_KIND}.image.rootfs.diff.tar.gzip", gzip.compress(_member(tar, name).read(), 1))
                for name in described["Layers"]
            ]
        kind = f"{_KIND}.distribution.manifest.v2+json"
        manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}).encode()
        self._things["latest"] = (kind, manifest)
        self._keep(kind, manifest)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def _keep(self, kind: str, data: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self._things[digest] = (kind, data)
        return {"mediaType": kind, "size": len(data), "digest": digest}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                what = self.path.rpartition("/")[2]
                kind, data = registry._things.get(what, ("", b""))
                self.send_response(200 if kind or not what else 404)
                self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
                self.send_header("Content-Type", kind or "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Docker-Content-Digest", f"sha256:{hashlib.sha256(data).hexdigest()}")
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data)

            do_HEAD = do_GET  # noqa: N815  # the library's names

            def log_message(self, *_: Any) -> None:
                """It says nothing."""

        return Handler

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _member(tar: tarfile.TarFile, name: str) -> Any:
    found = tar.extractfile(name)
    assert found is not None, name
    return found
