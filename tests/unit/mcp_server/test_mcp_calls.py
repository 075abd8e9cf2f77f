"""How a call goes: progress, cancellation that ends what runs, and the end of the server."""

import asyncio
import secrets

import mcp_types as types
import pytest
from mcphost import LEGACY, MODES, ONCE, Host, Person, connected, host, running, until

from shellward.mcp_server import calls

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("mode", MODES)]


class Progress:
    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        self.told.append((progress, message or ""))


def test_progress_has_the_latest_lines(mode: str) -> None:
    progress = Progress()

    async def test(made: Host) -> None:
        command = "for i in $(seq 1 9); do echo \x1b[1mline$i; done; sleep 0.4; echo last; sleep 0.4"
        await made.call("terminal", progress, command=command)

    host(mode, test)
    messages = [message for _, message in progress.told]
    assert "line5\nline6\nline7\nline8\nline9" in messages
    assert messages[-1].endswith("line9\nlast")
    assert len(progress.told) <= 4
    times = [seconds for seconds, _ in progress.told]
    assert times == sorted(set(times))


def test_progress_of_scripts_and_of_silence(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "HEARTBEAT", 0.1)
    progress = Progress()

    async def test(made: Host) -> None:
        await made.call("terminal", progress, command="sleep 0.5")
        assert len(progress.told) >= 2
        assert {message for _, message in progress.told} == {""}
        await made.call("execute_code", progress, code="import time\nprint('from python')\ntime.sleep(0.3)")

    host(mode, test)
    assert any(message == "from python" for _, message in progress.told)


def test_a_client_that_asks_its_user_does_not_give_up(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "HEARTBEAT", 0.1)
    progress = Progress()

    class Slow(Person):
        async def __call__(self, context: object, params: object) -> types.ElicitResult:
            await asyncio.sleep(0.5)
            return await super().__call__(context, params)

    async def test(made: Host) -> None:
        await made.call("terminal", progress, command="touch there")

    host(mode, test, Slow(ONCE))
    waiting = [message for _, message in progress.told if "waiting for the user" in message]
    assert (len(waiting) >= 2) == (mode == LEGACY)  # in today's protocol nothing is under way meanwhile


@pytest.mark.parametrize("how", ["pty", "background", "moved"])
def test_progress_of_what_is_waited_for(mode: str, how: str) -> None:
    progress = Progress()
    command = "echo begun; sleep 1; echo more; sleep 1"

    async def test(made: Host) -> None:
        if how == "pty":
            await made.call("terminal", progress, command=command, pty=True)
            return
        more = {"background": True} if how == "background" else {"timeout": 0.3}
        started = await made.terminal(command, **more)
        await made.call("process", progress, action="wait", session_id=started["session_id"])

    host(mode, test)
    assert any(message.endswith("more") for _, message in progress.told)


def test_a_flood_is_told_of_now_and_then(mode: str) -> None:
    progress = Progress()

    async def test(made: Host) -> None:
        await made.call("terminal", progress, command="seq 1 200000")

    host(mode, test)
    assert len(progress.told) < 100
    assert all(len(message) <= 1000 for _, message in progress.told)


@pytest.mark.parametrize("tool", ["terminal", "pty", "execute_code", "process"])
def test_cancelled_ends_what_runs(mode: str, tool: str) -> None:
    mark = f"{secrets.randbelow(10**9) + 10**9}"
    commands = {
        "terminal": ("terminal", {"command": f"bash -c \"trap '' TERM INT; (setsid sleep {mark} &); sleep {mark}\""}),
        "pty": ("terminal", {"command": f"sleep {mark}", "pty": True}),
        "execute_code": ("execute_code", {"code": f"import subprocess; subprocess.run(['sleep', '{mark}'])"}),
    }

    async def test(made: Host) -> None:
        if tool == "process":
            started = await made.terminal(f"sleep {mark}", background=True)
            name, arguments = "process", {"action": "wait", "session_id": started["session_id"]}
        else:
            name, arguments = commands[tool]
        call = asyncio.ensure_future(made.call(name, **arguments))
        assert await until(lambda: running(mark))
        await asyncio.sleep(0.2)
        call.cancel()
        await asyncio.wait([call])
        assert await until(
            lambda: not made.endpoint.calls._under_way or all(c.done for c in made.endpoint.calls._under_way)
        )
        if tool == "process":  # only the wait ends
            assert running(mark)
        else:
            assert await until(lambda: not running(mark))
        assert (await made.terminal("echo on"))["output"] == "on\n"

    host(mode, test)


def test_cancelled_one_of_many(mode: str) -> None:
    mark = f"{secrets.randbelow(10**9) + 10**9}"

    async def test(made: Host) -> None:
        others = [asyncio.ensure_future(made.terminal(f"sleep 1; echo {number}")) for number in range(5)]
        call = asyncio.ensure_future(made.terminal(f"sleep {mark}"))
        assert await until(lambda: running(mark))
        call.cancel()
        said = await asyncio.gather(*others)
        assert [each["output"] for each in said] == [f"{number}\n" for number in range(5)]
        assert await until(lambda: not running(mark))

    host(mode, test)


def test_the_end_of_the_connection_ends_calls(mode: str) -> None:
    mark = f"{secrets.randbelow(10**9) + 10**9}"

    async def main() -> None:
        async with connected(mode, Person(ONCE)) as made:
            call = asyncio.ensure_future(made.terminal(f"sleep {mark}"))
            assert await until(lambda: running(mark))
        await asyncio.wait([call])
        assert not running(mark)

    asyncio.run(main())
