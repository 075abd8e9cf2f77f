"""Making and closing environments: what ``close`` ends, what calls do afterwards, what is listed."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.core.errors import ShellwardError
from shellward.testing.trial import at_most, eventually, lease, raises, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellward.core.types import Result
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


@contextmanager
def _own_temporary_directory() -> Iterator[Path]:
    """Have environments put their files where nobody else puts any."""
    before = {name: os.environ.get(name) for name in ("TMPDIR", "XDG_RUNTIME_DIR")}
    cached = tempfile.tempdir
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(dict.fromkeys(before, directory))
        tempfile.tempdir = None
        try:
            yield Path(directory)
        finally:
            tempfile.tempdir = cached
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def names_of_an_environment(t: Trial) -> None:
    """``kind`` and ``handle`` name it: the handle begins with its kind, and no two are the same."""
    with t.place.create() as one, t.place.create() as two:
        assert one.kind == two.kind == t.place.kind
        assert one.handle.startswith(f"{t.place.kind}:")
        assert one.handle != two.handle


def block_closes(t: Trial) -> None:
    """An Environment is a context manager; an exception in the block passes through and closes it too."""
    sleeper = t.sleeper()
    with raises(KeyError), t.place.create() as env:
        env.run(f"{sleeper.command} & setsid {sleeper.command} &").check()
        sleeper.assert_alive(env, 2)
        raise KeyError
    sleeper.assert_gone(env, 2)


def close_ends_everything(t: Trial) -> None:
    """After ``close`` nothing of ours is left.

    No process, also of those that hide, no shell, no container.
    """
    env, sleeper = t.place.create(), t.sleeper()
    shells = [env.run("echo $$").stdout.strip()]
    session = env.session()
    shells.append(session.run("echo $$").stdout.strip())
    env.run(
        f"{sleeper.command} & setsid {sleeper.command} & (trap '' HUP; {sleeper.command} >/dev/null 2>&1 &) ; "
        f"sh -c 'trap \"\" TERM HUP; {sleeper.command}; {sleeper.command}' & "
        f"(env -i PATH=$PATH setsid {sleeper.command} &) ; echo"
    ).check()
    sleeper.assert_alive(env, 5)
    with at_most(5, "close"):
        env.close()
    sleeper.assert_gone(env, 1)
    if t.place.same_machine:
        assert eventually(
            lambda: not any(str(row.pid) in shells and row.state != "Z" for row in t.place.processes(env)), 1
        )
    else:
        assert not t.place.processes(env)


def close_is_quick(t: Trial) -> None:
    """``close`` does not wait for anybody: under 3 s, with an idle and with a stubborn sandbox."""
    env = t.place.create()
    env.run("trap '' TERM INT HUP; sh -c 'trap \"\" TERM; sleep 31; sleep 31' & echo").check()
    with at_most(3, "close"):
        env.close()


def close_twice(t: Trial) -> None:
    """``close`` is idempotent, also from several threads at once.

    And ``close`` in a ``with`` block is fine.
    """
    with t.place.create() as env:
        env.run("true").check()
        env.close()
        env.close()
    env = t.place.create()
    threads = [threading.Thread(target=env.close) for _ in range(8)]
    for thread in threads:
        thread.start()
    with at_most(10, "eight closes"):
        for thread in threads:
            thread.join()
    never_used = t.place.create()
    never_used.close()


def use_after_close(t: Trial) -> None:
    """Every call after ``close`` is a clear error at once, and nothing runs."""
    env = t.place.create()
    session = env.session()
    env.close()
    for call in (
        lambda: env.run("true"),
        lambda: env.run(["true"]),
        lambda: list(env.stream("true")),
        lambda: env.read_file("/etc/passwd"),
        lambda: env.write_file("/tmp/shellward-after-close", "x"),
        lambda: env.list_dir("/"),
        lambda: env.stat("/"),
        lambda: env.session().run("true"),
        lambda: session.run("true"),
    ):
        with at_most(3, "a call after close"), raises(ShellwardError, ValueError, RuntimeError) as caught:
            call()
        assert "close" in str(caught.value).lower(), caught.value
    env.interrupt()


def close_while_a_command_runs(t: Trial) -> None:
    """``close`` from another thread ends the command that runs.

    Its caller gets an error or a result, soon.
    """
    env, sleeper = t.place.create(), t.sleeper()
    ends: list[Result | BaseException] = []

    def work() -> None:
        try:
            ends.append(env.run(f"setsid {sleeper.command} & echo begun; {sleeper.command}"))
        except Exception as error:  # noqa: BLE001  # whatever comes is looked at below
            ends.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    sleeper.assert_alive(env, 6)
    with at_most(6, "close and the end of the commands"):
        env.close()
        for thread in threads:
            thread.join()
    assert len(ends) == 3
    for end in ends:
        if isinstance(end, BaseException):
            assert isinstance(end, ShellwardError), repr(end)
        else:
            assert end.exit_code != 0
    sleeper.assert_gone(env, 1)


def close_leaves_no_files(t: Trial) -> None:
    """Where the files are this machine's, ``close`` takes away all that we made, in /tmp and elsewhere."""
    if not t.place.same_machine:
        return
    with _own_temporary_directory() as private:
        with t.place.create() as env:
            env.run("head -c 400000 /dev/zero; exit 3")
            env.session().run("kill -9 $$")
            env.run("cat >/dev/null", stdin=b"x" * 1_000_000)
            env.run("sleep 30", timeout=0.2)
            env.run(f": {'x' * 1_000_000}")
            env.write_file("/tmp/shellward-close-check", b"x" * 1_000_000)
            env.run("rm /tmp/shellward-close-check")
            assert list(private.iterdir()), "the environment keeps its files elsewhere, where this check is blind"
        assert not list(private.iterdir())


