"""Signal 0 asks whether a process is there; what else is sent beside it counts."""

import pytest

from shellward.approval import detect_dangerous_command


@pytest.mark.parametrize(
    "command",
    [
        "kill -0 1",
        "kill -0 -1",
        "kill -s 0 1",
        "kill -n 0 1",
        "kill -0 -- -1",
        "pkill -0 sshd",
        "pkill --signal=0 -u bob",
        "pkill --signal 0 sshd",
        "killall -s 0 sshd",
        "killall -s0 sshd",
        "killall -0 -u bob",
    ],
)
def test_signal_0_is_sent_to_nobody(command: str) -> None:
    assert not detect_dangerous_command(command).findings


@pytest.mark.parametrize(
    "command",
    [
        "kill -9 -1",
        "kill -s 9 -1",
        "kill -n 9 -1",
        "kill -TERM -1",
        "kill -9 0",
        "pkill -9 -u bob",
        "pkill -s0 -u bob",
        "pkill -s 0 -u bob",
        "pkill -0 --signal 9 -u bob",
        "pkill -u bob -- -0",
        "killall -s 9 sshd",
        "killall -u bob",
        "pkill -0 -KILL sshd",
    ],
)
def test_any_other_is_sent(command: str) -> None:
    assert detect_dangerous_command(command)
