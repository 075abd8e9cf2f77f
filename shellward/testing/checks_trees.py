"""Law 5, the tree: after a limit nothing of the command is left in the sandbox; what is older stays.

Proof is a look at the sandbox's process table from outside.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from shellward.core.types import ShellEvent
from shellward.testing.trial import AFTER_LIMIT, at_most, bash, eventually, python, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Sleeper, Trial

DEPENDS_ON = "host"

_WAYS = {
    "a child": "{0} & {0}",
    "a pipe": "{0} | {0} | cat",
    "a subshell": "({0}; true) & ({0}; true)",
    "another shell": "sh -c '{0}; true'",
    "setsid": "setsid {0} & setsid sh -c '{0}; true' & sleep 30",
    "ignores HUP": "(trap '' HUP; {0} >/dev/null 2>&1) & sleep 30",
    "ignores TERM": "sh -c 'trap \"\" TERM INT HUP; {0}; {0}' & sleep 30",
    "ignores TERM under setsid": "setsid sh -c 'trap \"\" TERM INT HUP; {0}; {0}' & sleep 30",
    "double fork": "( ( {0} & ) & ); sleep 30",
    "double fork with setsid": "( setsid sh -c '{0} & exit' & ) & sleep 30",
    "empty environment": "env -i {path} {0} & sleep 30",
    "empty environment, setsid, double fork": "( env -i {path} setsid sh -c '{0} & exit' & ) & sleep 30",
    "empty environment, ignores TERM": "env -i {path} setsid sh -c 'trap \"\" TERM; {0}; {0}' & sleep 30",
    "stopped": "sh -c '{0} & kill -STOP $!; wait' & sleep 30",
    "holds no descriptor": "setsid {0} <&- >&- 2>&- & sleep 30",
    "another directory": "(cd / && setsid {0}) & sleep 30",
    "exec": "exec {0}",
    "in a function": "f() {{ {0}; }}; f",
    "in a substitution": "x=$({0})",
    "in the EXIT trap": "trap '{0}' EXIT; exit 1",
}


def _assert_tree_ends(t: Trial, way: str, sleeper: Sleeper) -> None:
    session = t.session()
    session.run("X=kept; cd /tmp").check()
    line = _WAYS[way].format(sleeper.command, path="PATH=$PATH")
    start = time.monotonic()
    result = session.run(f"echo begun; {line}", timeout=0.8)
    took = time.monotonic() - start
    assert (result.exit_code, result.timed_out, result.stdout) == (124, True, "begun\n"), way
    assert took < 0.8 + AFTER_LIMIT, f"{way}: returned {took - 0.8:.2f} s after the limit"
    assert eventually(lambda: not sleeper.seen(t.env), AFTER_LIMIT), f"{way}: still alive: {sleeper.seen(t.env)}"
    session.run("trap - EXIT", timeout=5)
    after = session.run("echo $X; pwd", timeout=5)
    assert (after.exit_code, after.stdout) == (0, "kept\n/tmp\n"), way


def ways_to_hide(t: Trial) -> None:
    """setsid, TERM ignored, double forks, an empty environment, stopped, detached.

    All gone after the limit.
    """
    failures = []
    for way in _WAYS:
        try:
            _assert_tree_ends(t, way, t.sleeper())
        except AssertionError as error:
            failures.append(f"{way}: {error}")
    assert not failures, "\n".join(failures)


def all_of_them_at_once(t: Trial) -> None:
    """The whole zoo in one command, after having been seen alive."""
    session, sleeper = t.session(), t.sleeper()
    root = t.directory()
    zoo = " ".join(
        line.format(sleeper.command, path="PATH=$PATH").removesuffix("sleep 30").removesuffix("; ").rstrip("& ") + " &"
        for way, line in _WAYS.items()
        if way not in {"exec", "in the EXIT trap", "in a function", "a child", "in a substitution"}
    )
    import threading

    peak = 0
    over = threading.Event()

    def look() -> None:
        nonlocal peak
        while not over.wait(0.1):
            peak = max(peak, len(sleeper.seen(t.env)))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        with at_most(2 + AFTER_LIMIT, "the zoo"):
            result = session.run(f"cd {root}; {zoo} sleep 30", timeout=2)
    finally:
        over.set()
        watcher.join()
    assert result.timed_out
    assert peak > 12, f"only {peak} processes were seen alive: the check proves nothing"
    sleeper.assert_gone(t.env)
    assert session.run("echo ok").stdout == "ok\n"


@terms(python)
def real_daemon(t: Trial) -> None:
    """A program that daemonises by the book (fork, setsid, fork, chdir, all descriptors closed)."""
    sleeper, root = t.sleeper(), t.directory()
    t.env.write_file(
        f"{root}/daemon.py",
        """import os, signal, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
