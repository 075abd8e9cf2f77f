"""Checks of variables by which programs load code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_LOADERS = frozenset(("LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV", "DYLD_INSERT_LIBRARIES"))
_PATHS = frozenset(
    ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONSTARTUP", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_CONFIG_GLOBAL",
     "GIT_CONFIG_SYSTEM")
)  # fmt: skip
"""Variables that hold paths; only those count that say by themselves where they lead."""
_COMMANDS = frozenset(
    ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
     "GIT_ASKPASS", "GIT_PROXY_COMMAND")
)  # fmt: skip
"""Variables that hold a command; its program counts."""
_OPTIONS = frozenset(("NODE_OPTIONS", "PERL5OPT", "RUBYOPT"))
_LOADING_OPTION = re.compile(
    r"(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|-I|-M[^\s/]{0,80})[= ]?(/\S{1,400})"
)
_PATH_FOR_ALL = re.compile(r":(?:/var)?/(?:tmp|dev/shm)(?:/|:)|:\.?:(?!$)")
_TRUSTED_CODE = re.compile(r"(?:/usr|/lib\w*|/opt|/nix|/snap|/System)/")
_TRUSTED_PROGRAM = re.compile(r"(?:/usr|/lib\w*|/s?bin|/opt|/nix|/snap|/System|/etc)/|/dev/null\Z")


def sets_loader(call: Call) -> tuple[str, ...]:
    """Variables that make every program, or every shell, load code from outside the system's directories."""
    return tuple(word for word in call.argv[1:] if _loads(word))


def _loads(word: str) -> bool:
    name, _, value = word.partition("=")
    if name == "PATH":
        return bool(_PATH_FOR_ALL.search(f":{value}:"))
    if name in {"PS0", "PS4"}:
        return "$(" in value or "`" in value
    if name in _PATHS:
        return any(part[:1] == "/" and not _trusted(part) for part in value.split(":"))
    if name in _COMMANDS:
        program = value.split()[0] if value.split() else ""
        return program[:1] == "/" and not _trusted(program)
    if name in _OPTIONS:
        return any(not _trusted(path) for path in _LOADING_OPTION.findall(value))
    parts = re.split(r"[:\s]+", value) if value and name in _LOADERS else []
    return not all(_TRUSTED_CODE.match(part) and ".." not in part for part in parts)


def _trusted(path: str) -> bool:
    return bool(_TRUSTED_PROGRAM.match(path)) and ".." not in path


_LIBRARIES = frozenset(
    ("PYTHONPATH", "PYTHONHOME", "PERL5LIB", "PERLLIB", "RUBYLIB", "NODE_PATH", "CLASSPATH", "LUA_PATH", "LUA_CPATH")
)
"""Where a program looks for its modules: work as usual for oneself, and another matter for root."""
_FOR_ALL = re.compile(r"(?:^|[:;])(?:/var)?/(?:tmp|dev/shm)(?:[/:;]|\Z)")
_KEEPS = re.compile(r"-[a-zA-Z]*E[a-zA-Z]*|--preserve-env(?:=.*)?")


_VALUED = re.compile(r"-[a-zA-Z]*[ugpChrtTUDR]")
_RAISING = frozenset(("sudo", "doas"))


def raises_library(call: Call) -> tuple[str, ...]:
    """Variables by which a program takes its modules, as another user, from where everybody may write."""
    if call.name == "env" and _RAISING.isdisjoint(call.inv.via):
        return ()
    given: list[str] = []
    kept = False
    words = iter(call.argv[1:])
    for word in words:
        if word.startswith("-"):
            kept = kept or bool(_KEEPS.fullmatch(word))
            if _VALUED.fullmatch(word):
                next(words, "")
        elif "=" in word:
            given.append(word)
        else:
            break
    if kept and call.name != "env":
        given += [f"{name}={value}" for name, value in call.inv.env.items()]
    pairs = [word.partition("=") for word in given]
    return tuple(f"{name}={value}" for name, _, value in pairs if name in _LIBRARIES and _FOR_ALL.search(value))
