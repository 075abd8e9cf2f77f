"""Clients that die: what is left in the sandbox after kill -9 in mid-command, and who can find it again."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from shellward.testing.place import Handle
from shellward.testing.trial import at_most, bash, eventually, lease, line_of, no_lease, terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"

_TREE = "setsid {0} & sh -c 'trap \"\" TERM HUP INT; {0}; {0}' & (env -i PATH=$PATH setsid {0} &) ; {0}"


@terms(no_lease)
def killed_client_leaves_nothing(t: Trial) -> None:
    """A client ended with kill -9 in mid-command.

    Within 2 s nothing of it is left where the sandbox ends with it.
    """
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        sleeper = t.sleeper()
        tree = _TREE.format(sleeper.command)
        client = t.client(f'env = make()\nsay(env.handle)\nenv.run("""{tree}""")\n')
        view = Handle(line_of(client))
        sleeper.assert_alive(view, 4)
        client.send_signal(number)
        client.wait(10)
        sleeper.assert_gone(view, 2)


@terms(no_lease)
def killed_client_with_background_jobs(t: Trial) -> None:
    """The same for background jobs of earlier commands, and for shells that were idle."""
    sleeper = t.sleeper()
    client = t.client(
        f"""
        env = make()
        pids = [env.run("echo $$").stdout.strip(), env.session().run("echo $$").stdout.strip()]
        env.run("{sleeper.command} & setsid {sleeper.command} & echo")
        say(*pids)
        time.sleep(60)
        """
    )
    pids = {int(word) for word in line_of(client).split()}
    view = Handle("")
    sleeper.assert_alive(view, 2)
    client.kill()
    client.wait(10)
    sleeper.assert_gone(view, 2)
    gone = eventually(lambda: not any(row.pid in pids for row in t.place.processes(view)), 2)
    assert gone, "a warm shell outlives its client"


@terms(lease, limit=90)
def killed_client_and_its_lease(t: Trial) -> None:
    """A client ended with kill -9 in mid-command: the sandbox ends by itself when its lease has run out."""
    sleeper, before = t.sleeper(), set(t.place.left_behind())
    client = t.client(f'env = make()\nsay(env.handle)\nenv.run("""{_TREE.format(sleeper.command)}""")\n', lease=3)
    view = Handle(line_of(client))
    sleeper.assert_alive(view, 4)
    client.kill()
    client.wait(10)
    assert eventually(lambda: not t.place.processes(view), 30), "the sandbox outlives its lease"
    names = {row.split()[0] for row in before}
    assert eventually(lambda: {row.split()[0] for row in t.place.left_behind()} <= names, 15), t.place.left_behind()


@terms(lease, limit=90)
def living_client_keeps_its_lease(t: Trial) -> None:
    """A client that only waits, or is busy with one long command, renews its lease."""
    env = t.fresh(lease=2)
    kept = f"{env.backend.scratch}/kept"
    env.run(f"echo x >{kept}").check()
    assert env.run(f"sleep 7; cat {kept}", timeout=20).stdout == "x\n"
    import time

    time.sleep(7)
    assert env.run(f"cat {kept}").stdout == "x\n"


@terms(lease)
def another_process_attaches(t: Trial) -> None:
    """State seen by ``attach`` from another process.

    Files and running processes are there, its commands are apart.
    """
    env, sleeper = t.fresh(), t.sleeper()
    place = env.backend.scratch
    env.run(f"echo file >{place}/file; X=mine; {sleeper.command} & echo").check()
    said = t.client_says(
        f"""
        other = environments.attach({env.handle!r})
        assert other.handle == {env.handle!r} and other.kind == KIND
        say(other.read_file("{place}/file").decode().strip(), other.run("echo from other; (exit 4)").exit_code)
        other.run("echo theirs >{place}/theirs")
        other.detach()
        """
    )
    assert said == "file 4"
    assert env.read_file(f"{place}/theirs") == b"theirs\n"
    assert env.run("echo $X").stdout == "mine\n"
    sleeper.assert_alive(env)


@terms(lease, bash)
def a_shell_of_ones_own_is_found_again(t: Trial) -> None:
    """``attach`` has the shell that it was made with, where the backend remembers, unless told otherwise."""
    from shellward import environments
    from shellward.environments.base import Remembering

    env = t.fresh(shell="sh")  # noqa: S604  # no such shell
    if not isinstance(env.backend, Remembering):
        return
    for wanted, shell in ((None, "sh"), ("bash", "bash")):
        other = environments.attach(env.handle, shell=wanted)
        t.defer(other.detach)
        assert other.capabilities.shell == shell


@terms(lease)
def state_is_found_after_the_client_died(t: Trial) -> None:
    """``attach`` after kill -9 of the client finds the files.

    And the session's state as of its last command.
    """
    client = t.client(
        """
        env = make()
        env.run("cd /tmp; PLAIN='a b'; export EXPORTED=2").check()
        env.run(f"echo data >{env.backend.scratch}/data").check()
        say(env.handle)
        env.run(f"echo ran >>{env.backend.scratch}/ran; sleep 100")
        """,
        lease=20,
    )
    handle = line_of(client)
    from shellward import environments

    assert eventually(lambda: any("sleep 100" in row.args for row in t.place.processes(Handle(handle))), 5)
    client.kill()
    client.wait(10)
    # A state is one shell's: the same is asked for again.
    env = environments.attach(handle, shell=str(t.place.config.get("shell", "auto")))
    t.defer(env.close)
    with at_most(10, "the first command after attach"):
        result = env.run(f"cd {env.backend.scratch} && cat data ran; cd /tmp")
    assert result.stdout == "data\nran\n"
    assert env.run('pwd; echo "$PLAIN $EXPORTED"').stdout == "/tmp\na b 2\n"


@terms(lease)
def detaching_leaves_it(t: Trial) -> None:
    """``detach()`` releases this client's side and leaves the sandbox to its lease, for others to attach."""
    from shellward import environments

    env = t.place.create(lease=30)
    kept = f"{env.backend.scratch}/x"
    env.run(f"echo x >{kept}").check()
    handle = env.handle
    env.detach()
    again = environments.attach(handle)
    t.defer(again.close)
    assert again.run(f"cat {kept}").stdout == "x\n"
    again.close()
    assert eventually(lambda: not t.place.processes(Handle(handle)), 5)
