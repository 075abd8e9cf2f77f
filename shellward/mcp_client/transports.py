"""The two ways to a server, as transports of the SDK: a program that is started, and an address.

The SDK starts programs with few variables and ends them with their process group. Here is what it leaves: what they
print to standard error is kept for messages, their end is noticed, and what left their process group is ended, too.
"""

import os
import re
import secrets
import signal
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

from shellward.core.errors import ConfigError
from shellward.mcp_client import lines
from shellward.mcp_client.plugin import MARK
from shellward.telemetry.masking import mask
from shellward.tools.answers import LONGEST, sanitised

if TYPE_CHECKING:
    import asyncio

    from mcp.client._transport import TransportStreams

    from shellward.config.schema import McpServer

_NAME: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_KEPT: Final = 4096
"""Bytes at the end of standard error that are kept."""
_SHOWN: Final = 600
_SECRET: Final = 6
"""Characters from which on a value that a server was given is masked."""
_READ: Final = 65_536
_QUIET: Final = 300.0
"""Seconds that a stream of an address may be silent."""
_ROUNDS: Final = 20
_PAUSE: Final = 0.01
"""Seconds that the kernel gets to take down what was killed."""


class Tail:
    """The last words of a server: the end of its standard error, or the status of its last answer that was an error.

    What it was given is masked in them: ``env`` and ``headers`` are where its tokens are.
    """

    def __init__(self) -> None:
        self._data = b""
        self._hidden: tuple[bytes, ...] = ()

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values in what comes from now on; short ones are no secrets, and are in many words."""
        long = {value.encode(errors="surrogateescape") for value in values if len(value) >= _SECRET}
        self._hidden = tuple(sorted({*self._hidden, *long}, key=len, reverse=True))

    def add(self, data: bytes) -> None:
        """Add what has come. A value may come in pieces, so enough is kept for what is still to come of it."""
        kept = max(_KEPT, *map(len, self._hidden), 0)
        self._data = self._masked(self._data + data)[-kept:]

    def replace(self, text: str) -> None:
        """Forget what was there, and keep this."""
        self._data = self._masked(text.encode())

    def _masked(self, data: bytes) -> bytes:
        for value in self._hidden:
            data = data.replace(value, b"***")
        return data

    def text(self) -> str:
        """Return its last lines, fit for a message; empty when there are none."""
        # Of a long text it is the end that counts, and half a secret would not be known as one.
        said = sanitised(mask(self._data.decode(errors="replace"))[-LONGEST:])
        return said[-_SHOWN:].partition("\n")[2] or said if len(said) > _SHOWN else said


class _Watched:
    """A stream of messages that tells of its end. The SDK keeps that to itself while nothing is asked."""

    def __init__(self, inner: Any, ended: "asyncio.Event") -> None:
        self._inner = inner
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._ended.set()
            raise

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> Any:
        return await self._inner.__aexit__(*exc)


@asynccontextmanager
async def program(spec: "McpServer", key: str, ended: "asyncio.Event", tail: Tail) -> "AsyncIterator[TransportStreams]":
    """Start a server, and end it with all that it has started.

    Args:
        spec: the server.
        key: its name in the settings, for messages.
        ended: is set when it ends by itself.
        tail: gets what it prints to standard error.

    What it prints to standard output is read in lines of a limited length; a longer one ends the connection.

    Raises:
        ConfigError: a variable that the settings name is not set.
        OSError: it cannot be started.
    """
    from mcp.client.stdio import StdioServerParameters, stdio_client

    def too_long(why: str) -> None:
        tail.replace(why)
        ended.set()  # the SDK would go on reading, and throw it away, until the server is ended

    token = secrets.token_hex(16)
    env = expanded(spec.env, f"{key}.env")
    tail.hide([*env.values(), *_put_in(spec.env)])
    parameters = StdioServerParameters(
        command=spec.command,
        args=list(spec.args),
        env={**env, MARK: token},
        cwd=spec.cwd or None,
        encoding=lines.ENCODING,
        encoding_error_handler="replace",
    )
    try:
        with _listening(tail) as errors:
            async with AsyncExitStack() as stack:
                with lines.limited(too_long):  # for the reader, which begins in here
                    read, write = await stack.enter_async_context(stdio_client(parameters, errlog=errors))
                errors.close()  # the server has its own
                yield _Watched(read, ended), write
    finally:
        end_marked(token)


@asynccontextmanager
async def address(spec: "McpServer", key: str, tail: Tail) -> "AsyncIterator[TransportStreams]":
    """Talk to a server that listens somewhere.

    Args:
        spec: the server.
        key: its name in the settings, for messages.
        tail: gets the status of its last answer, when that was an error; the SDK does not tell it.

    Raises:
        ConfigError: a variable that the settings name is not set.
    """
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from shellward.mcp_client import bodies

    async def answered(response: httpx2.Response) -> None:
        tail.replace(f"HTTP {response.status_code} {response.reason_phrase}" if response.is_error else "")
        bodies.limit(response)

    headers = expanded(spec.headers, f"{key}.headers")
    tail.hide([*headers.values(), *_put_in(spec.headers)])
    timeout = httpx2.Timeout(spec.connect_timeout, read=max(_QUIET, 2 * spec.timeout))
    hooks = {"response": [answered]}
    async with (
        httpx2.AsyncClient(headers=bodies.accepting(headers), timeout=timeout, event_hooks=hooks) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=lines.LONGEST) as streams,
    ):
        yield streams


def expanded(values: Mapping[str, str], key: str) -> dict[str, str]:
    """Return values with variables put in for ``${NAME}``.

    Raises:
        ConfigError: one of them is not set; names the key.
    """

    def value_of(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None:
            raise ConfigError(f"{key}: the variable {match[1]} is not set")
        return found

    return {name: _NAME.sub(value_of, value) for name, value in values.items()}


def _put_in(values: Mapping[str, str]) -> list[str]:
    """Return the variables' values that ``expanded`` puts in: ``Bearer ${TOKEN}`` is told of without ``Bearer``."""
    return [os.environ[name] for value in values.values() for name in _NAME.findall(value)]


@contextmanager
def _listening(tail: Tail) -> Iterator[TextIO]:
    """Give a file for standard error, whose contents go to ``tail`` as they come."""
    import asyncio

    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def arrived() -> None:
        try:
            data = os.read(reading, _READ)
        except BlockingIOError:
            return
        tail.add(data)
        if not data:
            loop.remove_reader(reading)

    loop.add_reader(reading, arrived)
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        loop.remove_reader(reading)
        os.close(reading)


def end_marked(token: str) -> None:
    """Kill what carries a server's mark; again until nothing does, since what is killed may have been starting more."""
    wanted = f"{MARK}={token}".encode()
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if wanted in _environment(pid)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208  # a hot path with many entries


def _environment(pid: int) -> list[bytes]:
    # A process that has ended and is not waited for yet has none.
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
