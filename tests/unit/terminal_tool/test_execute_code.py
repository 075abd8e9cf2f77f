"""``execute_code``: a script in the sandbox that calls tools, within limits, behind hooks and gate."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tooling import KINDS, Tools

import shellward.terminal_tool.tools as package
from shellward.config.schema import ToolsSection
from shellward.terminal_tool import interrupt
from shellward.tools.discovery import load_package
from shellward.tools.hooks import Block
from shellward.tools.registry import Registry, registry
from shellward.tools.runtime import ToolRuntime
from shellward.tools.tool import Origin, Session

pytestmark = pytest.mark.xdist_group("test_execute_code")  # they look for what is left in /tmp
NAMES = frozenset({"terminal", "process", "read_file", "write_file", "patch", "search_files"})


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert load_package(package.__name__, registry, Origin.CORE) == []


@pytest.fixture
def runtime() -> ToolRuntime:
    return ToolRuntime(registry, settings=ToolsSection())


def script(tools: Tools, runtime: ToolRuntime, code: str, *, toolsets: tuple[str, ...] = ("coding",), **more: object):
    arguments = {"code": code, **more}
    return json.loads(
        runtime.handle_function_call("execute_code", arguments, task_id=tools.task, enabled_toolsets=toolsets)
    )


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_tools_of_the_same_task(tools: Tools, runtime: ToolRuntime) -> None:
    tools.terminal("export TMPDIR=$(mktemp -d)")  # others have scripts in /tmp
    said = script(
        tools,
        runtime,
        """
import os, sys
assert os.path.dirname(os.path.dirname(__file__)) == os.environ["TMPDIR"]
from shellward_tools import patch, process, read_file, search_files, terminal, write_file
write_file("x.txt", "one\\ntwo\\n")
patch(path="x.txt", old_string="two", new_string="2 €")
print(read_file("x.txt")["content"])
print(search_files("one")["matches"][0]["line"])
terminal("mkdir -p sub; cd sub; A=1")
print(terminal("echo $A; basename $PWD")["output"], file=sys.stderr)
print(process("list")["count"], terminal("exit 3")["exit_code"])
""",
    )
    assert said["output"] == "1|one\n2|2 €\n1\n1\nsub\n\n0 3\n"
    assert (said["exit_code"], said["error"], said["tool_calls"]) == (0, None, 8)
    # What the script has told the session holds after it.
    assert tools.terminal("echo $A; basename $PWD")["output"] == "1\nsub\n"
    assert tools.terminal("ls -A $TMPDIR; rmdir $TMPDIR")["output"] == ""


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_ends_of_scripts(tools: Tools, runtime: ToolRuntime) -> None:
    assert script(tools, runtime, "raise SystemExit(4)")["exit_code"] == 4
    failed = script(tools, runtime, "x = 1\nx.nothing")
    assert failed["exit_code"] == 1
    assert "AttributeError" in failed["output"]
    assert "SyntaxError" in script(tools, runtime, "def (")["output"]
    long = script(tools, runtime, "for n in range(30000): print(n)")
    assert long["truncated"]
    assert len(long["output"]) < 60_000
    assert tools.read_file(long["full_output"], offset=30_000)["content"] == "30000|29999"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_time_is_limited(tools: Tools, runtime: ToolRuntime) -> None:
    said = script(
        tools,
        runtime,
        "import subprocess, time\nsubprocess.Popen(['setsid', 'sleep', '4716.5'])\nprint('begun')\ntime.sleep(60)",
        timeout=1,
    )
    assert (said["status"], said["exit_code"], said["output"]) == ("timed out", 124, "begun\n")
    assert tools.gone("4716.5")
    inside = script(tools, runtime, "from shellward_tools import *\nterminal('sleep 4717.5')", timeout=1)
    assert inside["status"] == "timed out"
    assert tools.gone("4717.5")
    assert tools.terminal("echo on")["output"] == "on\n"


def test_calls_are_limited(tools: Tools, runtime: ToolRuntime) -> None:
    said = script(
        tools, runtime, "from shellward_tools import *\nfor n in range(52): last = terminal('echo %d' % n)\nprint(last)"
    )
    assert said["tool_calls"] == 52
    assert "50 times" in said["output"]


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_interrupt_ends_script_and_calls(tools: Tools, runtime: ToolRuntime) -> None:
    with ThreadPoolExecutor() as pool:
        code = "from shellward_tools import *\nterminal('sleep 4718.5')"
        running = pool.submit(script, tools, runtime, code)
        until = time.monotonic() + 20
        while not tools.running("4718.5") and time.monotonic() < until:
            time.sleep(0.05)
        assert interrupt(tools.task)
        assert running.result(20)["status"] == "interrupted"
    assert tools.gone("4718.5")


def test_only_what_the_session_has_can_be_called(tools: Tools, runtime: ToolRuntime) -> None:
    code = """
