"""``execute_code``: a Python script in a task's sandbox, which calls tools like any function.

So a model can call tools in a loop and see only what it prints. Each of these calls passes the session's toolsets, its
hooks and the gate, as if the model had made it.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from shellward.core.errors import ApprovalDenied, ConfigError, EnvironmentUnavailable
from shellward.terminal_tool import telling
from shellward.terminal_tool.default import tasks
from shellward.terminal_tool.hearing import ON_OUTPUT
from shellward.terminal_tool.judge import WHY
from shellward.terminal_tool.rpc import Server
from shellward.terminal_tool.stubs import ALIAS, ANSWERS, CALLS, MODULE, module, signature
from shellward.tools.registry import registry
from shellward.tools.tool import Session

if TYPE_CHECKING:
    from shellward.approval.withdrawal import Withdrawal
    from shellward.core.types import Result
    from shellward.environments.stream import Stream
    from shellward.terminal_tool.guard import Terminal
    from shellward.terminal_tool.tasks import Task

PERMITTED: Final = ("patch", "process", "read_file", "read_result", "search_files", "terminal", "write_file")
"""What a script may call, as far as its session has it."""
TIMEOUT: Final = 300.0
MOST_CALLS: Final = 50
_LONGEST: Final = 3_600.0
_OUTPUT: Final = 50_000
_NO_PYTHON: Final = 127
_MAKE: Final = (
    f'umask 077; d=$(mktemp -d "${{TMPDIR:-/tmp}}/shellward-code.XXXXXX") && mkfifo "$d/{CALLS}" "$d/{ANSWERS}" &&'
    ' printf %s "$d"'
)


@telling.command_answers
def execute_code(  # noqa: PLR0917  # as the other tools
    code: str,
    timeout: float | None = None,
    task_id: str | None = None,
    session: Session | None = None,
    reason: str | None = None,
    goal: str | None = None,
) -> dict[str, Any]:
    """Run a Python script in a task's environment; ``from shellward_tools import terminal, read_file`` gives it tools.

    Args:
        code: the script.
        timeout: seconds; then it is ended, with all that it has started. None: 300.
        task_id: in whose environment; None: that of the default task.
        session: what it may call; None: all that this program has of what scripts may call.
        reason: why the agent wants it; shown to whoever is asked.
        goal: what the user asked for; likewise.

    Returns:
        JSON: ``output``, ``exit_code``, ``error``, ``tool_calls``, ``duration_seconds``; ``status`` when it did not end
        by itself.
    """
    limit = TIMEOUT if timeout is None else timeout
    if not 0 < limit <= _LONGEST:
        raise ConfigError(f"timeout: seconds, above 0 and up to {_LONGEST:g}, not {timeout!r}")
    session = session or _everything(task_id)
    with tasks.call(task_id) as (task, call):
        why = WHY.set((reason or "", goal or ""))
        try:
            # Alone, since it may change what others see; its own calls are part of its turn.
            with task.turns.turn(call, alone=True), task.turns.shared_with_calls():
                result, count = _run(task, code, limit, session, call)
        finally:
            WHY.reset(why)
        return telling.with_news(task, _told(task, result, count, limit))


def description(names: Collection[str]) -> str:
    """Return what a model is told of the tool, with the tools that a script may call now."""
    schemas = [schema for name in PERMITTED if name in names and (schema := registry.get_schema(name)) is not None]
    listed = "\n".join(f"  {schema['name']}({signature(schema)})" for schema in schemas)
    tools = (
        f" It can call tools, which return dicts, after `from {MODULE} import ...`:\n{listed}\n"
        "Use it for several calls with logic between them, when only what is printed matters."
        if schemas
        else " None of the tools that a script could call is available."
    )
    return (
        f"Run a Python script in the environment of this task; its output comes back. At most {TIMEOUT:g} seconds, "
        f"{MOST_CALLS} calls of tools, {_OUTPUT} characters of output.{tools}"
    )


def _everything(task_id: str | None) -> Session:
    from shellward.tools import get_tool_definitions, handle_function_call

    names = frozenset(each["function"]["name"] for each in get_tool_definitions(quiet_mode=True))
    return Session(names, lambda name, args: handle_function_call(name, args, task_id=task_id))


def _run(task: "Task", code: str, limit: float, session: Session, call: "Withdrawal") -> "tuple[Result, int]":
    terminal = task.terminal
    permitted = frozenset(PERMITTED) & session.tools
    folder = _folder(terminal)
    files = {"script.py": code, f"{MODULE}.py": _module(permitted), f"{ALIAS}.py": f"from {MODULE} import *\n"}
    try:
        for name, text in files.items():
            terminal.write_file(f"{folder}/{name}", text.encode("utf-8", "surrogateescape"))
        stream = terminal.stream(["python3", "-u", f"{folder}/script.py"], timeout=limit, merge_stderr=True)
        try:
            stream.set_aside()  # before it can call anything: the task's session is for the commands that it calls
            with Server(terminal, folder, session.call, permitted, MOST_CALLS) as server:
                try:
                    call.listen(lambda: _end(stream))
                    result = stream.wait(on_output=ON_OUTPUT.get())
                finally:
                    stream.close()
                    call.withdraw()  # what it has called and did not wait for
        finally:
            stream.close()
        assert result is not None  # noqa: S101  # without a limit of its own, wait ends with the script
        return result, server.count
    finally:
        _remove(terminal, folder, [*files, CALLS, ANSWERS])


def _end(stream: "Stream") -> None:
    stream.end()


def _folder(terminal: "Terminal") -> str:
    made = terminal.run(["sh", "-c", _MAKE])
    if made.exit_code or not made.stdout.startswith("/"):
        raise EnvironmentUnavailable(f"no directory for the script could be made: {made.stderr.strip()}")
    return made.stdout


def _module(permitted: Collection[str]) -> str:
    schemas = (registry.get_schema(name) for name in sorted(permitted))
    return module(schema for schema in schemas if schema is not None)


def _remove(terminal: "Terminal", folder: str, names: list[str]) -> None:
    paths = [f"{folder}/{name}" for name in names]
    with suppress(EnvironmentUnavailable, ApprovalDenied):  # it goes with the sandbox then
        terminal.run(["rm", "-rf", "--", *paths, f"{folder}/__pycache__"])
        terminal.run(["rmdir", "--", folder])


def _told(task: "Task", result: "Result", count: int, limit: float) -> dict[str, Any]:
    told: dict[str, Any] = {
        "output": telling.text_of(result.output),
        "exit_code": result.exit_code,
        "error": None,
        "tool_calls": count,
        "duration_seconds": round(result.duration, 2),
    }
    if result.timed_out:
        told |= {"status": "timed out", "error": f"it was ended after {limit:g} s, with all that it had started"}
    elif result.interrupted:
        told |= {"status": "interrupted", "error": "it was interrupted"}
    elif result.exit_code == _NO_PYTHON and "python3" in result.output:
        told["error"] = "there is no python3 in this environment"
    if result.truncated:
        told["truncated"] = True
        if result.full_output is not None:
            task.outputs.add(result.full_output)
            told["full_output"] = str(result.full_output)
    return told
