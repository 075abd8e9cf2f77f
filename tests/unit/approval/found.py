"""A detection as tests need it: with findings of their own making, without a detector."""

from shellward.core.gate import Finding


class Found:
    """A detection with a normalised text of the test's choice."""

    def __init__(self, command: str, findings: tuple[Finding, ...] = (), normalized: str | None = None) -> None:
        self.command, self.findings = command, findings
        self.normalized = command if normalized is None else normalized

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Found) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.command, self.findings, self.normalized))
