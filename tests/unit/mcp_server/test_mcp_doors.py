"""Who may come in over HTTP, what lines are on a pipe, and what a server is refused to begin with."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shellward.cli import mcp as cli
from shellward.core.errors import ConfigError, MissingDependency
from shellward.mcp_server import serve_stdio, stdio
from shellward.mcp_server.settings import Address, Served, is_loopback
from shellward.mcp_server.streamable import Guard

TOKEN = "t" * 32
LOCAL = Address()
GUARDED = Address(token=TOKEN)
ABROAD = Address(host="0.0.0.0", token=TOKEN, origins=("https://app.example.com/",))
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        (LOCAL, {"host": "127.0.0.1:8931"}, None),
        (LOCAL, {"host": "localhost"}, None),
        (LOCAL, {"host": "[::1]:8931"}, None),
        (LOCAL, {"host": "LOCALHOST:8931", "origin": "http://localhost:6274"}, None),
        (LOCAL, {"host": "evil.example:8931"}, 421),
        (LOCAL, {"host": "127.0.0.1.evil.example"}, 421),
        (LOCAL, {"host": "localhost@evil.example:80"}, 421),
        (LOCAL, {}, 421),
        (LOCAL, {"host": "127.0.0.1", "origin": "https://evil.example"}, 403),
        (LOCAL, {"host": "127.0.0.1", "origin": "http://localhost.evil.example"}, 403),
        (LOCAL, {"host": "127.0.0.1", "origin": "http://localhost:1@evil.example"}, 403),
        (LOCAL, {"host": "127.0.0.1", "origin": "null"}, 403),
        (LOCAL, {"host": "127.0.0.1", "origin": ""}, 403),
        (LOCAL, {"host": "127.0.0.1", "origin": "http://[::1"}, 403),
        (GUARDED, {"host": "127.0.0.1", **BEARER}, None),
        (GUARDED, {"host": "127.0.0.1"}, 401),
        (GUARDED, {"host": "127.0.0.1", "authorization": TOKEN}, 401),
        (GUARDED, {"host": "127.0.0.1", "authorization": f"Bearer {TOKEN}t"}, 401),
        (GUARDED, {"host": "127.0.0.1", "authorization": "Bearer \u20ac"}, 401),
        (GUARDED, {"host": "127.0.0.1", "origin": "https://evil.example", **BEARER}, 403),
        (ABROAD, {"host": "box.example", **BEARER}, None),
        (ABROAD, {"host": "box.example", "origin": "https://app.example.com", **BEARER}, None),
        (ABROAD, {"host": "box.example", "origin": "http://localhost:6274", **BEARER}, 403),
        (ABROAD, {"host": "box.example"}, 401),
    ],
)
def test_guard(address: Address, headers: Mapping[str, str], status: int | None) -> None:
    async def nothing(scope: object, receive: object, send: object) -> None:
        del scope, receive, send

    refusal = Guard(nothing, address).refusal(headers)
    assert (refusal and refusal[0]) == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box", "localhost.example", "", "127.0.0.1.example"])
def test_no_token_beyond_this_machine(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ConfigError, match="token"):
        Address(host=host).checked()
    assert Address(host=host, token=TOKEN).checked()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_loopback(host: str) -> None:
    assert Address(host=host).checked().loopback


@pytest.mark.parametrize("token", ["short", "t" * 32 + " ", "t" * 32 + "\u20ac"])
def test_bad_token(token: str) -> None:
    with pytest.raises(ConfigError, match="token"):
        Address(token=token).checked()


@pytest.mark.parametrize("contents", ["", "\n", " \t\r\n"])
def test_a_token_that_is_empty_is_not_the_same_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: str
) -> None:
    """Whoever wants a token, and by an accident has none, must not serve everybody on this machine."""
    file = tmp_path / "token"
    file.write_text(contents)
    with pytest.raises(ConfigError, match=f"--token-file: {file} is empty"):
        cli._token(file)
    monkeypatch.setenv("SHELLWARD_MCP_TOKEN", contents)
    with pytest.raises(ConfigError, match="SHELLWARD_MCP_TOKEN is set, and is empty"):
        cli._token(None)


def test_where_a_token_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHELLWARD_MCP_TOKEN", raising=False)
    assert cli._token(None) == ""
    monkeypatch.setenv("SHELLWARD_MCP_TOKEN", TOKEN)
    assert cli._token(None) == TOKEN
    file = tmp_path / "token"
    file.write_text("f" * 32 + "\n")
    assert cli._token(file) == "f" * 32


def test_unknown_toolset() -> None:
    with pytest.raises(ConfigError, match=r"no 'nonsense'; there are .*coding"):
        serve_stdio(Served(toolsets=("coding", "nonsense")))


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types.version", None)
    with pytest.raises(MissingDependency, match=r"pip install '(shellward|\.)\[mcp\]'"):
        serve_stdio(Served())


def test_lines_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_LONGEST", 100)
    ours, theirs = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)

    async def main() -> list[str]:
        os.write(theirs, b"one\ntw")
        with stdio.Channel(ours, nowhere) as channel:
            lines = [await anext(channel)]
            os.write(theirs, b"o \xff\n" + b"x" * 1000)
            lines.append(await anext(channel))
            os.write(theirs, b"y" * 1000 + b"\nlast\nno end")
            os.close(theirs)
            return lines + [line async for line in channel]

    lines = asyncio.run(main())
    os.close(ours)
    os.close(nowhere)
    assert lines[:2] == ["one\n", "two \ufffd\n"]
    assert set(lines[2:-2]) <= {"\n", "y" * 1000 + "\n"} | {line for line in lines[2:-2] if line.strip("xy\n") == ""}
    assert lines[-2:] == ["last\n", "no end"]


@pytest.mark.parametrize("name", ["file", "null"])
def test_lines_of_what_is_always_ready(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"one\ntwo\n")
    given = os.open(tmp_path / "file" if name == "file" else os.devnull, os.O_RDONLY)
    taken = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)

    async def main() -> list[str]:
        with stdio.Channel(given, taken) as channel:
            lines = [line async for line in channel]
            await channel.write("answer\n")
            await channel.flush()
            return lines

    lines = asyncio.run(main())
    os.close(given)
    os.close(taken)
    assert lines == (["one\n", "two\n"] if name == "file" else [])
    assert (tmp_path / "out").read_text() == "answer\n"


def test_a_large_text_to_a_slow_reader() -> None:
    ours, theirs = os.pipe()
    given, client = os.pipe()
    text = "0123456789" * 100_000

    async def main() -> bytes:
        with stdio.Channel(given, theirs) as channel:
            await channel.write(text)
            flushed = asyncio.ensure_future(channel.flush())
            got = b""
            while len(got) < len(text):
                await asyncio.sleep(0)
                got += await asyncio.to_thread(os.read, ours, 50_000)
            await flushed
            return got

    assert asyncio.run(main()) == text.encode()
    for each in (ours, theirs, given, client):
        os.close(each)


@pytest.mark.parametrize("how", ["reads no more", "is gone"])
def test_who_does_not_read_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(stdio, "_GRACE", 0.1)
    ours, theirs = os.pipe()
    given, client = os.pipe()

    async def main() -> None:
        with stdio.Channel(given, theirs) as channel:
            await channel.write("x" * 1_000_000)
            flushed = asyncio.ensure_future(channel.flush())
            await asyncio.sleep(0.05)
            assert not flushed.done()
            os.close(client if how == "reads no more" else ours)
            async with asyncio.timeout(20):
                await flushed
                assert [line async for line in channel] == []

    asyncio.run(main())
    os.close(client if how == "is gone" else ours)
    os.close(theirs)
    os.close(given)
