"""The calls of an environment that concern background processes, and what they share with the rest of it."""

import errno
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import msgspec

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.interrupts import held
from shellward.core.limits import PROCESS_TTL
from shellward.core.types import ProcessInfo
from shellward.environments import process_io
from shellward.environments.base import PtySize
from shellward.environments.call import Call, Command, Directory, make_call
from shellward.environments.encoding import script
from shellward.environments.files import error_of
from shellward.environments.foreign import foreign
from shellward.environments.launching import ABSENT, Launch
from shellward.environments.owner import owner, since
from shellward.environments.process import LINES, Process, Record, read_info
from shellward.environments.pty_calls import size_of
from shellward.environments.watching import Exits

if TYPE_CHECKING:
    from shellward.environments.base import Channel
    from shellward.environments.environment import Environment
    from shellward.environments.shell import Shell

_LIMIT: Final = 60.0
"""Seconds in which a process has to be there."""
_SETTLE: Final = 5.0
"""Seconds in which a supervisor that is there has to start its process, or to end."""
_SETTLE_LOOK: Final = 0.02
_MOST_TTL: Final = 10 * 365 * 86_400
_SHOWN: Final = 8192
_AHEAD: Final = 8
"""So many directories are made at once for processes to come: one program makes many as soon as one."""
_TOGETHER: Final = 500
"""So many processes are looked at in one call."""
_NO_FORK: Final = re.compile(r"\bfork\b")
"""In what every shell complains of when there can be no further process."""
_ID: Final = re.compile(r"[a-z0-9]{6,40}\Z")


