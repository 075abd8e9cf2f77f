"""The backend: see ``shellward.environments.base``.

Commands run in shells opened through a door of ours (environments/door.py), since an instance is on this machine; the
program is called when it is made, and where an image lets no doorkeeper run.
"""

import os
import shlex
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from shellward.core.errors import EnvironmentUnavailable, Unsupported
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import parse_config
from shellward.environments.door import Door
from shellward.environments.machine import spawn
from shellward.environments.singularity import binary, records, snapshots
from shellward.environments.singularity.config import KIND, PROCESSES, SCRATCH, SingularityConfig, check
from shellward.environments.singularity.images import resolve
from shellward.environments.singularity.instance import (
    TIDY,
    clear,
    door_of,
    end,
    held,
    inside,
    pids,
    prepare,
    start,
    stop,
)
from shellward.environments.singularity.records import Record

# The terminal is the process's alone: the program outside, were it in its session, would end at Ctrl-C, and with it
# the process.
_NO_TERMINAL = "echo 'shellward: no terminal can be had here: that needs setsid'; exit 125"


class SingularityBackend:
    """See Backend."""

    kind = KIND
    scratch = SCRATCH
    processes = PROCESSES

    def __init__(self, record: Record, door: Door | None) -> None:
        self.record = record
        self.config = record.config
        self.door = door
        self.lease: float | None = record.config.lease
        self._ended = False
        self._lock = threading.Lock()

    @property
    def handle(self) -> str:
        """See Backend."""
        return f"{KIND}:{self.record.name}"

    @property
    def shell(self) -> str:
        """See Remembering."""
        return self.config.shell

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(
            snapshot=self.config.writable == "overlay",
            expose=self.config.network == "host",
            stats=True,
            attach=True,
            pty=True,
            isolated=True,
            notes=self.record.notes,
        )

    def open(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        pty: PtySize | None = None,
    ) -> Channel:
        """See Backend."""
        if user is not None:
            raise Unsupported("run as another user", KIND, "instances have the one who starts them")
        if self.record.life is None or not self.record.life.there():
            raise EnvironmentUnavailable(f"instance {self.record.name} has ended; create a new environment")
        variables = {**self.config.env, **(env or {})}
        cwd = cwd or self.config.cwd
        if pty is not None:
            from shellward.environments.local_pty import TAKE_LATER, open_local_pty

            taking = ["sh", "-c", f'{TAKE_LATER}; exec "$@"', "shellward", *argv]
            words = [*inside(self.record), "sh", "-c", _script(taking, variables, cwd, missing=_NO_TERMINAL)]
            return open_local_pty(words, pty, env=binary.variables(), cwd="/", identity={}, taken=False)
        if self.door is not None:
            channel = self.door.open(argv, variables, cwd)
            if channel is not None:
                return channel
        try:
            words = [*inside(self.record), "sh", "-c", _script(argv, variables, cwd)]
            return spawn(KIND, words, env=binary.variables(), cwd="/")
        except OSError as error:
            raise EnvironmentUnavailable(f"cannot start {self.record.binary}: {error}") from error

    def explain_loss(self) -> str:
        """See Backend."""
        if self.record.life is not None and self.record.life.there():
            return ""
        return f"instance {self.record.name} has ended"

    def destroy(self) -> None:
        """See Backend."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        if self.door is not None:
            self.door.close()
        end(self.record)

    def detach(self) -> None:
        """See Backend."""
        if self.door is not None:
            self.door.close()

    def snapshot(self) -> str:
        """See Backend."""
        self._need_layer("take snapshots")
        return snapshots.save(self.record)

    def restore(self, snapshot: str) -> None:
        """See Backend. The instance keeps its name."""
        self._need_layer(f"go back to snapshot {snapshot!r}")
        snapshots.check(snapshot)
        if self.door is not None:
            self.door.close()
        with held(self.record):
            stop(self.record)
            snapshots.load(self.record, snapshot)
            _empty(Path(self.record.root))
            self.door = start(self.record)

    def _need_layer(self, what: str) -> None:
        if self.config.writable != "overlay":
            raise Unsupported(what, KIND, "create it with writable=overlay")

    def expose(self, port: int) -> str:
        """See Backend. An instance has the machine's own network."""
        if self.config.network != "host":
            raise Unsupported(f"expose port {port}", KIND, "create it with network=host")
        return f"127.0.0.1:{port}"

    def stats(self) -> Stats:
        """See Backend. Without cgroups it is what this machine knows of the processes that live now."""
        seconds, memory, count = 0.0, 0, 0
        for pid in pids(self.record):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
                resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
            except OSError:
                continue  # it has ended
            count += 1
            seconds += sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
            memory += (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
        return Stats(cpu_seconds=seconds, memory_bytes=memory, memory_limit_bytes=None, pids=count)


def _script(argv: Sequence[str], env: Mapping[str, str], cwd: str | None, missing: str = "") -> str:
    """Write what the program runs inside: ``argv`` in a session of its own; ``missing``: where there is no setsid."""
    lines = [
        f"cd -- {shlex.quote(cwd)} || exit 126" if cwd else "cd 2>/dev/null || cd /",
        TIDY,
        *(f"export {name}={shlex.quote(value)}" for name, value in env.items()),
        f"if command -v setsid >/dev/null; then exec setsid {shlex.join(argv)}; fi",
        missing or f"exec {shlex.join(argv)}",
    ]
    return "\n".join(lines)


def _empty(root: Path) -> None:
    """Make the door and the scratch directory as new, but for the lease: its guard goes on."""
    for path in [*(root / "shared").iterdir(), *(root / "scratch").iterdir()]:
        if path.name == "lease":
            continue
        if path.is_dir() and not path.is_symlink():
            clear(str(path))
        else:
            path.unlink(missing_ok=True)


def create(config: Mapping[str, object], progress: OnStep | None = None) -> SingularityBackend:
    """See BackendFactory."""
    settings = parse_config(SingularityConfig, config, KIND)
    check(settings)
    program = binary.find(settings.binary)
    if missing := binary.lacking():
        raise EnvironmentUnavailable(f"instances need more than {program}: {missing}")
    image = resolve(program, settings, progress)
    _sweep()
    record = prepare(program, image, settings)
    try:
        with held(record):
            return SingularityBackend(record, start(record, progress))
    except BaseException:
        end(record)
        raise


def _sweep() -> None:
    """Remove what is left of instances whose guard was ended, too (the machine was switched off)."""
    for record in records.known():
        if record.life is not None and record.life.there():
            continue
        if record.guard is None or not record.guard.there():
            end(record)


def attach(handle: str) -> SingularityBackend:
    """See BackendFactory."""
    record = _living(handle)
    return SingularityBackend(record, door_of(record))


def _living(handle: str) -> Record:
    record = records.read(handle.partition(":")[2])
    if record is None:
        raise EnvironmentUnavailable(
            f"{handle} is not there, or was not made by Shellward on this machine by you", gone=True
        )
    if record.life is None or not record.life.there():
        raise EnvironmentUnavailable(f"{handle} has ended; create a new environment", gone=True)
    return record


def remove(handle: str) -> bool:
    """See BackendFactory."""
    record = records.read(handle.partition(":")[2])
    if record is None:
        return False
    end(record)
    return True


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory."""
    return [
        EnvironmentInfo(
            handle=f"{KIND}:{record.name}",
            kind=KIND,
            name=record.name,
            image=record.config.image,
            created=datetime.fromtimestamp(record.created, UTC),
            state="running" if record.life is not None and record.life.there() else "ended",
            owner=record.owner,
            lease=record.config.lease,
            labels=record.config.labels,
        )
        for record in records.known()
    ]


def doctor() -> Diagnosis:
    """See BackendFactory."""
    try:
        program = binary.find()
        version = binary.version(program)
    except EnvironmentUnavailable as error:
        return Diagnosis(KIND, works=False, summary="no apptainer, no singularity", advice=str(error))
    found = f"{version} ({program})"
    missing = _missing()
    if missing:
        return Diagnosis(KIND, works=False, summary=found, advice=missing)
    return Diagnosis(KIND, works=True, summary=found, notes=tuple(_notes()))


def _missing() -> str:
    """Say what is missing beside the program; root needs less than an ordinary user."""
    if (missing := binary.lacking()) or os.geteuid() == 0:
        return missing
    for path in ("/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone"):
        try:
            if Path(path).read_text().strip() == "0":
                return f"ordinary users have no user namespaces here ({path} is 0); have them switched on"
        except OSError:
            continue  # this kernel has no such switch
    return "" if os.access("/dev/fuse", os.R_OK | os.W_OK) else "you cannot use /dev/fuse; chmod 666 /dev/fuse"


def _notes() -> list[str]:
    notes = []
    if not Path("/run/systemd/system").is_dir():
        notes.append("without systemd this host may be unable to limit memory, cpus and processes; it is said when so")
    elif os.geteuid() and not Path("/sys/fs/cgroup/cgroup.controllers").exists():
        notes.append("ordinary users have limits with version 2 of control groups only, which this host does not use")
    return notes
