"""The way in to detection: a command line goes in, findings come out. Pure, thread-safe, never executes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shellward.approval.engine import NO_PACKS, Packs, find
from shellward.approval.patterns import RULES
from shellward.approval.writes import Write, writes
from shellward.command.render import render
from shellward.core.cached import cached
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellward.approval.rule import Rule
    from shellward.command.trace import Trace

DANGEROUS_PATTERNS: list[Rule] = list(RULES)
"""The rules. Each item begins with a regular expression on the canonical form of one command, and a description."""


class Detection:
    """What was found in one command line. True when something of severity MEDIUM or above is there.

    Attributes:
        command: the text as submitted.
        findings: everything found, in order of the text; empty when there is nothing to say.

    Args:
        around: what stands before and after the traced line in ``command``.
        own: characters at the beginning of the traced line that only tell what lies in the file system.
    """

    def __init__(
        self,
        command: str,
        findings: tuple[Finding, ...],
        trace: Trace | None = None,
        around: tuple[str, str] = ("", ""),
        own: int = 0,
    ) -> None:
        self.command = command
        self.findings = findings
        self._trace = trace
        self._around = around
        self._own = own
        self._completed = False

    def __bool__(self) -> bool:
        return any(finding.severity >= Severity.MEDIUM for finding in self.findings)

    def __repr__(self) -> str:
        return f"Detection({self.command!r}, {[finding.rule for finding in self.findings]})"

    @property
    def trace(self) -> Trace | None:
        """What the line would run; None when it was not followed."""
        return self._trace

    @cached
    def normalized(self) -> str:
        """What the shell would really run, as stable text; approvals are keyed by it."""
        if self._trace is None:
            return self.command
        before, after = self._around
        return f"{before}{render(self._trace)}{after}"

    def only(self, findings: tuple[Finding, ...]) -> Detection:
        """Return the same with other findings."""
        made = Detection(self.command, findings, self._trace, self._around, self._own)
        made._completed = self._completed  # of the same class
        return made

    @cached
    def written(self) -> tuple[Write, ...]:
        """What the line would write, for ``Gate.complete``; empty when that was asked about already."""
        if self._trace is None or self._completed:
            return ()
        return writes(self._trace, self._own)

    def completed(self, more: tuple[Finding, ...]) -> Detection:
        """Return the same with what its writes reach; what is there already is not added again."""
        by = len(self._around[0])
        there = {(finding.rule, finding.span) for finding in self.findings}
        new = [replace(finding, span=(finding.span[0] + by, finding.span[1] + by)) for finding in more]
        made = self.only((*self.findings, *(one for one in new if (one.rule, one.span) not in there)))
        made._completed = True  # noqa: SLF001  # of the same class
        return made

    @property
    def never_allow(self) -> bool:
        """Whether nobody can approve this."""
        return any(finding.never_allow for finding in self.findings)

    def explain(self) -> str:
        """Say in a few lines what was found and why it matters; empty text when nothing was found."""
        lines: list[str] = []
        for finding in sorted(self.findings, key=lambda one: -one.severity):
            start, end = finding.span
            shown = self.command[start:end].strip()
            lines.append(f"{finding.severity.name}: {finding.description} [{finding.rule}]")
            if finding.inner:
                lines.append(f"    runs: {finding.inner}")
            if shown and shown != finding.inner:
                lines.append(f"    from: {shown if len(shown) <= 200 else shown[:200] + ' ..'}")
            if finding.affects:
                lines.append(f"    affects: {', '.join(finding.affects)}")
            if finding.why:
                lines.append(f"    {finding.why}" + (" Nobody can approve it." if finding.never_allow else ""))
        return "\n".join(lines)


def detect_dangerous_command(
    command: str, *, cwd: str | None = None, aliases: Mapping[str, str] | None = None, packs: Packs = NO_PACKS
) -> Detection:
    """Find what should pause an unattended agent in a command line.

    Args:
        command: a shell command line, of any length.
        cwd: working directory it would run in, when known (an absolute path).
        aliases: aliases of the shell it would run in, when known.
        packs: rules of the user's own, from ``shellward.approval.packs.load_packs``.

    Returns:
        The findings and the normalised command. Never raises on any text.
    """
    traced, findings = find(command, cwd, aliases, packs=packs)
    return Detection(command, findings, traced)
