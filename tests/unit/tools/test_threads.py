"""Fifty threads register, list, search and call at once."""

import json
import random
import threading

from shellward.config.schema import ToolSearchSection, ToolsSection
from shellward.tools.registry import Registry
from shellward.tools.runtime import ToolRuntime
from shellward.tools.tool import ToolSpec

THREADS = 50
ROUNDS = 30


def mixed(runtime: ToolRuntime, what: int, spec: ToolSpec, number: int) -> list[str]:
    """Do one of four things that change or look at what others see; returns what went wrong."""
    if what == 0:
        runtime.registry.replace_toolset(f"mcp-{number}", [spec])
        found = json.loads(runtime.handle_function_call("tool_call", {"name": spec.name, "arguments": {"n": number}}))
        return [] if found == [number, None] else [f"{spec.name}: {found}"]
    if what == 1:
        runtime.registry.deregister_toolset(f"mcp-{number}")
        found = json.loads(runtime.handle_function_call(spec.name, {"n": 1}))
        return [] if "error" in found else [f"{spec.name} was called after it had gone"]
    if what == 2:
        found = json.loads(runtime.handle_function_call("tool_search", {"query": f"server {number}"}))
        return [] if "tools" in found or "not in use" in found["error"] else [str(found)]
    runtime.get_tool_definitions()
    return []


def test_fifty_at_once_lose_and_mix_nothing(tmp_path) -> None:
    runtime = ToolRuntime(Registry(), settings=ToolsSection(tool_search=ToolSearchSection(enabled="on")))
    asked = []
    problems: list[str] = []
    begin = threading.Barrier(THREADS)

    def echo(args, task_id=None):
        return json.dumps([args["n"], task_id])

    schema = {"description": "Echo", "parameters": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}

    def work(number: int) -> None:
        mine = f"tool_{number}"
        spec = ToolSpec(name=f"server_{number}", schema=schema, handler=echo)
        choose = random.Random(number)
        begin.wait(30)
        runtime.registry.register(mine, f"set_{number}", schema, echo, check_fn=lambda: asked.append(1) or True)
        for step in range(ROUNDS):
            value = number * 1000 + step
            answer = json.loads(runtime.handle_function_call(mine, {"n": str(value)}, task_id=mine))
            if answer != [value, mine]:
                problems.append(f"{mine}: {answer}")
            listed = [each["function"]["name"] for each in runtime.get_tool_definitions([f"set_{number}"])]
            if listed != [mine]:
                problems.append(f"{mine}: listed {listed}")
            problems.extend(mixed(runtime, choose.randrange(4), spec, number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(110)
    assert not any(each.is_alive() for each in threads)
    assert problems == []
    assert {f"tool_{number}" for number in range(THREADS)} <= set(runtime.registry.names())
    assert len(asked) == THREADS
