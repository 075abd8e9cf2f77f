"""A host to log in to that is a container: built and started by testcontainers when its place is first used."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).with_name("host")
IMAGE = "shellward/test-host:latest"
USER = "guest"
PORT = 22
SMALL = "/small"

DIRECTORY = Path(tempfile.gettempdir(), f"shellward-host-{uuid.uuid4().hex[:12]}")
"""Of a client's configuration and its key."""


@cache
def start() -> str:
    """Start it, unless it runs; returns the container's id."""
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"  # its image could not be had everywhere; atexit does the same
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.image import DockerImage
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    DIRECTORY.mkdir(mode=0o700)
    atexit.register(shutil.rmtree, DIRECTORY)
    key = DIRECTORY / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    image = DockerImage(path=str(HERE), tag=IMAGE, clean_up=False, network_mode="host")
    image.build()
    container: Any = DockerContainer(str(image)).with_exposed_ports(PORT)
    container = container.with_tmpfs_mount(SMALL, "size=1m,mode=1777").with_kwargs(init=True)
    container = container.waiting_for(LogMessageWaitStrategy("Server listening"))
    atexit.register(container.stop)
    container.start()
    public = key.with_suffix(".pub").read_text().strip()
    _inside(container, f"install -d -o {USER} ~{USER}/.ssh && echo '{public}' >~{USER}/.ssh/authorized_keys")
    host_key = _inside(container, "cat /etc/ssh/ssh_host_ed25519_key.pub").split()
    address, port = container.get_container_host_ip(), container.get_exposed_port(PORT)
    (DIRECTORY / "known_hosts").write_text(f"shellward-host {host_key[0]} {host_key[1]}\n")
    (DIRECTORY / "config").write_text(
        f"Host shellward-host\n  HostName {address}\n  Port {port}\n  User {USER}\n  IdentityFile {key}\n"
        f"  IdentitiesOnly yes\n  HostKeyAlias shellward-host\n  UserKnownHostsFile {DIRECTORY}/known_hosts\n"
    )
    return str(container.get_wrapped_container().id)


def _inside(container: Any, line: str) -> str:
    status, said = container.exec(["sh", "-c", line])
    assert status == 0, said
    return str(said.decode())


def first_process() -> str:
    """Return the number of the container's first process, in this machine's table."""
    asked = ["docker", "inspect", "--format", "{{.State.Pid}}", start()]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def uid() -> int:
    """Return who logs in."""
    return int(subprocess.run(["docker", "exec", start(), "id", "-u", USER], capture_output=True, check=True).stdout)


def left_behind() -> list[str]:
    """List what of ours is in its temporary directory and in the user's home."""
    line = f"find /tmp ~{USER} -maxdepth 1 -name 'shellward-*' -o -maxdepth 1 -name '.shellward*'"
    asked = ["docker", "exec", start(), "sh", "-c", line]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    # Checks have files of their own there, with other names.
    return [path for path in found if re.fullmatch(r"/tmp/shellward-[0-9a-f]{20}|/home/.*", path)]
