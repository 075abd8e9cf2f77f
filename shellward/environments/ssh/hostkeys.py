"""Whose key a host shows: compared with known_hosts (sshd(8)), refused when it is unknown, another, or revoked.

Not with paramiko's own ``HostKeys``: it knows no patterns, takes the first of several keys of a kind for the only one,
and overlooks ``@revoked``.
"""

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import Target

_REVOKED: Final = "@revoked"


class Known(NamedTuple):
    """One key of a line of known_hosts.

    Attributes:
        marker: ``@revoked``, or empty.
        kind: of the key.
        key: its public half, as bytes.
    """

    marker: str
    kind: str
    key: bytes

    @property
    def fingerprint(self) -> str:
        """As OpenSSH prints it."""
        return fingerprint(self.key)


class KnownHosts:
    """The keys that are known of one host.

    Args:
        target: whose.

    Raises:
        EnvironmentUnavailable: a file cannot be read.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        found = [each for path in target.known_hosts for each in _read(Path(path), target)]
        self._known = [each for each in found if not each.marker]
        self._revoked = {each.key for each in found if each.marker == _REVOKED}

    def prefer(self, transport: Any) -> None:
        """Ask the host for a key of a kind that is known; it may have several."""
        known = {name for each in self._known for name in _spellings(each.kind)}
        options = transport.get_security_options()
        first = [name for name in options.key_types if name in known]
        options.key_types = tuple(first + [name for name in options.key_types if name not in known])

    def verify(self, key: Any) -> None:
        """Accept a host's key or refuse it.

        Raises:
            EnvironmentUnavailable: it is unknown or another one, or revoked; says its fingerprint and what would
                accept it.
        """
        target, shown = self._target, key.asbytes()
        kind, line = key.get_name(), f"{target.key_name} {key.get_name()} {key.get_base64()}"
        if shown in self._revoked:
            raise EnvironmentUnavailable(
                f"the host key of {target.name} is revoked: {kind} {fingerprint(shown)} ({_REVOKED} in "
                f"{', '.join(target.known_hosts)}). Whoever shows it may not be the host; have it show a new one"
            )
        if any(each.key == shown for each in self._known):
            return
        file = target.known_hosts[0] if target.known_hosts else "~/.ssh/known_hosts"
        if self._known:
            raise EnvironmentUnavailable(
                f"the host key of {target.name} is not the one that is known: it shows {kind} {fingerprint(shown)}, "
                f"known is {self._fingerprints()}. Somebody may be listening in, or the host was set up anew. In that "
                f"case remove its old key (ssh-keygen -R '{target.key_name}') and put this line into {file}: {line}"
            )
        if not target.accept_new:
            raise EnvironmentUnavailable(
                f"the host key of {target.name} is not known: {kind} {fingerprint(shown)}. When that is the host's, "
                f"put this line into {file}, or set host_keys=accept-new: {line}"
            )
        _append(Path(file).expanduser(), line)

    def _fingerprints(self) -> str:
        return ", ".join(f"{each.kind} {each.fingerprint}" for each in self._known)


def fingerprint(key: bytes) -> str:
    """Return the fingerprint of a public key, as OpenSSH prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _read(path: Path, target: Target) -> Iterator[Known]:
    """Read the keys of a host from a file; a line that makes no sense is none, as it is for OpenSSH."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise EnvironmentUnavailable(f"{target.name}: known hosts {str(path)!r} cannot be read: {error}") from error
    for line in text.splitlines():
        words = line.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        # The key of an authority (@cert-authority) is no host's: paramiko takes no certificates of hosts.
        if marker not in ("", _REVOKED) or len(words) < 3 or words[0].startswith("#"):  # noqa: PLR2004  # names, kind, key
            continue
        if _names(words[0], target.key_name.lower()):
            try:
                yield Known(marker, words[1], base64.b64decode(words[2], validate=True))
            except binascii.Error:
                continue


def _names(patterns: str, name: str) -> bool:
    """Whether the names of a line are a host's: one of them is, and none that is negated."""
    if patterns.startswith("|1|"):
        return bool(sdk().HostKeys.hash_host(name, patterns) == patterns) if _hashed(patterns) else False
    found = False
    for pattern in patterns.split(","):
        plain = pattern.lower().removeprefix("!")
        # Of shells' patterns only these two count: an address with a port stands in brackets.
        if re.fullmatch(re.escape(plain).replace(r"\*", ".*").replace(r"\?", "."), name):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def _hashed(names: str) -> bool:
    """Whether the hash of a name is one: twenty bytes of salt, and as many of the hash (HMAC with SHA-1)."""
    return re.fullmatch(r"\|1\|[A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=", names) is not None


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
