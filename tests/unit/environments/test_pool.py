"""Commands that overlap: the pool's shells begin with the state that the default session has saved."""

import threading
import time

from shellward.environments import create


def test_quick_commands_in_the_default_session_fail_none_in_the_pool() -> None:
    stop = threading.Event()
    failed: list[str] = []
    with create("local") as environment:
        environment.run("X=1")

        def quick() -> None:
            while not stop.is_set():
                environment.run("X=2")

        thread = threading.Thread(target=quick)
        thread.start()
        try:
            until = time.monotonic() + 5
            while time.monotonic() < until and not failed:
                result = environment.run('echo "$X"')
                if result.exit_code:
                    failed.append(result.stderr)
        finally:
            stop.set()
            thread.join()
    assert failed == []
