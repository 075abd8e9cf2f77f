"""shellward.aio: the same calls over asyncio, no thread per command, cancellation that reaches inside."""

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shellward import aio
from shellward.aio.process import Process
from shellward.aio.pty import PtySession
from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import Chunk, Result, StreamName
from shellward.environments import environment as blocking
from shellward.environments import process as blocking_process
from shellward.environments import pty as blocking_pty
from shellward.environments import session as blocking_session

KINDS = ["local", pytest.param("docker", marks=pytest.mark.docker)]
PLACES = {"local": {}, "docker": {"image": "shellward/sandbox", "pull": "never", "network": "none"}}
Test = Callable[[aio.Environment], Awaitable[None]]


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def opened(kind: str = "local", **config: object) -> AsyncIterator[aio.Environment]:
    async with await aio.create(kind, **PLACES[kind], **config) as environment:
        yield environment


async def processes(environment: aio.Environment, word: str) -> list[str]:
    """Look at the sandbox's own process table, without forking."""
    look = (
        "for f in /proc/[0-9]*/cmdline; do { IFS= read -r -d '' a; IFS= read -r -d '' b; } <$f;"
        ' echo "$a $b"; done 2>/dev/null'
    )
    result = await environment.run(look)
    return [line for line in result.stdout.splitlines() if word in line]


async def until(environment: aio.Environment, word: str, *, there: bool = True) -> None:
    async with asyncio.timeout(20):
        while bool(await processes(environment, word)) is not there:  # noqa: ASYNC110  # the sandbox has no events
            await asyncio.sleep(0.01)


