"""Toolsets: named, composed, cyclic, old names, and which of enabled and disabled wins."""

import logging

import pytest

from shellward.tools.toolsets import Toolset


@pytest.fixture
def several(add, runtime) -> None:
    for name, toolset in (("terminal", "terminal"), ("read_file", "file"), ("write_file", "file"), ("fetch", "web")):
        add(name, toolset)
    add("mcp_tool", "mcp-server")


@pytest.mark.usefixtures("several")
class TestWhich:
    def test_nothing_said_is_all(self, names) -> None:
        assert names() == ["fetch", "mcp_tool", "read_file", "terminal", "write_file"]

    def test_enabled_wins(self, names) -> None:
        assert names(["file"]) == ["read_file", "write_file"]
        assert names(["file"], ["file"]) == ["read_file", "write_file"]

    def test_else_all_but_the_disabled(self, names) -> None:
        assert names(None, ["file", "mcp-server"]) == ["fetch", "terminal"]

    def test_nothing_enabled_is_nothing(self, names) -> None:
        assert names([]) == []

    def test_presets_include_others(self, names) -> None:
        assert names(["coding"]) == ["read_file", "terminal", "write_file"]
        assert names(["reading"]) == ["read_file"]

    def test_a_servers_toolset_is_there_by_itself(self, names, runtime) -> None:
        assert names(["mcp-server"]) == ["mcp_tool"]
        assert "mcp-server" in runtime.toolsets.names(runtime.registry.tools())

    @pytest.mark.parametrize(
        ("old", "now"), [("file_tools", "file"), ("terminal_tools", "terminal"), ("web_tools", "web")]
    )
    def test_old_names_are_those_of_today(self, names, old, now) -> None:
        assert names([old]) == names([now]) != []

    def test_a_name_that_ends_so_and_is_one_itself_stays(self, add, names) -> None:
        add("x", "my_tools")
        add("y", "my")
        assert names(["my_tools"]) == ["x"]

    def test_all_is_a_name(self, names) -> None:
        assert names(["all"]) == names(["*"]) == names()

    def test_a_toolset_of_ones_own_and_a_cycle(self, runtime, names) -> None:
        runtime.toolsets.define("mine", Toolset("", ("fetch", "not_there"), ("yours",)))
        runtime.toolsets.define("yours", Toolset("", ("terminal",), ("mine", "yours")))
        assert names(["mine"]) == names(["yours"]) == ["fetch", "terminal"]

    def test_a_definition_counts_at_once(self, runtime, names) -> None:
        runtime.toolsets.define("mine", Toolset("", ("fetch",)))
        assert names(["mine"]) == ["fetch"]
        runtime.toolsets.define("mine", Toolset("", ("terminal",)))
        assert names(["mine"]) == ["terminal"]

    def test_what_is_not_there_is_logged_unless_quiet(self, names, caplog) -> None:
        with caplog.at_level(logging.WARNING):
            assert names(["nothing", "file"], quiet_mode=True) == ["read_file", "write_file"]
            assert not caplog.records
            names(["nothing", "file"])
        assert "there is no toolset nothing" in caplog.text

    def test_one_name_is_not_its_letters(self, names) -> None:
        assert names("file") == ["read_file", "write_file"]


@pytest.mark.parametrize("name", ["", "all", "*", "mcp-x"])
def test_some_names_are_not_to_be_given(runtime, name) -> None:
    with pytest.raises(ValueError, match="cannot be given"):
        runtime.toolsets.define(name, Toolset())


def test_the_agents_own_tools_are_listed_on_request(runtime, add, names) -> None:
    for name, toolset in (("todo", "todo"), ("memory", "memory")):
        add(name, toolset)
    assert names() == []
    assert names(["todo"]) == ["todo"]
    assert names(["agent"]) == ["memory", "todo"]


def test_schemas_that_name_others_list_those_that_passed(runtime, add, names) -> None:
    seen = []

    def overrides(listed):
        seen.append(listed)
        others = sorted(listed - {"execute_code"})
        return {
            "description": f"may call {', '.join(others)}",
            "parameters": {"properties": {"tool": {"enum": others}}},
        }

    add("execute_code", "code_execution", dynamic_schema_overrides=overrides)
    add("a", "x")
    add("b", "x", check_fn=lambda: False)
    add("c", "y")

    def listed(*args):
        found = [each["function"] for each in runtime.get_tool_definitions(*args)]
        return next(each for each in found if each["name"] == "execute_code")

    assert listed()["description"] == "may call a, c"
    assert listed(None, ["y"])["parameters"]["properties"]["tool"]["enum"] == ["a"]
    assert listed(["code_execution", "y"])["description"] == "may call c"


def test_arguments_are_checked_against_what_was_listed(add, call) -> None:
    add("t", dynamic_schema_overrides=lambda: {"parameters": {"properties": {"a": {"enum": ["x"]}}}})
    assert call("t", {"a": "x"})["args"] == {"a": "x"}
    assert "error" in call("t", {"a": "y"})


@pytest.mark.parametrize("overrides", [lambda: 1 / 0, lambda: {"parameters": {"type": "array"}}, lambda: None])
def test_a_tool_whose_schema_cannot_be_made_is_left_out(add, names, call, overrides) -> None:
    add("t", dynamic_schema_overrides=overrides)
    add("u")
    assert names() == ["u"]
    assert "its schema cannot be made" in call("t")["error"]


def test_which_toolsets_hold_what_servers_bring(runtime) -> None:
    toolsets = runtime.toolsets
    toolsets.define("a", Toolset(includes=("b", "terminal")))
    toolsets.define("b", Toolset(includes=("a", "mcp-notes")))
    toolsets.define("one", Toolset(tools=("mcp__notes__echo",)))
    toolsets.define("round", Toolset(includes=("round", "coding")))
    for names in (["mcp-notes"], ["coding", "all"], ["*"], ["a"], ["b_tools"], ["one"]):
        assert toolsets.of_servers(names), names
    for names in ([], ["coding", "reading"], ["round"], ["nonsense"], ["terminal_tools"]):
        assert not toolsets.of_servers(names), names
