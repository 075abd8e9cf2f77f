"""An instance: how it is started, guarded and ended, with all that belongs to it on this machine.

Each has two directories: ``root``, in memory, with the door and the scratch directory, and ``disk`` with its writable
layer and temporary files. A guard (scripts/instance.sh) outside of it ends it and removes both when its lease has run
out, whatever has happened to it and to its client.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.environments.base import OnStep
from shellward.environments.door import INSIDE, Door
from shellward.environments.encoding import script
from shellward.environments.machine import memory_backed
from shellward.environments.owner import owner
from shellward.environments.singularity import records
from shellward.environments.singularity.binary import Said, call, failed, short, variables
from shellward.environments.singularity.config import CAPABILITIES, KIND, OTHERS, PROCESSES, SCRATCH, SingularityConfig
from shellward.environments.singularity.records import Life, Record

_DOOR_PATIENCE: Final = 10.0
"""Seconds for the doorkeeper, which has been started by then, on a busy machine."""
_SHARE: Final = 5
"""See lease.py."""
_END_LIMIT: Final = 10.0
_NO_DOOR: Final = 94
_PROCESSES: Final = PROCESSES.replace("/var/tmp", "var_tmp", 1)  # noqa: S108  # the program's name for it outside
TIDY: Final = (
    "unset PS1 PROMPT_COMMAND; for f in /.singularity.d/libs/*; do "
    'if [ ! -e "$f" ] && [ "$LD_LIBRARY_PATH" = /.singularity.d/libs ]; then unset LD_LIBRARY_PATH; fi; break; done'
)
"""What the program puts into the variables for its own prompt is nothing for ours. A directory for the libraries of
``nv``, where that is empty, has every program look for each of its libraries in vain: half of a short one's time."""
_KEEPER: Final = (
    f"cd 2>/dev/null || cd /; {TIDY}; "
    f"command -v setsid >/dev/null || exit {_NO_DOOR}; "
    'setsid setsid sh -c "$2" shellward-door "$1" </dev/null >/dev/null 2>&1'
)
"""Starts the doorkeeper (scripts/door.sh)."""


def prepare(binary: str, image: str, config: SingularityConfig) -> Record:
    """Make the directories and the guard of a new instance.

    Raises:
        ConfigError: the directory of temporary files is not there, or not ours to write to.
    """
    name = f"{config.name}-{secrets.token_hex(6)}"
    memory, disk = memory_backed() or tempfile.gettempdir(), config.workdir or tempfile.gettempdir()
    record = Record(
        name=name,
        host=socket.gethostname(),
        owner=owner(),
        created=time.time(),
        binary=binary,
        image=image,
        config=config,
        root=str(Path(memory).absolute() / f"shellward-{KIND}-{name}"),
        disk=str(Path(disk).expanduser().absolute() / f"shellward-{KIND}-{name}.disk"),
    )
    # Before there is anything: whenever this client is killed, somebody removes what it has made so far.
    record.guard = _guard(record)
    try:
        records.note(record)
        _make_directories(record)
    except BaseException:
        _remove(record)
        raise
    return record


def _make_directories(record: Record) -> None:
    root, disk = Path(record.root), Path(record.disk)
    root.mkdir(mode=0o700)
    (root / "shared").mkdir(mode=0o711)
    (root / "scratch").mkdir(mode=0o700)
    (root / "scratch").chmod(0o1777)  # whatever the umask; nobody else gets below root
    try:
        disk.mkdir(mode=0o700)
        for name in ("overlay", "work"):
            (disk / name).mkdir()
    except OSError as error:
        raise ConfigError(f"singularity: workdir: no directory can be made in {str(disk.parent)!r}: {error}") from error


