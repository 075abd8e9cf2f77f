"""Ports of a host that are reachable from here."""

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shellward.core.errors import Unsupported
from shellward.environments.environment import Environment
from shellward.testing.trial import eventually

from .conftest import Make
from .proxy import Proxy

ECHO = (
    "import socket,threading;s=socket.create_server(('127.0.0.1',0));print(s.getsockname()[1],flush=True)\n"
    "def serve(c):\n"
    " while d:=c.recv(65536): c.sendall(d)\n"
    " c.close()\n"
    "while True: threading.Thread(target=serve,args=(s.accept()[0],),daemon=True).start()"
)


def echoing(environment: Environment) -> int:
    """Start a server on the host that sends back what it gets; returns its port."""
    process = environment.start(["python3", "-c", ECHO])
    assert eventually(lambda: process.log().text.endswith("\n"), 10)
    return int(process.log().text)


def call(address: str, data: bytes) -> bytes:
    host, _, port = address.rpartition(":")
    answer = b""
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.settimeout(20)

        def send() -> None:
            with suppress(OSError):  # cut off meanwhile; then the answer is short
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        while piece := connection.recv(65536):
            answer += piece
        sender.join()
    return answer


def test_what_is_sent_comes_back_whole_and_twenty_at_once(make: Make) -> None:
    environment = make()
    address = environment.expose(echoing(environment))
    assert call(address, b"x" * 3_000_000) == b"x" * 3_000_000
    said: list[bytes] = []
    threads = [threading.Thread(target=lambda: said.append(call(address, b"hello"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [b"hello"] * 20


def test_a_port_where_nobody_listens_yet(make: Make) -> None:
    environment = make()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = environment.expose(port)
    assert not reached(address)
    environment.start(["python3", "-c", ECHO.replace(",0))", f",{port}))", 1)])
    assert eventually(lambda: reached(address), 10)


def reached(address: str) -> bool:
    try:
        return call(address, b"x") == b"x"
    except OSError:
        return False


def test_open_ones_end_with_the_environment(make: Make) -> None:
    """And nothing of them is left: no thread, no descriptor (see ``make``)."""
    environment = make()
    host, _, port = environment.expose(echoing(environment)).rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        environment.close()
        connection.settimeout(5)
        assert connection.recv(1) == b""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), 5)


def test_after_a_lost_connection_it_leads_there_again(make: Make, proxy: Proxy, through: dict[str, Any]) -> None:
    environment = make(**through)
    address = environment.expose(echoing(environment))
    assert reached(address)
    proxy.drop()
    proxy.resume()
    assert eventually(lambda: reached(address), 10)


@pytest.mark.usefixtures("own_servers")
def test_a_host_that_forbids_it(make: Make, keys: Path) -> None:
    own = (keys / "client.pub").read_text()
    (keys / "authorized_keys").write_text(f"no-port-forwarding {own}")
    environment = make()
    with pytest.raises(Unsupported, match="AllowTcpForwarding"):
        environment.expose(80)
    assert environment.run("echo works").stdout == "works\n"
