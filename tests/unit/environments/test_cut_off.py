"""Ctrl-C while a command is being sent: nothing runs on, and the shell takes the next command."""

import secrets
import time

import pytest

from shellward import environments
from shellward.environments.pipes import PipeChannel


@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("share", [0, 0.5, 1])
@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_interrupted_while_sending(monkeypatch: pytest.MonkeyPatch, shell: str, share: float, how: str) -> None:
    write = PipeChannel.write
    sleep = f"sleep 4{secrets.randbelow(10**9)}"  # others look for theirs on this machine, too
    with environments.create("local", shell=shell) as env:
        env.run("X=kept")

        def cut_off(self: PipeChannel, data: bytes, timeout: float | None = None) -> None:
            monkeypatch.setattr(PipeChannel, "write", write)
            write(self, data[: int(len(data) * share)], timeout)
            raise KeyboardInterrupt

        monkeypatch.setattr(PipeChannel, "write", cut_off)
        with pytest.raises(KeyboardInterrupt):
            getattr(env, how)(sleep)
        started = time.monotonic()
        assert env.run("echo $X", timeout=10).stdout == "kept\n"
        assert time.monotonic() - started < 10
        assert env.run(f"pgrep -fx '[s]{sleep[1:]}'").stdout == ""
