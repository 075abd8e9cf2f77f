"""Docker's part that needs no engine: what is asked of one, what its errors mean, and how its answers are read."""

import socket
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from shellward.core.errors import EnvironmentUnavailable, Unsupported
from shellward.core.types import StreamName
from shellward.environments.base import Piece
from shellward.environments.docker import backend, container
from shellward.environments.docker.channel import DockerChannel
from shellward.environments.docker.config import DockerConfig

docker = pytest.importorskip("docker")


def client(create: Callable[..., Any] = lambda **_: None, *, url: str = "http+docker://localhost") -> Any:
    return SimpleNamespace(
        api=SimpleNamespace(base_url=url),
        containers=SimpleNamespace(create=create),
        info=lambda: {"NCPU": 2},
    )


def refuses(error: Exception) -> Callable[..., Any]:
    def create(**arguments: object) -> Any:
        del arguments
        raise error

    return create


def test_an_error_is_laid_to_the_image_only_when_it_is_the_image() -> None:
    taken = client(refuses(docker.errors.APIError("409", explanation="the name is in use")))
    with pytest.raises(EnvironmentUnavailable, match=r"^container from 'x': the name is in use"):
        container.start(taken, DockerConfig(image="x"))
    missing = client(refuses(docker.errors.ImageNotFound("404", explanation="No such image: x")))
    with pytest.raises(EnvironmentUnavailable, match=r"^image 'x': there is no such image"):
        container.start(missing, DockerConfig(image="x", pull="never"))


def test_labels_of_the_user_do_not_take_the_place_of_ours() -> None:
    config = DockerConfig(labels={"dev.shellward.id": "mine", "dev.shellward.lease": "x", "team": "a"})
    labels = container.container_arguments(client(), config, "x", None)["labels"]
    assert labels["dev.shellward.id"] != "mine"
    assert labels["dev.shellward.lease"] == str(config.lease)
    assert labels["team"] == "a"


PUBLISHED = {"NetworkSettings": {"Ports": {"80/tcp": [{"HostPort": "4711"}]}, "Networks": {}}}
BRIDGED = {"NetworkSettings": {"Ports": {}, "Networks": {"bridge": {"IPAddress": "172.17.0.2"}}}}


@pytest.mark.parametrize("url", ["http://far.example:2375", "https://10.1.2.3:2376", "http+docker://ssh"])
@pytest.mark.parametrize("attributes", [PUBLISHED, BRIDGED])
def test_no_port_of_this_machine_is_given_for_one_of_another(url: str, attributes: dict[str, Any]) -> None:
    seen = SimpleNamespace(attrs=attributes, reload=lambda: None)
    made = backend.DockerBackend(client(url=url), seen, DockerConfig(), None)
    assert not made.capabilities.expose
    with pytest.raises(Unsupported, match="another machine"):
        made.expose(80)


@pytest.mark.parametrize("url", ["http+docker://localhost", "http://127.0.0.1:2375", "http://localhost:2375"])
def test_a_port_of_an_engine_here(url: str) -> None:
    seen = SimpleNamespace(attrs=PUBLISHED, reload=lambda: None)
    made = backend.DockerBackend(client(url=url), seen, DockerConfig(), None)
    assert made.capabilities.expose
    assert made.expose(80) == "127.0.0.1:4711"


def frame(data: bytes) -> bytes:
    return struct.pack(">BxxxL", 1, len(data)) + data


@pytest.mark.parametrize("with_headers", ["", "all", "half"])
def test_what_comes_in_one_go_with_the_headers_is_not_lost(with_headers: str) -> None:
    """The engine says at once why it starts no program, and closes; the SDK reads headers through a buffer."""
    near, far = socket.socketpair()
    headers, said = b"HTTP/1.1 101 UPGRADED\r\n\r\n", frame(b"unable to find user nosuch\r\n")
    first = {"": b"", "all": said, "half": said[:12]}[with_headers]
    far.sendall(headers + first)
    buffered = near.makefile("rb")
    while buffered.readline() != b"\r\n":
        pass
    response = SimpleNamespace(raw=SimpleNamespace(_fp=SimpleNamespace(fp=buffered)))
    wrapped = SimpleNamespace(_sock=near, _response=response, close=buffered.close)
    channel = DockerChannel(wrapped, None, "x", tty=False)
    far.sendall(said[len(first) :])
    far.close()
    pieces: list[Piece] = []
    while (more := channel.read(2)) is not None:
        pieces += more
    assert pieces == [Piece(StreamName.STDOUT, b"unable to find user nosuch\r\n")]
    channel.close()
