"""``shellward hook``: the gate as a PreToolUse hook of Claude Code and Codex.

Both run a hook with one JSON object on standard input and read one from standard output. Sources:

* Claude Code hooks reference (code.claude.com/docs/en/hooks): ``hookSpecificOutput`` with ``hookEventName``,
  ``permissionDecision`` (allow, deny, ask) and ``permissionDecisionReason``; exit status 2 blocks and hands
  standard error to the model; every other failure lets the tool run.
* Codex (github.com/openai/codex, codex-rs/hooks: schema/generated/pre-tool-use.command.*.schema.json and
  src/engine/output_parser.rs): the same shape, but only ``deny`` is obeyed. ``ask`` and a bare ``allow`` are
  reported as unsupported *and the tool runs* (openai/codex issues 28437, 21753), so neither is ever sent:
  silence allows, and what would have to be asked is denied.

Both fail open, so every failure in here ends with status 2. Where the gate has no objection the answer is
silence: the agent's own permission rules go on to apply. ``permissionDecision: allow`` would switch them off.
"""

import re
import sys
import time
from typing import Any, Final

import click
import msgspec

from shellward.approval.show import safe
from shellward.cli.say import OK, say
from shellward.core.gate import Decision, Verdict

BLOCK: Final = 2
"""Exit status with which both agents refuse the tool call and show standard error to the model."""
_SHELL_TOOL: Final = re.compile(
    r"(?:^|[_\W])(?:bash|shell|sh|exec|execute|run_command|terminal|powershell)(?:$|[_\W])", re.IGNORECASE
)
_ALWAYS_COMMANDS: Final = frozenset({"Bash", "bash", "shell", "local_shell", "exec_command"})
_COMMANDS: Final = ("command", "cmd", "script", "commandLine", "command_line", "shell_command")
"""Arguments of tools that hold what a shell is to run; where there are several, all of them count."""
_RECENT: Final = 3600.0
"""Seconds: a file that changed so lately may be the agent's, so what it holds is judged when it is run."""
_MAX_INPUT: Final = 16 * 2**20
_WAIT: Final = 45.0
"""Seconds to wait for a person who watches the queue; agents give up after 60, and then run the tool."""


class _NotUnderstoodError(Exception):
    """The input is not what an agent sends."""


@click.command(
    "hook",
    epilog="""\b
Examples:
  shellward hook <payload.json
  shellward hook --agent codex
""",
)
@click.option("--agent", type=click.Choice(["auto", "claude", "codex"]), default="auto", help="Who calls.")
def command(agent: str) -> int:
    """Answer a PreToolUse hook: JSON on standard input, the agent's kind of answer on standard output."""
    try:
        answer = _answer(sys.stdin.buffer.read(_MAX_INPUT + 1), agent)
        if answer is not None:
            click.echo(msgspec.json.encode(answer).decode())
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  # agents run the tool when a hook fails: never let that happen
        say(f"not run: {safe(str(error))}")
        return BLOCK
    return OK


def _answer(data: bytes, agent: str) -> dict[str, Any] | None:
    payload = _payload(data)
    if _is_about_something_else(payload):
        return None
    text = shell_command(payload)
    if text is None:
        return None
    codex = agent == "codex" or (agent == "auto" and ("turn_id" in payload or "model" in payload))
    decision = _decide(text, payload, wait=codex)
    if decision.verdict is Verdict.ALLOW:
        return None
    asks = decision.verdict is Verdict.ASK and not codex
    from shellward.approval.advice import for_agent  # most calls are allowed, and are not kept waiting for it

    reason = for_agent(decision)
    if decision.verdict is Verdict.ASK and codex:
        reason += ". Ask the user; `shellward check` says which rule would allow it."
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask" if asks else "deny",
            "permissionDecisionReason": f"Shellward: {reason}",
        }
    }


def _payload(data: bytes) -> dict[str, Any]:
    if len(data) > _MAX_INPUT:
        raise _NotUnderstoodError("the hook's input is too long")
    try:
        payload = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise _NotUnderstoodError("the hook's input is not JSON") from None
    if not isinstance(payload, dict):
        raise _NotUnderstoodError("the hook's input is not an object")
    return payload


def _is_about_something_else(payload: dict[str, Any]) -> bool:
    """Whether this is another event, in which no tool is about to be called."""
    event = payload.get("hook_event_name", "PreToolUse")
    if not isinstance(event, str):
        raise _NotUnderstoodError("the name of the hook's event is no text")
    if event == "PreToolUse":
        return False
    if "tool_name" not in payload or event.startswith("PostToolUse"):
        return True
    raise _NotUnderstoodError(f"{event}: a tool is named in an event that is not known")


def shell_command(payload: dict[str, Any]) -> str | None:
    """Return the command line of a shell tool's call; None for other tools.

    Raises:
        _NotUnderstoodError: no tool is named, or it is a shell tool, but there is no command to judge.
    """
    tool, given = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool, str) or not tool.strip():
        raise _NotUnderstoodError("the call names no tool")
    if not _SHELL_TOOL.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool)):
        return None
    if not isinstance(given, dict):
        raise _NotUnderstoodError(f"the call of {tool} has no arguments that can be read")
    values = [given[name] for name in _COMMANDS if name in given]
    value = values[0] if values else None
    if len(values) > 1:
        if not all(isinstance(each, str) for each in values):
            raise _NotUnderstoodError(f"the call of {tool} holds several commands")
        return "\n".join(values)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        import shlex

        return shlex.join(value)
    if value is None and tool not in _ALWAYS_COMMANDS:
        return None  # a tool beside a shell (BashOutput): it reads what runs
    if not isinstance(value, str):
        raise _NotUnderstoodError(f"the call of {tool} holds no command")
    return value


def _decide(text: str, payload: dict[str, Any], *, wait: bool) -> Decision:
    from shellward.approval.context import Context
    from shellward.approval.gatekeeper import Gate, open_gate
    from shellward.config import load
    from shellward.terminal_tool.places import seen_here

    cwd, session, given = payload.get("cwd"), payload.get("session_id"), payload.get("tool_input")
    reason = given.get("description") if isinstance(given, dict) else None
    context = Context(
        cwd=cwd if isinstance(cwd, str) else None,
        session=session if isinstance(session, str) else "",
        reason=reason if isinstance(reason, str) else "",
    )
    loaded = load()
    gate: Gate = open_gate(loaded, terminal=False)
    try:
        found = seen_here(gate.find(text, context), context.cwd, gate.packs, since=time.time() - _RECENT)
        if not wait or not gate.somebody_watches():
            return gate.judge(found, context)
        return gate.decide(found, context, timeout=min(_WAIT, loaded.config.approval.timeout))
    finally:
        gate.close()
