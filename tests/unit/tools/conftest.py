"""A runtime of its own for each test, and tools to put in."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.tools import bridge
from shellward.tools.availability import Availability
from shellward.tools.registry import Registry
from shellward.tools.results import ResultStore
from shellward.tools.runtime import ToolRuntime

sys.path.insert(0, str(Path(__file__).parents[2] / "corpus" / "tools"))


@pytest.fixture(scope="session", autouse=True)
def the_loop_that_stays() -> None:
    """Open the main thread's loop before any test counts descriptors: it is there for the life of the process."""
    bridge.run(asyncio.sleep(0))


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runtime(clock: Clock, tmp_path: Path) -> ToolRuntime:
    registry = Registry(Availability(ttl=30.0, clock=clock))
    return ToolRuntime(registry, results=ResultStore(lambda: tmp_path / "results"))


@pytest.fixture
def add(runtime: ToolRuntime) -> Callable[..., bool]:
    """Register a tool that answers with what it was given."""

    def register(name: str, toolset: str = "demo", **more: object) -> bool:
        def echo(args, task_id=None, user_task=None):
            return json.dumps({"tool": name, "args": args, "task_id": task_id, "user_task": user_task})

        parameters = {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
        schema = more.pop("schema", {"description": f"Does {name}", "parameters": parameters})
        return runtime.registry.register(name, toolset, schema, more.pop("handler", echo), **more)

    return register


@pytest.fixture
def call(runtime: ToolRuntime) -> Callable[..., object]:
    """Call a tool and decode what comes back."""
    return lambda name, args=None, **more: json.loads(runtime.handle_function_call(name, args, **more))


@pytest.fixture
def names(runtime: ToolRuntime) -> Callable[..., list[str]]:
    return lambda *args, **more: [each["function"]["name"] for each in runtime.get_tool_definitions(*args, **more)]
