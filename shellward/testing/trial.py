"""What a check is given: environments, markers that can be found in a process table, and client processes.

The words in which checks say what they need of a place live here too.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from types import TracebackType

    from shellward.environments.environment import Environment
    from shellward.environments.session import Session
    from shellward.testing.place import Place, Seen, Viewed

_Function = TypeVar("_Function", bound="Callable[[Trial], None]")
_Error = TypeVar("_Error", bound=BaseException)

PROMPT = 3.0
"""Seconds within which something that must happen at once has to happen, on a busy machine."""
CLIENT_LEASE = 15
"""Seconds that the sandbox of a killed client lives on; a busy machine must not make a living one miss it."""
DependsOn: TypeAlias = Literal["shell", "transport", "host"]
"""What the outcome of a check depends on: the shell that runs commands, the way to it, or the machine it runs on.

``DEPENDS_ON`` in each module of checks says it. A place that has nothing new of that kind need not be tried each time.
"""
AFTER_LIMIT = float(os.environ.get("SHELLWARD_TEST_AFTER_LIMIT") or 1.0)
"""Seconds after its time limit by which a command must have returned (SPEC A); more where much else is done."""


@dataclass(frozen=True)
class Terms:
    """What a check needs.

    Attributes:
        slow: it takes more than a few seconds or loads the machine.
        limit: seconds after which a runner should give it up as hanging.
        needs: each says why the check does not concern a place, or "".
        depends_on: what its outcome depends on, where that is not what its module says (see DependsOn).
    """

    slow: bool = False
    limit: float = 60.0
    needs: tuple[Callable[[Place], str], ...] = ()
    depends_on: DependsOn | None = None


def terms(
    *needs: Callable[[Place], str], slow: bool = False, limit: float = 60.0, depends_on: DependsOn | None = None
) -> Callable[[_Function], _Function]:
    """Attach terms to a check."""

    def attach(function: _Function) -> _Function:
        vars(function)["terms"] = Terms(slow=slow, limit=limit, needs=needs, depends_on=depends_on)
        return function

    return attach


def bash(place: Place) -> str:
    """Need bash as the session's shell."""
    return "" if place.shell == "bash" else "the syntax is bash's"


def terminals(place: Place) -> str:
    """Need something in the sandbox that can hold the terminal of a background process."""
    return "" if place.terminals else "nothing there can hold a terminal without a client"


def python(place: Place) -> str:
    """Need python3 in the sandbox, because the shell cannot do what the check tries."""
    return "" if place.python else "there is no python3 to provoke it with"


def same_machine(place: Place) -> str:
    """Need the sandbox's files to be this machine's."""
    return "" if place.same_machine else "its files cannot be seen from here"


def root(place: Place) -> str:
    """Need commands to run as root."""
    return "" if place.root else "commands do not run as root"


def ordinary_user(place: Place) -> str:
    """Need a second user inside."""
    return "" if place.other_user else "there is no second user inside"


def lease(place: Place) -> str:
    """Need environments that outlive their client for a while."""
    return "" if place.lease else "it ends with its client"


def no_lease(place: Place) -> str:
    """Need environments that end with their client."""
    return "it outlives its client for a lease" if place.lease else ""


def fault(name: str) -> Callable[[Place], str]:
    """Need the hook of this name in ``Place.faults``."""

    def need(place: Place) -> str:
        hook = getattr(place.faults, name)
        return hook if isinstance(hook, str) else ""

    return need


class Caught(Generic[_Error]):
    """What ``raises`` caught, as ``value``."""

    value: _Error


@contextlib.contextmanager
def raises(*kinds: type[_Error]) -> Iterator[Caught[_Error]]:
    """Fail when the block raises none of ``kinds``, like ``pytest.raises`` without pytest."""
    caught: Caught[_Error] = Caught()
    try:
        yield caught
    except kinds as error:
        caught.value = error
    else:
        raise AssertionError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, nothing was raised")


def eventually(what: Callable[[], object], within: float = PROMPT) -> bool:
    """Wait until ``what()`` is true; False when it was not ``within`` seconds."""
    end = time.monotonic() + within
    while not what():
        if time.monotonic() > end:
            return bool(what())
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def at_most(seconds: float, what: str) -> Iterator[None]:
    """Fail when the block takes longer than ``seconds``."""
    start = time.monotonic()
    yield
    took = time.monotonic() - start
    assert took <= seconds, f"{what} took {took:.2f} s, more than {seconds:.2f} s"


