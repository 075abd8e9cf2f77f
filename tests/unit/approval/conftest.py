"""Makers of findings and detections, so that the chain is tested without a detector."""

from collections.abc import Callable
from typing import Any

import pytest
from found import Found as Detection

from shellward.core.gate import Finding, Severity


def make_finding(rule: str = "files.rm-recursive", inner: str = "rm -rf /srv", **fields: Any) -> Finding:
    options = {
        "description": "recursive deletion",
        "severity": Severity.MEDIUM,
        "span": (0, len(inner)),
        "affects": ("/srv",),
        "why": "it cannot be undone",
        "cwd": "/a",
    } | fields
    return Finding(rule=rule, inner=inner, **options)


def make_detection(command: str = "rm -rf /srv", *findings: Finding, normalized: str | None = None) -> Detection:
    return Detection(command, findings, command if normalized is None else normalized)


@pytest.fixture
def finding() -> Callable[..., Finding]:
    return make_finding


@pytest.fixture
def detection() -> Callable[..., Detection]:
    return make_detection


@pytest.fixture
def detect() -> Callable[..., Detection]:
    """A detector that finds what tests need: one finding for each ``rm``, one that nobody may allow."""

    def detector(command: str, *, cwd: str | None = None) -> Detection:
        del cwd
        if "explode" in command:
            raise RecursionError("too deep")
        findings = []
        for part in command.split("; "):
            at = command.index(part)
            span = (at, at + len(part))
            if part == "rm -rf /":
                findings.append(make_finding("files.rm-root", part, span=span, never_allow=True))
            elif part.startswith("rm "):
                findings.append(make_finding(inner=part, span=span, affects=tuple(part.split()[2:])))
            elif part.startswith("low "):
                findings.append(make_finding("files.low", part, span=span, severity=Severity.LOW))
            elif part.startswith("worst "):
                findings.append(make_finding("disks.dd", part, span=span, severity=Severity.CRITICAL))
        return make_detection(command, *findings)

    return detector
