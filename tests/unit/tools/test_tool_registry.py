"""Registration: forms of schemas, who may take whose name, and the generation."""

import copy
import json
import logging
import pickle

import pytest

from shellward.tools.registry import loading
from shellward.tools.tool import Origin, ToolSpec

N = {"n": {"type": "integer"}}


def test_a_tool_of_another_toolset_is_not_shadowed(add, call, caplog) -> None:
    assert add("read", "file")
    with caplog.at_level(logging.ERROR):
        assert not add("read", "web", handler=lambda args: '"shadow"')
    assert "tool read of web is refused" in caplog.text
    assert call("read")["tool"] == "read"


def test_override_takes_the_name_and_is_logged(add, call, caplog) -> None:
    add("read", "file")
    with caplog.at_level(logging.WARNING):
        assert add("read", "web", handler=lambda args: '"new"', override=True)
    assert "replaced" in caplog.text
    assert call("read") == "new"


def test_a_toolset_may_register_its_own_tool_anew(add, call) -> None:
    add("read", "file")
    assert add("read", "file", handler=lambda args: '"again"')
    assert call("read") == "again"


def test_servers_may_replace_each_other_and_nobody_else(add, call) -> None:
    add("core", "file")
    add("shared", "mcp-a", handler=lambda args: '"a"')
    assert add("shared", "mcp-b", handler=lambda args: '"b"')
    assert call("shared") == "b"
    assert not add("core", "mcp-a")
    assert not add("shared", "file")


def test_the_generation_moves_on_each_change_and_only_then(runtime, add) -> None:
    seen = [runtime.registry.generation]

    def moved() -> bool:
        seen.append(runtime.registry.generation)
        return seen[-1] > seen[-2]

    add("a", "file")
    assert moved()
    add("a", "other")
    assert not moved()
    runtime.registry.deregister("nothing")
    assert not moved()
    runtime.registry.replace_toolset("mcp-x", [])
    assert moved()
    runtime.registry.deregister("a")
    assert moved()


@pytest.mark.parametrize(
    "schema",
    [
        {"description": "d", "parameters": {"type": "object", "properties": N}},
        {"name": "t", "description": "d", "parameters": {"properties": N}},
        {"type": "function", "function": {"name": "t", "description": "d", "parameters": {"properties": N}}},
        {"name": "t", "description": "d", "input_schema": {"type": "object", "properties": N}},
        {"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": N}},
    ],
    ids=["own", "named", "openai", "anthropic", "mcp"],
)  # fmt: skip
def test_every_usual_form_of_a_schema_is_taken(runtime, add, schema) -> None:
    add("t", schema=schema)
    (listed,) = runtime.get_tool_definitions()
    assert listed == {
        "type": "function",
        "function": {
            "name": "t",
            "description": "d",
            "parameters": {"type": "object", "properties": N},
        },
    }


def test_bare_parameters_with_a_description_beside_them(runtime, add) -> None:
    add("t", schema={"type": "object", "properties": {}}, description="said")
    assert runtime.get_tool_definitions()[0]["function"]["description"] == "said"


@pytest.mark.parametrize(
    ("name", "toolset", "schema"),
    [
        ("with space", "x", {}),
        ("", "x", {}),
        ("a" * 65, "x", {}),
        ("tool_search", "x", {}),
        ("t", "", {}),
        ("t", "x", {"name": "other"}),
        ("t", "x", {"parameters": {"type": "string"}}),
        ("t", "x", {"parameters": {"type": "object", "properties": {"a": {"type": "objekt"}}}}),
        ("t", "x", {"parameters": {"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}}),
        ("t", "x", {"parameters": {"properties": {"a": {"default": object()}}}}),
        ("t", "x", "text"),
    ],
)
def test_what_no_provider_would_take_is_refused_at_once(add, runtime, name, toolset, schema) -> None:
    with pytest.raises(ValueError, match=r"."):
        add(name, toolset, schema=schema)
    assert runtime.registry.names() == ()


def test_what_cannot_be_called_is_refused(add) -> None:
    with pytest.raises(TypeError):
        add("t", handler="text")
    with pytest.raises(TypeError):
        add("t", check_fn=True)


def test_listed_schemas_are_read_only_and_copies_are_not(runtime, add) -> None:
    add("t")
    (listed,) = runtime.get_tool_definitions()
    for change in (
        lambda: listed.update(x=1),
        lambda: listed["function"].__setitem__("x", 1),
        lambda: listed["function"]["parameters"]["properties"].pop("n"),
        lambda: listed["function"].setdefault("x", 1),
        lambda: listed["function"].__ior__({"x": 1}),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    for plain in (copy.deepcopy(listed), pickle.loads(pickle.dumps(listed)), json.loads(json.dumps(listed))):
        assert plain == listed
        plain["function"]["parameters"]["properties"]["x"] = {}
    runtime.get_tool_definitions().clear()
    assert len(runtime.get_tool_definitions()) == 1


def test_lists_in_schemas_are_read_only_too(runtime, add) -> None:
    add("t", schema={"parameters": {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}}})
    choices = runtime.get_tool_definitions()[0]["function"]["parameters"]["properties"]["a"]["enum"]
    with pytest.raises(TypeError, match="read-only"):
        choices.append("z")
    assert choices == ["x", "y"]
    assert isinstance(copy.deepcopy(choices), list)
    pickle.loads(pickle.dumps(choices)).append("z")


def test_a_server_is_replaced_in_one_step_and_one_bad_tool_costs_no_other(runtime, add, names, caplog) -> None:
    add("core", "file")
    handler = lambda args: "{}"  # noqa: E731
    runtime.registry.replace_toolset("mcp-x", [ToolSpec(name="old", schema={}, handler=handler)])
    generation = runtime.registry.generation
    specs = [
        ToolSpec(name="new", schema={}, handler=handler),
        ToolSpec(name="bad name", schema={}, handler=handler),
        ToolSpec(name="broken", schema={"parameters": {"type": "object", "required": "text"}}, handler=handler),
        ToolSpec(name="core", schema={}, handler=handler),
    ]
    assert runtime.registry.replace_toolset("mcp-x", specs) == ("new",)
    assert runtime.registry.generation == generation + 1
    assert names() == ["core", "new"]
    assert names(["mcp-x"]) == ["new"]
    assert all(word in caplog.text for word in ("bad name", "broken", "core of mcp-x is refused"))
    assert runtime.registry.deregister_toolset("mcp-x") == 1
    assert names() == ["core"]
    assert runtime.registry.deregister_toolset("mcp-x") == 0


def test_what_a_failed_module_registered_is_taken_back(runtime, add) -> None:
    add("kept", "file")
    with loading(Origin.PLUGIN) as load:
        add("new", "p")
        add("kept", "p", override=True)
        add("fresh", "p")
    add("fresh", "p")  # somebody else, since then
    runtime.registry.undo(load)
    assert runtime.registry.names() == ("fresh", "kept")
    assert runtime.registry.get("kept").toolset == "file"
