"""What a check sees of Singularity's instances, from outside of them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shellward.testing.place import local_processes

if TYPE_CHECKING:
    from shellward.environments.environment import Environment
    from shellward.testing.place import Seen, Viewed


def _instances() -> list[dict[str, Any]]:
    done = subprocess.run(["apptainer", "-s", "instance", "list", "--json"], capture_output=True, check=True)
    return list(json.loads(done.stdout)["instances"])


def singularity_processes(env: Viewed) -> list[Seen]:
    """Read the processes of an instance's PID namespace from this machine's table; ``apptainer`` says which that is."""
    name = env.handle.partition(":")[2]
    found = []
    for instance in _instances():
        if instance["instance"] != name:
            continue
        namespace = Path(f"/proc/{instance['pid']}/ns/pid")
        for row in local_processes():
            try:
                if Path(f"/proc/{row.pid}/ns/pid").readlink() == namespace.readlink():
                    found.append(row)
            except OSError:
                continue  # it has ended, or is another user's
    return found


def singularity_removes(env: Environment) -> None:
    """End the instance from under the client."""
    name = env.handle.partition(":")[2]
    subprocess.run(["apptainer", "-s", "instance", "stop", "--force", name], capture_output=True, check=True)


def _below(directory: Path, begin: str) -> list[str]:
    """List what is below a directory and is named so; others make and remove theirs there meanwhile."""
    return [
        os.path.join(place, name)  # noqa: PTH118  # Path.rglob fails when a directory goes while it looks
        for place, directories, files in os.walk(directory.expanduser())
        for name in (*directories, *files)
        if name.startswith(begin)
    ]


def singularity_named(begin: str) -> list[str]:
    """List instances of this user's whose names begin so, and their directories, records, logs and guards."""
    names = [str(instance["instance"]) for instance in _instances()]
    state = os.environ.get("SHELLWARD_HOME") or "~/.local/state/shellward"
    places = [tempfile.gettempdir(), "/dev/shm", os.environ.get("XDG_RUNTIME_DIR") or "/dev/shm"]
    return [
        *(name for name in names if name.startswith(begin)),
        *(str(path) for place in {*places} for path in Path(place).glob(f"shellward-*{begin}*")),
        *_below(Path("~/.apptainer/instances"), begin),
        *_below(Path(state), begin),
        *(row.args[:200] for row in local_processes() if "shellward-guard" in row.args and begin in row.args),
    ]
