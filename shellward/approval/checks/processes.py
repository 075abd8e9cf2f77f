"""Checks of signals to processes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from shellward.command.values import labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call


def _lists(call: Call) -> bool:
    """Tell whether names of signals are asked for; ``-KILL`` is no ``-L``."""
    return any(re.fullmatch(r"-[lL]\d*|--(?:list|table)(?:=.*)?", word) for word in call.argv[1:2])


_SIGNAL = re.compile(r"-(?:SIG)?([A-Z][A-Z0-9]+|\d+)|--signal=(.+)|-s(.+)")
"""Options that name a signal in one word; ``pkill -s`` names a session."""
_TAKES = {"kill": {"-s", "--signal", "-n"}, "killall": {"-s", "--signal"}}


def only_asks(call: Call) -> bool:
    """Tell whether the only signal is 0, which is sent to nobody: it says whether a process is there."""
    words = call.argv[1:]
    words = words[: words.index("--")] if "--" in words else words
    if call.name == "kill":  # what begins with a dash behind the signal is a group of processes
        words = words[:2]
        if len(words) > 1 and words[0] not in _TAKES["kill"]:
            words = words[:1]
    takes = _TAKES.get(call.name, {"--signal"})
    signals = [value for word, value in pairwise(words) if word in takes]
    for word in words:
        found = _SIGNAL.fullmatch(word)
        if found and word not in takes and not (found[3] and call.name not in _TAKES):
            signals.append(found[1] or found[2] or found[3])
    return bool(signals) and set(signals) == {"0"}


def kills(call: Call) -> bool:
    """Tell whether a signal is sent."""
    return not only_asks(call)


def kill_all(call: Call) -> bool:
    """``kill -1``, ``kill -9 -1``, ``kill 1``, ``kill -9 0``; ``kill 0`` asks one's own jobs to end."""
    if _lists(call) or only_asks(call):
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
        and not only_asks(call)
        and (call.inv.via[-1:] == ("xargs",) or any(re.match(r"out:(?:ps|awk)", label) for label in sources))
    )


def kill_one(call: Call) -> bool:
    """Any other kill that sends a signal."""
    words = call.argv[1:]
    return (
        bool(words)
        and not _lists(call)
        and words[0] not in {"-l", "-L"}
        and not only_asks(call)
        and not (words[0] == "-s" and words[1:2] == ["CONT"])
    )


def kill_found(call: Call) -> bool:
    """A signal that cannot be refused, for whatever is found by name or port."""
    found = [label for word in call.argv[1:] for label in labels(word)]
    by_name = any(re.match(r"out:(?:pidof|pgrep|lsof|fuser|ps|ss|netstat)\b", label) for label in found)
    everything = any("/proc/[0-9" in word or re.fullmatch(r"\[\d-\d\]\*", word) for word in call.argv[1:])
    forced = any(re.fullmatch(r"-(?:9|KILL|SIGKILL)", word) or word in {"KILL", "SIGKILL"} for word in call.argv[1:3])
    return not _lists(call) and forced and (by_name or everything)
