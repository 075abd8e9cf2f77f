"""Terminals in the foreground over asyncio: the calls of ``terminals`` awaited, shared by tasks, and cancelled."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.environments.base import PtySize
from shellward.testing.leaks import assert_nothing_new, holdings
from shellward.testing.trial import AFTER_LIMIT, at_most, eventually, raises, terms

if TYPE_CHECKING:
    from shellward.core.types import Chunk
    from shellward.terminal.screen import Snapshot
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


async def _see(session: Any, what: str | re.Pattern[str]) -> Snapshot:
    """Wait until something is on the screen; fail with what is there instead."""
    shown: Snapshot | None = await session.wait_for(what, 20)
    assert shown is not None, f"{what!r} did not appear; the screen is:\n{await session.screen()}"
    return shown


def same_calls(t: Trial) -> None:
    """``run(pty=)`` and ``pty``: same names, same results, awaited."""

    async def body(env: Any) -> None:
        await env.run("cd /usr; export SW_A=default")
        chunks: list[Chunk] = []

        async def take(chunk: Chunk) -> None:
            await asyncio.sleep(0)
            chunks.append(chunk)

        size = PtySize(rows=33, columns=99)
        command = 'stty size; read x; echo "got $x"; echo "$PWD|$SW_A" >&2; exit 3'
        result = await env.run(command, pty=size, stdin="it\n", on_output=take, timeout=30)
        assert result.exit_code == 3
        assert result.stdout.replace("it\r\n", "", 1) == "33 99\r\ngot it\r\n/usr|default\r\n", result.stdout
        assert b"".join(chunk.data for chunk in chunks) == result.stdout_bytes
        with raises(FileNotFoundError):
            await env.run("true", pty=True, cwd="/no such place")
        command = "trap 'echo now $(stty size)' WINCH; echo up; while :; do sleep 0.1; done"
        async with await env.pty(command, size=size) as session:
            await _see(session, "up")
            await session.resize(20, 60)
            shown = await _see(session, "now 20 60")
            assert (shown.rows, session.size) == (20, PtySize(rows=20, columns=60))
            assert b"now 20 60" in await session.read(0)
            await session.kill()
            assert await session.wait(20) is not None
            assert session.ended
        async with await env.pty("cat") as session:
            await session.paste("pasted\n")
            await _see(session, re.compile(r"pasted\s+pasted"))
            await session.write("typed")
            await session.send_keys("Enter", "C-d")
            assert await session.wait(20) == 0
            assert (await session.screen()).text.count("typed") == 2
        async with await env.pty("stty -echo; echo up; exec sleep 3000") as session:
            await _see(session, "up")
            assert not await session.echo()
            await session.set_echo(True)
            assert await session.echo()
            await session.signal_foreground("TERM")
            assert await session.wait(20) in {143, 255}  # Daytona does not tell by which signal it ended

    t.over_asyncio(body)


def a_session_has_its_own(t: Trial) -> None:
    """A session's terminals begin with what it knows, and end with it."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        async with await env.session() as session:
            await session.run("cd /usr; export SW_A='of the session'")
            assert (await session.run('echo "$PWD|$SW_A"', pty=True)).stdout == "/usr|of the session\r\n"
            terminal = await session.pty(f'echo "$PWD|$SW_A"; {sleeper.command}')
            await _see(terminal, "/usr|of the session")
            await session.run("true")  # it goes on meanwhile
            reading = asyncio.create_task(terminal.wait())
        assert await asyncio.wait_for(reading, 20) != 0
        await asyncio.to_thread(sleeper.assert_gone, env)
        with raises(EnvironmentUnavailable):
            await session.pty("true")

    t.over_asyncio(body)


def tasks_share_it(t: Trial) -> None:
    """One task reads, one waits for the end, one looks at the screen while another types; nothing is lost."""

    async def body(env: Any) -> None:
        read = bytearray()
        session = await env.pty("stty -echo; echo ready; while read x; do echo got-$x; done; exit 6")
        await _see(session, "ready")

        async def follow() -> None:
            while data := await session.read():
                read.extend(data)

        reading, ended = asyncio.create_task(follow()), asyncio.create_task(session.wait())
        seen = asyncio.create_task(_see(session, re.compile(r"^got-40$", re.MULTILINE)))
        for number in range(41):
            await session.write(f"{number}\r")
        await seen
        await session.end_input()
        assert await asyncio.wait_for(ended, 20) == 6
        await asyncio.wait_for(reading, 20)
        lines = [line for line in read.decode().split("\r\n") if line.startswith("got")]
        assert lines == [f"got-{number}" for number in range(41)]
        await session.close()

    t.over_asyncio(body)