import shellward_tools as tools
print(sorted(n for n in dir(tools) if n in ("terminal", "read_file", "write_file")))
print(tools._call("terminal", {"command": "echo hi"})["error"])
print(tools._call("execute_code", {"code": "1"})["error"])
"""
    said = script(tools, runtime, code, toolsets=("code_execution", "reading"))
    names, terminal, itself = said["output"].splitlines()
    assert names == "['read_file']"
    assert "cannot call this" in terminal
    assert "cannot call this" in itself


def test_hooks_and_gate_see_each_call(tools: Tools, runtime: ToolRuntime) -> None:
    seen = []

    def hook(call: object) -> Block | None:
        seen.append(call.name)
        return Block("not this one") if call.name == "write_file" else None

    runtime.hooks.add("pre_tool_call", hook)
    said = script(
        tools,
        runtime,
        """
from hermes_tools import terminal, write_file
print(write_file("x", "y")["error"])
print(terminal("git push --force origin main")["status"])
""",
    )
    assert said["output"] == "write_file was refused: not this one\ndenied\n"
    assert seen == ["execute_code", "write_file", "terminal"]


def test_the_script_itself_passes_the_gate(tools: Tools, runtime: ToolRuntime) -> None:
    said = script(tools, runtime, "import os\nos.system('git push --force origin main')")
    assert (said["status"], said["output"]) == ("denied", "")


def test_nonsense_from_the_sandbox(tools: Tools, runtime: ToolRuntime) -> None:
    """The script can write into the FIFO what it likes."""
    said = script(
        tools,
        runtime,
        """
import os, shellward_tools as tools
tools.terminal("true")
calls, answers = tools._open
ugly = [b"nonsense", b"[]", b"{}", b'{"name": 1, "args": {}}', b"\\xff\\0", b"[" * 100000]
for line in [*ugly, b'{"name": "terminal", "args": 7}']:
    calls.write(line + b"\\n")
    calls.flush()
    print("error" in answers.readline().decode())
print(tools.terminal("echo on")["output"])
if os.fork() == 0:
    try:
        tools.terminal("true")
    except RuntimeError:
        print("refused")
    os._exit(0)
os.wait()
""",
    )
    assert said["output"] == "True\n" * 7 + "on\n\nrefused\n"


@pytest.mark.parametrize("timeout", [0, -1, 1e9])
def test_ugly_arguments(tools: Tools, timeout: float) -> None:
    assert "timeout" in tools.execute_code("1", timeout=timeout, session=Session(NAMES, str))["error"]


@pytest.mark.docker
@pytest.mark.parametrize("tools", ["busybox"], indirect=True)
def test_without_python(tools: Tools, runtime: ToolRuntime) -> None:
    assert "no python3" in script(tools, runtime, "print(1)")["error"]


def test_several_scripts_have_their_turns(tools: Tools, runtime: ToolRuntime) -> None:
    tools.write_file("n", "0")
    code = """
from shellward_tools import *
n = int(read_file("n")["content"].partition("|")[2])
write_file("n", str(n + 1))
"""
    threads = [threading.Thread(target=script, args=(tools, runtime, code)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert tools.read_file("n")["content"] == "1|5"


def test_the_schema_lists_what_is_there(runtime: ToolRuntime) -> None:
    def described(*toolsets: str) -> str:
        (found,) = (
            each["function"]["description"]
            for each in runtime.get_tool_definitions(toolsets, quiet_mode=True)
            if each["function"]["name"] == "execute_code"
        )
        return found

    assert "write_file(path, content, reason=None)" in described("coding")
    assert "write_file" not in described("code_execution", "reading")
    assert "None of the tools" in described("code_execution")


def test_every_tool_registers_itself(tmp_path: Path) -> None:
    """As the entry point does: the package's modules are found by their syntax trees."""
    fresh = Registry()
    assert load_package("shellward.tools.builtin", fresh, Origin.CORE) == []
    del tmp_path
    assert {"execute_code", *NAMES} <= set(registry.names())
    assert {registry.tools()[name].origin for name in NAMES} == {Origin.CORE}


def test_the_entry_point_is_declared() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert package.__name__ in project["entry-points"]["shellward.tools"].values()
