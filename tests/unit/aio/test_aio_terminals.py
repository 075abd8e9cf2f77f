"""Terminals over asyncio: what becomes of those who wait when the loop, the thread or the descriptor is another's."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from shellward import aio
from shellward.aio.loop import Readiness
from shellward.environments.environment import Environment


def test_a_terminal_outlives_its_loop() -> None:
    async def main() -> Environment:
        environment = await aio.create("local")
        session = await environment.pty("cat")
        reading = asyncio.create_task(session.read())
        await asyncio.sleep(0.05)
        assert not reading.done()
        return environment.blocking

    left = asyncio.run(main())
    began = time.monotonic()
    left.close()
    assert time.monotonic() - began < 10


def test_it_is_closed_by_the_thread_of_the_loop() -> None:
    async def main() -> None:
        environment = await aio.create("local")
        session = await environment.pty("cat")
        reading = asyncio.create_task(session.read())
        await asyncio.sleep(0.05)
        environment.blocking.close()
        assert await asyncio.wait_for(reading, 10) == b""
        assert await session.wait(1) is None or session.ended
        await session.close()
        await session.close()

    asyncio.run(main())


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for each in (reading, writing):
        try:
            os.close(each)
        except OSError:
            continue  # the test has closed it


def woken_by(pipe: tuple[int, int], act: Callable[[Readiness], object]) -> None:
    """Two tasks wait until something is done."""

    async def main() -> None:
        readiness = Readiness(pipe[0])
        waiting = [asyncio.create_task(readiness.wait(None, readiness.wakes)) for _ in range(2)]
        await asyncio.sleep(0.05)
        act(readiness)
        async with asyncio.timeout(10):
            await asyncio.gather(*waiting)
            await readiness.wait(None, readiness.wakes - 1)  # there was one since

    asyncio.run(main())


def test_what_can_be_read_wakes_everybody(pipe: tuple[int, int]) -> None:
    woken_by(pipe, lambda _: os.write(pipe[1], b"x"))
    woken_by(pipe, lambda readiness: readiness.wake())


def test_time_is_up() -> None:
    async def main() -> None:
        reading, writing = os.pipe()
        readiness = Readiness(reading)
        await readiness.wait(0.05, readiness.wakes)
        assert readiness.wakes == 0
        os.close(reading)
        os.close(writing)

    asyncio.run(main())


def test_once_it_is_dropped_its_number_is_anybodys(pipe: tuple[int, int]) -> None:
    """A descriptor is closed when nobody waits for it any more, and never taken from who has its number next."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        readiness = Readiness(pipe[0])
        waiting = asyncio.create_task(readiness.wait(None, readiness.wakes))
        await asyncio.sleep(0.05)

        def drop() -> None:
            readiness.drop()
            os.close(pipe[0])

        closing = threading.Thread(target=drop)
        closing.start()
        async with asyncio.timeout(10):
            await waiting
        await asyncio.to_thread(closing.join)
        os.dup2(pipe[1], pipe[0])  # the number is given to another
        other = asyncio.Event()
        loop.add_writer(pipe[0], other.set)
        await readiness.wait(None, readiness.wakes)
        readiness.drop()
        async with asyncio.timeout(10):
            await other.wait()
        assert loop.remove_writer(pipe[0])

    asyncio.run(main())
