"""What the suite has to know of the place where a backend runs: how to make an environment and look at it.

Nothing here judges; the checks do. Nothing here needs pytest.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import textwrap
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shellward.environments.environment import Environment


class Seen(NamedTuple):
    """One process of the sandbox, seen from outside the code under test.

    Attributes:
        pid: process id, in the numbering of the observer.
        state: first letter as ``ps`` prints it; ``Z`` is a zombie.
        args: the command line, words joined with blanks.
    """

    pid: int
    state: str
    args: str


class Handle(NamedTuple):
    """Enough of an environment to look at its process table, when it belongs to another client."""

    handle: str


Viewed: TypeAlias = "Environment | Handle"


class SmallDisk(NamedTuple):
    """A file system of about 1 MB inside the sandbox.

    Attributes:
        config: what ``create`` needs on top of the place's own configuration.
        path: where it is mounted, seen from inside.
    """

    config: Mapping[str, Any]
    path: str


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A situation in which ``create`` must raise ``EnvironmentUnavailable`` and say what to do.

    Attributes:
        name: short name of the situation.
        config: settings on top of the place's own.
        variables: environment variables of the client.
        uid: user the client runs as, when that matters (needs root).
        imports: modules imported before the client becomes that user, who may not be able to read them.
        mentions: words of which the message must hold at least one.
    """

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    uid: int | None = None
    imports: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Hooks that break the place from outside. A sentence instead of a hook says why it cannot happen there.

    Attributes:
        kill_sandbox: removes the sandbox at once, as ``docker rm -f`` does.
        restart_daemon: stops and starts the service behind the backend; returns when it answers again.
        small_disk: gives a file system of 1 MB for the length of a ``with`` block.
        small_memory: settings that limit the sandbox to about 64 MB of memory without swap.
        few_pids: settings that limit the sandbox to about 64 processes.
        shared_directory: settings that mount a directory of this machine at ``/shared`` inside, writable.
    """

    kill_sandbox: Callable[[Environment], None] | str = "there is no sandbox apart from the client"
    restart_daemon: Callable[[], None] | str = "there is no service behind this backend"
    small_disk: Callable[[], AbstractContextManager[SmallDisk]] | str = "no small file system can be made here"
    small_memory: Mapping[str, object] | str = "this backend does not limit memory"
    few_pids: Mapping[str, object] | str = "this backend does not limit processes"
    shared_directory: Callable[[Path], Mapping[str, object]] | str = "nothing is mounted at this backend"


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """One backend in one configuration, as the suite sees it.

    Attributes:
        name: appears in test ids (``docker-busybox``).
        kind: what ``environments.create`` takes.
        config: settings for ``create``; representable in JSON, so that other processes can be clients too.
        shell: the shell the sessions must have, ``bash`` or ``sh``.
        processes: the sandbox's process table through a channel that is not the session's. Empty when the
            sandbox is gone.
        python: ``python3`` is on the sandbox's PATH.
        terminals: something in the sandbox can hold the terminal of a background process: ``python3``, ``script`` of
            util-linux or ``telnetd`` of busybox.
        root: commands run as root unless told otherwise.
        other_user: a user inside that is not the default one, or "" when there is none.
        same_machine: the sandbox's files and processes are this machine's.
        shared_host: commands run on a whole machine, among others' processes and files: not isolated.
        shell_processes: how many processes of the sandbox a warm shell is, at most.
        lease: the sandbox ends some time after its client was lost; ``create`` takes ``lease=`` in seconds.
            False: it ends with its client.
        faults: see Faults.
        refusals: see Refusal.
        wrong_settings: settings of which each alone must be a ``ConfigError`` that names its key.
        left_behind: names what is left of environments of this place after they were closed; [] is right.
        drop_snapshot: removes a snapshot, where one stays until somebody does.
        large_file: bytes of the file that goes up and comes down; a cloud is far away, and its streams are slow.
        deviations: name of a check and the reason why it is expected to fail here. Strict: when it passes,
            that is a failure too.
        imports: modules that a client process imports first, for backends that register themselves.
    """

    name: str
    kind: str
    processes: Callable[[Viewed], Sequence[Seen]]
    config: Mapping[str, Any] = field(default_factory=dict)
    shell: str = "bash"
    python: bool = True
    terminals: bool = True
    root: bool = True
    other_user: str = ""
    same_machine: bool = False
    shared_host: bool = False
    shell_processes: int = 3
    large_file: int = 2**30
    lease: bool = True
    faults: Faults = field(default_factory=Faults)
    refusals: Sequence[Refusal] = ()
    wrong_settings: Mapping[str, object] = field(default_factory=lambda: {"colour": "blue", "env": 7})
    left_behind: Callable[[], Iterable[str]] = tuple
    drop_snapshot: Callable[[str], object] = str
    deviations: Mapping[str, str] = field(default_factory=dict)
    imports: Sequence[str] = ()

    def create(self, **changes: Any) -> Environment:
        """Make an environment with this place's configuration and ``changes``.

        Raises:
            EnvironmentUnavailable: the place is not there.
        """
        from shellward import environments

        config: dict[str, Any] = {**self.config, **changes}
        return environments.create(self.kind, **config)

    def client_code(self, body: str, **changes: object) -> str:
        """Write a Python program that makes such an environment as ``env`` and then does ``body``."""
        config = json.dumps({**self.config, **changes})
        head = (
            "import json, os, signal, sys, threading, time, resource\n"
            "from shellward import environments\n"
            + "".join(f"import {module}\n" for module in self.imports)
            + f"KIND, CONFIG = {self.kind!r}, json.loads({config!r})\n"
            "def say(*words):\n    print(*words, flush=True)\n"
            "def make(**more):\n    return environments.create(KIND, **{**CONFIG, **more})\n"
        )
        return head + textwrap.dedent(body)


def local_processes(_env: Viewed | None = None) -> list[Seen]:
    """Read this machine's process table from /proc (see proc(5))."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(errors="replace")
            args = (entry / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found.append(Seen(int(entry.name), stat[stat.rindex(")") + 2], args))
    return found


def docker_processes(env: Viewed) -> list[Seen]:
    """Ask the engine for the container's processes (``docker top``, which runs ``ps`` outside of it)."""
    container = env.handle.partition(":")[2]
    done = subprocess.run(
        ["docker", "top", container, "-eo", "pid,stat,args"],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    rows = (line.split(None, 2) for line in done.stdout.splitlines()[1:])
    return [Seen(int(row[0]), row[1][0], row[2] if len(row) > 2 else "") for row in rows if len(row) > 1]


def docker_removes(env: Environment) -> None:
    """Remove the container from under the client."""
    subprocess.run(["docker", "rm", "-f", env.handle.partition(":")[2]], capture_output=True, check=True)


def docker_drops(snapshot: str) -> None:
    """Remove the image that a snapshot is."""
    subprocess.run(["docker", "image", "rm", snapshot], capture_output=True, check=True)


def docker_labelled(label: str) -> list[str]:
    """List containers, running or not, and images that carry ``label`` (``key=value``)."""
    query = ["--filter", f"label={label}", "--format", "{{.ID}} {{.Image}} {{.Status}}"]
    done = subprocess.run(["docker", "ps", "-a", *query], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def sshd_directory() -> Path:
    """Where tests/services/sshd keeps keys and a client's configuration."""
    return Path(os.environ.get("SHELLWARD_SSHD_DIR") or "/tmp/shellward-sshd")


def ssh_processes(directory: Path, user: str) -> Callable[[Viewed], list[Seen]]:
    """Make a view of what a user's sessions run: all in the servers' process table that is his.

    But for the servers' own processes, and for those that say that they are another environment's. Numbers are those
    of the servers' table.
    """
    uid = pwd.getpwnam(user).pw_uid if user in {entry.pw_name for entry in pwd.getpwall()} else -1
    return host_processes(lambda: (directory / "pid").read_text().strip(), lambda: uid)


def host_processes(first: Callable[[], str], user: Callable[[], int]) -> Callable[[Viewed], list[Seen]]:
    """Make such a view of a process table that is a part of this machine's.

    Args:
        first: gives the number of one of its processes, in this machine's table.
        user: gives the number of who logs in.
    """

    def processes(env: Viewed) -> list[Seen]:
        ours = (env.handle.partition("?")[0].rpartition("-")[2] + ";").encode()
        try:
            table, uid = Path("/proc", first(), "ns", "pid").readlink(), user()
        except OSError:
            return []
        found = []
        for row in local_processes():
            try:
                entry = Path("/proc", str(row.pid))
                if (entry / "ns" / "pid").readlink() != table or entry.stat().st_uid != uid:
                    continue
                marks = re.findall(rb"SHELLWARD_(?:SANDBOX|WATCHDOG)=([^\0]*)", (entry / "environ").read_bytes())
                number = int((entry / "status").read_text().partition("NSpid:")[2].split("\n")[0].split()[-1])
            except (OSError, ValueError, IndexError):
                continue  # it has ended
            server = row.args.startswith(("sshd: ", "/usr/sbin/sshd")) or number == 1
            if not server and row.args and (not marks or ours in marks or ours == b";"):
                found.append(Seen(number, row.state, row.args))
        return found

    return processes


def ssh_left_behind(user: str) -> Callable[[], list[str]]:
    """Make a list of what a user of this machine's has in the temporary directory, and of ours in his home."""

    def left() -> list[str]:
        entry = pwd.getpwnam(user)
        mine = [path for path in Path("/tmp").glob("shellward-*") if re.fullmatch(r"shellward-[0-9a-f]{20}", path.name)]
        return [
            *(str(path) for path in mine if path.lstat().st_uid == entry.pw_uid),
            *(str(path) for path in Path(entry.pw_dir).glob(".shellward*")),
        ]

    return left


TABLE = r"""
for p in /proc/[0-9]*; do
  IFS= read -r l <"$p/stat" || continue
  printf '%s %s ' "${p#/proc/}" "$(printf %s "${l##*) }" | cut -c1)"
  tr '\0\n' '  ' <"$p/cmdline"
  echo
done 2>/dev/null
: shellward-table
"""
"""What lists a sandbox's processes for ``table_rows``, wherever there is a ``sh``."""


def table_rows(said: str) -> list[Seen]:
    """Read what TABLE has printed; what has printed it is left out."""
    rows = (line.split(None, 2) for line in said.splitlines())
    found = [Seen(int(row[0]), row[1], row[2] if len(row) > 2 else "") for row in rows if len(row) > 1]
    return [row for row in found if "shellward-table" not in row.args]


def modal_processes(env: Viewed) -> list[Seen]:
    """Ask Modal for a sandbox's processes, with a command of the SDK's own."""
    import modal

    try:
        sandbox = modal.Sandbox.from_id(env.handle.partition(":")[2])
        try:
            said: str = sandbox.exec("sh", "-c", TABLE).stdout.read()
        finally:
            sandbox.detach()
    except modal.exception.Error:
        return []  # it has ended
    return table_rows(said)


def local_small_disk(directory: Path) -> AbstractContextManager[SmallDisk]:
    """Mount a tmpfs of 1 MB at ``directory`` of this machine (needs root)."""
    return _Mounted(directory)


class _Mounted(AbstractContextManager[SmallDisk]):
    def __init__(self, directory: Path, within: Sequence[str] = ()) -> None:
        self._directory = directory
        self._within = within

    def __enter__(self) -> SmallDisk:
        self._directory.mkdir(parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=1777", "tmpfs", str(self._directory)]
        subprocess.run([*self._within, *mount], check=True)
        return SmallDisk({}, str(self._directory))

    def __exit__(self, *_exc: object) -> None:
        subprocess.run([*self._within, "umount", "-l", str(self._directory)], check=True)


def ssh_small_disk(servers: Path, directory: Path) -> AbstractContextManager[SmallDisk]:
    """Mount a tmpfs of 1 MB where the servers' sessions see it (needs root)."""
    pid = (servers / "pid").read_text().strip()
    return _Mounted(directory, ("nsenter", "--target", pid, "--mount", "--pid"))


def docker_small_disk() -> AbstractContextManager[SmallDisk]:
    """Describe a container with a tmpfs of 1 MB."""
    return nullcontext(SmallDisk({"tmpfs": {"/small": "size=1m"}}, "/small"))


def service_restart(script: str | Path) -> Callable[[], None] | str:
    """Make a ``restart_daemon`` hook of a script that takes ``restart``, or say that it is missing."""
    if shutil.which(str(script)) is None:
        return f"no executable {shlex.quote(str(script))} here to restart the service"

    def restart() -> None:
        subprocess.run([str(script), "restart"], check=True, capture_output=True, timeout=120)

    return restart
