"""Checks of shells that are opened with more rights."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.interpreters import SHELLS

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_RAISES = frozenset(("sudo", "doas", "pkexec", "run0", "please", "sudo-rs"))


def root_shell(call: Call) -> bool:
    """A shell as root that waits for whatever comes: ``sudo -i``, ``sudo su -``, ``sudo sh``, ``su``."""
    words = call.argv[1:]
    if call.inv.stdin is not None:
        return False
    if call.name in SHELLS:
        raised = any(name in _RAISES for name in call.inv.via) and not any(name in _LEAVES for name in call.inv.via)
        return raised and all(re.fullmatch(r"-|-[ilp]+|--(?:login|norc|noprofile)", word) for word in words)
    if call.name == "su":
        return all(re.fullmatch(r"-|-[lmp]+|--login|root", word) for word in words)
    if call.name == "pkexec":
        return not words
    return (
        bool(words)
        and all(
            re.fullmatch(r"-[isEHSn]+|--(?:login|shell|preserve-env\S*|set-home|stdin|non-interactive)", word)
            for word in words
        )
        and any(re.match(r"-[a-zA-Z]*[is]|--(?:login|shell)", word) for word in words)
    )


_LEAVES = frozenset(("docker", "podman", "ssh", "chroot", "kubectl", "nerdctl", "lxc", "machinectl", "unshare"))
"""Wrappers behind which being root is another place's matter."""
