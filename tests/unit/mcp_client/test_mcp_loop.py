"""All servers share a loop: none holds the others up with what it lists."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from mcp_hosting import Host, plain

from shellward.mcp_client import connection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_types import Tool

    from shellward.mcp_client.described import Caller
    from shellward.tools import ToolSpec

LONG = 30.0


def test_a_list_that_takes_long_to_look_through_keeps_no_other_server_waiting(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.connect(other=plain())
    begun, go_on = threading.Event(), threading.Event()
    original = connection.specs

    def specs(server: str, tools: "Iterable[Tool]", call: "Caller") -> "list[ToolSpec]":
        begun.set()
        go_on.wait(LONG)
        return original(server, tools, call)

    monkeypatch.setattr(connection, "specs", specs)
    with ThreadPoolExecutor() as pool:
        connecting = pool.submit(host.connect, notes=plain(), other=plain())
        assert begun.wait(LONG)
        assert host.call("mcp__other__echo", {"text": "on"}) == {"result": '{"text": "on"}'}
        assert not host.names("mcp-notes")
        go_on.set()
        connecting.result(LONG)
    assert host.call("mcp__notes__echo", {"text": "on"}) == {"result": '{"text": "on"}'}


def test_closed_while_a_list_is_looked_through(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.connect(notes=plain())
    begun, original = threading.Event(), connection.specs

    def specs(server: str, tools: "Iterable[Tool]", call: "Caller") -> "list[ToolSpec]":
        begun.set()
        time.sleep(0.5)
        return original(server, tools, call)

    monkeypatch.setattr(connection, "specs", specs)
    host.call("mcp__notes__more", {"text": "extra"})
    assert begun.wait(LONG)
    host.servers.close()
    assert host.names() == []
