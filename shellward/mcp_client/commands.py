"""Which of a call's arguments are command lines, by the names that servers give those. Nothing is judged here.

Servers take a command as a line, as a list of words, as a program with a list of arguments beside it, or as a list of
any of these. Where it could be read in two ways both are returned.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from shellward.approval.brought import line_of

_LINES: Final = frozenset(
    [
        *("command", "commands", "commandline", "commandlines", "commandstring", "commandtext", "rawcommand"),
        *("cmd", "cmds", "cmdline", "cmdlines", "cmdstring", "exec", "execcommand", "runcommand", "remotecommand"),
        *("shell", "shellcommand", "shellcommands", "shellcmd", "shellline", "shellscript"),
        *("bash", "bashcommand", "bashcmd", "bashscript", "sh", "zsh", "script", "scripts"),
    ]
)
"""Names of what is a line, or several, as they are compared: without ``_`` and ``-``, in small letters."""
_WORDS: Final = frozenset(["argv", "args", "arguments", "arg", "parameters", "params", "cmdargs", "commandargs"])
"""Names of a program's words: of all of them, or of those after the program's name, which stands beside them."""
_PROGRAMS: Final = frozenset(["program", "executable", "exe", "binary", "bin", "file", "path", "name", "entrypoint"])
"""Names of a program, where its words stand beside it; elsewhere they mean many things."""
_SQL: Final = frozenset(["sql", "rawsql", "sqlquery", "sqlstatement"])
_DEPTH: Final = 32
_MOST: Final = 2_000


class Commands(NamedTuple):
    """What was found.

    Attributes:
        lines: shell lines that do what the arguments ask for.
        unread: why there may be more; empty when all was read.
    """

    lines: tuple[str, ...]
    unread: str


def commands_in(args: Mapping[str, Any]) -> Commands:
    """Return what of a call's arguments is a command."""
    found: dict[str, None] = {}
    unread = ""
    for number, line in enumerate(_walk(args, "", 0)):
        if number >= _MOST:
            return Commands(tuple(found), f"they hold more than {_MOST} commands")
        if line is None:
            unread = f"they are nested deeper than {_DEPTH} levels"
        else:
            found[line] = None
    return Commands(tuple(found), unread)


def _walk(node: Any, key: str, depth: int) -> Iterator[str | None]:
    """Yield command lines, and None for what is too deep to be read."""
    if depth > _DEPTH:
        yield None
    elif isinstance(node, Mapping):
        yield from _called(node)
        for name, value in node.items():
            own = _folded(name)
            known = own in _LINES or own in _WORDS or own in _SQL
            # {"commands": {"build": "make"}}: what stands under a command's name is one, whatever it is called.
            yield from _walk(value, own if known or key not in _LINES else key, depth + 1)
    elif isinstance(node, list | tuple):
        yield from _listed(node, key)
        for each in node:
            yield from _walk(each, key, depth + 1)
    elif isinstance(node, str) and node.strip():
        if key in _LINES:
            yield node
        elif key in _SQL:
            yield line_of(["psql", "-c", node])


def _listed(node: Sequence[Any], key: str) -> Iterator[str]:
    """Yield a list as one command: the words of one, or one after the other."""
    if (key in _LINES or key in _WORDS) and (words := _words(node)):
        yield line_of(words)
    if key in _LINES and len(node) > 1 and all(isinstance(each, str) for each in node):
        yield "\n".join(node)  # what the first says of a variable holds for the next


def _called(node: Mapping[Any, Any]) -> Iterator[str]:
    """Yield programs with the arguments that stand beside them."""
    arguments = [value for name, value in node.items() if _folded(name) in _WORDS]
    if not arguments:
        return
    programs = [value for name, value in node.items() if (own := _folded(name)) in _LINES or own in _PROGRAMS]
    for program in programs:
        for given in arguments:
            begin, rest = _text(program), _text(given)
            if begin and rest:
                yield f"{begin} {rest}"


def _text(value: Any) -> str:
    """Return a part of a command as text of a line; a list's words are quoted, a text may be several words already."""
    return value if isinstance(value, str) else line_of(_words(value))


def _words(value: Any) -> list[str]:
    """Return a list as words; empty when it is none, or no list of words."""
    if not isinstance(value, list | tuple) or not any(isinstance(each, str) for each in value):
        return []
    if not all(isinstance(each, str | int | float) for each in value):
        return []
    return [each if isinstance(each, str) else str(each) for each in value]


def _folded(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").casefold()
