"""The guarded environment over asyncio: refused before anything runs, and the loop goes on while somebody is asked."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, aio
from shellward.approval import ApprovalRequest, register_approval_callback

Test = Callable[[aio.Terminal], Awaitable[None]]


def with_terminal(tmp_path: Path, test: Test) -> None:
    async def main() -> None:
        async with await aio.Terminal.create("local", cwd=str(tmp_path)) as terminal:
            await test(terminal)

    asyncio.run(main())


def test_what_is_dangerous_is_refused_in_every_call(tmp_path: Path, victim: Path) -> None:
    command = f"rm -rf {victim}"

    async def test(terminal: aio.Terminal) -> None:
        assert (await terminal.run("echo hello")).stdout == "hello\n"
        session = await terminal.session("s")
        for act in (
            lambda: terminal.run(command),
            lambda: anext(terminal.stream(command)),
            lambda: session.run(command),
            lambda: anext(session.stream(command)),
            lambda: terminal.run("sh", stdin=command),
            lambda: terminal.run(command, pty=True),
            lambda: terminal.run("sh", pty=True, stdin=f"{command}\n"),
            lambda: terminal.pty(command),
            lambda: session.run(command, pty=True),
            lambda: session.pty(command),
            lambda: terminal.start(command),
            lambda: terminal.write_file(".git/hooks/pre-commit", "x"),
        ):
            with pytest.raises(ApprovalDenied):
                await act()
        (tmp_path / "s").write_text(command)
        with pytest.raises(ApprovalDenied):
            await terminal.run("sh s")
        assert (await session.run("echo $0")).exit_code == 0
        await session.close()

    with_terminal(tmp_path, test)
    assert victim.exists()


def test_the_loop_goes_on_while_a_person_is_asked(tmp_path: Path, victim: Path) -> None:
    async def test(terminal: aio.Terminal) -> None:
        asked, answered = asyncio.Event(), asyncio.Event()

        async def ask(_: ApprovalRequest) -> bool:
            asked.set()
            await answered.wait()
            return True

        with register_approval_callback(ask):
            task = asyncio.create_task(terminal.run(f"rm -rf {victim}"))
        await asyncio.wait_for(asked.wait(), 10)
        assert terminal.asking
        results = await asyncio.gather(*(terminal.run(f"echo {n}") for n in range(20)))
        assert [result.stdout for result in results] == [f"{n}\n" for n in range(20)]
        assert victim.exists()  # noqa: ASYNC240  # at once
        answered.set()
        assert (await task).exit_code == 0
        assert not victim.exists()  # noqa: ASYNC240  # at once

    with_terminal(tmp_path, test)


@pytest.mark.parametrize("plain", [True, False])
def test_a_cancelled_task_takes_its_own_question_back(tmp_path: Path, victim: Path, plain: bool) -> None:
    async def test(terminal: aio.Terminal) -> None:
        asked = threading.Semaphore(0)
        go = threading.Event()

        def ask(_: ApprovalRequest) -> bool:
            asked.release()
            go.wait(20)
            return True

        async def ask_async(request: ApprovalRequest) -> bool:
            return await asyncio.get_running_loop().run_in_executor(None, ask, request)

        with register_approval_callback(ask if plain else ask_async):
            one = asyncio.create_task(terminal.run(f"rm -rf {victim}"))
            two = asyncio.create_task(terminal.run(f"rm -rf {victim}/none"))
        for _ in range(2):
            await asyncio.to_thread(asked.acquire, timeout=20)
        one.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(one, 10)
        assert terminal.asking
        go.set()
        assert (await two).exit_code == 0
        assert victim.exists()  # noqa: ASYNC240  # at once
        assert (await terminal.run("echo on")).stdout == "on\n"

    with_terminal(tmp_path, test)


def test_what_is_typed_is_asked_about_and_a_cancelled_question_is_taken_back(tmp_path: Path, victim: Path) -> None:
    command = f"rm -rf {victim}"

    async def test(terminal: aio.Terminal) -> None:
        asked = threading.Event()

        def ask(_: ApprovalRequest) -> bool:
            asked.set()
            return not over.wait(30)  # nobody answers

        over = threading.Event()
        async with await terminal.pty(env={"PS1": "$ "}) as session:
            assert await session.wait_for(re.compile(r"[#$] ?\Z"))
            with pytest.raises(ApprovalDenied):
                await session.write(f"{command}\r")
            await session.send_keys("C-c")
            process = await terminal.start("sh")
            with register_approval_callback(ask):
                for call in (lambda: session.write(f"{command}\r"), lambda: process.submit(command)):
                    task = asyncio.create_task(call())  # type: ignore[arg-type]
                    assert await asyncio.to_thread(asked.wait, 20)
                    asked.clear()
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await asyncio.wait_for(task, 10)
                task = asyncio.create_task(terminal.start(command))  # type: ignore[arg-type]
                assert await asyncio.to_thread(asked.wait, 20)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await asyncio.wait_for(task, 10)
            over.set()
            assert not terminal.asking
            await session.send_keys("C-c", "Enter")  # readline may swallow the key after a Ctrl-C
            await session.write("echo still-$((6 * 7))\r")
            assert await session.wait_for("still-42")
            await process.kill()
            await process.remove()

    with_terminal(tmp_path, test)
    assert victim.exists()


def test_close_takes_questions_back(tmp_path: Path, victim: Path) -> None:
    async def test(terminal: aio.Terminal) -> None:
        asked = asyncio.Event()

        async def ask(_: ApprovalRequest) -> bool:
            asked.set()
            await asyncio.sleep(60)
            return True

        with register_approval_callback(ask):
            task = asyncio.create_task(terminal.run(f"rm -rf {victim}"))
        await asked.wait()
        await terminal.close()
        with pytest.raises(Exception, match=r"Nothing was run|was closed"):
            await task

    with_terminal(tmp_path, test)
    assert victim.exists()


def test_a_wrong_handle_is_said() -> None:
    from shellward.core.errors import ConfigError

    async def main() -> None:
        with pytest.raises(ConfigError):
            await aio.Terminal.attach("nonsense")

    asyncio.run(main())


def test_nothing_is_left(tmp_path: Path, victim: Path) -> None:
    async def test(terminal: aio.Terminal) -> None:
        for _ in range(20):
            with pytest.raises(ApprovalDenied):
                await terminal.run(f"rm -rf {victim}")

    with_terminal(tmp_path, test)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("shellward-a")]
