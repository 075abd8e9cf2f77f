"""What a shell knows from commands before: as a value, from the state that it saved, and who changes it.

A session keeps variables, functions and aliases from command to command, so a line alone does not say what it
would run. Here is text to structure only; where the saved state comes from is not this room's business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shellward.command.syntax import Compound, Simple
from shellward.command.values import MARKER, OPEN, unknown
from shellward.command.work import READING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellward.command.syntax import Command, Script
    from shellward.command.trace import Trace

Value = str | list[str] | dict[str, str]

_SHELLS_OWN = re.compile(
    r"__sw|BASH(?!_CMDS)|EPOCH|COMP_|FUNCN|(?:_|DIRSTACK|EUID|UID|GROUPS|HISTCMD|HOSTTYPE|IFS|LINENO|MACHTYPE|OPT(?:IND|ERR|ARG)"
    r"|OSTYPE|PIPESTATUS|PPID|PS[1-4]|PWD|RANDOM|SECONDS|SHELL|SHELLOPTS|SHELLWARD_COMMAND|SHLVL|SRANDOM|TERM)$"
)
"""Variables that are the shell's own, or another thing at each command; nothing is to be concluded from their value."""
_USUAL_IFS = " \t\n"
_USUAL_HOME = re.compile(r"/root|/(?:home|Users)/[^/]+")
"""What ``~`` stands for anyway."""

