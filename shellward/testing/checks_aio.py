"""``shellward.aio``: the same over asyncio, on an event loop that stays responsive."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from shellward.core.errors import ConfigError
from shellward.core.types import Chunk, Result, ShellEvent
from shellward.testing.leaks import assert_nothing_new, holdings
from shellward.testing.trial import AFTER_LIMIT, at_most, raises

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def same_calls(t: Trial) -> None:
    """``run``, ``stream``, ``session``, files: same names, same results, awaited."""

    async def body(env: Any) -> None:
        assert env.kind == t.place.kind
        result = await env.run("echo out; echo err >&2; (exit 3)")
        assert isinstance(result, Result)
        assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
        assert (await env.run(["printf", "%s", "a b"])).stdout == "a b"
        assert (await env.run("cat", stdin=b"x" * 300_000, max_output=10**6)).stdout == "x" * 300_000
        items = [item async for item in env.stream("echo a; sleep 0.1; echo b; (exit 2)")]
        assert [item.text for item in items[:-1]] == ["a\n", "b\n"]
        assert isinstance(items[-1], Result)
        assert items[-1].exit_code == 2
        await env.run("X=kept; cd /tmp")
        assert (await env.run("exit 3")).shell is ShellEvent.RESTARTED
        assert (await env.run("echo $X; pwd")).stdout == "kept\n/tmp\n"
        await env.write_file("/tmp/shellward-aio", b"\0\xff")
        assert await env.read_file("/tmp/shellward-aio") == b"\0\xff"
        assert (await env.stat("/tmp/shellward-aio")).size == 2
        assert "shellward-aio" in {info.name for info in await env.list_dir("/tmp")}
        await env.run("rm /tmp/shellward-aio")
        with raises(FileNotFoundError):
            await env.read_file("/tmp/shellward-aio")

    t.over_asyncio(body)


def sessions(t: Trial) -> None:
    """Sessions of their own, with their own state."""

    async def body(env: Any) -> None:
        async with await env.session() as one, await env.session() as two:
            await one.run("X=1; cd /")
            await two.run("X=2; cd /tmp")
            assert (await one.run("echo $X; pwd")).stdout == "1\n/\n"
            assert (await two.run("echo $X; pwd")).stdout == "2\n/tmp\n"

    t.over_asyncio(body)


def concurrency(t: Trial) -> None:
    """Eight commands, each of which waits for all others, end, on an event loop that stays responsive all the while."""
    meet = ": >{0}/{1}; (cd {0}; while set -- *; [ $# -lt 8 ]; do sleep 0.02; done); echo {1}"

    async def body(env: Any) -> None:
        there = (await env.run("mktemp -d")).stdout.strip()
        await asyncio.gather(*(env.run("sleep 0.1") for _ in range(8)))
        worst = 0.0
        over = False

        async def pulse() -> None:
            nonlocal worst
            while not over:
                start = time.monotonic()
                await asyncio.sleep(0.005)
                worst = max(worst, time.monotonic() - start - 0.005)

        pulsing = asyncio.create_task(pulse())
        results = await asyncio.gather(*(env.run(meet.format(there, n), timeout=30) for n in range(8)))
        over = True
        await pulsing
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(8)]
        assert worst < 0.2 * AFTER_LIMIT, f"the event loop stood still for {worst:.2f} s"
        await env.run(f"rm -r {there}")

    t.over_asyncio(body)


def loop_is_free_during_everything(t: Trial) -> None:
    """Creating, floods, files, limits and closing do not stop the loop either."""
    from shellward import aio

    async def main() -> None:
        worst = 0.0

        async def pulse() -> None:
            nonlocal worst
            while True:
                start = time.monotonic()
                await asyncio.sleep(0.005)
                worst = max(worst, time.monotonic() - start - 0.005)

        pulsing = asyncio.create_task(pulse())
        await asyncio.sleep(0.05)
        env = await aio.create(t.place.kind, **t.place.config)
        await env.run("head -c 20000000 /dev/zero")
        await env.run("sleep 30", timeout=0.3)
        await env.run("cat >/dev/null", stdin=b"x" * 10_000_000)
        await env.write_file("/tmp/shellward-aio-2", b"x" * 3_000_000)
        await env.read_file("/tmp/shellward-aio-2")
        await env.run("rm /tmp/shellward-aio-2; exit 3")
        await env.close()
        pulsing.cancel()
        assert worst < 0.5, f"the event loop stood still for {worst:.2f} s"

    asyncio.run(main())


def cancellation_ends_the_command(t: Trial) -> None:
    """Cancelling the task ends the command inside; the environment goes on with its state."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        await env.run("X=kept; cd /tmp")
        task = asyncio.create_task(env.run(f"setsid {sleeper.command} & {sleeper.command}"))
        await asyncio.to_thread(sleeper.assert_alive, env, 2)
        task.cancel()
        with raises(asyncio.CancelledError), at_most(3, "cancelling"):
            await task
        await asyncio.to_thread(sleeper.assert_gone, env)
        assert (await env.run("echo $X; pwd")).stdout == "kept\n/tmp\n"
        with raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await env.run(sleeper.command)
        await asyncio.to_thread(sleeper.assert_gone, env)
        async for item in env.stream(f"echo a; {sleeper.command}"):
            assert isinstance(item, Chunk)
            break
        assert (await env.run("echo ok")).stdout == "ok\n"

    t.over_asyncio(body)


def limits(t: Trial) -> None:
    """Time limits hold as elsewhere."""
    sleeper = t.sleeper()

    async def body(env: Any) -> None:
        start = time.monotonic()
        result = await env.run(f"echo a; setsid {sleeper.command} & {sleeper.command}", timeout=0.5)
        assert time.monotonic() - start < 0.5 + AFTER_LIMIT
        assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "a\n")
        await asyncio.to_thread(sleeper.assert_gone, env)

    t.over_asyncio(body)


def errors(t: Trial) -> None:
    """Errors are the same, and come when awaited."""
    from shellward import aio

    async def main() -> None:
        with raises(ConfigError):
            await aio.create(t.place.kind, **{**t.place.config, "no_such_setting": 1})
        env = await aio.create(t.place.kind, **t.place.config)
        with raises(FileNotFoundError):
            await env.run("true", cwd="/no/such/dir")
        await env.close()
        await env.close()
        with raises(Exception):  # the kind is checked elsewhere
            await env.run("true")

    asyncio.run(main())


def nothing_is_left(t: Trial) -> None:
    """No thread, descriptor or child is left after the loop has ended."""

    async def body(env: Any) -> None:
        await asyncio.gather(*(env.run("sleep 0.05") for _ in range(6)))
        await env.run("exit 3")
        await env.run("sleep 30", timeout=0.1)

    t.over_asyncio(body)
    before = holdings()
    t.over_asyncio(body)
    assert_nothing_new(before)
