"""Requests as text for the queue's database: secrets masked, and nothing that UTF-8 cannot hold."""

from typing import Any

import msgspec

from shellward.approval.context import ApprovalRequest, Context
from shellward.core.gate import Finding, Severity
from shellward.telemetry.masking import mask


class _Finding(msgspec.Struct, omit_defaults=True):
    rule: str
    description: str
    severity: int
    span: tuple[int, int]
    inner: str
    affects: tuple[str, ...]
    why: str
    via: tuple[str, ...] = ()
    cwd: str = ""


class _Row(msgspec.Struct, omit_defaults=True):
    id: str
    command: str
    normalized: str
    findings: tuple[_Finding, ...]
    context: dict[str, Any]
    reach: tuple[str, ...]
    exact: str
    part: str
    timeout: float


def encode(request: ApprovalRequest) -> str:
    """Return a request as JSON. Spans are given up where masking moved the text under them."""
    command = clean(request.command)
    moved = command != request.command
    findings = tuple(
        _Finding(
            f.rule,
            clean(f.description),
            int(f.severity),
            (0, 0) if moved else f.span,
            clean(f.inner),
            tuple(map(clean, f.affects)),
            clean(f.why),
            f.via,
            clean(f.cwd),
        )
        for f in request.findings
    )
    row = _Row(
        request.id,
        command,
        clean(request.normalized),
        findings,
        {name: clean(str(value)) for name, value in request.context.record().items()},
        request.reach,
        clean(request.exact),
        clean(request.part),
        request.timeout,
    )
    return msgspec.json.encode(row).decode()


def decode(text: str) -> ApprovalRequest:
    """Return the request that ``encode`` wrote."""
    row = msgspec.json.decode(text, type=_Row)
    return ApprovalRequest(
        id=row.id,
        command=row.command,
        normalized=row.normalized,
        findings=tuple(
            Finding(
                f.rule,
                f.description,
                Severity(f.severity),
                f.span,
                f.inner,
                f.affects,
                f.why,
                via=f.via,
                cwd=f.cwd,
            )
            for f in row.findings
        ),
        context=Context(**row.context),
        reach=row.reach,
        exact=row.exact,
        part=row.part,
        timeout=row.timeout,
    )


def clean(text: str) -> str:
    """Mask secrets, and write lone surrogates (bytes that were not UTF-8) as their codes."""
    return mask(text).encode("utf-8", "backslashreplace").decode()
