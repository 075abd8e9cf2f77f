"""The service fails in the middle: nothing is lost that the protocol can keep, and nothing runs twice."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import deque
from contextlib import suppress

import pytest

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.types import StreamName
from shellward.environments.base import Piece
from shellward.environments.modal.channel import ModalChannel
from shellward.testing.services.modal import ModalService
from shellward.testing.trial import eventually

from .conftest import IMAGE, Create, client_variables

pytestmark = pytest.mark.docker  # whose images the loopback service unpacks


@pytest.mark.parametrize("rpc", ["AppGetOrCreate", "SandboxCreateV2", "TaskExecStart", "TaskExecStdioRead"])
def test_unavailable_twice_is_not_noticed(service: ModalService, create: Create, rpc: str) -> None:
    service.fault(rpc, "unavailable", times=2)
    assert create().run("echo hi").stdout == "hi\n"
    assert len(service.sandboxes()) == 1


@pytest.mark.parametrize("fault", ["unavailable", "lost"])
def test_a_command_is_sent_once(service: ModalService, create: Create, fault: str) -> None:
    """``lost``: the service has it, and the connection breaks before it can say so."""
    env = create()
    env.run("true").check()
    service.fault("TaskExecStdinWrite", fault, times=2 if fault == "unavailable" else 1)
    for _ in range(5):
        env.run("echo x >>/tmp/ran", timeout=20).check()
    assert env.read_file("/tmp/ran") == b"x\n" * 5


@pytest.mark.parametrize("rpc", ["SandboxCreateV2", "TaskExecStart"])
def test_what_was_made_is_not_made_again(service: ModalService, create: Create, rpc: str) -> None:
    service.fault(rpc, "lost")
    env = create()
    assert env.run("echo hi").stdout == "hi\n"
    assert len(service.sandboxes()) == 1
    assert service.calls().count(rpc) >= 2


@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_stream_that_is_cut_goes_on_where_it_was(service: ModalService, create: Create, after: int) -> None:
    env = create()
    want = env.run("seq 1 300000", max_output=None).stdout
    assert len(want.splitlines()) == 300_000
    env.close()
    service.fault("TaskExecStdioRead", "cut", times=4, after=after)
    assert create().run("seq 1 300000", max_output=None, timeout=60).stdout == want


def test_a_slow_service(service: ModalService, create: Create) -> None:
    service.fault("*", "slow", times=-1, seconds=0.3)
    env = create()
    assert env.run("echo hi", timeout=20).stdout == "hi\n"
    service.heal()


@pytest.mark.slow
def test_tokens_that_expire(service: ModalService, monkeypatch: pytest.MonkeyPatch) -> None:
    from shellward import environments

    with ModalService(token_life=2) as short:
        for name, value in short.variables.items():
            monkeypatch.setenv(name, value)
        with environments.create("modal", image=IMAGE) as env:
            for _ in range(3):
                time.sleep(1.2)
                assert env.run("echo hi", timeout=10).stdout == "hi\n"
        short.assert_complete()


def test_a_token_that_is_refused_in_mid_life(service: ModalService, create: Create) -> None:
    env = create()
    env.run("true").check()
    service.fault("TaskExecStdinWrite", "expired")
    assert env.run("echo hi", timeout=10).stdout == "hi\n"


@pytest.mark.parametrize(("why", "words"), [("terminated", "was terminated"), ("timeout", "time limit")])
def test_a_sandbox_that_ends_in_mid_command(service: ModalService, create: Create, why: str, words: str) -> None:
    env = create()
    sandbox = env.handle.partition(":")[2]
    timer = threading.Timer(1.0, service.end, (sandbox, why))
    timer.start()
    with pytest.raises(ConnectionLost) as caught:
        env.run("echo begun; sleep 60")
    timer.join()
    assert words in str(caught.value)
    assert caught.value.result is not None
    assert caught.value.result.stdout == "begun\n"
    with pytest.raises(EnvironmentUnavailable):
        env.run("true")
    env.close()


def test_a_service_that_restarts_in_mid_command(service: ModalService, create: Create) -> None:
    env = create()
    timer = threading.Timer(0.5, service.restart, (0.7,))
    timer.start()
    assert env.run("echo a; sleep 2; echo b >>/tmp/ran; echo b", timeout=30).stdout == "a\nb\n"
    timer.join()
    assert env.read_file("/tmp/ran") == b"b\n"


@pytest.mark.slow
@pytest.mark.parametrize("rpc", ["*", "TaskExecStdinWrite", "TaskExecWait", "TaskExecStart"])
def test_connections_that_are_reset_for_long(service: ModalService, create: Create, rpc: str) -> None:
    """For longer than the SDK tries again: then what it raises is below its own errors."""
    env = create()
    env.run("true").check()
    service.fault(rpc, "reset", times=-1)
    timer = threading.Timer(15.0, service.heal)
    timer.start()
    try:
        for _ in range(3):
            with suppress(EnvironmentUnavailable):  # it may be; nothing else may
                env.run("echo x >>/tmp/ran; true", timeout=30)
                with env.pty(["true"]) as terminal:
                    terminal.wait(5)
    finally:
        timer.join()
    ran = env.run("cat /tmp/ran 2>/dev/null | wc -l").stdout
    assert int(ran) <= 3


def test_errors_below_the_sdk_are_ours() -> None:
    from grpclib import GRPCError, Status
    from grpclib.exceptions import ProtocolError, StreamTerminatedError

    from shellward.environments.modal.sdk import mapped

    for error in (StreamTerminatedError("lost"), ProtocolError("odd"), GRPCError(Status.UNKNOWN, "odd")):
        with pytest.raises(EnvironmentUnavailable, match="does not answer") as caught, mapped("sandbox"):
            raise error
        assert caught.value.__cause__ is error


@pytest.mark.slow
def test_a_service_that_goes_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    from shellward import environments

    service = ModalService()
    for name, value in service.variables.items():
        monkeypatch.setenv(name, value)
    env = environments.create("modal", image=IMAGE)
    timer = threading.Timer(1.0, service.close)
    timer.start()
    with pytest.raises(ConnectionLost):
        env.run("echo begun; sleep 60", timeout=100)
    timer.join()
    with pytest.raises(EnvironmentUnavailable, match="its lease of 120 s will"):
        env.close()
    with pytest.raises(EnvironmentUnavailable, match="no answer from Modal"):
        env.close()  # which tries again


def test_a_client_that_is_killed_leaves_nothing(service: ModalService) -> None:
    body = textwrap.dedent(f"""
        from shellward import environments
        env = environments.create("modal", image={IMAGE!r}, lease=2)
        env.run("sleep 600 &")
        print(env.handle, flush=True)
        env.run("sleep 600")
        """)
    client = subprocess.Popen(
        [sys.executable, "-c", body], stdout=subprocess.PIPE, text=True, env=client_variables(service)
    )
    assert client.stdout is not None
    handle = client.stdout.readline().strip()
    assert [f"modal:{each['id']}" for each in service.sandboxes()] == [handle]
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    client.stdout.close()
    assert eventually(lambda: not service.sandboxes(), 20)


def test_a_program_that_forgets_to_close(service: ModalService) -> None:
    body = f"from shellward import environments; environments.create('modal', image={IMAGE!r}).run('true')"
    subprocess.run([sys.executable, "-c", body], check=True, env=client_variables(service), timeout=60)
    assert service.sandboxes() == []


def test_who_waits_for_room_is_woken_after_there_is_some() -> None:
    """Woken before, the stream would see none, wait again, and wait for ever."""
    channel = object.__new__(ModalChannel)
    seen: list[int] = []

    class Loop:
        def call_soon_threadsafe(self, call: object) -> None:
            del call
            seen.append(channel._waiting)

    channel._loop = Loop()  # type: ignore[assignment]
    channel._room = asyncio.Event()
    channel._pieces = deque([Piece(StreamName.STDOUT, b"x" * (3 << 20))])
    channel._waiting = 3 << 20
    channel._ended = channel._closed = True
    assert channel._take() is not None
    assert seen == [0]
