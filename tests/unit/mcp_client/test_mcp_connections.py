"""Connections to servers that are processes: what works, and every way in which a server can go wrong.

Most servers here are written without the SDK, which takes a second to import; those with it are in
``test_mcp_sdk_servers.py``.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp_hosting import Host, alive, children, plain, within

from shellward.config.schema import McpServer
from shellward.core.errors import install_line
from shellward.mcp_client.transports import Tail
from shellward.tools import Block

# So long nothing takes here; what waits for a limit waits for it.
LONG = 30.0


def test_tools_are_in_their_toolset_and_can_be_called(host: Host) -> None:
    host.connect(notes=plain())
    assert "mcp__notes__echo" in host.names("mcp-notes")
    assert host.call("mcp__notes__echo", {"text": "hi"}, task_id="t") == {"result": '{"text": "hi"}'}
    assert host.call("mcp__notes__echo", {"text": 5})["result"] == '{"text": "5"}'
    status = host.status("notes")
    assert (status.state, status.reason, status.protocol) == ("connected", "", "2025-11-25")
    assert "mcp__notes__run" in status.tools


def test_nothing_is_left_after_close(host: Host) -> None:
    before = children()
    host.connect(one=plain(), two=plain())
    assert len(children() - before) == 2
    left = int(host.call("mcp__one__offspring")["result"])
    assert alive(left)
    host.servers.close()
    assert children() == before
    assert not alive(left)
    assert host.names() == []
    assert [each.name for each in threading.enumerate() if each.name == "shellward-mcp"] == []
    host.servers.close()
    host.connect(one=plain())
    assert host.call("mcp__one__echo", {"text": "again"})["result"] == '{"text": "again"}'


@pytest.mark.slow
def test_a_server_that_does_not_want_to_end(host: Host) -> None:
    before = children()
    host.connect(deaf=plain("deaf"))
    assert host.names("mcp-deaf")
    host.servers.close()
    assert children() == before


@pytest.mark.slow
def test_a_large_result_goes_to_a_file(host: Host) -> None:
    host.connect(notes=plain())
    answer = host.call("mcp__notes__echo", {"text": "x" * 5_000_000})
    assert len(json.dumps(answer)) < 20_000


def test_a_server_gets_few_variables(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("NOTES_TOKEN", "t0ken")
    host.connect(notes=plain(env={"TOKEN": "${NOTES_TOKEN}", "PLAIN": "$NOTES_TOKEN"}))
    seen = json.loads(host.call("mcp__notes__variables")["result"])
    assert (seen["TOKEN"], seen["PLAIN"]) == ("t0ken", "$NOTES_TOKEN")
    known = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TOKEN", "PLAIN", "SHELLWARD_MCP_SERVER"}
    assert set(seen) - known <= {"LC_CTYPE"}  # Python sets that by itself in the C locale


def test_a_variable_that_is_not_set(host: Host) -> None:
    host.connect(notes=plain(env={"TOKEN": "${NO_SUCH_TOKEN}"}))
    status = host.status("notes")
    assert status.state == "failed"
    assert status.reason == "mcp_servers.notes.env: the variable NO_SUCH_TOKEN is not set"


def test_the_list_is_read_again_when_it_changes(host: Host) -> None:
    host.connect(notes=plain())
    assert "mcp__notes__fresh" not in host.names()
    host.call("mcp__notes__more", {"text": "fresh"})
    assert within(LONG, lambda: "mcp__notes__fresh" in host.names())
    assert host.call("mcp__notes__fresh", {"text": "x"})["result"] == '{"text": "x"}'


@pytest.mark.slow
def test_a_server_that_says_nothing(host: Host) -> None:
    before = children()
    began = time.monotonic()
    host.connect(silent=plain("mute", connect_timeout=1.0), notes=plain())
    assert time.monotonic() - began < LONG
    assert host.status("silent").state == "failed"
    assert host.status("silent").reason == "did not answer within 1 s"
    assert host.names("mcp-silent") == []
    assert host.names("mcp-notes")
    assert within(LONG, lambda: len(children() - before) == 1), "the silent server was left running"


@pytest.mark.slow
def test_a_call_that_is_never_answered(host: Host) -> None:
    host.connect(notes=plain(timeout=1.0))
    answer = host.call("mcp__notes__hang")
    assert answer["status"] == "timeout"
    assert "did not answer within 1 s" in answer["error"]
    assert "may have been carried out" in answer["error"]
    assert host.call("mcp__notes__echo", {"text": "still there"})["result"]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (McpServer(command="no-such-program-here"), "no-such-program-here: No such file or directory"),
        (McpServer(command=sys.executable, cwd="/no/such/directory"), "No such file or directory"),
        (McpServer(command="/etc/passwd"), "/etc/passwd: Permission denied"),
        (plain("dies"), "the token is wrong"),
        (McpServer(url="http://127.0.0.1:9/mcp"), "connect"),
    ],
    ids=["program", "directory", "permission", "dies", "address"],
)
def test_a_server_that_cannot_be_connected(host: Host, spec: McpServer, told: str) -> None:
    before = children()
    host.connect(bad=spec)
    status = host.status("bad")
    assert status.state == "failed"
    assert told in status.reason
    assert "x1Y2" not in status.reason
    assert host.names() == []
    assert children() == before


def test_what_a_server_was_given_is_not_in_its_last_words(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "plain-looking words"
    monkeypatch.setenv("NOTES_TOKEN", secret)
    program = (
        "import os, sys\n"
        "for part in ('x' * 4050, 'no such user: ' + os.environ['TOKEN'][:9], os.environ['TOKEN'][9:], '\\nkey ', "
        "os.environ['KEY'], ' ', os.environ['MODE'], '\\n', 'y' * 60):\n"
        "    os.write(2, part.encode())\n"
    )
    given = {"TOKEN": "${NOTES_TOKEN}", "KEY": "Bearer ${NOTES_TOKEN}", "MODE": "fast"}
    host.connect(notes=McpServer(command=sys.executable, args=("-S", "-c", program), env=given))
    reason = host.status("notes").reason
    assert "key *** fast" in reason
    assert "plain" not in reason
    assert "words" not in reason


def test_last_words_are_masked_before_they_are_cut() -> None:
    tail = Tail()
    tail.hide(["secret-of-the-server", "short", "secret-of-the-server-and-more"])
    for part in ("first ", "secret-of-", "the-ser", "ver", " short secret-of-the-server-and-more ", "z" * 4090):
        tail.add(part.encode())
    assert "server" not in tail._data.decode()
    tail.replace("HTTP 401 secret-of-the-server")
    assert tail.text() == "HTTP 401 ***"
    tail.hide(["a" * 9_000])
    tail.add(b"a" * 5_000)
    tail.add(b"a" * 4_000)
    assert tail.text() == "HTTP 401 ******"


def test_killed_during_a_call(host: Host) -> None:
    """Its tools are gone, the call ends at once and says that it may have run, and nothing is sent twice."""
    before = children()
    host.connect(notes=plain())
    (server,) = children() - before
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(host.call, "mcp__notes__hang") for _ in range(5)]
        time.sleep(0.3)
        assert not any(each.done() for each in calls)
        os.kill(server, signal.SIGKILL)
        answers = [each.result(LONG) for each in calls]
    assert {each["status"] for each in answers} == {"lost"}
    assert "went away during the call, which may have been carried out" in answers[0]["error"]
    assert within(LONG, lambda: host.status("notes").state == "lost")
    assert "no such tool" in host.call("mcp__notes__echo", {"text": "x"})["error"]


@pytest.mark.slow
def test_killed_while_nobody_calls_and_back_again(host: Host) -> None:
    before = children()
    host.connect(notes=plain())
    for _ in range(2):
        (server,) = children() - before
        os.kill(server, signal.SIGKILL)
        assert within(LONG, lambda: host.names() == []), "the tools of a server that is gone are listed"
        assert within(LONG, lambda: "mcp__notes__echo" in host.names()), "it was not started again"
        assert host.call("mcp__notes__echo", {"text": "back"})["result"] == '{"text": "back"}'
    assert len(children() - before) == 1


def test_closed_during_a_call(host: Host) -> None:
    host.connect(notes=plain())
    with ThreadPoolExecutor() as pool:
        call = pool.submit(host.call, "mcp__notes__hang")
        time.sleep(0.3)
        host.servers.close()
        assert call.result(LONG)["status"] == "lost"


def test_twenty_calls_at_once_on_three_servers(host: Host) -> None:
    host.connect(a=plain(), b=plain(), c=plain())
    jobs = [(f"mcp__{'abc'[n % 3]}__echo", f"{n}-{'x' * (n * 1000)}") for n in range(60)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda job: host.call(job[0], {"text": job[1]}), jobs))
    assert [json.loads(each["result"])["text"] for each in answers] == [text for _, text in jobs]


def test_a_server_with_hostile_tools(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    host.connect(evil=plain("hostile", "chatty"))
    names = host.names("mcp-evil")
    assert "mcp__evil__echo" in names
    assert "mcp__evil__poison" in names
    for absent in ("speaks", "elsewhere", "no_schema", "large"):
        assert f"mcp__evil__{absent}" not in names
    listing = json.dumps(host.runtime.get_tool_definitions(["mcp-evil"]))
    for mark in ("<system>", "[INST]", "\\u200b", "\\u202e", "```", "<|im_start|>"):
        assert mark not in listing
    assert len(listing) < 50_000
    assert "left out" in caplog.text


@pytest.mark.slow
def test_a_list_without_end(host: Host) -> None:
    host.connect(endless=plain("endless"))
    assert 100 <= len(host.status("endless").tools) <= 512


def test_errors_of_tools(host: Host) -> None:
    host.connect(notes=plain())
    assert host.call("mcp__notes__fail") == {"error": "obeyno"}


def test_a_name_that_another_tool_has(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    schema = {"description": "Mine", "parameters": {"type": "object"}}
    host.registry.register("mcp__notes__echo", "mine", schema, lambda _: '"mine"')
    host.connect(notes=plain())
    assert json.loads(host.runtime.handle_function_call("mcp__notes__echo")) == "mine"
    assert "mcp__notes__run" in host.names("mcp-notes")
    assert "mcp__notes__echo of mcp-notes is refused" in caplog.text
    host.servers.close()
    assert host.names() == ["mcp__notes__echo"]


def test_hooks_see_the_call(host: Host) -> None:
    host.connect(notes=plain())
    host.runtime.hooks.add("pre_tool_call", lambda call: Block("no notes") if call.toolset == "mcp-notes" else None)
    assert host.call("mcp__notes__echo", {"text": "x"})["error"] == "mcp__notes__echo was refused: no notes"


def test_toolsets_hold_for_calls(host: Host) -> None:
    host.connect(a=plain(), b=plain())
    answer = host.call("mcp__b__echo", {"text": "x"}, enabled_toolsets=["mcp-a"])
    assert "no such tool" in answer["error"]


def test_tools_that_are_many_are_searched(host: Host) -> None:
    from shellward.config.schema import ToolSearchSection, ToolsSection

    host.runtime.settings = ToolsSection(tool_search=ToolSearchSection(enabled="on"))
    host.connect(notes=plain())
    assert host.names() == ["tool_search", "tool_describe", "tool_call"]
    found = host.call("tool_search", {"query": "say it again"})["tools"]
    assert found[0]["name"] == "mcp__notes__echo"
    answer = host.call("tool_call", {"name": "mcp__notes__echo", "arguments": {"text": "x"}})
    assert answer == {"result": '{"text": "x"}'}


def test_some_of_its_tools(host: Host) -> None:
    host.connect(a=plain(include=("e*", "run", "more"), exclude=("*n",)))
    assert host.names() == ["mcp__a__echo", "mcp__a__more"]
    host.call("mcp__a__more", {"text": "extra"})
    host.call("mcp__a__more", {"text": "other"})
    assert within(LONG, lambda: "mcp__a__extra" in host.names())
    assert "mcp__a__other" not in host.names()


def test_what_changed_in_the_settings(host: Host) -> None:
    before = children()
    host.connect(a=plain(), b=plain(), c=plain(enabled=False))
    kept, _ = sorted(children() - before)
    host.connect(a=plain(), b=plain(timeout=7.0))
    assert kept in children()
    assert len(children() - before) == 2
    assert host.names("mcp-b")
    host.connect(b=plain(timeout=7.0))
    assert host.names("mcp-a") == []
    assert len(children() - before) == 1
    host.connect()
    assert children() == before


def test_a_server_that_failed_is_tried_again_by_the_next_discovery(host: Host, tmp_path: Path) -> None:
    late = tmp_path / "late"
    spec = McpServer(command=str(late), args=plain().args)
    host.connect(notes=spec)
    assert host.status("notes").state == "failed"
    late.symlink_to(sys.executable)
    host.connect(notes=spec)
    assert host.status("notes").state == "connected"


def test_without_the_sdk() -> None:
    """What is missing is named with its install line; without servers nobody looks for it."""
    program = """
import sys
sys.modules["mcp"] = None
from shellward.config.schema import McpServer
from shellward.core.errors import MissingDependency
from shellward.mcp_client import Servers
from shellward.tools.registry import Registry
Servers(Registry()).configure({})
try:
    Servers(Registry()).configure({"a": McpServer(command="x")})
except MissingDependency as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == f"the MCP SDK is not installed; run: {install_line('mcp')}", done.stderr


def test_a_server_that_is_a_shellward_does_not_start_itself_again(own_home: Path) -> None:
    own_home.mkdir(exist_ok=True)
    spec = plain()
    servers = {"notes": {"command": spec.command, "args": list(spec.args)}}
    (own_home / "config.yaml").write_text(json.dumps({"mcp_servers": servers}))
    program = """
import logging, sys
from shellward.mcp_client.plugin import load_tools
from shellward.tools.registry import registry
logging.basicConfig(stream=sys.stdout)
load_tools(registry)
print(registry.names())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "SHELLWARD_MCP_SERVER": "x"},
    )
    assert "not connected" in done.stdout
    assert done.stdout.splitlines()[-1] == "()"


def test_nothing_is_imported_without_servers() -> None:
    program = "import sys; from shellward.tools import discover; discover(); print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
