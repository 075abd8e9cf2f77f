"""The foreground job of a terminal, and its echo: asked of the sandbox, beside the terminal (scripts/foreground.sh)."""

import errno
from collections.abc import Callable
from dataclasses import dataclass

from shellward.core.errors import Unsupported


@dataclass(frozen=True, slots=True)
class Foreground:
    """What is at one terminal.

    Args:
        ask: runs a line of shell for which the script is there.
        mark: in the environment of what runs at the terminal.
        since: clock ticks of the sandbox before which none of it was there.
        kind: of the environment.
        name: of what runs at the terminal, for errors.
    """

    ask: Callable[[str], str]
    mark: str
    since: int
    kind: str
    name: str

    def signal(self, signal: str) -> None:
        """Send a signal to the foreground process group.

        Args:
            signal: its name, without ``SIG``.

        Raises:
            ProcessLookupError: nothing is in the foreground.
            PermissionError: what is there is another user's.
            Unsupported: the sandbox does not show what is at a terminal.
            EnvironmentUnavailable: the sandbox is gone.
        """
        answer = self.ask(f"sw_signal_job '{self.mark}' {self.since} {signal}").strip()
        if answer == "refused":
            raise PermissionError(errno.EPERM, "the foreground job is another user's", self.name)
        self._see(answer, "signal the foreground job of a terminal")

    def echo(self, on: bool | None = None) -> bool:
        """Return whether the terminal shows what is typed, after it was switched, if it was.

        Raises:
            ProcessLookupError: nothing is at the terminal.
            Unsupported: the sandbox does not show it, or has no ``stty``.
            EnvironmentUnavailable: the sandbox is gone.
        """
        wanted = {None: "", True: "on", False: "off"}[on]
        answer = self.ask(f"sw_echoes '{self.mark}' {self.since} {wanted}").strip()
        self._see(answer, "see or set the echo of a terminal")
        return answer == "on"

    def _see(self, answer: str, what: str) -> None:
        if answer == "none":
            raise ProcessLookupError(errno.ESRCH, "nothing is at the terminal any more", self.name)
        if answer not in ("sent", "on", "off"):
            raise Unsupported(what, self.kind, "that needs its terminals in /proc, and stty, in the sandbox")
