"""Rows about SSH: against a local process, the OpenSSH client with an open master connection, and a far host."""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from far import far
from figures import Bar, Measured, Row, Settings, Skipped, compare, quietly, timed
from places import SSH_HOST, SSHD, place

from shellward import environments

_THREADS: Final = 64
_DELAY: Final = 0.02


@contextmanager
def _master() -> Iterator[list[str]]:
    """Open a master connection of the OpenSSH client; gives the words before a command that uses it."""
    with tempfile.TemporaryDirectory(prefix="shellward-bench-") as directory:
        words = ["ssh", "-F", str(SSHD / "config"), "-o", f"ControlPath={directory}/master"]
        quietly([*words, "-M", "-f", "-N", SSH_HOST])
        try:
            yield [*words, SSH_HOST]
        finally:
            quietly([*words, "-O", "exit", SSH_HOST])


def _against_master(settings: Settings) -> Measured:
    with place("ssh", settings) as environment, _master() as words:
        return compare(
            timed(lambda: environment.run("/bin/true").check()),
            timed(lambda: quietly([*words, "/bin/true"])),
            samples=settings.of(200, 4),
            block=settings.of(5, 2),
        )


def _threads(settings: Settings) -> Measured:
    with place("ssh", settings) as environment, ThreadPoolExecutor(_THREADS) as pool, _master() as words:

        def ours() -> None:
            for number, result in enumerate(
                pool.map(lambda n: environment.run(f"sleep 0.5; echo {n}"), range(_THREADS))
            ):
                if result.stdout != f"{number}\n":
                    raise RuntimeError(f"output is mixed: thread {number} got {result.output[:200]!r}")

        def theirs() -> None:
            # A master connection has 10 sessions, so ten at a time.
            with ThreadPoolExecutor(8) as few:
                for _ in few.map(lambda _: quietly([*words, "sleep", "0.5"]), range(_THREADS)):
                    pass

        return compare(timed(ours, 1), timed(theirs, 1), samples=settings.of(8, 1), note="no output mixed")


def _round_trip(settings: Settings) -> Measured:
    if not (SSHD / "config").exists():
        raise Skipped("no SSH server for tests is here: tests/services/sshd start")
    known = (SSHD / "known_hosts").read_text()
    port = int(known.split("]:")[1].split()[0])
    with far(port, _DELAY) as near, tempfile.TemporaryDirectory(prefix="shellward-bench-") as directory:
        file = Path(directory, "known_hosts")
        file.write_text(known.replace(f"]:{port} ", f"]:{near} "))
        config = {"host": SSH_HOST, "config_file": str(SSHD / "config"), "port": near, "known_hosts": str(file)}
        with environments.create("ssh", **config) as environment:
            environment.run("true").check()
            return compare(
                timed(lambda: environment.run("true").check()),
                timed(lambda: time.sleep(2 * _DELAY)),
                samples=settings.of(100, 4),
                block=settings.of(5, 2),
                note=f"{_DELAY * 1000:g} ms added each way",
            )


ROWS = (
    Row(
        "ssh-bin-true-master",
        'ssh `run("/bin/true")`',
        "`ssh` through a master connection (ControlMaster)",
        "ms",
        Bar("<=", 1 / 4),
        _against_master,
    ),
    Row(
        "ssh-far",
        'ssh `run("true")`, a far host',
        "one round trip, slept",
        "ms",
        Bar("<=", 1.15),
        _round_trip,
    ),
    Row(
        "ssh-threads",
        f"ssh, {_THREADS} threads, one Environment, `sleep 0.5` each",
        f"{_THREADS} x `ssh` through a master connection, 8 at a time",
        "s",
        Bar("<", 2, "figure"),
        _threads,
    ),
)
