"""Links that a command line makes itself: what the programs after them mean by a path that leads through one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.command.invocation import Invocation
    from shellward.command.state import State

_OPENS = frozenset((
    "tee", "dd", "gdd", "cat", "cp", "gcp", "install", "ginstall", "truncate", "gtruncate", "shred", "gshred",
    "chmod", "gchmod", "chown", "gchown", "chgrp", "setfacl", "curl", "wget", "scp", "base64", "xxd", "nc",
    "ncat", "sponge", "vi", "vim", "nano", "ed", "ex", "wipefs", "blkdiscard", "sgdisk", "sfdisk", "parted",
    "fdisk", "mke2fs", "mkswap", "head", "tail"
))  # fmt: skip
"""Programs that open a file which is named by a link; others, as ``rm`` and ``mv``, mean the link."""


def behind_links(state: State, inv: Invocation) -> list[str]:
    """Return a command's words, with the paths that it would really reach."""
    name, argv = inv.name, inv.argv
    opens = name in _OPENS or name.startswith("mkfs") or (name == "find" and not {"-L", "-H"}.isdisjoint(argv))
    return [argv[0], *(state.behind(word, last=opens) for word in argv[1:])]
