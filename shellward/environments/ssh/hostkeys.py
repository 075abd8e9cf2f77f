"""Whose key a host shows: compared with known_hosts, refused when it is unknown or another."""

import os
from pathlib import Path
from typing import Any

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh.target import Target, sdk


class KnownHosts:
    """The keys that are known of one host.

    Args:
        target: whose.
    """

    def __init__(self, target: Target) -> None:
        paramiko = sdk()
        self._target = target
        self._keys = paramiko.HostKeys()
        for path in target.known_hosts:
            try:
                self._keys.load(path)
            except FileNotFoundError:
                continue
            except (OSError, UnicodeDecodeError, paramiko.SSHException) as error:
                raise EnvironmentUnavailable(f"{target.name}: known hosts {path!r} cannot be read: {error}") from error
        self._known = self._keys.lookup(target.key_name) or {}

    def prefer(self, transport: Any) -> None:
        """Ask the host for a key of a kind that is known; it may have several."""
        known = {name for kind in self._known for name in _spellings(kind)}
        options = transport.get_security_options()
        first = [name for name in options.key_types if name in known]
        options.key_types = tuple(first + [name for name in options.key_types if name not in known])

    def verify(self, key: Any) -> None:
        """Accept a host's key or refuse it.

        Raises:
            EnvironmentUnavailable: it is unknown or another one; says its fingerprint and what would accept it.
        """
        target = self._target
        known = self._known.get(key.get_name())
        if known is not None and known == key:
            return
        kind, line = key.get_name(), f"{target.key_name} {key.get_name()} {key.get_base64()}"
        file = target.known_hosts[0] if target.known_hosts else "~/.ssh/known_hosts"
        if self._known:
            raise EnvironmentUnavailable(
                f"the host key of {target.name} is not the one that is known: it shows {kind} {key.fingerprint}, "
                f"known is {self._fingerprints()}. Somebody may be listening in, or the host was set up anew. In that "
                f"case remove its old key (ssh-keygen -R '{target.key_name}') and put this line into {file}: {line}"
            )
        if not target.accept_new:
            raise EnvironmentUnavailable(
                f"the host key of {target.name} is not known: {kind} {key.fingerprint}. When that is the host's, put "
                f"this line into {file}, or set host_keys=accept-new: {line}"
            )
        _append(Path(file).expanduser(), line)

    def _fingerprints(self) -> str:
        return ", ".join(f"{kind} {self._known[kind].fingerprint}" for kind in self._known)


def _spellings(kind: str) -> tuple[str, ...]:
    """Names under which a kind of key is negotiated: RSA's has two more (RFC 8332)."""
    return ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa") if kind == "ssh-rsa" else (kind,)


def _append(file: Path, line: str) -> None:
    """Add a line in one write, so that two programs at once lose none."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        unfinished = size and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, ("\n" if unfinished else "").encode() + f"{line}\n".encode())
    finally:
        os.close(descriptor)