def test_run_gives_a_result(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            result = await environment.run("echo out; echo err >&2; exit 3")
            assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
            await environment.run("cd /tmp; X=kept")
            assert (await environment.run('echo "$X $PWD"')).stdout == "kept /tmp\n"
            assert environment.cwd == "/tmp"
            assert (environment.kind, environment.capabilities.shell) == (kind, "bash")
            assert environment.handle.startswith(f"{kind}:")

    asyncio.run(main())


def test_commands_overlap_without_threads_and_the_loop_stays_responsive(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            await asyncio.gather(*(environment.run("sleep 0.1") for _ in range(8)))  # the pool is warm now
            gaps: list[float] = []
            started: list[str] = []
            start = threading.Thread.start

            def noted(thread: threading.Thread) -> None:
                started.append(thread.name)
                start(thread)

            monkeypatch.setattr(threading.Thread, "start", noted)

            async def watch() -> None:
                while True:
                    before = time.perf_counter()
                    await asyncio.sleep(0.005)
                    gaps.append(time.perf_counter() - before)

            watcher = asyncio.create_task(watch())
            began = time.perf_counter()
            results = await asyncio.gather(*(environment.run(f"sleep 0.1; echo {n}") for n in range(8)))
            took = time.perf_counter() - began
            watcher.cancel()
            assert [result.stdout for result in results] == [f"{n}\n" for n in range(8)]
            assert took < 0.4
            assert len(gaps) > 4
            assert max(gaps) < 0.1
            assert started == []
            monkeypatch.undo()

    asyncio.run(main())


def test_nothing_is_left_behind(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            await asyncio.gather(*(environment.run("echo x") for _ in range(4)))
            session = await environment.session()
            await session.run("true")
            await environment.run("cat", stdin=iter([b"a", b"b"]))

    asyncio.run(main())
    before = descriptors()
    asyncio.run(main())
    assert descriptors() <= before
    assert not {name for name in threads() if name.startswith("shellward")}


def test_timeout_ends_the_tree(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            began = time.monotonic()
            result = await environment.run("echo before; trap '' TERM; setsid sleep 98761 & sleep 98762", timeout=0.3)
            assert time.monotonic() - began < 1.8
            assert (result.timed_out, result.exit_code, result.stdout) == (True, 124, "before\n")
            assert await processes(environment, "sleep 9876") == []
            assert (await environment.run("echo again")).stdout == "again\n"

    asyncio.run(main())


def test_cancellation_ends_the_command_first(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            await environment.run("X=kept")
            running = asyncio.create_task(environment.run("trap '' TERM; sleep 98763 & sleep 98764"))
            await until(environment, "sleep 98764")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await processes(environment, "sleep 9876") == []
            assert (await environment.run('echo "$X"')).stdout == "kept\n"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(environment.run("sleep 98765"), 0.2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await environment.run("sleep 98766")
            assert await processes(environment, "sleep 9876") == []

    asyncio.run(main())


@pytest.mark.parametrize("delay", [0, 0.002, 0.02, 0.15])
def test_cancellation_again_and_at_the_end_of_the_loop_cuts_nothing_short(delay: float) -> None:
    environments: list[aio.Environment] = []

    async def main() -> None:
        environment = await aio.create("local")
        environments.append(environment)
        await environment.run("true")
        running = asyncio.create_task(environment.run("trap '' TERM; sleep 98767; sleep 98768; sleep 98768"))
        await asyncio.sleep(0.1)
        running.cancel()
        await asyncio.sleep(delay)
        running.cancel()
        await asyncio.sleep(0)
        # The end of the program: asyncio.run cancels every task, also those that are ending the command.

    asyncio.run(main())
    (environment,) = environments
    with environment.blocking as below:
        found = below.run("pgrep -af '[s]leep 9876'")
        assert found.stdout == ""
        assert below.run("echo works").stdout == "works\n"


@pytest.mark.parametrize("steps", range(6))
def test_cancellation_at_any_moment_of_the_start(steps: int) -> None:
    async def main() -> None:
        async with opened() as environment:
            for command in ("sleep 98769", f"# {'x' * 300_000}\nsleep 98769"):
                for stdin in (None, iter([b"x"] * 10)):
                    running = asyncio.create_task(environment.run(command, stdin=stdin))
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    await asyncio.sleep(0.001 * (steps // 3))
                    running.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await running
            assert (await environment.run("pgrep -af '[s]leep 98769'")).stdout == ""
            assert environment.blocking.run("echo works").stdout == "works\n"

    asyncio.run(main())


def test_stream_gives_chunks_then_the_result(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            items: list[Chunk | Result] = []
            times: list[float] = []
            stream = environment.stream("echo one; sleep 0.3; echo two >&2; exit 4")
            async for item in stream:
                items.append(item)
                times.append(time.monotonic())
            *chunks, result = items
            assert [(chunk.stream, chunk.text) for chunk in chunks if isinstance(chunk, Chunk)] == [
                (StreamName.STDOUT, "one\n"),
                (StreamName.STDERR, "two\n"),
            ]
            assert isinstance(result, Result)
            assert (result.exit_code, stream.result) == (4, result)
            assert times[1] - times[0] > 0.2

    asyncio.run(main())


def test_the_shell_is_free_again_when_a_stream_has_given_its_result() -> None:
    async def main() -> None:
        async with opened() as environment:
            async for item in environment.stream("X=1"):
                if isinstance(item, Result):
                    await environment.run("X=2")  # in the default session, not in one of the pool
            assert (await environment.run('echo "$X"')).stdout == "2\n"

    asyncio.run(main())


@pytest.mark.parametrize("how", ["aclose", "with", "forgotten", "cancelled"])
def test_a_stream_that_is_left_ends_its_command(kind: str, how: str) -> None:
    async def leave(environment: aio.Environment) -> None:
        stream = environment.stream("echo begun; sleep 98770")
        if how == "with":
            async with stream:
                assert isinstance(await anext(stream), Chunk)
        elif how == "cancelled":
            waiting = asyncio.create_task(_last(stream))
            await until(environment, "sleep 98770")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            async for item in stream:
                assert isinstance(item, Chunk)
                break
            if how == "aclose":
                await stream.aclose()
                await stream.aclose()

    async def main() -> None:
        async with opened(kind) as environment:
            await leave(environment)
            if how == "forgotten":
                await until(environment, "sleep 98770", there=False)
            assert await processes(environment, "sleep 98770") == []
            assert (await environment.run("echo on")).stdout == "on\n"

    asyncio.run(main())


async def _last(stream: aio.Stream) -> None:
    async for _ in stream:
        pass


def test_on_output_may_be_a_coroutine_function() -> None:
    async def main() -> None:
        seen: list[str] = []

        async def slowly(chunk: Chunk) -> None:
            await asyncio.sleep(0.001)
            seen.append(chunk.text)

        async with opened() as environment:
            result = await environment.run("for i in 1 2 3; do echo $i; sleep 0.02; done", on_output=slowly)
            assert "".join(seen) == result.stdout == "1\n2\n3\n"
            plain: list[str] = []
            await environment.run("echo plain", on_output=lambda chunk: plain.append(chunk.text))
            assert plain == ["plain\n"]

    asyncio.run(main())


def test_an_error_in_on_output_ends_the_command() -> None:
    async def main() -> None:
        async def fail(chunk: Chunk) -> None:
            raise LookupError(chunk.text)

        async with opened() as environment:
            with pytest.raises(LookupError, match="begun"):
                await environment.run("echo begun; sleep 98771", on_output=fail)
            assert await processes(environment, "sleep 98771") == []

    asyncio.run(main())


def test_a_large_command_and_large_input_do_not_block_the_loop(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.005)
                    ticks += 1

            ticker = asyncio.create_task(tick())
            text = "x" * 1_000_000
            assert (await environment.run(f"printf %s {text} | wc -c")).stdout.strip() == "1000000"
            assert (await environment.run("wc -c", stdin=text * 3)).stdout.strip() == "3000000"
            ticker.cancel()
            assert ticks > 3

    asyncio.run(main())


def test_a_flood_leaves_others_their_turn() -> None:
    async def main() -> None:
        async with opened() as environment:
            flood = asyncio.create_task(environment.run("head -c 600000000 /dev/zero", full_output=False))
            others = 0
            await asyncio.sleep(0.05)
            while not flood.done():
                assert (await environment.run("echo x", timeout=20)).stdout == "x\n"
                others += 1
            result = await flood
            assert result.truncated
            assert others > 3

    asyncio.run(main())


def test_a_session_keeps_its_state_and_its_order(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment, await environment.session() as session:
            results = await asyncio.gather(*(session.run(f"X+={n}; echo $X") for n in range(5)))
            assert [result.stdout for result in results] == ["0\n", "01\n", "012\n", "0123\n", "01234\n"]
            assert (await environment.run('echo "[$X]"')).stdout == "[]\n"
            async for item in session.stream("cd /usr; echo $X"):
                last = item
            assert isinstance(last, Result)
            assert (last.stdout, session.cwd) == ("01234\n", "/usr")

    asyncio.run(main())


def test_a_closed_session_says_so() -> None:
    async def main() -> None:
        async with opened() as environment:
            session = await environment.session("mine")
            running = asyncio.create_task(session.run("sleep 98772"))
            waiting = asyncio.create_task(session.run("echo never"))
            await asyncio.sleep(0.2)
            await session.close()
            await session.close()
            assert (await running).interrupted
            with pytest.raises(EnvironmentUnavailable, match="session was closed"):
                await waiting
            with pytest.raises(EnvironmentUnavailable, match="session was closed"):
                await session.run("true")
            assert await processes(environment, "sleep 98772") == []
            with pytest.raises(ConfigError, match="session name"):
                await environment.session("a/b")

    asyncio.run(main())


def test_interrupt(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            running = [asyncio.create_task(environment.run("sleep 98773")) for _ in range(2)]
            await asyncio.sleep(0.5)
            assert await environment.interrupt() == 2
            for each in running:
                assert ((await each).interrupted, (await each).exit_code) == (True, 130)
            assert await environment.interrupt() == 0

    asyncio.run(main())


def test_files(kind: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            await environment.run("cd $(mktemp -d)")
            await environment.write_file("a b", b"\0\xff", mode=0o600)
            assert await environment.read_file("a b") == b"\0\xff"
            assert (await environment.stat("a b")).mode == 0o600
            assert [info.name for info in await environment.list_dir()] == ["a b"]
            (tmp_path / "tree").mkdir()
            (tmp_path / "tree" / "x").write_text("x")
            await environment.upload(tmp_path / "tree", "copy")
            await environment.download("copy", tmp_path / "back")
            assert (tmp_path / "back" / "x").read_text() == "x"
            with pytest.raises(FileNotFoundError):
                await environment.read_file("absent")

    asyncio.run(main())


def test_errors_are_those_of_the_blocking_calls() -> None:
    async def main() -> None:
        with pytest.raises(ConfigError, match="unknown kind"):
            await aio.create("nowhere")
        with pytest.raises(Unsupported):
            await aio.attach("local:1")
        async with opened() as environment:
            with pytest.raises(ConfigError, match="timeout"):
                await environment.run("true", timeout=0)
            with pytest.raises(ConfigError, match="NUL"):
                await environment.run("a\0b")
            with pytest.raises(FileNotFoundError):
                await environment.run("true", cwd="/nowhere")
            with pytest.raises(Unsupported):
                await environment.stats()
            with pytest.raises(Unsupported):
                await environment.snapshot()
            assert (await environment.run("echo fine")).stdout == "fine\n"
        with pytest.raises(EnvironmentUnavailable, match="was closed"):
            await environment.run("true")

    asyncio.run(main())


def test_closing_ends_what_runs_with_connection_lost(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as environment:
            running = asyncio.create_task(environment.run("echo begun; sleep 98774"))
            await asyncio.sleep(0.3)
        with pytest.raises(ConnectionLost, match="it may have run") as caught:
            await running
        assert caught.value.result is not None
        assert caught.value.result.stdout == "begun\n"

    asyncio.run(main())


@pytest.mark.docker
def test_attach_and_snapshot() -> None:
    async def main() -> None:
        async with opened("docker") as environment:
            await environment.run("echo kept >/tmp/file; X=state")
            other = await aio.attach(environment.handle)
            assert (await other.run('cat /tmp/file; echo "$X"')).stdout == "kept\nstate\n"
            await other.detach()
            assert (await environment.stats()).pids
            assert environment.handle in {info.handle for info in await aio.list_environments("docker")}

    asyncio.run(main())


def test_one_environment_serves_threads_and_the_loop_at_once() -> None:
    async def main() -> None:
        async with opened() as environment:
            below = environment.blocking
            texts = await asyncio.gather(
                *(environment.run(f"sleep 0.05; echo a{n}") for n in range(4)),
                *(asyncio.to_thread(below.run, f"sleep 0.05; echo b{n}") for n in range(4)),
            )
            assert [result.stdout for result in texts] == [f"{k}{n}\n" for k in "ab" for n in range(4)]

    asyncio.run(main())


def test_a_full_executor_delays_no_timeout() -> None:
    async def main() -> None:
        release = threading.Event()
        blockers = [asyncio.create_task(asyncio.to_thread(release.wait, 10)) for _ in range(40)]
        async with opened() as environment:
            began = time.monotonic()
            assert (await environment.run("sleep 98775", timeout=0.2)).timed_out
            assert time.monotonic() - began < 1.2
        release.set()
        await asyncio.gather(*blockers)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (aio.Environment, blocking.Environment),
        (aio.Session, blocking_session.Session),
        (Process, blocking_process.Process),
        (PtySession, blocking_pty.PtySession),
    ],
)
def test_the_calls_are_the_same(ours: type, theirs: type) -> None:
    """Every public call of the blocking classes is here, with the same arguments and defaults."""
    inner = {"open", "run_on", "stream_on", "ready", "is_ready", "control", "why_lost", "helper", "borrowed"}
    inner |= {"ask_processes", "remove_process", "start_on", "type_into", "alive", "follower"}
    inner |= {"process_ids", "process_infos", "not_running", "process_of", "printer"}
    inner |= {"ask", "speaks_bash", "new_process_id", "drop_prepared", "set_aside"}
    inner |= {"close_session", "make_run", "start_of", "check_user", "end_from_outside"}
    inner |= {"open_pty", "open_at_terminal", "begin_at_terminal", "close_terminals", "dialogue", "can_pty"}
    inner |= {"begin_afresh", "undo", "begun", "fileno", "end", "feed", "take", "taken", "snapshot"}
    calls = {name: call for part in reversed(theirs.__mro__[:-1]) for name, call in vars(part).items()}
    for name, call in calls.items():
        if name.startswith("_") or name in inner or not inspect.isfunction(call):
            continue
        arguments = {k: v.default for k, v in inspect.signature(call).parameters.items()}
        assert arguments == {k: v.default for k, v in inspect.signature(getattr(ours, name)).parameters.items()}, name
        assert name in {"stream", "follow", "whole"} or inspect.iscoroutinefunction(getattr(ours, name)), name
