"""A question of the gate as a form that an MCP client shows, and what its answer means. No connection is made here."""

from typing import TYPE_CHECKING, Any, Final

from shellward.approval import keys
from shellward.approval.context import Answer, ApprovalRequest
from shellward.approval.plainly import deed, unlike_others
from shellward.approval.show import escape, pieces, safe

if TYPE_CHECKING:
    from mcp_types import ElicitResult

FIELD: Final = "decision"
CONFIRM: Final = "confirm"
_MOST_TEXT: Final = 12_000
"""Characters of a command that are shown."""
_MOST_FINDINGS: Final = 10
_MOST_AFFECTED: Final = 20
_MOST_SAID: Final = 500
_MOST_COVERED: Final = 2_000
"""Characters of what an approval would cover that are shown."""


def message(request: ApprovalRequest) -> str:
    """Return the question in plain text: nothing in it can draw, and secrets are masked."""
    context = request.context
    where = " ".join(filter(None, (context.backend, safe(context.target))))
    worst = sorted(request.findings, key=lambda finding: -finding.severity)
    lines = ["A command needs your approval:", "", *_command(request), ""]
    for finding in worst[:_MOST_FINDINGS]:
        lines.append(f"{finding.severity.name.lower()}: {escape(finding.description)} ({escape(finding.rule)})")
        runs = deed(finding).strip()
        if runs and runs != request.command.strip():
            lines.append(f"  runs: {_first(runs)}")
        if finding.via:
            lines.append(f"  through: {_first(' '.join(finding.via))}")
        if finding.affects:
            more = len(finding.affects) - _MOST_AFFECTED
            affects = ", ".join(safe(each) for each in finding.affects[:_MOST_AFFECTED])
            lines.append(f"  affects: {affects}{f', and {more} more' if more > 0 else ''}")
        if finding.why:
            lines.append(f"  why: {escape(finding.why)}")
    if len(worst) > _MOST_FINDINGS:
        lines.append(f"and {len(worst) - _MOST_FINDINGS} more findings")
    lines.append(f"in: {where}{f', {safe(context.cwd)}' if context.cwd else ''}")
    if unusual := unlike_others(context.backend, request.reach):
        lines.append(f"reaches: {unusual}")
    if context.reason:
        lines.append(f'the agent says: "{_first(context.reason)}"')
    return "\n".join(lines)


def _first(text: str) -> str:
    """Return the beginning of a text, safe to show, and how much was cut; secrets are masked before it is."""
    shown = safe(text)
    cut = len(shown) - _MOST_SAID
    return f"{shown[:_MOST_SAID]} <{cut} characters more>" if cut > 0 else shown


def form(request: ApprovalRequest) -> dict[str, Any]:
    """Return the schema of the answer: one choice, which is denial for who only confirms the form.

    The choices are those of the terminal. One that allows more than this once counts only with a second field, beside
    which stands what it covers.
    """
    shared = "The session is that of the server's task, which all its clients share"
    decision: dict[str, Any] = {
        "type": "string",
        "title": "Decision",
        "enum": [choice.name for choice in keys.offered(request)],
        "description": shared,
    }
    about = [f"'This command' is {safe(request.exact)}"] if request.exact else []
    about += [f"'this part' is {safe(request.part)}"] if request.part else []
    confirm: dict[str, Any] = {
        "type": "boolean",
        "title": "Sure? Needed to allow more than once",
        "description": "; ".join(each if len(each) <= _MOST_COVERED else _cut(each) for each in about),
        "default": False,
    }
    return {"type": "object", "properties": {FIELD: decision, CONFIRM: confirm}, "required": [FIELD]}


def answer_of(result: "ElicitResult", request: ApprovalRequest, by: str) -> Answer:
    """Return what a client's answer means. What is not understood, or not confirmed, is no approval."""
    if result.action == "decline":
        return keys.DENY.answer(by)
    if result.action != "accept":
        return Answer("nobody", note="the question was dismissed")
    said = result.content or {}
    choice = keys.by_name(said.get(FIELD), request)
    if choice is None:
        return Answer("nobody", note="the client's answer was none of the choices")
    if choice.wide and said.get(CONFIRM) is not True:
        return Answer("nobody", note=f"'{choice.name}' was not confirmed")
    return choice.answer(by)


def _cut(text: str) -> str:
    half = _MOST_COVERED // 2
    return f"{text[:half]} <{len(text) - 2 * half} characters are not shown> {text[-half:]}"


def _command(request: ApprovalRequest) -> list[str]:
    text = "".join(piece.text for piece in pieces(request.command, ()))
    if len(text) > _MOST_TEXT:
        half = _MOST_TEXT // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]}\n<{left_out} characters are not shown: deny it if you do not know them>\n{text[-half:]}"
    return [f"    {line}" for line in text.split("\n")]
