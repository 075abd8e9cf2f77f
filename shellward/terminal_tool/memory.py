"""What each shell of an environment knows by now, read from the state that it saves when a command may have changed it.

A command is judged by this, so it is never a guess: what cannot be read is ``UNCLEAR``.
"""

import re
import threading
import weakref
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shellward.command.known import NOTHING, UNCLEAR, Known, read_state
from shellward.environments.encoding import only_program

if TYPE_CHECKING:
    from shellward.approval.brought import Look
    from shellward.environments.call import Call
    from shellward.environments.environment import Environment
    from shellward.environments.pool import Start
    from shellward.environments.process import Process
    from shellward.environments.shell import Shell

_SLOTS: Final = 4
"""So many states are there, the newest and those before it, in slots that are used in turn (environments/scripts)."""


def only_runs(call: "Call", known: Known) -> bool:
    """Whether a command is one of those after which bash has nothing to save: ``__sw_l`` in bash.sh says the same.

    It decides by variables that a command can assign to, so it is not believed where it cannot be right.

    Args:
        call: the command.
        known: what its shell knew.
    """
    if call.cwd or call.env or call.words or not call.text.isascii():
        return False
    if (found := only_program(call.text.encode("ascii"))) is None:
        return False
    word = found.decode("ascii")
    return word not in known.functions and word not in known.aliases


@dataclass(slots=True)
class _Kept:
    """What is kept of one shell: it holds for the process ``pid``, as long as state ``number`` is its newest."""

    pid: int = 0
    number: int = -1
    untold: int = -1
    """The newest state, when the shell did not save what it may have become after that."""
    slot: int = 0
    trapped: bool = False
    """A trap may change what it knows with any command, before it."""
    known: Known = NOTHING
    functions: dict[str, str] = field(default_factory=dict)
    hashed: dict[str, str] = field(default_factory=dict)
    positional: bool = False
    place: str | None = None
    """Its working directory without symbolic links, when that is known."""


class Memory:
    """Knows what commands would begin with. Thread-safe.

    Args:
        environment: whose shells these are.
    """

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._shells: weakref.WeakKeyDictionary[Shell, _Kept] = weakref.WeakKeyDictionary()

    def known(self, start: "Start") -> Known:
        """Return what a command that begins there will know."""
        shell, number = start.shell, start.number
        if shell is None or number is None:
            return NOTHING
        with self._lock:
            kept = self._kept(shell)
            if kept.number == number:
                return kept.known
            functions, positional, first = dict(kept.functions), kept.positional, kept.slot + 1
            hashed = dict(kept.hashed)
            untold = kept.untold == number or kept.trapped
        known, slot = (UNCLEAR, first) if untold else self._read(shell, number, first)
        if (functions or positional) and known is not UNCLEAR:
            known = known.completed(functions, positional=positional)
        if hashed and known is not UNCLEAR:
            known = replace(known, aliases={**known.aliases, **hashed})
        with self._lock:
            kept = self._kept(shell)
            if known == kept.known:
                known = kept.known  # what was seen of commands is kept by it
            if start.saved is None:  # else another command may have ended meanwhile
                kept.number, kept.known, kept.slot, kept.place = number, known, slot, None
        return known

    def of_process(self, process: "Process") -> Known:
        """Return what a background process began with, from what its start has saved."""
        text = self._text(f"{process.directory}/state")
        if text is None:  # a program by itself, past functions and aliases; or it was removed
            return NOTHING
        aliases = self._text(f"{process.directory}/alias") or ""
        return read_state(text, aliases=aliases)

    def place(self, shell: "Shell") -> str | None:
        """Return the directory of a shell that no command has changed since it was noted."""
        with self._lock:
            kept = self._kept(shell)
            return kept.place if kept.number >= 0 else None

    def note_place(self, shell: "Shell", place: str) -> None:
        """Keep where a shell stands."""
        with self._lock:
            self._kept(shell).place = place

    def begins(self, shell: "Shell", seen: "Look") -> None:
        """Note that a command is about to run, before it does: how it ends, nobody may ever hear.

        Args:
            shell: where; one that keeps its state.
            seen: what was seen of it.
        """
        with self._lock:
            kept = self._kept(shell)
            if seen.changes_state:
                kept.number, kept.place = -1, None
            kept.trapped = kept.trapped or seen.traps_state
            kept.hashed.update(seen.hashed)
            if shell.kind != "bash":  # others cannot tell these
                kept.positional = kept.positional or seen.positional
                for name, text in seen.defines.items():
                    before = kept.functions.get(name, "")
                    kept.functions[name] = before if text in before else f"{before}\n{text}"

    def ended(self, shell: "Shell", number: int | None, *, changes: bool, must_save: bool) -> None:
        """Note that a command has ended.

        Args:
            shell: where.
            number: of the state that it began with.
            changes: whether it may have changed what the shell knows.
            must_save: whether the shell had to save its state after it.
        """
        with self._lock:
            kept = self._kept(shell)
            if not changes and kept.number >= 0:
                kept.number = shell.saved
            if must_save and shell.saved == number:
                kept.number, kept.untold = -1, shell.saved

    def _kept(self, shell: "Shell") -> _Kept:
        kept = self._shells.get(shell)
        if kept is None:
            kept = self._shells[shell] = _Kept()
        if kept.pid != shell.pid:  # it was started, or again after it was lost
            kept.pid, kept.number, kept.untold, kept.place = shell.pid, -1, -1, None
            kept.hashed.clear()  # no shell takes that over
            if shell.kind != "bash":
                kept.functions.clear()
                kept.positional = False
        return kept

    def _read(self, shell: "Shell", number: int, first: int) -> tuple[Known, int]:
        """Read a state, looking into the slot ``first`` first; return in which one it is, too."""
        if not number:
            return NOTHING, 0
        for slot in range(first, first + _SLOTS):
            text = self._text(f"{shell.state_path}.{slot % _SLOTS}")
            if text is None or not text.startswith(f"#{number}\n"):
                continue
            if not text.endswith(f"\n__sw_i={number}\n"):
                break  # it was not saved whole
            # What the process before this one has saved is what this one has taken over.
            if shell.restored != number and not re.search(rf"PPID=['\"]?{shell.holder}\b", text):
                break  # another session of the same name has overwritten it
            aliases = "" if shell.kind == "bash" else self._text(f"{shell.state_path}.alias")
            return (UNCLEAR if aliases is None else read_state(text, aliases=aliases)), slot % _SLOTS
        return UNCLEAR, first

    def _text(self, path: str) -> str | None:
        try:
            local = self._environment.kind == "local"
            data = Path(path).read_bytes() if local else self._environment.read_file(path)
        except OSError:
            return None
        return data.decode("utf-8", "surrogateescape")
