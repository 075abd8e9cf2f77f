"""The calls that others write against: their names, the order of their parameters and what these are by themselves."""

import inspect
from collections.abc import Callable

import pytest

from shellward.terminal_tool import cleanup_task, interrupt, process_tool, register_task_environment, terminal_tool
from shellward.terminal_tool.process import ACTIONS
from shellward.tools import get_tool_definitions, handle_function_call
from shellward.tools.agent_loop import AGENT_LOOP
from shellward.tools.registry import registry

TERMINAL = (
    "command, background=False, timeout=None, workdir=None, pty=False, task_id=None, notify_on_complete=False, "
    "watch_patterns=None, reason=None"
)


@pytest.mark.parametrize(
    ("function", "begins"),
    [
        (terminal_tool, TERMINAL),
        (process_tool, "action, session_id=None, data=None, offset=None, limit=None, timeout=None"),
        (register_task_environment, "task_id, kind, **config"),
        (cleanup_task, "task_id=None"),
        (interrupt, "task_id=None"),
        (registry.register, "name, toolset, schema, handler"),
        (get_tool_definitions, "enabled_toolsets=None, disabled_toolsets=None, quiet_mode=False"),
        (handle_function_call, "name, args=None"),
    ],
)
def test_parameters(function: Callable[..., object], begins: str) -> None:
    found = [_shown(each) for each in inspect.signature(function).parameters.values()]
    assert ", ".join(found[: begins.count(", ") + 1]) == begins


def _shown(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default}"


def test_what_is_given_by_name() -> None:
    registering = inspect.signature(registry.register).parameters
    assert {
        *("check_fn", "requires_env", "is_async", "description", "emoji", "max_result_size_chars"),
        *("dynamic_schema_overrides", "override"),
    } <= set(registering)
    calling = inspect.signature(handle_function_call).parameters
    assert {"task_id", "user_task", "enabled_toolsets", "disabled_toolsets"} <= set(calling)


def test_words() -> None:
    assert set(ACTIONS) == {"list", "poll", "log", "wait", "kill", "write", "submit", "close", "resize"}
    assert set(AGENT_LOOP) == {"todo", "memory", "session_search", "delegate_task"}