def cancelled_nothing_is_left(t: Trial) -> None:
    """A cancelled ``run`` is ended with its tree, a cancelled ``read`` loses nothing, and the terminal goes on."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        running = asyncio.create_task(env.run(f"setsid {sleeper.command} & {sleeper.command}", pty=True))
        await asyncio.to_thread(sleeper.assert_alive, env, 2)
        running.cancel()
        with raises(asyncio.CancelledError), at_most(5, "cancelling"):
            await running
        await asyncio.to_thread(sleeper.assert_gone, env)
        opening = asyncio.create_task(env.pty(sleeper.command))
        await asyncio.sleep(0)
        opening.cancel()
        with raises(asyncio.CancelledError):
            await opening
        await asyncio.to_thread(sleeper.assert_gone, env)
        async with await env.pty(
            "stty -echo; echo ready; for i in 1 2 3 4 5 6; do sleep 0.1; echo $i; done"
        ) as session:
            read = b""
            while not session.ended:
                try:
                    async with asyncio.timeout(0.03):
                        read += await session.read()
                except TimeoutError:
                    continue
            assert read == b"ready\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n"

    t.over_asyncio(body)


def closing_wakes_everybody(t: Trial) -> None:
    """Tasks that wait at a terminal hear of it when it, or its environment, is closed; a ``run`` is ConnectionLost."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        session = await env.pty(sleeper.command)
        waiting = [
            asyncio.create_task(call) for call in (session.read(), session.wait(), session.wait_for("never", 99))
        ]
        await asyncio.to_thread(sleeper.assert_alive, env)
        await session.close()
        read, status, shown = await asyncio.wait_for(asyncio.gather(*waiting), 20)
        assert (read.strip(), shown) in {(b"", None), (b"Hangup", None)}  # what is hung up on may say so
        assert status != 0
        session = await env.pty(sleeper.command)
        waiting = [asyncio.create_task(call) for call in (session.read(), session.wait())]
        chunks: list[Chunk] = []
        running = asyncio.create_task(env.run(f"echo begun; {sleeper.command}", pty=True, on_output=chunks.append))
        await asyncio.to_thread(sleeper.assert_alive, env, 2)
        assert await asyncio.to_thread(eventually, lambda: bool(chunks), 20)
        await env.close()
        await asyncio.wait_for(asyncio.gather(*waiting), 20)
        with raises(ConnectionLost) as caught:
            await asyncio.wait_for(running, 20)
        assert caught.value.result is not None
        assert caught.value.result.stdout.startswith("begun\r\n")

    t.over_asyncio(body)


@terms(slow=True)
def limits_and_interrupts(t: Trial) -> None:
    """Time limits hold, and ``interrupt`` ends what runs at terminals, with their trees."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        start = time.monotonic()
        stubborn = f"(trap '' TERM HUP INT; {sleeper.command}) & {sleeper.command}; {sleeper.command}"
        result = await env.run(f"echo before; {stubborn}", pty=True, timeout=0.7)
        assert time.monotonic() - start < 0.7 + 3 * AFTER_LIMIT
        assert (result.exit_code, result.timed_out) == (124, True)
        assert result.stdout.startswith("before\r\n")
        await asyncio.to_thread(sleeper.assert_gone, env)
        running = asyncio.create_task(env.run(f"trap '' INT; {sleeper.command}; {sleeper.command}", pty=True))
        await asyncio.to_thread(sleeper.assert_alive, env)
        assert await env.interrupt() == 1
        result = await asyncio.wait_for(running, 20)
        assert (result.interrupted, result.exit_code) == (True, 130)
        await asyncio.to_thread(sleeper.assert_gone, env)

    t.over_asyncio(body)


@terms(slow=True, limit=120)
def the_loop_is_free(t: Trial) -> None:
    """A flood, much that is typed, twenty terminals at once and closing do not stop the event loop."""

    async def body(env: Any) -> None:
        worst = 0.0

        async def pulse() -> None:
            nonlocal worst
            while True:
                start = time.monotonic()
                await asyncio.sleep(0.005)
                worst = max(worst, time.monotonic() - start - 0.005)

        pulsing = asyncio.create_task(pulse())
        came = 0

        def count(chunk: Chunk) -> None:
            nonlocal came
            came += chunk.data.count(b"\0")

        lines = ("x" * 79 + "\n") * 800
        command = "dd if=/dev/zero bs=100000 count=50 2>/dev/null; wc -l; exit 4"
        result = await env.run(command, pty=True, stdin=lines, on_output=count, timeout=60)
        assert (result.exit_code, came, result.stdout[-5:]) == (4, 5_000_000, "800\r\n")
        sizes = (PtySize(rows=10 + number, columns=50) for number in range(20))
        results = await asyncio.gather(*(env.run("stty size", pty=size, timeout=60) for size in sizes))
        assert [result.stdout for result in results] == [f"{10 + number} 50\r\n" for number in range(20)]
        async with await env.pty("seq 30000; echo over; cat") as session:
            await _see(session, "over")
        pulsing.cancel()
        assert worst < 0.5, f"the event loop stood still for {worst:.2f} s"

    t.over_asyncio(body)


@terms(slow=True)
def nothing_is_left(t: Trial) -> None:
    """No thread, descriptor or child is left after the loop has ended, nor of a terminal that nobody has closed."""

    async def body(env: Any) -> None:
        await asyncio.gather(*(env.run("echo x", pty=True) for _ in range(4)))
        await env.run("sleep 30", pty=True, timeout=0.1)
        async with await env.pty("cat") as session:
            await session.write("x\r")
            await session.read()
        forgotten = await env.pty("cat")
        await forgotten.read(0)

    t.over_asyncio(body)
    before = holdings()
    t.over_asyncio(body)
    assert_nothing_new(before)
