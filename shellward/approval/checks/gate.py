"""Checks of what would change or answer the gate itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.values import known_part, labels
from shellward.config.paths import home

if TYPE_CHECKING:
    from shellward.approval.rule import Call


_GATE_SETTING = re.compile(r"SHELLWARD_(?!TEST_|TRACEBACK(?:=|$))\w+")


_GATE_PLACE = re.compile(
    r"(?:~|/root|/home/[^/]+|/Users/[^/]+)/"
    r"(?:\.config|\.local/state|Library/(?:Application Support|Preferences))/shellward(?:/|$)"
)


def _gate_words(call: Call) -> list[str] | None:
    """List the words after the program when it is Shellward's own, else None."""
    if call.name == "shellward":
        return call.argv[1:]
    return call.argv[3:] if call.argv[1:3] == ["-m", "shellward"] else None


def answers_gate(call: Call) -> bool:
    """Tell whether a command approves what the gate asks, or offers keys to whoever asks."""
    words = _gate_words(call) or []
    if words[:2] == ["config", "accept"]:
        return True
    return words[:1] == ["approvals"] and ("approve" in words[1:2] or ("watch" in words[1:2] and "--json" not in words))


def sets_gate(call: Call) -> tuple[str, ...]:
    """Variables that change the gate's settings, for Shellward or for whatever runs later."""
    if call.name in {"env", "export", "declare", "unset"}:
        given: list[str] = call.argv[1:]
    elif _gate_words(call) is not None:
        given = list(call.inv.env)
    else:
        return ()
    return tuple(match.group() for word in given if (match := _GATE_SETTING.match(word)))


def stops_gate(call: Call) -> bool:
    """Tell whether a command ends the gate's processes or removes its program."""
    if call.name == "kill":
        return any(re.fullmatch(r"out:(?:pgrep|pidof|ps)\S*-shellward", label) for label in call.labels)
    words = call.argv[1:]
    if call.name in {"pip", "pipx", "uv", "conda", "apt"} and not {"uninstall", "remove", "purge"} & set(words):
        return False
    return "shellward" in words


def touches_gate(call: Call) -> tuple[str, ...]:
    """Paths of the gate's settings, its queue and its audit log."""
    own = home()
    places = f"{str(own).rstrip('/')}/" if own is not None else ""
    found = []
    for word, full in zip(call.args.operands, call.paths, strict=True):
        path = known_part(full)
        named = any(label == "var:SHELLWARD_HOME" for label in labels(word))
        if named or _GATE_PLACE.match(path) or (places and f"{path}/".startswith(places)):
            found.append(path)
    return tuple(found)
