"""Asynchronous handlers from synchronous callers: in the main thread, in workers, under a running loop. No leaks."""

import asyncio
import contextvars
import gc
import json
import os
import threading
import time
from pathlib import Path

import pytest

from shellward.tools import bridge

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="nothing")


async def loop_id() -> int:
    await asyncio.sleep(0)
    return id(asyncio.get_running_loop())


def in_thread(work) -> object:
    answer = []
    thread = threading.Thread(target=lambda: answer.append(work()))
    thread.start()
    thread.join(30)
    assert answer
    return answer[0]


def open_loops() -> int:
    """Count the event polls of this process: each loop has one."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found += "eventpoll" in str(entry.readlink())
        except FileNotFoundError:
            continue
    return found


def test_the_main_thread_has_one_loop_that_stays() -> None:
    assert bridge.run(loop_id()) == bridge.run(loop_id())


def test_what_a_handler_keeps_open_is_usable_in_the_next_call() -> None:
    async def start():
        return asyncio.get_running_loop().create_future()

    async def finish(future):
        future.set_result("kept")
        return await future

    assert bridge.run(finish(bridge.run(start()))) == "kept"


def test_each_worker_has_one_loop_of_its_own_and_takes_it_along() -> None:
    main = bridge.run(loop_id())
    gc.collect()
    before = open_loops()
    both = in_thread(lambda: (bridge.run(loop_id()), bridge.run(loop_id())))
    assert both[0] == both[1] != main
    gc.collect()
    assert open_loops() == before


def test_under_a_running_loop_it_has_a_thread_and_a_loop_of_its_own() -> None:
    async def outer():
        return id(asyncio.get_running_loop()), bridge.run(loop_id())

    gc.collect()
    before = open_loops()
    own, inner = asyncio.run(outer())
    assert own != inner
    assert open_loops() == before
    assert not [each for each in threading.enumerate() if each.name == "shellward-async-tool"]


@pytest.mark.parametrize("place", ["main", "worker", "running loop"])
class TestEverywhere:
    def call(self, place, awaitable, limit=30.0):
        if place == "main":
            return bridge.run(awaitable(), limit)
        if place == "worker":
            context = contextvars.copy_context()
            answer = in_thread(lambda: context.run(self.outcome, awaitable, limit))
        else:

            async def outer():
                return self.outcome(awaitable, limit)

            answer = asyncio.run(outer())
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @staticmethod
    def outcome(awaitable, limit):
        try:
            return bridge.run(awaitable(), limit)
        except BaseException as problem:  # noqa: BLE001  # handed to the thread that asserts
            return problem

    def test_context_variables_travel(self, place) -> None:
        async def handler():
            return VARIABLE.get()

        for value in ("a", "b"):
            token = VARIABLE.set(value)
            assert self.call(place, handler) == value
            VARIABLE.reset(token)

    def test_what_it_raises_is_raised(self, place) -> None:
        async def handler():
            raise LookupError("gone")

        with pytest.raises(LookupError, match="gone"):
            self.call(place, handler)

    def test_its_own_timeout_is_its_own(self, place) -> None:
        async def handler():
            raise TimeoutError("of the service")

        with pytest.raises(TimeoutError, match="of the service"):
            self.call(place, handler)

    def test_past_its_limit_it_is_cancelled_and_cleans_up(self, place) -> None:
        seen = []

        async def handler():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        start = time.monotonic()
        with pytest.raises(TimeoutError, match="cancelled"):
            self.call(place, handler, 0.05)
        assert seen == ["cancelled"]
        assert time.monotonic() - start < 30

    def test_one_that_ignores_being_cancelled_is_gone_all_the_same(self, place, monkeypatch) -> None:
        monkeypatch.setattr(bridge, "_GRACE", 0.1)
        alive = []

        async def handler():
            while True:
                try:
                    await asyncio.sleep(0.01)
                    alive.append(1)
                except asyncio.CancelledError:
                    continue

        with pytest.raises(TimeoutError):
            self.call(place, handler, 0.05)
        count = len(alive)
        time.sleep(0.1)
        assert len(alive) == count
        if place == "main":
            assert bridge.run(loop_id())


def test_a_handler_that_blocks_its_loop_is_reported(monkeypatch, caplog) -> None:
    monkeypatch.setattr(bridge, "_GRACE", 0.1)
    go_on = threading.Event()

    async def blocks():
        go_on.wait(30)

    async def outer():
        with pytest.raises(TimeoutError, match="blocks its event loop"):
            bridge.run(blocks(), 0.05)

    asyncio.run(outer())
    assert "blocks its event loop" in caplog.text
    go_on.set()
    for each in threading.enumerate():
        if each.name == "shellward-async-tool":
            each.join(10)


def test_as_a_tool_in_all_places(add, runtime) -> None:
    async def handler(args, task_id=None):
        await asyncio.sleep(0)
        return json.dumps([args, task_id, VARIABLE.get()])

    add("t", handler=handler)
    VARIABLE.set("here")

    async def outer():
        return runtime.handle_function_call("t", {"n": 1}, task_id="a")

    assert runtime.handle_function_call("t", {"n": 1}, task_id="a") == '[{"n": 1}, "a", "here"]'
    assert asyncio.run(outer()) == '[{"n": 1}, "a", "here"]'
    VARIABLE.set("nothing")


def test_twenty_workers_at_once(add, runtime) -> None:
    async def handler(args):
        await asyncio.sleep(0.01)
        return json.dumps(args["n"])

    add("t", handler=handler)
    gc.collect()
    before = open_loops()
    answers = {}

    def work(number):
        answers[number] = [runtime.handle_function_call("t", {"n": number}) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert answers == {number: [str(number)] * 5 for number in range(20)}
    gc.collect()
    assert open_loops() == before


def test_a_process_that_used_it_ends_without_a_word(tmp_path) -> None:
    import subprocess
    import sys

    script = (
        "import asyncio, threading\nfrom shellward.tools import bridge\n"
        "async def f():\n    await asyncio.sleep(0)\n    return 1\n"
        "assert bridge.run(f()) == 1\n"
        "t = threading.Thread(target=lambda: bridge.run(f())); t.start(); t.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ},
    )
    assert (done.returncode, done.stderr) == (0, "")