for fd in range(3): os.close(fd)
for name in ("SIGTERM", "SIGINT", "SIGHUP"): signal.signal(getattr(signal, name), signal.SIG_IGN)
os.execvpe("sleep", ["sleep", sys.argv[1]], {"PATH": os.environ["PATH"]})
""",
    )
    number = sleeper.command.split()[1]
    result = t.env.run(f"python3 {root}/daemon.py {number}; sleep 30", timeout=1.5)
    assert result.timed_out
    sleeper.assert_gone(t.env)


def hopping(t: Trial) -> None:
    """A process that hops (each forks a successor and ends) does not outrun its end: its traces stop."""
    root = t.directory()
    t.env.write_file(f"{root}/hop", f'#!/bin/sh\necho x >>{root}/trace\nsleep 0.05\n"$0" &\n', mode=0o755)
    result = t.env.run(f"{root}/hop; sleep 30", timeout=1)
    assert result.timed_out
    ended = _stands_still(t, f"{root}/trace")
    t.env.write_file(f"{root}/hop", "#!/bin/sh\n", mode=0o755)
    assert ended, "it hops on"


def _stands_still(t: Trial, trace: str) -> bool:
    """Whether a file that has grown comes to an end of it."""
    assert t.env.stat(trace).size > 4

    def still() -> bool:
        size = t.env.stat(trace).size
        time.sleep(0.6)
        return t.env.stat(trace).size == size

    return eventually(still, AFTER_LIMIT)


def loops_of_the_shell_itself(t: Trial) -> None:
    """Background subshells that only run builtins have no name to find them by; they end too."""
    root = t.directory()
    loop = f"while :; do echo x >>{root}/trace; sleep 0.05; done"
    result = t.env.run(f"({loop}) & (trap '' TERM INT; {loop}) & sleep 30", timeout=1)
    assert result.timed_out
    assert _stands_still(t, f"{root}/trace"), "they go on"


def older_jobs_stay(t: Trial) -> None:
    """Background jobs of EARLIER commands survive a later command's limit, however they were started."""
    session, old, new = t.session(), t.sleeper(), t.sleeper()
    session.run(f"{old.command} & setsid {old.command} & (trap '' HUP; {old.command} >/dev/null 2>&1 &) ; echo").check()
    old.assert_alive(t.env, 3)
    for _ in range(2):
        assert session.run(f"setsid {new.command} & {new.command}", timeout=0.7).timed_out
        new.assert_gone(t.env)
        assert len(old.seen(t.env)) == 3, f"older jobs were ended: {old.seen(t.env)}"
    session.run(old.kill)


def jobs_of_other_sessions_stay(t: Trial) -> None:
    """A limit in one session leaves another session's processes alone."""
    one, two, old = t.session(), t.session(), t.sleeper()
    two.run(f"{old.command} & echo").check()
    assert one.run("sleep 30 & setsid sleep 30 & sleep 30", timeout=0.5).timed_out
    old.assert_alive(t.env, 1)
    two.run("kill $!")
    old.assert_gone(t.env)


def children_of_a_finished_command_stay(t: Trial) -> None:
    """A command that ends in time leaves its background children alone, also when it had a limit."""
    session, sleeper = t.session(), t.sleeper()
    session.run(f"setsid {sleeper.command} & {sleeper.command} & echo", timeout=5).check()
    time.sleep(0.5)
    sleeper.assert_alive(t.env, 2)
    session.run(sleeper.kill)


def gentle_end_first(t: Trial) -> None:
    """The tree is asked (TERM) before it is ended (KILL): a program can tidy up in that moment."""
    root = t.directory()
    line = f"sh -c 'trap \"echo tidy >{root}/tidied; exit\" TERM; while :; do sleep 0.02; done'"
    assert t.env.run(line, timeout=0.7).timed_out
    assert eventually(lambda: t.env.run(f"cat {root}/tidied 2>/dev/null").stdout == "tidy\n", 1)


def no_zombies(t: Trial) -> None:
    """Ended trees leave no zombies behind: 20 limits with orphans, then a look at the table."""
    env = t.fresh()
    session = env.session()
    before = sum(row.state == "Z" for row in t.place.processes(env))
    for _ in range(20):
        session.run("(setsid sleep 31 &) ; sleep 31 & sleep 30", timeout=0.1)
    assert eventually(lambda: sum(row.state == "Z" for row in t.place.processes(env)) <= before + 2, 3)


@terms(bash)
def renamed_and_disowned(t: Trial) -> None:
    """``exec -a`` another name, ``disown``, ``set -m`` process groups: all gone as well."""
    session, sleeper = t.session(), t.sleeper()
    nap = sleeper.command
    line = f"(exec -a kworker {nap}) & {nap} & disown -a; set -m; {nap} & sleep 30"
    assert session.run(line, timeout=0.8).timed_out
    sleeper.assert_gone(t.env)


def next_command_is_not_hit(t: Trial) -> None:
    """What ends a tree is over when the result is there: 60 limits, each followed at once by a command.

    On a machine that is busy with other things, where more than a second is allowed after a limit, a shell may be too
    slow to save its state. That is said, and what was there before is kept.
    """
    session = t.session()
    session.run("X=kept").check()
    events = {None} if AFTER_LIMIT <= 1 else {None, ShellEvent.STATE_LOST, ShellEvent.RESTARTED}
    for number in range(60):
        assert session.run("sleep 30", timeout=0.02).timed_out
        after = session.run("echo $X", timeout=5)
        assert (after.exit_code, after.stdout) == (0, "kept\n"), f"{number}: {after}"
        assert after.shell in events, f"{number}: {after}"


def client_is_not_hit(t: Trial) -> None:
    """What ends trees never hits the client itself, whatever numbers its descriptors happen to have."""
    said = t.client_says(
        """
        import gc
        held = []
        for number in range(14):
            with make() as env:
                env.run("sleep 30 & echo")
                env.run("sleep 30", timeout=0.1)
                env.session().run("exit 1")
            held.append(open("/dev/null"))
        say("alive")
        """
    )
    assert said == "alive"
