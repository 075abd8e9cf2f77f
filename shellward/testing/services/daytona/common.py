"""What the parts of the loopback toolbox share: how it refuses, and pipes read to their end."""

import asyncio
import os
from typing import Any, Final

from aiohttp import web

CHUNK: Final = 1 << 18


def refuse(status: int, message: str, code: str = "", source: str = "DAYTONA_DAEMON") -> web.Response:
    """Answer with an error in the form that the SDK reads."""
    body: dict[str, Any] = {"statusCode": status, "message": message, "source": source}
    if code:
        body["code"] = code
    return web.json_response(body, status=status)


def code(status: int) -> int:
    """An exit status as Go's ExitCode tells it: -1 for one that a signal ended."""
    return status if status >= 0 else -1


async def stream(descriptor: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    """Make a stream of a pipe's end; closing the transport closes it."""
    reader = asyncio.StreamReader(limit=CHUNK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader, transport


async def all_of(descriptor: int) -> bytes:
    """Read a pipe to its end, and close it."""
    reader, transport = await stream(descriptor)
    try:
        return await reader.read()
    finally:
        transport.close()
