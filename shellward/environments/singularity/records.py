"""Which instances there are: a file for each, with what a client needs that did not make it."""

import os
import select
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shellward.config.paths import state_dir
from shellward.environments.singularity.config import SingularityConfig


class Life(NamedTuple):
    """A process that a number alone does not name: numbers are used again.

    Attributes:
        pid: its number.
        since: when it began, in ticks of this machine's clock (proc(5), starttime).
    """

    pid: int
    since: int

    @classmethod
    def of(cls, pid: int) -> "Life":
        """Look at a process that is there.

        Raises:
            OSError: it is gone.
        """
        return cls(pid, int(_stat(pid)[19]))

    def there(self) -> bool:
        """Whether it lives; a zombie does not."""
        try:
            fields = _stat(self.pid)
        except OSError:
            return False
        return int(fields[19]) == self.since and fields[0] not in ("Z", "X")

    def parent(self) -> "Life | None":
        """Return its parent."""
        try:
            return Life.of(int(_stat(self.pid)[1]))
        except OSError:
            return None

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send it a signal, or the group that it leads; nothing when it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return
        try:
            if self.there():  # and whatever happens to it now, nobody else gets its number while this is open
                (os.killpg if group else os.kill)(self.pid, number)
        except ProcessLookupError:
            return
        finally:
            os.close(descriptor)

    def gone(self, within: float) -> bool:
        """Wait until it has ended; False when it has not in ``within`` seconds."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            return not self.there() or bool(poller.poll(within * 1000))
        finally:
            os.close(descriptor)


def _stat(pid: int) -> list[str]:
    """Return the fields after the name, which may hold anything: state, ppid, ..., starttime is the 20th."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()


class Record(msgspec.Struct, kw_only=True):
    """What is noted of one instance.

    Attributes:
        name: of the instance.
        host: machine that it is on; the directory of these files may be on many.
        owner: see EnvironmentInfo.
        created: seconds since the epoch.
        binary: path of the program.
        image: what it was started from: a path.
        config: its settings.
        root: directory of the door and the scratch directory.
        disk: directory of the writable layer and of temporary files.
        life: its first process; None while it is started.
        keeper: the parent of that: the program's own process, which ends last. None when it has none.
        guard: the process that ends it when its lease has run out.
        notes: see Capabilities.
    """

    name: str
    host: str
    owner: str
    created: float
    binary: str
    image: str
    config: SingularityConfig
    root: str
    disk: str
    life: Life | None = None
    keeper: Life | None = None
    guard: Life | None = None
    notes: tuple[str, ...] = ()


def directory() -> Path:
    """Where the files are."""
    return state_dir() / "singularity"


def file(name: str) -> Path:
    """Where the file of an instance is."""
    return directory() / f"{name}.json"


def note(record: Record) -> None:
    """Write it down, whole or not at all."""
    target = file(record.name)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_suffix(f".part-{os.getpid()}")
    part.write_bytes(msgspec.json.encode(record))
    part.chmod(0o600)  # variables of the environment are in it
    part.replace(target)


def read(name: str) -> Record | None:
    """Read what is noted of an instance; None when nothing is, or not on this machine."""
    if "/" in name:
        return None
    try:
        record = msgspec.json.decode(file(name).read_bytes(), type=Record)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return record if record.host == socket.gethostname() else None


def known() -> Sequence[Record]:
    """Return all of this machine."""
    return [found for path in sorted(directory().glob("*.json")) if (found := read(path.stem)) is not None]
