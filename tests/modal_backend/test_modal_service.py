"""The loopback Modal as a program: its faults from the command line, and at its socket."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.testing.services.modal import ModalService
from shellward.testing.services.modal.faults import parse

from .conftest import IMAGE

MODULE = "shellward.testing.services.modal"


def test_faults_from_the_command_line_and_by_the_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = tmp_path / "control"
    words = [sys.executable, "-m", MODULE, "--until-eof", "--control", str(control), "--fault", "SandboxCreateV2=quota"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        monkeypatch.setenv("MODAL_SERVER_URL", service.stdout.readline().strip())
        monkeypatch.setenv("MODAL_TOKEN_ID", "ak-x")
        monkeypatch.setenv("MODAL_TOKEN_SECRET", "as-x")
        with pytest.raises(EnvironmentUnavailable, match="limit"):
            environments.create("modal", image=IMAGE)
        with environments.create("modal", image=IMAGE) as env:
            assert env.run("echo fine").stdout == "fine\n"
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(control))
            lines = asking.makefile("rb")
            for asked in ({"op": "fault", "fault": {"rpc": "*", "kind": "forbidden", "times": -1}}, {"op": "calls"}):
                asking.sendall(json.dumps(asked).encode() + b"\n")
                answer = json.loads(lines.readline())
            assert "SandboxCreateV2" in answer["answer"]
            lines.close()
        with pytest.raises(EnvironmentUnavailable, match="permit"):
            environments.create("modal", image=IMAGE)
        service.stdin.close()
        assert service.wait(20) == 0


def test_a_call_that_the_service_lacks_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK calls something that no environment needs."""
    import modal

    with ModalService() as service:
        for name, value in service.variables.items():
            monkeypatch.setenv(name, value)
        service.assert_complete()
        with modal.Client.from_credentials("ak-x", "as-x") as client, pytest.raises(modal.exception.Error):
            modal.Dict.from_name("anything", create_if_missing=True, client=client).hydrate()
        assert service.lacking() == ["DictGetOrCreate"]
        with pytest.raises(AssertionError, match=r"lacks.*DictGetOrCreate"):
            service.assert_complete()


def test_a_fault_is_read() -> None:
    fault = parse("TaskExecStart=slow,times=3,after=2,seconds=0.5")
    assert (fault.rpc, fault.kind, fault.times, fault.after, fault.seconds) == ("TaskExecStart", "slow", 3, 2, 0.5)
    assert (parse("*=cut").rpc, parse("*=cut").times) == ("*", 1)


@pytest.mark.parametrize("text", ["nonsense", "X=nonsense", "X=slow,seconds=long", "X=slow,colour=1", "=slow", ""])
def test_a_fault_that_is_none_is_named(text: str) -> None:
    done = subprocess.run([sys.executable, "-m", MODULE, "--fault", text], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
