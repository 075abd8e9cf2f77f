"""Logging in: with the keys of the configuration, those of an agent, and certificates for them."""

import base64
import binascii
import copy
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments.ssh.config import SshConfig
from shellward.environments.ssh.sdk import sdk
from shellward.environments.ssh.target import Target

_MOST_TRIES = 5
"""OpenSSH's server hangs up after six (MaxAuthTries)."""


Keys = Iterator[tuple[str, Any]]


class Login:
    """The keys that were tried, and those that could not be."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.locked: list[str] = []
        self.unreadable: list[str] = []
        self.accepted: list[str] = []


def log_in(target: Target, transport: Any, settings: SshConfig, deadline: float) -> None:
    """Log in with the first key that the host takes.

    Raises:
        EnvironmentUnavailable: it takes none; says which were tried and what it would take.
        paramiko.SSHException, EOFError: the connection broke.
    """
    login = Login()
    agent = _agent(target.agent) if target.agent is not None else None
    try:
        keys = _keys(target, settings, login, agent)
        if _tried(target, transport, keys, login, deadline):
            return
        if not login.tried:
            login.accepted = _ask(target, transport)
    finally:
        if agent is not None:
            agent.close()
    if not transport.is_authenticated():
        raise EnvironmentUnavailable(_complaint(target, login))


def _tried(target: Target, transport: Any, keys: Keys, login: Login, deadline: float) -> bool:
    """Try the keys one after the other; whether one was taken."""
    paramiko = sdk()
    for name, key in keys:
        if len(login.tried) >= _MOST_TRIES:
            break
        login.tried.append(name)
        transport.auth_timeout = max(0.1, deadline - time.monotonic())
        try:
            more = transport.auth_publickey(target.user, key)
        except paramiko.BadAuthenticationType as error:
            login.accepted = error.allowed_types
            break
        except paramiko.AuthenticationException as error:
            if not transport.is_active() or "timeout" in str(error).lower():
                raise
            continue
        if not more:
            return True
        login.accepted = list(more)
        break
    return False


def _ask(target: Target, transport: Any) -> list[str]:
    """Ask what a host takes: "none" is asked for, which some take."""
    paramiko = sdk()
    try:
        transport.auth_none(target.user)
    except paramiko.BadAuthenticationType as error:
        return list(error.allowed_types)
    except paramiko.AuthenticationException:
        return []
    return []


def _complaint(target: Target, login: Login) -> str:
    who = f"{target.user}@{target.name}"
    if login.accepted and "publickey" not in login.accepted:
        return (
            f"{who} takes {', '.join(login.accepted)} only, and Shellward logs in with keys: have the host take keys "
            "(PubkeyAuthentication), and add yours there with ssh-copy-id"
        )
    if login.tried and login.accepted:
        return f"{who} wants more than a key: {', '.join(login.accepted)}, which Shellward does not have"
    parts = []
    if login.tried:
        parts.append(f"none of these keys is let in: {', '.join(login.tried)}")
    if login.locked:
        parts.append(f"locked by a passphrase: {', '.join(login.locked)} (set passphrase=, or use an agent)")
    if login.unreadable:
        parts.append(f"unusable: {', '.join(login.unreadable)}")
    if not parts:
        parts.append("there is no key to log in with (name one with identity_file, or load one into an agent)")
    return f"{who} does not let us in; {'; '.join(parts)}. ssh-copy-id adds a key there"


def _keys(target: Target, settings: SshConfig, login: Login, agent: Any) -> Keys:
    """Keys to try, each with a name for people: those that were named, then an agent's, then locked ones."""
    paths = [path for each in target.keys if (path := Path(each)).is_file()]
    login.unreadable += [f"{each} (there is no such file)" for each in target.keys if not Path(each).is_file()]
    kept = {key.asbytes(): key for key in agent.get_keys()} if agent is not None else {}
    locked: list[Path] = []
    named: set[bytes] = set()
    for path in paths:
        public = _public(path)
        named |= {public} if public else set()
        if public in kept:
            yield f"{path} (agent)", kept[public]
            continue
        key = _load(path, None, login)
        if key is None:
            locked.append(path)
        elif key is not False:
            yield from _with_certificates(path, key, target)
    for public, key in kept.items():
        if public not in named and not target.only_keys:
            yield f"agent's {key.get_name()} {key.fingerprint}", key
    for path in locked:
        word = settings.passphrase(str(path)) if settings.passphrase is not None else None
        key = _load(path, word, login) if word is not None else None
        if key is None:
            login.locked.append(str(path))
        elif key is not False:
            yield from _with_certificates(path, key, target)


def _agent(address: str) -> Any:
    """Connect to an agent; None where nobody answers as one."""
    paramiko = sdk()
    base: Any = paramiko.agent.AgentSSH

    class Agent(base):  # type: ignore[misc]  # paramiko's own knows SSH_AUTH_SOCK only
        def __init__(self) -> None:
            super().__init__()
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(address)
                self._connect(connection)
            except BaseException:
                connection.close()
                raise

        def close(self) -> None:
            self._close()

    try:
        return Agent()
    except (paramiko.SSHException, OSError):
        return None


def _public(path: Path) -> bytes | None:
    """The public half of a key that lies beside it."""
    try:
        return base64.b64decode(path.with_name(f"{path.name}.pub").read_text().split()[1])
    except (OSError, IndexError, UnicodeDecodeError, binascii.Error):
        return None


def _load(path: Path, word: str | None, login: Login) -> Any:
    """Load a private key; None: it is locked; False: it is none."""
    paramiko = sdk()
    why = ""
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            return kind.from_private_key_file(str(path), word)
        except paramiko.PasswordRequiredException:
            return None
        except (paramiko.SSHException, ValueError, TypeError, IndexError) as error:
            why = why or str(error)
        except OSError as error:
            why = error.strerror or str(error)
            break
    if word is not None:
        return None
    login.unreadable.append(f"{path} ({' '.join(why.split())[:100]})")
    return False


def _with_certificates(path: Path, key: Any, target: Target) -> Keys:
    """A key with each certificate that is for it, and last by itself."""
    paramiko = sdk()
    for file in (Path(f"{path}-cert.pub"), *(Path(each) for each in target.certificates)):
        if not file.is_file():
            continue
        certified = copy.copy(key)
        try:
            certified.load_certificate(str(file))
        except (paramiko.SSHException, ValueError, OSError):
            continue  # it is for another key
        yield f"{path} with {file}", certified
    yield str(path), key