class Sleeper:
    """A ``sleep`` of a length that nobody else uses, so that it can be found in a process table.

    The number is on the command line, where clearing the environment or leaving the session does not hide it.

    Attributes:
        command: ``sleep 3xxxxxxxx``, about ten years.
        kill: a shell line that ends all of them, with POSIX tools.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._number = str(random.randrange(300_000_000, 400_000_000))  # noqa: S311  # not a secret
        self.command = f"sleep {self._number}"
        self.kill = (
            "for p in /proc/[0-9]*; do "
            f"if tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^sleep {self._number}'; "
            "then kill -9 ${p#/proc/}; fi; done; true"
        )

    def seen(self, env: Viewed) -> list[Seen]:
        """List living processes with this number on their command line; zombies do not count."""
        table = self._trial.place.processes(env)
        return [row for row in table if self._number in row.args and row.state != "Z"]

    def assert_gone(self, env: Viewed, within: float = AFTER_LIMIT) -> None:
        """Fail when any of them is still alive after ``within`` seconds."""
        assert eventually(lambda: not self.seen(env), within), f"still alive: {self.seen(env)}"

    def assert_alive(self, env: Viewed, count: int = 1) -> None:
        """Fail when fewer than ``count`` are alive, after giving them time to start."""
        alive = eventually(lambda: len(self.seen(env)) >= count, 5)
        assert alive, f"expected {count} processes of {self.command!r}, saw {self.seen(env)}"


class Trial(contextlib.AbstractContextManager["Trial"]):
    """One run of one check.

    Attributes:
        place: where it runs.
        used_shared: whether the check used the shared environment.
    """

    def __init__(self, place: Place, share: Callable[[], Environment]) -> None:
        self.place = place
        self.used_shared = False
        self._share = share
        self._stack = contextlib.ExitStack()

    @property
    def env(self) -> Environment:
        """The environment that harmless checks share. Leave its default session as it was found."""
        self.used_shared = True
        return self._share()

    def session(self) -> Session:
        """Open a session of its own in the shared environment, for checks that change the shell's state."""
        return self._stack.enter_context(self.env.session())

    def fresh(self, **changes: object) -> Environment:
        """Make an environment that only this check has; it is closed afterwards."""
        env = self.place.create(**changes)
        self._stack.callback(env.close)
        return env

    def over_asyncio(self, body: Callable[[Any], Awaitable[None]]) -> None:
        """Run a coroutine function with an ``aio`` environment that only it has, in an event loop of its own."""
        from shellward import aio

        async def main() -> None:
            async with await aio.create(self.place.kind, **self.place.config) as env:
                await body(env)

        asyncio.run(main())

    def sleeper(self) -> Sleeper:
        """Make a process that can be found again."""
        return Sleeper(self)

    def directory(self, env: Environment | None = None) -> str:
        """Make an empty directory in the sandbox; it is removed afterwards."""
        where = env or self.env
        path = f"/tmp/shellward-check-{uuid.uuid4().hex[:12]}"
        where.run(f"mkdir {path}").check()
        if env is None:
            self._stack.callback(lambda: where.run(f"chmod -R u+rwx {path}; rm -rf {path}", timeout=30))
        return path

    def client(self, body: str, **changes: object) -> subprocess.Popen[str]:
        """Start another Python process that runs ``body`` with ``make()`` and ``say()`` at hand.

        Its standard output is a pipe; it is killed at the end of the check. What it leaves to a lease is gone soon.
        """
        if self.place.lease:
            changes = {"lease": CLIENT_LEASE, **changes}
        # Not by -c: what stands on its command line would be found when its sleepers are looked for.
        script = self._stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".py"))  # noqa: SIM115
        script.write(self.place.client_code(body, **changes))
        script.flush()
        Path(script.name).chmod(0o644)
        process = subprocess.Popen(
            [sys.executable, script.name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end, process)
        return process

    def client_says(self, body: str, config: Mapping[str, object] | None = None, *, within: float = 60.0) -> str:
        """Run a client to its end and return what it said, stripped.

        Raises:
            AssertionError: it failed.
        """
        process = self.client(body, **(config or {}))
        out, err = process.communicate(timeout=within)
        assert process.returncode == 0, f"the client ended with {process.returncode}:\n{out}\n{err}"
        return out.strip()

    def defer(self, undo: Callable[[], object]) -> None:
        """Call ``undo`` at the end of the check, whatever happens."""
        self._stack.callback(undo)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, value, traceback)


def line_of(process: subprocess.Popen[str]) -> str:
    """Read the next line that a client said.

    Raises:
        AssertionError: it ended instead.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, err = process.communicate(timeout=30)
        raise AssertionError(f"the client ended with {process.returncode} before it spoke:\n{err}")
    return line.strip()


def quoted(text: str) -> str:
    """Quote for any POSIX shell."""
    return shlex.quote(text)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=30)
