"""After ``close`` nothing of ours is left on the client's side: no thread, descriptor, child or memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shellward.testing.leaks import assert_nothing_new, holdings
from shellward.testing.trial import eventually, fault, terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.environments.environment import Environment
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def _hold(t: Trial, use: Callable[[Environment], object]) -> None:
    with t.place.create() as warm:  # what a backend loads and keeps once is not a leak
        use(warm)
    before = holdings()
    for _ in range(2):
        with t.place.create() as env:
            use(env)
    assert_nothing_new(before)


def ordinary_use(t: Trial) -> None:
    """Runs, sessions, streams, files, input, limits, lost shells: all given back by ``close``."""

    def use(env: Environment) -> None:
        env.run("cat; exit 3", stdin=b"x" * 1_000_000)
        env.session().run("kill -9 $$")
        env.session("named").run("true")
        env.run("sleep 31 & sleep 30", timeout=0.2)
        for item in env.stream("echo a; sleep 0.1; echo b"):
            del item
        env.stream("yes").close()
        env.write_file("/tmp/shellward-leak", b"x" * 1_000_000)
        env.read_file("/tmp/shellward-leak")
        env.run("rm /tmp/shellward-leak; yes | head -c 1000000")

    _hold(t, use)


def forgotten_streams(t: Trial) -> None:
    """Streams that were neither read to their end nor closed are given back by ``close``."""

    def use(env: Environment) -> None:
        for _ in range(3):
            next(iter(env.stream("yes")))

    _hold(t, use)


def overlapping_use(t: Trial) -> None:
    """Pool shells and threads that used the environment at once leave nothing."""

    def use(env: Environment) -> None:
        threads = [threading.Thread(target=env.run, args=("sleep 0.1",)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    _hold(t, use)


def use_without_end(t: Trial) -> None:
    """500 commands, 100 lost shells and 40 sessions in one environment do not add up."""
    env = t.fresh()
    for _ in range(3):
        env.run("exit 1")
        env.session().close()
        env.run("cat", stdin=b"x")
    before = holdings()
    for number in range(500):
        env.run(f"echo {number}", stdin=b"x" if number % 5 == 0 else None)
    for _ in range(100):
        env.run("exit 1")
    for _ in range(40):
        with env.session() as session:
            session.run("true")
    assert_nothing_new(before)


def processes_inside_do_not_add_up(t: Trial) -> None:
    """The same, seen from the sandbox: its process table does not grow, scratch files neither."""
    env = t.fresh()

    def census() -> int:
        return len(t.place.processes(env)) if not t.place.same_machine else len(holdings()["children"])

    def round_of_use() -> None:
        env.run("cat >/dev/null", stdin=b"x" * 600_000)
        env.run("exit 1")
        env.run("sleep 30", timeout=0.05)
        with env.session() as session:
            session.run("kill -9 $$")
        env.write_file("/tmp/shellward-add-up", b"x" * 600_000)
        env.run(f": {'x' * 300_000}")

    for _ in range(3):
        round_of_use()
    before = census()
    scratch = f"find {env.backend.scratch} | wc -l"
    files = int(env.run(scratch).stdout)
    for _ in range(12):
        round_of_use()
    assert eventually(lambda: census() <= before + 1, 4), f"{before} processes grew to {census()}"
    assert int(env.run(scratch).stdout) <= files + 2
    env.run("rm -f /tmp/shellward-add-up")


@terms(fault("kill_sandbox"))
def lost_sandbox(t: Trial) -> None:
    """A sandbox that was removed from outside costs the client nothing either, once closed."""
    kill = t.place.faults.kill_sandbox
    assert not isinstance(kill, str)

    def use(env: Environment) -> None:
        env.run("true")
        kill(env)

    _hold(t, use)


def failed_creation(t: Trial) -> None:
    """``create`` that fails leaves nothing."""
    for round_ in range(3):
        for key, value in t.place.wrong_settings.items():
            try:
                t.place.create(**{key: value}).close()
            except Exception:  # noqa: BLE001, S112  # which error is checked elsewhere
                continue
        if round_ == 0:
            before = holdings()
    assert_nothing_new(before)
