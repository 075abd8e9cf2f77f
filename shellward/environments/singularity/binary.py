"""The program itself: where it is, what it is, and how it is run.

What it says about itself never meets a command's output: it is kept apart, and only its errors are shown.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from shellward.core.errors import EnvironmentUnavailable

NAMES: Final = ("apptainer", "singularity")
CALL_LIMIT: Final = 60.0
"""Seconds that one call of the program may take on a busy machine; a hanging file system must not hang us."""
_ADMIN: Final = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where mkfs and the like are, which it needs; an ordinary user's PATH lacks these on Debian."""
_TOOLS: Final = ("setsid", "flock")
"""Of util-linux: for the guard of an instance, and for its start."""
# fmt: off
_PASSED: Final = (
    "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "ALL_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
)
_SETTINGS: Final = (
    "CACHEDIR", "TMPDIR", "CONFIGDIR", "DOCKER_USERNAME", "DOCKER_PASSWORD", "DOCKER_HOST", "DISABLE_CACHE",
    "LOCALCACHEDIR", "NOHTTPS", "AUTHFILE",
)
# fmt: on
_ADVICE: Final = (
    ("no space left", "there is no room left; name a directory with room as workdir"),
    (
        "user namespace",
        "this kernel gives ordinary users no user namespaces; have them switched on, or a setuid install",
    ),
    ("newuidmap", "fakeroot needs newuidmap (package uidmap) and a line for you in /etc/subuid and /etc/subgid"),
    ("/dev/fuse", "ordinary users need to read and write /dev/fuse (chmod 666 /dev/fuse)"),
    ("squashfuse", "ordinary users need squashfuse to mount an image; install it"),
    ("fuse-overlayfs", "ordinary users need fuse-overlayfs for a writable layer; install it"),
    ("overlay", "name a workdir on a local disk (not NFS, not another overlay), or use writable=tmpfs"),
    ("sys_resource", "root lacks a capability here: 'root default capabilities = no' in apptainer.conf"),
    ("docker daemon", "start the engine, or name an image that is a file"),
    ("docker_daemon", "start the engine, or name an image that is a file"),
)
"""What to do about what it says, first match first."""

_CONSEQUENCES: Final = ("container cleanup failed", "while executing starter")
"""What it says on top of what went wrong."""


def find(named: str | None = None) -> str:
    """Return the path of the program.

    Raises:
        EnvironmentUnavailable: there is none.
    """
    for name in [named] if named else NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    what = repr(named) if named else "neither apptainer nor singularity"
    raise EnvironmentUnavailable(
        f"{what} {'is not there' if named else 'is on PATH'}; install Apptainer "
        "(https://apptainer.org/docs/admin/latest/installation.html) or SingularityCE, or name it with binary="
    )


def lacking() -> str:
    """Say which other programs are not there, and what to do; empty: all are."""
    missing = [name for name in _TOOLS if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} on PATH; install util-linux" if missing else ""


def variables() -> dict[str, str]:
    """Return what the program may see of our environment.

    It would hand most of it on to commands, tokens included, and APPTAINER_BIND or APPTAINERENV_X change what runs.
    """
    kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
    for prefix in ("APPTAINER_", "SINGULARITY_"):
        kept.update(
            {prefix + name: os.environ[prefix + name] for name in _SETTINGS if prefix + name in os.environ},
        )
    path = os.environ.get("PATH", os.defpath)
    return {**kept, "PATH": os.pathsep.join([path, *(place for place in _ADMIN if place not in path.split(":"))])}


class Said(NamedTuple):
    """What a call of the program has said, and its exit status."""

    status: int
    out: str
    errors: str


def call(argv: Sequence[str], *, timeout: float = CALL_LIMIT, lock: str | None = None, **options: str) -> Said:
    """Run the program to its end.

    Through files: an instance that it starts keeps the standard streams, so the end of a pipe would never come.

    Args:
        argv: the program and its words.
        timeout: seconds that it may take.
        lock: a file that is locked as long as it runs, whatever becomes of this process; no instance keeps the lock.
        options: variables that it sees.

    Raises:
        EnvironmentUnavailable: it cannot be started, or takes too long; it is ended then.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                argv if lock is None else ["flock", "--close", lock, *argv],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env={**variables(), **options},
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentUnavailable(f"cannot start {argv[0]}: {error}") from error
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentUnavailable(
                f"{Path(argv[0]).name} {' '.join(argv[1:4])} took longer than {timeout:.0f} s"
            ) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
        return Said(status, _all(out.fileno()), _all(errors.fileno()))


def _all(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8", "replace")


def version(binary: str) -> str:
    """Return what it calls itself: ``apptainer version 1.4.5``.

    Raises:
        EnvironmentUnavailable: it does not run.
    """
    said = call([binary, "--version"], timeout=10.0)
    if said.status:
        raise EnvironmentUnavailable(f"{binary} does not run: {short(said.errors)}")
    return said.out.strip()


def failed(what: str, said: str) -> EnvironmentUnavailable:
    """Make an error of what the program has said, with what to do about it."""
    text = short(said)
    advice = next((each for sign, each in _ADVICE if sign in said.lower()), "")
    return EnvironmentUnavailable(f"{what}: {text}" + (f"; {advice}" if advice else ""))


def short(said: str) -> str:
    """Return the errors in what the program has said, on one line."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    errors = [line.partition(":")[2].strip() for line in lines if line.startswith(("FATAL:", "ERROR:"))]
    said_first = [line for line in errors if not line.startswith(_CONSEQUENCES)]
    return "; ".join(dict.fromkeys(said_first or errors or lines[-3:]))[:400] or "it says nothing"
