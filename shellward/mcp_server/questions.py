"""A question of the gate as a form that an MCP client shows, and what its answer means. No connection is made here."""

from typing import TYPE_CHECKING, Any, Final

from shellward.approval.context import Answer, ApprovalRequest, Scope
from shellward.approval.show import escape, pieces, safe

if TYPE_CHECKING:
    from mcp_types import ElicitResult

FIELD: Final = "decision"
DENY: Final = "deny"
_EXACT: Final[dict[str, Scope]] = {
    "allow once": "once",
    "allow for this session": "session",
    "allow always": "always",
}
_SIMILAR: Final[dict[str, Scope]] = {
    "allow similar for this session": "session",
    "allow similar always": "always",
}
_MOST_TEXT: Final = 12_000
"""Characters of a command that are shown."""
_MOST_FINDINGS: Final = 10
_MOST_AFFECTED: Final = 20
_MOST_SAID: Final = 500


def message(request: ApprovalRequest) -> str:
    """Return the question in plain text: nothing in it can draw, and secrets are masked."""
    context = request.context
    where = " ".join(filter(None, (context.backend, safe(context.target))))
    worst = sorted(request.findings, key=lambda finding: -finding.severity)
    lines = ["A command needs your approval:", "", *_command(request), ""]
    for finding in worst[:_MOST_FINDINGS]:
        lines.append(f"{finding.severity.name.lower()}: {escape(finding.description)} ({escape(finding.rule)})")
        if finding.inner and finding.inner.strip() != request.command.strip():
            lines.append(f"  runs: {safe(finding.inner[:_MOST_SAID])}")
        if finding.via:
            lines.append(f"  through: {safe(' '.join(finding.via))[:_MOST_SAID]}")
        if finding.affects:
            lines.append(f"  affects: {', '.join(safe(each) for each in finding.affects[:_MOST_AFFECTED])}")
        if finding.why:
            lines.append(f"  why: {escape(finding.why)}")
    if len(worst) > _MOST_FINDINGS:
        lines.append(f"and {len(worst) - _MOST_FINDINGS} more findings")
    lines.append(f"in: {where}{f', {safe(context.cwd)}' if context.cwd else ''}")
    lines.append(f"reaches: {', '.join(request.reach) or 'nothing outside'}")
    if context.reason:
        lines.append(f'the agent says: "{safe(context.reason[:_MOST_SAID])}"')
    return "\n".join(lines)


def form(request: ApprovalRequest) -> dict[str, Any]:
    """Return the schema of the answer: one choice, and who only confirms has chosen to deny."""
    remembered = f"For this session and always remember: {safe(request.exact)}" if request.exact else ""
    shared = "The session is that of the server's task, which all its clients share"
    similar = f"Similar: {safe(request.part)}" if request.part else ""
    about = ". ".join(filter(None, (remembered[:_MOST_SAID], similar[:_MOST_SAID], shared)))
    choice: dict[str, Any] = {
        "type": "string",
        "title": "Decision",
        "enum": [DENY, *_choices(request)],
        "description": about,
    }
    return {"type": "object", "properties": {FIELD: choice}, "required": [FIELD]}


def answer_of(result: "ElicitResult", request: ApprovalRequest, by: str) -> Answer:
    """Return what a client's answer means. What is not understood is no approval."""
    if result.action == "decline":
        return Answer("deny", by=by)
    if result.action != "accept":
        return Answer("nobody", note="the question was dismissed")
    said = (result.content or {}).get(FIELD)
    if said == DENY:
        return Answer("deny", by=by)
    scope = _choices(request).get(said) if isinstance(said, str) else None
    if scope is None:
        return Answer("nobody", note="the client's answer was none of the choices")
    return Answer("allow", scope, part=said in _SIMILAR, by=by)


def _choices(request: ApprovalRequest) -> dict[str, Scope]:
    return {**_EXACT, **_SIMILAR} if request.part else _EXACT


def _command(request: ApprovalRequest) -> list[str]:
    text = "".join(piece.text for piece in pieces(request.command, ()))
    if len(text) > _MOST_TEXT:
        half = _MOST_TEXT // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n<{left_out} characters are not shown: deny it if you do not know them>\n{text[-half:]}"
    return [f"    {line}" for line in text.split("\n")]