_CHANGES = frozenset(
    {
        *(".", "[", "[[", "alias", "bind", "break", "builtin", "cd", "command", "complete", "compopt", "continue"),
        *("coproc", "declare", "dirs", "disown", "enable", "env", "eval", "exec", "exit", "export", "fc"),
        *("getopts", "hash", "history", "let", "local", "logout", "mapfile", "popd", "pushd", "read", "readarray"),
        *("readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "typeset"),
        *("ulimit", "umask", "unalias", "unset", "wait"),
    }
)  # fmt: skip
"""Commands that may leave another state behind than they found, and those of which that is not sure."""


@dataclass(frozen=True, slots=True)
class Known:
    """What holds in a shell before a command line is read.

    Attributes:
        variables: names and values.
        functions: names and definitions, as text that a shell reads.
        aliases: names and what they stand for, ``hash -p`` included.
        positional: ``$1`` and so on.
        unclear: there is a state, but not all of it is known.
    """

    variables: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    unclear: bool = False

    def completed(self, functions: Mapping[str, str], *, positional: bool) -> Known:
        """Add what shells other than bash cannot tell of themselves.

        Args:
            functions: that were defined.
            positional: ``$1`` and so on were set, to what is not known.
        """
        from dataclasses import replace

        given = (unknown("var", "@"),) if positional else self.positional
        return replace(self, functions={**functions, **self.functions}, positional=given)

    def lines(self, used: frozenset[tuple[str, str]]) -> str:
        """Write the named part as shell lines, to be shown before a command that makes use of it.

        Args:
            used: what to write, as ("variable", name), ("function", name), ("alias", name), ("positional", "").
        """
        out = []
        for kind, name in sorted(used, key=lambda one: (_ORDER.index(one[0]), one[1])):
            if kind == "function":
                out.append(self.functions[name])
            elif kind == "alias":
                out.append(f"alias {name}={_quoted(self.aliases[name])}")
            elif kind == "positional":
                out.append(" ".join(["set --", *map(_quoted, self.positional)]))
            else:
                out.append(f"{name}={_written(self.variables[name])}")
        return "".join(f"{line}\n" for line in out)


NOTHING = Known()
"""Of a shell that is new."""
UNCLEAR = Known(unclear=True)
"""Of a shell whose state cannot be read."""
_ORDER = ("variable", "positional", "alias", "function")


class Remembered(dict[str, Any]):
    """A table of a shell's state that begins with what is known, and notes what of that is looked up.

    Args:
        kind: of what it holds, for the notes.
        given: what is known beforehand.
        used: where looking up is noted, as (kind, name).
    """

    def __init__(self, kind: str, given: Mapping[str, Any], used: set[tuple[str, str]]) -> None:
        super().__init__(given)
        self._kind = kind
        self._given = given
        self._used = used

    def get(self, key: str, default: Any = None) -> Any:
        """Look up, and note it when that is from before."""
        value = super().get(key, default)
        if key in self._given and value is self._given[key]:
            self._used.add((self._kind, key))
        return value

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if value is self._given.get(key):
            self._used.add((self._kind, key))
        return value


def read_state(text: str, *, aliases: str = "") -> Known:
    """Read what a shell saved of its state: ``declare -p``, ``set``, ``declare -f``, ``alias -p`` and the like.

    Args:
        text: the saved state.
        aliases: the output of ``alias`` where that stands apart (``name='value'``, with or without ``alias``).
    """
    lines = [line if line.startswith("alias ") else f"alias {line}" for line in aliases.splitlines()]
    plain, rest = _plain_variables(text)
    others, functions, alias, positional, unclear = _read_slowly("\n".join([rest, *lines]))
    found = {**plain, **others}
    home = found.get("HOME")
    if isinstance(home, str) and _USUAL_HOME.fullmatch(home):
        del found["HOME"]
    if found.get("IFS") == _USUAL_IFS:
        del found["IFS"]
    return Known(found, functions, alias, positional, unclear)


_HEAD = re.compile(r"#\d+\nbuiltin cd -- [^\n]*\n(builtin set --[^\n]*\n)")
_DECLARED = re.compile(
    r"""declare -(\S+) (\w+)(?:=(?:"((?:[^"\\$`]|\\[\\"$`])*)"|\$'(?:[^'\\]|\\.)*'"""
    r"""|\((?:\[(?:"(?:[^"\\]|\\.)*"|[^]"'\n]*)\]=(?:"(?:[^"\\]|\\.)*"|\$'(?:[^'\\]|\\.)*') ?)*\)))?\n""",
    re.DOTALL,
)
"""One variable as ``declare -p`` writes it, its value in the third group when that is a plain one."""
_ESCAPED = re.compile(r"""\\([\\"$`])""")
_FOR_MARKERS = re.compile("[\ue000-\uf8ff]")
_MOST_WORK = 20 * READING
"""A session may define more than one line can; what it has is read once."""
_PLAIN_FLAGS = frozenset({"-", "x", "r", "rx"})


def _plain_variables(text: str) -> tuple[dict[str, Value], str]:
    """Take the plain variables out of a state that bash saved, which are nearly all of it; return the rest, too.

    The rest is what seldom changes from command to command, and is slow to read.
    """
    head = _HEAD.match(text)
    if head is None:
        return {}, text
    found: dict[str, Value] = {}
    rest = [head[1]]
    at = head.end()
    while one := _DECLARED.match(text, at):
        at = one.end()
        flags, name, value = one.groups()
        if _SHELLS_OWN.match(name) and name != "IFS":
            continue
        if value is None or flags not in _PLAIN_FLAGS or _FOR_MARKERS.search(value):
            rest.append(one[0])
        else:
            found[name] = _ESCAPED.sub(r"\1", value)
    # What comes last is written with %q, in one line, and is the shell's own: options, jobs, the number.
    end = text.rfind("\n__sw_S=", at - 1)
    rest.append(text[at:] if end < 0 else text[at : end + 1])
    return found, "".join(rest)


@lru_cache(maxsize=32)
def _read_slowly(
    text: str,
) -> tuple[dict[str, Value], dict[str, str], dict[str, str], tuple[str, ...], bool]:
    """Return variables, functions, aliases, ``$1`` and so on, and whether not all was understood."""
    from shellward.command.trace import trace

    traced = trace(text, limit=_MOST_WORK)
    state = traced.state
    found = {
        name: value
        for name, value in state.vars.items()
        if not _SHELLS_OWN.match(name) and not _has_marker(value) and name.isidentifier()
    }
    hashed = found.pop("BASH_CMDS", {})
    if "IFS" in state.vars:
        found["IFS"] = state.vars["IFS"]
    return (
        found,
        {name: text[slice(*node.span)] for name, node in state.functions.items() if not name.startswith("__sw")},
        {
            **(hashed if isinstance(hashed, dict) else {}),
            **{name: value for name, value in state.aliases.items() if not name.startswith("__sw")},
        },
        tuple(state.positional),
        any(problem.kind != "unexpected" for problem in traced.problems),
    )


def defined(traced: Trace) -> dict[str, str]:
    """Return the functions that a line defines, for shells that cannot tell theirs.

    A definition that does not stand in the text as it is (inside ``eval``) comes back as one that runs ``$1``:
    what it does is not known.
    """
    found = {}
    for name, node in traced.state.functions.items():
        text = traced.text[slice(*node.span)]
        stands = re.match(rf"(?:function\s+)?{re.escape(name)}\b", text)
        found[name] = text if stands else f'{name}() {{ eval "$shellward_unknown"; }}'
    return found


_ALWAYS_TRAPPED = frozenset(("DEBUG", "ERR", "RETURN", "CHLD", "SIGCHLD", "17"))
"""What happens all the time; the others take a signal."""


def traps_state(traced: Trace, known: Known) -> bool:
    """Tell whether a line sets a trap by which any later command may change what its shell knows."""
    from shellward.command.trace import trace

    for found in traced.invocations:
        if found.name != "trap":
            continue
        words = [word for word in found.argv[1:] if word != "--"]
        if len(words) < 2 or words[0] in {"", "-", "-p", "-l"} or found.via:  # an action and a signal
            continue
        sure = not any(OPEN in word for word in words)
        if not sure or (
            any(word.upper() in _ALWAYS_TRAPPED for word in words[1:]) and changes_state(trace(words[0]), known)
        ):
            return True
    return False


def changes_state(traced: Trace, known: Known) -> bool:
    """Tell whether a line may leave another state in its shell than it found; in doubt it may.

    Args:
        traced: the line.
        known: what held before.
    """
    text = traced.text
    if ("${" in text and "=" in text) or "((" in text or "$[" in text or traced.problems:
        return True
    return _changes(traced.script, known)


def _changes(script: Script, known: Known) -> bool:
    return any(
        len(pipeline.commands) == 1 and pipeline.end != "&" and _changed_by(pipeline.commands[0], known)
        for pipeline in script.items
    )


def _changed_by(command: Command, known: Known) -> bool:
    if isinstance(command, Compound):
        return command.kind != "subshell"
    assert isinstance(command, Simple)  # noqa: S101  # there are but two
    name = command.plain[0] if command.plain else command.words[0].lit if command.words else None
    if name is None or name in _CHANGES or name in known.functions or name in known.aliases:
        return True
    if name == "printf":
        second = command.plain[1:2] if command.plain else [word.lit for word in command.words[1:2]]
        return not second or second[0] is None or second[0].startswith("-")
    return False


def _has_marker(value: Value) -> bool:
    if isinstance(value, str):
        return OPEN in value
    return any(OPEN in item for item in (value.values() if isinstance(value, dict) else value))


def _quoted(text: str) -> str:
    from shellward.command.invocation import quote

    return quote(MARKER.sub("", text)) or "''"


def _written(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "(" + " ".join(f"[{key}]={_quoted(item)}" for key, item in value.items()) + ")"
    return "(" + " ".join(map(_quoted, value)) + ")"
