"""Makes a server look far away, in a process of its own: a proxy that holds back each byte, both ways.

As a program: ``far.py PORT SECONDS``; prints the port to connect to, and ends with its standard input.
"""

import asyncio
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_READ = 1 << 16


@contextmanager
def far(port: int, delay: float) -> Iterator[int]:
    """Run the proxy; gives the port to connect to.

    Args:
        port: of the server, on this machine.
        delay: seconds, each way.
    """
    words = [sys.executable, __file__, str(port), str(delay)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018  # for mypy: pipes
        yield int(process.stdout.readline())
        process.stdin.close()


async def _pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay: float) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):
        while data := await source.read(_READ):
            loop.call_later(delay, sink.write, data)
    loop.call_later(delay, sink.close)


async def _serve(port: int, delay: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the end
            back, forth = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pass_on(reader, forth, delay), _pass_on(back, writer, delay))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    # Of select: epoll waits for whole milliseconds, which counts here.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
