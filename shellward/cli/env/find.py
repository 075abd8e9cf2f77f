"""Which environments there are, which one a person means, and whose they are."""

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.cli.say import say
from shellward.core.errors import ConfigError, EnvironmentUnavailable, MissingDependency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shellward.core.types import EnvironmentInfo

_SHORT = 12


def everything(kind: str | None = None, *, quiet: bool = False) -> "list[EnvironmentInfo]":
    """List the environments of one kind, or of all kinds that can be reached; a note says which cannot.

    Raises:
        ConfigError: there is no such kind.
        MissingDependency: ``kind`` was named and needs an SDK.
        EnvironmentUnavailable: ``kind`` was named and cannot be reached.
    """
    from shellward.environments import registry

    if kind is not None:
        return registry.list_environments(kind)
    from concurrent.futures import ThreadPoolExecutor

    def ask(each: str) -> "Sequence[EnvironmentInfo]":
        return registry.list_environments(each)

    with ThreadPoolExecutor(len(registry.BACKENDS)) as pool:  # one that takes long to answer holds up no other
        asked = [(each, pool.submit(ask, each)) for each in registry.BACKENDS]
    found: list[EnvironmentInfo] = []
    for each, answer in asked:
        try:
            found += answer.result()
        except MissingDependency:
            continue  # who has not installed it made nothing with it
        except EnvironmentUnavailable as error:
            if not quiet:
                say(f"{each} left out: {error}")
    return found


def short(info: "EnvironmentInfo") -> str:
    """Return the handle as people read it; it is a prefix of the handle."""
    kind, _, rest = info.handle.partition(":")
    where, slash, name = rest.rpartition("/")
    return f"{kind}:{where}{slash}{name[:_SHORT]}"


def fits(info: "EnvironmentInfo", text: str) -> bool:
    """Whether a handle, the beginning of one (with or without its kind), or a name means this environment."""
    rest = info.handle.partition(":")[2]
    return text == info.name or any(whole.startswith(text) for whole in (info.handle, rest, rest.rpartition("/")[2]))


def find(text: str, among: "list[EnvironmentInfo]") -> "EnvironmentInfo":
    """Return the one environment that is meant.

    Raises:
        EnvironmentUnavailable: there is none.
        ConfigError: there are several, or nothing was given.
    """
    if not text.partition(":")[2 if ":" in text else 0]:
        raise ConfigError(f"handle: {text!r} names no environment")
    exact = [info for info in among if text in (info.handle, info.name)]
    found = exact or [info for info in among if fits(info, text)]
    if not found:
        raise EnvironmentUnavailable(f"there is no environment {text!r}; see: shellward env ls")
    if len(found) > 1:
        raise ConfigError(f"handle: {text!r} may be any of {', '.join(short(info) for info in found)}")
    return found[0]


def remove(info: "EnvironmentInfo") -> bool:
    """End an environment with all that is in it; False when it had ended by itself meanwhile.

    Raises:
        EnvironmentUnavailable: it cannot be removed.
    """
    from shellward.environments import registry

    return registry.remove(info.handle)


def forget(info: "EnvironmentInfo") -> None:
    """Forget an environment and the processes in it, without reaching it.

    Raises:
        Unsupported: environments of its kind are listed by their engine.
    """
    from shellward.cli.process import registry as processes
    from shellward.environments import registry

    registry.forget(info.handle)
    with processes() as known:
        known.forget_place(info.handle)


def unowned(info: "EnvironmentInfo") -> str:
    """Say why nobody owns an environment any more; empty: somebody does, or it cannot be known from here."""
    if info.state == "exited":
        return "it has exited"
    name, _, pid = info.owner.rpartition(":")
    if not pid.isdecimal() or name.rpartition("@")[2] != socket.gethostname():
        return ""
    born = _born(int(pid))
    if born is None or (info.created is not None and born > info.created.timestamp() + 1):
        return f"its owner {info.owner} is gone"
    return ""


def _born(pid: int) -> float | None:
    """When a process of this machine was started (seconds since the epoch); None: there is none.

    A number is given to other processes later; who is younger than what he is said to own does not own it.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except OSError:
        return None
    ticks = int(stat.rpartition(")")[2].split()[19])  # proc(5): starttime, field 22
    return datetime.now(UTC).timestamp() - uptime + ticks / os.sysconf("SC_CLK_TCK")
