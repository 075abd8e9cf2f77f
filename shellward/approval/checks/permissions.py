"""Checks of changes of permissions and owners."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.checks.common import recursive
from shellward.approval.checks.writing import (
    _QUIET_SYSTEM,
)
from shellward.approval.paths import Kind, absolute
from shellward.command.values import known_part, labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call


def _mode(call: Call) -> tuple[str, list[str]]:
    rest = call.args.operands
    if call.name in {"install", "ginstall"}:
        return call.args.value("--mode") or "", rest[-1:]
    loose = [o for o in call.args.options if re.fullmatch(r"-[rwxXst]", o)]
    if loose and not (rest and re.fullmatch(r"[0-7]{1,4}|[ugoa]*[+=-].*", rest[0])):
        return loose[0], rest
    return (rest[0], rest[1:]) if rest else ("", [])


_WIDE = re.compile(r"0*[0-7]?[0-7][0-7][2367]$|(?:.*,)?[ugo]*[ao][ugo]*[+=][rxXst]*w|\+[rx]*w|=[rx]*w")


def _is_wide(mode: str) -> bool:
    return bool(_WIDE.match(mode)) and not mode.startswith("-")


def chmod_wide(call: Call) -> tuple[str, ...]:
    """World-writable, on what is not scratch or one file of the working directory."""
    mode, targets = _mode(call)
    if not _is_wide(mode):
        return ()
    calm = {Kind.SCRATCH, Kind.SINK} if recursive(call) else {Kind.SCRATCH, Kind.SINK, Kind.RELATIVE, Kind.BUILD}
    return tuple(word for word in targets if call.kind(word) not in calm)


def chmod_one(call: Call) -> tuple[str, ...]:
    """World-writable, on a file of the working directory."""
    mode, targets = _mode(call)
    return (
        tuple(word for word in targets if call.kind(word) in {Kind.RELATIVE, Kind.BUILD})
        if _is_wide(mode) and not recursive(call)
        else ()
    )


def chmod_far(call: Call) -> tuple[str, ...]:
    """Recursive, or on whatever is found there: on the system, homes or everything."""
    mode, targets = _mode(call)
    if re.fullmatch(r"[go]+-[wst]+(?:,[go]+-[wst]+)*", mode):
        return ()  # others can write less
    bad = {Kind.ROOT, Kind.SYSTEM, Kind.DEVICE}
    all_below = recursive(call)
    return tuple(word for word in targets if call.kind(word) in bad and (all_below or _found(word)))


def _found(word: str) -> bool:
    """Tell whether an operand is whatever a search finds, other than by name in a home or among what was added."""
    patterns = [label.partition(":")[2] for label in labels(word) if label.partition(":")[0] == "find"]
    start = known_part(word)
    if not patterns or _QUIET_SYSTEM.match(start) or start.startswith("/usr/local/"):
        return False
    return not (any(patterns) and re.match(r"~|/(?:home|Users)/[^/]", start))


def chmod_closed(call: Call) -> tuple[str, ...]:
    """Trees that nobody can read any more."""
    mode, targets = _mode(call)
    if not recursive(call) or not re.fullmatch(r"0{1,4}|a?-rwx|a?=|ugo-rwx|ugo=|u=,g=,o=|u-rwx(?:,\S*)?", mode):
        return ()
    return tuple(word for word in targets if call.kind(word) not in {Kind.SCRATCH, Kind.SINK, Kind.BUILD})


def chmod_setuid(call: Call) -> tuple[str, ...]:
    """Set-user-id or set-group-id on programs."""
    mode, targets = _mode(call)
    return tuple(targets) if re.match(r"0*[2467][0-7]{3}$|(?:.*,)?[ugoa]*[+=][rwxX]*s", mode) else ()


def chmod_sensitive(call: Call) -> tuple[str, ...]:
    """Any change of permissions on the system's own files and on keys, other than making them tighter."""
    mode, targets = _mode(call)
    if re.match(r"0*[0-7]?[0-7]00$|[ugo]*-[rwst]+$|go=$|o=$|600|400|700|u\+", mode):
        return ()
    return tuple(
        word
        for word in targets
        if re.match(
            r"/etc/(?:shadow|sudoers|passwd|gshadow|ssh)|/boot|/dev/|/s?bin/|/usr/s?bin/|/lib|/var/spool/cron",
            absolute(word, call.inv.cwd),
        )
        and call.kind(word) not in {Kind.SINK, Kind.SCRATCH}
    )


def owner_far(call: Call) -> tuple[str, ...]:
    """A change of owner on the system's or somebody's files."""
    targets = call.args.operands[1:] if not call.args.has("--reference") else call.args.operands
    bad = {Kind.ROOT, Kind.SYSTEM} if not recursive(call) else {Kind.ROOT, Kind.SYSTEM, Kind.HOME, Kind.PARENT}
    return tuple(
        word
        for word in targets
        if call.kind(word) in bad and not _QUIET_SYSTEM.match(word if not recursive(call) else "")
    )


_KEY = re.compile(
    r"/etc/ssl/private/|(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)\w*|[\w.-]*\.(?:pem|key|ppk)|\.netrc|\.pgpass|\.aws/credentials|\.kube/config|ssh_host_\w+_key)$"
)


def chmod_private(call: Call) -> tuple[str, ...]:
    """A private key that others may read, or a directory of the system that nobody may."""
    mode, targets = _mode(call)
    if re.fullmatch(r"0*[0-7]?[0-7](?:[4-7][0-7]|[0-7][4-7])|(?:.*,)?[goa]*[ao]\+[wxX]*r[wxX]*|\+r\w*", mode):
        return tuple(
            word
            for word in targets
            if (_KEY.search(absolute(word, call.inv.cwd)) and word[:1] in "/~")
            or any(_KEY.search("/x/" + label[5:].strip("*")) for label in labels(word) if label.startswith("find:"))
        )
    if re.fullmatch(r"0{1,4}|a-rwx|a=|ugo-rwx|a-x|-x", mode):
        return tuple(word for word in targets if call.kind(word) in {Kind.ROOT, Kind.SYSTEM})
    return ()
