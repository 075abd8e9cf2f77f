"""The places at which the suite runs over SSH: a real server on this machine, and one in a container."""

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from shellward.testing.place import (
    Faults,
    Place,
    Refusal,
    SmallDisk,
    host_processes,
    ssh_left_behind,
    ssh_processes,
    ssh_small_disk,
    sshd_directory,
)

from . import host
from .mounts import RUN, can_mount

WRONG: dict[str, object] = {
    "colour": "blue",
    "env": 7,
    "cwd": 7,
    "host": 7,
    "port": "many",
    "user": {},
    "identity_file": 7,
    "known_hosts": 7,
    "host_keys": "whatever",
    "config_file": 7,
    "connect_timeout": "soon",
    "keepalive": 0,
    "lease": "soon",
    "passphrase": "open sesame",
}


def ssh(name: str, user: str, changes: dict[str, Any] | None = None, **more: Any) -> Place:
    """A real sshd on this machine (tests/services/sshd), whose sessions have a process table of their own."""
    directory = sshd_directory()
    small = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{name}")
    nobody_there = {"known_hosts": str(directory / "nothing")}
    return Place(
        name=name,
        kind="ssh",
        config={"host": "shellward-target", "user": user, "config_file": str(directory / "config"), **(changes or {})},
        processes=ssh_processes(directory, user),
        root=user == "root",
        python=shutil.which("python3") is not None,
        shared_host=True,
        left_behind=ssh_left_behind(user),
        faults=Faults(
            kill_sandbox="the host is not ours to remove; tests/ssh cuts connections instead",
            restart_daemon="tests/ssh ends the server and its sessions",
            small_disk=(lambda: ssh_small_disk(directory, small)) if can_mount() else "needs root to mount one",
            small_memory="the host's limits are its own",
            few_pids="the host's limits are its own",
            shared_directory="nothing is mounted on a host",
        ),
        refusals=[
            Refusal(name="closed port", config={"port": 9}, mentions=("port 9", "refuses")),
            Refusal(name="unknown name", config={"host": "no-such-host.invalid"}, mentions=("no-such-host.invalid",)),
            Refusal(name="unknown host key", config=nobody_there, mentions=("SHA256:",)),
            Refusal(name="wrong key", config={"identity_file": str(directory / "other")}, mentions=("other",)),
            Refusal(name="no key", config={"identity_file": str(directory / "none")}, mentions=("no such file",)),
            Refusal(name="no shell", config={"user": "shellward-nologin"}, mentions=("not available",)),
            Refusal(name="password only", config={"user": "shellward-password"}, mentions=("password",)),
        ],
        wrong_settings=WRONG,
        **more,
    )


def ssh_container(name: str, **more: Any) -> Place:
    """A server in a container of its own, as it comes with Debian; see host.py."""
    return Place(
        name=name,
        kind="ssh",
        config={"host": "shellward-host", "config_file": str(host.DIRECTORY / "config")},
        processes=host_processes(host.first_process, host.uid),
        root=False,
        shared_host=True,
        left_behind=host.left_behind,
        faults=Faults(
            kill_sandbox="the host is not ours to remove; tests/ssh cuts connections instead",
            restart_daemon="tests/ssh ends the server and its sessions",
            small_disk=lambda: contextlib.nullcontext(SmallDisk({}, host.SMALL)),
            small_memory="the host's limits are its own",
            few_pids="the host's limits are its own",
            shared_directory="nothing is mounted on a host",
        ),
        wrong_settings=WRONG,
        **more,
    )


SSH_BASH = ssh("ssh-bash", "shellward-ssh")
SSH_SH = ssh("ssh-sh", "shellward-sh", shell="sh", changes={"shell": "sh"})
SSH_ROOT = ssh("ssh-root", "root")
SSH_CONTAINER = ssh_container("ssh-container")
SSH = (SSH_BASH, SSH_SH, SSH_ROOT, SSH_CONTAINER)