def _guard(record: Record) -> Life:
    argv = [
        *("sh", "-c", script("instance.sh"), "shellward-guard", script("lease.sh"), f"{record.root}/scratch/lease"),
        *(str(max(1, round(record.config.lease))), record.binary, record.name, f"{record.disk}/work/{_PROCESSES}"),
        *(record.disk, record.root, str(records.file(record.name))),
    ]
    process = subprocess.Popen(
        ["setsid", "--fork", "sh", "-c", 'echo "$$"; exec "$@" >/dev/null 2>&1', "shellward", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=variables(),
        cwd="/",
    )
    said, _ = process.communicate()  # it is nobody's child by then
    return Life.of(int(said))


@contextlib.contextmanager
def held(record: Record) -> Iterator[None]:
    """Renew the lease while the instance is started, which may take longer than that; nobody inside does it then."""
    over = threading.Event()

    def renew() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):  # it has been removed
                Path(record.root, "scratch", "lease").write_text(f"starting {time.monotonic_ns()}\n")
            over.wait(record.config.lease / _SHARE)

    thread = threading.Thread(target=renew, name="shellward-starting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def door_of(record: Record) -> Door:
    """Return the client's side of the door."""
    return Door(Path(record.root), KIND, _DOOR_PATIENCE)


def start(record: Record, progress: OnStep | None = None) -> Door | None:
    """Start the instance, and the doorkeeper in it.

    Returns:
        Its door; None where the image has no ``setsid``: processes are opened by the program then.

    Raises:
        EnvironmentUnavailable: it cannot be started; nothing runs.
    """
    limits = _limits(record.config)
    what = f"instance of {record.config.image!r}"
    said = _start(record, limits)
    if said.status and limits and "cgroup" in said.errors.lower():
        note = f"{' '.join(limits)} left out: this host cannot limit that ({short(said.errors)[:160]})"
        record.notes = (*record.notes, note)
        if progress is not None:
            progress(note)
        said = _start(record, [])
    if said.status:
        raise failed(f"{what} cannot be started", said.errors)
    record.life = _find(record)
    record.keeper = record.life.parent()
    records.note(record)
    return _open_door(record)


def _start(record: Record, limits: Sequence[str]) -> Said:
    """Call the program under a lock: where the client is killed meanwhile, the guard waits for the end of the start."""
    words = [record.binary, "-s", "instance", "start", *_arguments(record), *limits, record.image, record.name]
    return call(words, lock=f"{record.root}/starting")


def _find(record: Record) -> Life:
    """Ask the program for the instance's first process."""
    said = call([record.binary, "-s", "instance", "list", "--json", record.name])
    try:
        found = json.loads(said.out)["instances"][0]
        return Life.of(int(found["pid"]))
    except (ValueError, LookupError, OSError) as error:
        raise EnvironmentUnavailable(f"instance {record.name} has ended at once: {short(said.errors)}") from error


def _open_door(record: Record) -> Door | None:
    door = door_of(record)
    try:
        door.hang("")
        said = call([*inside(record), "sh", "-c", _KEEPER, "shellward", INSIDE, script("door.sh")])
    except BaseException:
        door.close()
        raise
    if not said.status:
        return door
    door.close()
    if said.status == _NO_DOOR:
        return None
    raise failed(f"no shell starts in {record.config.image!r}", said.errors or said.out)


def inside(record: Record) -> list[str]:
    """Return how the program is called to start a process in the instance; the process's own words come next."""
    return [
        *(record.binary, "-s", "exec", "--no-eval", "--cleanenv", *_privileges(record.config)),
        f"instance://{record.name}",
    ]


def _privileges(config: SingularityConfig) -> list[str]:
    if os.geteuid() != 0 and not config.fakeroot:
        return []
    kept = [*CAPABILITIES, *config.cap_add]
    dropped = [f"CAP_{name}" for name in OTHERS if name not in kept]
    added = [] if config.fakeroot else ["--add-caps", ",".join(f"CAP_{name}" for name in kept)]
    return [*added, "--drop-caps", ",".join(dropped)]


def _arguments(record: Record) -> list[str]:
    config = record.config
    mounts = [
        "/dev/full:/dev/full",  # other containers have it; --containall leaves it out
        f"{record.root}/scratch:{SCRATCH}",
        f"{record.root}/shared:{INSIDE}:ro",
        *(f"{_source(each.source)}:{each.target}{':ro' if each.read_only else ''}" for each in config.mounts),
    ]
    layer = {"overlay": ["--overlay", f"{record.disk}/overlay"], "tmpfs": ["--writable-tmpfs"], "no": []}
    return [
        *("--containall", "--no-eval", "--workdir", f"{record.disk}/work"),
        *layer[config.writable],
        *_privileges(config),
        *(word for mount in mounts for word in ("--bind", mount)),
        *(["--fakeroot"] if config.fakeroot else []),
        *(["--nv"] if config.nv else []),
        *(["--net", "--network", "none"] if config.network == "none" else []),
    ]


def _source(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def _limits(config: SingularityConfig) -> list[str]:
    given = {"--memory": config.memory, "--cpus": config.cpus, "--pids-limit": config.pids_limit}
    return [word for name, value in given.items() if value is not None for word in (name, str(value))]


def stop(record: Record) -> None:
    """End the instance and everything in it; its files stay.

    Raises:
        EnvironmentUnavailable: it does not end.
    """
    life, record.life = record.life, None
    keeper, record.keeper = record.keeper, None
    if life is None:  # its start was broken off, or has failed
        call([record.binary, "-s", "instance", "stop", "--force", record.name])
        return
    # The end of the first process is that of all others in its PID namespace (pid_namespaces(7)). What mounts the image
    # and the layer outside of it ends after it, and its parent last.
    life.signal(signal.SIGKILL)
    if not life.gone(_END_LIMIT):
        raise EnvironmentUnavailable(f"instance {record.name} does not end; its lease will end it")
    if keeper is not None and keeper.pid != 1:
        keeper.gone(_END_LIMIT)


def end(record: Record) -> None:
    """End the instance and remove all that belongs to it. Fine when it is gone already."""
    stop(record)
    for name in ("apptainer", "singularity"):
        place = variables().get(f"{name.upper()}_CONFIGDIR") or f"~/.{name}"
        for log in Path(place).expanduser().glob(f"instances/logs/*/*/{record.name}.*"):
            log.unlink(missing_ok=True)
    _remove(record)


def _remove(record: Record) -> None:
    for directory in (record.disk, record.root):
        clear(directory)
    if record.guard is not None:
        record.guard.signal(signal.SIGKILL, group=True)
    records.file(record.name).unlink(missing_ok=True)


def clear(directory: str) -> None:
    """Remove a directory, also with files of users that ``fakeroot`` has: that takes their root."""
    shutil.rmtree(directory, ignore_errors=True)
    for mapping in (["--map-auto"], []):
        if Path(directory).exists():
            subprocess.run(
                ["unshare", "--map-root-user", *mapping, "rm", "-rf", directory], capture_output=True, check=False
            )


def pids(record: Record) -> Sequence[int]:
    """Return the processes of the instance, in this machine's numbering."""
    if record.life is None:
        return []
    try:
        ours = Path(f"/proc/{record.life.pid}/ns/pid").readlink()
    except OSError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone, or another user's
                if (entry / "ns" / "pid").readlink() == ours:
                    found.append(int(entry.name))
    return found
