"""Notices of an agent's processes: what was taken and not dealt with is given to the next program."""

import subprocess
import sys
from pathlib import Path

import pytest

from shellward import environments
from shellward.process_registry import ProcessRegistry

_PROGRAM = """
import os, signal, sys
from shellward.terminal_tool import next_notice, terminal_tool
terminal_tool("exit 3", background=True, notify_on_complete=True)
notice = next_notice(30)
print(notice.id, flush=True)
if sys.argv[1] == "dealt with":
    assert next_notice(0) is None
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("how", "again"), [("killed", True), ("dealt with", False)])
def test_a_notice_outlives_the_program_that_took_it(
    how: str, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, timeout=60, check=False
    )
    name = done.stdout.strip()
    with ProcessRegistry(lambda _place: environments.create("local")) as registry:
        assert name, done.stderr[-2000:]
        assert bool(registry.store.untold()) is again
        if again:
            registry.listen()
            notice = registry.notice(30)
            assert notice is not None
            assert (notice.id, notice.entry.info.exit_code) == (name, 3)
        registry.remove(name)
