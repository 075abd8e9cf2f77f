"""What is seen of a command before it is decided about: with its words, directory, variables, input and session.

Looking is pure, so what was seen is kept for when the same command comes again. Deciding is judge.py's.
"""

import os
import posixpath
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shellward.approval.brought import Brought, Look, again, line_of, look
from shellward.approval.context import UNREADABLE, Context
from shellward.approval.detecting import Unreadable
from shellward.approval.nearby import NOTHING_NEARBY, Nearby
from shellward.approval.reading import read_on
from shellward.command.known import Known
from shellward.environments.encoding import encode_text, quote
from shellward.terminal_tool.memory import Memory
from shellward.terminal_tool.places import Places
from shellward.terminal_tool.surroundings import comes_later, input_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.approval.engine import Packs
    from shellward.approval.gatekeeper import Gate
    from shellward.environments.call import Call
    from shellward.environments.environment import Environment
    from shellward.environments.pool import Start
    from shellward.environments.shell import Shell

MOST_KEPT: Final = 512
"""So many looks at commands are kept, for when they come again."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a command, and what exactly was looked at, with what its shell knew."""

    seen: Look
    known: Known
    context: Context
    call: "Call"
    start: "Start"
    nearby: Nearby = NOTHING_NEARBY

    def same(self, before: "Sight") -> bool:
        """Whether this is the same deed, so that an answer given about the other one holds."""
        now, then = self.seen.detection, before.seen.detection
        return self.context == before.context and (now.normalized, now.findings) == (then.normalized, then.findings)


