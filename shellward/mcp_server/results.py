"""What a tool has answered, as MCP gives it to the client; with what has happened in the background meanwhile."""

from typing import Any, Final

import msgspec
from mcp_types import CallToolResult, TextContent

from shellward.approval.show import safe
from shellward.process_registry.records import Notice, NoticeKind
from shellward.terminal_tool import next_notice
from shellward.tools import answers

_MOST_NOTICES: Final = 20
_ELSEWHERE: Final = (
    "this client has no way to ask its user; a person who keeps `shellward approvals watch` open in another terminal "
    "is asked there when you try again"
)


def failed(message: str) -> CallToolResult:
    """Return a result that says what went wrong."""
    return result_of(answers.error(message), asks=True)


def result_of(text: str, *, asks: bool) -> CallToolResult:
    """Return a tool's answer.

    Args:
        text: JSON, as ``handle_function_call`` returns it.
        asks: whether the client's user could be asked.
    """
    value = msgspec.json.decode(text)
    if not asks and _nobody(value):
        value["hint"] = _ELSEWHERE
        text = answers.encode(value)
    failed = isinstance(value, dict) and isinstance(value.get("error"), str) and bool(value["error"])
    content = [TextContent(text=text), *(TextContent(text=each) for each in notices())]
    return CallToolResult(
        content=list(content), structured_content=value if isinstance(value, dict) else None, is_error=failed
    )


def notices() -> list[str]:
    """Return what is to be told of processes in the background, each once."""
    said: list[str] = []
    while len(said) < _MOST_NOTICES and (notice := next_notice(0)) is not None:
        said.append(_line(notice))
    return said


def _line(notice: Notice) -> str:
    if notice.kind is NoticeKind.ENDED:
        info = notice.entry.info
        status = f"exit code {info.exit_code}" if info.exit_code is not None else info.reason or info.state.value
        return f"background process {notice.id} has ended: {status}"
    if notice.kind is NoticeKind.NOISY:
        return f"background process {notice.id} prints {safe(notice.pattern)!r} too often; only its end is told of now"
    return f"background process {notice.id} has printed: {safe(notice.text)}"


def _nobody(value: Any) -> bool:
    """Whether a call was refused because nobody could be asked."""
    if not isinstance(value, dict) or value.get("status") != "denied":
        return False
    approval = value.get("approval")
    return isinstance(approval, dict) and approval.get("decided_by") == "nobody"
