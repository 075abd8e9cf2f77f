"""The calls of a session that have to do with terminals."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shellward.environments.pty_calls import size_of

if TYPE_CHECKING:
    from shellward.environments.base import PtySize
    from shellward.environments.call import Command, Directory
    from shellward.environments.pty import PtySession
    from shellward.environments.session import Session


class SessionPty:
    """Part of Session: see the module."""

    def pty(  # type: ignore[misc]  # a part of Session
        self: "Session",
        command: "Command | None" = None,
        *,
        size: "PtySize | None" = None,
        cwd: "Directory | None" = None,
        env: Mapping[str, str] | None = None,
        by_person: bool = False,
        emulate: bool = True,
    ) -> "PtySession":
        """Run a program at a terminal, with what this session knows; see ``Environment.pty``.

        It waits for its turn, and is over when the session is closed. Meanwhile the session goes on.
        """
        environment = self._environment
        call = environment.dialogue(command, cwd=cwd, env=env, by_person=by_person)
        self.shell.take_turn(None)
        try:
            return environment.open_at_terminal(call, size_of(size or True), like=self.shell, emulate=emulate)
        finally:
            self.shell.release()