class Looking:
    """Looks at commands of one environment. Thread-safe.

    Args:
        environment: where the commands would run.
        gate: whose rules and settings hold.
        memory: what the environment's sessions know.
        places: its file system, as far as it decides what commands do.
        context: what holds for all of them.
        screened: makes a call of which each line of input passes the gate, see ``Judge``.
    """

    def __init__(  # noqa: PLR0917  # the parts of one judge
        self,
        environment: "Environment",
        gate: "Gate",
        memory: Memory,
        places: Places,
        context: Context,
        screened: "Callable[[Call, Context, Known, Look, str | None], Call]",
    ) -> None:
        self._environment = environment
        self._gate = gate
        self._memory = memory
        self._places = places
        self._context = context
        self._screened = screened
        self._lock = threading.Lock()
        self._looks: dict[tuple[object, ...], Sight] = {}
        self._texts: dict[tuple[object, ...], tuple[Known, Packs, Look]] = {}
        """What was seen of texts alone."""

    def look_at(self, shell: "Shell", call: "Call", start: "Start") -> Sight:
        """Look at a command with all that it brings along."""
        generation = self._gate.follow_settings()
        known = self._memory.known(start)
        place, call = self._place(shell, call, start)
        if call.stdin is None and not call.env and call.launch is None:
            # Looking is pure, and what was known is never changed: another state is another object.
            key = (call.text, call.words, place, shell.user, id(known), generation)
            before = self._looks.get(key)
            stale = before is None or before.known is not known
            if before is not None and not stale and before.seen.wanted:
                stale = self._places.see(before.seen.wanted) != before.nearby
            if before is None or stale:
                before = self._looked(shell, call, start, known, place)
                if not any(finding.rule == UNREADABLE for finding in before.seen.detection.findings):
                    self._keep(key, before)
            return Sight(before.seen, known, before.context, call, start, before.nearby)
        return self._looked(shell, call, start, known, place)

    def _keep(self, key: tuple[object, ...], sight: Sight) -> None:
        with self._lock:
            if len(self._looks) >= MOST_KEPT:
                self._looks.clear()
            self._looks[key] = sight

    def _looked(self, shell: "Shell", call: "Call", start: "Start", known: Known, place: str | None) -> Sight:
        context = replace(self._context, cwd=place)
        if shell.user is not None:
            context = replace(context, target=f"{context.target} as {shell.user}".lstrip())
        brought = input_of(call, known)
        seen = self.seen(call, context, brought)
        nearby = NOTHING_NEARBY
        if seen.wanted:
            seen, nearby = read_on(
                seen,
                self._places.see,
                lambda found, before: self.seen(call, context, replace(brought, nearby=found), before),
            )
        if (comes_later(call) and seen.takes_orders) or (call.at_terminal and not seen.takes_orders):
            # What the input says is judged as it comes; the command itself, as if there were none.
            if seen.takes_orders:
                orders = seen
                seen = self.seen(call, context, Brought(known=known, env=call.env or {}, nearby=nearby))
                seen = replace(seen, takes_orders=orders.takes_orders)
            if call.launch is None and not call.by_person:  # what a process gets is typed into it, see ``typed``
                call = self._screened(call, context, known, seen, shell.user)
        return Sight(seen, known, context, call, start, nearby)

    def glance(self, shell: "Shell", call: "Call", start: "Start") -> Look:
        """Look at a command's text while its shell may be busy; what is seen is kept for ``look_at``."""
        context = replace(self._context, cwd=self._likely_place(shell, call, start))
        return self.seen(call, context, Brought(known=self._memory.known(start)))

    def seen(self, call: "Call", context: Context, brought: Brought, before: Look | None = None) -> Look:
        """Look at a command's text; ``before`` is the look that asked for what lies nearby."""
        if before is not None or brought.env or brought.stdin is not None or brought.more or brought.nearby:
            return self._seen(call, context, brought, before)
        key = (call.text, call.words, context.cwd)
        kept, packs = self._texts.get(key), self._gate.packs
        # The same state read twice is equal, not the same object.
        if kept is not None and kept[1] is packs and (kept[0] is brought.known or kept[0] == brought.known):
            return kept[2]
        seen = self._seen(call, context, brought, None)
        with self._lock:
            if len(self._texts) >= MOST_KEPT:
                self._texts.clear()
            if not any(finding.rule == UNREADABLE for finding in seen.detection.findings):
                self._texts[key] = (brought.known, packs, seen)
        return seen

    def _seen(self, call: "Call", context: Context, brought: Brought, before: Look | None) -> Look:
        if call.words is not None:  # run past functions and aliases
            brought = replace(brought, known=Known(unclear=False))
        text = call.text if call.words is None else line_of(call.words)
        try:
            if before is not None:
                return again(before, text, cwd=context.cwd, brought=brought, packs=self._gate.packs)
            return look(text, cwd=context.cwd, brought=brought, packs=self._gate.packs)
        except Exception as error:  # noqa: BLE001  # a defect in detection must stop the command, not the door
            from shellward.approval.detect import Detection

            unreadable = Unreadable(text, error)
            return Look(Detection(text, unreadable.findings), takes_orders=True, changes_state=True, defines={})

    # -- the working directory -----------------------------------------------------------------------------

    def _place(self, shell: "Shell", call: "Call", start: "Start") -> tuple[str | None, "Call"]:
        """Return the directory that a command would really run in, and the command tied to it.

        A path is not enough: ``cd`` through a symbolic link to ``/`` leaves a shell in ``/``.
        """
        if call.cwd is not None:
            asked = call.cwd if call.cwd.startswith("/") else f"{start.cwd}/{call.cwd}"
            place = self._physical(shell, asked)
            if place is None:  # the engine will say what is wrong with it
                return posixpath.normpath(asked), call
            # The link may be another one by the time that the command runs.
            return place, call if place == posixpath.normpath(asked) else replace(call, cwd=place)
        if not shell.name:
            return self._physical(shell, start.cwd if shell.user is None else shell.cwd), call
        if self._environment.kind == "local":
            try:
                return os.readlink(f"/proc/{shell.pid}/cwd"), call  # noqa: PTH115  # see below
            except OSError:
                return None, call
        return self._memory.place(shell) or self._physical(shell, shell.cwd), call

    def _likely_place(self, shell: "Shell", call: "Call", start: "Start") -> str:
        """Guess what ``_place`` will say, without asking the sandbox; a wrong guess costs another look."""
        local = self._environment.kind == "local"
        if call.cwd is not None:
            asked = call.cwd if call.cwd.startswith("/") else f"{start.cwd}/{call.cwd}"
            return os.path.realpath(asked) if local else posixpath.normpath(asked)
        if local:
            with suppress(OSError):
                return os.readlink(f"/proc/{shell.pid}/cwd")  # noqa: PTH115  # as above
            return os.path.realpath(shell.cwd)
        return self._memory.place(shell) or shell.cwd

    def _physical(self, shell: "Shell", path: str) -> str | None:
        """Return a directory's path without symbolic links; None when it is not there."""
        if self._environment.kind == "local":
            place = os.path.realpath(path)
            return place if os.path.isdir(place) else None  # noqa: PTH112  # on the way of every command
        text = quote(encode_text(path, "cwd")).decode("ascii", "surrogateescape")
        answer = self._environment.control(shell.user).call(f"(cd -P -- {text} && pwd -P) 2>/dev/null")
        return answer.removesuffix("\n") or None
