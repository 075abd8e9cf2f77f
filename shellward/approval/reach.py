"""What an environment can touch, and which findings that makes harmless. Pure values, nothing is looked up.

The table (``CONTAINED_WHEN``) names, for each pack of rules, everything that must be out of reach before a
sandbox may take a finding of that pack by itself. It is read like this: *a finding of pack P is contained
when the environment has none of these powers*. A pack that is not in the table is never contained, nor is a
finding above the severity that the settings allow, nor anything on the never-allow list.

======================  ========================================================  =========================
pack or rule            must be out of reach                                      because the harm is
======================  ========================================================  =========================
files, disks            writable host files, privileges, persistence              data outside the sandbox
processes, system       the same, host processes                                  the host and its services
git, packages           network, credentials, writable host files, privileges,    history and packages,
                        persistence                                               here and upstream
remote                  every power                                               anything at all
remote.exfil            network                                                   data that leaves
remote.metadata         network                                                   credentials of the machine
remote.tunnel           network                                                   a way in from outside
remote.delete           network                                                   what an API holds
remote.delete-post      network                                                   what an API holds
======================  ========================================================  =========================

Data stores, cloud, containers, clusters, secrets and what is not understood are never contained: they act on
something that this value does not describe. A finding that names a remote place, or whose command runs behind
``ssh`` and its like, counts every power.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

from shellward.approval.wrapped import leaves
from shellward.core.gate import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What commands in an environment can touch. The default is everything: what is not known is reachable.

    Attributes:
        host_files_read: files of the machine that runs it, or of another real machine, can be read.
        host_files_write: such files can be changed (a writable mount, a network file system).
        network: other hosts can be reached, in any way.
        privileges: the sandbox can be left (privileged, container engine's socket, host namespaces, devices).
        host_processes: processes outside can be seen or signalled.
        credentials: secrets of the user are inside (forwarded agent, tokens in the environment, ~/.aws).
        persistent: what happens inside outlives the session (not disposable).
    """

    host_files_read: bool = True
    host_files_write: bool = True
    network: bool = True
    privileges: bool = True
    host_processes: bool = True
    credentials: bool = True
    persistent: bool = True

    @property
    def powers(self) -> frozenset[str]:
        """What it can touch, as stable words (also what a remembered approval keeps)."""
        return frozenset(name.replace("_", "-") for name in _POWERS if getattr(self, name))

    @classmethod
    def of(cls, powers: Iterable[str]) -> "Reach":
        """Build it from words; every other power is out of reach.

        Raises:
            ValueError: a word is not the name of a power.
        """
        given = {power.replace("-", "_") for power in powers}
        if unknown := given - set(_POWERS):
            raise ValueError(f"unknown reach: {', '.join(sorted(unknown))}; known: {', '.join(sorted(_POWERS))}")
        return cls(**{name: name in given for name in _POWERS})

    def within(self, powers: Iterable[str]) -> bool:
        """Whether it can touch no more than ``powers``."""
        return self.powers <= frozenset(powers)


_POWERS: Final = tuple(item.name for item in fields(Reach))

EVERYTHING: Final = Reach()
"""The user's own machine, a host over SSH, or an environment nobody has described."""
SEALED: Final = Reach.of(())
"""A disposable container without mounts, network, privileges or credentials."""

_TYPICAL: Final = MappingProxyType(
    {
        "docker": frozenset({"network"}),
        "modal": frozenset({"network"}),
        "daytona": frozenset({"network"}),
    }
)


def typical(kind: str) -> Reach:
    """Return the reach of a fresh environment of a kind, made with its defaults and nothing mounted.

    Only for explaining (``shellward check --env``): a real environment is judged by its real configuration.
    Kinds that share the machine's files by default (local, ssh, singularity) can touch everything.
    """
    return Reach.of(_TYPICAL[kind]) if kind in _TYPICAL else EVERYTHING


_OUTSIDE: Final = frozenset({"host-files-write", "privileges", "persistent"})
_ALL: Final = EVERYTHING.powers
_UPSTREAM: Final = _OUTSIDE | {"network", "credentials"}
_ONLINE: Final = frozenset({"network"})

CONTAINED_WHEN: Final = MappingProxyType(
    {
        "files": _OUTSIDE,
        "disks": _OUTSIDE,
        "processes": _OUTSIDE | {"host-processes"},
        "system": _OUTSIDE | {"host-processes"},
        "git": _UPSTREAM,
        "packages": _UPSTREAM,
        "remote": _ALL,
        "remote.exfil": _ONLINE,
        "remote.metadata": _ONLINE,
        "remote.tunnel": _ONLINE,
        "remote.delete": _ONLINE,
        "remote.delete-post": _ONLINE,
    }
)
"""Pack, or single rule, to the powers that must all be out of reach. See the table above."""

NEVER_CONTAINED: Final = frozenset(
    {
        *(
            "data",
            "cloud",
            "saas",
            "infra",
            "cluster",
            "containers",
            "secrets",
            "structure",
            "unknown",
            "user",
            "gate",
        ),
    }
)
"""Packs that act on what reach does not describe. A test wants every pack to be here or in the table."""

_CEILINGS: Final = MappingProxyType(
    {
        "none": 0,
        "low": Severity.LOW,
        "medium": Severity.MEDIUM,
        "high": Severity.HIGH,
    }
)


def contained(finding: Finding, reach: Reach, ceiling: str) -> bool:
    """Whether a sandbox may take a finding by itself.

    Args:
        finding: what was found.
        reach: what the environment can touch.
        ceiling: the worst severity that may be taken: none, low, medium or high.

    Returns:
        True when nothing that this kind of finding can harm is in reach.
    """
    if finding.never_allow or finding.severity > _CEILINGS[ceiling]:
        return False
    needed = CONTAINED_WHEN.get(finding.rule) or CONTAINED_WHEN.get(finding.rule.partition(".")[0])
    if needed is None:
        return False
    if needed != _ONLINE and (leaves(finding) or any(_is_remote(target) for target in finding.affects)):
        needed = _ALL
    return not (needed & reach.powers)


def _is_remote(target: str) -> bool:
    """Whether a target names another host: ``host:path``, ``user@host``, a URL, a UNC path."""
    return "://" in target or ":" in target.partition("/")[0] or "@" in target or target.startswith("//")
