"""``mcp_servers`` of ``config.yaml``: each wrong key is named with its server and its line."""

import json
from pathlib import Path

import pytest

from shellward.config import load
from shellward.core.errors import ConfigError


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return file


GOOD = """
mcp_servers:
  notes:
    command: npx
    args: [-y, notes-server]
    env:
      NOTES_TOKEN: ${NOTES_TOKEN}
    timeout: 10
  search:
    url: https://mcp.example.com/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    calls: allow
"""


def test_servers_of_both_kinds(tmp_path: Path) -> None:
    servers = load(file=write(tmp_path, GOOD), environ={}).config.mcp_servers
    assert list(servers) == ["notes", "search"]
    assert (servers["notes"].command, servers["notes"].args) == ("npx", ("-y", "notes-server"))
    assert (servers["notes"].timeout, servers["notes"].calls, servers["notes"].enabled) == (10.0, "hints", True)
    assert servers["search"].headers == {"Authorization": "Bearer ${TOKEN}"}


def test_none_at_all(tmp_path: Path) -> None:
    assert load(file=write(tmp_path, "mcp_servers:\n"), environ={}).config.mcp_servers == {}
    assert load(file=write(tmp_path, ""), environ={}).config.mcp_servers == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("  notes: {comand: npx}", "3: mcp_servers.notes.comand: unknown setting; did you mean command?"),
        ("  notes:\n    command: npx\n    ags: []", "5: mcp_servers.notes.ags: unknown setting; did you mean args?"),
        ("  notes:\n    command: npx\n    args: no", "5: mcp_servers.notes.args: expected array, got str (got 'no')"),
        ("  notes:\n    command: npx\n    args: [1]", "5: mcp_servers.notes.args[0]: expected str, got int"),
        ("  notes:\n    command: npx\n    env:\n      PORT: 1", "6: mcp_servers.notes.env.PORT: expected str, got int"),
        ("  notes:\n    command: npx\n    env: [A]", "5: mcp_servers.notes.env: must be a mapping of names to texts"),
        ("  notes:\n    command: npx\n    timeout: 0", "5: mcp_servers.notes.timeout: expected float > 0.0 (got 0)"),
        ("  notes:\n    command: a\n    calls: never", "5: mcp_servers.notes.calls: must be one of hints, ask, allow"),
        ("  notes: {}", "3: mcp_servers.notes: needs one of command and url"),
        ("  notes: {command: a, url: 'http://b'}", "3: mcp_servers.notes: needs only one of command and url"),
        ("  notes: {url: 'http://b', args: [c]}", "3: mcp_servers.notes.args: is for servers with command"),
        ("  notes: {command: a, headers: {b: c}}", "3: mcp_servers.notes.headers: is for servers with url"),
        ("  notes: {url: 'ftp://b'}", "3: mcp_servers.notes.url: must begin with http:// or https://"),
        ("  notes: npx", "3: mcp_servers.notes: must be a mapping with command or url"),
        ("  my notes: {command: a}", "3: mcp_servers.my notes: a server's name is"),
        ("  a__b: {command: a}", "3: mcp_servers.a__b: a server's name is"),
        ("  _a: {command: a}", "3: mcp_servers._a: a server's name is"),
        ("  7: {command: a}", "3: mcp_servers.7: a server's name is"),
        ("  - notes", "2: mcp_servers: must be a mapping of names to servers"),
    ],
)
def test_one_line_names_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    file = write(tmp_path, f"audit: {{}}\nmcp_servers:\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load(file=file, environ={})
    assert str(caught.value).startswith(f"{file}:{told}")
    assert "\n" not in str(caught.value)


def test_by_a_variable() -> None:
    value = json.dumps({"notes": {"command": "npx", "timeout": 5}})
    assert load(environ={"SHELLWARD_MCP_SERVERS": value}).config.mcp_servers["notes"].timeout == 5.0
    with pytest.raises(ConfigError, match=r"\$SHELLWARD_MCP_SERVERS: mcp_servers\.notes\.comand: unknown setting"):
        load(environ={"SHELLWARD_MCP_SERVERS": '{"notes": {"comand": "npx"}}'})


def test_a_project_cannot_bring_servers(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".shellward.yaml").write_text("mcp_servers: {evil: {command: sh}}\n")
    with pytest.raises(ConfigError, match="cannot be set by a project"):
        load(cwd=tmp_path, environ={"SHELLWARD_PROJECT_FILES": "true"})
