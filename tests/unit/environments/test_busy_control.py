"""The control shell is one for all users of an environment: who has to wait for it loses nothing."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shellward import environments


def test_all_of_a_command_is_asked_to_end_also_when_the_control_shell_was_busy(tmp_path: Path) -> None:
    """What it started at its very beginning is asked, too, rather than killed."""
    asked = tmp_path / "asked"
    tidies = f"""sh -c 'trap "echo asked >>{asked}; exit 0" TERM; sleep 7 & wait'"""
    with environments.create("local") as env, ThreadPoolExecutor() as pool:
        control = env.control(None)
        control.call("true")

        def occupy() -> None:
            time.sleep(0.8)
            control.call("command -p sleep 1.2")

        busy = pool.submit(occupy)
        assert env.run(tidies, timeout=1).timed_out
        busy.result()
    assert asked.read_text() == "asked\n"
