"""What the gate asks of a detector, and what stands for a command on which one failed."""

from typing import Protocol

from shellward.approval.context import UNREADABLE, Detected
from shellward.core.gate import Finding, Severity


class Detect(Protocol):
    """How a command line becomes findings: ``shellward.approval.detect_dangerous_command``."""

    def __call__(self, command: str, *, cwd: str | None = None) -> Detected:
        """Find what should pause an agent."""
        ...


class Unreadable:
    """What stands for a command on which the detector failed."""

    def __init__(self, command: str, error: Exception) -> None:
        self.command = self.normalized = command
        finding = Finding(
            UNREADABLE,
            f"the command could not be understood ({type(error).__name__})",
            Severity.HIGH,
            (0, len(command)),
            command,
            why="what is not understood may do anything",
        )
        self.findings = (finding,)
