"""What an exit status means, for programs that say more with it than that they failed.

``grep`` ends with 1 when nothing matched, and a model that takes that for a failure repairs what is not broken. The
status of a line belongs to the command that ran last; where several could have set it, nothing is said.
"""

from typing import Final

from shellward.command.reader import read
from shellward.command.syntax import Pipeline, Simple, Text, Word
from shellward.core.types import signal_name
from shellward.terminal_tool.exit_tables import GENERAL, GIT, NEEDS, PROGRAMS, SIGNALS

_WRAPPERS: Final = frozenset({"sudo", "doas", "command", "nohup", "time", "env", "exec", "nice", "stdbuf", "setsid"})
_SETUP: Final = frozenset(
    {"cd", "echo", "export", "printf", "set", "source", ".", "true", ":", "mkdir", "pushd", "unset"}
)
"""What stands before the command that matters; when it fails it says so on stderr, and with 1 as others do."""
_LONGEST: Final = 20_000
_FATAL: Final = 128


def meaning(command: str, exit_code: int) -> str | None:
    """Say what an exit status means.

    Args:
        command: the line that was run.
        exit_code: its status.

    Returns:
        A phrase; None when the status says no more than that it failed, or when that cannot be told.
    """
    if exit_code == 0 or len(command) > _LONGEST:
        return None
    argv = _deciding(command)
    if argv is not None and (said := _of_program(argv, exit_code)) is not None:
        return said
    if exit_code in GENERAL:
        return GENERAL[exit_code]
    if exit_code > _FATAL and (name := signal_name(exit_code)) is not None:
        return f"ended by {name}" + (f": {SIGNALS[name]}" if name in SIGNALS else "")
    return None


def _of_program(argv: list[str], exit_code: int) -> str | None:
    name = argv[0].rpartition("/")[2]
    if name == "git":
        return _of_git(argv[1:], exit_code)
    wanted = NEEDS.get((name, exit_code))
    if wanted and not any(word in wanted or _short(word, wanted) for word in argv[1:]):
        return None
    return PROGRAMS[name].get(exit_code) if name in PROGRAMS else None


def _of_git(words: list[str], exit_code: int) -> str | None:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in {"-C", "-c", "--git-dir", "--work-tree"} else words[1:]
    verb = words[0] if words else ""
    wanted = NEEDS.get((f"git {verb}", exit_code))
    if wanted and not wanted & set(words):
        return None
    return GIT.get((verb, exit_code)) or GIT.get(("", exit_code))


def _short(word: str, wanted: frozenset[str]) -> bool:
    """Say whether a bundle of short options (``-sS``) has one of them."""
    letters = {option[1] for option in wanted if len(option) == 2}  # noqa: PLR2004  # "-f"
    return word.startswith("-") and not word.startswith("--") and bool(letters & set(word[1:]))


def _deciding(command: str) -> list[str] | None:
    """Return the words of the command whose status is the line's; None when that cannot be told."""
    script, problems = read(command)
    items = script.items
    if problems or not items or items[-1].end == "&":
        return None
    first = len(items) - 1
    while first and items[first - 1].end in {"&&", "||"}:
        first -= 1
    *before, last = items[first:]
    for item in before:
        argv = _argv(item, command)
        if argv is None or argv[0] not in _SETUP or item.end == "||":
            return None
    return _argv(last, command)


def _argv(item: Pipeline, text: str) -> list[str] | None:
    """Return the constant words of a pipeline's last command, without wrappers; what is no constant is empty."""
    if not item.commands or text[: item.commands[0].span[0]].rstrip().endswith("!"):
        return None
    command = item.commands[-1]
    if not isinstance(command, Simple):
        return ["[["] if command.kind == "test" else None
    words = list(command.plain or []) or [_constant(word) for word in command.words]
    while words and words[0] in _WRAPPERS:
        wrapper = words.pop(0)
        while words and (words[0].startswith("-") or (wrapper == "env" and "=" in words[0])):
            words.pop(0)
    return words if words and words[0] else None


def _constant(word: Word) -> str:
    if word.lit is not None:
        return word.lit
    texts = [part.value for part in word.parts if isinstance(part, Text)]
    return "".join(texts) if len(texts) == len(word.parts) else ""