def other_environments_live_on(t: Trial) -> None:
    """Closing one environment does nothing to another of the same kind."""
    one, two = t.fresh(), t.fresh()
    two.run("X=kept").check()
    sleeper = t.sleeper()
    two.run(f"{sleeper.command} & setsid {sleeper.command} & echo").check()
    one.run("true").check()
    one.close()
    assert two.run("echo $X").stdout == "kept\n"
    sleeper.assert_alive(two, 2)


def environment_that_is_forgotten(t: Trial) -> None:
    """A client whose program ends without ``close`` leaves nothing running."""
    for end in ("pass", "sys.exit(3)", "raise KeyError"):
        sleeper = t.sleeper()
        process = t.client(
            f"env = make()\nenv.run('setsid {sleeper.command} & {sleeper.command} & echo')\n"
            f"env.session().run('true')\nsay(env.handle)\n{end}\n"
        )
        out, err = process.communicate(timeout=20)
        assert out.strip().startswith(t.place.kind), err
        if not t.place.lease:
            from shellward.testing.place import Handle

            sleeper.assert_gone(Handle(out.strip()), 3)


def program_ends_in_time(t: Trial) -> None:
    """An environment that is open does not keep the client's program from ending."""
    with at_most(20, "a program that forgets to close"):
        t.client_says(
            "env = make()\nenv.run('sleep 31 & echo')\nthreading.Thread(target=env.run, args=('sleep 1',)).start()"
        )


@terms(lease)
def environments_are_listed(t: Trial) -> None:
    """``list_environments`` shows what lives, from any process, and not what was closed."""
    from shellward import environments

    env = t.fresh()
    mine = [info for info in environments.list_environments(t.place.kind) if info.handle == env.handle]
    assert len(mine) == 1
    assert (mine[0].kind, mine[0].state) == (t.place.kind, "running")
    assert mine[0].lease is not None
    assert env.handle in t.client_says("for info in environments.list_environments(): say(info.handle)")
    assert any(info.handle == env.handle for info in environments.list_environments())
    env.close()
    assert env.handle not in {info.handle for info in environments.list_environments(t.place.kind)}


def first_result_is_quick(t: Trial) -> None:
    """From ``create`` to the first result is a matter of seconds, and the next command of milliseconds."""
    with at_most(10, "create and the first command"):
        env = t.fresh()
        env.run("true").check()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        env.run("true")
        times.append(time.perf_counter() - start)
    assert sorted(times)[10] < 0.05, f"median of {sorted(times)[10] * 1000:.1f} ms for a builtin in a warm shell"
