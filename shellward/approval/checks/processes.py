"""Checks of signals to processes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.values import labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call


def _lists(call: Call) -> bool:
    """Tell whether names of signals are asked for; ``-KILL`` is no ``-L``."""
    return any(re.fullmatch(r"-[lL]\d*|--(?:list|table)(?:=.*)?", word) for word in call.argv[1:2])


def kill_all(call: Call) -> bool:
    """``kill -1``, ``kill -9 -1``, ``kill 1``, ``kill -9 0``; ``kill 0`` asks one's own jobs to end."""
    if _lists(call) or "-0" in call.argv[1:2]:
        return False
    words = call.argv[1:]
    pids = (
        [w for w in words[1:] if re.fullmatch(r"-?\d+", w)]
        if words and words[0].startswith("-") and words[0] != "--"
        else [w for w in words if re.fullmatch(r"-?\d+", w)]
    )
    if words[:1] in (["-s"], ["--signal"], ["-n"]):
        pids = pids[1:] if pids and words[1:2] == pids[:1] else pids
    all_of = {"-1", "1"} if words == ["0"] else {"-1", "1", "0"}
    return any(pid in all_of for pid in pids) or (words == ["-1"])


def kill_listed(call: Call) -> bool:
    """Processes that another command lists."""
    sources = [label for word in call.argv[1:] for label in labels(word)]
    many = any(re.match(r"out:(?:ps|awk|top|lsof|pgrep|fuser|ls|grep)|in:|file:|find", label) for label in sources)
    return (
        many
        and not call.args.has("--list")
        and call.argv[1:2] != ["-0"]
        and (call.inv.via[-1:] == ("xargs",) or any(re.match(r"out:(?:ps|awk)", label) for label in sources))
    )


def kill_one(call: Call) -> bool:
    """Any other kill that sends a signal."""
    words = call.argv[1:]
    return (
        bool(words)
        and not _lists(call)
        and words[0] not in {"-l", "-L", "-0"}
        and not (words[0] == "-s" and words[1:2] in (["0"], ["CONT"]))
    )


def kill_found(call: Call) -> bool:
    """A signal that cannot be refused, for whatever is found by name or port."""
    found = [label for word in call.argv[1:] for label in labels(word)]
    by_name = any(re.match(r"out:(?:pidof|pgrep|lsof|fuser|ps|ss|netstat)\b", label) for label in found)
    everything = any("/proc/[0-9" in word or re.fullmatch(r"\[\d-\d\]\*", word) for word in call.argv[1:])
    forced = any(re.fullmatch(r"-(?:9|KILL|SIGKILL)", word) or word in {"KILL", "SIGKILL"} for word in call.argv[1:3])
    return not _lists(call) and forced and (by_name or everything)
