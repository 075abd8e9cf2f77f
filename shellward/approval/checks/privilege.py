"""Checks of shells that are opened with more rights."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.interpreters import SHELLS
from shellward.command.values import OPEN

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


# -- accounts -------------------------------------------------------------------------------------------

_MAKES_ACCOUNT = frozenset(("useradd", "adduser", "addgroup"))
_POWERFUL = frozenset(
    [
        "root",
        "wheel",
        "sudo",
        "sudoers",
        "admin",
        "administrators",
        "docker",
        "podman",
        "lxd",
        "incus",
        "libvirt",
        "kvm",
        "disk",
        "shadow",
        "adm",
        "kmem",
        "wireshark",
        "systemd-network",
        "staff",
        "operator",
        "bin",
        "daemon",
        "sys",
    ]
)
"""Groups whose members can become root, read the disk or read what others have logged."""
_ACCOUNT_VALUE = frozenset(
    [
        "home",
        "home-dir",
        "base-dir",
        "shell",
        "uid",
        "gid",
        "ingroup",
        "groups",
        "gecos",
        "comment",
        "skel",
        "expiredate",
        "inactive",
        "key",
        "conf",
        "firstuid",
        "lastuid",
        "firstgid",
        "lastgid",
    ]
)
_ACCOUNT_FLAG = frozenset(
    [
        "disabled-password",
        "disabled-login",
        "system",
        "group",
        "no-create-home",
        "create-home",
        "quiet",
        "force-badname",
        "badname",
        "allow-badname",
        "allow-bad-names",
        "allow-all-names",
        "user-group",
        "no-user-group",
        "no-log-init",
        "verbose",
        "debug",
    ]
)
_ACCOUNT_LETTER_VALUE = "bcdefghGkKsu"
_ACCOUNT_LETTER_FLAG = "DHSmMrNUlqI"


def changes_users(call: Call) -> bool:
    """Tell whether somebody gains access or loses it: a new account without powers or a password is none of it."""
    if re.search(r"(?:^|/)etc/\w+$", call.argv[0]):
        return False
    return call.name not in _MAKES_ACCOUNT or not _makes_plain_account(call.argv[1:])


_MOST_WORDS = 64
"""Most words of a command that makes an account; nobody types more."""


def _plain_value(option: str, value: str) -> bool:
    """Tell whether the value of an option makes nobody powerful: not the number 0, no powerful or unknown group."""
    groups = value.split(",")
    if any(re.fullmatch(r"\+?0+", group) for group in groups) or not _POWERFUL.isdisjoint(groups):
        return False
    if option.endswith(("G", "groups", "ingroup")):
        return not any(OPEN in group or group.isdigit() for group in groups)
    return OPEN not in value or option.endswith(("u", "uid", "gid", "g", "c", "comment", "gecos"))


def _makes_plain_account(words: list[str]) -> bool:
    """Tell whether one user or group is made, with nothing that gives it more than an account of its own."""
    if len(words) > _MOST_WORDS:
        return False
    named: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-") or len(word) < 2:
            named.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("--"):
            takes = name in _ACCOUNT_VALUE
            if not takes and name not in _ACCOUNT_FLAG:
                return False
        else:
            letter = next((place for place, one in enumerate(name) if one in _ACCOUNT_LETTER_VALUE), len(name))
            if not set(name[:letter]) <= set(_ACCOUNT_LETTER_FLAG):
                return False
            takes, equals, value = letter < len(name), word[letter + 2 :], word[letter + 2 :]
        if takes and not equals:
            value = words[at] if at < len(words) else ""
            at += 1
        if takes and not _plain_value(name, value):
            return False
    return len(named) == 1 and OPEN not in named[0] and named[0] not in _POWERFUL