class ProcessCalls:
    """Part of ``Environment``: background processes in it."""

    _exits: Exits | None = None
    _prepared: dict[str | None, list[str]]
    """Ids whose directory is there already, or about to be, by user; a start before has it made."""
    _holders: dict[str | None, str]
    """What can hold a terminal, by user, where that was asked for."""
    _tidied = False
    _installed = False

    def _all(self) -> "Environment":
        return cast("Environment", self)

    def start(
        self,
        command: Command,
        *,
        pty: bool | PtySize | None = None,
        stdin: bytes | str | None = None,
        cwd: Directory | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        task: str = "",
        ttl: float = PROCESS_TTL,
        name: str | None = None,
        merge_stderr: bool = False,
    ) -> Process:
        """Start a command in the background. It begins with what the default session knows, and outlives its client.

        Args:
            command: a shell line, or a list of words that is run as it stands.
            pty: size of the terminal that it gets (True: 24 lines of 80 characters); None: it has none.
            stdin: all of its input; None: its input stays open, to be written to.
            cwd: directory, relative to the session's.
            env: further variables.
            user: run as another user, without the session's state.
            task: id of the task that it belongs to.
            ttl: seconds for which it keeps its sandbox alive without a client; then it is nobody's, and may be
                ended.
            name: its id, when the caller has to know it before (see ``new_process_id``).
            merge_stderr: standard error goes into standard output, in exact order.

        Raises:
            ConnectionLost: the sandbox went away; it may have been started.
            EnvironmentUnavailable: the sandbox is gone; nothing was started.
            OSError: there is no room for it; ``cwd`` is not a directory there.
            ConfigError: an argument is unusable.
            Unsupported: ``pty`` or ``user`` where that cannot be.
        """
        environment = self._all()
        environment.check_user(user)
        if user is not None and not environment.backend.capabilities.isolated:
            raise Unsupported("start background processes as another user", environment.kind)
        with held(), environment.borrowed(user) as shell:
            return self.start_on(
                shell,
                command,
                pty=pty,
                stdin=stdin,
                cwd=cwd,
                env=env,
                user=user,
                task=task,
                ttl=ttl,
                name=name,
                merge_stderr=merge_stderr,
            )

    def new_process_id(self, user: str | None = None) -> str:
        """Make an id for a process; one that is prepared already starts sooner.

        Args:
            user: who it will run as.
        """
        with self._all().lock:
            ready = self._prepared.get(user)
            return ready.pop() if ready else _new_id()

    def start_on(
        self,
        shell: "Shell",
        command: Command,
        *,
        pty: bool | PtySize | None,
        stdin: bytes | str | None,
        cwd: Directory | None,
        env: Mapping[str, str] | None,
        user: str | None,
        task: str,
        ttl: float,
        name: str | None,
        merge_stderr: bool = False,
    ) -> Process:
        """Start a command with the state of a shell whose lock is held; see ``start``."""
        environment = self._all()
        size = None if pty is None or pty is False else self._can_hold(pty, user)
        if not (isinstance(ttl, int | float) and 0 < ttl < _MOST_TTL):
            raise ConfigError(f"ttl: needs a number of seconds above 0, not {ttl!r}")
        if name is not None and not _ID.match(name):
            raise ConfigError(f"name: 6 to 40 small letters and digits, not {name!r}")
        call = make_call(command, stdin=stdin, cwd=cwd, env=env, timeout=_LIMIT, full_output=False)
        name = name or self.new_process_id(user)
        following = self._following(user) if environment.speaks_bash(shell) else ()
        record = Record(
            owner=owner(),
            born=since(),
            command=call.shown[:_SHOWN],
            started=time.time(),
            ttl=ttl,
            user=user,
            task=task,
            closed_stdin=stdin is not None,
            pty=size is not None,
        )
        backend = environment.backend
        launch = Launch(
            root=backend.processes,
            shared=backend.capabilities.isolated,
            id=name,
            record=msgspec.json.encode(record),
            program=environment.program,
            ttl=ttl,
            stdin=stdin.encode() if isinstance(stdin, str) else stdin,
            size=size,
            following=following,
            tidy=not self._tidied,
            merge_stderr=merge_stderr,
            install=not self._installed,
        )
        process = self._launch(shell, call, launch)
        self._tidied = self._tidied or bool(following)
        return process

    def _following(self, user: str | None) -> tuple[str, ...]:
        """Name processes to come, whose directories a start is to make on the way; none while some are left.

        One that begins before its directory was made makes it itself.
        """
        with self._all().lock:
            if self._prepared.get(user):
                return ()
            made = tuple(_new_id() for _ in range(_AHEAD if self._tidied else 1))
            self._prepared[user] = list(made)
            return made

    def _can_hold(self, pty: bool | PtySize, user: str | None) -> tuple[int, int]:
        """See that a terminal can be held in the sandbox; returns its rows and columns."""
        size = size_of(pty)
        environment = self._all()
        if not self._holder(user):
            advice = "that needs python3, script of util-linux, or telnetd of busybox, in the sandbox"
            raise Unsupported("give a background process a terminal", environment.kind, advice)
        return size.rows, size.columns

    def _holder(self, user: str | None) -> str:
        """Name what can hold a terminal in the sandbox; empty: nothing can."""
        if user not in self._holders:
            self._holders[user] = self.ask_processes(user, "sw_holder").strip()
        return self._holders[user]

    def _holds_terminals(self) -> bool:
        """Whether background processes can have a terminal; False where nobody can look any more."""
        if self._all().backend.capabilities.pty:
            with suppress(EnvironmentUnavailable):
                return bool(self._holder(None))
        return False

    def _launch(self, shell: "Shell", call: Call, launch: Launch) -> Process:
        from dataclasses import replace

        environment = self._all()
        # What became of a start, it can tell even where nothing can be started any more, if it is there by then.
        environment.control(shell.user).open()
        try:
            result = environment.run_on(shell, replace(call, launch=launch), None)
        except ConnectionLost as error:
            lost = ConnectionLost(f"{error}; as process {launch.id}", error.result)
            lost.__cause__ = error
            process = self._settled(launch, shell.user, lost)
            if process is None:
                raise EnvironmentUnavailable(f"{error.__cause__ or error}; nothing was started") from error
            return process
        said = result.stdout.split()
        if said == [ABSENT]:  # somebody has removed it: nothing was started
            return self._launch(shell, call, replace(launch, install=True))
        if said[:1] == ["ok"] and len(said) > 1 and said[1].isdecimal():  # "ok PID START"
            self._installed = True
            return Process(
                environment, launch.directory, pid=int(said[1]), user=shell.user, pty=launch.size is not None
            )
        # The answer is lost, or there is none: it says nothing of the process.
        unknown = ConnectionLost(f"the answer of the shell was lost; it may have been started, as process {launch.id}")
        process = self._settled(launch, shell.user, unknown)
        if process is not None:
            return process
        killed = result.timed_out or result.signal is not None
        if result.stderr.strip() and not killed and not _NO_FORK.search(result.stderr):
            raise error_of(result, launch.directory)
        raise EnvironmentUnavailable("the sandbox could not start another process; nothing was started")

    def _settled(self, launch: Launch, user: str | None, unknown: ConnectionLost) -> Process | None:
        """Find out what became of a process whose start was not answered; None: it has not begun, and will not.

        Raises:
            ConnectionLost: nobody can say; it is ``unknown``.
        """
        environment = self._all()
        until = time.monotonic() + _SETTLE
        try:
            while (said := self.ask_processes(user, f"sw_settle {process_io.word(launch.directory)}").split()) == [
                "wait"
            ]:
                if time.monotonic() > until:
                    raise unknown
                time.sleep(_SETTLE_LOOK)
        except EnvironmentUnavailable as error:
            raise unknown from error
        if said == ["none"]:
            return None
        if said[:1] != ["pid"] or not said[1].isdecimal():
            raise unknown
        return Process(environment, launch.directory, pid=int(said[1]), user=user, pty=launch.size is not None)

    def process(self, name: str) -> Process:
        """Find a process by its id, whoever started it.

        Raises:
            FileNotFoundError: there is none in this environment.
            EnvironmentUnavailable: the sandbox is gone.
        """
        return self._found(self.process_info(name))

    def process_info(self, name: str) -> ProcessInfo:
        """Return what is known now of a process by its id. Raises as ``process`` does."""
        environment = self._all()
        if not (isinstance(name, str) and _ID.match(name)):
            raise FileNotFoundError(errno.ENOENT, "there is no such process", name)
        directory = f"{environment.backend.processes}/{name}"
        return Process(environment, directory, pid=0, user=None, pty=False).poll()

    def processes(self) -> list[ProcessInfo]:
        """List the background processes of this place, of every client, in the order of their start.

        Of a local environment those of the user, whatever environment started them.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        environment = self._all()
        lines = environment.ask_processes(None, f"sw_list {process_io.word(environment.backend.processes)}").split("\n")
        found = [read_info(lines[at : at + LINES]) for at in range(0, len(lines) - LINES + 1, LINES)]
        return sorted(found, key=lambda info: info.started)

    def process_ids(self) -> list[str]:
        """Name the background processes of this place, of every client, in no order; one may be gone by now.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        environment = self._all()
        root = process_io.word(environment.backend.processes)
        lines = environment.ask_processes(None, f"sw_names {root}").split("\n")
        return [name for line in lines if _ID.match(name := line.rstrip("/").rpartition("/")[2])]

    def process_infos(self, names: Iterable[str]) -> list[ProcessInfo]:
        """Return what is known now of some processes; those that are not there are left out.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        lines = [line for part in self._ask_of("sw_tells", names) for line in part.split("\n")[:-1]]
        return [read_info(lines[at : at + LINES]) for at in range(0, len(lines) - LINES + 1, LINES)]

    def not_running(self, names: Iterable[str]) -> list[str]:
        """Name those of some processes that do not seem to run any more; cheap, so that many can be looked at.

        Raises:
            EnvironmentUnavailable: the sandbox is gone.
        """
        return [name for part in self._ask_of("sw_idle_ones", names) for name in part.split()]

    def _ask_of(self, function: str, names: Iterable[str]) -> Iterator[str]:
        environment = self._all()
        root = process_io.word(environment.backend.processes)
        wanted = [name for name in names if _ID.match(name)]
        for at in range(0, len(wanted), _TOGETHER):
            words = " ".join(wanted[at : at + _TOGETHER])
            yield environment.ask_processes(None, f"{function} {root} {words}")

    def process_of(self, info: ProcessInfo) -> Process:
        """Return the process that ``info`` is about, without looking whether it is there."""
        return self._found(info)

    def _found(self, info: ProcessInfo) -> Process:
        environment = self._all()
        directory = f"{environment.backend.processes}/{info.id}"
        return Process(environment, directory, pid=info.pid, user=info.user, pty=info.pty, last=info)

    # -- for the parts of this room ------------------------------------------------------------------------

    @property
    def exits(self) -> Exits:
        """Who tells that a process has ended."""
        environment = self._all()
        with environment.lock:
            if self._exits is None:
                self._exits = Exits(environment, f"{environment.id}.exits.0;")
            return self._exits

    def ask_processes(self, user: str | None, text: str, *, once: bool = False) -> str:
        """Call a function of scripts/process.sh in the control shell; ``once``: see ``Control.call``."""
        environment = self._all()
        environment.alive()
        return environment.control(user).ask("process.sh", text, once=once)

    def type_into(self, process: Process, data: bytes, timeout: float) -> int:
        """Write to the standard input of a process. What is typed by a user passes here, and once."""
        return process_io.write(self._all(), process, data, timeout)

    def remove_process(self, process: Process) -> None:
        """Remove the directory of a process."""
        if not _ID.match(process.id):  # it is part of what is removed with everything in it
            raise ConfigError(f"process: {process.id!r} is no id")
        place = process_io.word(process.directory)
        # Who keeps its input open waits for this, and would for ever once it is gone: see supervise.sh.
        wake = f"if [ -p {place}/ctl ]; then command : 1<>{place}/ctl; fi"
        self.ask_processes(process.user, f"{wake}; command -p rm -rf -- {place}")

    def drop_prepared(self) -> None:
        """Remove what was prepared for a process that did not come."""
        environment = self._all()
        with environment.lock:
            left, self._prepared = self._prepared, {}
        for user, names in left.items():
            if not names:
                continue
            places = " ".join(process_io.word(f"{environment.backend.processes}/{name}") for name in names)
            # One may not be there yet, and come when this is over: a later start tidies up.
            with suppress(EnvironmentUnavailable):
                environment.control(user).call(f"command -p rmdir -- {places}")

    def follower(self, path: str, offset: int, user: str | None) -> "Channel":
        """Open a channel that prints a file as it grows."""
        environment = self._all()
        environment.alive()
        argv = ["sh", "-c", script("follow.sh"), "shellward", path, str(offset)]
        with foreign(environment.kind, "the output of a process cannot be followed"):
            return environment.backend.open(argv, env={"SHELLWARD_COMMAND": f"{environment.id}.follow.0;"}, user=user)

    def printer(self, path: str, offset: int, user: str | None) -> "Channel":
        """Open a channel that prints a file from an offset to its end."""
        environment = self._all()
        environment.alive()
        skip = ["tail", "-c", f"+{offset + 1}", "--", path] if offset else ["cat", "--", path]
        with foreign(environment.kind, "the output of a process cannot be read"):
            return environment.backend.open(skip, env={"SHELLWARD_COMMAND": f"{environment.id}.print.0;"}, user=user)


def _new_id() -> str:
    return f"p{secrets.token_hex(6)}"
